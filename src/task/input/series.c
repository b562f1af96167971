/* forecast: the next values of time series, of a window of rows before them. */
#include "task/input/series.h"
#include "run/composed.h"
#include "run/config.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/setting_fields.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <inttypes.h>
#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

static const char *const networks[] = {"lstm", "gru", "tcn", "linear", NULL};

/* All but the linear function alone. */
#define NETWORKS "model=gru|lstm|tcn"

#define FORECAST_SETTINGS(X, S)                                                                                        \
  X(S, INT, horizon, "horizon", "12", "N", "rows to forecast", .low = 1, .high = 1 << 16, .fixed = true)               \
  X(S, INT, window, "window", "0", "N", "rows of the past that the network sees; 0: two seasons, or 24", .low = 0,     \
    .high = 1 << 16, .fixed = true)                                                                                    \
  X(S, INT, season, "season", "0", "N",                                                                                \
    "rows per season; 0: by the times (hours 24, days 7, weeks 52, months 12), else none", .low = 0, .high = 1 << 20,  \
    .fixed = true)                                                                                                     \
  X(S, TEXT, time, "time", "", "COLUMN", "column of times (default: found)", .fixed = true)                            \
  X(S, REAL, test, "test", "0.2", "SHARE", "fraction of the rows, at the end, for the test part", .low = 0,            \
    .high = 0.9, .fixed = true)                                                                                        \
  X(S, INT, layers, "layers", "1", "N", "layers of the network", .low = 1, .high = 30, .of = NETWORKS, .fixed = true)  \
  X(S, INT, width, "width", "32", "N", "units per layer", .low = 1, .high = 1 << 14, .of = NETWORKS, .fixed = true)    \
  X(S, REAL, dropout, "dropout", "0.2", "P", "dropout after layers", .low = 0, .high = 0.95, .of = NETWORKS,           \
    .fixed = true)
MICA__SETTINGS_STRUCT(forecast, FORECAST_SETTINGS);
static MICA__SETTINGS_TABLE(forecast, FORECAST_SETTINGS);

/* Found on four series of 300 to 2,300 rows. */
static const mica_setting defaults[] = {{"model", "lstm"},
                                        {"epochs", "60"},
                                        {"batch", "32"},
                                        {"lr", "0.003"},
                                        {"optimizer", "adamw"},
                                        {"weight-decay", "0.01"},
                                        {0}};

static const mica_task_metric metrics[] = {{"mase", true}, {"mae", true}, {NULL, false}};

static int64_t whole(const mica_run *run, const char *name) { return (int64_t)mica_run_number(run, name); }

/* Tables of numbers are the task regress's, unless it is named. */
static int32_t suits(const mica_dataset *data) {
  (void)data;
  return 0;
}

/* --- preparation --- */

/* The root of the mean square of changes over the horizon, and level and deviation, over what is learned; and the mean
 * change from season to season over all rows before the test part, by which errors are measured (Hyndman and Koehler
 * 2006). 1 for what does not change. All from the series' first value on. */
static void measure(const mica__windows *w, size_t k, double *scale, double *mean, double *deviation, double *mase) {
  double squares = 0, sum = 0, variance = 0, changes = 0;
  const int64_t first = mica__series_first(&w->series, k), known = w->learned - first;
  int64_t count = 0;
  for (int64_t o = first + 1; o + w->horizon <= w->learned; o++)
    for (int64_t h = 0; h < w->horizon; h++, count++) {
      const double change =
          mica__series_at(&w->series, o + h, k, w->learned) - mica__series_at(&w->series, o - 1, k, w->learned);
      squares += change * change;
    }
  for (int64_t i = first; i < w->learned; i++) sum += mica__series_at(&w->series, i, k, w->learned);
  *mean = sum / (double)known;
  for (int64_t i = first; i < w->learned; i++)
    variance += pow(mica__series_at(&w->series, i, k, w->learned) - *mean, 2);
  for (int64_t i = first + w->season; i < w->training; i++)
    changes += fabs(mica__series_at(&w->series, i, k, w->training) -
                    mica__series_at(&w->series, i - w->season, k, w->training));
  *scale = count && squares > 0 ? sqrt(squares / (double)count) : 1;
  *deviation = variance > 0 ? sqrt(variance / (double)known) : 1;
  *mase = changes > 0 ? changes / (double)(w->training - w->season - first) : 1;
}

