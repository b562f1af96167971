/* Scores that are no quotients of sums, from counts and rankings on the host. */
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

/* Falling; NaN last. */
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
  /* Samples of one score come together: their order says nothing. */
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
