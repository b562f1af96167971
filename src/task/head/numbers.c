/* Numbers: losses of standardised targets, errors in the user's units, the largest errors. */
#include "task/head/numbers.h"
#include "data/dataset.h"
#include "run/columns/columns.h"
#include "run/columns/constants.h"
#include "run/columns/kinds.h"
#include "run/columns/scale.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"
#include "run/verbs/imported.h"

#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 24

enum { MSE, MAE, HUBER, QUANTILE, COSINE };

const char *mica__numbers_loss_at(size_t i) {
  static const char *const names[] = {"mse", "mae", "huber", "quantile", "cosine", NULL};
  return names[i];
}

MICA__SETTINGS_STRUCT(numbers, NUMBERS_SETTINGS);
MICA__SETTINGS(numbers, NUMBERS_SETTINGS);
MICA__FACTS(numbers, NUMBERS_FACTS, 0);

/* The count of numbers per sample. */
static int64_t count_of(const mica_run *run) {
  const size_t count = facts_of(run).target_mean.count;
  return count ? (int64_t)count : 1;
}

static bool suits(const mica_column *label) {
  return label->kind == MICA_COLUMN_KIND_NUMBER &&
         (label->shape.rank == 0 || (label->shape.rank == 1 && label->shape.dim[0] > 0));
}

/* --- preparation --- */

/* Stores the names of several numbers with the run, as "answers": the names of the table's columns, or else the indices
 * 0, 1, ... */
static mica_status note_names(mica_run *run, size_t column, size_t count) {
  const char **names = calloc(count, sizeof *names);
  char(*indices)[24] = calloc(count, sizeof *indices);
  mica_status status = names && indices ? MICA_OK : mica__fail_nomem("a run");
  for (size_t k = 0; status == MICA_OK && k < count; k++) {
    names[k] = mica_dataset_number_name(run->parts->whole, column, (int64_t)k);
    snprintf(indices[k], sizeof indices[k], "%zu", k);
    if (!names[k]) names[k] = indices[k];
  }
  if (status == MICA_OK) status = mica__run_note(run, "answers", names, count);
  free(names);
  free(indices);
  return status;
}

static mica_status prepare(mica_run *run, const mica_column *label) {
  const size_t column = mica_dataset_column_index(run->parts->whole, label->name);
  const size_t count = label->shape.rank ? (size_t)label->shape.dim[0] : 1;
  mica_augment_config augment;
  char shape[MICA_SHAPE_TEXT];
  if (!suits(label) && label->kind == MICA_COLUMN_KIND_NUMBER)
    return mica__fail(
        MICA_E_FORMAT,
        "%s: the column '%s' has values of shape %s, but must hold one number per sample, or lists of equal length",
        run->data, mica__run_answer_name(run, label), mica_shape_format(label->shape, shape));
  if (!suits(label))
    return mica__fail(MICA_E_FORMAT, "%s: the column '%s' has values of kind %s, not a number for each sample%s",
                      run->data, mica__run_answer_name(run, label), mica_column_kind_name(label->kind),
                      label->kind == MICA_COLUMN_KIND_CLASS && label->shape.rank == 0
                          ? "; --task classify learns classes"
                      : label->kind == MICA_COLUMN_KIND_MASK ? "; --task segment learns masks"
                                                             : "");
  MICA_TRY(mica_augment_parse(mica__common_settings_of(run).augment, &augment));
  if (augment.mixup > 0)
    return mica__fail(MICA_E_INVALID, "mixup blends classes, and the task %s has none; leave it out of augment",
                      run->task->name);
  if (count > 1 && label->dtype != MICA_F32)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: several numbers per sample must be f32, not %s", run->data,
                      mica_dtype_name(label->dtype));
  if (count > 1 && mica__is_model_file(mica__common_settings_of(run).init))
    return mica__fail(MICA_E_UNSUPPORTED, "init: a model in ONNX is trained on one number per sample, not on %zu",
                      count);
  if (count == 1 && settings_of(run).loss == COSINE)
    return mica__fail(MICA_E_INVALID,
                      "--loss cosine compares directions and needs several numbers per sample; %s has one", run->data);
  MICA_TRY(mica__run_remark_constants(run, label));
  MICA_TRY(mica__run_note_answer_scale(run, column, count));
  return count > 1 ? note_names(run, column, count) : MICA_OK;
}

