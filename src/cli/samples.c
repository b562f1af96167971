#include "cli/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(const cli_command *self) { return cli_fail(self, "the host has no memory"); }

int cli_samples_create(cli_samples *s, const cli_command *self, const cli_run *run, int64_t count) {
  *s = (cli_samples){.count = count, .size = 1, .width = run->classes ? run->classes : 1};
  for (int32_t i = 0; i < run->input.rank; i++) s->size *= run->input.dim[i];
  s->pixels = calloc((size_t)count, sizeof *s->pixels);
  s->inputs = calloc((size_t)count * (size_t)s->size, sizeof *s->inputs);
  s->outputs = calloc((size_t)count * (size_t)s->width, sizeof *s->outputs);
  s->truth = calloc((size_t)count, sizeof *s->truth);
  return s->pixels && s->inputs && s->outputs && s->truth ? CLI_OK : no_memory(self);
}

void cli_samples_free(cli_samples *s) {
  for (int64_t i = 0; s->pixels && i < s->count; i++) free(s->pixels[i]);
  free(s->pixels);
  free(s->inputs);
  free(s->outputs);
  free(s->truth);
}

/* Normalises like the loader: u8 in units of 255, by channel or by index in a row. numbers NULL: from the pixels. */
static void normalise(cli_samples *s, const cli_run *run, int64_t i, const float *numbers) {
  int64_t plane = s->size / run->input.dim[0];
  float *to = s->inputs + i * s->size;
  for (int64_t k = 0; k < s->size; k++) {
    float x = numbers ? numbers[k] : (float)s->pixels[i][k] / 255;
    to[k] = (x - run->mean[k / plane]) / run->deviation[k / plane];
  }
}

/* Makes sure that sample i has room for its pixels. */
static bool keep_pixels(cli_samples *s, int64_t i, size_t bytes) {
  if (!s->pixels[i]) s->pixels[i] = malloc(bytes);
  return s->pixels[i] != NULL;
}

int cli_samples_read_images(cli_samples *s, const cli_command *self, const cli_run *run, char *const *paths) {
  if (run->input.rank != 3) return cli_fail(self, "the network was not trained on pictures");
  for (int64_t i = 0; i < s->count; i++) {
    mica_shape shape;
    uint8_t *pixels = NULL;
    if (mica_image_read(paths[i], run->input, &pixels, &shape) != MICA_OK) return cli_fail_library(self);
    bool kept = keep_pixels(s, i, (size_t)s->size);
    if (kept) memcpy(s->pixels[i], pixels, (size_t)s->size);
    mica_free(pixels);
    if (!kept) return no_memory(self);
    s->truth[i] = -1;
    normalise(s, run, i, NULL);
  }
  return CLI_OK;
}

static int read_sample(cli_samples *s, const cli_command *self, const cli_run *run, const mica_dataset *dataset,
                       uint64_t from, int64_t i, float *numbers) {
  size_t bytes = mica_dataset_input_bytes(dataset);
  bool pixels = mica_dataset_dtype(dataset) == MICA_U8;
  if (pixels && !keep_pixels(s, i, bytes)) return no_memory(self);
  void *to = pixels ? (void *)s->pixels[i] : (void *)numbers;
  if (mica_dataset_input(dataset, from + (uint64_t)i, to, bytes) != MICA_OK) return cli_fail_library(self);
  s->truth[i] = mica_dataset_label(dataset, from + (uint64_t)i);
  normalise(s, run, i, pixels ? NULL : numbers);
  return CLI_OK;
}

int cli_samples_read(cli_samples *s, const cli_command *self, const cli_run *run, const mica_dataset *dataset,
                     uint64_t from) {
  int status = cli_run_check_input(run, self, dataset);
  if (status != CLI_OK) return status;
  float *numbers = malloc(mica_dataset_input_bytes(dataset));
  if (!numbers) return no_memory(self);
  for (int64_t i = 0; i < s->count && status == CLI_OK; i++)
    status = read_sample(s, self, run, dataset, from, i, numbers);
  free(numbers);
  return status;
}

static void softmax(float *x, int64_t count) {
  float largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < count; i++) largest = x[i] > largest ? x[i] : largest;
  for (int64_t i = 0; i < count; i++) sum += x[i] = expf(x[i] - largest);
  for (int64_t i = 0; i < count; i++) x[i] /= sum;
}

/* Runs all samples at once. */
static mica_status run_network(cli_samples *s, const cli_run *run, mica_engine *engine, mica_trainer *trainer) {
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *inputs = NULL;
  mica_shape shape = {.rank = run->input.rank + 1, .dim = {s->count}};
  memcpy(shape.dim + 1, run->input.dim, (size_t)run->input.rank * sizeof *shape.dim);
  mica_status status = mica_tensor_create_from(engine, MICA_F32, shape, s->inputs, &inputs);
  mica_feed feed = {run->input.rank == 3 ? "image" : "x", inputs};
  mica_batch batch = {.count = s->count, .tensors = &feed, .tensor_count = 1};
  if (!status) status = mica_trainer_predict(trainer, &batch);
  if (!status)
    status = mica_tensor_download(queue, mica_trainer_output(trainer, "output"), s->outputs,
                                  (size_t)s->count * (size_t)s->width * sizeof *s->outputs);
  mica_tensor_destroy(inputs);
  return status;
}

int cli_samples_infer(cli_samples *s, const cli_command *self, const cli_run *run, mica_engine *engine,
                      mica_trainer *trainer) {
  if (run_network(s, run, engine, trainer) != MICA_OK) return cli_fail_library(self);
  for (int64_t i = 0; run->classes && i < s->count; i++) softmax(s->outputs + i * s->width, s->width);
  return CLI_OK;
}

int32_t cli_samples_class(const cli_samples *s, int64_t i, int64_t k) {
  const float *shares = s->outputs + i * s->width;
  for (int32_t c = 0; c < s->width; c++) {
    int64_t above = 0;
    for (int64_t j = 0; j < s->width; j++) above += shares[j] > shares[c] || (j < c && shares[j] == shares[c]);
    if (above == k) return c;
  }
  return 0;
}
