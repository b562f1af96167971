/* labels: null single
 *
 * What a run leaves behind: read again where there is a reader, looked into where there is none. */
#include "io/crc32c.h"
#include "io/history.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <dirent.h>
#include <float.h>
#include <math.h>
#include <mica/graph.h>
#include <mica/history.h>
#include <mica/io.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(mica_history *h, const char *column, double value) { ck_ok(mica_history_set(h, column, value)); }

/* Two epochs; the second one has no validation, and a metric that the first one had not. */
static mica_history *made(void) {
  mica_history *h = NULL;
  ck_ok(mica_history_create(&h));
  ck_assert_int_eq(mica_history_set(h, "loss", 1), MICA_E_INVALID);
  ck_ok(mica_history_begin(h));
  set(h, "epoch", 1), set(h, "step", 938), set(h, "learning_rate", 0.001), set(h, "loss", 0.51234567);
  set(h, "accuracy", 0.8), set(h, "validation_loss", 0.4), set(h, "seconds", 1.5), set(h, "data_wait_share", 0.001);
  ck_ok(mica_history_begin(h));
  set(h, "epoch", 2), set(h, "step", 1876), set(h, "learning_rate", 0.0005), set(h, "loss", 0.35);
  set(h, "accuracy", 0.87), set(h, "seconds", 1.5), set(h, "samples_per_second", 40000), set(h, "f1", 0.5);
  ck_assert_int_eq(mica_history_set(h, "a,b", 1), MICA_E_INVALID);
  return h;
}

static char *read_all(const char *path, size_t *size) {
  static char content[1 << 20];
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  *size = fread(content, 1, sizeof content - 1, file);
  content[*size] = '\0';
  fclose(file);
  return content;
}

START_TEST(rows_behind_an_epoch_are_cut) {
  mica_history *h = made();
  mica__history_cut(h, 2);
  ck_assert_uint_eq(mica_history_rows(h), 2);
  mica__history_cut(h, 1);
  ck_assert_uint_eq(mica_history_rows(h), 1);
  ck_assert_double_eq(mica_history_get(h, 0, "step"), 938);
  ck_ok(mica_history_begin(h));
  set(h, "epoch", 2), set(h, "loss", 0.25);
  ck_assert_double_eq(mica_history_get(h, 1, "loss"), 0.25);
  ck_assert(isnan(mica_history_get(h, 1, "f1")));
  ck_ok(mica_history_begin(h));
  mica__history_cut(h, 5);
  ck_assert_uint_eq(mica_history_rows(h), 2);
  mica__history_cut(h, 0);
  ck_assert_uint_eq(mica_history_rows(h), 0);
  mica_history_destroy(h);
}
END_TEST

START_TEST(a_history_comes_back) {
  mica_history *h = made();
  size_t size = 0;
  ck_ok(mica_history_write(h, files_path("history.csv")));
  mica_history_destroy(h);
  const char *text = read_all(files_path("history.csv"), &size);
  ck_assert_ptr_nonnull(strstr(text, "epoch,step,learning_rate,loss,validation_loss,seconds,samples_per_second,"
                                     "data_wait_share,accuracy,f1\n1,938,0.001,0.51234567,0.4,1.5,,0.001,0.8,\n"));
  ck_assert_ptr_nonnull(strstr(text, "\n2,1876,0.0005,0.35,,1.5,40000,,0.87,0.5\n"));
  ck_ok(mica_history_read(files_path("history.csv"), &h));
  ck_assert_uint_eq(mica_history_rows(h), 2);
  ck_assert_uint_eq(mica_history_columns(h), 10);
  ck_assert_str_eq(mica_history_column(h, 9), "f1");
  ck_assert_double_eq(mica_history_get(h, 0, "loss"), 0.51234567);
  ck_assert(isnan(mica_history_get(h, 1, "validation_loss")) && isnan(mica_history_get(h, 0, "none")));
  mica_history_destroy(h);
  /* A table of Mica 0.2, in its order, and a column that is none of ours. */
  files_write_text("other.csv", "loss,accuracy,colour,epoch\n0.5,0.9,red,3\n");
  ck_ok(mica_history_read(files_path("other.csv"), &h));
  ck_assert_uint_eq(mica_history_rows(h), 1);
  ck_assert(mica_history_get(h, 0, "epoch") == 3 && mica_history_get(h, 0, "loss") == 0.5);
  ck_assert(mica_history_get(h, 0, "accuracy") == 0.9 && isnan(mica_history_get(h, 0, "colour")));
  mica_history_destroy(h);
  static const char *const wrong[] = {"", "colour\nred\n", "loss\nlow\n", "loss,epoch\n1\n", "loss,epoch\n1,2,3\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    files_write_text("wrong.csv", wrong[i]);
    ck_assert_int_eq(mica_history_read(files_path("wrong.csv"), &h), MICA_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), "wrong.csv line"));
  }
}
END_TEST

