/* mica/data.h: datasets on disk, and their way to the device in batches.
 *
 * Threads: a dataset does not change once it is made and may be read by several threads at once; a loader is used by
 * one thread at a time (its own threads decode and upload). Functions without an object may be called from any thread.
 * */
#ifndef MICA_DATA_H
#define MICA_DATA_H

#include <mica/batch.h>

MICA_BEGIN_DECLS

/* Samples, each a value of every column. */
typedef struct mica_dataset mica_dataset;

/* What a column holds, and its form in memory (of one sample) and in a batch of N:
 *
 *   NUMBER    f32 or u8 (0 to 255 stand for 0 to 1), any shape    f32, f16 or bf16 (N, ...)
 *   CLASS     i32, 0 to classes - 1; -1: none                     i32 (N, ...)
 *   CLASSES   u8 (classes), 1 for those that hold                 f32 (N, classes)
 *   IMAGE     u8 or f32 (C, H, W)                                 f32, f16 or bf16 (N, C, H, W)
 *   MASK      u8 (H, W), the class of each pixel; 255: none       i32 (N, H, W), -1 for none
 *   BOXES     f32 (M, 4): x0 y0 x1 y1 in the picture's pixels     f32 (N, M, 4); one without area is none
 *   TEXT      u8 (T), bytes                                       u8 (N, T)
 *   TOKENS    i32 (T)                                             i32 (N, T)
 *   SOUND     f32 or i16 (32768 stands for 1), (T) or (T, C)      f32, f16 or bf16
 *   ID        i32 or i64, any shape                               as in memory
 *   TIME      i64, in a unit of the dataset's own                 i64 (N)
 *
 * A column whose samples differ in their first dimension is ragged. BOXES have their classes in a ragged CLASS column
 * of the same lengths. */
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
  X(TIME, "time")

typedef enum mica_column_kind {
#define MICA_COLUMN_KIND_ENUM(name, text) MICA_COLUMN_KIND_##name,
  MICA_COLUMN_KIND_LIST(MICA_COLUMN_KIND_ENUM)
#undef MICA_COLUMN_KIND_ENUM
} mica_column_kind;
/* "number", "class", ...; "?" for a value that is none. */
MICA_API const char *mica_column_kind_name(mica_column_kind kind);

typedef struct mica_column {
  /* Unique in its dataset. Sources without names call them "image" (rows of numbers: "x"), "label", "mask", "boxes",
   * "text", "sound". */
  const char *name;
  mica_column_kind kind;
  mica_dtype dtype;
  mica_shape shape; /* of one sample; ragged: dim[0] is MICA_DYNAMIC */
  int32_t classes;  /* of CLASS, CLASSES and MASK; of TOKENS the vocabulary's size, 0 where that is not known */
} mica_column;

typedef enum mica_part { MICA_PART_TRAIN, MICA_PART_VALIDATION, MICA_PART_TEST } mica_part;
/* "train", "validation", "test"; "?" for a value that is none. */
MICA_API const char *mica_part_name(mica_part part);

#define MICA_BASES_AUTO "auto"

/* What stands for a missing number of a table: for an empty cell, ?, NA, N/A, nan, null and none. A missing class is a
 * class of its own. */
#define MICA_MISSING_LIST(X)                                                                                           \
  X(REFUSE, "refuse") /* nothing: such a cell is MICA_E_FORMAT, and so is a sample without a label */                  \
  X(MEAN, "mean")     /* the mean of the column's numbers */                                                           \
  X(MEDIAN, "median")                                                                                                  \
  X(MOST, "most") /* the number that is there most often, of several the least */                                      \
  X(NAN, "nan")   /* it is NaN */

typedef enum mica_missing {
#define MICA_MISSING_ENUM(name, text) MICA_MISSING_##name,
  MICA_MISSING_LIST(MICA_MISSING_ENUM)
#undef MICA_MISSING_ENUM
} mica_missing;
/* "refuse", "mean", ...; "?" for any other value. */
MICA_API const char *mica_missing_name(mica_missing missing);

