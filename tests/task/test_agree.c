/* labels: null single
 *
 * How far two predictions agree, by what they hold: classes, boxes, masks, texts, numbers. */
#include "run/verbs/agree.h"
#include "support/check_main.h"

#include <math.h>
#include <mica/mica.h>

static mica_report *a, *b;

static void setup(void) {
  ck_assert_int_eq(mica_report_create(&a), MICA_OK);
  ck_assert_int_eq(mica_report_create(&b), MICA_OK);
}

static void teardown(void) {
  mica_report_destroy(a);
  mica_report_destroy(b);
}

static void add(mica_report *to, const mica_item *item) {
  ck_assert_int_eq(mica_report_begin(to, "sample"), MICA_OK);
  ck_assert_int_eq(mica_report_add_text(to, "truth", "whatever"), MICA_OK);
  ck_assert_int_eq(mica_report_add(to, item), MICA_OK);
}

static void expect(double share, int64_t answers) {
  int64_t count = -1;
  const double is = mica__agreement(a, b, &count);
  if (isnan(share))
    ck_assert(isnan(is));
  else
    ck_assert_double_eq_tol(is, share, 1e-12);
  ck_assert_int_eq(count, answers);
}

static void add_class(mica_report *to, const char *name) {
  const double share = 0.5;
  add(to, &(mica_item){.kind = MICA_ITEM_KIND_CHOICES,
                       .name = "classes",
                       .rows = 1,
                       .columns = 1,
                       .row_names = &name,
                       .numbers = &share});
}

START_TEST(classes_agree_by_the_likeliest) {
  expect((double)NAN, 0);
  add_class(a, "cat"), add_class(b, "cat");
  add_class(a, "cat"), add_class(b, "dog");
  add_class(a, "dog"), add_class(b, "dog");
  add_class(a, "cow"); /* b was not asked */
  expect(2.0 / 3, 3);
}
END_TEST

static void add_labels(mica_report *to, double first, double second) {
  static const char *const names[] = {"wet", "cold"};
  const double numbers[] = {0.7, first, NAN, 0.2, second, NAN};
  add(to, &(mica_item){.kind = MICA_ITEM_KIND_LABELS,
                       .name = "labels",
                       .rows = 2,
                       .columns = 3,
                       .row_names = names,
                       .numbers = numbers});
}

START_TEST(labels_agree_each) {
  add_labels(a, 1, 0), add_labels(b, 1, 0);
  add_labels(a, 1, 0), add_labels(b, 1, 1);
  add_labels(a, 0, 0), add_labels(b, 1, 1);
  expect(0.5, 3);
}
END_TEST

static void add_boxes(mica_report *to, size_t count, const char *const *names, const double *boxes) {
  add(to, &(mica_item){.kind = MICA_ITEM_KIND_BOXES,
                       .name = "boxes",
                       .rows = count,
                       .columns = 5,
                       .row_names = names,
                       .numbers = boxes});
}

START_TEST(boxes_agree_where_they_overlap_by_half) {
  static const char *const names[] = {"cat", "cat", "dog"};
  /* The second box of b covers half of a's first as its first does better; each is taken once. */
  static const double of_a[] = {0, 0, 10, 10, 0.9, 20, 0, 30, 10, 0.8, 40, 0, 50, 10, 0.7};
  static const double of_b[] = {0, 0, 10, 9, 0.9, 0, 0, 10, 5, 0.8, 40, 0, 50, 4, 0.7};
  add_boxes(a, 3, names, of_a), add_boxes(b, 3, names, of_b);
  expect(2.0 / 6, 1);
  add_boxes(a, 0, NULL, NULL), add_boxes(b, 0, NULL, NULL);
  expect((2.0 / 6 + 1) / 2, 2);
  add_boxes(a, 1, names, of_a), add_boxes(b, 0, NULL, NULL);
  expect((2.0 / 6 + 1) / 3, 3);
}
END_TEST

