/* cli/prediction_csv.h: predictions as a table in CSV. */
#ifndef MICA_CLI_PREDICTION_CSV_H
#define MICA_CLI_PREDICTION_CSV_H

#include "cli/command.h"

#include <mica/run.h>

/* Most classes whose probabilities become columns. */
#define CLI_CSV_CLASSES 100

typedef struct cli_csv cli_csv;

/* Begins a table for predictions of the run. NULL: the host has no memory. */
cli_csv *cli_csv_create(const mica_run *run);
/* Adds the samples of a prediction: one line each, one line per box of a picture, one per row of a forecast. folder and
 * names are where each sample's pictures are written (cli_picture_path); folder NULL: nowhere. */
void cli_csv_add(cli_csv *csv, const mica_report *prediction, const char *folder, char *const *names);
/* Writes the file, or standard output for "-". Returns an exit status, having said what failed. */
int cli_csv_write(const cli_command *self, const cli_csv *csv, const char *path);
/* NULL is a no-op. */
void cli_csv_destroy(cli_csv *csv);

#endif
