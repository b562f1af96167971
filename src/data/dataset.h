/* data/dataset.h: what a dataset is made of, and the readers that fill it. */
#ifndef MICA_DATA_DATASET_H
#define MICA_DATA_DATASET_H

#include "base/error.h"

#include <mica/data.h>
#include <stdatomic.h>

/* Labels from this number on are taken for garbage. */
#define MICA__MAX_CLASSES 1000000

/* The range of an array's column in its file, and the base subtracted from it: per number of a row, or for all
 * together. */
typedef struct mica__extent {
  double least, most;
  double base; /* is subtracted, in double, before they become f32 */
  bool coarse; /* mica__is_coarse */
} mica__extent;

/* A column of a store: in memory, or read sample by sample. */
typedef struct mica__column {
  mica_column about;
  size_t bytes;           /* of a sample; of a ragged column of one of its rows */
  const uint8_t *data;    /* the first sample, or row; NULL where `read` gives them */
  size_t stride;          /* bytes from one sample, or row, to the next */
  const int64_t *offsets; /* of a ragged column in memory: the rows of sample i are offsets[i] to offsets[i + 1] - 1 */
  void *user;
  mica_status (*read)(void *user, uint64_t sample, void *data, size_t bytes);
  mica_status (*length)(void *user, uint64_t sample, int64_t *length);
  /* Reads a sample that is drawn: `draw` differs per epoch. NULL: samples are the same in each epoch. */
  mica_status (*read_drawn)(void *user, uint64_t sample, uint64_t draw, void *data, size_t bytes);
  /* Reads a picture or mask neither scaled nor cut, in store->sides. NULL: `read` gives it so. */
  mica_status (*read_own)(void *user, uint64_t sample, void *data, size_t bytes);
  bool foreign;                  /* the functions are the caller's: failures get a sentence, classes are checked */
  const uint32_t *map;           /* the sample in the column of each of the store's; NULL: the same */
  char **class_names;            /* of a column with classes, once the store is a dataset */
  const char *const *part_names; /* of each number of a row; NULL: they have none */
  const char *const *files;      /* that the column's samples are read from, one each; NULL: they have none */
  bool paths;                    /* of a table that was opened with config->files: texts are names of files */
  const uint32_t *lines;         /* of a table in which they begin, from 1; NULL: it is none */
  const mica__extent *extents;   /* of an array; NULL: it is none */
  size_t extent_count;
  mica_dtype from; /* with extents: the type in the file */
} mica__column;

/* A resource that is released with the store. */
typedef struct mica__owned {
  void *object;
  void (*release)(void *object);
} mica__owned;

/* Samples, shared by reference count between the datasets that are views of them. */
typedef struct mica__store {
  atomic_int references;
  char *name;
  char *summary;     /* what was understood; NULL: nothing worth a sentence */
  char *mask_values; /* as mica_dataset_config has them; NULL: there are no files of masks */
  uint64_t count;
  int32_t (*sides)[2]; /* height and width of each sample's picture as it is; NULL: that of the column */
  int32_t rate;        /* of SOUND columns, samples a second; 0: not known */
  mica__column *columns;
  size_t column_count;
  struct mica__volumes *volumes;     /* of files of volumes (data/volume/volume.h); NULL: there are none */
  const struct mica__schema *schema; /* of a table as text (data/table/table.h) */
  size_t input, label;               /* the columns that stand for both; column_count if there is none */
  mica__owned *owned;
  size_t owned_count;
} mica__store;

struct mica_dataset {
  mica__store *store;
  uint32_t *map; /* index in the store of each sample; NULL for all of them in order */
  uint64_t count;
};

/* Creates an empty store with a name and one reference. */
mica_status mica__store_create(const char *name, mica__store **store);
void mica__store_release(mica__store *store);

/* The store releases the object with itself; it does so at once where memory is short. A NULL object is a no-op. */
mica_status mica__store_own(mica__store *store, void *object, void (*release)(void *object));

/* Adds a sentence to the store's summary. */
mica_status mica__store_add_summary(mica__store *store, const char *sentence);

/* Sets the number of samples. MICA_E_FORMAT for none and for more than 2^32 - 1. */
mica_status mica__store_set_count(mica__store *store, uint64_t count);

/* Adds a column that has neither memory nor functions yet; the name is copied. *column is valid until the next one is
 * added. MICA_E_FORMAT for a name that there is, a shape without elements, and a kind that such a dtype or shape does
 * not suit. */
mica_status mica__store_add(mica__store *store, const mica_column *about, mica__column **column);

/* Adds the column of inputs: "image" where the shape is (C, H, W), else "x". */
mica_status mica__store_add_input(mica__store *store, mica_dtype dtype, mica_shape shape, mica__column **column);

/* Checks that the labels are classes 0 to classes - 1, where classes 0 stands for one more than the largest, and adds
 * them as column "label", which owns them (also on failure). MICA_E_FORMAT names the first that is not, and a largest
 * one that so few samples cannot mean. */