typedef struct mica_dataset_config {
  mica_part part; /* of what lies in parts */
  /* A dataset that this one goes with, as test samples go with training samples: class names and sizes are taken from
   * it, and a label that it does not have is MICA_E_FORMAT. */
  const mica_dataset *like;
  /* Size of pictures from folders: scaled to cover it, then centre-cropped; 0 takes the first picture's (its 1 or 3
   * channels). */
  int32_t channels, height, width;
  /* Pictures with boxes, in place of height and width: the first picture's, scaled to this longer side and enlarged to
   * multiples of 32. 0: as above. */
  int32_t longest;
  /* CSV: the label's column, by its name in the first line or by its number from 0. NULL: the column "label", "class"
   * or "target", else the last. */
  const char *label_column;
  bool regression; /* CSV and npy: labels are numbers, not classes */
  bool classes;    /* CSV: labels that are whole numbers are classes, however many there are */
  /* CSV: kinds of columns that its cells do not tell: "user=class,year=class,note=text"; number, class, text or time.
   * Without it numbers are numbers, and texts classes where few differ, else texts; a column of whole numbers of which
   * one has a zero before it (007, 01001) holds names, as texts are. "*=text": none of the columns of texts that are
   * not named holds classes, and a first line of names of languages alone (en, source text) names the columns. */
  const char *kinds;
  /* CSV, and rows and answers of npy: what is subtracted, in double, from the numbers of columns before they become
   * f32, which tells large numbers that differ little not apart: lines "NAME=NUMBER", where the columns of rows in npy
   * are called "0", "1" and so on, and answers "label". MICA_BASES_AUTO: from such columns, their smallest number,
   * unless the file has them in f32 or less. NULL: nothing. mica_dataset_base has it. Those of `like` come first, and
   * arrays of f32 that cannot hold what lies about such a base are MICA_E_FORMAT. */
  const char *bases;
  /* CSV: what stands for missing numbers. A dataset that goes with `like` gets the numbers of that one. Unless it is
   * REFUSE, samples without a label are left out and counted in the summary, and empty columns are not read. */
  mica_missing missing;
  bool keep_unlabelled; /* samples without a label stay: class -1, number NaN */
  const char *ignore;   /* CSV: columns that are not read, "id,name"; NULL: none */
  /* Masks: what stands for which class in their files, in the order of classes: "0=cell,255=membrane", "0,128,255",
   * "#000000=sky,#ff0000=car" (colours), where names are optional, "void" counts for nothing, and a last "*=void" or
   * "*=nearest" says what any other value is (else an error that names file and value). NULL: the values that the masks
   * hold, rising, where 255 is void behind values that count up from 0. In PNG with a palette a value is the index.
   */
  const char *mask_values;
  /* Bytes of a file that are kept in memory; samples of a larger one are read from it when they are needed. 0: a
   * quarter of the machine's memory, 1 GiB at most. Files in gzip are always unpacked into memory. */
  uint64_t memory;
  int32_t rate; /* samples a second that recordings are brought to; 0: those of `like`, else of the first one */
} mica_dataset_config;

