/* cli/training.h: a training run from its creation to its report, for commands that end in one. */
#ifndef MICA_CLI_TRAINING_H
#define MICA_CLI_TRAINING_H

#include "cli/progress.h"

/* Says what is trained on what. */
void cli_train_summary(FILE *out, mica_run *run);
/* Trains, tests and reports; out NULL: without a word; speaks: false of ranks behind the first, which write nothing.
 * Returns an exit status, having said what failed. */
int cli_train_fit(const cli_command *self, bool json, FILE *out, mica_run *run, const char *folder, bool speaks,
                  const cli_progress_state *progress);

#endif
