/* cli/training.h: a training run from its creation to its report, for commands that end in one. */
#ifndef MICA_CLI_TRAINING_H
#define MICA_CLI_TRAINING_H

#include "cli/progress.h"

/* Room for a command line. */
#define CLI_AGAIN_TEXT 16384

/* How a training is shown, and its folder. */
typedef struct cli_training {
  FILE *out;          /* NULL: without a word */
  bool json;          /* the last line is an object */
  bool speaks;        /* false of ranks after the first, which write nothing */
  const char *folder; /* of the run */
  const char *again;  /* the command line that continues with it, as a shell takes it */
} cli_training;

/* Prints the network, the data and the device. */
void cli_train_summary(FILE *out, mica_run *run);
/* Trains, tests and reports. Returns an exit status, after an error message on failure. */
int cli_train_fit(const cli_command *self, const cli_training *how, mica_run *run, const cli_progress_state *progress);

/* Until a step is taken, a signal ends the process at once, which may be compiling for minutes, and says how the run
 * goes on, or the other text if there is nothing yet to go on with. The run's report is cli_train_report then. */
void cli_train_stop_at_once(const cli_training *how, const mica_run *run, const char *otherwise);
/* Calls cli_progress_report, then saves the training if the process is asked to stop. */
bool cli_train_report(void *state, const mica_train_progress *progress);

#endif
