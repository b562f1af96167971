/* labels: null single
 *
 * Scores of classes and rankings against scikit-learn's (tests/golden/metrics). */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <mica/metric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cJSON *golden;

static void read_golden(void) {
  static char text[1 << 20];
  FILE *file = fopen(golden_path("metrics", "metrics.json"), "rb");
  ck_assert_ptr_nonnull(file);
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  golden = cJSON_ParseWithLength(text, size);
  ck_assert_ptr_nonnull(golden);
}

static double number(const cJSON *item, const char *name) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, name);
  ck_assert_msg(cJSON_IsNumber(value), "no number %s", name);
  return value->valuedouble;
}

static double at(const cJSON *item, const char *name, int i) {
  return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(item, name), i)->valuedouble;
}

START_TEST(classes) {
  const cJSON *one;
  int cases = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(golden, "classification")) {
    const int n = (int)number(one, "classes");
    int64_t *confusion = calloc((size_t)(n * n), sizeof *confusion);
    mica_class_scores *scores = calloc((size_t)n, sizeof *scores), mean;
    double accuracy, occurring = 0;
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(one, "confusion");
    for (int i = 0; i < n * n; i++)
      confusion[i] = (int64_t)cJSON_GetArrayItem(cJSON_GetArrayItem(rows, i / n), i % n)->valuedouble;
    mica_confusion_scores(confusion, n, scores, &mean, &accuracy);
    ck_assert_double_eq_tol(accuracy, number(one, "accuracy"), 1e-9);
    double f1 = 0;
    for (int k = 0; k < n; k++) {
      ck_assert_double_eq_tol(scores[k].precision, at(one, "precision", k), 1e-9);
      ck_assert_double_eq_tol(scores[k].recall, at(one, "recall", k), 1e-9);
      ck_assert_double_eq_tol(scores[k].f1, at(one, "f1", k), 1e-9);
      double count = 0;
      for (int j = 0; j < n; j++) count += (double)(confusion[k * n + j] + confusion[j * n + k]);
      occurring += count > 0;
      f1 += at(one, "f1", k);
    }
    ck_assert_double_eq_tol(mean.f1, f1 / occurring, 1e-9);
    free(confusion);
    free(scores);
    cases++;
  }
  ck_assert_int_ge(cases, 10);
}
END_TEST

static float score_of(const cJSON *value) {
  if (cJSON_IsString(value)) return value->valuestring[0] == '-' ? -INFINITY : INFINITY;
  return (float)value->valuedouble;
}

static double precision_of(const cJSON *one, int column, int columns) {
  const cJSON *labels = cJSON_GetObjectItemCaseSensitive(one, "labels");
  const cJSON *scores = cJSON_GetObjectItemCaseSensitive(one, "scores");
  const int n = cJSON_GetArraySize(labels);
  float *score = calloc((size_t)n + 1, sizeof *score);
  uint8_t *truth = calloc((size_t)n + 1, 1);
  double precision;
  for (int i = 0; i < n; i++) {
    const cJSON *label = cJSON_GetArrayItem(labels, i), *value = cJSON_GetArrayItem(scores, i);
    if (columns > 1) label = cJSON_GetArrayItem(label, column), value = cJSON_GetArrayItem(value, column);
    score[i] = score_of(value);
    truth[i] = label->valuedouble > 0;
  }
  ck_ok(mica_average_precision(score, truth, (size_t)n, &precision));
  free(score);
  free(truth);
  return precision;
}

