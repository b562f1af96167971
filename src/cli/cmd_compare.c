#include "cli/energy.h"
#include "cli/number.h"
#include "cli/report_page.h"
#include "cli/result.h"
#include "cli/text.h"

#include <inttypes.h>
#include <math.h>
#include <mica/compare.h>
#include <stdlib.h>
#include <string.h>

struct values {
  cli_words runs;
  const char *data, *part, *samples, *repeats, *report, *device;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("RUN", struct values, runs, .role = CLI_OPTIONAL_OPERAND,
            .help = "folders of at least two runs; answers are compared with the first run's"),
    CLI_ROW("data", struct values, data, .value = "DATA",
            .help = "data to test on (default: the runs' data, if they share them)"),
    CLI_ROW("part", struct values, part, .value = "PART",
            .help = "part of the data to test on: train, validation or test (default: test; all of DATA if it has no "
                    "parts; without --data, validation if there is no test part)"),
    CLI_ROW("samples", struct values, samples, .value = "N",
            .help = "number of samples whose answers are compared (default 500)"),
    CLI_ROW("repeats", struct values, repeats, .value = "N",
            .help = "number of timed predictions per run (default 200)"),
    CLI_ROW("report", struct values, report, .value = "FILE",
            .help = "write an HTML page to FILE: the table, and plots of the metric against size and against latency"),
    CLI_ROW("json", struct values, json, .help = "write a JSON object with the list \"runs\""),
    CLI_DEVICE_ROW(struct values),
    {0},
};

/* The runs that are compared, and the energy that their timed predictions took. */
typedef struct comparison {
  const cli_command *self;
  mica_engine *engine;
  mica_run **runs;
  mica_compared *results;
  const char *const *names;
  double *joules; /* NaN: not available */
  cli_energy counter;
  size_t count;
} comparison;

static void count_energy(void *user, size_t run, bool begins) {
  comparison *c = user;
  double spent = 0;
  if (begins)
    cli_energy_begin(&c->counter, mica_engine_device(c->engine));
  else
    c->joules[run] = cli_energy_end(&c->counter, &spent) ? c->joules[run] + spent : (double)NAN;
}

static double joules_of(const comparison *c, size_t i) {
  return c->joules[i] > 0 ? c->joules[i] / (double)c->results[i].timed : (double)NAN;
}

static const char *watched(const comparison *c) { return cli_first_metric(c->runs[0], &c->results[0].metrics); }

/* --- what is shown --- */

enum { METRIC, LOSS, MIB, PARAMETERS, MFLOP, MEDIAN, P95, MEMORY, JOULES, AGREEMENT, COLUMNS };

static void take_row(const comparison *c, size_t i, double row[COLUMNS]) {
  const mica_compared *r = &c->results[i];
  row[METRIC] = mica_metrics_get(&r->metrics, watched(c));
  row[LOSS] = r->metrics.loss;
  row[MIB] = (double)r->file_bytes / (1 << 20);
  row[PARAMETERS] = (double)r->parameters;
  row[MFLOP] = 1e-6 * r->flops;
  row[MEDIAN] = 1e3 * r->median;
  row[P95] = 1e3 * r->p95;
  row[MEMORY] = isfinite(r->flops) ? (double)r->memory / (1 << 20) : (double)NAN;
  row[JOULES] = joules_of(c, i);
  row[AGREEMENT] = 100 * r->agreement;
}

static void print_table(const comparison *c) {
  char text[CLI_METRIC_TEXT], size[CLI_BYTES_TEXT], memory[CLI_BYTES_TEXT];
  printf("%-20s %20s %9s %10s %9s %8s %8s %9s %8s\n", "run", "metric", "file", "weights", "MFLOP", "ms", "p95",
         "memory", "agree");
  for (size_t i = 0; i < c->count; i++) {
    double row[COLUMNS];
    take_row(c, i, row);
    char flops[16] = "-";
    const bool planned = isfinite(row[MFLOP]);
    if (planned) snprintf(flops, sizeof flops, "%.4g", row[MFLOP]);
    printf("%-20s %20s %9s %10" PRId64 " %9s %8.3f %8.3f %9s", cli_clean(c->names[i]),
           cli_format_metric(watched(c), row[METRIC], text), cli_format_bytes(c->results[i].file_bytes, size),
           c->results[i].parameters, flops, row[MEDIAN], row[P95],
           planned ? cli_format_bytes(c->results[i].memory, memory) : "-");
    if (isfinite(row[AGREEMENT]))
      printf(" %6.1f %%\n", row[AGREEMENT]);
    else
      puts("        -");
  }
  for (size_t i = 0; i < c->count; i++) {
    if (!i) printf("\nenergy    ");
    if (isfinite(joules_of(c, i)))
      printf("%s%s %.3g J", i ? ", " : "", cli_clean(c->names[i]), joules_of(c, i));
    else if (!i)
      printf("not available");
    if (i + 1 == c->count) puts(isfinite(joules_of(c, 0)) ? " a sample" : "");
  }
  const int64_t samples = c->results[0].metrics.samples;
  printf("%" PRId64 " sample%s tested (%s)", samples, samples == 1 ? "" : "s", mica_run_evaluated(c->runs[0]));
  if (c->results[0].answers)
    printf(", answers to %" PRId64 " compared with those of %s", c->results[0].answers, cli_clean(c->names[0]));
  printf("; %" PRId64 " predictions at batch 1 timed\n", c->results[0].timed);
}

