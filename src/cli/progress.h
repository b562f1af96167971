/* cli/progress.h: what a training run shows while it runs. */
#ifndef MICA_CLI_PROGRESS_H
#define MICA_CLI_PROGRESS_H

#include "cli/command.h"

#include <mica/run.h>
#include <stdio.h>

/* The state of one run. */
typedef struct cli_progress_state {
  FILE *out;          /* lines go there; NULL: nothing is shown */
  const char *task;   /* NULL: not known yet */
  int64_t samples;    /* trained on so far */
  mica_metrics last;  /* of the last whole epoch: its validation's if there is one; else of the epoch so far */
  mica_part part;     /* which `last` is of: validation, or train */
  int64_t kept_epoch; /* from 1: the last epoch whose weights were kept; 0: none yet */
  mica_metrics kept;  /* its validation */
} cli_progress_state;

/* Says which epoch's weights a run keeps, and how they validated. */
void cli_progress_print_kept(FILE *out, const cli_progress_state *state, const mica_run *run);

/* A mica_train_fn with a cli_progress_state as its user: a bar on a terminal, a line an epoch everywhere. */
bool cli_progress_report(void *state, const mica_train_progress *progress);

#endif
