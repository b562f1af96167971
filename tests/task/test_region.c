/* labels: device
 *
 * Dice and IoU of classes, as metrics and as a loss, against scikit-learn's (tests/golden/metrics). */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

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

static double at(const cJSON *item, const char *name, int i) {
  return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(item, name), i)->valuedouble;
}

static void read_output(mica_session *session, size_t index, float *values, int count) {
  ck_ok(
      mica_tensor_download(test_queue(), mica_session_output(session, index), values, (size_t)count * sizeof *values));
}

/* Pixels of two pictures, and as many that count for nothing. */
static void compare(const cJSON *one) {
  enum { MOST = 4, PIXELS = 256 };
  const int classes = (int)cJSON_GetObjectItemCaseSensitive(one, "classes")->valuedouble;
  const int n = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(one, "labels"));
  static float logits[MOST * PIXELS];
  static int32_t labels[PIXELS];
  static const char *const names[] = {"a", "b", "c", "d", NULL};
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *z, *y;
  ck_assert(classes <= MOST && 2 * n <= PIXELS);
  for (int i = 0; i < 2 * n; i++) {
    labels[i] = i < n ? (int32_t)at(one, "labels", i) : -1;
    const int said = i < n ? (int)at(one, "predicted", i) : i % classes;
    /* (2, K, n): picture i / n is half of the pixels. */
    for (int c = 0; c < classes; c++) logits[(i / n * classes + c) * n + i % n] = c == said ? 60 : -60;
  }
  ck_ok(mica_graph_create(&graph));
  mica_value logit = mica_input(graph, "z", MICA_F32, MICA_SHAPE(2, classes, n));
  mica_value target = mica_input(graph, "y", MICA_I32, MICA_SHAPE(2, n));
  const mica_metric dice = mica_metric_dice("dice", logit, target, names);
  const mica_metric iou = mica_metric_iou("iou", logit, target, names);
  const mica_dice_config how = {.smooth = MICA_ZERO, .ignore = true, .ignored = -1};
  const mica_value outputs[] = {dice.sum, dice.weight, iou.sum, iou.weight, mica_dice(logit, target, &how)};
  ck_ok(mica_session_create(test_engine(), graph, outputs, 5, NULL, &session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, classes, n), logits, &z));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(2, n), labels, &y));
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"z", z}, {"y", y}}, 2));
  float sums[4][MOST], loss;
  for (size_t k = 0; k < 4; k++) read_output(session, k, sums[k], classes);
  read_output(session, 4, &loss, 1);
  double mean = 0;
  for (int c = 0; c < classes; c++) {
    ck_assert_double_eq_tol((double)sums[0][c] / (double)sums[1][c], at(one, "dice", c), 1e-6);
    ck_assert_double_eq_tol((double)sums[2][c] / (double)sums[3][c], at(one, "iou", c), 1e-6);
    mean += at(one, "dice", c) / classes;
  }
  ck_assert_double_eq_tol(1 - (double)loss, mean, 1e-6);
  mica_tensor_destroy(z);
  mica_tensor_destroy(y);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}

START_TEST(regions) {
  const cJSON *one;
  int cases = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(golden, "segmentation")) {
    compare(one);
    cases++;
  }
  ck_assert_int_ge(cases, 2);
}
END_TEST

TEST_GROUPS(DEVICE, ONCE(read_golden, NULL, regions))
