/* labels: device
 *
 * Low-rank adapters of any network: which layers they adapt, what they compute, what is trained, what is refused. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <string.h>

enum { N = 3, C = 5, H = 4 };

typedef struct network {
  mica_graph *graph;
  mica_nn *nn;
  mica_value y;
} network;

/* An embedding, two dense layers in a scope, a norm and a head. */
static network build(mica_adapter *adapter, mica_nn_hooks *hooks) {
  network n = {0};
  const mica_nn_config config = {.hook = hooks ? mica_nn_hook_list : mica_adapter_hook,
                                 .hook_user = hooks ? (void *)hooks : (void *)adapter};
  ck_ok(mica_graph_create(&n.graph));
  ck_ok(mica_nn_create(n.graph, &config, &n.nn));
  mica_value x = mica_input(n.graph, "x", MICA_F32, MICA_SHAPE(N, C));
  mica_nn_push(n.nn, "block");
  mica_value h = mica_nn_dense(n.nn, "up", x, H, NULL);
  h = mica_nn_layer_norm(n.nn, "norm", h, NULL);
  h = mica_nn_dense(n.nn, "down", h, C, &(mica_dense_config){.no_bias = true});
  mica_nn_pop(n.nn);
  mica_value rows = mica_nn_embedding(n.nn, "embed", mica_input(n.graph, "ids", MICA_I32, MICA_SHAPE(N)), 7, C, NULL);
  n.y = mica_nn_dense(n.nn, "head", mica_add(h, rows), 2, NULL);
  return n;
}

