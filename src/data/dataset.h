/* data/dataset.h: what a dataset is made of, and the readers that fill it. */
#ifndef MICA_DATA_DATASET_H
#define MICA_DATA_DATASET_H

#include "base/error.h"

#include <mica/data.h>
#include <stdatomic.h>

/* Labels from this number on are considered garbage. */
#define MICA__MAX_CLASSES 1000000

/* The range of the values of an array column in its file, and the base that is subtracted from them. A column of rows
 * has one extent per number of a row; other columns have one for all numbers. */
typedef struct mica__extent {
  double least, most;
  double base; /* subtracted in double, before the conversion to f32 */
  bool coarse; /* f32 would make many of the numbers equal (mica__is_coarse) */
} mica__extent;

/* A column of a store: in memory, or read sample by sample. */
typedef struct mica__column {
  mica_column about;
  size_t bytes;           /* of a sample; for a ragged column, of one of its rows */
  const uint8_t *data;    /* the first sample or row; NULL if `read` provides them */
  size_t stride;          /* bytes from one sample, or row, to the next */
  const int64_t *offsets; /* for a ragged column in memory: sample i has the rows offsets[i] to offsets[i + 1] - 1 */
  void *user;
  mica_status (*read)(void *user, uint64_t sample, void *data, size_t bytes);
  mica_status (*length)(void *user, uint64_t sample, int64_t *length);
  /* Reads a sample that is drawn at random; `draw` differs in each epoch. NULL: samples are the same in all epochs. */
  mica_status (*read_drawn)(void *user, uint64_t sample, uint64_t draw, void *data, size_t bytes);
  /* Reads a picture or mask without scaling or cropping, in the size that store->sides gives. NULL: `read` neither
   * scales nor crops. */
  mica_status (*read_own)(void *user, uint64_t sample, void *data, size_t bytes);
  bool foreign;                  /* the functions are the caller's: failures get a message, classes are checked */
  const uint32_t *map;           /* for each sample of the store its index in the column; NULL: the same index */
  char **class_names;            /* of a column with classes, set once the store is a dataset */
  const char *const *part_names; /* one per number of a row; NULL: they have no names */
  const char *const *files;      /* the file of each sample of the column; NULL: samples have no files */
  bool paths;                    /* of a table opened with config->files: the texts are names of files */
  const uint32_t *lines;         /* of a table: the line in which each sample begins, from 1; NULL: not a table */
  const mica__extent *extents;   /* of an array; NULL: not an array */
  size_t extent_count;
  mica_dtype from; /* with extents: the element type in the file */
} mica__column;

/* A resource that is released with the store. */
typedef struct mica__owned {
  void *object;
  void (*release)(void *object);
} mica__owned;

/* Samples, shared by reference counting among the datasets that are views of them. */
typedef struct mica__store {
  atomic_int references;
  char *name;
  char *summary;     /* how the data were interpreted; NULL: nothing worth mentioning */
  char *mask_values; /* as in mica_dataset_config; NULL: there are no mask files */
  uint64_t count;
  int32_t (*sides)[2]; /* height and width of each sample's picture in its file; NULL: those of the column */
  int32_t rate;        /* of SOUND columns, samples per second; 0: not known */
  mica__column *columns;
  size_t column_count;
  struct mica__volumes *volumes;     /* for files of volumes (data/volume/volume.h); NULL: there are none */
  const struct mica__schema *schema; /* the columns of a table as text (data/table/table.h); NULL: not one */
  size_t input, label;               /* the columns of inputs and labels; column_count: there is none */
  mica__owned *owned;
  size_t owned_count;
} mica__store;

struct mica_dataset {
  mica__store *store;
  uint32_t *map; /* the store's index of each sample; NULL: all samples in order */
  uint64_t count;
};

/* Creates an empty store with a name and one reference. */
mica_status mica__store_create(const char *name, mica__store **store);
void mica__store_release(mica__store *store);