mica_status mica__store_add_labels(mica__store *store, int32_t *labels, int32_t classes);
/* mica__store_add_labels of a copy of labels of any type, which are whole numbers. */
mica_status mica__store_convert_labels(mica__store *store, mica_dtype dtype, const void *labels, int32_t classes);
/* Adds numbers as column "label", which owns them. */
mica_status mica__store_add_targets(mica__store *store, float *targets);

/* Copies the names of a column's classes; does nothing if there are not as many. */
mica_status mica__column_name_classes(mica__column *column, const char *const *names, int32_t count);

/* Checks that a filled store goes with config->like, and names its classes. name stands in sentences. */
mica_status mica__store_finish(const char *name, mica__store *store, const mica_dataset_config *config);

/* Makes a dataset of all samples of the store, which it takes over (also on failure). Classes without names get numbers
 * as names. */
mica_status mica__dataset_of(mica__store *store, mica_dataset **dataset);

/* Adds to the summary how many of the files of pictures, or of 200 of them, have an alpha channel, and what becomes of
 * it. */
mica_status mica__store_note_alpha(mica__store *store);

/* The first column of a kind; NULL if there is no such column. */
const mica_column *mica__dataset_find(const mica_dataset *dataset, mica_column_kind kind);
/* The column of that name; NULL when there is none. */
mica__column *mica__store_find(const mica__store *store, const char *name);
/* The columns that stand for inputs and labels; NULL when there is none. */
static inline mica__column *mica__store_input(const mica__store *store) {
  return store->input < store->column_count ? &store->columns[store->input] : NULL;
}
static inline mica__column *mica__store_label(const mica__store *store) {
  return store->label < store->column_count ? &store->columns[store->label] : NULL;
}

/* What config->like knows of the labels: their number of classes (0: any, also if there is no `like`), and the class
 * of a name (-1: none). */
int32_t mica__config_classes(const mica_dataset_config *config);
int32_t mica__config_class_of(const mica_dataset_config *config, const char *name);

static inline bool mica__column_is_ragged(const mica__column *column) {
  return column->about.shape.rank > 0 && column->about.shape.dim[0] < 0;
}

/* The index in the store of a sample. */
static inline uint64_t mica__dataset_index(const mica_dataset *dataset, uint64_t index) {
  return dataset->map ? dataset->map[index] : index;
}

/* The bytes of a sample of the dataset; NULL if it is not in memory. */
const uint8_t *mica__dataset_at(const mica_dataset *dataset, size_t column, uint64_t sample);

/* The numbers of a column that have a mean of their own: channels of a picture, numbers of a row. */
int64_t mica__column_channels(const mica__column *column);

/* The sides of a sample's picture, and of its mask, neither scaled nor cut: those of the column unless the store has
 * others. */
void mica__dataset_sides(const mica_dataset *dataset, uint64_t sample, int64_t *height, int64_t *width);
/* The most pixels that a picture has by mica__dataset_sides. */
size_t mica__dataset_most_pixels(const mica_dataset *dataset);
/* mica_dataset_read of a picture or mask of such sides. */
mica_status mica__dataset_read_own(const mica_dataset *dataset, size_t column, uint64_t sample, void *data,
                                   size_t bytes);

/* Reads a whole file, inflated if it is gzip; a NUL follows its end. *data is the caller's to free. */
mica_status mica__content_read(const char *path, uint8_t **data, size_t *size);
/* mica__content_read of bytes in memory, which it takes over: they are freed or become *data. */
mica_status mica__content_inflate(const char *name, uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size);

/* Replaces bytes by a gzip file of them. After a failure they are freed, and *data is NULL. */
mica_status mica__content_deflate(uint8_t **data, size_t *size);

/* An array in a file: its elements lie inside the file's content, which is moved where they would not be aligned. */
typedef struct mica__array {
  mica_dtype dtype;
  mica_shape shape;
  uint8_t *elements;
} mica__array;

/* IDX: two zero bytes, a type, a rank, the dimensions (big-endian), the elements (big-endian, byte-swapped here). Of
 * the header the content may hold the first 36 bytes alone; *offset gets where the elements begin. */
mica_status mica__idx_parse_header(const char *name, const uint8_t *content, size_t size, mica__array *array,
                                   size_t *offset);
mica_status mica__idx_parse(const char *name, uint8_t *content, size_t size, mica__array *array);
/* NumPy's npy, of elements in C order, which are byte-swapped here where the host's order is the other. */
mica_status mica__npy_parse(const char *name, uint8_t *content, size_t size, mica__array *array);

/* Moves the bytes at the end of a file's header to an address that elements of any type may have. */
uint8_t *mica__elements_align(uint8_t *content, size_t header, size_t bytes);

