/* regress: a number for each sample. Targets are standardised inside, errors are in the user's units. */
#include "data/series/series.h"
#include "ops/random/philox.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/columns/kinds.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/network.h"
#include "run/predict/samples.h"
#include "run/record.h"
#include "run/run.h"
#include "run/setting_fields.h"
#include "run/settings.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

#define AT_A_TIME 250
#define LOOKED_AT 2000
#define SHOWN 24

static const char *loss_at(size_t i) {
  static const char *const names[] = {"mse", "mae", "huber", "quantile", NULL};
  return names[i];
}

#define REGRESS_SETTINGS(X, S)                                                                                         \
  X(S, CHOICE, loss, "loss", "mse", "NAME", "loss to minimise, of standardised targets", .names = loss_at,             \
    .fixed = true)                                                                                                     \
  X(S, REAL, delta, "delta", "1", "D", "huber: where it becomes linear, in standard deviations of the target",         \
    .low = 1e-6, .high = 1e6, .fixed = true, .of = "loss=huber")                                                       \
  X(S, REAL, quantile, "quantile", "0.5", "Q", "quantile: share of samples below the prediction", .low = 0.001,        \
    .high = 0.999, .fixed = true, .of = "loss=quantile")
MICA__SETTINGS_STRUCT(regress, REGRESS_SETTINGS);
static MICA__SETTINGS_TABLE(regress, REGRESS_SETTINGS);

static const mica_task_metric metrics[] = {{"rmse", true}, {"mae", true}, {"r2", false}, {NULL, false}};

static void opens(const mica_run *run, mica_dataset_config *config) {
  (void)run;
  config->regression = true;
}

static int32_t suits(const mica_dataset *data) {
  const size_t label = mica_dataset_column_index(data, "label");
  if (label == mica_dataset_column_count(data)) return 0;
  return mica_dataset_column(data, label)->kind == MICA_COLUMN_KIND_NUMBER ? 10 : 0;
}

/* Mean and deviation of the targets that are trained on; 1 for the deviation of what is constant. */
static mica_status note_scale(mica_run *run) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const uint64_t count = mica_dataset_count(data);
  double mean = 0, squares = 0;
  for (uint64_t i = 0; i < count; i++) {
    const double y = (double)mica_dataset_target(data, i), before = y - mean;
    if (!isfinite(y))
      return mica__fail(MICA_E_FORMAT, "%s: the answer of sample %llu is %s", run->data, (unsigned long long)i,
                        isnan(y) ? "not a number" : "infinite");
    mean += before / (double)(i + 1);
    squares += before * (y - mean);
  }
  double deviation = count ? sqrt(squares / (double)count) : 0;
  if (!(deviation > 0)) deviation = 1;
  MICA_TRY(mica__run_note_numbers(run, "target_mean", &mean, 1));
  return mica__run_note_numbers(run, "target_deviation", &deviation, 1);
}

/* Rows of numbers are cheap and few: unless something else was asked for, they are gone through until about STEPS steps
 * are done, at a rate that the default network bears (measured on tables of 1,000 to 20,000 rows, 2026-11-24). */
#define STEPS 5000
#define RATE 0.01
static mica_status set_defaults(mica_run *run, const mica_dataset *data) {
  const double batches = ceil((double)mica_dataset_count(data) / mica_run_number(run, "batch"));
  if (mica_dataset_shape(data).rank > 1 || mica__run_is_set(run, "model")) return MICA_OK;
  if (!mica__run_is_set(run, "epochs"))
    MICA_TRY(mica__run_set_number(run, "epochs", fmax(10, fmin(100, floor(STEPS / batches)))));
  if (mica__run_is_set(run, "lr") || mica__run_is_set(run, "optimizer")) return MICA_OK;
  return mica__run_set_number(run, "lr", RATE);
}

/* A table whose only input is a time may be a series. */
static mica_status remark_series(mica_run *run) {
  const size_t x = mica_dataset_column_index(run->parts->whole, "x");
  const mica_column *column = mica_dataset_column(run->parts->whole, x);
  const char *name = column ? mica_dataset_number_name(run->parts->whole, x, 0) : NULL;
  if (!name || column->shape.rank != 1 || column->shape.dim[0] != 1 || mica__run_categories(run)) return MICA_OK;
  if (!mica__is_time_name(name)) return MICA_OK;
  return mica__run_remark(
      run, "the only input is '%s'; if the rows are a series, --task forecast predicts what follows", name);
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  mica_augment_config augment;
  if (!run->parts->whole) return MICA_OK;
  MICA_TRY(mica__run_note_columns(run, &label));
  if (label->kind != MICA_COLUMN_KIND_NUMBER)
    return mica__fail(MICA_E_FORMAT, "%s: the column '%s' holds a %s, not a number; --task classify learns classes",
                      run->data, mica__run_answer_name(run, label), mica_column_kind_name(label->kind));
  MICA_TRY(mica_augment_parse(mica_run_setting(run, "augment"), &augment));
  if (augment.mixup > 0) return mica__fail(MICA_E_INVALID, "mixup blends classes, and the task regress has none");
  MICA_TRY(note_scale(run));
  MICA_TRY(remark_series(run));
  return set_defaults(run, run->parts->at[MICA_PART_TRAIN].data);
}

