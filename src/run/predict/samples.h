/* run/predict/samples.h: samples to predict: files, rows of tables, recordings. */
#ifndef MICA_RUN_PREDICT_SAMPLES_H
#define MICA_RUN_PREDICT_SAMPLES_H

#include "base/error.h"

#include <mica/run.h>

/* Rows of a table with categories, whose columns are found by the names of its first line. */
typedef struct mica__category_rows {
  int64_t count;
  float *numbers;
  int32_t *categories; /* in the run's numbers, -1 for others */
  double *truths;      /* mica__truth_count of each */
  long long *lines;
} mica__category_rows;

mica_status mica__category_rows_read(mica_run *run, const char *name, char *text, mica__category_rows *rows);
void mica__category_rows_free(mica__category_rows *rows);

/* Paths of files, and of the pictures (or recordings) of folders and of folders in these. find fills a zeroed struct,
 * to be freed after a failure too, and remarks pictures with an alpha channel and what it passes over. */
typedef struct mica__paths {
  char **list;
  int32_t *classes; /* of each path: the class of the run that a folder on its way is named after; -1: none */
  size_t count, capacity;
  size_t unused; /* other files, and folders beside files, that are passed over */
  char *unused_name;
} mica__paths;

mica_status mica__paths_find(mica_run *run, const mica_run_input *input, mica__paths *paths);
/* True if the run takes recordings, which are what is found in folders then, in place of pictures. */
bool mica__run_hears(const mica_run *run);
void mica__paths_free(mica__paths *paths);
/* To be called with the result of reading a file of the input: MICA_OK if it is passed over, which input->unread is
 * told, else the status. */
mica_status mica__run_pass_file(mica_run *run, const mica_run_input *input, const char *file, mica_status status);

/* Normalises like the loader: u8 in units of 255, by channel or by index in a row. numbers NULL: from the pixels. */
void mica__normalise(const mica_run *run, int64_t size, const float *numbers, const uint8_t *pixels, float *out);

/* Samples to predict from: names, inputs as the network takes them, and pictures and truths if there are any. */
typedef struct mica__samples {
  int64_t count, size; /* size: elements of an input */
  char **names;
  uint8_t **pixels; /* each NULL where inputs are rows of numbers */
  float *inputs;
  int32_t *categories; /* of each sample, in the run's numbers */
  double *truths;      /* of each sample truth_count, see run/predict/truths.h */
  size_t truth_count;
} mica__samples;

mica_status mica__samples_read(mica_run *run, const mica_run_input *input, mica__samples *samples);
/* Samples `from` and following of a dataset, `count` of them. */
mica_status mica__samples_of(const mica_run *run, const mica_dataset *data, uint64_t from, int64_t count,
                             mica__samples *samples);
void mica__samples_free(mica__samples *samples);
/* The name of a sample of a dataset: its file, "row 7" by its line in a table, or "sample 3". NULL when memory is
 * short. */
char *mica__sample_name(const mica_dataset *data, uint64_t sample);
/* Runs the network on samples `from` and following; outputs gets `width` numbers of each. */
mica_status mica__samples_infer(mica_run *run, const mica__samples *samples, int64_t from, int64_t count,
                                const char *output, int64_t width, float *outputs);

#endif
