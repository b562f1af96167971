/* cli/run.h: a training run on disk: the folder that `mica train --out` fills and predict, eval and info read.
 *
 *   config.json         what was asked for and what the data is like (this file's subject)
 *   model.safetensors   weights of the best epoch
 *   last.safetensors    all that is needed to go on, after the last epoch or stop
 *   history.csv  events.out.tfevents.*  report.html */
#ifndef MICA_CLI_RUN_H
#define MICA_CLI_RUN_H

#include "cli/command.h"

#include <mica/mica.h>

#define CLI_RUN_TEXT 512

/* Settings, in the order of the file: kind, name, default. */
#define CLI_RUN_FIELDS(TEXT, INTEGER, REAL)                                                                            \
  TEXT(data, "")                                                                                                       \
  TEXT(model, "")                                                                                                      \
  INTEGER(epochs, 10)                                                                                                  \
  INTEGER(batch, 64)                                                                                                   \
  TEXT(optimizer, "")                                                                                                  \
  REAL(lr, 0)                                                                                                          \
  REAL(weight_decay, 0)                                                                                                \
  TEXT(schedule, "")                                                                                                   \
  REAL(label_smoothing, 0)                                                                                             \
  TEXT(augment, "none")                                                                                                \
  REAL(validation, 0.1)                                                                                                \
  INTEGER(seed, 0)                                                                                                     \
  TEXT(precision, "f32")

typedef struct cli_run {
#define CLI_RUN_TEXT_FIELD(name, initial) char name[CLI_RUN_TEXT];
#define CLI_RUN_INTEGER_FIELD(name, initial) int64_t name;
#define CLI_RUN_REAL_FIELD(name, initial) double name;
  CLI_RUN_FIELDS(CLI_RUN_TEXT_FIELD, CLI_RUN_INTEGER_FIELD, CLI_RUN_REAL_FIELD)
#undef CLI_RUN_TEXT_FIELD
#undef CLI_RUN_INTEGER_FIELD
#undef CLI_RUN_REAL_FIELD
  /* The data: shape of an input, mean and deviation to normalise by, names of classes; 0 classes: labels are
   * numbers. */
  mica_shape input;
  float *mean, *deviation; /* input.dim[0] of each */
  int32_t classes;
  char **class_names;
  mica_model_config network; /* set by cli_trained_create */
} cli_run;

void cli_run_begin(cli_run *run);
void cli_run_free(cli_run *run);

/* Copies shape and class names of a dataset, and the mean and deviation of its loader. */
bool cli_run_take_data(cli_run *run, const mica_dataset *dataset, const float *mean, const float *deviation);

/* Compares the shape of the dataset's inputs with the run's. Returns an exit status, having said what differs. */
int cli_run_check_input(const cli_run *run, const cli_command *self, const mica_dataset *dataset);

/* folder/name; false when it is too long. */
#define CLI_PATH 4096
bool cli_run_path(char path[CLI_PATH], const char *folder, const char *name);

/* Writes folder/config.json whole or not at all. Both return an exit status, having said what failed. */
int cli_run_write(const cli_run *run, const cli_command *self, const char *folder);
int cli_run_read(cli_run *run, const cli_command *self, const char *folder);

#endif
