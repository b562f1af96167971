/* cli/result.h: metrics, reports and predictions in a terminal and as JSON. */
#ifndef MICA_CLI_RESULT_H
#define MICA_CLI_RESULT_H

#include "cli/json.h"

#include <mica/run.h>
#include <stdio.h>

/* CLI_OK unless the device (NULL: the environment's) is the one that computes nothing: then CLI_USAGE, having said
 * so. */
int cli_refuse_null(const cli_command *self, const char *device);
/* Makes an engine on the device and opens a run. Returns an exit status, after an error message on failure; what was
 * made is the caller's either way. */
int cli_open_run(const cli_command *self, const char *folder, const char *device, mica_engine **engine, mica_run **run);
/* Does so; layers compute in the precision ("f16", "bf16", "f32"; NULL: as it was trained). */
int cli_open_run_as(const cli_command *self, const char *folder, const char *precision, const char *device,
                    mica_engine **engine, mica_run **run);
/* Names the epoch of the weights on stderr, if the run has not ended. cli_open_run does so. */
void cli_say_unfinished(const cli_command *self, const mica_run *run);
/* The option --precision of commands that do so. */
#define CLI_PRECISION_HELP "f32, f16 or bf16: type to compute in (default: as trained)"
/* Writes what was noticed of data, a line each, on stderr. */
void cli_print_remarks(const cli_command *self, const mica_run *run);
/* The part of the name; test for NULL. CLI_OK, or CLI_USAGE having said what there is. */
int cli_find_part(const cli_command *self, const char *name, mica_part *part);

#define CLI_METRIC_TEXT 64

/* "accuracy 92.51 %", "rmse 0.4112". Returns text. */
const char *cli_format_metric(const char *name, double value, char text[CLI_METRIC_TEXT]);

/* The task's first metric, or the first that there is where the run has others: a ranking has no error of ratings. */
const char *cli_first_metric(const mica_run *run, const mica_metrics *metrics);
/* A line of the part's metrics, that one first. */
void cli_print_metrics(FILE *out, const char *part, const mica_run *run, const mica_metrics *metrics);
/* The tables of a report's sections. */
void cli_print_tables(FILE *out, const mica_report *report);

/* Writes {"task", "part", "metrics": {...}} and, with a report, its tables and matrices by name, as one line. */
int cli_print_json(const cli_command *self, const mica_run *run, const char *part, const mica_metrics *metrics,
                   const mica_report *report);

/* Writes {"task", "stopped": true, "part", "metrics": {...}} as one line; without the last two where the metrics are of
 * no sample. */
int cli_print_stopped(const cli_command *self, const char *task, mica_part part, const mica_metrics *metrics);

/* Prints a prediction, a sample a line; pictures: in the terminal instead. */
void cli_print_prediction(const mica_report *prediction, bool pictures);

/* A name of at most 1023 bytes, with '?' for control characters, since these may control a terminal. The last eight
 * results stay. */
const char *cli_clean(const char *s);
/* Writes n bytes of a text of any length like that. */
void cli_print_clean(const char *s, size_t n);

#endif
