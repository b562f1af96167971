#include "ops/common/build.h"
#include "train/train.h"

#include <math.h>
#include <mica/nodes.h>

const char *mica_loss_name(mica_loss loss) {
  static const char *const names[] = {
#define LOSS_NAME(name, text) text,
      MICA_LOSS_LIST(LOSS_NAME)};
  return (size_t)loss < sizeof names / sizeof *names ? names[loss] : "?";
}

static mica_shape with_batch(mica_shape sample) {
  mica_shape shape = {.rank = sample.rank + 1, .dim = {MICA_DYNAMIC}};
  for (int32_t i = 0; i < sample.rank && i + 1 < MICA_MAX_RANK; i++) shape.dim[i + 1] = sample.dim[i];
  return shape;
}

static mica_value loss_of(const mica_trainer_config *c, mica_value z, mica_value y) {
  switch (c->loss) {
  case MICA_LOSS_CROSS_ENTROPY:
    return mica_cross_entropy(z, y, &(mica_cross_entropy_config){.label_smoothing = c->label_smoothing});
  case MICA_LOSS_MSE: return mica_mse(z, y, MICA_LOSS_REDUCTION_MEAN);
  case MICA_LOSS_MAE: return mica_mae(z, y, MICA_LOSS_REDUCTION_MEAN);
  case MICA_LOSS_HUBER: return mica_huber(z, y, 1, MICA_LOSS_REDUCTION_MEAN);
  case MICA_LOSS_BCE: return mica_bce_with_logits(z, y, 1, MICA_LOSS_REDUCTION_MEAN);
  }
  return (mica_value){0};
}

static mica_value as_f32(mica_value x) { return mica_value_dtype(x) == MICA_F32 ? x : mica_cast(x, MICA_F32); }

/* The measure of each sample, (N): a hit for classes, else the mean absolute error. */
static mica_value measure_of(const mica_trainer_config *c, mica_value z, mica_value y) {
  if (c->loss == MICA_LOSS_CROSS_ENTROPY) return as_f32(mica_equal(mica_argmax(z, 1, false), mica_cast(y, MICA_I64)));
  mica_axes axes = {.count = mica_value_shape(z).rank - 1};
  mica_value error = mica_abs(mica_sub(z, y));
  for (int32_t i = 0; i < axes.count; i++) axes.axis[i] = i + 1;
  return axes.count ? mica_mean(error, axes, false) : error;
}

/* 1 for each sample with fewer than k logits larger than that of its target, else 0. */
static mica_value top_k_of(const mica_trainer_config *c, mica_value z, mica_value y) {
  mica_value own = mica_gather_elements(z, mica_unsqueeze(y, MICA_AXES(1)), 1);
  mica_value larger = mica_sum(as_f32(mica_greater(z, own)), MICA_AXES(1), false);
  return as_f32(mica_less(larger, mica_scalar(z.graph, MICA_F32, (double)(c->top_k > 0 ? c->top_k : 5))));
}

/* confusion[target, prediction] += 1 */
static void count_confusion(const mica_trainer_config *c, mica_value z, mica_value y) {
  mica_graph *graph = z.graph;
  mica_value off = mica_scalar(graph, MICA_F32, 0), on = mica_scalar(graph, MICA_F32, 1);
  mica_value of_target = mica_one_hot(y, c->classes, 1, off, on);
  mica_value of_result = mica_one_hot(mica_argmax(z, 1, false), c->classes, 1, off, on);
  mica_value counts = mica_parameter(graph, "confusion", MICA_F32, MICA_SHAPE(c->classes, c->classes));
  mica_assign(counts, mica_add(counts, mica_matmul(mica_transpose(of_target, MICA_AXES(1, 0)), of_result)));
}

void mica__train_graph(const mica_trainer_config *c, mica__phase *phase, bool test, mica_value *loss,
                       mica_value *result) {
  mica_graph *graph = phase->graph;
  bool classes = c->loss == MICA_LOSS_CROSS_ENTROPY;
  mica_value x = mica_input(graph, "inputs", MICA_F32, with_batch(c->input));
  mica_value y =
      mica_input(graph, "targets", classes ? MICA_I32 : MICA_F32, with_batch(classes ? MICA_SCALAR : c->target));
  mica_value z = *result = as_f32(c->model(phase->nn, x, c->model_config));
  *loss = loss_of(c, z, y);
  mica_value measure = measure_of(c, z, y), zero = mica_scalar(graph, MICA_F32, 0);
  mica_value samples = mica__count_along(measure, MICA_ALL_AXES), sums[MICA__SUMS];
  sums[MICA__SUM_LOSS] = mica_mul(*loss, samples);
  sums[MICA__SUM_MEASURE] = mica_sum(measure, MICA_ALL_AXES, false);
  sums[MICA__SUM_SAMPLES] = samples;
  sums[MICA__SUM_FINITE] = as_f32(mica_isfinite(*loss));
  sums[MICA__SUM_TOP_K] = test && classes ? mica_sum(top_k_of(c, z, y), MICA_ALL_AXES, false) : zero;
  mica_value total = mica_parameter(graph, "metrics", MICA_F32, MICA_SHAPE(MICA__SUMS)), next = total;
  mica_value index = mica_range(graph, MICA_F32, MICA__SUMS);
  for (int k = 0; k < MICA__SUMS; k++)
    next = mica_add(next, mica_where(mica_equal(index, mica_scalar(graph, MICA_F32, k)), sums[k], zero));
  mica_assign(total, next);
  if (test && classes) count_confusion(c, z, y);
}

mica_metrics mica__metrics_of(const mica_trainer_config *c, const mica__totals *totals, bool test) {
  const double *sums = totals->sums;
  double n = sums[MICA__SUM_SAMPLES];
  bool classes = c->loss == MICA_LOSS_CROSS_ENTROPY;
  return (mica_metrics){.samples = (int64_t)n,
                        .loss = sums[MICA__SUM_LOSS] / n,
                        .accuracy = classes ? sums[MICA__SUM_MEASURE] / n : NAN,
                        .top_k = classes && test ? sums[MICA__SUM_TOP_K] / n : NAN,
                        .error = classes ? NAN : sums[MICA__SUM_MEASURE] / n};
}

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

void mica_confusion_scores(const int64_t *confusion, int64_t classes, mica_class_scores *scores,
                           mica_class_scores *mean, double *accuracy) {
  mica_class_scores total = {0};
  double right = 0, all = 0;
  for (int64_t k = 0; k < classes; k++) {
    double hits = (double)confusion[k * classes + k], of_class = 0, as_class = 0;
    for (int64_t j = 0; j < classes; j++) {
      of_class += (double)confusion[k * classes + j];
      as_class += (double)confusion[j * classes + k];
    }
    mica_class_scores own = {.precision = ratio(hits, as_class), .recall = ratio(hits, of_class)};
    own.f1 = ratio(2 * own.precision * own.recall, own.precision + own.recall);
    if (scores) scores[k] = own;
    total.precision += own.precision / (double)classes;
    total.recall += own.recall / (double)classes;
    total.f1 += own.f1 / (double)classes;
    right += hits;
    all += of_class;
  }
  if (mean) *mean = total;
  if (accuracy) *accuracy = ratio(right, all);
}
