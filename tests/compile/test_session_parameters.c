/* labels: device single
 *
 * Parameters whose memory a session is given: by another session, by the caller, and what does not fit. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/graph_run.h"

#include <mica/mica.h>
#include <string.h>

static mica_status create(mica_value output, const mica_session_config *config, mica_session **session) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  return mica_session_create(test_engine(), graph, &output, 1, config, session);
}

static void expect(mica_session *session, const float *wanted, size_t count) {
  float got[16];
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, count * sizeof *got));
  for (size_t i = 0; i < count; i++) ck_assert_float_eq(got[i], wanted[i]);
}

static uint64_t own_bytes(mica_session *session) {
  mica_session_report report;
  ck_ok(mica_session_describe(session, &report));
  return report.parameter_bytes;
}

/* The weights outlive the session that made them. */
START_TEST(a_session_shares_anothers) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2)),
             b = mica_parameter(graph, "b", MICA_F32, MICA_SHAPE(2));
  mica_session *first, *second;
  ck_ok(create(mica_mul(w, w), NULL, &first));
  graph_upload(mica_session_parameter(first, "w"), (float[]){2, 3});
  ck_ok(create(mica_add(w, b), &(mica_session_config){.share = first}, &second));
  graph_upload(mica_session_parameter(second, "b"), (float[]){10, 20});
  expect(second, (float[]){12, 23}, 2);
  graph_upload(mica_session_parameter(second, "w"), (float[]){4, 5});
  expect(first, (float[]){16, 25}, 2);
  mica_session_destroy(first);
  expect(second, (float[]){14, 25}, 2);
  mica_session_destroy(second);
}
END_TEST

/* What one session assigns the other reads, in order of the calls. */
START_TEST(training_is_seen_by_inference) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2)), square = mica_square(w);
  mica_session *infer, *train;
  ck_ok(create(square, NULL, &infer));
  mica_assign(w, mica_affine(w, 1, 1));
  ck_ok(create(w, &(mica_session_config){.share = infer}, &train));
  for (int i = 0; i < 3; i++) {
    expect(infer, (float[]){(float)(i * i), (float)(i * i)}, 2);
    expect(train, (float[]){(float)i, (float)i}, 2);
  }
  ck_assert_uint_eq(own_bytes(train), 0);
  mica_session_destroy(train);
  mica_session_destroy(infer);
}
END_TEST

START_TEST(bindings_come_before_what_is_shared) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2)),
             b = mica_parameter(graph, "b", MICA_F32, MICA_SHAPE(2));
  mica_value s = mica_parameter(graph, "s", MICA_F32, MICA_SHAPE(2)), y = mica_add(mica_mul(w, b), s);
  mica_parameter(graph, "unused", MICA_F32, MICA_SHAPE(7));
  mica_session *first, *second;
  mica_tensor *caller;
  ck_ok(create(y, NULL, &first));
  graph_upload(mica_session_parameter(first, "w"), (float[]){2, 3});
  graph_upload(mica_session_parameter(first, "b"), (float[]){1, 1});
  graph_upload(mica_session_parameter(first, "s"), (float[]){7, 7});
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2), (float[]){5, 6}, &caller));
  mica_binding bindings[] = {{"b", caller}, {"s", NULL}, {"unused", caller}};
  ck_ok(create(y, &(mica_session_config){.share = first, .parameters = bindings, .parameter_count = 3}, &second));
  ck_assert_uint_eq(3 * own_bytes(second), own_bytes(first)); /* "s" alone */
  expect(second, (float[]){10, 18}, 2);
  graph_upload(caller, (float[]){1, 2});
  mica_tensor_destroy(caller);
  expect(second, (float[]){2, 6}, 2);
  expect(first, (float[]){9, 10}, 2);
  mica_session_destroy(second);
  mica_session_destroy(first);
}
END_TEST

static void expect_error(mica_value y, const mica_session_config *config, mica_status status, const char *text) {
  mica_session *session = NULL;
  ck_assert_int_eq(create(y, config, &session), status);
  ck_assert_ptr_null(session);
  ck_assert_msg(strstr(mica_error_message(), text) != NULL, "no '%s' in: %s", text, mica_error_message());
}

