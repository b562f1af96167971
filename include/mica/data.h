/* mica/data.h: datasets on disk, and loaders that bring them to the device in batches.
 *
 * Threads: a dataset never changes, and several threads may read it at once. Use a loader from one thread at a time;
 * its own threads decode and upload. Functions without an object may be called from any thread. */
#ifndef MICA_DATA_H
#define MICA_DATA_H

#include <mica/batch.h>

MICA_BEGIN_DECLS

/* A set of samples. Each sample has a value in every column. */
typedef struct mica_dataset mica_dataset;

/* Kind of a column, the type of one sample in memory, and the type of a batch of N:
 *
 *   NUMBER    f32 or u8 (0 to 255 mean 0 to 1), any shape         f32, f16 or bf16 (N, ...)
 *   CLASS     i32, 0 to classes - 1; -1: unknown                  i32 (N, ...)
 *   CLASSES   u8 (classes), 1 for each class of the sample        f32 (N, classes)
 *   IMAGE     u8 or f32 (C, H, W)                                 f32, f16 or bf16 (N, C, H, W)
 *   MASK      u8 (H, W), class per pixel; 255: not labelled       i32 (N, H, W), -1: not labelled
 *   MAP       f32 (H, W), a number above 0 per pixel; 0: unknown  f32 (N, H, W)
 *   BOXES     f32 (M, 4): x0 y0 x1 y1 in the picture's pixels     f32 (N, M, 4); boxes without area are padding
 *   TEXT      u8 (T), bytes                                       u8 (N, T)
 *   TOKENS    i32 (T, ...)                                        i32 (N, T, ...)
 *   SOUND     f32 or i16 (32768 means 1), (T) or (T, C)           f32, f16 or bf16
 *   ID        i32 or i64, any shape                               as in memory
 *   TIME      i64, in a unit that the dataset chooses             i64 (N)
 *
 * A column is ragged if its samples differ in their first dimension. The classes of BOXES are in a ragged CLASS column
 * with the same lengths. */
#define MICA_COLUMN_KIND_LIST(X)                                                                                       \
  X(NUMBER, "number")                                                                                                  \
  X(CLASS, "class")                                                                                                    \
  X(CLASSES, "classes")                                                                                                \
  X(IMAGE, "image")                                                                                                    \
  X(MASK, "mask")                                                                                                      \
  X(BOXES, "boxes")                                                                                                    \
  X(TEXT, "text")                                                                                                      \
  X(TOKENS, "tokens")                                                                                                  \
  X(SOUND, "sound")                                                                                                    \
  X(ID, "id")                                                                                                          \
  X(TIME, "time")                                                                                                      \
  X(MAP, "map")

typedef enum mica_column_kind {
#define MICA_COLUMN_KIND_ENUM(name, text) MICA_COLUMN_KIND_##name,
  MICA_COLUMN_KIND_LIST(MICA_COLUMN_KIND_ENUM)
#undef MICA_COLUMN_KIND_ENUM
} mica_column_kind;
/* "number", "class", ...; "?" for any other value. */
MICA_API const char *mica_column_kind_name(mica_column_kind kind);

typedef struct mica_column {
  /* Unique in its dataset. Sources without column names use "image" ("x" for rows of numbers), "label", "mask",
   * "depth", "boxes", "text" and "sound". */
  const char *name;
  mica_column_kind kind;
  mica_dtype dtype;
  mica_shape shape; /* shape of one sample; dim[0] is MICA_DYNAMIC in a ragged column */
  int32_t classes;  /* CLASS, CLASSES, MASK: number of classes; TOKENS: size of the vocabulary, 0 if unknown */
} mica_column;

typedef enum mica_part { MICA_PART_TRAIN, MICA_PART_VALIDATION, MICA_PART_TEST } mica_part;
/* "train", "validation", "test"; "?" for any other value. */
MICA_API const char *mica_part_name(mica_part part);

#define MICA_BASES_AUTO "auto"

/* What replaces a missing number in a table. A number is missing if its cell is empty or holds ?, NA, N/A, nan, null or
 * none, in any case. In a column of classes other than the label, a missing value is a class by itself. */
#define MICA_MISSING_LIST(X)                                                                                           \
  X(REFUSE, "refuse") /* nothing: missing numbers and labels are MICA_E_FORMAT */                                      \
  X(MEAN, "mean")     /* mean of the column */                                                                         \
  X(MEDIAN, "median")                                                                                                  \
  X(MOST, "most") /* most frequent number; the smaller one if two are equally frequent */                              \
  X(NAN, "nan")   /* NaN */

typedef enum mica_missing {
#define MICA_MISSING_ENUM(name, text) MICA_MISSING_##name,
  MICA_MISSING_LIST(MICA_MISSING_ENUM)
#undef MICA_MISSING_ENUM
} mica_missing;
/* "refuse", "mean", ...; "?" for any other value. */
MICA_API const char *mica_missing_name(mica_missing missing);

