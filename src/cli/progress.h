/* cli/progress.h: what a training run shows and records while it runs. */
#ifndef MICA_CLI_PROGRESS_H
#define MICA_CLI_PROGRESS_H

#include "cli/run.h"

/* The state of one run. */
typedef struct cli_progress_state {
  char path[CLI_PATH];    /* of history.csv */
  mica_history_row *rows; /* its content */
  size_t row_count;
  mica_events *events;
  int64_t samples; /* trained on so far */
} cli_progress_state;

/* Begins history.csv and an event file in the folder; resume: goes on with the history that is there. */
mica_status cli_progress_begin(cli_progress_state *state, const char *folder, bool resume);
void cli_progress_free(cli_progress_state *state);

/* A mica_train_fn with a cli_progress_state as its user: a bar on a terminal, a line an epoch everywhere. */
bool cli_progress_report(void *state, const mica_train_progress *progress);

#endif