static uint64_t little_endian(const char *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | (unsigned char)at[i];
  return value;
}

/* The file of events in a folder. */
static const char *events_in(const char *folder) {
  static char name[300];
  DIR *directory = opendir(files_path(folder));
  *name = '\0';
  ck_assert_ptr_nonnull(directory);
  for (const struct dirent *entry; (entry = readdir(directory));)
    if (!strncmp(entry->d_name, "events.out.tfevents.", 20))
      snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
  closedir(directory);
  return name;
}

START_TEST(event_files_hold_what_was_said) {
  ck_assert_uint_eq(mica__crc32c("123456789", 9), 0xe3069283u); /* the check value of its definition */
  mica_events *events = NULL;
  size_t size = 0, records = 0;
  ck_ok(mica_events_create(files_path("events/run"), &events));
  ck_ok(mica_events_scalar(events, "loss/train", 300, 0.5));
  ck_ok(mica_events_scalar(events, "accuracy", -1, NAN));
  mica_events_close(events);
  const char *content = read_all(files_path(events_in("events/run")), &size);
  for (size_t at = 0; at < size; records++) {
    size_t length = (size_t)little_endian(content + at, 8);
    ck_assert_uint_eq(little_endian(content + at + 8, 4), mica__crc32c_masked(content + at, 8));
    ck_assert_uint_le(at + 16 + length, size);
    ck_assert_uint_eq(little_endian(content + at + 12 + length, 4), mica__crc32c_masked(content + at + 12, length));
    const char *event = content + at + 12;
    ck_assert_int_eq(event[0], 1 << 3 | 1); /* the time */
    if (records == 0)
      ck_assert_mem_eq(event + 9,
                       "\x1a\x0d"
                       "brain.Event:2",
                       15);
    /* step 300; summary { value { tag: "loss/train" simple_value: 0.5 } } */
    if (records == 1) ck_assert_mem_eq(event + 9, "\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0aloss/train\x15\0\0\0\x3f", 24);
    at += 16 + (size_t)length;
  }
  ck_assert_uint_eq(records, 3);
  ck_assert_int_eq(mica_events_create("/proc/mica", &events), MICA_E_IO);
}
END_TEST

/* --- histograms --- */

enum { LIMITS = 775, BUCKETS = 2 * LIMITS + 2, MOST_VALUES = 7000 };