typedef struct mica_dataset_config {
  mica_part part; /* part to open, if the data have parts */
  /* Dataset that this one must match, as test samples match training samples. Class names and sizes are taken from it.
   * MICA_E_FORMAT: a label is not one of its classes. NULL: none. */
  const mica_dataset *like;
  /* Size of pictures from folders: they are scaled to cover it, then cropped at the centre. 0: the usual size, found
   * from at most 200 pictures. It is the size that at least half of them have. If no size is that common, it is the
   * median height and the median width. channels 0: 1 if the pictures are grey, 3 if some have colours. */
  int32_t channels, height, width;
  /* Pictures with boxes: the length of the longer side, to set instead of height and width. The usual size (see above)
   * is scaled to this length, and both sides are rounded up to multiples of 32. 0: use height and width. */
  int32_t longest;
  /* CSV: the label's column, by its name or by its number from 0. NULL: the column "label", "class" or "target", else
   * the last one. In a table without names of columns whose last column holds free texts, it is the only column that
   * holds few different texts. A list of names as in "a,b" gives several labels per sample, in the order of the table:
   * see "CSV labels" at mica_dataset_open. */
  const char *label_column;
  bool regression; /* CSV, npy: labels are numbers, not classes */
  bool classes;    /* CSV: labels that are whole numbers are classes, even if there are many */
  /* CSV: kinds of columns: "user=class,year=class,note=text". Kinds are number, class, text and time. Cells decide the
   * kind of a column that is not listed: numbers make a column of kind number; dates make one of kind time; other texts
   * make one of kind class if few of them differ, else of kind text. Whole numbers are treated as texts if one has a
   * leading zero (007, 01001). "*=text": columns of texts that are not listed are not classes, and a first line that
   * consists only of names of languages, such as en or "source text", holds the columns' names. */
  const char *kinds;
  /* CSV, npy: numbers to subtract, in double precision, before values become f32. Large numbers with small differences
   * stay distinct this way. Lines "NAME=NUMBER"; columns of npy rows are "0", "1" and so on, npy labels "label".
   * MICA_BASES_AUTO: subtract the smallest number of each column that needs it, unless the file has f32 or less. NULL:
   * subtract nothing. Bases of `like` take precedence. MICA_E_FORMAT: f32 arrays cannot hold values around such a base.
   * See mica_dataset_base. */
  const char *bases;
  /* CSV: how to replace missing numbers. With `like`, the replacements of that dataset are used. Unless it is REFUSE,
   * empty columns are not read, and samples without a label are omitted and counted in the summary (keep_unlabelled
   * keeps them). */
  mica_missing missing;
  bool keep_unlabelled; /* keep samples without a label: class -1, number NaN */
  /* CSV: true: a table without the columns of label_column is opened without labels; with keep_unlabelled, all labels
   * may be missing. */
  bool label_optional;
  /* CSV: true: a column with names of picture files becomes the column "image", and one with names of recordings the
   * column "sound", whatever the columns are called. false: see "CSV of files" at mica_dataset_open. */
  bool files;
  const char *ignore; /* CSV: columns not to read: "id,name"; NULL: none */
  /* Masks: pixel values of each class in order: "0=cell,255=membrane", "0,128,255" or "#000000=sky,#ff0000=car"
   * (colours). Names are optional; pixels of the name "void" are not labelled. A final "*=void" or "*=nearest" covers
   * all other values; without it another value is an error. NULL: the values found in the masks, ascending; 255 is void
   * if the other values are 0, 1, 2, ... For PNG with a palette, a value is an index. */
  const char *mask_values;
  /* Depth maps: the levels of PNG files, and whole numbers in npy files, per unit of depth. 0: 256, as KITTI has per
   * metre. MICA_E_INVALID if it is negative, infinite or NaN. */
  double depth_scale;
  /* Bytes of a file to keep in memory. Samples of a larger file are read when needed. 0: a quarter of the machine's
   * memory, at most 1 GiB. Gzip files are always unpacked into memory. */
  uint64_t memory;
  int32_t rate; /* recordings are resampled to this rate (Hz); 0: the rate of `like`, else of the first recording */
} mica_dataset_config;

