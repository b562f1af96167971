/* cli/score.h: metrics of a trained network on a dataset. */
#ifndef MICA_CLI_SCORE_H
#define MICA_CLI_SCORE_H

#include "cli/json.h"
#include "cli/run.h"

typedef struct cli_score {
  mica_metrics metrics;
  int64_t *confusion; /* classes x classes, row the truth; NULL without classes */
  mica_class_scores *classes, mean;
} cli_score;

mica_status cli_score_take(cli_score *score, const cli_run *run, mica_trainer *trainer,
                           const mica_batch_source *source);
void cli_score_free(cli_score *score);

/* Prints the metrics and a table of the classes; part names the data: "test". */
void cli_score_print(const cli_score *score, const cli_run *run, const char *part);
void cli_score_add(const cli_score *score, const cli_run *run, cli_json *json);

#endif
