/* Scores that the host computes from confusion counts and from ranked predictions. */
#include "base/error.h"

#include <math.h>
#include <mica/metric.h>
#include <stdlib.h>

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

void mica_confusion_scores(const int64_t *confusion, int64_t classes, mica_class_scores *scores,
                           mica_class_scores *mean, double *accuracy) {
  mica_class_scores total = {0};
  double right = 0, all = 0, there = 0;
  for (int64_t k = 0; k < classes; k++) {
    double hits = (double)confusion[k * classes + k], of_class = 0, as_class = 0;
    for (int64_t j = 0; j < classes; j++) {
      of_class += (double)confusion[k * classes + j];
      as_class += (double)confusion[j * classes + k];
    }
    mica_class_scores own = {.precision = ratio(hits, as_class), .recall = ratio(hits, of_class)};
    own.f1 = ratio(2 * own.precision * own.recall, own.precision + own.recall);
    if (scores) scores[k] = own;
    there += of_class + as_class > 0;
    total.precision += own.precision;
    total.recall += own.recall;
    total.f1 += own.f1;
    right += hits;
    all += of_class;
  }
  if (mean)
    *mean = (mica_class_scores){ratio(total.precision, there), ratio(total.recall, there), ratio(total.f1, there)};
  if (accuracy) *accuracy = ratio(right, all);
}

typedef struct ranked {
  float score;
  uint8_t truth;
} ranked;

/* Sorts by descending score; NaN comes last. */
static int compare(const void *a, const void *b) {
  const float x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;
  return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x < y) - (x > y);
}

mica_status mica_average_precision(const float *scores, const uint8_t *truths, size_t count, double *precision) {
  if (!scores || !truths || !precision) return mica__fail(MICA_E_INVALID, "mica_average_precision: a pointer is NULL");
  ranked *list = calloc(count + 1, sizeof *list);
  if (!list) return mica__fail_nomem("a ranking");
  double positives = 0, found = 0, sum = 0;
  for (size_t i = 0; i < count; i++) {
    list[i] = (ranked){scores[i], truths[i] != 0};
    positives += truths[i] != 0;
  }
  qsort(list, count, sizeof *list, compare);
  /* Takes samples with equal scores together, because their order is arbitrary. */
  for (size_t i = 0; i < count;) {
    const double before = found;
    size_t end = i;
    while (end < count && (end == i || list[end].score == list[i].score)) found += list[end++].truth;
    sum += (found - before) * found / (double)end;
    i = end;
  }
  free(list);
  *precision = positives > 0 ? sum / positives : NAN;
  return MICA_OK;
}

/* --- receiver operating characteristic --- */

/* A walk along the points of a ROC curve. */
typedef struct walk {
  mica_roc_point at;
  mica_roc_scores *scores;
  bool met; /* the equal error rate was found at this point or before it */
} walk;

/* Moves to the next point and adds the segment between the points to the scores. The equal error rate is where the
 * segment crosses false rate + true rate = 1, since the rate of misses is 1 - true rate. If a threshold is infinite,
 * the threshold of the next point is taken instead of an interpolated one. */
static void step_to(walk *w, mica_roc_point next) {
  const mica_roc_point last = w->at;
  const double before = last.false_rate + last.true_rate, after = next.false_rate + next.true_rate;
  w->scores->auc += (next.false_rate - last.false_rate) * (next.true_rate + last.true_rate) / 2;
  if (next.false_rate <= 0.01) w->scores->true_rate_1 = next.true_rate;
  if (next.false_rate <= 0.1) w->scores->true_rate_10 = next.true_rate;
  if (!w->met && after >= 1) {
    const double part = (1 - before) / (after - before);
    w->scores->eer = last.false_rate + part * (next.false_rate - last.false_rate);
    const bool infinite = isinf(last.threshold) || isinf(next.threshold);
    w->scores->threshold = infinite ? next.threshold : last.threshold + part * (next.threshold - last.threshold);
    w->met = true;
  }
  w->at = next;
}

mica_status mica_roc(const float *scores, const uint8_t *truths, size_t count, mica_roc_point *curve, size_t *points,
                     mica_roc_scores *result) {
  if (!scores || !truths || !result || (curve && !points))
    return mica__fail(MICA_E_INVALID, "mica_roc: a pointer is NULL");
  double positives = 0, accepted = 0;
  for (size_t i = 0; i < count; i++) {
    if (isnan(scores[i])) return mica__fail(MICA_E_INVALID, "mica_roc: score %zu is not a number", i);
    positives += truths[i] != 0;
  }
  const double negatives = (double)count - positives;
  if (points) *points = 0;
  *result = (mica_roc_scores){NAN, NAN, NAN, NAN, NAN};
  if (positives == 0 || negatives == 0) return MICA_OK;
  ranked *list = calloc(count, sizeof *list);
  if (!list) return mica__fail_nomem("a ranking");
  for (size_t i = 0; i < count; i++) list[i] = (ranked){scores[i], truths[i] != 0};
  qsort(list, count, sizeof *list, compare);
  *result = (mica_roc_scores){0};
  walk w = {.at = {INFINITY, 0, 0}, .scores = result};
  if (curve) curve[(*points)++] = w.at;
  for (size_t i = 0; i < count;) {
    const float score = list[i].score;
    while (i < count && list[i].score == score) accepted += list[i++].truth;
    step_to(&w, (mica_roc_point){(double)score, ((double)i - accepted) / negatives, accepted / positives});
    if (curve) curve[(*points)++] = w.at;
  }
  free(list);
  return MICA_OK;
}
