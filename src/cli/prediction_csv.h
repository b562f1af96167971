/* cli/prediction_csv.h: predictions as a table in CSV. */
#ifndef MICA_CLI_PREDICTION_CSV_H
#define MICA_CLI_PREDICTION_CSV_H

#include "cli/command.h"

#include <mica/run.h>

/* The most classes whose probabilities become columns. */
#define CLI_CSV_CLASSES 100

typedef struct cli_csv cli_csv;

/* Begins a table for predictions of the run. NULL: there is not enough memory. */
cli_csv *cli_csv_create(const mica_run *run);
/* Adds the samples of a prediction: one line per sample, per box of a picture, or per row of a forecast. folder and
 * names: where the pictures of each sample are written (cli_picture_path); folder NULL: nowhere. */
void cli_csv_add(cli_csv *csv, const mica_report *prediction, const char *folder, char *const *names);
/* Writes the table to a file, or to standard output for "-". Returns an exit status, after a message on failure. */
int cli_csv_write(const cli_command *self, const cli_csv *csv, const char *path);
/* NULL is a no-op. */
void cli_csv_destroy(cli_csv *csv);

#endif
