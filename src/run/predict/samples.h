/* run/predict/samples.h: samples to predict: files, rows of tables, recordings. */
#ifndef MICA_RUN_PREDICT_SAMPLES_H
#define MICA_RUN_PREDICT_SAMPLES_H

#include "base/error.h"

#include <mica/run.h>

/* Rows of a table with categories, whose columns are found by the names of its first line. */
typedef struct mica__category_rows {
  int64_t count;
  float *numbers;
  int32_t *categories; /* numbered as in the run; -1 for unknown classes */
  double *truths;      /* mica__truth_count numbers per row */
  long long *lines;
} mica__category_rows;

mica_status mica__category_rows_read(mica_run *run, const char *name, char *text, mica__category_rows *rows);
void mica__category_rows_free(mica__category_rows *rows);

/* Paths of files, and of the pictures (or recordings) in folders and their subfolders. mica__paths_find fills a zeroed
 * struct, which must be freed also after a failure. It remarks on pictures with an alpha channel and on what it
 * skips. */
typedef struct mica__paths {
  char **list;
  int32_t *classes; /* for each path, the class of the run that has the name of a folder in the path, or -1 */
  size_t count, capacity;
  size_t unused; /* other files, and folders next to files, which are skipped */
  char *unused_name;
} mica__paths;

mica_status mica__paths_find(mica_run *run, const mica_run_input *input, mica__paths *paths);
/* True if the run takes recordings, which are then searched for in folders instead of pictures. */
bool mica__run_hears(const mica_run *run);
void mica__paths_free(mica__paths *paths);
/* Call this with the result of reading an input file. If the status is OK, or an error that is not the file's fault
 * (such as a lack of memory), returns it. Otherwise, if input->unread is set, calls input->unread and returns MICA_OK,
 * so that the file is skipped. */
mica_status mica__run_pass_file(mica_run *run, const mica_run_input *input, const char *file, mica_status status);

/* Normalises an input of `size` elements as the loader does. Takes the values in `numbers` or, if that is NULL, the
 * pixels divided by 255. Subtracts the mean and divides by the deviation of the channel, or of the column of a row. */
void mica__normalise(const mica_run *run, int64_t size, const float *numbers, const uint8_t *pixels, float *out);

/* Samples to predict: names, inputs in the form the network takes, and pictures and true answers if there are any. */
typedef struct mica__samples {
  int64_t count, size; /* size is the number of elements of an input */
  char **names;
  uint8_t **pixels; /* each is NULL if inputs are rows of numbers */
  float *inputs;
  int32_t *categories; /* for each sample, numbered as in the run */
  double *truths;      /* truth_count values per sample, see run/predict/truths.h */
  size_t truth_count;
} mica__samples;

mica_status mica__samples_read(mica_run *run, const mica_run_input *input, mica__samples *samples);
/* Reads `count` samples of a dataset, beginning with `from`. */
mica_status mica__samples_of(const mica_run *run, const mica_dataset *data, uint64_t from, int64_t count,
                             mica__samples *samples);
void mica__samples_free(mica__samples *samples);
/* The name of a sample of a dataset: its file, "row 7" by its line in a table, or "sample 3". NULL if memory is
 * short. */
char *mica__sample_name(const mica_dataset *data, uint64_t sample);
/* Runs the network on samples from `from` on; `outputs` receives `width` numbers for each. */
mica_status mica__samples_infer(mica_run *run, const mica__samples *samples, int64_t from, int64_t count,
                                const char *output, int64_t width, float *outputs);

#endif