/* Nothing is learned of a series that begins later. */
static mica_status check_begins(const mica__windows *w, const char *name) {
  for (size_t k = 0; k < w->series.count; k++)
    if (!mica__series_seen(&w->series, k, w->learned))
      return mica__fail(MICA_E_FORMAT, "%s: column '%s' is empty up to row %lld, and rows up to %lld are trained on",
                        name, w->series.names[k], (long long)mica__series_first(&w->series, k), (long long)w->learned);
  return MICA_OK;
}

static mica_status note_scales(mica_run *run, const mica__windows *w) {
  static const char *const facts[] = {"scale", "level_mean", "level_deviation", "mase_scale"};
  const size_t count = w->series.count;
  double *numbers = calloc(4 * count, sizeof *numbers);
  mica_status status = numbers ? MICA_OK : mica__fail_nomem("a run");
  for (size_t k = 0; status == MICA_OK && k < count; k++)
    measure(w, k, numbers + k, numbers + count + k, numbers + 2 * count + k, numbers + 3 * count + k);
  for (size_t i = 0; status == MICA_OK && i < 4; i++)
    status = mica__run_note_numbers(run, facts[i], numbers + i * count, count);
  free(numbers);
  return status;
}

static mica_status note_sizes(mica_run *run, const mica__windows *w) {
  const struct {
    const char *name;
    double value;
  } sizes[] = {{"horizon", (double)w->horizon},
               {"window", (double)w->window},
               {"season", (double)w->season},
               {"targets", (double)w->targets}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    MICA_TRY(mica__run_note_numbers(run, sizes[i].name, &sizes[i].value, 1));
  return mica__run_note(run, "series", (const char *const *)w->series.names, w->series.count);
}

static mica_status say(mica_run *run, const mica__windows *w) {
  const mica__series *s = &w->series;
  if (w->season > 1)
    MICA_TRY(mica__run_remark(run, "windows of %lld rows, a season of %lld, a horizon of %lld", (long long)w->window,
                              (long long)w->season, (long long)w->horizon));
  else
    MICA_TRY(mica__run_remark(run, "windows of %lld rows, a horizon of %lld, no season: --season says how many rows",
                              (long long)w->window, (long long)w->horizon));
  MICA_TRY(mica__windows_remark(run, mica_dataset_name(run->parts->whole), w));
  return s->unused ? mica__run_remark(run, "%zu columns that are neither numbers nor times are not used", s->unused)
                   : MICA_OK;
}

/* What a run that is opened says of its sizes. */
static mica_status check_facts(const mica_run *run) {
  static const char *const names[] = {"targets", "horizon", "window", "season"};
  size_t series = 0;
  mica_run_fact(run, "series", &series);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const double value = mica__run_fact_number(run, names[i], 0);
    if (value == floor(value) && value <= (i ? 1 << 20 : (double)series)) continue;
    return mica__run_damaged(run, run->data,
                             mica__fail(MICA_E_FORMAT, "config.json: \"%s\" holds %g", names[i], value));
  }
  return MICA_OK;
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  if (!run->parts->whole) return check_facts(run);
  mica__windows *w = mica__windows_of(run->parts->whole);
  if (!w) return mica__fail(MICA_E_UNSUPPORTED, "the task forecast reads tables, not datasets of the caller's");
  MICA_TRY(check_begins(w, mica_dataset_name(run->parts->whole)));
  MICA_TRY(note_sizes(run, w));
  MICA_TRY(note_scales(run, w));
  return say(run, w);
}

/* Fewer windows are too few to compare epochs by. */
#define FEW_WINDOWS 10

static mica_status derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  mica__windows *w = mica__windows_of(data);
  const uint64_t count = mica_dataset_count(data);
  *out = data;
  if (part == MICA_PART_VALIDATION && run->parts->whole && count < FEW_WINDOWS)
    MICA_TRY(mica__run_remark(
        run, "%" PRIu64 " window%s: the best epoch is found by chance; --validation SHARE holds out more", count,
        count == 1 ? " validates" : "s validate"));
  MICA_TRY(mica__windows_remark(run, mica_dataset_name(data), w));
  return mica__windows_scale(run, w);
}

