/* labels: null single
 *
 * Reports as data: what they hold, what they refuse, and their JSON. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

static mica_report *report;

static void setup(void) { ck_ok(mica_report_create(&report)); }
static void teardown(void) { mica_report_destroy(report); }

static void expect_json(const char *want) {
  char *json = NULL;
  ck_ok(mica_report_json(report, "samples", "\"task\": \"t\", ", &json));
  ck_assert_str_eq(json, want);
  mica_free(json);
}

START_TEST(every_kind_is_json) {
  static const char *const names[] = {"a", "b\""}, *const columns[] = {"x", "y"},
                           *const cells[] = {"p", "q", "r", NULL};
  static const double numbers[] = {1, 0.5, NAN, 3}, box[] = {1, 2, 3.5, 4, 0.25},
                      tracked[] = {1, 2, 3, 4, 0.5, 7, 0, 0, 1, 1, 0.25, NAN};
  static const uint8_t planes[4] = {0};
  expect_json("{\"task\": \"t\", \"samples\": []}");
  ck_ok(mica_report_begin(report, "one\xff\n"));
  ck_ok(mica_report_add_number(report, "n", 1e300));
  ck_ok(mica_report_add_text(report, "t", "\\\"\x7f"));
  mica_item items[] = {
      {.kind = MICA_ITEM_KIND_NUMBERS, .name = "ns", .rows = 2, .columns = 1, .numbers = numbers},
      {.kind = MICA_ITEM_KIND_CHOICES, .name = "cs", .rows = 2, .columns = 1, .row_names = names, .numbers = numbers},
      {.kind = MICA_ITEM_KIND_TABLE, .name = "tb", .rows = 2, .columns = 2, .column_names = columns, .texts = cells},
      {.kind = MICA_ITEM_KIND_MATRIX, .name = "m", .rows = 2, .columns = 2, .numbers = numbers},
      {.kind = MICA_ITEM_KIND_BOXES, .name = "bs", .rows = 1, .columns = 5, .row_names = names, .numbers = box},
      {.kind = MICA_ITEM_KIND_POINTS, .name = "ps", .rows = 2, .columns = 2, .numbers = numbers},
      {.kind = MICA_ITEM_KIND_PICTURE, .name = "p", .shape = {3, {1, 2, 2}}, .planes = planes},
      {.kind = MICA_ITEM_KIND_BOXES, .name = "bt", .rows = 2, .columns = 6, .row_names = names, .numbers = tracked}};
  items[5].row_names = names, items[5].column_names = columns;
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) ck_ok(mica_report_add(report, &items[i]));
  expect_json("{\"task\": \"t\", \"samples\": [{\"name\": \"one\xef\xbf\xbd\\u000a\", \"n\": 1e+300, "
              "\"t\": \"\\\\\\\"\\u007f\", \"ns\": [1, 0.5], "
              "\"cs\": [{\"name\": \"a\", \"probability\": 1}, {\"name\": \"b\\\"\", \"probability\": 0.5}], "
              "\"tb\": [{\"x\": \"p\", \"y\": \"q\"}, {\"x\": \"r\", \"y\": \"\"}], \"m\": [[1, 0.5], [null, 3]], "
              "\"bs\": [{\"name\": \"a\", \"box\": [1, 2, 3.5, 4], \"score\": 0.25}], "
              "\"ps\": [{\"name\": \"a\", \"x\": 1, \"y\": 0.5}, {\"name\": \"b\\\"\", \"x\": null, \"y\": 3}], "
              "\"bt\": [{\"name\": \"a\", \"box\": [1, 2, 3, 4], \"score\": 0.5, \"id\": 7}, "
              "{\"name\": \"b\\\"\", \"box\": [0, 0, 1, 1], \"score\": 0.25, \"id\": null}]}]}");
  ck_assert_uint_eq(mica_report_count(report), 1);
  ck_assert_uint_eq(mica_report_item_count(report, 0), 10);
  ck_assert_ptr_eq(mica_report_find(report, 0, "m"), mica_report_item(report, 0, 5));
  ck_assert_ptr_null(mica_report_find(report, 0, "none"));
  ck_assert_ptr_null(mica_report_item(report, 0, 10));
  ck_assert_ptr_null(mica_report_title(report, 1));
  /* Copies: what was given may go. */
  ck_assert_ptr_ne(mica_report_item(report, 0, 8)->planes, planes);
}
END_TEST