/* True if so large a file is read sample by sample, as config->memory says; gzip files never are. */
bool mica__stays_in_file(const char *path, const mica_dataset_config *config);
/* Reads `size` bytes; MICA_E_IO if the file has become shorter. */
mica_status mica__file_read_at(const char *name, int file, uint64_t offset, void *data, size_t size);
/* Reads the first bytes of a file, zeros after its end; *size gets all that it has. */
mica_status mica__file_begin(const char *path, void *bytes, size_t capacity, uint64_t *size);
/* --- extents.c --- */

/* True if f32 tells few numbers between these apart, which are large and differ little. */
bool mica__is_coarse(double least, double most);
/* Extents of `parts` numbers a sample, which the store owns, to be measured. */
mica_status mica__extents_create(mica__store *store, size_t parts, mica__extent **extents);
/* Widens them by elements, the first of which is number 0 of a sample. */
void mica__extents_measure(mica__extent *extents, size_t parts, mica_dtype dtype, const void *elements, int64_t count);
/* Finds the bases of a column of rows, or of answers, in config: those of `like` come first. MICA_E_FORMAT for floating
 * elements whose digits do not reach below a base. */
mica_status mica__extents_find_bases(const mica__store *store, const mica__column *column,
                                     const mica_dataset_config *config, mica__extent *extents, size_t parts,
                                     mica_dtype dtype);
bool mica__extents_have_bases(const mica__extent *extents, size_t parts);
/* Elements as f32, less their bases. */
void mica__extents_convert(const mica__extent *extents, size_t parts, mica_dtype dtype, const void *elements,
                           int64_t count, float *out);

/* Samples in a file: the first at `offset`, others `stride` bytes apart. */
typedef struct mica__file_rows {
  uint64_t offset;
  size_t stride;
  mica_dtype dtype; /* u8, f32, or what becomes f32 */
  bool big_endian;
} mica__file_rows;
/* Has a column read its samples from there. MICA_E_FORMAT if the file is too short for them. */
mica_status mica__store_map(mica__store *store, mica__column *column, const char *path, const mica__file_rows *rows);
/* mica__extents_measure of all such samples, each of which is less its bases from then on. */
mica_status mica__store_measure_mapped(const mica__store *store, const mica__column *column, mica__extent *extents,
                                       size_t parts);

/* Samples of a content of CIFAR-10 or CIFAR-100 records, which the store takes over. */
mica_status mica__cifar_parse(const char *name, uint8_t *content, size_t size, const mica_dataset_config *config,
                              mica__store *store);

/* The lines of a content, which the store takes over, as a column of that name; path stands in sentences. */
mica_status mica__text_parse(const char *path, const char *name, uint8_t *content, size_t size, mica__store *store);

/* MICA_E_FORMAT names the first element, of samples from `first` on, that is not a finite f32 number: NaN, infinite, or
 * beyond its range. Integers are not looked at. */
mica_status mica__check_finite(const char *name, mica_dtype dtype, const void *elements, mica_shape shape,
                               uint64_t first, uint64_t samples);
/* Samples of an array of inputs, whose content the store takes over, and an array of labels. */
mica_status mica__arrays_join(mica__array inputs, uint8_t *content, const mica__array *labels,
                              const mica_dataset_config *config, mica__store *store);

/* The inputs of an npy file, as datasets of arrays have them, without labels. */
mica_status mica__arrays_open_inputs(const char *path, const mica_dataset_config *config, mica_dataset **dataset);

/* Samples of a folder with a folder a class. */
mica_status mica__folder_read(const char *path, const mica_dataset_config *config, mica__store *store);

/* Adds the pictures, or recordings, of one file per sample of the store to it: columns "image" and "sound". They take
 * the list of paths (also on failure). */
mica_status mica__pictures_add(mica__store *store, char **paths, const mica_dataset_config *config);
mica_status mica__recordings_add(mica__store *store, char **paths, const mica_dataset_config *config);

/* The samples whose byte is 1, in order; there may be none. They share data with the dataset. */
mica_status mica__dataset_pick(const mica_dataset *dataset, const uint8_t *chosen, mica_dataset **part);

/* Marks the samples below `count` whose numbers a text has, one a line; it is written to, and a NUL ends it. */
mica_status mica__split_parse(const char *name, char *content, size_t size, uint64_t count, uint8_t *chosen);

/* True for names that no reader looks at: hidden ones, and what systems and programs leave in folders, as __MACOSX and
 * Thumbs.db (data/part_names.c). */
bool mica__is_litter(const char *name);

/* The names in a directory in strcmp's order, without litter; released by mica__names_free. */
typedef struct mica__names {
  char **names;
  size_t count;
} mica__names;
mica_status mica__names_read(const char *path, mica__names *names);
/* Likewise, but without names if path is not a folder that this user may read: to recognise what a folder holds. */
mica_status mica__names_look(const char *path, mica__names *names);
void mica__names_free(mica__names *names);

/* A copy of the name with control characters and bytes that are not UTF-8 written as \\x1b, fit for a terminal and for
 * JSON; NULL when memory is short. */
char *mica__name_printable(const char *name);

#endif
