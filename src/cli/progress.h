/* cli/progress.h: what a training run shows while it runs. */
#ifndef MICA_CLI_PROGRESS_H
#define MICA_CLI_PROGRESS_H

#include "cli/command.h"

#include <mica/run.h>
#include <stdio.h>

/* The state of one run. */
typedef struct cli_progress_state {
  FILE *out;        /* receives the lines; NULL: nothing is shown */
  const char *task; /* NULL: not known yet */
  int64_t samples;  /* samples of training in the epochs that have ended */
  mica_metrics
      last;       /* of the last complete epoch (validation if there is one, else training), or of the epoch so far */
  mica_part part; /* the part of `last`: validation or train */
  int64_t kept_epoch; /* the last epoch whose weights were kept, from 1; 0: none yet */
  mica_metrics kept;  /* validation metrics of that epoch */
  char watch[32];     /* the metric that decides which epoch is best; "": not known yet, or the loss */
} cli_progress_state;

/* Prints the epoch whose weights a run keeps and, if they are known, their validation metrics. Prints nothing if the
 * weights are of no complete epoch. */
void cli_progress_print_kept(FILE *out, const cli_progress_state *state, const mica_run *run);

/* A mica_train_fn with a cli_progress_state as its user: shows a bar on a terminal, and a line per epoch everywhere. */
bool cli_progress_report(void *state, const mica_train_progress *progress);

#endif