/* The member "prediction" is there once, from whichever item and in whichever order. */
START_TEST(a_prediction_is_written_once) {
  static const char *const names[] = {"a", "b"};
  static const double numbers[] = {0.75, 0.25}, labels[] = {0.75, 0.5, 1, 0.25, 0.5, 0};
  const mica_item sources[] = {{.kind = MICA_ITEM_KIND_NUMBER, .name = "value", .number = 2},
                               {.kind = MICA_ITEM_KIND_TEXT, .name = "text", .text = "x"},
                               {.kind = MICA_ITEM_KIND_TEXT, .name = "translation", .text = "y"},
                               {.kind = MICA_ITEM_KIND_CHOICES,
                                .name = "classes",
                                .rows = 2,
                                .columns = 1,
                                .row_names = names,
                                .numbers = numbers},
                               {.kind = MICA_ITEM_KIND_LABELS,
                                .name = "labels",
                                .rows = 2,
                                .columns = 3,
                                .row_names = names,
                                .numbers = labels}};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
    for (int order = 0; order < 3; order++) { /* no item "prediction"; it comes first; it comes last */
      mica_report *one = NULL;
      char *json = NULL;
      ck_ok(mica_report_create(&one));
      ck_ok(mica_report_begin(one, "s"));
      if (order == 1) ck_ok(mica_report_add_number(one, "prediction", 7));
      ck_ok(mica_report_add(one, &sources[i]));
      if (order == 2) ck_ok(mica_report_add_number(one, "prediction", 7));
      ck_ok(mica_report_json(one, "samples", "", &json));
      const char *first = strstr(json, "\"prediction\": ");
      ck_assert_msg(first && !strstr(first + 1, "\"prediction\": "), "%s", json);
      ck_assert_msg((order != 0) == !strncmp(first, "\"prediction\": 7", 15), "%s", json);
      mica_free(json);
      mica_report_destroy(one);
    }
}
END_TEST

START_TEST(columns_of_numbers_are_numbers) {
  static const char *const columns[] = {"said", "edits"}, *const cells[] = {"1", "2.72", "", NULL};
  static const double numbers[] = {7, 2.7182818284, 7, NAN};
  static const bool number_columns[] = {false, true};
  mica_item item = {.kind = MICA_ITEM_KIND_TABLE,
                    .name = "tb",
                    .rows = 2,
                    .columns = 2,
                    .column_names = columns,
                    .texts = cells,
                    .number_columns = number_columns};
  ck_ok(mica_report_begin(report, "s"));
  ck_assert_int_eq(mica_report_add(report, &item), MICA_E_INVALID);
  item.numbers = numbers;
  ck_ok(mica_report_add(report, &item));
  expect_json("{\"task\": \"t\", \"samples\": [{\"name\": \"s\", \"tb\": [{\"said\": \"1\", "
              "\"edits\": 2.71828183}, {\"said\": \"\", \"edits\": null}]}]}");
  ck_assert_str_eq(mica_report_item(report, 0, 0)->texts[1], "2.72");
}
END_TEST

START_TEST(what_lacks_its_parts_is_refused) {
  static const double numbers[4] = {0};
  static const uint8_t planes[4] = {0};
  ck_assert_int_eq(mica_report_add_number(report, "before", 1), MICA_E_INVALID);
  ck_ok(mica_report_begin(report, "s"));
  const mica_item wrong[] = {
      {.kind = MICA_ITEM_KIND_TEXT, .name = "t"},
      {.kind = MICA_ITEM_KIND_NUMBER},
      {.kind = MICA_ITEM_KIND_CHOICES, .name = "c", .rows = 1, .columns = 1, .numbers = numbers},
      {.kind = MICA_ITEM_KIND_CURVE, .name = "c", .rows = 2, .columns = 2, .numbers = numbers},
      {.kind = MICA_ITEM_KIND_MATRIX, .name = "m", .rows = SIZE_MAX, .columns = 2, .numbers = numbers},
      {.kind = MICA_ITEM_KIND_PICTURE, .name = "p", .shape = {3, {2, 1, 2}}, .planes = planes},
      {.kind = MICA_ITEM_KIND_BOXES, .name = "b", .rows = 1, .columns = 4, .numbers = numbers},
      {.kind = (mica_item_kind)99, .name = "k"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(mica_report_add(report, &wrong[i]) != MICA_OK, "item %zu", i);
  ck_assert_uint_eq(mica_report_item_count(report, 0), 0);
}
END_TEST

START_TEST(metrics_are_plain_values) {
  mica_metrics m = {.loss = 0.5};
  char name[8];
  ck_ok(mica_metrics_add(&m, "f1", 0.25));
  ck_ok(mica_metrics_add(&m, "f1", 0.75));
  ck_assert(m.count == 1 && mica_metrics_get(&m, "f1") == 0.75 && mica_metrics_get(&m, "loss") == 0.5);
  ck_assert_int_eq(mica_metrics_add(&m, "", 1), MICA_E_INVALID);
  ck_assert_int_eq(mica_metrics_add(&m, "a name of far more bytes than there are", 1), MICA_E_INVALID);
  for (int i = 1; i < MICA_METRICS_MAX; i++) {
    snprintf(name, sizeof name, "m%d", i);
    ck_ok(mica_metrics_add(&m, name, i));
  }
  ck_assert_int_eq(mica_metrics_add(&m, "more", 1), MICA_E_OVERFLOW);
}
END_TEST

TESTS(ANYWHERE, setup, teardown, every_kind_is_json, a_prediction_is_written_once, columns_of_numbers_are_numbers,
      what_lacks_its_parts_is_refused, metrics_are_plain_values)