/* Opens the dataset at a path. Files may be gzipped. config may be NULL.
 *
 *   "fashion-mnist"            dataset of Debian's package dataset-fashion-mnist
 *   folder of IDX files        train-images*, train-labels*; t10k-... or test-...
 *   IDX file of inputs         the labels' file has "labels" for "images" and "idx1" for "idx3" in its name
 *   folder of CIFAR files      binary: train* or data_batch_*; val*; test*
 *   CIFAR file                 binary: CIFAR-10 or CIFAR-100 (fine labels), distinguished by size
 *   folder with train.csv      also val.csv, test.csv; .tsv likewise
 *   folder with x_train.npy    and y_train.npy; x_val.npy ..., x_test.npy ...
 *   x*.npy                     labels are in y*.npy
 *   folder of Pascal VOC       Annotations/NAME.xml, pictures in JPEGImages, parts in ImageSets/Main/train.txt, val.txt
 *                              and test.txt; or a folder that only contains such a folder
 *   folder of COCO             annotations/instances_train*.json, ..._val*.json, ..._test*.json; pictures in train*,
 *                              val*, test* (named like the end of the JSON's name), in images, or beside these folders.
 *                              Or folders train, valid and test with pictures and _annotations.coco.json. Without
 *                              parts: images, and one NAME.json beside it or in annotations
 *   COCO file NAME.json        pictures in its folder, the folder above, or NAME, or in images in one of these
 *   folder of YOLO             images/NAME.png (or .jpg) with labels/NAME.txt, a line per box; parts images/train or
 *                              train/images; names of classes in data.yaml or classes.txt
 *   folder of class folders    PNG or JPEG, one folder per class, in the order of names; folders within a class belong
 *                              to it. If the data have parts, below folders train, val and test; see "Parts"
 *   pictures and masks         images/NAME.png (or .jpg) with masks/NAME.png or masks/NAME_mask.png. Folders are named
 *                              image, img or picture, and mask, label or segmentation, each with or without an s; parts
 *                              as above; a part must have masks
 *   pictures and depth maps    images/NAME.png (or .jpg) with depth/NAME.png (one channel of 8 or 16 bits), .npy or
 *                              .pfm, or depth/NAME_depth.png. Folders of pictures are named as above, or rgb, left or
 *                              color; folders of depth maps depth, depth_map, groundtruth_depth or ground_truth; parts
 *                              as above. Columns are "image" and "depth" (MAP); a depth of 0 is unknown
 *   volumes and masks          images/NAME.nii (or .nii.gz) with masks/NAME.nii, NAME_mask.nii or NAME_seg.nii, NIfTI-1
 *                              or NIfTI-2. Folders are named as above, or imagesTr and labelsTr
 *   folder of recordings       WAV, FLAC or OGG, below ten minutes, one folder per class; parts as above. Or one folder
 *                              of files LABEL_SPEAKER_N; those with N below 5 are the test part
 *   NAME.txt                   one sample per line, without its end; column "text"
 *   folder of texts            CLASS/NAME.txt; columns "text" and "label"; parts as above
 *   train.en beside train.de   parallel texts, line by line; columns "en" and "de"; val* and test* likewise. A single
 *                              file with such an ending is a text
 *   folder with one file       that file; LICENSE and README are ignored
 *   any other file             CSV
 *
 * CSV. Cells are separated by comma, semicolon or tab (*.tsv: only tab). Cells with a separator or a line break are
 * quoted. The first line holds the columns' names if it has texts above numbers and no number above a number, or
 * contains the label's name or a name from `kinds`. In a table of texts it also holds them if none of its words occurs
 * again in its column, but words of other lines do. Lines that begin with # are skipped before the first other line;
 * later they are skipped if they have another number of cells than the first line. Columns of numbers except the label
 * together form the column "x". Each column of classes, texts or dates becomes a column of its own, with its name. A
 * column that holds distinct whole numbers is not read if its name is empty or like rownames, index, id or user_id,
 * unless `kinds` names it. With `like`, columns are matched by name, or by position if a table has no names; the label
 * may be missing, and an unknown class in another column is -1.
 *
 * CSV labels. A label of whole numbers is a class index. If some number below the largest never occurs, the numbers are
 * names of classes. The label is a number to predict if a value has a fraction, if more than 30 values differ, or if a
 * value is negative and more than 20 differ.
 *
 * Several CSV labels form one column "label". If each label is 0 or 1, its kind is CLASSES, and the columns' names are
 * the names of the classes. Otherwise, or with `regression`, its kind is NUMBER and its shape (K), and
 * mica_dataset_number_name returns the columns' names. A sample that lacks one of the labels is treated as one without
 * a label; with keep_unlabelled, a missing number is NaN and a missing 0 or 1 is 255.
 *
 * CSV of files. A column whose first cell ends like a picture or a recording names a file per sample, relative to the
 * table's folder, if the column is called file, filename, file_name, path, image, picture, photo, img, sound,
 * recording, audio or wav, or if that file exists. If no other column is an input, the samples get a column "image" or
 * "sound", read and scaled as from folders.
 *
 * Arrays. Inputs (N, F), (N, H, W) or (N, C, H, W); labels (N), or (N, K) of 0 and 1 for several labels per sample.
 *
 * Parts. Folders and files of parts may have other names, in upper or lower case: training for train; valid, validation
 * and dev for val; testing, eval and evaluation for test. Folders beside the parts are not used; the summary names
 * them. A class folder without samples is not a class. Names that begin with a dot, and files that operating systems
 * create (__MACOSX, @eaDir, Thumbs.db), are never read.
 *
 * Pictures are rotated upright as EXIF says; boxes, masks and depth maps refer to the upright picture. Transparent
 * pixels are blended onto black; the summary counts pictures with alpha. Pictures with boxes are scaled to fit height x
 * width and centred on grey. Their columns are "image"; ragged "boxes", "label" (CLASS), "ignored" (ID; 1: crowd, 2:
 * difficult) and "area" (NUMBER, in pixels of the file); and "size" (ID, 2): width and height of the file's picture.
 * COCO boxes of width or height 0 are omitted, and the summary counts them.
 *
 * Recordings: channels are averaged; a windowed sinc changes the rate (torchaudio's sinc_interp_hann).
 *
 * Pictures, recordings, volumes and the samples of files above `memory` are read when needed, everything else at once.
 * MICA_E_INVALID: a field of config is out of range. MICA_E_NOT_FOUND: there is nothing at path, or not this part.
 * MICA_E_FORMAT: data are truncated, empty, of a wrong kind, or have a label out of range; the message names file and
 * reason. MICA_E_UNSUPPORTED: the build lacks libdeflate, libpng, libjpeg, libsndfile, expat or cJSON for it.
 * MICA_E_IO, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_dataset_open(const char *path, const mica_dataset_config *config,
                                                    mica_dataset **dataset);

/* A column that the caller provides, as an array or as functions that read one sample at a time. */
typedef struct mica_column_data {
  /* The column's name and type. If column.classes is 0 in a CLASS column of scalars with `data`, it is set to the
   * largest class plus 1. */
  mica_column column;
  /* All samples in sequence. Ragged column: the rows of all samples, and count + 1 offsets; sample i has rows
   * offsets[i] to offsets[i + 1] - 1. The caller owns data and offsets, which must outlive the dataset. */
  const void *data;
  const int64_t *offsets;
  /* Instead of data: `read` writes a sample's `bytes` bytes; `length` returns the number of rows of a sample in a
   * ragged column. Several threads call them at once. If one returns a status other than MICA_OK, the call or the batch
   * that needs the sample fails. */
  void *user;
  mica_status (*read)(void *user, uint64_t sample, void *data, size_t bytes);
  mica_status (*length)(void *user, uint64_t sample, int64_t *length);
  const char *const *class_names; /* one per class; NULL: classes have numbers as names. Copied */
} mica_column_data;