/* Opens the dataset at path, gzipped or not; config may be NULL.
 *
 *   "fashion-mnist"                 the dataset of Debian's package dataset-fashion-mnist
 *   folder of IDX files             train-images*, train-labels*; t10k-... or test-...
 *   folder of CIFAR binary files    train* or data_batch_*; val*; test*
 *   folder with train.csv ...       train, val or validation, test; also .tsv. The first line names the columns where
 *                                   it has texts above numbers, the label's name, or words that never come again below
 *                                   where others do
 *   folder with x_train.npy ...     and y_train.npy; x_val.npy ..., x_test.npy ...: inputs (N, F), (N, H, W) or
 *                                   (N, C, H, W) and labels (N); several of each: (N, K) of 0 and 1
 *   folder of Pascal VOC            Annotations/NAME.xml, pictures in JPEGImages, parts in ImageSets/Main/train.txt,
 *                                   val.txt and test.txt; or such a folder is the only one in it
 *   folder of COCO                  annotations/instances_train*.json, ..._val*.json, ..._test*.json, and pictures in
 *                                   train*, val*, test* (as the JSON's name ends), images or beside them; or folders
 *                                   train, valid and test with pictures and _annotations.coco.json
 *                                   Not in parts: images and one NAME.json beside it or in annotations
 *   a COCO file                     NAME.json, with its pictures in its folder, one above or NAME, images in these
 *   folder of folders of pictures   PNG or JPEG, a folder a class, in the order of their names; parted by folders
 *                                   train, val or validation, test above them, or not at all. All are rotated
 *                                   upright as their EXIF says, so boxes and masks are those of the upright picture.
 *                                   Black is behind what is transparent; the summary counts pictures with alpha
 *   folder of pictures and masks    images/NAME.png (or .jpg) and masks/NAME.png, also NAME_mask.png: see mask_values.
 *                                   The folders are called image, img or picture, and mask, label or segmentation, each
 *                                   with or without an s; parted as above, where a part without masks is none
 *   folder of recordings            WAV, FLAC or OGG of less than ten minutes, a folder a class; parted by folders
 *                                   train, val or validation, test above them, or not at all. Or all in one folder,
 *                                   named LABEL_SPEAKER_N: those with N below 5 are the test part. Channels are
 *                                   averaged, and rates changed by a windowed sinc (torchaudio's sinc_interp_hann)
 *   an IDX file of inputs           the labels' file is named alike, with "labels" for "images" and "idx1" for "idx3"
 *   a CIFAR binary file             CIFAR-10 or CIFAR-100 (fine labels), told apart by its size
 *   an npy file x*.npy              the labels are in y*.npy
 *   a text *.txt                    a line a sample, in the column "text", without its end
 *   parallel texts train.en, ...    beside train.de: line by line, columns "en" and "de"; val* and test*
 *                                   likewise. A single file whose name ends in two such letters is a text
 *   folder with one file            that file; a LICENSE and a README do not count
 *   any other file                  CSV: cells parted by , ; or tabs (*.tsv: by tabs alone), quoted where they hold
 *                                   such or a line's end; the first line may hold names. Lines that begin with # are
 *                                   passed over before the first other one, and behind it where they have not as many
 *                                   cells. Its numbers but the label are
 *                                   the column "x", classes, texts and dates columns by their names. A label that is a
 *                                   number is its class; if whole numbers below the largest never occur, the class of
 *                                   this name. It is a number to predict if it has a fraction, if more than 30 values
 *                                   differ, or if it is negative and more than 20 differ. A column called rownames, id,
 *                                   index or nothing that holds whole numbers, each once, is not read unless `kinds`
 *                                   names it. With `like` columns are found by their names, the label may be absent,
 *                                   and a class of another column that `like` does not have is -1
 *
 * Pictures with boxes are scaled until they fit into height x width, and lie in its middle, on grey. Their columns are
 * "image", "boxes" and, ragged alike, "label" (a CLASS), "ignored" (ID: 1 for a crowd, 2 for what is difficult) and
 * "area" (NUMBER, in pixels of the file); "size" (ID, 2): width and height of the file's picture. Boxes of COCO whose
 * width or height is 0 are left out, and the summary counts them.
 *
 * MICA_E_NOT_FOUND when nothing is there or not this part of it, MICA_E_FORMAT, naming file and reason, when it is
 * truncated, of a wrong kind, empty, or holds a label out of range; MICA_E_UNSUPPORTED when the build lacks libdeflate,
 * libpng, libjpeg, libsndfile, expat or cJSON for it; MICA_E_IO, MICA_E_NOMEM. Pictures and recordings are read when
 * they are needed, all else at once. */
MICA_API MICA_CHECKED mica_status mica_dataset_open(const char *path, const mica_dataset_config *config,
                                                    mica_dataset **dataset);