START_TEST(what_does_not_fit_names_both_sides) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2, 3)),
             x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3));
  mica_value y = mica_add(w, x);
  mica_tensor *tensor, *integers, *swapped, *all, *odd;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(3, 2), &tensor));
  ck_ok(mica_tensor_transpose(tensor, &swapped));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(2, 3), &integers));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(7), &all));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(2, 3), NULL, 1, &odd));
  const struct {
    mica_binding binding;
    mica_status status;
    const char *text;
  } table[] = {{{"w", tensor}, MICA_E_SHAPE, "'w' is f32 (3, 2), but the parameter is f32 (2, 3)"},
               {{"w", integers}, MICA_E_DTYPE, "'w' is i32 (2, 3), but the parameter is f32 (2, 3)"},
               {{"w", swapped}, MICA_E_INVALID, "'w' is not contiguous"},
               {{"w", odd}, MICA_E_INVALID, "'w' does not begin at a multiple of 64 bytes"},
               {{"v", tensor}, MICA_E_NOT_FOUND, "no parameter 'v'"},
               {{"x", tensor}, MICA_E_NOT_FOUND, "no parameter 'x'"},
               {{NULL, tensor}, MICA_E_INVALID, "no name"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    expect_error(y, &(mica_session_config){.parameters = &table[i].binding, .parameter_count = 1}, table[i].status,
                 table[i].text);
  mica_binding twice[] = {{"w", NULL}, {"w", NULL}};
  expect_error(y, &(mica_session_config){.parameters = twice, .parameter_count = 2}, MICA_E_INVALID, "given twice");
  expect_error(y, &(mica_session_config){.parameter_count = 1}, MICA_E_INVALID, "NULL");
  mica_graph *other;
  mica_session *owner;
  ck_ok(mica_graph_create(&other));
  mica_value v = mica_parameter(other, "w", MICA_F32, MICA_SHAPE(6));
  ck_ok(mica_session_create(test_engine(), other, &v, 1, NULL, &owner));
  expect_error(y, &(mica_session_config){.share = owner}, MICA_E_SHAPE,
               "'w' is f32 (6), but the parameter is f32 (2, 3)");
  mica_session_destroy(owner);
  mica_graph_destroy(other);
  mica_tensor *tensors[] = {tensor, integers, swapped, all, odd};
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) mica_tensor_destroy(tensors[i]);
}
END_TEST

/* --- the weights of ResNet-50, once: on the null device, which counts bytes like any other --- */

START_TEST(parameters_do_not_overlap) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(16)),
             b = mica_parameter(graph, "b", MICA_F32, MICA_SHAPE(16));
  mica_value sum = mica_add(w, b);
  mica_session *session = NULL, *other = NULL, *second = NULL;
  mica_tensor *both, *part[2], *rest;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(64), &both));
  ck_ok(mica_tensor_view(both, MICA_SHAPE(16), NULL, 0, &part[0]));
  ck_ok(mica_tensor_view(both, MICA_SHAPE(16), NULL, 16, &part[1]));
  ck_ok(mica_tensor_view(both, MICA_SHAPE(16), NULL, 48, &rest));
  mica_binding bindings[] = {{"w", part[0]}, {"b", part[0]}};
  const mica_session_config config = {.parameters = bindings, .parameter_count = 2};
  ck_assert_int_eq(create(sum, &config, &session), MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(), "mica_session_create: the tensor for 'b' overlaps that of 'w'");
  bindings[1].tensor = part[1];
  ck_ok(create(sum, &config, &session));
  ck_assert_int_eq(mica_session_share(session, "b", part[0]), MICA_E_INVALID);
  ck_ok(mica_session_share(session, "b", rest));
  ck_ok(mica_session_share(session, "b", rest));
  /* One of another session's, and one that is given in its memory. */
  bindings[0].tensor = rest;
  ck_assert_int_eq(
      create(sum, &(mica_session_config){.share = session, .parameters = bindings, .parameter_count = 1}, &other),
      MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "the tensor for 'b' overlaps that of 'w'"));
  /* An output is in no parameter's memory, nor comes a parameter to an output's. */
  ck_assert_int_eq(mica_session_bind_output(session, 0, part[0]), MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(),
                   "mica_session_bind_output: the tensor for output 0 overlaps the parameter 'w'");
  ck_ok(mica_session_bind_output(session, 0, part[1]));
  ck_assert_int_eq(mica_session_share(session, "b", part[1]), MICA_E_INVALID);
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  /* Another engine's session has nothing to share. */
  mica_engine *engine = NULL;
  mica_graph *elsewhere = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  ck_ok(mica_graph_create(&elsewhere));
  mica_value x = mica_input(elsewhere, "x", MICA_F32, MICA_SHAPE(2)), y = mica_exp(x);
  ck_ok(mica_session_create(engine, elsewhere, &y, 1, NULL, &second));
  ck_assert_int_eq(create(sum, &(mica_session_config){.share = second}, &other), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "belongs to another engine"));
  mica_session_destroy(second);
  mica_graph_destroy(elsewhere);
  mica_engine_destroy(engine);
  mica_session_destroy(session);
  mica_tensor *all[] = {both, part[0], part[1], rest};
  for (int i = 0; i < 4; i++) mica_tensor_destroy(all[i]);
}
END_TEST

