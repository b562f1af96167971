/* cli/training.h: runs a training from the created mica_run to its report, for mica train and mica prune. */
#ifndef MICA_CLI_TRAINING_H
#define MICA_CLI_TRAINING_H

#include "cli/progress.h"

/* Size of a buffer for a command line. */
#define CLI_AGAIN_TEXT 16384

/* How to show the progress of a training, and where the run is. */
typedef struct cli_training {
  FILE *out;          /* NULL: prints nothing */
  bool json;          /* the last line is a JSON object */
  bool speaks;        /* false for ranks after the first, which print nothing */
  const char *folder; /* of the run */
  const char *again;  /* the command line that resumes it, quoted for a shell */
} cli_training;

/* Prints the device, the data, the settings and the network. */
void cli_train_summary(FILE *out, mica_run *run);
/* Trains, tests and reports. Returns an exit status, after an error message on failure. */
int cli_train_fit(const cli_command *self, const cli_training *how, mica_run *run, const cli_progress_state *progress);

/* Until the first step, a signal ends the process at once, even while it compiles for minutes. The message then says
 * how to resume the run, or is `otherwise` if the run cannot be resumed yet. The run's report must be
 * cli_train_report. */
void cli_train_stop_at_once(const cli_training *how, const mica_run *run, const char *otherwise);
/* Progress callback: calls cli_progress_report. After the first step, a signal no longer ends the process at once;
 * training then stops with a checkpoint. */
bool cli_train_report(void *state, const mica_train_progress *progress);

#endif
