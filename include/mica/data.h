/* mica/data.h: datasets on disk, and their way to the device in batches. */
#ifndef MICA_DATA_H
#define MICA_DATA_H

#include <mica/batch.h>

MICA_BEGIN_DECLS

/* Samples, each an input and a label. Nothing of it changes once it is made, so that several threads may read it. */
typedef struct mica_dataset mica_dataset;

typedef enum mica_part { MICA_PART_TRAIN, MICA_PART_VALIDATION, MICA_PART_TEST } mica_part;
/* "train", "validation", "test"; "?" for a value that is none. */
MICA_API const char *mica_part_name(mica_part part);

typedef struct mica_dataset_config {
  mica_part part; /* of what lies in parts */
  /* A dataset that this one goes with, as test samples with those trained on: class names and sizes are its, and a
   * label that it has not is out of range. */
  const mica_dataset *like;
  /* Pictures in folders: what they are brought to by scaling and cutting off what stands over; 0 means the size of the
   * first picture, and its 1 or 3 channels. */
  int32_t channels, height, width;
  /* CSV: the label's column, by its name in the first line or by its number from 0. NULL: the column "label", "class"
   * or "target", else the last. */
  const char *label_column;
  bool regression; /* CSV and npy: labels are numbers, not classes */
} mica_dataset_config;

/* What lies at path, with gzip or without; config may be NULL.
 *
 *   "fashion-mnist"                 the dataset of Debian's package dataset-fashion-mnist
 *   folder of IDX files             train-images*, train-labels*; t10k-... or test-...
 *   folder of CIFAR binary files    train* or data_batch_*; val*; test*
 *   folder with train.csv ...       train, val or validation, test; also .tsv
 *   folder with x_train.npy ...     and y_train.npy; x_val.npy ..., x_test.npy ...
 *   folder of folders of pictures   PNG or JPEG, a folder a class, in the order of their names; parted by folders
 *                                   train, val or validation, test above them, or not at all
 *   an IDX file of inputs           the labels' file is named alike, with "labels" for "images" and "idx1" for "idx3"
 *   a CIFAR binary file             CIFAR-10 or CIFAR-100 (fine labels), told apart by its size
 *   an npy file x*.npy              the labels are in y*.npy
 *   any other file                  CSV: numbers parted by , ; or tabs, the label a number or a text
 *
 * MICA_E_NOT_FOUND when nothing is there or not this part of it, MICA_E_FORMAT, naming file and reason, when it is
 * truncated, of a wrong kind, empty, or holds a label out of range; MICA_E_UNSUPPORTED when the build lacks zlib,
 * libpng or libjpeg for it; MICA_E_IO, MICA_E_NOMEM. Pictures are read when they are needed, all else at once. */
MICA_API mica_status mica_dataset_open(const char *path, const mica_dataset_config *config, mica_dataset **dataset);

/* Samples in the caller's memory, which must outlive the dataset: count inputs of `shape`, u8 or f32, and as many
 * labels (classes 0 .. classes - 1; MICA_E_FORMAT names one out of range) or targets. */
typedef struct mica_samples {
  uint64_t count;
  mica_dtype dtype; /* MICA_U8 or MICA_F32 */
  mica_shape shape;
  const void *inputs;
  const int32_t *labels; /* NULL where there are targets */
  int32_t classes;
  const float *targets;
} mica_samples;
MICA_API mica_status mica_dataset_create(const char *name, const mica_samples *samples, mica_dataset **dataset);

/* Datasets made from this one by mica_dataset_split stay. NULL is a no-op. */
MICA_API void mica_dataset_destroy(mica_dataset *dataset);

/* *part gets a share (0 to 1) of the samples, chosen by the seed alone, *rest the others, each in their old order. Both
 * share what they hold with the dataset. */
MICA_API mica_status mica_dataset_split(const mica_dataset *dataset, double share, uint64_t seed, mica_dataset **part,
                                        mica_dataset **rest);

MICA_API uint64_t mica_dataset_count(const mica_dataset *dataset);
/* Of the stored inputs: MICA_U8, where 0 to 255 stands for 0 to 1, or MICA_F32. */
MICA_API mica_dtype mica_dataset_dtype(const mica_dataset *dataset);
/* Of one input: (C, H, W), or (F) for rows of numbers. */
MICA_API mica_shape mica_dataset_shape(const mica_dataset *dataset);
/* 0 where labels are numbers. */
MICA_API int32_t mica_dataset_classes(const mica_dataset *dataset);
/* "sneaker"; the class's number where it has no name. Lives as long as the dataset. NULL for no class. */
MICA_API const char *mica_dataset_class_name(const mica_dataset *dataset, int32_t class_index);
/* Where it came from. */
MICA_API const char *mica_dataset_name(const mica_dataset *dataset);
/* Bytes of one input. */
MICA_API size_t mica_dataset_input_bytes(const mica_dataset *dataset);

/* The class of a sample below the count; -1 where labels are numbers, which mica_dataset_target gives. */
MICA_API int32_t mica_dataset_label(const mica_dataset *dataset, uint64_t index);
MICA_API float mica_dataset_target(const mica_dataset *dataset, uint64_t index);
/* Copies an input as it is stored, or reads and scales its picture. bytes must be mica_dataset_input_bytes. */
MICA_API mica_status mica_dataset_input(const mica_dataset *dataset, uint64_t index, void *input, size_t bytes);

/* Mean and standard deviation (at least 1e-6) of each channel, or of each number of a row, of u8 in units of 255; over
 * at most 10,000 samples that lie evenly. mean and deviation have shape.dim[0] elements. */
MICA_API mica_status mica_dataset_measure(const mica_dataset *dataset, float *mean, float *deviation);

/* A picture file as (C, H, W) u8, *pixels the caller's to free. size gives channels, height and width to bring it to, 0
 * for those it has; *shape says what came out. */
MICA_API mica_status mica_image_read(const char *path, mica_shape size, uint8_t **pixels, mica_shape *shape);

MICA_END_DECLS

#endif