static mica_session *resnet(mica_engine *engine, int64_t batch, bool training, mica_session *share) {
  mica_graph *network;
  mica_nn *nn;
  mica_session *session;
  ck_ok(mica_graph_create(&network));
  ck_ok(mica_nn_create(network, &(mica_nn_config){.training = training}, &nn));
  mica_value x = mica_input(network, "x", MICA_F32, MICA_SHAPE(batch, 3, 64, 64));
  mica_value y = mica_model_build(nn, x, &(mica_model_config){.name = "resnet50", .input = {3, {3, 64, 64}}});
  mica_value loss = mica_mean(mica_square(y), MICA_ALL_AXES, false);
  if (training) mica_optimize(nn, loss, &(mica_optimizer_config){.momentum = 0.9}, NULL);
  ck_ok(
      mica_session_create(engine, network, training ? &loss : &y, 1, &(mica_session_config){.share = share}, &session));
  mica_nn_destroy(nn);
  mica_graph_destroy(network);
  return session;
}

START_TEST(resnet50_holds_its_weights_once) {
  mica_engine *engine;
  uint64_t weights = 0;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  mica_session *single = resnet(engine, 1, false, NULL), *pair[2];
  uint64_t alone = mica_engine_stats(engine).bytes_in_use;
  mica_session_report report;
  ck_ok(mica_session_describe(single, &report));
  weights = report.parameter_bytes;
  ck_assert_uint_gt(weights, 23000000 * sizeof(float));
  /* Whoever sums up what two sessions take: twice the same batch, less the weights. */
  pair[0] = resnet(engine, 1, false, single);
  ck_assert_uint_lt(mica_engine_stats(engine).bytes_in_use, 2 * alone - weights + weights / 100);
  pair[1] = resnet(engine, 8, true, single);
  ck_ok(mica_session_describe(pair[1], &report));
  /* The optimizer's momentum is the training's own. */
  ck_assert_uint_lt(report.parameter_bytes, weights + weights / 100);
  ck_assert_ptr_nonnull(mica_session_parameter(pair[1], "fc.weight"));
  for (int i = 0; i < 2; i++) mica_session_destroy(pair[i]);
  mica_session_destroy(single);
  ck_assert_uint_eq(mica_engine_stats(engine).bytes_in_use, 0);
  mica_engine_destroy(engine);
}
END_TEST

TESTS(DEVICE, graph_setup, graph_teardown, a_session_shares_anothers, training_is_seen_by_inference,
      bindings_come_before_what_is_shared, what_does_not_fit_names_both_sides, parameters_do_not_overlap,
      resnet50_holds_its_weights_once)
