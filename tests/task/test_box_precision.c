/* labels: null single
 *
 * Average precision of boxes against pycocotools' (golden values beside the project), and what those lack. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <mica/metric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000
/* What pycocotools and this are to agree to; both compute in f64. */
#define CLOSE 1e-6

static const char *golden(const char *name, const char *end) {
  char file[64];
  snprintf(file, sizeof file, "%s%s", name, end);
  return golden_path("boxes", file);
}

static cJSON *read_json(const char *path) {
  size_t size = 0;
  char *text = (char *)files_read(path, &size);
  cJSON *json = cJSON_ParseWithLength(text, size);
  free(text);
  ck_assert_msg(json != NULL, "%s is no JSON", path);
  return json;
}

static double number(const cJSON *item, const char *name) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, name);
  ck_assert_msg(cJSON_IsNumber(value), "no number %s", name);
  return value->valuedouble;
}

/* COCO's x, y, width, height as corners. */
static void corners(const cJSON *item, double box[4]) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, "bbox");
  for (int k = 0; k < 4; k++) box[k] = cJSON_GetArrayItem(list, k)->valuedouble;
  box[2] += box[0];
  box[3] += box[1];
}

/* The place of a category among them, by id. */
static int32_t class_of(const cJSON *truth, double id) {
  const cJSON *one;
  int32_t before = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(truth, "categories")) before += number(one, "id") < id;
  return before;
}

static size_t take_truths(const cJSON *json, mica_true_box *list) {
  const cJSON *one;
  size_t count = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(json, "annotations")) {
    ck_assert_uint_lt(count, MOST);
    list[count] = (mica_true_box){.picture = (int64_t)number(one, "image_id"),
                                  .class_index = class_of(json, number(one, "category_id")),
                                  .crowd = number(one, "iscrowd") != 0,
                                  .area = number(one, "area")};
    corners(one, list[count++].box);
  }
  return count;
}

static size_t take_found(const cJSON *json, const cJSON *truth, mica_found_box *list) {
  const cJSON *one;
  size_t count = 0;
  cJSON_ArrayForEach(one, json) {
    const cJSON *box = cJSON_GetObjectItemCaseSensitive(one, "bbox");
    ck_assert_uint_lt(count, MOST);
    list[count] =
        (mica_found_box){.picture = (int64_t)number(one, "image_id"),
                         .class_index = class_of(truth, number(one, "category_id")),
                         .score = number(one, "score"),
                         .area = cJSON_GetArrayItem(box, 2)->valuedouble * cJSON_GetArrayItem(box, 3)->valuedouble};
    corners(one, list[count++].box);
  }
  return count;
}

static void agree(const char *name, const char *what, double is, double wanted) {
  ck_assert_msg(fabs(is - wanted) <= CLOSE, "%s: %s is %.9f, pycocotools has %.9f", name, what, is, wanted);
}

static void compare(const char *name, const cJSON *wanted, const mica_box_scores *s,
                    const mica_box_class_scores *classes) {
  const cJSON *stats = cJSON_GetObjectItemCaseSensitive(wanted, "stats"), *one;
  const struct {
    const char *name;
    double value;
  } rows[] = {{"AP", s->ap},
              {"AP50", s->ap_50},
              {"AP75", s->ap_75},
              {"AP_small", s->ap_small},
              {"AP_medium", s->ap_medium},
              {"AP_large", s->ap_large},
              {"AR_1", s->ar_1},
              {"AR_10", s->ar_10},
              {"AR_100", s->ar_100},
              {"AR_small", s->ar_small},
              {"AR_medium", s->ar_medium},
              {"AR_large", s->ar_large}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    agree(name, rows[i].name, rows[i].value, number(stats, rows[i].name));
  int k = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(wanted, "per_class")) {
    agree(name, "a class's AP", classes[k].ap, number(one, "AP"));
    agree(name, "a class's AP50", classes[k].ap_50, number(one, "AP50"));
    agree(name, "a class's AP75", classes[k].ap_75, number(one, "AP75"));
    agree(name, "a class's AR_100", classes[k++].ar_100, number(one, "AR_100"));
  }
  ck_assert_int_gt(k, 0);
  k = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(wanted, "ap_per_iou"))
      agree(name, "AP at a threshold", s->by_threshold[k++], one->valuedouble);
}