static void add_run(const comparison *c, size_t i, cli_json *json, cJSON *to) {
  const mica_compared *r = &c->results[i];
  cli_json_text(json, to, "name", c->names[i]);
  cli_json_text(json, to, "model", mica_run_setting(c->runs[i], "model"));
  cJSON *metrics = cli_json_object(json, to, "metrics");
  cli_json_integer(json, metrics, "samples", (uint64_t)r->metrics.samples);
  cli_json_real(json, metrics, "loss", r->metrics.loss);
  for (int32_t k = 0; k < r->metrics.count; k++)
    cli_json_real(json, metrics, r->metrics.values[k].name, r->metrics.values[k].value);
  cli_json_integer(json, to, "file_bytes", r->file_bytes);
  cli_json_integer(json, to, "parameters", (uint64_t)r->parameters);
  cli_json_real(json, to, "flops", r->flops);
  if (isfinite(r->flops))
    cli_json_integer(json, to, "memory_bytes", r->memory);
  else
    cli_json_real(json, to, "memory_bytes", (double)NAN);
  cli_json_real(json, to, "latency_median", r->median);
  cli_json_real(json, to, "latency_p95", r->p95);
  cli_json_integer(json, to, "timed", (uint64_t)r->timed);
  cli_json_real(json, to, "joules", joules_of(c, i));
  cli_json_real(json, to, "agreement", r->agreement);
  cli_json_integer(json, to, "answers", (uint64_t)r->answers);
}

static int print_json(const comparison *c) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "task", mica_run_task(c->runs[0]));
  cli_json_text(&json, json.root, "part", mica_run_evaluated(c->runs[0]));
  if (mica_run_evaluated_changed(c->runs[0])) cli_json_bool(&json, json.root, "data_changed", true);
  cJSON *list = cli_json_array(&json, json.root, "runs");
  for (size_t i = 0; i < c->count; i++) add_run(c, i, &json, cli_json_object(&json, list, NULL));
  return cli_json_print_line(&json, c->self);
}

/* Adds a plot with one point per run: a cost on the horizontal axis, the watched metric on the vertical one. */
static mica_status add_points(const comparison *c, mica_report *report, const char *cost, const double *table,
                              int column) {
  const char *names[] = {cost, watched(c)};
  double *points = calloc(2 * c->count, sizeof *points);
  if (!points) return MICA_E_NOMEM;
  for (size_t i = 0; i < c->count; i++) {
    points[2 * i] = table[i * COLUMNS + (size_t)column];
    points[2 * i + 1] = table[i * COLUMNS + METRIC];
  }
  const mica_item item = {.kind = MICA_ITEM_KIND_POINTS,
                          .name = cost,
                          .rows = c->count,
                          .columns = 2,
                          .row_names = c->names,
                          .column_names = names,
                          .numbers = points};
  mica_status status = mica_report_add(report, &item);
  free(points);
  return status;
}

static mica_status fill_report(const comparison *c, const double *table, mica_report *report) {
  const char *const columns[COLUMNS] = {watched(c),      "loss",   "MiB in the file", "parameters", "MFLOP",
                                        "ms at batch 1", "p95 ms", "MiB planned",     "J a sample", "agreement, %"};
  const mica_item item = {.kind = MICA_ITEM_KIND_TABLE,
                          .name = "runs",
                          .rows = c->count,
                          .columns = COLUMNS,
                          .row_names = c->names,
                          .column_names = columns,
                          .numbers = table};
  mica_status status = mica_report_begin(report, "Runs");
  if (status == MICA_OK) status = mica_report_add_text(report, "task", mica_run_task(c->runs[0]));
  if (status == MICA_OK) status = mica_report_add_text(report, "part", mica_run_evaluated(c->runs[0]));
  if (status == MICA_OK) status = mica_report_add_text(report, "device", mica_engine_device(c->engine)->name);
  if (status == MICA_OK) status = mica_report_add(report, &item);
  if (status == MICA_OK) status = mica_report_begin(report, "Quality against cost");
  if (status == MICA_OK) status = add_points(c, report, "size of the file, MiB", table, MIB);
  if (status == MICA_OK) status = add_points(c, report, "latency at batch 1, ms", table, MEDIAN);
  return status;
}