/* Creates a dataset with n columns. MICA_E_FORMAT: a class is out of range, or offsets decrease (the message names
 * column and sample); a name occurs twice; a column's kind, type, shape or number of classes is wrong; or count is 0 or
 * above 2^32 - 1. MICA_E_INVALID: a column has both data and read, or neither; a ragged one lacks offsets or length; or
 * the number of classes is needed but 0. */
MICA_API MICA_CHECKED mica_status mica_dataset_create(const char *name, uint64_t count, const mica_column_data *columns,
                                                      size_t n, mica_dataset **dataset);
/* Creates a dataset of the same samples with n columns added. An added column replaces one of the same name, for
 * example tokens for a text. Both datasets share data; either may be destroyed first. */
MICA_API MICA_CHECKED mica_status mica_dataset_derive(const mica_dataset *dataset, const mica_column_data *added,
                                                      size_t n, mica_dataset **out);

/* Destroys the dataset. Datasets made from it by derive or split stay valid. NULL is a no-op. */
MICA_API void mica_dataset_destroy(mica_dataset *dataset);

/* Splits a dataset at random. *part receives a share (above 0, below 1) of the samples, selected by the seed, *rest the
 * others. Both keep the order and share data with the dataset. It fails as mica_dataset_split_by does. */
MICA_API MICA_CHECKED mica_status mica_dataset_split(const mica_dataset *dataset, double share, uint64_t seed,
                                                     mica_dataset **part, mica_dataset **rest);

/* How to split a dataset. Set one of share, folds and file; with share or folds, at most one of group and time. Fields
 * that are 0 or NULL are not set. */
typedef struct mica_split_config {
  double share;        /* share of the samples for *part, between 0 and 1 */
  int32_t fold, folds; /* instead of share: fold number `fold`, from 0, of `folds` */
  uint64_t seed;       /* selects samples, or groups */
  const char *group;   /* column: samples with equal values stay together */
  /* Column of times. With `share`, *part gets the latest samples; with `folds`, each fold is a range of time. Samples
   * with equal times stay together. */
  const char *time;
  const char *file; /* text file with the numbers of *part's samples, one per line, from 0 */
  /* true: *part gets the fraction `share` of each class. Counts are rounded so that their sum is this fraction of all
   * samples. A class of four or more samples has at least one in *part, even if the sum is then larger. Every sample
   * must have one class. Not with folds, group, time or file. */
  bool by_class;
} mica_split_config;

/* Splits a dataset as configured. Both parts keep the order and share data with the dataset. MICA_E_INVALID: a part
 * would be empty, or fields contradict each other or are out of range. MICA_E_NOT_FOUND: there is no such column or
 * file. MICA_E_FORMAT: a line of the file is wrong; the message names it. */
MICA_API MICA_CHECKED mica_status mica_dataset_split_by(const mica_dataset *dataset, const mica_split_config *config,
                                                        mica_dataset **part, mica_dataset **rest);