static mica_status fits(const mica_run *run, const mica_dataset *data, const mica_column *label) {
  if (mica_dataset_classes(data))
    return mica__fail(MICA_E_FORMAT, "%s has classes for answers, but the network was trained on numbers",
                      mica_dataset_name(data));
  if (!label || !suits(label)) return MICA_OK;
  const int64_t wants = count_of(run), has = label->shape.rank ? label->shape.dim[0] : 1;
  if (has == wants) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has %lld number%s per sample, but the network was trained on %lld",
                    mica_dataset_name(data), (long long)has, has == 1 ? "" : "s", (long long)wants);
}

/* Several numbers may have different units, so the best epoch is the one with the highest mean R2; with the cosine
 * loss, which ignores lengths, the one with the lowest loss. */
static void configures(const mica_run *run, mica_trainer_config *config) {
  if (count_of(run) == 1) return;
  config->falling = settings_of(run).loss == COSINE;
  config->watch = config->falling ? "loss" : "r2";
}

/* --- the step --- */

static mica_value loss_of(const mica_run *run, mica_value z, mica_value y) {
  const mica__numbers_settings s = settings_of(run);
  switch (s.loss) {
  case MAE: return mica_mae(z, y, MICA_LOSS_REDUCTION_MEAN);
  case HUBER: return mica_huber(z, y, s.delta, MICA_LOSS_REDUCTION_MEAN);
  case QUANTILE: return mica_quantile_loss(z, y, s.quantile, MICA_LOSS_REDUCTION_MEAN);
  case COSINE: return mica_affine(mica_mean(mica_cosine_similarity(z, y, 1, 1e-8), MICA_ALL_AXES, false), -1, 1);
  default: return mica_mse(z, y, MICA_LOSS_REDUCTION_MEAN);
  }
}

/* The numbers of a stored value (run/facts.h) as a constant (1, K) f32. */
static mica_value row_of(mica_graph *graph, mica__fact_numbers numbers) {
  float *row = malloc((numbers.count + 1) * sizeof *row);
  if (!row) return mica_graph_fail(graph, MICA_E_NOMEM, "out of memory for the scales of numbers");
  for (size_t k = 0; k < numbers.count; k++) row[k] = (float)numbers.list[k];
  mica_value value = mica_constant(graph, MICA_F32, MICA_SHAPE(1, (int64_t)numbers.count), row);
  free(row);
  return value;
}

static double first_of(mica__fact_numbers numbers, double otherwise) {
  return numbers.count ? numbers.list[0] : otherwise;
}

/* Converts standardised numbers to the user's units. */
static mica_value answer(const mica_run *run, mica_value z) {
  const mica__numbers_facts facts = facts_of(run);
  if (!z.graph) return z;
  if (facts.target_mean.count <= 1)
    return mica_affine(z, first_of(facts.target_deviation, 1), first_of(facts.target_mean, 0));
  return mica_add(mica_mul(z, row_of(z.graph, facts.target_deviation)), row_of(z.graph, facts.target_mean));
}

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  out->outputs[0] = answer(run, z), out->output_names[0] = "value";
}

/* The standardised targets; if there are several numbers, the loader has standardised them (mica__run_loading). */
static mica_value targets(const mica_run *run, mica_value given) {
  const mica__numbers_facts facts = facts_of(run);
  if (facts.target_mean.count > 1) return given;
  mica_value mean = mica_full_like(given, first_of(facts.target_mean, 0));
  mica_value y = mica_affine(mica_sub(given, mean), 1 / first_of(facts.target_deviation, 1), 0);
  return mica_value_shape(y).rank == 1 ? mica_unsqueeze(y, MICA_AXES(1)) : y;
}

static mica_value sum(mica_value x, int64_t count) {
  if (count > 1) return mica_sum(x, MICA_AXES(0), false);
  return mica_reshape(mica_sum(x, MICA_ALL_AXES, false), MICA_SHAPE(1));
}