START_TEST(as_pycocotools) {
  static mica_true_box truths[MOST];
  static mica_found_box found[MOST];
  cJSON *all = read_json(golden("coco", ".json")), *one;
  int cases = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(all, "cases")) {
    const char *name = cJSON_GetObjectItemCaseSensitive(one, "name")->valuestring;
    cJSON *truth = read_json(golden(name, ".gt.json")), *detections = read_json(golden(name, ".dt.json"));
    const size_t n = take_truths(truth, truths), m = take_found(detections, truth, found);
    mica_box_scores scores;
    mica_box_class_scores classes[16];
    ck_assert_uint_eq(n, (size_t)number(one, "annotations"));
    ck_assert_uint_eq(m, (size_t)number(one, "detections"));
    ck_ok(mica_box_precision(truths, n, found, m, (int32_t)number(one, "classes"), &scores, classes));
    compare(name, one, &scores, classes);
    cJSON_Delete(truth);
    cJSON_Delete(detections);
    cases++;
  }
  cJSON_Delete(all);
  ck_assert_int_eq(cases, 12);
}
END_TEST

/* What is to be ignored takes a box and counts neither as found nor as missed. */
START_TEST(ignored_boxes) {
  const mica_true_box truths[] = {{.box = {0, 0, 10, 10}}, {.box = {20, 20, 30, 30}, .ignore = true}};
  const mica_found_box found[] = {{.score = 0.9, .box = {20, 20, 30, 30}}, {.score = 0.8, .box = {0, 0, 10, 10}}};
  mica_box_scores scores;
  ck_ok(mica_box_precision(truths, 2, found, 2, 1, &scores, NULL));
  ck_assert_double_eq_tol(scores.ap, 1, 1e-12);
  /* It is no crowd: a second box on it is a mistake. */
  const mica_found_box twice[] = {found[0], found[0], found[1]};
  ck_ok(mica_box_precision(truths, 2, twice, 3, 1, &scores, NULL));
  ck_assert_double_eq_tol(scores.ap, 0.5, 1e-9);
}
END_TEST

/* An area of 0 that is given is no default: the box counts among small ones, as in pycocotools. */
START_TEST(an_area_of_zero) {
  for (int given = 0; given < 2; given++) {
    const mica_true_box truth = {.box = {0, 0, 200, 200}, .area = given ? MICA_ZERO : 0};
    const mica_found_box found = {.box = {0, 0, 200, 200}, .score = 0.5, .area = given ? MICA_ZERO : 0};
    mica_box_scores s;
    ck_ok(mica_box_precision(&truth, 1, &found, 1, 1, &s, NULL));
    ck_assert_double_eq_tol(given ? s.ap_small : s.ap_large, 1, 1e-9);
    ck_assert_double_eq(given ? s.ap_large : s.ap_small, -1);
  }
}
END_TEST

START_TEST(curve_of_a_class) {
  const mica_true_box truths[] = {{.picture = 1, .box = {0, 0, 10, 10}}, {.picture = 2, .box = {0, 0, 10, 10}}};
  const mica_found_box found[] = {{.picture = 1, .score = 0.9, .box = {0, 0, 10, 10}},
                                  {.picture = 2, .score = 0.8, .box = {50, 50, 60, 60}},
                                  {.picture = 2, .score = 0.7, .box = {0, 0, 10, 10}}};
  mica_box_scores scores;
  mica_box_class_scores classes[2];
  ck_ok(mica_box_precision(truths, 2, found, 3, 2, &scores, classes));
  for (int r = 0; r < MICA_BOX_RECALLS; r++) ck_assert_double_eq_tol(classes[0].curve[r], r <= 50 ? 1 : 2.0 / 3, 1e-12);
  ck_assert_double_eq(classes[1].ap, -1);
}
END_TEST

START_TEST(wrong_boxes) {
  mica_box_scores scores;
  mica_true_box truth = {.class_index = 3, .box = {0, 0, 1, 1}};
  mica_found_box found = {.score = NAN, .box = {0, 0, 1, 1}};
  ck_assert_int_eq(mica_box_precision(&truth, 1, NULL, 0, 3, &scores, NULL), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "the class of true box 0 is 3"), "%s", mica_error_message());
  ck_assert_int_eq(mica_box_precision(NULL, 0, &found, 1, 3, &scores, NULL), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "NaN"), "%s", mica_error_message());
  found = (mica_found_box){.box = {0, INFINITY, 1, 1}};
  ck_assert_int_eq(mica_box_precision(NULL, 0, &found, 1, 3, &scores, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_box_precision(NULL, 1, NULL, 0, 3, &scores, NULL), MICA_E_INVALID);
  ck_ok(mica_box_precision(NULL, 0, NULL, 0, 1, &scores, NULL));
  ck_assert_double_eq(scores.ap, -1);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, as_pycocotools, ignored_boxes, an_area_of_zero, curve_of_a_class, wrong_boxes)