/* A column of the caller's: an array, or functions that read it sample by sample. */
typedef struct mica_column_data {
  /* classes 0 of a CLASS column of scalars in memory: one more than the largest. */
  mica_column column;
  /* count samples one after another; of a ragged column the rows of all samples, those of sample i being offsets[i] to
   * offsets[i + 1] - 1 (count + 1 offsets). Both are the caller's and outlive the dataset. */
  const void *data;
  const int64_t *offsets;
  /* In place of data: writes the sample's `bytes` bytes; of a ragged column `length` says the rows of it. Several
   * threads call them at once. What is not MICA_OK fails the call or the batch that wanted the sample. */
  void *user;
  mica_status (*read)(void *user, uint64_t sample, void *data, size_t bytes);
  mica_status (*length)(void *user, uint64_t sample, int64_t *length);
  const char *const *class_names; /* as many as classes; NULL: numbers. Copied */
} mica_column_data;

/* A dataset of n columns. MICA_E_FORMAT names the column and the sample that cannot be: of a class out of range, of
 * offsets that fall. */
MICA_API MICA_CHECKED mica_status mica_dataset_create(const char *name, uint64_t count, const mica_column_data *columns,
                                                      size_t n, mica_dataset **dataset);
/* The samples of a dataset with n columns added, each in place of one of its name: tokens beside a text. Both share
 * what the dataset holds; each may be destroyed first. */
MICA_API MICA_CHECKED mica_status mica_dataset_derive(const mica_dataset *dataset, const mica_column_data *added,
                                                      size_t n, mica_dataset **out);

/* Datasets made from this one by mica_dataset_split stay. NULL is a no-op. */
MICA_API void mica_dataset_destroy(mica_dataset *dataset);

/* *part gets a share (0 to 1) of the samples, chosen by the seed alone, *rest the others, each in their old order. Both
 * share what they hold with the dataset. */
MICA_API MICA_CHECKED mica_status mica_dataset_split(const mica_dataset *dataset, double share, uint64_t seed,
                                                     mica_dataset **part, mica_dataset **rest);

/* How a dataset is parted. Zero fields do not count; one of group, time and file at most. */
typedef struct mica_split_config {
  double share;        /* of the samples that go to the part, above 0 and below 1 */
  int32_t fold, folds; /* in place of share: range `fold` of `folds` equal ones */
  uint64_t seed;       /* decides which samples, or groups, go where */
  const char *group;   /* a column: samples with the same value of it stay together */
  const char *time;    /* a column: the part is the latest share; a fold is a range of time, and equal times stay
                         together */
  const char *file;    /* a text file with the number of a sample of the part in each line, from 0 */
} mica_split_config;

/* *part gets the samples chosen, *rest the others, each in their old order; both share what the dataset holds.
 * MICA_E_INVALID when either would be empty, MICA_E_NOT_FOUND for a column that is not there, MICA_E_FORMAT naming the
 * file and its line. */
MICA_API MICA_CHECKED mica_status mica_dataset_split_by(const mica_dataset *dataset, const mica_split_config *config,
                                                        mica_dataset **part, mica_dataset **rest);

/* Tiles of one size that cover a picture of any size. Neighbours share `overlap` pixels, the last ones of a row or a
 * column more: they end where the picture does. A picture smaller than a tile is mirrored at its far edges. */
typedef struct mica_tiling {
  int64_t height, width, overlap;
} mica_tiling;
/* Where a tile begins in its picture; and the rows and columns of the picture, the ends not among them, that are its
 * own: up to the middle of what it shares, so that each pixel belongs to one tile. */
