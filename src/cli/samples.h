/* cli/samples.h: samples for a trained network, and its outputs for them. */
#ifndef MICA_CLI_SAMPLES_H
#define MICA_CLI_SAMPLES_H

#include "cli/run.h"

typedef struct cli_samples {
  int64_t count, size, width; /* size: elements of an input; width: elements of an output */
  uint8_t **pixels;           /* as read; each NULL where inputs are rows of numbers */
  float *inputs;              /* normalised */
  float *outputs;             /* after cli_samples_infer: probabilities of classes, or the value */
  int32_t *truth;             /* -1 if unknown */
} cli_samples;

/* Room for count samples of the run's shape. All of these return an exit status, having said what failed. */
int cli_samples_create(cli_samples *samples, const cli_command *self, const cli_run *run, int64_t count);
void cli_samples_free(cli_samples *samples);

/* Fills the samples from picture files, or from a dataset from index `from` on. */
int cli_samples_read_images(cli_samples *samples, const cli_command *self, const cli_run *run, char *const *paths);
int cli_samples_read(cli_samples *samples, const cli_command *self, const cli_run *run, const mica_dataset *dataset,
                     uint64_t from);

/* Runs the network that the trainer tests. */
int cli_samples_infer(cli_samples *samples, const cli_command *self, const cli_run *run, mica_engine *engine,
                      mica_trainer *trainer);

/* The k-th likeliest class of sample i, from 0. */
int32_t cli_samples_class(const cli_samples *samples, int64_t i, int64_t k);

#endif
