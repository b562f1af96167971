/* cli/result.h: opens runs, and shows metrics, reports and predictions in a terminal or as JSON. */
#ifndef MICA_CLI_RESULT_H
#define MICA_CLI_RESULT_H

#include "cli/json.h"

#include <mica/run.h>
#include <stdio.h>

/* Refuses the null device, which computes nothing: returns CLI_USAGE after a message if device is "null", else CLI_OK.
 * device NULL: checks MICA_DEVICE instead. */
int cli_refuse_null(const cli_command *self, const char *device);
/* Makes an engine on the device and opens a run. Returns an exit status, after an error message on failure. The caller
 * frees both, also after a failure. */
int cli_open_run(const cli_command *self, const char *folder, const char *device, mica_engine **engine, mica_run **run);
/* Like cli_open_run, with options for mica_run_open_as. */
int cli_open_run_as(const cli_command *self, const char *folder, const mica_run_open_config *how, const char *device,
                    mica_engine **engine, mica_run **run);
/* Prints the epoch of the weights on stderr if the run has not ended. cli_open_run calls it. */
void cli_say_unfinished(const cli_command *self, const mica_run *run);
/* Help of --precision for commands that call cli_open_run_as. */
#define CLI_PRECISION_HELP "type to compute in: f32, f16 or bf16 (default: as trained)"
/* Prints the run's remarks about its data on stderr, one per line. */
void cli_print_remarks(const cli_command *self, const mica_run *run);
/* Finds a part by its name; NULL: test. Returns CLI_OK, or CLI_USAGE after a message with the names. */
int cli_find_part(const cli_command *self, const char *name, mica_part *part);

#define CLI_METRIC_TEXT 64

/* Formats "accuracy 92.51 %", "rmse 0.4112". Returns text. */
const char *cli_format_metric(const char *name, double value, char text[CLI_METRIC_TEXT]);

/* The first metric of the run's task or, if it was not measured, the first one that was. For example, a run that ranks
 * items has no rating error, the first metric of the task recommend. */
const char *cli_first_metric(const mica_run *run, const mica_metrics *metrics);
/* Prints the metrics of a part, the one of cli_first_metric first. A line ends after about 76 columns. */
void cli_print_metrics(FILE *out, const char *part, const mica_run *run, const mica_metrics *metrics);
/* Prints the tables of a report's sections. */
void cli_print_tables(FILE *out, const mica_report *report);

/* Prints a JSON object on one line: "task", "part", "metrics", the "epoch" of the weights if it is known,
 * "data_changed" if mica_run_evaluated_changed is true and, if report is not NULL, its tables and matrices by name. */
int cli_print_json(const cli_command *self, const mica_run *run, const char *part, const mica_metrics *metrics,
                   const mica_report *report);

/* Prints {"task": ..., "stopped": true, "part": ..., "metrics": {...}} on one line. If metrics->samples is 0, "part"
 * and "metrics" are omitted. */
int cli_print_stopped(const cli_command *self, const char *task, mica_part part, const mica_metrics *metrics);

/* Prints a prediction: a line per sample, and further lines for boxes and tables. pictures: first prints the samples'
 * pictures. */
void cli_print_prediction(const mica_report *prediction, bool pictures);

/* Copies a name, cut to 1023 bytes, with '?' for control characters, because these may control a terminal. The last
 * eight results stay valid. */
const char *cli_clean(const char *s);
/* Like cli_clean, but each run of white space becomes one blank, and white space at the beginning is dropped. For texts
 * that may have several lines. */
const char *cli_one_line(const char *s);
/* Prints n bytes of a text, with '?' for control characters. Unlike cli_clean it does not truncate the text. */
void cli_print_clean(const char *s, size_t n);

#endif