typedef struct mica_tiling_tile {
  int64_t row, column, own_row, own_column, own_row_end, own_column_end;
} mica_tiling_tile;
/* 0 where a size is none: sides of 1 at least, which are larger than the overlap. */
MICA_API int64_t mica_tiling_count(const mica_tiling *tiling, int64_t height, int64_t width);
/* Tile `index` of a picture of that size, row by row; zeros for an index beyond them. */
MICA_API mica_tiling_tile mica_tiling_at(const mica_tiling *tiling, int64_t height, int64_t width, int64_t index);
/* Copies a tile of planes (C, H, W) to out, (C, tiling->height, tiling->width). */
MICA_API void mica_tiling_cut(const mica_tiling *tiling, const uint8_t *planes, mica_shape shape, mica_tiling_tile tile,
                              uint8_t *out);
/* The tiles of a dataset's pictures (u8) and masks as samples, picture by picture: in a mask what belongs to another
 * tile is no class, so that every pixel counts once. Files of folders of pictures and masks that were opened without a
 * size and without `like` are cut as they are, though the dataset gives all in the size of the first. The columns keep
 * their order and names; MICA_E_FORMAT where there are no pictures of bytes, or one column's size is another than the
 * first pictures'. The dataset must outlive it. */
MICA_API MICA_CHECKED mica_status mica_dataset_tiles(const mica_dataset *dataset, const mica_tiling *tiling,
                                                     mica_dataset **tiles);

/* The number of samples. */
MICA_API uint64_t mica_dataset_count(const mica_dataset *dataset);
/* The dtype of stored inputs: MICA_U8, where 0 to 255 stand for 0 to 1, or MICA_F32. */
MICA_API mica_dtype mica_dataset_dtype(const mica_dataset *dataset);
/* The shape of one input: (C, H, W), or (F) for rows of numbers. */
MICA_API mica_shape mica_dataset_shape(const mica_dataset *dataset);
/* Classes of the column "label"; 0 where labels are numbers, and where no column is called so: mica_column.classes has
 * those of any. */
MICA_API int32_t mica_dataset_classes(const mica_dataset *dataset);
/* "sneaker"; the class's number where it has no name. Lives as long as the dataset. NULL for no class. */
MICA_API const char *mica_dataset_class_name(const mica_dataset *dataset, int32_t class_index);
/* The path or the name that it was made with. Lives as long as the dataset. */
MICA_API const char *mica_dataset_name(const mica_dataset *dataset);
/* What was understood of a file, in a few words ("4 columns, label 'target', 3 classes"); "" where there is nothing to
 * say. Lives as long as the dataset. */
MICA_API const char *mica_dataset_summary(const mica_dataset *dataset);
/* What stands for which class in files of masks, as mica_dataset_config takes it. Lives as long as the dataset; NULL
 * where it was not read from masks. */
MICA_API const char *mica_dataset_mask_values(const mica_dataset *dataset);
/* Bytes of one input. */
MICA_API size_t mica_dataset_input_bytes(const mica_dataset *dataset);
/* Samples a second of recordings; 0 where there are none, or nobody knows. */
MICA_API int32_t mica_dataset_rate(const mica_dataset *dataset);

/* Columns, in an order of the dataset's own. NULL for an index beyond them. */
MICA_API size_t mica_dataset_column_count(const mica_dataset *dataset);
MICA_API const mica_column *mica_dataset_column(const mica_dataset *dataset, size_t column);
/* The index of a column by its name; the number of columns when there is none. */
MICA_API size_t mica_dataset_column_index(const mica_dataset *dataset, const char *name);
/* The name of a class of a CLASS, CLASSES or MASK column: its number where it has none. NULL for no class. Lives as
 * long as the dataset. */
MICA_API const char *mica_dataset_column_class(const mica_dataset *dataset, size_t column, int32_t class_index);
/* The name that a number of a row has in a table's header: of column "x". NULL where it has none. */
MICA_API const char *mica_dataset_number_name(const mica_dataset *dataset, size_t column, int64_t index);
/* What was subtracted from a number of a row of a table or array, or from its label (mica_dataset_config.bases): the
 * cell is what is read and this. 0 where nothing was. */
MICA_API double mica_dataset_base(const mica_dataset *dataset, size_t column, int64_t index);
/* The file that a sample is read from, a picture's or a recording's: NULL where it has none of its own. Lives as long
 * as the dataset. */