/* Series are found by their names when data are opened. */
static mica_status fits(const mica_run *run, const mica_dataset *data) {
  if (mica__windows_of(data)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s holds no windows of series, which the run %s is about", mica_dataset_name(data),
                    run->folder);
}

/* --- the step --- */

/* The last state of a recurrent network over a window and how high it lies, (N, width). */
static mica_value recur(mica_nn *nn, const mica_run *run, mica_value window, mica_value level) {
  const bool lstm = !strcmp(mica_run_setting(run, "model"), "lstm");
  const mica_nn_rnn_config config = {.kind = lstm ? MICA_RNN_KIND_LSTM : MICA_RNN_KIND_GRU,
                                     .layers = whole(run, "layers"),
                                     .dropout = mica_run_number(run, "dropout")};
  const mica_value high = mica_add(level, mica_full_like(window, 0));
  const mica_value both[] = {window, high};
  const mica_rnn_results r = mica_nn_rnn(nn, "rnn", mica_concat(both, 2, 2), whole(run, "width"), &config);
  /* A network that was pruned has fewer units. */
  const int64_t units = mica_value_is_null(r.h) ? whole(run, "width") : mica_value_shape(r.h).dim[2];
  return mica_reshape(r.h, MICA_SHAPE(MICA_DYNAMIC, units));
}

/* (N, horizon, targets): a linear function of the window beside the network (Lai et al. 2018), in the windows' own
 * units. */
static mica_value network(mica_nn *nn, const mica_run *run, mica_value window, mica_value level) {
  const char *model = mica_run_setting(run, "model");
  const int64_t horizon = whole(run, "horizon"), targets = (int64_t)mica__run_fact_number(run, "targets", 1);
  const mica_dense_config small = {.weight = {.kind = MICA_INIT_NORMAL, .value = 0.01}};
  const mica_value seen[] = {mica_flatten(window, 1), mica_flatten(level, 1)};
  mica_value y = mica_nn_dense(nn, "linear", mica_concat(seen, 2, 1), horizon * targets, &small);
  if (!strcmp(model, "tcn")) {
    const mica_model_config config = {.name = "tcn",
                                      .classes = horizon * targets,
                                      .width = whole(run, "width"),
                                      .dropout = mica_run_number(run, "dropout"),
                                      .sequence = {.layers = whole(run, "layers"), .pooled = true}};
    y = mica_add(y, mica_model_build(nn, window, &config));
  } else if (strcmp(model, "linear") != 0) {
    y = mica_add(y, mica_nn_dense(nn, "head",
                                  mica_nn_dropout(nn, recur(nn, run, window, level), mica_run_number(run, "dropout")),
                                  horizon * targets, &small));
  }
  if (mica_value_dtype(y) != MICA_F32) y = mica_cast(y, MICA_F32);
  return mica_reshape(y, MICA_SHAPE(MICA_DYNAMIC, horizon, targets));
}

/* A factor of each target: its scale, over the season's change where `mase`. */
static mica_value factors(const mica_run *run, mica_graph *graph, bool mase) {
  const int64_t targets = (int64_t)mica__run_fact_number(run, "targets", 1);
  const double *scale = mica_run_fact_numbers(run, "scale", NULL);
  const double *change = mica_run_fact_numbers(run, "mase_scale", NULL);
  float *numbers = malloc((size_t)targets * sizeof *numbers);
  if (!numbers) return mica_graph_fail(graph, MICA_E_NOMEM, "out of memory for the scales of series");
  for (int64_t k = 0; k < targets; k++) numbers[k] = (float)(mase ? scale[k] / change[k] : scale[k]);
  mica_value value = mica_constant(graph, MICA_F32, MICA_SHAPE(targets), numbers);
  free(numbers);
  return value;
}