static double number_at(const char *at) {
  const uint64_t bits = little_endian(at, 8);
  double number = 0;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* Limits as TensorFlow has them: 1e-12 1.1^k, their negatives, 0 and the largest double. */
static void make_limits(double *limits) {
  for (int k = 0; k < LIMITS; k++) {
    limits[LIMITS + 1 + k] = 1e-12 * pow(1.1, k);
    limits[LIMITS - 1 - k] = -limits[LIMITS + 1 + k];
  }
  limits[LIMITS] = 0;
  limits[BUCKETS - 1] = DBL_MAX;
}

static void add_value(float *values, size_t *count, float value) {
  const float near[] = {value, nextafterf(value, INFINITY), nextafterf(value, -INFINITY)};
  for (size_t i = 0; i < sizeof near / sizeof *near; i++)
    if (isfinite(near[i]) && *count < MOST_VALUES) values[(*count)++] = near[i];
}

/* The record of a histogram of one value ends with its two fields of buckets: the one with the value and, unless that
 * is the first, the one before it, which is empty. */
static void holds_value(const char *end, float value, const double *limits) {
  int bucket = 0;
  while (limits[bucket] < (double)value) bucket++;
  const int count = bucket ? 2 : 1, bytes = 8 * count;
  const char *numbers = end - bytes, *ends = numbers - 2 - bytes;
  ck_assert_msg(ends[-2] == (6 << 3 | 2) && ends[-1] == bytes && numbers[-2] == (7 << 3 | 2) && numbers[-1] == bytes,
                "%a: not %d buckets", (double)value, count);
  for (int i = 0; i < count; i++) {
    const double limit = limits[bucket - (count - 1) + i];
    ck_assert_msg(number_at(ends + 8 * i) == limit, "%a: bucket %d ends at %a, not %a", (double)value, i,
                  number_at(ends + 8 * i), limit);
    ck_assert_msg(number_at(numbers + 8 * i) == (i == count - 1), "%a: another count", (double)value);
  }
}

/* Each value is in the first bucket whose limit is not below it: powers of two and limits with their neighbours,
 * denormals, zeros and the largest floats. */
START_TEST(values_are_in_their_buckets) {
  static float values[MOST_VALUES];
  static double limits[BUCKETS];
  size_t count = 0, size = 0, at = 0;
  mica_events *events = NULL;
  make_limits(limits);
  for (int e = -149; e < 128; e++) add_value(values, &count, ldexpf(1, e)), add_value(values, &count, -ldexpf(1, e));
  for (int k = 0; k < BUCKETS - 1; k++) add_value(values, &count, (float)limits[k]);
  add_value(values, &count, FLT_MAX), add_value(values, &count, -FLT_MAX);
  add_value(values, &count, 3 * FLT_TRUE_MIN), add_value(values, &count, -3 * FLT_TRUE_MIN);
  values[count++] = -0.0f;
  ck_assert_uint_lt(count, MOST_VALUES);
  ck_ok(mica_events_create(files_path("events/buckets"), &events));
  for (size_t i = 0; i < count; i++) ck_ok(mica_events_histogram(events, "b", 1, &values[i], 1));
  mica_events_close(events);
  const char *content = read_all(files_path(events_in("events/buckets")), &size);
  at = 16 + (size_t)little_endian(content, 8); /* the first record is the version */
  for (size_t i = 0; i < count; i++) {
    ck_assert_uint_lt(at + 16, size);
    const size_t length = (size_t)little_endian(content + at, 8);
    ck_assert_uint_le(at + 16 + length, size);
    holds_value(content + at + 12 + length, values[i], limits);
    at += 16 + length;
  }
  ck_assert_uint_eq(at, size);
}
END_TEST

START_TEST(values_of_every_kind_are_checked) {
  static const float values[2] = {1, 2};
  mica_events *events = NULL;
  mica_graph *graph = NULL;
  ck_ok(mica_events_create(files_path("events/kinds"), &events));
  const mica_events_picture flat = {.data = "", .width = 1, .channels = 1};
  const mica_events_picture many = {.data = "", .height = 1, .width = 1, .channels = 5};
  const mica_events_picture none = {.bytes = 1, .height = 1, .width = 1, .channels = 1};
  ck_assert_int_eq(mica_events_image(events, "a", 0, &flat), MICA_E_SHAPE);
  ck_assert_int_eq(mica_events_image(events, "a", 0, &many), MICA_E_SHAPE);
  ck_assert_int_eq(mica_events_image(events, "a", 0, &none), MICA_E_INVALID);
  ck_assert_int_eq(mica_events_image(events, "a", 0, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_events_text(events, "a", 0, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_events_text(NULL, "a", 0, ""), MICA_E_INVALID);
  ck_assert_int_eq(mica_events_histogram(events, "a", 0, NULL, 1), MICA_E_INVALID);
  ck_assert_int_eq(mica_events_histogram(events, NULL, 0, values, 2), MICA_E_INVALID);
  ck_assert_int_eq(mica_events_graph(events, NULL), MICA_E_INVALID);
  ck_ok(mica_events_histogram(events, "a", 0, NULL, 0));
  ck_ok(mica_events_text(events, "a", 0, ""));
  /* A graph that failed is refused with its own sentence. */
  ck_ok(mica_graph_create(&graph));
  (void)mica_add(mica_input(graph, "x", MICA_F32, MICA_SHAPE(2)), mica_input(graph, "y", MICA_F32, MICA_SHAPE(3)));
  ck_assert_int_eq(mica_events_graph(events, graph), MICA_E_SHAPE);
  mica_graph_destroy(graph);
  mica_events_close(events);
}
END_TEST

START_TEST(what_cannot_be_written_is_a_sentence) {
  ck_assert_int_eq(mica_file_write("/proc/mica/file", "x", 1), MICA_E_IO);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "/proc/mica"));
  mica_history *h = made();
  ck_assert_int_eq(mica_history_write(h, "/proc/mica/history.csv"), MICA_E_IO);
  mica_history_destroy(h);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, a_history_comes_back, rows_behind_an_epoch_are_cut, event_files_hold_what_was_said,
      values_are_in_their_buckets, values_of_every_kind_are_checked, what_cannot_be_written_is_a_sentence)
