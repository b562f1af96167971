/* A graph of one or two inputs, run once; see graph_run.h. */
#include "support/graph_run.h"

mica_graph *graph;
mica_session *graph_session;

void graph_setup(void) { ck_ok(mica_graph_create(&graph)); }
void graph_teardown(void) {
  mica_session_destroy(graph_session);
  mica_graph_destroy(graph);
  graph_session = NULL;
  graph = NULL;
}
void graph_anew(void) {
  graph_teardown();
  graph_setup();
}

void graph_compile(const mica_value *outputs, size_t count) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &graph_session));
}

void graph_upload(mica_tensor *tensor, const float *data) {
  ck_ok(mica_tensor_upload(test_queue(), tensor, data, mica_tensor_bytes(tensor)));
}

void graph_expect(const mica_tensor *tensor, const float *wanted, size_t count) {
  float *got = malloc(mica_tensor_bytes(tensor) + 1);
  ck_assert_ptr_nonnull(got);
  ck_assert_uint_eq(mica_tensor_bytes(tensor), count * sizeof *got);
  ck_ok(mica_tensor_download(test_queue(), tensor, got, count * sizeof *got));
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(got[i] == wanted[i], "element %zu: %g, not %g", i, (double)got[i], (double)wanted[i]);
  free(got);
}

float *graph_run(mica_value y, mica_shape shape, const void *first, mica_tensor *second) {
  mica_tensor *x = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, first, &x));
  const mica_feed feeds[] = {{"a", x}, {"b", second}};
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &graph_session));
  ck_ok(mica_session_run(graph_session, test_queue(), feeds, second ? 2 : 1));
  const mica_tensor *result = mica_session_output(graph_session, 0);
  float *got = malloc(mica_tensor_bytes(result) + 1);
  ck_assert_ptr_nonnull(got);
  ck_ok(mica_tensor_download(test_queue(), result, got, mica_tensor_bytes(result)));
  mica_tensor_destroy(x);
  return got;
}

size_t graph_launches(const mica_value *outputs, size_t count, const mica_session_config *config, mica_shape shape,
                      const float *x, float *got) {
  mica_session_report report;
  mica_tensor *tensor;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  mica_session_destroy(graph_session);
  graph_session = NULL;
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, config, &graph_session));
  ck_ok(mica_session_describe(graph_session, &report));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, x, &tensor));
  for (int i = 0; i < 2; i++) ck_ok(mica_session_run(graph_session, test_queue(), &(mica_feed){"x", tensor}, 1));
  for (size_t i = 0; i < count; i++) {
    const mica_tensor *output = mica_session_output(graph_session, i);
    ck_ok(mica_tensor_download(test_queue(), output, got, mica_tensor_bytes(output)));
    got += mica_tensor_bytes(output) / sizeof *got;
  }
  mica_tensor_destroy(tensor);
  return report.launches;
}
