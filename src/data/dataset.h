/* data/dataset.h: what a dataset is made of, and the readers that fill it. */
#ifndef MICA_DATA_DATASET_H
#define MICA_DATA_DATASET_H

#include "base/error.h"

#include <mica/data.h>
#include <stdatomic.h>

/* Labels from this number on are taken for garbage. */
#define MICA__MAX_CLASSES 1000000

/* The samples, shared by reference count between the datasets that are views of them. */
typedef struct mica__store {
  atomic_int references;
  char *name;
  uint64_t count;
  mica_dtype dtype;
  mica_shape shape;     /* of one input */
  size_t input_bytes;   /* of one input */
  const uint8_t *input; /* the first; NULL where files are read when needed */
  size_t stride;        /* bytes from one input to the next */
  char **files;         /* of each sample, where input is NULL */
  int32_t *labels;      /* NULL where there are targets */
  float *targets;
  int32_t classes;
  char **class_names;     /* NULL where classes have none */
  void *content;          /* the memory behind input, to be freed */
  mica_column columns[2]; /* input and label */
} mica__store;

struct mica_dataset {
  mica__store *store;
  uint32_t *map; /* index in the store of each sample; NULL for all of them in order */
  uint64_t count;
};

/* Creates an empty store with a name and one reference. */
mica_status mica__store_create(const char *name, mica__store **store);
void mica__store_release(mica__store *store);

/* Sets dtype, shape and input_bytes. MICA_E_FORMAT unless the shape has 1 or 3 dimensions, none of them 0, and count
 * samples of it are a size. */
mica_status mica__store_set_shape(mica__store *store, uint64_t count, mica_dtype dtype, mica_shape shape);

/* Takes labels over and checks that they are classes 0 to classes - 1, where classes 0 stands for one more than the
 * largest. MICA_E_FORMAT names the first that is not. */
mica_status mica__store_set_labels(mica__store *store, int32_t *labels, int32_t classes);
/* mica__store_set_labels of a copy of labels of any integer type. */
mica_status mica__store_convert_labels(mica__store *store, mica_dtype dtype, const void *labels, int32_t classes);

/* Describes the store's columns, once all else is set. */
void mica__store_make_columns(mica__store *store);

/* Copies the names of `count` classes. */
mica_status mica__store_name_classes(mica__store *store, const char *const *names, int32_t count);
/* Names classes that have none by their numbers. */
mica_status mica__store_number_classes(mica__store *store);

/* The number of classes that labels may have: that of config->like, or 0 for any. */
int32_t mica__config_classes(const mica_dataset_config *config);

/* Makes a dataset of all samples of the store, which it takes over (also on failure). Classes without names get numbers
 * as names. */
mica_status mica__dataset_of(mica__store *store, mica_dataset **dataset);

/* The index in the store of a sample. */
static inline uint64_t mica__dataset_index(const mica_dataset *dataset, uint64_t index) {
  return dataset->map ? dataset->map[index] : index;
}

/* Reads a whole file, inflated if it is gzip; a NUL follows its end. *data is the caller's to free. */
mica_status mica__content_read(const char *path, uint8_t **data, size_t *size);
/* mica__content_read of bytes in memory, which it takes over: they are freed or become *data. */
mica_status mica__content_inflate(const char *name, uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size);

/* An array in a file: its elements lie inside the file's content, which is moved where they would not be aligned. */
typedef struct mica__array {
  mica_dtype dtype;
  mica_shape shape;
  uint8_t *elements;
} mica__array;

/* IDX: two zero bytes, a type, a rank, the dimensions (big-endian), the elements (big-endian, byte-swapped here). */
mica_status mica__idx_parse(const char *name, uint8_t *content, size_t size, mica__array *array);
/* NumPy's npy, of little-endian elements in C order. */
mica_status mica__npy_parse(const char *name, uint8_t *content, size_t size, mica__array *array);

/* Moves the bytes at the end of a file's header to an address that elements of any type may have. */
uint8_t *mica__elements_align(uint8_t *content, size_t header, size_t bytes);

/* Samples of a text of numbers and labels, which a NUL ends; content is not kept. */
mica_status mica__csv_parse(const char *name, const char *content, size_t size, const mica_dataset_config *config,
                            mica__store *store);

/* Samples of a content of CIFAR-10 or CIFAR-100 records, which the store takes over. */
mica_status mica__cifar_parse(const char *name, uint8_t *content, size_t size, const mica_dataset_config *config,
                              mica__store *store);

/* Samples of an array of inputs, whose content the store takes over, and an array of labels. */
mica_status mica__arrays_join(mica__array inputs, uint8_t *content, const mica__array *labels,
                              const mica_dataset_config *config, mica__store *store);

/* Samples of a folder with a folder a class. */
mica_status mica__folder_read(const char *path, const mica_dataset_config *config, mica__store *store);

/* Reads one sample of such a store. Any thread. */
mica_status mica__folder_input(const mica__store *store, uint64_t stored, uint8_t *input);

/* The names in a directory in strcmp's order, without hidden ones; released by mica__names_free. */
typedef struct mica__names {
  char **names;
  size_t count;
} mica__names;
mica_status mica__names_read(const char *path, mica__names *names);
void mica__names_free(mica__names *names);

#endif