START_TEST(rankings) {
  const cJSON *one;
  int cases = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(golden, "binary")) {
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(one, "average_precision");
    if (!cJSON_IsNumber(want)) continue;
    const double got = precision_of(one, 0, 1);
    ck_assert_msg(fabs(got - want->valuedouble) < 1e-9, "%s: %.12g, not %.12g",
                  cJSON_GetObjectItemCaseSensitive(one, "kind")->valuestring, got, want->valuedouble);
    cases++;
  }
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(golden, "multilabel")) {
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(one, "average_precision");
    const int columns = cJSON_GetArraySize(want);
    for (int c = 0; c < columns; c++, cases++)
      if (cJSON_IsNumber(cJSON_GetArrayItem(want, c)))
        ck_assert_double_eq_tol(precision_of(one, c, columns), cJSON_GetArrayItem(want, c)->valuedouble, 1e-9);
  }
  ck_assert_int_ge(cases, 10);
}
END_TEST

static void check_points(const cJSON *roc, const mica_roc_point *curve, size_t points) {
  ck_assert_uint_eq(points, (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(roc, "threshold")));
  ck_assert(isinf(curve[0].threshold));
  for (int i = 0; i < (int)points; i++) {
    ck_assert_double_eq_tol(curve[i].false_rate, at(roc, "false_positive", i), 1e-12);
    ck_assert_double_eq_tol(curve[i].true_rate, at(roc, "true_positive", i), 1e-12);
    if (i > 0) ck_assert(curve[i].threshold == at(roc, "threshold", i));
  }
}

static void check_roc(const cJSON *one) {
  const cJSON *labels = cJSON_GetObjectItemCaseSensitive(one, "labels"), *roc;
  const cJSON *values = cJSON_GetObjectItemCaseSensitive(one, "scores");
  const int n = cJSON_GetArraySize(labels);
  float *scores = calloc((size_t)n, sizeof *scores);
  uint8_t *truths = calloc((size_t)n, 1);
  mica_roc_point *curve = calloc((size_t)n + 1, sizeof *curve);
  mica_roc_scores got;
  size_t points = 1;
  for (int i = 0; i < n; i++) {
    scores[i] = score_of(cJSON_GetArrayItem(values, i));
    truths[i] = cJSON_GetArrayItem(labels, i)->valuedouble > 0;
  }
  ck_ok(mica_roc(scores, truths, (size_t)n, curve, &points, &got));
  if ((roc = cJSON_GetObjectItemCaseSensitive(one, "roc"))) {
    check_points(roc, curve, points);
    ck_assert_double_eq_tol(got.auc, number(one, "auc"), 1e-12);
    ck_assert_double_eq_tol(got.eer, number(one, "eer"), 1e-12);
    ck_assert_double_eq_tol(got.eer, number(one, "eer_brentq"), 1e-8);
    ck_assert_double_eq_tol(got.true_rate_1, number(one, "true_positive_at_0.01"), 1e-12);
    ck_assert_double_eq_tol(got.true_rate_10, number(one, "true_positive_at_0.1"), 1e-12);
    ck_assert(isfinite(got.threshold));
  } else {
    ck_assert(isnan(got.auc) && isnan(got.eer) && isnan(got.threshold) && points == 0);
  }
  free(scores);
  free(truths);
  free(curve);
}

START_TEST(roc_curves) {
  const cJSON *one;
  int cases = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(golden, "binary")) {
    check_roc(one);
    cases++;
  }
  ck_assert_int_ge(cases, 18);
}
END_TEST

START_TEST(roc_refuses) {
  const float scores[] = {0.5f, NAN};
  const uint8_t truths[] = {0, 1};
  mica_roc_point curve[3];
  mica_roc_scores got;
  ck_assert_int_eq(mica_roc(scores, truths, 2, NULL, NULL, &got), MICA_E_INVALID);
  ck_assert_int_eq(mica_roc(scores, truths, 1, curve, NULL, &got), MICA_E_INVALID);
  ck_assert_int_eq(mica_roc(NULL, truths, 1, NULL, NULL, &got), MICA_E_INVALID);
  ck_ok(mica_roc(scores, truths, 0, NULL, NULL, &got));
  ck_assert(isnan(got.eer));
}
END_TEST

TEST_GROUPS(ANYWHERE, ONCE(read_golden, NULL, classes, rankings, roc_curves, roc_refuses))
