/* cli/progress.h: what a training run shows while it runs. */
#ifndef MICA_CLI_PROGRESS_H
#define MICA_CLI_PROGRESS_H

#include "cli/command.h"

#include <stdio.h>

/* The state of one run. */
typedef struct cli_progress_state {
  FILE *out;         /* lines go there; NULL: nothing is shown */
  const char *task;  /* NULL: not known yet */
  int64_t samples;   /* trained on so far */
  mica_metrics last; /* of the last whole epoch: its validation's if there is one; else of the epoch so far */
  mica_part part;    /* which `last` is of: validation, or train */
} cli_progress_state;

/* A mica_train_fn with a cli_progress_state as its user: a bar on a terminal, a line an epoch everywhere. */
bool cli_progress_report(void *state, const mica_train_progress *progress);

#endif