/* Uploads values of U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)); `which` tells the seed's uses apart. */
static mica_status upload_uniform(mica_run *run, mica_tensor *tensor, double fan_in, uint32_t which) {
  const size_t count = mica_tensor_bytes(tensor) / sizeof(float);
  const uint64_t seed = (uint64_t)mica_run_number(run, "seed");
  float *values = malloc(mica_tensor_bytes(tensor));
  if (!values) return mica__fail_nomem("a run");
  for (size_t i = 0; i < count; i++) {
    /* The third word, "regr", keeps these numbers apart from those of other tasks. */
    uint32_t words[4] = {(uint32_t)i, which, UINT32_C(0x72656772), 0};
    mica__philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
    values[i] = (float)((((double)words[0] + 0.5) * 0x1p-31 - 1) / sqrt(fan_in));
  }
  mica_status status = mica_tensor_upload(mica_engine_queue(run->engine), tensor, values, mica_tensor_bytes(tensor));
  free(values);
  return status;
}

/* The default network begins with the weights and biases that PyTorch's layers have: smaller ones than the zoo's, at
 * which rows of numbers are fitted 7 % better (tables of 4,000 rows, 2026-11-24). */
static mica_status begin(mica_run *run) {
  static const char *const names[][2] = {{"fc1.weight", "fc1.bias"}, {"fc2.weight", "fc2.bias"}};
  mica_session *session = mica_trainer_session(run->trainer);
  size_t rank = 0;
  mica_run_fact_numbers(run, "input", &rank);
  if (strcmp(mica_run_setting(run, "model"), "mlp") != 0 || rank > 1) return MICA_OK;
  for (uint32_t layer = 0; layer < 2; layer++) {
    mica_tensor *weight = mica_session_parameter(session, names[layer][0]);
    mica_tensor *bias = mica_session_parameter(session, names[layer][1]);
    if (!weight || !bias) continue;
    const double fan_in = (double)mica_tensor_shape(weight).dim[1];
    MICA_TRY(upload_uniform(run, weight, fan_in, 2 * layer));
    MICA_TRY(upload_uniform(run, bias, fan_in, 2 * layer + 1));
  }
  return MICA_OK;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  MICA_TRY(mica__run_fits_input(run, data));
  if (!mica_dataset_classes(data)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has classes for answers, the network was trained on numbers",
                    mica_dataset_name(data));
}

static mica_value loss_of(const mica_run *run, mica_value z, mica_value y) {
  const char *loss = mica_run_setting(run, "loss");
  if (!strcmp(loss, "mae")) return mica_mae(z, y, MICA_LOSS_REDUCTION_MEAN);
  if (!strcmp(loss, "huber")) return mica_huber(z, y, mica_run_number(run, "delta"), MICA_LOSS_REDUCTION_MEAN);
  if (!strcmp(loss, "quantile"))
    return mica_quantile_loss(z, y, mica_run_number(run, "quantile"), MICA_LOSS_REDUCTION_MEAN);
  return mica_mse(z, y, MICA_LOSS_REDUCTION_MEAN);
}

static mica_value sum(mica_value x) { return mica_reshape(mica_sum(x, MICA_ALL_AXES, false), MICA_SHAPE(1)); }

/* All is computed in standard deviations of the target and scaled where it leaves the graph. */
static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const char *label = mica__run_fact_text(run, "label_column");
  const double mean = mica__run_fact_number(run, "target_mean", 0);
  const double deviation = mica__run_fact_number(run, "target_deviation", 1);
  mica_value x = mica__run_inputs(run, batch);
  mica_value given = mica_batch_has(batch, label) ? mica_batch_value(batch, label) : (mica_value){0};
  mica_value z = mica__run_network(run, nn, x, 1);
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_NUMBERS, .value = z};
  if (!mica_nn_is_training(nn)) out->outputs[0] = mica_affine(z, deviation, mean), out->output_names[0] = "value";
  if (!given.graph || !z.graph) return;
  mica_value y = mica_affine(mica_sub(given, mica_full_like(given, mean)), 1 / deviation, 0);
  if (mica_value_shape(y).rank == 1) y = mica_unsqueeze(y, MICA_AXES(1));
  mica_value error = mica_sub(z, y);
  out->loss = loss_of(run, z, y);
  out->metrics[0] = mica_metric_mean("mae", mica_affine(mica_abs(error), deviation, 0));
  if (mica_nn_is_training(nn)) return;
  const mica_value sums[] = {sum(mica_square(error)), sum(y), sum(mica_square(y))};
  out->metrics[1] = (mica_metric){.name = "squares", .sum = mica_concat(sums, 3, 0)};
}