/* The loss and the sums in "squares" are in standard deviations of the target. The output and the metric "mae" are in
 * the user's units. */
static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  const char *label = mica__common_facts_of(run).label_column;
  const mica__numbers_facts facts = facts_of(run);
  const int64_t count = count_of(run);
  mica_value given = mica_batch_has(batch, label) ? mica_batch_value(batch, label) : (mica_value){0};
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_NUMBERS, .value = z};
  if (!mica_nn_is_training(nn)) exports(run, z, out);
  if (!given.graph || !z.graph) return;
  mica_value y = targets(run, given), error = mica_sub(z, y);
  out->loss = loss_of(run, z, y);
  mica_value distance = mica_abs(error);
  distance = count > 1 ? mica_mul(distance, row_of(z.graph, facts.target_deviation))
                       : mica_affine(distance, first_of(facts.target_deviation, 1), 0);
  out->metrics[0] = mica_metric_mean("mae", distance);
  if (mica_nn_is_training(nn)) return;
  const mica_value sums[] = {sum(mica_square(error), count), sum(y, count), sum(mica_square(y), count)};
  out->metrics[1] = (mica_metric){.name = "squares", .sum = mica_concat(sums, 3, 0)};
}

/* --- metrics --- */

/* If there are at most this many numbers, the RMSE and the R2 of each are metrics too. */
#define NAMED_NUMBERS 20

static mica_status add_named(const mica_run *run, const char *what, const double *values, mica_metrics *m) {
  const mica__fact_texts names = facts_of(run).answers;
  for (size_t k = 0; names.count <= NAMED_NUMBERS && k < names.count; k++) {
    char name[sizeof m->values[0].name];
    snprintf(name, sizeof name, "%s_%.*s", what, (int)(sizeof name - strlen(what) - 2), names.list[k]);
    MICA_TRY(mica_metrics_add(m, name, values[k]));
  }
  return MICA_OK;
}

/* Adds R2 = 1 - sum (z - y)^2 / sum (y - mean y)^2 over the tested samples, and the root of the mean square error in
 * the user's units. For several numbers both are means, and the values of each number follow if there are at most
 * NAMED_NUMBERS. */
static mica_status add_scores(const mica_run *run, const double *sums, double *scores, size_t count, mica_metrics *m) {
  const mica__fact_numbers deviations = facts_of(run).target_deviation;
  const double n = (double)m->samples;
  double rmse = 0, r2 = 0;
  for (size_t k = 0; k < count; k++) {
    const double squares = sums[k], all = sums[count + k], variation = sums[2 * count + k] - all * all / n;
    scores[k] = sqrt(squares / n) * (k < deviations.count ? deviations.list[k] : 1);
    scores[count + k] = variation > 0 ? 1 - squares / variation : (double)NAN;
    rmse += scores[k] / (double)count;
    r2 += scores[count + k] / (double)count;
  }
  MICA_TRY(mica_metrics_add(m, "rmse", rmse));
  MICA_TRY(mica_metrics_add(m, "r2", r2));
  if (count == 1) return MICA_OK;
  MICA_TRY(add_named(run, "rmse", scores, m));
  return add_named(run, "r2", scores + count, m);
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const size_t count = (size_t)count_of(run);
  double *sums = calloc(5 * count, sizeof *sums);
  (void)source;
  mica_status status = sums ? mica_trainer_sum(run->trainer, "squares", sums, 3 * count) : mica__fail_nomem("scores");
  if (status == MICA_OK) status = add_scores(run, sums, sums + 3 * count, count, m);
  free(sums);
  return status;
}

/* --- predictions --- */

/* Adds a table of one row, with one column for each number. */
static mica_status add_row(const mica_run *run, mica_report *report, const char *name, const double *numbers) {
  const mica__fact_texts names = facts_of(run).answers;
  const mica_item item = {.kind = MICA_ITEM_KIND_TABLE,
                          .name = name,
                          .rows = 1,
                          .columns = (size_t)count_of(run),
                          .column_names = names.list,
                          .numbers = numbers};
  return mica_report_add(report, &item);
}