static void drop(network *n) {
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

static void expect_layers(const char *targets, const char *const *names, size_t count) {
  mica_adapter *adapter = NULL;
  ck_ok(mica_adapter_create(&(mica_adapter_config){.targets = targets}, &adapter));
  network n = build(adapter, NULL);
  ck_ok(mica_adapter_freeze_base(adapter, n.nn));
  ck_assert_uint_eq(mica_adapter_count(adapter), count);
  for (size_t i = 0; i < count; i++) ck_assert_str_eq(mica_adapter_at(adapter, i)->name, names[i]);
  for (size_t p = 0; p < mica_nn_parameter_count(n.nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(n.nn, p);
    ck_assert_int_eq(info->frozen, !mica_adapter_is_parameter(info->own_name));
  }
  drop(&n);
  mica_adapter_destroy(adapter);
}

START_TEST(targets_name_layers) {
  static const char *const both[] = {"block.up", "block.down"}, *const all[] = {"block.up", "block.down", "head"};
  expect_layers(NULL, both, 2);
  expect_layers("all-linear", both, 2);
  expect_layers("up, down", both, 2);
  expect_layers("block.*p", both, 1);
  expect_layers("block.up,down,head", all, 3);
}
END_TEST

/* Targets have any length: none matches by its first characters alone. */
START_TEST(long_targets) {
  enum { STARS = 300 };
  static const char *const down[] = {"block.down"};
  char targets[STARS + 32];
  memset(targets, '*', STARS);
  strcpy(targets + STARS, "down ");
  expect_layers(targets, down, 1);
}
END_TEST

static mica_status freeze(const char *targets, mica_status *graph) {
  mica_adapter *adapter = NULL;
  ck_ok(mica_adapter_create(&(mica_adapter_config){.targets = targets}, &adapter));
  network n = build(adapter, NULL);
  *graph = mica_graph_status(n.graph);
  const mica_status status = mica_adapter_freeze_base(adapter, n.nn);
  drop(&n);
  mica_adapter_destroy(adapter);
  return status;
}

START_TEST(targets_that_are_refused) {
  mica_status graph;
  ck_assert_int_eq(freeze("up,q_proj", &graph), MICA_E_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "q_proj"));
  ck_ok(graph);
  freeze("embed", &graph);
  ck_assert_int_eq(graph, MICA_E_UNSUPPORTED);
  freeze("block.norm", &graph);
  ck_assert_int_eq(graph, MICA_E_UNSUPPORTED);
}
END_TEST

START_TEST(configs_that_are_refused) {
  const mica_adapter_config bad[] = {{.rank = -1},     {.rank = 1025},    {.alpha = -2},  {.alpha = NAN},
                                     {.dropout = 1.0}, {.targets = "a,"}, {.targets = ""}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    mica_adapter *adapter = NULL;
    ck_assert_int_eq(mica_adapter_create(&bad[i], &adapter), MICA_E_INVALID);
    ck_assert_ptr_null(adapter);
  }
  ck_assert_int_eq(mica_adapter_create(NULL, NULL), MICA_E_INVALID);
}
END_TEST

/* Notes the head's input, and its result before the adapter. */
static mica_value note_head(void *user, mica_nn *nn, mica_nn_point point, const char *layer, mica_value value) {
  mica_value *noted = user;
  (void)nn;
  if (!strcmp(layer, "head") && point == MICA_NN_POINT_INPUT) noted[0] = value;
  if (!strcmp(layer, "head") && point == MICA_NN_POINT_RESULT) noted[1] = value;
  return value;
}

/* The head computes W x + b + 3 B A x, in a list of two hooks. */
START_TEST(the_product_is_added) {
  float a[2][C], b[2][2], input[N][C], x_values[N][C], before[N][2], after[N][2];
  const int32_t id_values[N] = {1, 2, 3};
  mica_value outputs[3] = {{0}};
  mica_adapter *adapter = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *ids = NULL;
  for (int i = 0; i < 2 * C; i++) a[i / C][i % C] = 0.25F * (float)(i % 5) - 0.3F;
  for (int i = 0; i < 4; i++) b[i / 2][i % 2] = 0.5F - 0.375F * (float)i;
  for (int i = 0; i < N * C; i++) x_values[i / C][i % C] = 0.125F * (float)(i * i % 13) - 0.5F;
  ck_ok(mica_adapter_create(NULL, &adapter));
  ck_ok(mica_adapter_add(
      adapter, &(mica_adapter_layer){
                   .name = "head", .inputs = C, .outputs = 2, .rank = 2, .scale = 3, .a = &a[0][0], .b = &b[0][0]}));
  const mica_nn_hook_entry list[] = {{note_head, outputs}, {mica_adapter_hook, adapter}};
  network n = build(NULL, &(mica_nn_hooks){list, 2});
  outputs[2] = n.y;
  ck_ok(mica_session_create(test_engine(), n.graph, outputs, 3, NULL, &session));
  ck_ok(mica_nn_initialise(n.nn, session));
  ck_ok(mica_adapter_write_to(adapter, n.nn, session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N, C), x_values, &x));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(N), id_values, &ids));
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"x", x}, {"ids", ids}}, 2));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), input, sizeof input));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 1), before, sizeof before));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 2), after, sizeof after));
  for (int i = 0; i < N; i++)
    for (int o = 0; o < 2; o++) {
      double want = (double)before[i][o];
      for (int r = 0; r < 2; r++)
        for (int c = 0; c < C; c++) want += 3 * (double)b[o][r] * (double)a[r][c] * (double)input[i][c];
      ck_assert_double_eq_tol((double)after[i][o], want, 1e-5);
      ck_assert_double_ge(fabs(want - (double)before[i][o]), 1e-3);
    }
  mica_session_destroy(session);
  mica_tensor_destroy(x);
  mica_tensor_destroy(ids);
  drop(&n);
  mica_adapter_destroy(adapter);
}
END_TEST

START_TEST(sizes_that_differ) {
  const float zeros[64] = {0};
  mica_adapter *adapter = NULL;
  const mica_adapter_layer layer = {
      .name = "block.up", .inputs = C + 1, .outputs = H, .rank = 2, .scale = 1, .a = zeros, .b = zeros};
  ck_ok(mica_adapter_create(NULL, &adapter));
  ck_ok(mica_adapter_add(adapter, &layer));
  ck_assert_int_eq(mica_adapter_add(adapter, &layer), MICA_E_INVALID);
  network n = build(adapter, NULL);
  ck_assert_int_eq(mica_graph_status(n.graph), MICA_E_SHAPE);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(n.graph), "6 inputs"));
  drop(&n);
  mica_adapter_destroy(adapter);
}
END_TEST

TESTS(DEVICE, NULL, NULL, targets_name_layers, long_targets, targets_that_are_refused, configs_that_are_refused,
      the_product_is_added, sizes_that_differ)
