/* labels: device single
 *
 * Attention against values that PyTorch computed in double (tests/golden/attention, whose README says how): results
 * and gradients under every kind of mask, of heads, windows, lengths and offsets, rows that see nothing among them. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/number.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12 };

static mica_graph *graph;
static mica_session *session;
static mica_safetensors *values;
static char *json;
static int number; /* of the case */
static mica_feed feeds[MOST];
static mica_tensor *fed[MOST];
static mica_value outputs[MOST];
static const char *expected[MOST];
static size_t feed_count, output_count;

static const char *golden(const char *name) { return golden_path("attention", name); }

/* "a007.q" of case 7; NULL where the case has none. */
static const mica_safetensors_entry *entry(const char *part) {
  char name[64];
  snprintf(name, sizeof name, "a%03d.%.48s", number, part);
  return mica_safetensors_find(values, name);
}

static mica_value give(const char *part, mica_dtype dtype, mica_shape shape, const void *data) {
  ck_assert_uint_lt(feed_count, MOST);
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &fed[feed_count]));
  feeds[feed_count] = (mica_feed){part, fed[feed_count]};
  feed_count++;
  return mica_input(graph, part, dtype, shape);
}

/* An input with the entry's elements; null where there is no such entry. */
static mica_value given(const char *part) {
  const mica_safetensors_entry *e = entry(part);
  return e ? give(part, e->dtype, e->shape, e->data) : (mica_value){0};
}

static void expect(const char *part, mica_value value) {
  expected[output_count] = part;
  outputs[output_count++] = value;
}

/* What follows "key": in the settings of the case. */
static const char *setting(const char *key) {
  char text[32];
  snprintf(text, sizeof text, "\"case\": %d,", number);
  const char *at = strstr(json, text);
  ck_assert_msg(at != NULL, "attention.json has no case %d", number);
  snprintf(text, sizeof text, "\"%s\": ", key);
  at = strstr(at, text);
  ck_assert_msg(at != NULL, "case %d has no %s", number, key);
  return at + strlen(text);
}
static double setting_number(const char *key) { return mica__strtod(setting(key), NULL); }

static double wanted(const mica_safetensors_entry *e, int64_t i) { return ((const double *)e->data)[i]; }

/* Each output within `within` of max(1, the largest value). */
static void compare(double within) {
  for (size_t k = 0; k < output_count; k++) {
    const mica_tensor *got = mica_session_output(session, k);
    const mica_safetensors_entry *e = entry(expected[k]);
    float *data = malloc(mica_tensor_bytes(got) + 1);
    double largest = 1;
    ck_assert_ptr_nonnull(data);
    ck_assert_msg(e && e->dtype == MICA_F64, "case %d has no %s", number, expected[k]);
    ck_assert_msg(mica_shape_equal(e->shape, mica_tensor_shape(got)), "case %d: shape of %s", number, expected[k]);
    ck_ok(mica_tensor_download(test_queue(), got, data, mica_tensor_bytes(got)));
    for (int64_t i = 0; i < mica_tensor_count(got); i++) largest = fmax(largest, fabs(wanted(e, i)));
    for (int64_t i = 0; i < mica_tensor_count(got); i++)
      ck_assert_msg(fabs((double)data[i] - wanted(e, i)) <= within * largest, "case %d, %s, element %d: %g, not %g",
                    number, expected[k], (int)i, (double)data[i], wanted(e, i));
    free(data);
  }
}

static void build(void) {
  const int32_t offset = (int32_t)setting_number("offset");
  mica_attention_config config = {.causal = strncmp(setting("causal"), "true", 4) == 0,
                                  .window = (int64_t)setting_number("window"),
                                  .scale = setting_number("scale"),
                                  .soft_cap = setting_number("soft_cap")};
  mica_value wrt[4] = {given("q"), given("k"), given("v")}, grads[4];
  size_t count = 3;
  config.mask = given("mask");
  config.key_lengths = given("key_lengths");
  if (offset) config.offset = give("offset", MICA_I32, MICA_SCALAR, &offset);
  mica_value y = mica_attention(wrt[0], wrt[1], wrt[2], &config);
  mica_value loss = mica_sum(mica_mul(y, given("upstream")), MICA_ALL_AXES, false);
  if (config.mask.graph && mica_value_dtype(config.mask) == MICA_F32) wrt[count++] = config.mask;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "case %d: %s", number, mica_graph_message(graph));
  ck_ok(mica_gradients(loss, wrt, count, grads));
  expect("y", y);
  for (size_t k = 0; k < count; k++)
    expect((const char *const[]){"q.gradient", "k.gradient", "v.gradient", "mask.gradient"}[k], grads[k]);
}

static void run_case(void) {
  ck_ok(mica_graph_create(&graph));
  build();
  ck_ok(mica_session_create(test_engine(), graph, outputs, output_count, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
  compare(strncmp(setting("kind"), "\"large_scores\"", 14) == 0 ? 1e-3 : 1e-4);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  while (feed_count > 0) mica_tensor_destroy(fed[--feed_count]);
  output_count = 0;
}

START_TEST(is_pytorchs) {
  size_t size = 0;
  json = (char *)files_read(golden("attention.json"), &size);
  json = realloc(json, size + 1);
  ck_assert_ptr_nonnull(json);
  json[size] = '\0';
  ck_ok(mica_safetensors_open(golden("attention.safetensors"), &values));
  for (number = 0; entry("q"); number++) run_case();
  ck_assert_int_ge(number, 40);
  mica_safetensors_close(values);
  free(json);
}
END_TEST

/* The operations that a profile names: two products of 8 numbers for each pair that a query sees. */
START_TEST(its_operations_are_those_of_the_pairs_seen) {
  static const struct {
    mica_attention_config config;
    double pairs;
  } cases[] = {{{0}, 64 * 64},
               {{.causal = true}, 64 * 32},
               {{.causal = true, .window = 4}, 64 * 4},
               {{.window = 4}, 64 * 7},
               {{.window = 100}, 64 * 64}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mica_profile_row rows[8];
    size_t count = 0, found = 0;
    mica_graph *made = NULL;
    ck_ok(mica_graph_create(&made));
    mica_value x = mica_input(made, "x", MICA_F32, MICA_SHAPE(1, 1, 64, 8));
    mica_value y = mica_attention(x, x, x, &cases[k].config);
    mica_session *run = NULL;
    mica_tensor *data = NULL;
    ck_ok(mica_graph_status(made));
    ck_ok(mica_session_create(test_engine(), made, &y, 1, NULL, &run));
    ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(1, 1, 64, 8), &data));
    ck_ok(mica_profile_start(test_engine()));
    ck_ok(mica_session_run(run, test_queue(), &(mica_feed){"x", data}, 1));
    ck_ok(mica_profile_stop(test_engine()));
    ck_ok(mica_profile_rows(test_engine(), rows, 8, &count));
    for (size_t i = 0; i < count && i < 8; i++) {
      if (strncmp(rows[i].kernel, "attention", 9) != 0) continue;
      ck_assert_double_eq(rows[i].flops, 2 * cases[k].pairs * (8 + 8));
      found++;
    }
    ck_assert_uint_eq(found, 1);
    mica_tensor_destroy(data);
    mica_session_destroy(run);
    mica_graph_destroy(made);
  }
}
END_TEST

TESTS(DEVICE, NULL, NULL, is_pytorchs, its_operations_are_those_of_the_pairs_seen)
