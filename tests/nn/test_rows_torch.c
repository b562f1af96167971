/* labels: device oracle
 *
 * Tables updated by rows beside PyTorch's: SGD, Adagrad and SparseAdam on the same reads, compared by rows_torch.py. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/oracle.h"

#include <mica/mica.h>

enum { V = 50, D = 7, N = 24, STEPS = 40 };

/* loss = sum over k of push[k, :] T[ids[k]] + |T[ids[k]]|^2 / 2, at a rate of 0.05. */
static void train(const char *rule, mica_optimizer kind, const int32_t *ids, float *begun, float *got) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *rate = NULL, *read = NULL;
  const mica_init_config init = {.kind = MICA_INIT_NORMAL, .value = 0.3};
  const float r = 0.05f;
  float push[N * D];
  mica_optimizer_config how = mica_optimizer_config_default(kind);
  how.rows = "*";
  for (int i = 0; i < N * D; i++) push[i] = (float)((i * 29) % 41) / 41 - 0.5f;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 7}, &nn));
  mica_value table = mica_nn_parameter(nn, "table", MICA_SHAPE(V, D), &init);
  mica_value x = mica_embedding(table, mica_input(graph, "ids", MICA_I32, MICA_SHAPE(N)));
  mica_value own = mica_mul(x, mica_constant(graph, MICA_F32, MICA_SHAPE(N, D), push));
  mica_value loss = mica_sum(mica_add(own, mica_affine(mica_square(x), 0.5, 0)), MICA_ALL_AXES, false);
  mica_optimize(nn, loss, &how, NULL);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", rule, mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &r, &rate));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(N), &read));
  mica_tensor *p = mica_session_parameter(session, "table");
  ck_ok(mica_tensor_download(test_queue(), p, begun, V * D * sizeof *begun));
  for (int t = 0; t < STEPS; t++) {
    ck_ok(mica_tensor_upload(test_queue(), read, ids + t * N, N * sizeof *ids));
    ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{MICA_LEARNING_RATE, rate}, {"ids", read}}, 2));
  }
  ck_ok(mica_tensor_download(test_queue(), p, got, V * D * sizeof *got));
  mica_tensor_destroy(rate);
  mica_tensor_destroy(read);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

START_TEST(rules) {
  static const char *const names[] = {"sgd", "adagrad", "adam"};
  static const mica_optimizer kinds[] = {MICA_OPTIMIZER_SGD, MICA_OPTIMIZER_ADAGRAD, MICA_OPTIMIZER_ADAM};
  static int32_t ids[STEPS * N];
  static float begun[V * D], got[V * D];
  oracle_values values = {0};
  for (int i = 0; i < STEPS * N; i++) ids[i] = (i * 37 + i / N * 11 + i * i % 5) % (V - 3);
  for (int k = 0; k < 3; k++) {
    train(names[k], kinds[k], ids, begun, got);
    oracle_add(&values, "", names[k], MICA_F32, MICA_SHAPE(V, D), got);
  }
  oracle_add(&values, "", "begun", MICA_F32, MICA_SHAPE(V, D), begun);
  oracle_add(&values, "", "ids", MICA_I32, MICA_SHAPE(STEPS, N), ids);
  oracle_run("nn/rows_torch.py", oracle_write(&values, "rows.safetensors"));
}
END_TEST

TESTS(BOTH(DEVICE, oracle_lacks("torch, safetensors")), NULL, NULL, rules)