/* Tiles of equal size that cover a picture of any size. Neighbours share `overlap` pixels; the last tile of a row or
 * column ends with the picture and may share more. Pictures smaller than a tile are mirrored at their far edges. */
typedef struct mica_tiling {
  int64_t height, width, overlap;
} mica_tiling;
/* Position of a tile in its picture, and the range of rows and columns that belong to the tile (ends excluded). The
 * range ends in the middle of each overlap and at the picture's edges, so that every pixel belongs to one tile. */
typedef struct mica_tiling_tile {
  int64_t row, column, own_row, own_column, own_row_end, own_column_end;
} mica_tiling_tile;
/* Number of tiles for a picture. 0: the picture is empty, the overlap is negative, or a side of a tile is not above
 * it. */
MICA_API int64_t mica_tiling_count(const mica_tiling *tiling, int64_t height, int64_t width);
/* Tile number `index`, row by row. All fields are 0 if index is negative or too large. */
MICA_API mica_tiling_tile mica_tiling_at(const mica_tiling *tiling, int64_t height, int64_t width, int64_t index);
/* Copies a tile from planes (C, H, W) to out (C, tiling->height, tiling->width). */
MICA_API void mica_tiling_cut(const mica_tiling *tiling, const uint8_t *planes, mica_shape shape, mica_tiling_tile tile,
                              uint8_t *out);
/* Cuts a dataset's u8 pictures, masks and depth maps into tiles, one sample per tile. Other columns are left out.
 * Pixels that belong to another tile are not labelled in masks and have the depth 0 in depth maps, so that every pixel
 * counts once. Folders of pictures and masks or depth maps opened without a size and without `like` are cut at full
 * size. (The dataset itself scales all its pictures to one size.) Columns keep their order and names. The dataset must
 * outlive the result. MICA_E_FORMAT: the dataset has no u8 pictures, or the sizes of two columns differ.
 * MICA_E_INVALID: a side of a tile is not 1 to 16,384, or not above the overlap; or the overlap is negative. */
MICA_API MICA_CHECKED mica_status mica_dataset_tiles(const mica_dataset *dataset, const mica_tiling *tiling,
                                                     mica_dataset **tiles);

/* Number of samples. */
MICA_API uint64_t mica_dataset_count(const mica_dataset *dataset);
/* dtype of stored inputs: MICA_U8 (0 to 255 mean 0 to 1) or MICA_F32. Inputs are pictures or rows of numbers; MICA_F32
 * if the data have neither. */
MICA_API mica_dtype mica_dataset_dtype(const mica_dataset *dataset);
/* Shape of one input: (C, H, W), or (F) for rows of numbers; a scalar if the data have neither. */
MICA_API mica_shape mica_dataset_shape(const mica_dataset *dataset);
/* Number of classes of the column "label"; 0 if labels are numbers or no column has this name. For other columns see
 * mica_column.classes. */
MICA_API int32_t mica_dataset_classes(const mica_dataset *dataset);
/* Name of a class of "label", or its number as text. NULL if class_index is out of range. The dataset owns it. */
MICA_API const char *mica_dataset_class_name(const mica_dataset *dataset, int32_t class_index);
/* Path or name that the dataset was made from. The dataset owns it. */
MICA_API const char *mica_dataset_name(const mica_dataset *dataset);
/* Short description of what was found in a file ("4 columns, label 'target', 3 classes"); may be "". The dataset owns
 * it. */
MICA_API const char *mica_dataset_summary(const mica_dataset *dataset);
/* Pixel values of masks per class, in the form of mica_dataset_config.mask_values. NULL if the dataset was not read
 * from masks. The dataset owns it. */
MICA_API const char *mica_dataset_mask_values(const mica_dataset *dataset);
/* Size of one input in bytes; 0 if the data have no inputs. */
MICA_API size_t mica_dataset_input_bytes(const mica_dataset *dataset);
/* Sample rate of recordings (Hz); 0 if unknown or without recordings. */
MICA_API int32_t mica_dataset_rate(const mica_dataset *dataset);

/* The number of columns, and a column by its number (NULL if the number is too large). The dataset owns the column. */
MICA_API size_t mica_dataset_column_count(const mica_dataset *dataset);
MICA_API const mica_column *mica_dataset_column(const mica_dataset *dataset, size_t column);
/* Index of a column by name; the number of columns if the name is unknown. */
MICA_API size_t mica_dataset_column_index(const mica_dataset *dataset, const char *name);
/* Name of a class in a CLASS, CLASSES or MASK column, or its number as text. NULL if class_index is out of range. The
 * dataset owns it. */
MICA_API const char *mica_dataset_column_class(const mica_dataset *dataset, size_t column, int32_t class_index);
/* For the column "x" or a "label" of several numbers, returns the name of the table's column that number `index` of
 * each sample was read from. NULL: it has no name. */
