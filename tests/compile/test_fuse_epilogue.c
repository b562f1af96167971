/* labels: device single
 *
 * What a launch does not take in, though it could. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>

#define SHAPE MICA_SHAPE(2, 3)

static mica_tensor *tensor_of(const float *values) {
  mica_tensor *tensor;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, SHAPE, values, &tensor));
  return tensor;
}

static void expect(const mica_tensor *tensor, const float *values) {
  float got[6];
  ck_ok(mica_tensor_download(test_queue(), tensor, got, sizeof got));
  ck_assert_mem_eq(got, values, sizeof got);
}

/* What would have to be stored for a product to add it is added behind the product, by the kernel that goes on: an
 * optimizer's momentum and update. */
START_TEST(momentum_and_update_are_one_kernel) {
  mica_graph *graph;
  ck_ok(mica_graph_create(&graph));
  mica_value x = mica_input(graph, "x", MICA_F32, SHAPE), b = mica_input(graph, "b", MICA_F32, SHAPE);
  mica_value dy = mica_constant(graph, MICA_F32, MICA_SHAPE(2, 2), (float[]){1, 2, 3, 4});
  mica_value momentum = mica_add(mica_affine(b, 0.5, 0), mica_matmul(mica_transpose(dy, MICA_ALL_AXES), x));
  mica_value outputs[] = {momentum, mica_neg(momentum)};
  mica_session *session;
  ck_ok(mica_session_create(test_engine(), graph, outputs, 2, NULL, &session));
  mica_tensor *tensors[] = {tensor_of((float[]){1, 2, 3, 4, 5, 6}), tensor_of((float[]){2, 4, 6, 8, 10, 12})};
  mica_feed feeds[] = {{"x", tensors[0]}, {"b", tensors[1]}};
  mica_session_report report;
  ck_ok(mica_session_describe(session, &report));
  ck_assert_uint_eq(report.launches, 2);
  ck_ok(mica_session_run(session, test_queue(), feeds, 2));
  expect(mica_session_output(session, 0), (float[]){14, 19, 24, 22, 29, 36});
  expect(mica_session_output(session, 1), (float[]){-14, -19, -24, -22, -29, -36});
  for (int i = 0; i < 2; i++) mica_tensor_destroy(tensors[i]);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(DEVICE, NULL, NULL, momentum_and_update_are_one_kernel)
