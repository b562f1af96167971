/* cli/report.h: report.html of a training run. */
#ifndef MICA_CLI_REPORT_H
#define MICA_CLI_REPORT_H

#include "cli/progress.h"
#include "cli/score.h"

typedef struct cli_report {
  const cli_run *run;
  const cli_progress_state *progress;
  const cli_score *score; /* of the judged part; NULL without one */
  const mica_dataset *judged;
  const char *device, *energy;
} cli_report;

/* Writes folder/report.html: facts, curves, confusion, and the samples of the judged part that are wrong with the most
 * confidence. Runs the trained network over that part's first samples for these. Returns an exit status, having said
 * what failed. */
int cli_report_write(const cli_report *page, const cli_command *self, mica_engine *engine, mica_trainer *trainer,
                     const char *folder);

#endif