MICA_API const char *mica_dataset_file(const mica_dataset *dataset, uint64_t sample);
/* The line, from 1, in which a sample of a table as text begins; 0 of others. */
MICA_API uint64_t mica_dataset_line(const mica_dataset *dataset, uint64_t sample);
/* The first dimension of a sample of a ragged column; of others dim[0] of its shape, 1 for a scalar. Any thread. */
MICA_API MICA_CHECKED mica_status mica_dataset_length(const mica_dataset *dataset, size_t column, uint64_t sample,
                                                      int64_t *length);
/* Copies a sample of a column as it is stored, or reads and decodes its file. bytes must be what it has: of a ragged
 * column by mica_dataset_length. Any thread. */
MICA_API MICA_CHECKED mica_status mica_dataset_read(const mica_dataset *dataset, size_t column, uint64_t sample,
                                                    void *data, size_t bytes);

/* The class of a sample below the count; -1 where labels are numbers, which mica_dataset_target gives. */
MICA_API int32_t mica_dataset_label(const mica_dataset *dataset, uint64_t index);
MICA_API float mica_dataset_target(const mica_dataset *dataset, uint64_t index);
/* Copies an input as it is stored, or reads and scales its picture. bytes must be mica_dataset_input_bytes. */
MICA_API MICA_CHECKED mica_status mica_dataset_input(const mica_dataset *dataset, uint64_t index, void *input,
                                                     size_t bytes);

/* Mean and standard deviation of each channel of a column of pictures, or of each number of a sample (of a ragged
 * column: of a row), of u8 in units of 255, of i16 in units of 32768; 1 for the deviation of what is constant. Over all
 * samples in memory, of others over at most 10,000. mean and deviation have as many elements. */
MICA_API MICA_CHECKED mica_status mica_dataset_measure_column(const mica_dataset *dataset, size_t column, float *mean,
                                                              float *deviation);
/* Mean and deviation of the inputs: mica_dataset_shape().dim[0] elements. */
MICA_API MICA_CHECKED mica_status mica_dataset_measure(const mica_dataset *dataset, float *mean, float *deviation);

/* --- batches --- */

/* Random changes of pictures, in pixels and shares; zeros change nothing. The mean colour fills what lies outside of a
 * picture. The change of a sample depends on seed, epoch and its position in the epoch alone. */
typedef struct mica_augment_config {
  int32_t crop;     /* shifted by up to so many pixels in each direction */
  bool flip;        /* mirrored left to right, every other time */
  float rotate;     /* rotated by up to so many degrees */
  float scale;      /* by a factor of 1 - scale to 1 + scale */
  float brightness; /* up to so much added, where 1 is white */
  float contrast;   /* times 1 - contrast to 1 + contrast, about the mean */
  int32_t cutout;   /* a square of so many pixels, somewhere, becomes the mean (DeVries and Taylor 2017) */
  float elastic;    /* bent: nodes of a grid of 4 x 4 cells are moved by up to so many pixels, and what is between them
                       (Simard et al. 2003). Not with boxes */
  float cutmix;     /* a rectangle is that of another sample of the batch, its share from Beta(cutmix, cutmix), and
                       targets are probabilities as with mixup (Yun et al. 2019). At most 4. Not with mixup or boxes */
  float mixup;      /* blended with another sample of the batch, the share from Beta(mixup, mixup) (Zhang et al. 2018);
                       targets are probabilities then. At most 4 */
} mica_augment_config;

/* Reads "crop,flip", "crop=2,rotate=15,mixup=0.2" and "none": names of fields with or without a value. Without one crop
 * is 4, rotate 15, scale 0.1, brightness 0.2, contrast 0.2, cutout 8, elastic 4, cutmix 1, mixup 0.2. MICA_E_INVALID
 * names what is wrong. */
MICA_API MICA_CHECKED mica_status mica_augment_parse(const char *text, mica_augment_config *config);
/* The names that mica_augment_parse reads, in order; NULL behind the last. */
MICA_API const char *mica_augment_name(size_t index);