static int write_report(const comparison *c, const char *path) {
  mica_report *report = NULL;
  double *table = calloc(c->count * COLUMNS, sizeof *table);
  if (!table) return cli_fail(c->self, "there is not enough memory");
  for (size_t i = 0; i < c->count; i++) take_row(c, i, table + i * COLUMNS);
  mica_status made = mica_report_create(&report);
  if (made == MICA_OK) made = fill_report(c, table, report);
  int status = made == MICA_OK ? cli_report_page_write(c->self, path, "Comparison", report) : cli_fail_library(c->self);
  mica_report_destroy(report);
  free(table);
  return status;
}

/* --- the comparison --- */

static int compare(comparison *c, const struct values *v, mica_compare_config *config) {
  for (size_t i = 0; i < c->count; i++) {
    int status = i ? CLI_OK : cli_open_run(c->self, c->names[0], v->device, &c->engine, &c->runs[0]);
    if (status != CLI_OK) return status;
    if (i && mica_run_open(c->engine, c->names[i], &c->runs[i]) != MICA_OK) return cli_fail_library(c->self);
    if (i) cli_say_unfinished(c->self, c->runs[i]);
  }
  config->around = count_energy;
  config->user = c;
  mica_status compared = mica_runs_compare(c->runs, c->count, config, c->results);
  /* If neither --data nor --part is given and the run's data have no test part, uses the validation samples, as mica
   * eval does. */
  if (compared == MICA_E_NOT_FOUND && !v->data && !v->part) {
    config->part = MICA_PART_VALIDATION;
    compared = mica_runs_compare(c->runs, c->count, config, c->results);
  }
  if (compared != MICA_OK) return cli_fail_library(c->self);
  cli_print_remarks(c->self, c->runs[0]);
  int status = v->report ? write_report(c, v->report) : CLI_OK;
  if (status == CLI_OK && v->json) return print_json(c);
  if (status == CLI_OK) print_table(c);
  return status;
}

static int check(const cli_command *self, const struct values *v, mica_compare_config *config) {
  int status = cli_find_part(self, v->part, &config->part);
  if (status == CLI_OK) status = cli_integer(self, "samples", v->samples, 1, INT32_MAX, &config->samples);
  if (status == CLI_OK) status = cli_integer(self, "repeats", v->repeats, 1, 1000000, &config->repeats);
  if (status != CLI_OK) return status;
  if (v->runs.count < 2) {
    cli_fail(self, "name at least two runs: mica compare A B --data DATA");
    return CLI_USAGE;
  }
  return v->report ? cli_refuse_file(self, v->report, "choose another file with --report") : CLI_OK;
}

static int run_compare(const cli_command *self, const void *given) {
  const struct values *v = given;
  comparison c = {.self = self, .names = (const char *const *)v->runs.words, .count = v->runs.count};
  mica_compare_config config = {.data = v->data};
  int status = check(self, v, &config);
  if (status != CLI_OK) return status;
  c.runs = calloc(c.count, sizeof(mica_run *));
  c.results = calloc(c.count, sizeof *c.results);
  c.joules = calloc(c.count, sizeof *c.joules);
  status = c.runs && c.results && c.joules ? compare(&c, v, &config) : cli_fail(self, "there is not enough memory");
  for (size_t i = 0; c.runs && i < c.count; i++) mica_run_destroy(c.runs[i]);
  mica_engine_destroy(c.engine);
  free(c.runs);
  free(c.results);
  free(c.joules);
  return status;
}

const cli_command cli_command_compare = {
    .name = "compare",
    .summary = "compare trained networks: quality, size and speed",
    .details = "\nPrints the task's main metric (with --json all metrics), file size, number of\n"
               "weights, FLOPs per sample, latency at batch 1 (median and 95th percentile; the\n"
               "runs take turns), planned memory, energy if the machine has a counter, and the\n"
               "share of answers that agree with the first run. For language models, answers\n"
               "agree at a position if both models predict the same next token.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run_compare,
};