/* Gives the object to the store: it is released together with the store. If memory is short, the object is released at
 * once. A NULL object is ignored. */
mica_status mica__store_own(mica__store *store, void *object, void (*release)(void *object));

/* Adds a sentence to the store's summary. */
mica_status mica__store_add_summary(mica__store *store, const char *sentence);

/* Sets the number of samples. MICA_E_FORMAT if it is 0 or above 2^32 - 1. */
mica_status mica__store_set_count(mica__store *store, uint64_t count);

/* Adds a column that has neither memory nor functions yet; the name is copied. *column is valid until another is added.
 * MICA_E_FORMAT for a name that is missing or exists already, an unknown kind, or a dtype, a shape, a size or a number
 * of classes that the kind does not allow. */
mica_status mica__store_add(mica__store *store, const mica_column *about, mica__column **column);

/* Adds the column of inputs: "image" if the shape is (C, H, W), else "x". */
mica_status mica__store_add_input(mica__store *store, mica_dtype dtype, mica_shape shape, mica__column **column);

/* Checks that labels are classes 0 to classes - 1 (classes 0: one more than the largest) and adds them as column
 * "label", which takes them over (also on failure). MICA_E_FORMAT names the first label out of range, or a largest
 * label that is implausible for so few samples. */
mica_status mica__store_add_labels(mica__store *store, int32_t *labels, int32_t classes);
/* mica__store_add_labels for labels of any type, which are copied and must be whole numbers. */
mica_status mica__store_convert_labels(mica__store *store, mica_dtype dtype, const void *labels, int32_t classes);
/* Adds numbers as column "label"; the store takes them over. */
mica_status mica__store_add_targets(mica__store *store, float *targets);

/* Copies the names of a column's classes; does nothing if the column does not have `count` classes. */
mica_status mica__column_name_classes(mica__column *column, const char *const *names, int32_t count);

/* Checks that a filled store fits config->like, and gives its classes their names. `name` appears in messages. */
mica_status mica__store_finish(const char *name, mica__store *store, const mica_dataset_config *config);

/* Makes a dataset of all samples of the store, which it takes over (also on failure). Classes without names are named
 * by number, except those of tokens. */
mica_status mica__dataset_of(mica__store *store, mica_dataset **dataset);

/* If picture files (of all, or of 200 evenly spaced ones) have an alpha channel, adds to the summary how many, and how
 * it is treated. */
mica_status mica__store_note_alpha(mica__store *store);

/* The first column of a kind; NULL: none. */
const mica_column *mica__dataset_find(const mica_dataset *dataset, mica_column_kind kind);
/* The column of that name; NULL: none. */
mica__column *mica__store_find(const mica__store *store, const char *name);
/* The columns of inputs and labels; NULL: none. */
static inline mica__column *mica__store_input(const mica__store *store) {
  return store->input < store->column_count ? &store->columns[store->input] : NULL;
}
static inline mica__column *mica__store_label(const mica__store *store) {
  return store->label < store->column_count ? &store->columns[store->label] : NULL;
}

/* What config->like says about labels: the number of classes (0: any, also without `like`), and the class of a name
 * (-1: none). */
int32_t mica__config_classes(const mica_dataset_config *config);
int32_t mica__config_class_of(const mica_dataset_config *config, const char *name);

static inline bool mica__column_is_ragged(const mica__column *column) {
  return column->about.shape.rank > 0 && column->about.shape.dim[0] < 0;
}

/* The store's index of a sample. */
static inline uint64_t mica__dataset_index(const mica_dataset *dataset, uint64_t index) {
  return dataset->map ? dataset->map[index] : index;
}

/* The bytes of a sample of the dataset; NULL if it is not in memory. */
const uint8_t *mica__dataset_at(const mica_dataset *dataset, size_t column, uint64_t sample);

/* How many numbers of a column have means of their own: the channels of a picture, the numbers of a row. */
int64_t mica__column_channels(const mica__column *column);