/* R2 = 1 - sum (z - y)^2 / sum (y - mean y)^2 over the samples tested, and the root of the mean square in the user's
 * units. */
static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  double sums[3];
  (void)source;
  MICA_TRY(mica_trainer_sum(run->trainer, "squares", sums, 3));
  const double n = (double)m->samples, variation = sums[2] - sums[1] * sums[1] / n;
  MICA_TRY(mica_metrics_add(m, "rmse", sqrt(sums[0] / n) * mica__run_fact_number(run, "target_deviation", 1)));
  return mica_metrics_add(m, "r2", variation > 0 ? 1 - sums[0] / variation : (double)NAN);
}

static mica_status predict_all(mica_run *run, const mica__samples *s, mica_report *p) {
  const double base = mica__run_label_base(run);
  float values[AT_A_TIME];
  for (int64_t from = 0; from < s->count; from += AT_A_TIME) {
    const int64_t count = s->count - from < AT_A_TIME ? s->count - from : AT_A_TIME;
    MICA_TRY(mica__samples_infer(run, s, from, count, "value", 1, values));
    for (int64_t i = 0; i < count; i++) {
      MICA_TRY(mica_report_begin(p, s->names[from + i]));
      if (!isnan(s->truths[from + i])) MICA_TRY(mica_report_add_number(p, "truth", s->truths[from + i]));
      MICA_TRY(mica_report_add_number(p, "value", (double)values[i] + base));
    }
  }
  return MICA_OK;
}

static mica_status predict(mica_run *run, const mica_run_input *input, mica_report *p) {
  mica__samples samples = {0};
  mica_status status = mica__samples_read(run, input, &samples);
  if (status == MICA_OK) status = predict_all(run, &samples, p);
  mica__samples_free(&samples);
  return status;
}

/* --- the report --- */

/* A sample, what it is, and what was predicted. */
typedef struct residual {
  uint64_t sample;
  double truth, value;
} residual;

static double size(residual r) { return fabs(r.truth - r.value); }

/* Keeps the largest, in falling order. */
static void add_residual(residual list[SHOWN], size_t *count, residual found) {
  size_t at = *count;
  while (at > 0 && size(list[at - 1]) < size(found)) at--;
  if (at == SHOWN) return;
  if (*count == SHOWN) --*count;
  memmove(list + at + 1, list + at, (*count - at) * sizeof *list);
  list[at] = found;
  ++*count;
}

static mica_status find_residuals(mica_run *run, residual list[SHOWN], size_t *count) {
  const int64_t all = (int64_t)mica_dataset_count(run->evaluation->data);
  const double base = mica__run_label_base(run);
  float values[AT_A_TIME];
  for (int64_t from = 0; from < all && from < LOOKED_AT; from += AT_A_TIME) {
    const int64_t n = all - from < AT_A_TIME ? all - from : AT_A_TIME;
    mica__samples s = {0};
    mica_status status = mica__samples_of(run, run->evaluation->data, (uint64_t)from, n, &s);
    if (status == MICA_OK) status = mica__samples_infer(run, &s, 0, n, "value", 1, values);
    for (int64_t i = 0; status == MICA_OK && i < n; i++)
      if (!isnan(s.truths[i]))
        add_residual(list, count, (residual){(uint64_t)(from + i), s.truths[i], (double)values[i] + base});
    mica__samples_free(&s);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static mica_status report_residuals(mica_run *run, mica_report *report) {
  static const char *const columns[] = {"sample", "truth", "predicted", "error"};
  residual list[SHOWN];
  double numbers[SHOWN][4];
  size_t count = 0;
  MICA_TRY(find_residuals(run, list, &count));
  if (!count) return MICA_OK;
  for (size_t i = 0; i < count; i++) {
    const residual r = list[i];
    const double row[] = {(double)r.sample, r.truth, r.value, r.value - r.truth};
    memcpy(numbers[i], row, sizeof row);
  }
  MICA_TRY(mica_report_begin(report, "Largest errors"));
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "residuals",
                           .rows = count,
                           .columns = 4,
                           .column_names = columns,
                           .numbers = numbers[0]};
  return mica_report_add(report, &table);
}

/* What config.json must hold of a run of the task. */
#define REGRESS_FACTS(X, S)                                                                                            \
  X(S, NUMBER, target_mean, .needed = true, .above = -INFINITY)                                                        \
  X(S, NUMBER, target_deviation, .needed = true)
MICA__FACTS_STRUCT(regress, REGRESS_FACTS);
static MICA__FACTS_TABLE(regress, REGRESS_FACTS, 0);

const mica__task_row mica__task_regress = {
    .name = "regress",
    .text = "a number for each picture or row of a table",
    .metrics = metrics,
    .facts = &mica__regress_fact_list,
    .settings = &mica__regress_setting_list,
    .opens = opens,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .begin = begin,
    .step = step,
    .evaluate = evaluate,
    .by_samples = true,
    .predict = predict,
    .report = report_residuals,
};