MICA_API const char *mica_dataset_number_name(const mica_dataset *dataset, size_t column, int64_t index);
/* Number that was subtracted from number `index` of a row, or from a label (mica_dataset_config.bases). The value in
 * the file is the stored number plus this. 0 if nothing was subtracted. */
MICA_API double mica_dataset_base(const mica_dataset *dataset, size_t column, int64_t index);
/* File of a sample: a picture or a recording. NULL if the sample has no file of its own. The dataset owns it. */
MICA_API const char *mica_dataset_file(const mica_dataset *dataset, uint64_t sample);
/* Line, from 1, on which a sample of a text table begins; 0 for other data. */
MICA_API uint64_t mica_dataset_line(const mica_dataset *dataset, uint64_t sample);
/* *length receives the first dimension of a sample in a ragged column. For other columns it receives dim[0] of the
 * shape, or 1 for a scalar. Any thread may call it. */
MICA_API MICA_CHECKED mica_status mica_dataset_length(const mica_dataset *dataset, size_t column, uint64_t sample,
                                                      int64_t *length);
/* Copies the stored value of a sample to `data`, or reads and decodes its file. bytes must be the size of the value;
 * see mica_dataset_length for ragged columns. Any thread may call it. */
MICA_API MICA_CHECKED mica_status mica_dataset_read(const mica_dataset *dataset, size_t column, uint64_t sample,
                                                    void *data, size_t bytes);

/* Class of a sample; -1 if it is unknown or cannot be read, or if labels are numbers. mica_dataset_target gives the
 * number. index must be below the count. */
MICA_API int32_t mica_dataset_label(const mica_dataset *dataset, uint64_t index);
/* Label of a sample as a number: a number as stored (u8: divided by 255), or the index of its class (-1: unknown). 0 if
 * the dataset has no labels, a label has several numbers, or it cannot be read. */
MICA_API float mica_dataset_target(const mica_dataset *dataset, uint64_t index);
/* Copies an input as stored, or reads and scales its picture. bytes must be mica_dataset_input_bytes. */
MICA_API MICA_CHECKED mica_status mica_dataset_input(const mica_dataset *dataset, uint64_t index, void *input,
                                                     size_t bytes);

/* Writes the mean and standard deviation per channel of a column of pictures, or per number of a sample (in a ragged
 * column, of a row). u8 values are in units of 1/255, i16 values in units of 1/32768. The deviation of constant values
 * is given as 1. It uses all samples of data in memory, but at most 10,000 samples of other data. mean and deviation
 * need one element per channel or number. */
MICA_API MICA_CHECKED mica_status mica_dataset_measure_column(const mica_dataset *dataset, size_t column, float *mean,
                                                              float *deviation);
/* Writes mean and deviation of the inputs; mica_dataset_shape().dim[0] elements each. */
MICA_API MICA_CHECKED mica_status mica_dataset_measure(const mica_dataset *dataset, float *mean, float *deviation);

/* --- batches --- */

/* Random changes of pictures. Zeros change nothing. The mean colour fills areas outside the picture. The change of a
 * sample only depends on the seed, the epoch and the sample's position in the epoch; mixup and cutmix also depend on
 * its batch. */
typedef struct mica_augment_config {
  int32_t crop;     /* shift by up to this number of pixels in each direction */
  bool flip;        /* mirror left to right with probability 1/2 */
  float rotate;     /* rotate by up to this angle (degrees) */
  float scale;      /* scale by a factor between 1 - scale and 1 + scale */
  float brightness; /* add up to this value; white is 1 */
  float contrast;   /* multiply the distance from the mean by 1 - contrast to 1 + contrast */
  int32_t cutout;   /* fill a square of this size with the mean (DeVries and Taylor 2017) */
  /* bend: move nodes of a grid of 4 x 4 cells by up to this number of pixels and interpolate (Simard et al. 2003). Not
   * with boxes */
  float elastic;
  /* copy a rectangle from another sample of the batch; the share that is kept is from Beta(cutmix, cutmix). Classes as
   * targets become probabilities (Yun et al. 2019). At most 4. Not with boxes. With mixup, each batch gets one of the
   * two, drawn with probability 1/2 (joint mixup, as timm and torchvision's RandomChoice do) */
  float cutmix;
  /* blend with another sample of the batch; the share is from Beta(mixup, mixup) (Zhang et al. 2018). Targets become
   * probabilities. At most 4. Not with boxes, masks or depth maps */
  float mixup;
} mica_augment_config;

/* Reads a list such as "crop,flip" or "crop=2,rotate=15,mixup=0.2", or "none". Names are fields above. Defaults of
 * names without a value: crop 4, rotate 15, scale 0.1, brightness 0.2, contrast 0.2, cutout 8, elastic 4, cutmix 1,
 * mixup 0.2. MICA_E_INVALID: the message names the wrong part. */
MICA_API MICA_CHECKED mica_status mica_augment_parse(const char *text, mica_augment_config *config);
/* Names that mica_augment_parse accepts, in order; NULL after the last one. */
MICA_API const char *mica_augment_name(size_t index);

