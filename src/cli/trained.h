/* cli/trained.h: the network of a run, for training, testing and predicting. */
#ifndef MICA_CLI_TRAINED_H
#define MICA_CLI_TRAINED_H

#include "cli/run.h"

#define CLI_MODEL_FILE "model.safetensors"

/* Sets the fields of *config that the run decides and creates the trainer, which the run must outlive. Returns an exit
 * status, having said what failed. */
int cli_trained_create(const cli_command *self, cli_run *run, mica_engine *engine, mica_trainer_config *config,
                       mica_trainer **trainer);

#define CLI_INPUT(run) ((run)->input.rank == 3 ? "image" : "x")

/* A run's folder opened to use its weights. Zero-initialise. */
typedef struct cli_trained {
  mica_engine *engine;
  mica_trainer *trainer;
  cli_run run;
} cli_trained;

int cli_trained_open(cli_trained *trained, const cli_command *self, const char *folder, const char *device);
void cli_trained_close(cli_trained *trained);

/* The loader configuration for testing: the run's batch, seed, mean and deviation (NULL as long as it has none). */
mica_loader_config cli_run_loader(const cli_run *run);

#endif