/* The home of samples while an epoch runs. DEVICE: all on the device, where a batch is put together; STREAM: on the
 * host, decoded and uploaded ahead by threads. */
typedef enum mica_residence { MICA_RESIDENCE_AUTO, MICA_RESIDENCE_DEVICE, MICA_RESIDENCE_STREAM } mica_residence;

/* How one column comes to batches. */
typedef struct mica_column_config {
  const char *name;
  bool left_out;     /* it does not come. TEXT columns come only where a row names them */
  mica_dtype dtype;  /* of numbers, pictures and sound: f16 or bf16 in place of what they are otherwise */
  const float *mean; /* of each channel or number, as mica_dataset_measure_column gives them; with deviation */
  const float *deviation;
  int64_t most; /* ragged: samples lose what is behind so many rows; 0: nothing */
  int32_t pad;  /* ragged, of integers: what stands behind the end; 0: of classes -1, else 0 */
} mica_column_config;

typedef struct mica_loader_config {
  int64_t batch;      /* samples of a batch; 0: 64 */
  bool shuffle;       /* another order each epoch, decided by the seed */
  bool drop_last;     /* leaves out a last batch that would be smaller, unless it is the only one */
  bool probabilities; /* targets are (N, classes) f32, without mixup too */
  uint64_t seed;      /* of order and augmentation */
  mica_dtype dtype;   /* of inputs: f32 (as zero gives), f16 or bf16 */
  /* For each channel, or number of a row, of the inputs: the first column of pictures or rows; with deviation. NULL:
   * measured (training data's are to be given for test data). Other columns of pictures and rows, a target of several
   * numbers too, are normalised likewise, by what `columns` says or else is measured; numbers without a shape never. */
  const float *mean, *deviation;
  mica_augment_config augment;
  /* Pictures and masks come as windows of this size at a random place, drawn as augmentation is and moved with it: what
   * lies beside the window in a picture is seen there, and beyond the picture the mean colour, in masks no class. 0:
   * whole. Not with boxes. */
  int32_t window_height, window_width;
  mica_residence residence;          /* AUTO: on the device where that is a quarter of its memory at most */
  int32_t threads;                   /* that decode; 0: a core less than there are, at least 1 */
  int32_t prefetch;                  /* batches on their way; 0: 3 */
  const mica_column_config *columns; /* rows for columns of which something is to be said; read during creation */
  size_t column_count;
  /* Lengths that ragged columns are padded to, 1 to 8; 0: 4. A batch gets the least that holds its samples; where it is
   * shuffled, samples of a length come together. */
  int32_t buckets;
  /* This loader gives part `shard` of `shards` (0: 1) of every batch of batch * shards samples, the same number of
   * batches in each; a last batch with fewer samples than shards is left out. */
  int32_t shard, shards;
  /* The samples of each shard in a batch, where they differ: `shards` numbers from 1, the own one being batch; read
   * during creation. A last batch is divided likewise, at least one each. NULL: batch. */
  const int64_t *shares;
} mica_loader_config;

/* Batches of a dataset on an engine's device, a tensor a column under its name: pictures and rows are normalised,
 * (x - mean) / deviation with u8 in units of 255, and augmented by one kernel. The same seed, epoch and batch give the
 * same bits, wherever samples reside. */
typedef struct mica_loader mica_loader;

/* The dataset must outlive the loader. config may be NULL. Blocks while mean and deviation are measured, and while
 * picture files that are to lie on the device are decoded; samples in memory go there beside what the caller does next,
 * and the first batch waits for them. */
MICA_API MICA_CHECKED mica_status mica_loader_create(mica_engine *engine, const mica_dataset *dataset,
                                                     const mica_loader_config *config, mica_loader **loader);
/* Before the engine. NULL is a no-op. */
MICA_API void mica_loader_destroy(mica_loader *loader);

/* The loader as a source of batches, from the first one of epoch 0 on. A picture that cannot be read fails the batch
 * that it is in. */
