/* labels: device oracle
 *
 * Tables updated by rows beside PyTorch's: SGD, Adagrad and SparseAdam on the same reads, compared by rows_torch.py. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

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
  static float begun[V * D], got[3][V * D];
  const char *python = getenv("MICA_ORACLE_PYTHON"), *tests = getenv("MICA_SOURCE_DIR");
  char path[512], command[2048];
  mica_safetensors_entry entries[5];
  for (int i = 0; i < STEPS * N; i++) ids[i] = (i * 37 + i / N * 11 + i * i % 5) % (V - 3);
  for (int k = 0; k < 3; k++) {
    train(names[k], kinds[k], ids, begun, got[k]);
    entries[k] = (mica_safetensors_entry){
        .name = names[k], .dtype = MICA_F32, .shape = MICA_SHAPE(V, D), .data = got[k], .bytes = sizeof got[k]};
  }
  entries[3] = (mica_safetensors_entry){
      .name = "begun", .dtype = MICA_F32, .shape = MICA_SHAPE(V, D), .data = begun, .bytes = sizeof begun};
  entries[4] = (mica_safetensors_entry){
      .name = "ids", .dtype = MICA_I32, .shape = MICA_SHAPE(STEPS, N), .data = ids, .bytes = sizeof ids};
  snprintf(path, sizeof path, "%s", files_path("rows.safetensors"));
  ck_ok(mica_safetensors_write(path, entries, 5, NULL, 0));
  snprintf(command, sizeof command, "'%s' '%s/tests/nn/rows_torch.py' '%s'", python ? python : "python3",
           tests ? tests : ".", path);
  ck_assert_msg(system(command) == 0, "%s", command); /* NOLINT(cert-env33-c): a test's own command */
}
END_TEST

Suite *test_suite(void) {
  const char *python = getenv("MICA_ORACLE_PYTHON");
  char command[1024];
  snprintf(command, sizeof command, "'%s' -c 'import torch, safetensors' 2>/dev/null", python ? python : "python3");
  if (!test_engine()) return test_skip("no device");
  if (system(command) != 0) return test_skip("no PyTorch"); /* NOLINT(cert-env33-c) */
  Suite *suite = suite_create("rows_torch");
  TCase *all = tcase_create("rows");
  tcase_set_timeout(all, 300);
  tcase_add_test(all, rules);
  suite_add_tcase(suite, all);
  return suite;
}