/* The sides of a sample's picture and mask, neither scaled nor cropped: those of the column unless the store has
 * others. */
void mica__dataset_sides(const mica_dataset *dataset, uint64_t sample, int64_t *height, int64_t *width);
/* The most pixels of any picture by mica__dataset_sides. */
size_t mica__dataset_most_pixels(const mica_dataset *dataset);
/* mica_dataset_read for a picture or mask in its own size (mica__dataset_sides). */
mica_status mica__dataset_read_own(const mica_dataset *dataset, size_t column, uint64_t sample, void *data,
                                   size_t bytes);

/* Reads a whole file, unpacked if it is gzip, and adds a NUL after it. The caller frees *data. */
mica_status mica__content_read(const char *path, uint8_t **data, size_t *size);
/* mica__content_read for bytes in memory, which it takes over: they are freed or become *data. */
mica_status mica__content_inflate(const char *name, uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size);

/* Compresses *data to the content of a gzip file. Frees the uncompressed bytes, also after a failure; *data is then
 * NULL. */
mica_status mica__content_deflate(uint8_t **data, size_t *size);

/* An array in a file. Its elements are inside the content; they are moved within it if they would not be aligned. */
typedef struct mica__array {
  mica_dtype dtype;
  mica_shape shape;
  uint8_t *elements;
} mica__array;

/* Parses an IDX file: two zero bytes, a type, a rank, the dimensions and the elements. The elements are big-endian in
 * the file and are converted to the host's byte order. mica__idx_parse_header reads only the first 36 bytes of the
 * content, but needs the size of the whole file; *offset receives the position of the elements. */
mica_status mica__idx_parse_header(const char *name, const uint8_t *content, size_t size, mica__array *array,
                                   size_t *offset);
mica_status mica__idx_parse(const char *name, uint8_t *content, size_t size, mica__array *array);
/* Parses NumPy's npy with elements in C order, and converts them to the host's byte order. */
mica_status mica__npy_parse(const char *name, uint8_t *content, size_t size, mica__array *array);

/* Moves the bytes after a file's header to an address that suits elements of any type. */
uint8_t *mica__elements_align(uint8_t *content, size_t header, size_t bytes);

/* True if the file is larger than config->memory (0: a quarter of the machine's memory) or than 1 GiB, so that it is
 * read sample by sample instead of loaded. False for names that end in .gz. */
bool mica__stays_in_file(const char *path, const mica_dataset_config *config);
/* Reads `size` bytes; MICA_E_IO if the file has become shorter. */
mica_status mica__file_read_at(const char *name, int file, uint64_t offset, void *data, size_t size);
/* Reads the first bytes of a file, with zeros after its end; *size receives the size of the file. */
mica_status mica__file_begin(const char *path, void *bytes, size_t capacity, uint64_t *size);
/* --- extents.c --- */

/* True if numbers in this range are so large and so close together that f32 makes many of them equal. */
bool mica__is_coarse(double least, double most);
/* Makes empty extents, one for each of `parts` numbers of a sample; the store owns them. */
mica_status mica__extents_create(mica__store *store, size_t parts, mica__extent **extents);
/* Extends the extents so that they include the elements; the first element is number 0 of a sample. */
void mica__extents_measure(mica__extent *extents, size_t parts, mica_dtype dtype, const void *elements, int64_t count);
/* Finds the bases of the numbers of a row, or of the label. A base comes from config->like if that has one, or else
 * from config->bases. MICA_E_FORMAT if the elements are of a floating type that cannot hold whole numbers near a base
 * exactly. */
mica_status mica__extents_find_bases(const mica__store *store, const mica__column *column,
                                     const mica_dataset_config *config, mica__extent *extents, size_t parts,
                                     mica_dtype dtype);
bool mica__extents_have_bases(const mica__extent *extents, size_t parts);
/* Converts elements to f32, after their bases are subtracted in double. */
void mica__extents_convert(const mica__extent *extents, size_t parts, mica_dtype dtype, const void *elements,
                           int64_t count, float *out);