/* Where samples are during an epoch. DEVICE: all on the device, which assembles batches. STREAM: on the host; threads
 * decode and upload ahead. */
typedef enum mica_residence { MICA_RESIDENCE_AUTO, MICA_RESIDENCE_DEVICE, MICA_RESIDENCE_STREAM } mica_residence;

/* How a column is put into batches. */
typedef struct mica_column_config {
  const char *name;
  bool left_out;     /* omit it. TEXT columns are omitted unless named here */
  mica_dtype dtype;  /* numbers, pictures, sound: f16 or bf16 instead of the usual type */
  const float *mean; /* per channel or number, from mica_dataset_measure_column; set deviation too */
  const float *deviation;
  int64_t most; /* ragged: maximum rows; longer samples are cut. 0: no limit */
  int32_t pad;  /* ragged integers: padding value; 0: -1 for classes, else 0 */
} mica_column_config;

typedef struct mica_loader_config {
  int64_t batch;      /* samples per batch; 0: 64 */
  bool shuffle;       /* new order in each epoch, selected by the seed */
  bool drop_last;     /* omit a last batch that is smaller, unless it is the only one */
  bool probabilities; /* targets are probabilities (N, classes) f32, even without mixup */
  uint64_t seed;      /* for order and augmentation */
  mica_dtype dtype;   /* dtype of inputs: f32 (0), f16 or bf16 */
  /* Normalisation of the inputs (the first column of pictures or rows), per channel or number. Set both or none. NULL:
   * they are measured from this dataset; for test data, set the values of the training data. Other columns of pictures
   * or rows, and targets of several numbers, are normalised by their entry in `columns`, else by measured values.
   * Scalars are not normalised. */
  const float *mean, *deviation;
  mica_augment_config augment;
  /* Size of a window that is cut from pictures, masks and depth maps at a random position. 0: the whole picture. The
   * window is cut after augmentation, so that a shift or rotation moves real pixels into it. Outside the picture the
   * window has the mean colour, masks are not labelled, and depths are 0. Not with boxes. */
  int32_t window_height, window_width;
  /* AUTO: DEVICE if all columns are in memory (not in files), they need at most a quarter of the device's memory, and
   * each fits the device's largest buffer; else STREAM */
  mica_residence residence;
  int32_t threads;                   /* threads that decode; 0: number of cores - 1, but 1 to 32 */
  int32_t prefetch;                  /* batches in preparation, 2 to 64; 0: 3 */
  const mica_column_config *columns; /* settings per column, where needed; read during creation */
  size_t column_count;
  /* Number of lengths that ragged columns are padded to, 1 to 8; 0: 4. A batch gets the smallest one that holds its
   * samples. A shuffled batch combines samples of similar length. */
  int32_t buckets;
  /* This loader delivers part number `shard` of every batch, which is divided among `shards` loaders (0: 1). All parts
   * of a full batch together have batch * shards samples (with `shares`, their sum), and every shard has the same
   * number of batches. A last batch with fewer samples than shards is omitted. */
  int32_t shard, shards;
  /* For shards of different sizes: the samples per batch of each shard, `shards` numbers of at least 1. shares[shard]
   * must equal `batch`. A smaller last batch is divided in the same proportions, with at least one sample for each
   * shard. Read during creation. NULL: all shards are equal. */
  const int64_t *shares;
} mica_loader_config;

/* Delivers a dataset to an engine's device in batches, one tensor per column. One kernel normalises pictures and rows
 * as (x - mean) / deviation, with u8 in units of 1/255, and augments them. The same seed, epoch and batch give the same
 * bits, wherever samples reside. */
typedef struct mica_loader mica_loader;

/* Creates a loader. The dataset must outlive it. config may be NULL. Blocks while it measures mean and deviation, and
 * while it reads samples from files that will reside on the device. If all columns are in memory, samples are copied to
 * the device in the background; the first batch waits for them. */
MICA_API MICA_CHECKED mica_status mica_loader_create(mica_engine *engine, const mica_dataset *dataset,
                                                     const mica_loader_config *config, mica_loader **loader);
/* Destroys the loader. Call it before destroying the engine. NULL is a no-op. */
MICA_API void mica_loader_destroy(mica_loader *loader);

/* Returns the loader as a source of batches. A new loader starts with the first batch of epoch 0. If a sample cannot be
 * read, its batch fails. */
MICA_API mica_batch_source mica_loader_source(mica_loader *loader);

typedef struct mica_loader_stats {
  uint64_t batches;      /* so far */
  double wait_seconds;   /* time that the caller waited in `next` for a batch */
  double seconds;        /* time that the caller spent in `next` in total */
  bool resident;         /* samples reside on the device */
  uint64_t device_bytes; /* device memory that the loader took when it was created */
  uint64_t left_out;     /* samples per epoch that are in no shard's batch; with shuffling, other ones in each epoch */
} mica_loader_stats;
/* Counters since the loader was created. */
MICA_API mica_loader_stats mica_loader_describe(const mica_loader *loader);