MICA_API mica_batch_source mica_loader_source(mica_loader *loader);

typedef struct mica_loader_stats {
  uint64_t batches;    /* so far */
  double wait_seconds; /* the caller waited in `next` because a batch was not ready */
  double seconds;      /* the caller spent in `next` altogether */
  bool resident;       /* on the device */
  uint64_t device_bytes;
  uint64_t left_out; /* samples of an epoch, others in each where it is shuffled, that are in no shard's batch */
} mica_loader_stats;
/* Counters since the loader was created. */
MICA_API mica_loader_stats mica_loader_describe(const mica_loader *loader);

/* The mean and the deviation that the loader normalises by; as many as mica_dataset_shape().dim[0]. */
MICA_API const float *mica_loader_mean(const mica_loader *loader);
MICA_API const float *mica_loader_deviation(const mica_loader *loader);

/* --- pictures --- */

/* A picture file as (C, H, W) u8, *pixels the caller's to mica_free. size gives channels, height and width to bring it
 * to, 0 for those it has; *shape says what came out. Where a PNG has an alpha channel black is behind what is
 * transparent (PIL's convert("RGB") takes the colours as they are stored). JPEG in CMYK is MICA_E_UNSUPPORTED. */
MICA_API MICA_CHECKED mica_status mica_image_read(const char *path, mica_shape size, uint8_t **pixels,
                                                  mica_shape *shape);

/* --- sounds --- */

/* A recording of less than ten minutes, WAV, FLAC or OGG of any rate, up to 64 channels averaged, as samples at `rate`
 * (0: its own, *found, which may be NULL). *samples is the caller's to mica_free. MICA_E_FORMAT names the file. */
MICA_API MICA_CHECKED mica_status mica_sound_read(const char *path, int32_t rate, float **samples, int64_t *count,
                                                  int32_t *found);

/* A recording of any length, read piece by piece in memory for some thousand frames: as mica_sound_read otherwise. Used
 * by one thread at a time. */
typedef struct mica_sound_stream mica_sound_stream;
MICA_API MICA_CHECKED mica_status mica_sound_stream_open(const char *path, int32_t rate, mica_sound_stream **stream);
/* Fills up to `most` samples, fewer only where the recording ends: *count 0 behind its end. MICA_E_FORMAT names the
 * file, and the sample that is not a number. */
MICA_API MICA_CHECKED mica_status mica_sound_stream_next(mica_sound_stream *stream, float *samples, int64_t most,
                                                         int64_t *count);
/* The file's own rate. */
MICA_API int32_t mica_sound_stream_rate(const mica_sound_stream *stream);
/* NULL is a no-op. */
MICA_API void mica_sound_stream_close(mica_sound_stream *stream);

/* Sound that comes as bytes, through a pipe: WAV, told by its first four bytes (integers of 8, 16, 24 and 32 bits,
 * floats of 32 and 64; a length that is not known, 0 or 0x7ffff000 and more, lasts to the end), else 16-bit
 * little-endian integers of this rate and so many channels. No library is needed. Used by one thread at a time. */
typedef struct mica_pcm mica_pcm;
MICA_API MICA_CHECKED mica_status mica_pcm_create(int32_t rate, int32_t channels, mica_pcm **pcm);
/* NULL is a no-op. */
MICA_API void mica_pcm_destroy(mica_pcm *pcm);
/* Takes the next bytes, in pieces of any size. *samples gets the means of channels of the frames that are whole now,
 * valid until the next call. last: there are no more bytes. MICA_E_FORMAT says what is wrong with the header, or which
 * sample is not a number, or that the bytes end early. */
MICA_API MICA_CHECKED mica_status mica_pcm_push(mica_pcm *pcm, const void *bytes, size_t size, bool last,
                                                const float **samples, int64_t *count);
/* Samples a second; 0 until they are known. */
MICA_API int32_t mica_pcm_rate(const mica_pcm *pcm);

MICA_END_DECLS

#endif