START_TEST(masks_and_texts_agree) {
  static const uint8_t first[] = {0, 1, 2, 3}, second[] = {0, 1, 2, 0};
  mica_item item = {.kind = MICA_ITEM_KIND_PICTURE, .name = "mask", .shape = MICA_SHAPE(1, 2, 2), .planes = first};
  add(a, &item);
  item.planes = second;
  add(b, &item);
  expect(0.75, 1);
  const mica_item text = {.kind = MICA_ITEM_KIND_TEXT, .name = "text", .text = "yes"};
  add(a, &text), add(b, &text);
  expect(1.75 / 2, 2);
}
END_TEST

/* The source is what was asked, and is the same in both. */
START_TEST(translations_agree_by_themselves) {
  const mica_item source = {.kind = MICA_ITEM_KIND_TEXT, .name = "source", .text = "one two"};
  const char *const texts[2][2] = {{"eins zwei", "eins zwei"}, {"eins zwei", "zwei eins"}};
  for (int i = 0; i < 2; i++) {
    add(a, &source), add(b, &source);
    ck_assert_int_eq(mica_report_add_text(a, "translation", texts[i][0]), MICA_OK);
    ck_assert_int_eq(mica_report_add_text(b, "translation", texts[i][1]), MICA_OK);
  }
  expect(0.5, 2);
}
END_TEST

static void add_number(mica_report *to, double number) {
  add(to, &(mica_item){.kind = MICA_ITEM_KIND_NUMBER, .name = "value", .number = number});
}

START_TEST(numbers_agree_by_their_variance) {
  add_number(a, 1), add_number(b, 1);
  expect(1, 1);
  add_number(a, 3), add_number(b, 2);
  expect(0.5, 2); /* 1 - 1 / 2 */
  mica_report_destroy(b);
  ck_assert_int_eq(mica_report_create(&b), MICA_OK);
  add_number(b, 4);
  expect((double)NAN, 1); /* one number has no variance */
}
END_TEST

/* NaN is no answer, and was taken for the same one. */
START_TEST(what_is_no_number_agrees_with_none) {
  add_number(a, 1), add_number(b, 1);
  add_number(a, 3), add_number(b, (double)NAN);
  expect(0, 2);
  mica_report_destroy(b);
  ck_assert_int_eq(mica_report_create(&b), MICA_OK);
  add_number(b, 1), add_number(b, 3);
  expect(1, 2);
  add_number(a, (double)NAN), add_number(b, 5);
  expect(0, 3);
}
END_TEST

static void add_forecast(mica_report *to, const double *numbers, size_t rows) {
  static const char *const rows_are[] = {"1", "2"}, *const columns[] = {"x", "y", "x actual", "y actual"};
  add(to, &(mica_item){.kind = MICA_ITEM_KIND_TABLE,
                       .name = "forecast",
                       .rows = rows,
                       .columns = 4,
                       .row_names = rows_are,
                       .column_names = columns,
                       .numbers = numbers});
}

/* By series, however large its numbers are; what came counts for nothing. */
START_TEST(forecasts_agree_by_their_distance) {
  static const double of_a[] = {1, 100, 5, 5, 3, 300, 5, 5}, of_b[] = {1, 200, 7, 9, 2, 300, 0, 0};
  add_forecast(a, of_a, 2), add_forecast(b, of_b, 2);
  expect((1 - 1.0 / 2 + 1 - 1e4 / 2e4) / 2, 1);
  add_forecast(a, of_a, 2), add_forecast(b, of_a, 2);
  expect((1 - 1.0 / 4 + 1 - 1e4 / 4e4) / 2, 2);
}
END_TEST

/* A series that is constant in a and another in b has no number, which is not that of the others. */
START_TEST(constant_series_do_not_count) {
  static const double of_a[] = {1, 7, 5, 5, 3, 7, 5, 5}, of_b[] = {1, 8, 5, 5, 2, 8, 5, 5};
  add_forecast(a, of_a, 2), add_forecast(b, of_b, 2);
  expect(1 - 1.0 / 2, 1);
}
END_TEST

TESTS(ANYWHERE, setup, teardown, classes_agree_by_the_likeliest, labels_agree_each,
      boxes_agree_where_they_overlap_by_half, masks_and_texts_agree, what_is_no_number_agrees_with_none,
      forecasts_agree_by_their_distance, constant_series_do_not_count, translations_agree_by_themselves,
      numbers_agree_by_their_variance)