/* Mean and deviation used for normalisation; mica_dataset_shape().dim[0] elements each. NULL if the batches have no
 * pictures or rows of numbers. The loader owns them. */
MICA_API const float *mica_loader_mean(const mica_loader *loader);
MICA_API const float *mica_loader_deviation(const mica_loader *loader);

/* --- pictures --- */

/* Reads a picture file as (C, H, W) u8. size gives channels, height and width of the result; 0: the file's. With
 * another size the picture is scaled to cover it and its centre is cropped. *shape receives the result's shape. *pixels
 * is freed by the caller with mica_free. Transparent pixels of a PNG are blended onto black (PIL's convert("RGB")
 * ignores alpha). MICA_E_UNSUPPORTED: a CMYK JPEG, or the build lacks libpng or libjpeg for it. */
MICA_API MICA_CHECKED mica_status mica_image_read(const char *path, mica_shape size, uint8_t **pixels,
                                                  mica_shape *shape);

/* --- sound --- */

/* Reads a recording shorter than ten minutes: WAV, FLAC or OGG, with a rate of up to 768,000 Hz and up to 64 channels,
 * which are averaged. `rate` is the rate of the result (Hz); 0: the file's own. *found (may be NULL) receives the rate
 * of the result. The caller frees *samples with mica_free. MICA_E_FORMAT: the message names the file.
 * MICA_E_UNSUPPORTED: the build lacks libsndfile for it. */
MICA_API MICA_CHECKED mica_status mica_sound_read(const char *path, int32_t rate, float **samples, int64_t *count,
                                                  int32_t *found);

/* A recording of any length that is read as a sequence of blocks. It keeps only a few thousand frames in memory.
 * It reads and converts the same formats as mica_sound_read. Use it from one thread at a time. */
typedef struct mica_sound_stream mica_sound_stream;
MICA_API MICA_CHECKED mica_status mica_sound_stream_open(const char *path, int32_t rate, mica_sound_stream **stream);
/* Reads the next `most` samples. *count receives the number of samples read: fewer than `most` only at the end, and 0
 * after it. MICA_E_FORMAT: the file is damaged or has a sample that is NaN or infinite; the message names it. */
MICA_API MICA_CHECKED mica_status mica_sound_stream_next(mica_sound_stream *stream, float *samples, int64_t most,
                                                         int64_t *count);
/* Rate of the file (Hz). */
MICA_API int32_t mica_sound_stream_rate(const mica_sound_stream *stream);
/* NULL is a no-op. */
MICA_API void mica_sound_stream_close(mica_sound_stream *stream);

/* Writes a recording as a WAV file: one channel of 16-bit integers. Samples are cut to -1 to 1; NaN becomes 0. The file
 * at `path` is replaced in one step. MICA_E_INVALID: more samples than a WAV file holds, or a rate below 1. */
MICA_API MICA_CHECKED mica_status mica_sound_write(const char *path, int32_t rate, const float *samples, int64_t count);

/* Decodes sound from bytes that arrive through a pipe. WAV is recognised by its first four bytes: integers of 8, 16, 24
 * and 32 bits, floats of 32 and 64. A length of 0, or of 0x7ffff000 and more, in the header means that the sound lasts
 * to the end of the bytes. Bytes without a WAV header are 16-bit little-endian integers of the given rate and number of
 * channels; they are refused if they begin like FLAC, OGG, MP3 with a tag, PNG, AIFF or CAF. Needs no library. Use it
 * from one thread at a time. */
typedef struct mica_pcm mica_pcm;
MICA_API MICA_CHECKED mica_status mica_pcm_create(int32_t rate, int32_t channels, mica_pcm **pcm);
/* NULL is a no-op. */
MICA_API void mica_pcm_destroy(mica_pcm *pcm);
/* Takes the next bytes, in pieces of any size. *samples receives the frames that are complete, averaged over channels;
 * it is valid until the next call. last: no bytes follow. MICA_E_FORMAT: the header is wrong, the bytes are of another
 * kind of file, a sample is not a number, or the bytes end early; the message says which. */
MICA_API MICA_CHECKED mica_status mica_pcm_push(mica_pcm *pcm, const void *bytes, size_t size, bool last,
                                                const float **samples, int64_t *count);
/* Sample rate (Hz); 0 while unknown. */
MICA_API int32_t mica_pcm_rate(const mica_pcm *pcm);

/* --- pictures as files --- */

/* Encodes (C, H, W) u8 planes, C 1 or 3, as PNG. The caller frees *data with mica_free. MICA_E_SHAPE: another shape, or
 * a side above 32768. MICA_E_UNSUPPORTED: the build lacks libpng. */
MICA_API MICA_CHECKED mica_status mica_png_encode(const uint8_t *planes, mica_shape shape, uint8_t **data,
                                                  size_t *bytes);

MICA_END_DECLS

#endif