/* Samples in a file: the first at `offset`, the others every `stride` bytes. */
typedef struct mica__file_rows {
  uint64_t offset;
  size_t stride;
  mica_dtype dtype; /* u8, f32, or a type that is converted to f32 */
  bool big_endian;
} mica__file_rows;
/* Makes a column read its samples from the file at path. MICA_E_FORMAT if the file is too short for them. */
mica_status mica__store_map(mica__store *store, mica__column *column, const char *path, const mica__file_rows *rows);
/* Measures the extents of a column whose samples stay in a file. Once the extents have bases, reads of the column
 * subtract them. */
mica_status mica__store_measure_mapped(const mica__store *store, const mica__column *column, mica__extent *extents,
                                       size_t parts);

/* Fills the store with the samples of CIFAR-10 or CIFAR-100 records; the store takes over the content. */
mica_status mica__cifar_parse(const char *name, uint8_t *content, size_t size, const mica_dataset_config *config,
                              mica__store *store);

/* Fills the store with a column `name` of the lines of a content, which the store takes over; `path` appears in
 * messages. */
mica_status mica__text_parse(const char *path, const char *name, uint8_t *content, size_t size, mica__store *store);

/* Checks that the elements of `samples` samples are finite f32 numbers. MICA_E_FORMAT names the first one that is NaN,
 * infinite or out of range, and its sample; `first` is the number of the first sample. Integers are not checked. */
mica_status mica__check_finite(const char *name, mica_dtype dtype, const void *elements, mica_shape shape,
                               uint64_t first, uint64_t samples);
/* Fills the store with inputs, whose content it takes over, and with labels. */
mica_status mica__arrays_join(mica__array inputs, uint8_t *content, const mica__array *labels,
                              const mica_dataset_config *config, mica__store *store);

/* Opens the inputs of an npy file as a dataset without labels. */
mica_status mica__arrays_open_inputs(const char *path, const mica_dataset_config *config, mica_dataset **dataset);

/* Fills the store with samples from one folder per class. */
mica_status mica__folder_read(const char *path, const mica_dataset_config *config, mica__store *store);

/* The first function adds a column "image" of pictures, the second a column "sound" of recordings: one file per
 * sample. They take over the list of paths (also on failure). */
mica_status mica__pictures_add(mica__store *store, char **paths, const mica_dataset_config *config);
mica_status mica__recordings_add(mica__store *store, char **paths, const mica_dataset_config *config);

/* Makes a dataset of the samples whose byte in `chosen` is 1, in order, possibly none. It shares the samples' data with
 * the given dataset. */
mica_status mica__dataset_pick(const mica_dataset *dataset, const uint8_t *chosen, mica_dataset **part);

/* Sets chosen[i] to 1 for each sample number i that a line of the text states; numbers must be below `count`. Empty
 * lines and lines that begin with # are skipped. The text must end with a NUL and is modified. */
mica_status mica__split_parse(const char *name, char *content, size_t size, uint64_t count, uint8_t *chosen);

/* True for names that readers ignore: hidden files, and those that systems and programs leave behind, such as __MACOSX
 * and Thumbs.db (data/part_names.c). */
bool mica__is_litter(const char *name);

/* The names in a directory in strcmp's order, without ignored ones; released by mica__names_free. */
typedef struct mica__names {
  char **names;
  size_t count;
} mica__names;
mica_status mica__names_read(const char *path, mica__names *names);
/* Like mica__names_read, but lists no names, without failing, if path is not a folder that this user may read. Used to
 * find out what a folder holds. */
mica_status mica__names_look(const char *path, mica__names *names);
void mica__names_free(mica__names *names);

/* A copy of the name for terminals and JSON: each control character or byte that is not UTF-8 is written as \x1b, for
 * example. NULL if memory is short. */
char *mica__name_printable(const char *name);

#endif
