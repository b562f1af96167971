/* labels: device single
 *
 * Graphs without simplification and fusion (mica_session_config.no_simplify, no_fusion). */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>

/* The gradient begins as a value of the loss's shape; the loss itself nobody needs. */
START_TEST(a_value_of_which_the_shape_alone_matters_is_not_read) {
  mica_graph *graph = NULL;
  mica_value dw = {0};
  float got[2] = {0};
  ck_ok(mica_graph_create(&graph));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2));
  mica_value x = mica_constant(graph, MICA_F32, MICA_SHAPE(2), (float[]){3, -5});
  mica_value loss = mica_affine(mica_sum(mica_mul(w, x), MICA_ALL_AXES, false), 2, 0);
  ck_ok(mica_gradients(loss, &w, 1, &dw));
  for (int fused = 0; fused < 2; fused++) {
    mica_session *session = NULL;
    const mica_session_config config = {.no_simplify = true, .no_fusion = !fused};
    ck_ok(mica_session_create(test_engine(), graph, &dw, 1, &config, &session));
    ck_ok(mica_session_run(session, test_queue(), NULL, 0));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, sizeof got));
    ck_assert(got[0] == 6 && got[1] == -10);
    mica_session_destroy(session);
  }
  mica_graph_destroy(graph);
}
END_TEST

TESTS(DEVICE, NULL, NULL, a_value_of_which_the_shape_alone_matters_is_not_read)
