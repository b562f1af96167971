/* labels: device
 *
 * What stays as it is from run to run: made once, and again when a parameter that it is made of has changed. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_graph *graph;
static mica_session *session;

static void setup(void) { ck_ok(mica_graph_create(&graph)); }

static void teardown(void) {
  mica_session_destroy(session);
  session = NULL;
  mica_graph_destroy(graph);
}

static void compile(const mica_value *outputs, size_t count) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
}

static void upload(const char *name, const float *data) {
  mica_tensor *tensor = mica_session_parameter(session, name);
  ck_ok(mica_tensor_upload(test_queue(), tensor, data, mica_tensor_bytes(tensor)));
}

static void feed(const float *data, size_t count) {
  mica_tensor *x = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE((int64_t)count), data, &x));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
  mica_tensor_destroy(x);
}

static void expect(const mica_tensor *tensor, const float *wanted, size_t count) {
  float got[64];
  ck_assert_uint_eq(mica_tensor_bytes(tensor), count * sizeof *got);
  ck_ok(mica_tensor_download(test_queue(), tensor, got, count * sizeof *got));
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(got[i] == wanted[i], "element %zu: %g, not %g", i, (double)got[i], (double)wanted[i]);
}

/* p p is stored by the kernel that writes the output, in each run: what reads it cannot come before the first. */
START_TEST(what_an_output_is_made_with_is_made_by_each_run) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3)), square = mica_mul(p, p);
  mica_value back = mica_gather(square, mica_constant(graph, MICA_I32, MICA_SHAPE(2), (int32_t[]){2, 1}), 0);
  mica_value outputs[] = {mica_affine(square, 1, 1), mica_add(back, mica_input(graph, "x", MICA_F32, MICA_SHAPE(2)))};
  compile(outputs, 2);
  upload("p", (float[]){1, 2, 3});
  feed((float[]){0, 1}, 2);
  expect(mica_session_output(session, 0), (float[]){2, 5, 10}, 3);
  expect(mica_session_output(session, 1), (float[]){9, 5}, 2);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("invariant");
  TCase *tests = tcase_create("invariant");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, what_an_output_is_made_with_is_made_by_each_run);
  suite_add_tcase(suite, tests);
  return suite;
}