static mica_status add_several(const mica_run *run, mica_report *report, const mica__sample *sample,
                               const float *values) {
  const size_t count = (size_t)count_of(run);
  double *numbers = calloc(count, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("predictions");
  bool known = false;
  for (size_t k = 0; k < count; k++) {
    numbers[k] = (double)values[k];
    known = known || !isnan(sample->truths[k]);
  }
  mica_status status = known ? add_row(run, report, "truth", sample->truths) : MICA_OK;
  if (status == MICA_OK) status = add_row(run, report, "values", numbers);
  free(numbers);
  return status;
}

static mica_status section(mica_run *run, mica_report *report, const mica__sample *sample, const float *values,
                           const mica_run_input *given) {
  (void)given;
  if (count_of(run) > 1) return add_several(run, report, sample, values);
  if (!isnan(sample->truths[0])) MICA_TRY(mica_report_add_number(report, "truth", sample->truths[0]));
  return mica_report_add_number(report, "value", (double)values[0] + mica__run_label_base(run));
}

/* --- the report --- */

/* A sample with its true and its predicted number; size is the absolute error. If the sample has several numbers, these
 * are the ones with the largest error in standard deviations, which size then is. */
typedef struct residual {
  uint64_t sample;
  size_t number;
  double truth, value, size;
} residual;

typedef struct residuals {
  residual list[SHOWN];
  size_t count;
  uint64_t at; /* index of the next sample to visit */
} residuals;

/* Adds an error to the list, which keeps the SHOWN largest in descending order. */
static void add_residual(residuals *r, residual found) {
  size_t at = r->count;
  while (at > 0 && r->list[at - 1].size < found.size) at--;
  if (at == SHOWN) return;
  if (r->count == SHOWN) --r->count;
  memmove(r->list + at + 1, r->list + at, (r->count - at) * sizeof *r->list);
  r->list[at] = found;
  ++r->count;
}

static mica_status find_residual(mica_run *run, const mica__sample *sample, const float *values, void *user) {
  residuals *r = user;
  const size_t count = (size_t)count_of(run);
  const mica__fact_numbers deviations = facts_of(run).target_deviation;
  const double base = mica__run_label_base(run);
  residual worst = {.sample = r->at++, .size = -1};
  for (size_t k = 0; k < count; k++) {
    const double truth = sample->truths[k], value = (double)values[k] + base;
    const double size = fabs(truth - value) / (count > 1 ? deviations.list[k] : 1);
    if (size > worst.size) worst = (residual){worst.sample, k, truth, value, size};
  }
  if (worst.size >= 0) add_residual(r, worst);
  return MICA_OK;
}

static mica_status report(mica_run *run, mica_report *report) {
  static const char *const columns[] = {"sample", "truth", "predicted", "error"};
  const mica__fact_texts names = facts_of(run).answers;
  const char *rows[SHOWN];
  double numbers[SHOWN][4];
  residuals r = {.count = 0};
  MICA_TRY(run->task->input->samples.look(run, run->evaluation->data, find_residual, &r));
  if (!r.count) return MICA_OK;
  for (size_t i = 0; i < r.count; i++) {
    const residual *one = &r.list[i];
    const double row[] = {(double)one->sample, one->truth, one->value, one->value - one->truth};
    memcpy(numbers[i], row, sizeof row);
    rows[i] = one->number < names.count ? names.list[one->number] : "";
  }
  MICA_TRY(mica_report_begin(report, "Largest errors"));
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "residuals",
                           .rows = r.count,
                           .columns = 4,
                           .row_names = names.count ? rows : NULL,
                           .column_names = columns,
                           .numbers = numbers[0]};
  return mica_report_add(report, &table);
}

const mica__head mica__head_numbers = {
    .name = "numbers",
    .suits = suits,
    .numbers = true,
    .prepare = prepare,
    .fits = fits,
    .output = "value",
    .outputs = count_of,
    .configures = configures,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.section = section,
    .shows.report = report,
};