static mica_value total(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* Errors of the network, of the last value (0 in its own units) and of the season. */
static void add_metrics(const mica_run *run, mica_value z, mica_value y, mica_value season, mica_value known,
                        bool training, mica_objective *out) {
  static const char *const names[2][3] = {{"mase", "mase_last", "mase_season"}, {"mae", "mae_last", "mae_season"}};
  const mica_value weight = total(known);
  size_t count = 0;
  for (int unit = 0; unit < 2; unit++) {
    const mica_value factor = mica_mul(known, factors(run, z.graph, unit == 0));
    for (int k = 0; k < (training ? 1 : 3); k++) {
      const mica_value error = k == 0 ? mica_sub(z, y) : k == 1 ? y : mica_sub(season, y);
      out->metrics[count++] =
          (mica_metric){.name = names[unit][k], .sum = total(mica_mul(mica_abs(error), factor)), .weight = weight};
    }
  }
  if (training) return;
  const mica_value error = mica_mul(mica_mul(mica_sub(z, y), factors(run, z.graph, false)), known);
  const mica_value sums[] = {mica_reshape(total(mica_square(error)), MICA_SHAPE(1)),
                             mica_reshape(weight, MICA_SHAPE(1))};
  out->metrics[count] = (mica_metric){.name = "squares", .sum = mica_concat(sums, 2, 0)};
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const bool training = mica_nn_is_training(nn);
  mica_value z = network(nn, run, mica_batch_value(batch, "window"), mica_batch_value(batch, "level"));
  if (!training) out->outputs[0] = z, out->output_names[0] = "forecast";
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_NUMBERS, .value = z};
  if (!mica_batch_has(batch, "target") || !z.graph) return;
  mica_value y = mica_batch_value(batch, "target"), known = mica_batch_value(batch, "known");
  mica_value weight = total(known), errors = total(mica_mul(mica_abs(mica_sub(z, y)), known));
  /* A batch of empty answers alone has no error. */
  out->loss = mica_div(errors, mica_maximum(weight, mica_full_like(weight, 1e-6)));
  out->weight = weight;
  add_metrics(run, z, y, training ? y : mica_batch_value(batch, "season"), known, training, out);
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  double sums[2];
  (void)source;
  MICA_TRY(mica_trainer_sum(run->trainer, "squares", sums, 2));
  return mica_metrics_add(m, "rmse", sums[1] > 0 ? sqrt(sums[0] / sums[1]) : (double)NAN);
}

static const mica_onnx_text export_docs[] = {
    {"window",
     "the last \"window\" rows, the oldest first, of the \"series\": (number - last) / \"scale\", of the last row"},
    {"level", "of the \"series\": (last - \"level_mean\") / \"level_deviation\""},
    {"forecast", "\"horizon\" rows of the first \"targets\" of the \"series\": number = last + answer * \"scale\""},
    {0}};

/* What config.json must hold of a run of the task. */
#define FORECAST_FACTS(X, S)                                                                                           \
  X(S, TEXTS, series, .needed = true)                                                                                  \
  X(S, NUMBER, targets, .needed = true, .most = MICA__LARGEST_ROW)                                                     \
  X(S, NUMBER, horizon, .needed = true, .most = MICA__LARGEST_ROW)                                                     \
  X(S, NUMBER, window, .needed = true, .most = MICA__LARGEST_ROW)                                                      \
  X(S, NUMBER, season, .needed = true, .most = MICA__LARGEST_ROW)                                                      \
  X(S, NUMBERS, scale, .needed = true, .of = "series")                                                                 \
  X(S, NUMBERS, level_mean, .needed = true, .of = "series", .above = -INFINITY)                                        \
  X(S, NUMBERS, level_deviation, .needed = true, .of = "series")                                                       \
  X(S, NUMBERS, mase_scale, .needed = true, .of = "series")
MICA__FACTS_STRUCT(forecast, FORECAST_FACTS);
static MICA__FACTS_TABLE(forecast, FORECAST_FACTS, 0);

static const mica__input input = {
    .name = "series",
    .networks = networks,
    .traits.own_input = true,
    .views.derive = derive,
};

const mica__task_row mica__task_forecast = {
    .name = "forecast",
    .text = "the next values of time series, of the rows before them",
    .input = &input,
    .metrics = metrics,
    .facts = &mica__forecast_fact_list,
    .settings = &mica__forecast_setting_list,
    .defaults = defaults,
    .open = mica__forecast_open,
    .named_columns = true,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .answer_columns = (const char *const[]){"target", "known", "season", NULL},
    .step = step,
    .evaluate = evaluate,
    .predict = mica__forecast_predict,
    .report = mica__forecast_report,
    .export_docs = export_docs,
};
