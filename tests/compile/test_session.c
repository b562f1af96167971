/* labels: device
 *
 * Sessions: what they compute where order matters, what they plan, and what they say to wrong uses. */
#include "runtime/launch.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/graph_run.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_session *session_of(const mica_value *outputs, size_t count) {
  mica_session *session = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
  return session;
}

static mica_session_report report_of(mica_session *session) {
  mica_session_report report;
  ck_ok(mica_session_describe(session, &report));
  return report;
}

static void run(mica_session *session) { ck_ok(mica_session_run(session, test_queue(), NULL, 0)); }

START_TEST(sources_and_views_can_be_outputs) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2, 3));
  mica_value outputs[] = {w, w, mica_transpose(w, MICA_ALL_AXES), mica_full(graph, MICA_F32, MICA_SHAPE(2), 4),
                          mica_constant(graph, MICA_F32, MICA_SHAPE(2), (float[]){7, 8})};
  mica_session *session = session_of(outputs, 5);
  graph_upload(mica_session_parameter(session, "w"), (float[]){1, 2, 3, 4, 5, 6});
  run(session);
  graph_expect(mica_session_output(session, 0), (float[]){1, 2, 3, 4, 5, 6}, 6);
  graph_expect(mica_session_output(session, 1), (float[]){1, 2, 3, 4, 5, 6}, 6);
  graph_expect(mica_session_output(session, 2), (float[]){1, 4, 2, 5, 3, 6}, 6);
  graph_expect(mica_session_output(session, 3), (float[]){4, 4}, 2);
  graph_expect(mica_session_output(session, 4), (float[]){7, 8}, 2);
  ck_assert_ptr_null(mica_session_output(session, 5));
  mica_session_destroy(session);
}
END_TEST

START_TEST(parameters_begin_as_zeros) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(3));
  mica_session *session = session_of(&w, 1);
  run(session);
  graph_expect(mica_session_output(session, 0), (float[]){0, 0, 0}, 3);
  mica_session_destroy(session);
}
END_TEST

START_TEST(parameters_are_swapped) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(2)),
             q = mica_parameter(graph, "q", MICA_F32, MICA_SHAPE(2));
  mica_assign(p, q);
  mica_assign(q, p);
  mica_session *session = session_of(NULL, 0);
  graph_upload(mica_session_parameter(session, "p"), (float[]){1, 2});
  graph_upload(mica_session_parameter(session, "q"), (float[]){3, 4});
  run(session);
  graph_expect(mica_session_parameter(session, "p"), (float[]){3, 4}, 2);
  graph_expect(mica_session_parameter(session, "q"), (float[]){1, 2}, 2);
  run(session);
  graph_expect(mica_session_parameter(session, "p"), (float[]){1, 2}, 2);
  mica_session_destroy(session);
}
END_TEST

/* Every element of the new value needs every other of the old one. */
START_TEST(a_parameter_is_reversed_in_its_place) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(4));
  mica_assign(p, mica_affine(mica_flip(p, MICA_AXES(0)), 2, 0));
  mica_session *session = session_of(NULL, 0);
  graph_upload(mica_session_parameter(session, "p"), (float[]){1, 2, 3, 4});
  run(session);
  graph_expect(mica_session_parameter(session, "p"), (float[]){8, 6, 4, 2}, 4);
  mica_session_destroy(session);
}
END_TEST

/* What reads the old value runs before it is overwritten, though it was built later. */
START_TEST(the_old_value_is_read_before_it_goes) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3));
  mica_value next = mica_affine(p, 1, 1);
  mica_assign(p, next);
  mica_value outputs[] = {mica_sum(mica_square(p), MICA_ALL_AXES, false), mica_sum(next, MICA_ALL_AXES, false),
                          mica_mul(mica_flip(p, MICA_AXES(0)), next)};
  mica_session *session = session_of(outputs, 3);
  graph_upload(mica_session_parameter(session, "p"), (float[]){1, 2, 3});
  run(session);
  graph_expect(mica_session_output(session, 0), (float[]){14}, 1);
  graph_expect(mica_session_output(session, 1), (float[]){9}, 1);
  graph_expect(mica_session_output(session, 2), (float[]){6, 6, 4}, 3);
  graph_expect(mica_session_parameter(session, "p"), (float[]){2, 3, 4}, 3);
  mica_session_destroy(session);
}
END_TEST

START_TEST(feeds_may_change_and_begin_anywhere) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(3)), y = mica_affine(x, 2, 0);
  mica_session *session = session_of(&y, 1);
  mica_tensor *all, *odd;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(6), (float[]){1, 2, 3, 4, 5, 6}, &all));
  for (int first = 0; first < 4; first++) {
    ck_ok(mica_tensor_view(all, MICA_SHAPE(3), NULL, first, &odd));
    ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", odd}, 1));
    mica_tensor_destroy(odd);
    graph_expect(mica_session_output(session, 0),
                 (float[]){2 * (float)(first + 1), 2 * (float)(first + 2), 2 * (float)(first + 3)}, 3);
  }
  mica_tensor_destroy(all);
  mica_session_destroy(session);
}
END_TEST

/* One chain of pointwise ops is one launch, and reads and writes memory once. */
START_TEST(a_chain_is_one_kernel) {
  mica_shape shape = MICA_SHAPE(64, 100);
  mica_value a = mica_input(graph, "a", MICA_F32, shape), b = mica_input(graph, "b", MICA_F32, shape);
  mica_value c = mica_input(graph, "c", MICA_F32, shape), d = mica_input(graph, "d", MICA_F32, shape);
  mica_value y = mica_mul(mica_gelu(mica_add(mica_mul(a, b), c)), d);
  mica_session *session = session_of(&y, 1);
  char *text = NULL;
  ck_assert_uint_eq(report_of(session).launches, 1);
  ck_assert_uint_eq(report_of(session).planned_bytes, 0);
  ck_ok(mica_session_dump(session, &text));
  ck_assert_msg(strstr(text, "mul add gelu mul") != NULL, "%s", text);
  mica_free(text);
  ck_ok(mica_session_kernel_source(session, 0, &text));
  ck_assert_msg(strstr(text, "__kernel") != NULL, "%s", text);
  mica_free(text);
  ck_assert_int_eq(mica_session_kernel_source(session, 1, &text), MICA_E_NOT_FOUND);
  mica_session_destroy(session);
}
END_TEST

/* -x is needed by two kernels, which each take it from x: nothing but the results is stored. Its exponential is stored,
 * since computing that twice is dear. */
START_TEST(cheap_values_are_computed_again) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(20, 30)), cheap = mica_neg(x), dear = mica_exp(x);
  mica_value outputs[] = {mica_sum(cheap, MICA_AXES(0), false), mica_sum(cheap, MICA_AXES(1), false)};
  mica_session *session = session_of(outputs, 2);
  ck_assert_uint_eq(report_of(session).launches, 2);
  ck_assert_uint_eq(report_of(session).planned_bytes, 0);
  mica_session_destroy(session);
  outputs[0] = mica_sum(dear, MICA_AXES(0), false), outputs[1] = mica_sum(dear, MICA_AXES(1), false);
  session = session_of(outputs, 2);
  ck_assert_uint_eq(report_of(session).launches, 2);
  ck_assert_uint_ge(report_of(session).planned_bytes, 20 * 30 * sizeof(float));
  mica_session_destroy(session);
}
END_TEST

/* A product reads half precision as it is, and scales, adds and bends its result as it stores it. */
START_TEST(a_product_takes_what_stands_around_it) {
  static const uint16_t halves[] = {0x3c00, 0x4000, 0xbc00, 0xc000}; /* 1 2 -1 -2 */
  mica_value x = mica_input(graph, "x", MICA_F16, MICA_SHAPE(2, 2)),
             w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2, 2));
  mica_value b = mica_constant(graph, MICA_F32, MICA_SHAPE(2), (float[]){1, -1});
  mica_value product = mica_gemm(mica_cast(x, MICA_F32), w, b, 0.5, 1), y = mica_relu(product);
  mica_session *session = session_of(&y, 1);
  mica_tensor *tensor;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F16, MICA_SHAPE(2, 2), halves, &tensor));
  graph_upload(mica_session_parameter(session, "w"), (float[]){2, 4, 6, 8});
  ck_assert_uint_eq(report_of(session).launches, 1);
  ck_assert_uint_eq(report_of(session).planned_bytes, 0);
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", tensor}, 1));
  graph_expect(mica_session_output(session, 0), (float[]){8, 9, 0, 0}, 4);
  mica_tensor_destroy(tensor);
  mica_session_destroy(session);
}
END_TEST

/* What is padded or put together is read from its parts: no launch makes it. */
START_TEST(padding_and_parts_are_read_in_place) {
  mica_value x = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(2, 3)),
             y = mica_parameter(graph, "y", MICA_F32, MICA_SHAPE(2, 2));
  mica_value all = mica_concat((mica_value[]){x, y, mica_flip(x, MICA_AXES(1))}, 3, 1);
  mica_value padded =
      mica_pad(mica_transpose(x, MICA_ALL_AXES), (int64_t[]){2, 0}, (int64_t[]){3, 0}, MICA_PAD_MODE_CONSTANT, 0.5);
  mica_value outputs[] = {mica_add(all, mica_transpose(padded, MICA_ALL_AXES)), mica_sum(all, MICA_AXES(1), false)};
  mica_session *session = session_of(outputs, 2);
  graph_upload(mica_session_parameter(session, "x"), (float[]){1, 2, 3, 4, 5, 6});
  graph_upload(mica_session_parameter(session, "y"), (float[]){10, 20, 30, 40});
  ck_assert_uint_eq(report_of(session).launches, 1);
  run(session);
  graph_expect(mica_session_output(session, 0),
               (float[]){1.5, 2.5, 4, 12, 23, 3.5, 2.5, 1.5, 4.5, 5.5, 10, 35, 46, 6.5, 5.5, 4.5}, 16);
  graph_expect(mica_session_output(session, 1), (float[]){42, 100}, 2);
  mica_session_destroy(session);
}
END_TEST

/* Twenty tensors, each read across in another way: one kernel would have more arguments than kernels may have. */
START_TEST(kernels_of_many_arguments_are_parted) {
  enum { N = 20, COUNT = 2 * 3 * 4 * 5 };
  static float data[COUNT], wanted[COUNT];
  float got[COUNT];
  mica_feed feeds[N];
  mica_tensor *tensors[N];
  mica_value y = mica_full(graph, MICA_F32, MICA_SHAPE(5, 4, 3, 2), 0);
  static char names[N][8];
  for (int i = 0; i < COUNT; i++) data[i] = (float)(i % 17);
  for (int n = 0; n < N; n++) {
    snprintf(names[n], sizeof names[n], "x%d", n);
    mica_value x = mica_input(graph, names[n], MICA_F32, MICA_SHAPE(2, 3, 4, 5));
    y = mica_add(y, mica_affine(mica_transpose(x, MICA_ALL_AXES), 20 + n, 0));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, 3, 4, 5), data, &tensors[n]));
    feeds[n] = (mica_feed){names[n], tensors[n]};
  }
  for (int i = 0; i < COUNT; i++)
    wanted[i] = (float)(N * 20 + N * (N - 1) / 2) * data[i % 2 * 60 + i / 2 % 3 * 20 + i / 6 % 4 * 5 + i / 24];
  mica_session *session = session_of(&y, 1);
  ck_assert_uint_gt(report_of(session).launches, 1);
  ck_ok(mica_session_run(session, test_queue(), feeds, N));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, sizeof got));
  ck_assert_mem_eq(got, wanted, sizeof got);
  for (int n = 0; n < N; n++) mica_tensor_destroy(tensors[n]);
  mica_session_destroy(session);
}
END_TEST

START_TEST(softmax_is_one_kernel) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(32, 100));
  mica_value e = mica_exp(mica_sub(x, mica_max(x, MICA_AXES(1), true)));
  mica_value y = mica_div(e, mica_sum(e, MICA_AXES(-1), true));
  mica_session *session = session_of(&y, 1);
  ck_assert_uint_eq(report_of(session).launches, 1);
  mica_session_destroy(session);
}
END_TEST

/* Fifty layers need two activations at a time in inference. */
START_TEST(a_deep_chain_keeps_few_activations) {
  enum { LAYERS = 50, N = 64 };
  mica_value h = mica_input(graph, "x", MICA_F32, MICA_SHAPE(N, N));
  for (int i = 0; i < LAYERS; i++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", i);
    h = mica_relu(mica_matmul(h, mica_parameter(graph, name, MICA_F32, MICA_SHAPE(N, N))));
  }
  mica_session *session = session_of(&h, 1);
  mica_session_report report = report_of(session);
  printf("chain of %d layers: %zu launches, planned %llu bytes, unplanned %llu\n", LAYERS, report.launches,
         (unsigned long long)report.planned_bytes, (unsigned long long)report.unplanned_bytes);
  ck_assert_uint_le(report.planned_bytes, 4 * N * N * sizeof(float));
  ck_assert_uint_ge(report.unplanned_bytes, (LAYERS - 1) * N * N * sizeof(float));
  mica_session_destroy(session);
}
END_TEST

/* The bytes that training a chain of layers plans, with a checkpoint every so many of them (0: none). */
static uint64_t training_bytes(int layers, int every) {
  enum { N = 64 };
  mica_value h = mica_input(graph, "x", MICA_F32, MICA_SHAPE(N, N)), wrt[64], grads[64];
  for (int i = 0; i < layers; i++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", i);
    wrt[i] = mica_parameter(graph, name, MICA_F32, MICA_SHAPE(N, N));
    h = mica_tanh(mica_matmul(h, wrt[i]));
    if (every && i % every == every - 1) mica_checkpoint(h);
  }
  ck_ok(mica_gradients(mica_sum(h, MICA_ALL_AXES, false), wrt, (size_t)layers, grads));
  for (int i = 0; i < layers; i++) mica_assign(wrt[i], mica_sub(wrt[i], mica_affine(grads[i], 0.1, 0)));
  mica_session *session = session_of(NULL, 0);
  mica_session_report report = report_of(session);
  mica_session_destroy(session);
  graph_teardown();
  graph_setup();
  return report.planned_bytes;
}

START_TEST(checkpoints_save_memory) {
  uint64_t plain = training_bytes(36, 0), checkpointed = training_bytes(36, 6);
  printf("training 36 layers: planned %llu bytes, with 6 checkpoints %llu\n", (unsigned long long)plain,
         (unsigned long long)checkpointed);
  ck_assert_uint_ge(plain, 36 * 64 * 64 * sizeof(float));
  ck_assert_uint_le(checkpointed, plain / 2);
}
END_TEST

/* Sums of a long row, one after the other, each by launches of its own. */
static mica_session_report sums_of_a_long_row(int count) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1 << 18)), s = mica_scalar(graph, MICA_F32, 1);
  for (int i = 0; i < count; i++) s = mica_sum(mica_mul(x, s), MICA_ALL_AXES, false);
  mica_session *session = NULL;
  ck_ok(mica_session_create(test_engine(), graph, &s, 1, &(mica_session_config){.no_fusion = true}, &session));
  mica_session_report report = report_of(session);
  mica_session_destroy(session);
  graph_teardown();
  graph_setup();
  return report;
}

START_TEST(launches_share_workspace) {
  mica_session_report one = sums_of_a_long_row(1), three = sums_of_a_long_row(3);
  ck_assert_uint_gt(one.workspace_bytes, 0);
  ck_assert_uint_eq(three.workspace_bytes, one.workspace_bytes);
}
END_TEST

/* The size of a weight: enough elements to be worth packing. */
#define ROWS 256
#define COLS 72

/* y = x w where w is `value` everywhere and the two rows of x sum up to 512 and to 256. */
static void expect_product(mica_session *session, float value) {
  float got[2][COLS];
  run(session);
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, sizeof got));
  for (int j = 0; j < COLS; j++) {
    ck_assert_float_eq(got[0][j], 512 * value);
    ck_assert_float_eq(got[1][j], 256 * value);
  }
}

/* What ops precompute of weights is made anew when these have changed, however that came about, and only then. */
START_TEST(what_was_made_of_a_weight_follows_it) {
  float rows[2][ROWS];
  for (int i = 0; i < ROWS; i++) rows[0][i] = i % 2 ? 3.0f : 1.0f, rows[1][i] = i % 2 ? 2.0f : 0.0f;
  mica_value x = mica_constant(graph, MICA_F32, MICA_SHAPE(2, ROWS), rows);
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(ROWS, COLS)), y = mica_matmul(x, w);
  mica_session *infer = session_of(&y, 1);
  mica_assign(w, mica_affine(w, 1, 1));
  mica_session *train = session_of(NULL, 0);
  mica_tensor *weight = mica_session_parameter(infer, "w"), *other = NULL;
  void *mapped = NULL;
  expect_product(infer, 0);
  ck_ok(mica_op_fill(test_queue(), 2, weight));
  expect_product(infer, 2);
  ck_ok(mica_tensor_map(test_queue(), weight, MICA_MAP_MODE_WRITE, &mapped));
  for (int i = 0; i < ROWS * COLS; i++) ((float *)mapped)[i] = 3;
  ck_ok(mica_tensor_unmap(test_queue(), weight, mapped));
  expect_product(infer, 3);
  ck_ok(mica_session_share(train, "w", weight));
  run(train);
  expect_product(infer, 4);
  run(train);
  expect_product(infer, 5);
  uint64_t before = mica__launch_total();
  expect_product(infer, 5);
  ck_assert_uint_eq(mica__launch_total() - before, report_of(infer).launches);
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(ROWS, COLS), &other));
  ck_ok(mica_op_fill(test_queue(), 7, other));
  ck_ok(mica_session_share(infer, "w", other));
  expect_product(infer, 7);
  /* Whoever holds the OpenCL memory may write to it unseen. */
  size_t at = 0, bytes = sizeof(float[ROWS * COLS]);
  cl_mem memory = mica_tensor_opencl(other, &at);
  expect_product(infer, 7);
  ck_assert_int_eq(clEnqueueFillBuffer(mica_queue_opencl(test_queue()), memory, &(float){9}, sizeof(float), at, bytes,
                                       0, NULL, NULL),
                   CL_SUCCESS);
  expect_product(infer, 9);
  mica_tensor_destroy(other);
  mica_session_destroy(train);
  mica_session_destroy(infer);
}
END_TEST

START_TEST(wrong_sessions) {
  mica_session *session;
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2)), null = {0};
  ck_assert_int_eq(mica_session_create(NULL, graph, &x, 1, NULL, &session), MICA_E_INVALID);
  ck_assert_int_eq(mica_session_create(test_engine(), NULL, &x, 1, NULL, &session), MICA_E_INVALID);
  ck_assert_int_eq(mica_session_create(test_engine(), graph, NULL, 1, NULL, &session), MICA_E_INVALID);
  ck_assert_int_eq(mica_session_create(test_engine(), graph, &null, 1, NULL, &session), MICA_E_INVALID);
  mica_add(x, mica_input(graph, "y", MICA_F32, MICA_SHAPE(3)));
  ck_assert_int_eq(mica_session_create(test_engine(), graph, &x, 1, NULL, &session), MICA_E_SHAPE);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "(2)"));
  mica_session_destroy(NULL);
}
END_TEST

static void expect_run(mica_session *session, const mica_feed *feeds, size_t count, mica_status status,
                       const char *text) {
  ck_assert_int_eq(mica_session_run(session, test_queue(), feeds, count), status);
  ck_assert_msg(strstr(mica_error_message(), text) != NULL, "no '%s' in: %s", text, mica_error_message());
}

START_TEST(wrong_runs) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 2));
  mica_value unused = mica_input(graph, "unused", MICA_F32, MICA_SHAPE(MICA_DYNAMIC)), y = mica_exp(x);
  mica_session *session = session_of(&y, 1);
  mica_session_report report;
  mica_tensor *good, *long_one, *integers, *strided;
  char *text = NULL;
  (void)unused;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(4, 2), &good));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, 4), &long_one));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(4, 2), &integers));
  ck_ok(mica_tensor_transpose(long_one, &strided));
  ck_assert_int_eq(mica_session_describe(session, &report), MICA_E_STATE);
  ck_assert_int_eq(mica_session_dump(session, &text), MICA_E_STATE);
  ck_assert_ptr_null(mica_session_output(session, 0));
  ck_assert_ptr_null(mica_session_parameter(session, "w"));
  expect_run(session, NULL, 0, MICA_E_INVALID, "'x' is not fed");
  expect_run(session, &(mica_feed){"z", good}, 1, MICA_E_NOT_FOUND, "'z'");
  expect_run(session, (mica_feed[]){{"x", good}, {"x", good}}, 2, MICA_E_INVALID, "'x' is fed twice");
  expect_run(session, &(mica_feed){"x", long_one}, 1, MICA_E_SHAPE, "f32 (?, 2), but was fed f32 (2, 4)");
  expect_run(session, &(mica_feed){"x", integers}, 1, MICA_E_DTYPE, "i32 (4, 2)");
  expect_run(session, &(mica_feed){"x", strided}, 1, MICA_E_INVALID, "'x' is not contiguous");
  expect_run(session, &(mica_feed){"x", NULL}, 1, MICA_E_INVALID, "NULL");
  ck_assert_int_eq(mica_session_share(session, "w", good), MICA_E_NOT_FOUND);
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", good}, 1));
  mica_tensor_destroy(good);
  mica_tensor_destroy(strided);
  mica_tensor_destroy(long_one);
  mica_tensor_destroy(integers);
  mica_session_destroy(session);
}
END_TEST

START_TEST(wrong_shares) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2, 3));
  mica_session *session = session_of(&w, 1);
  mica_tensor *tensor, *swapped, *integers;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(3, 2), &tensor));
  ck_ok(mica_tensor_transpose(tensor, &swapped));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(2, 3), &integers));
  ck_assert_int_eq(mica_session_share(session, "w", tensor), MICA_E_SHAPE);
  ck_assert_int_eq(mica_session_share(session, "w", integers), MICA_E_DTYPE);
  ck_assert_int_eq(mica_session_share(session, "w", swapped), MICA_E_INVALID);
  ck_assert_int_eq(mica_session_share(session, NULL, tensor), MICA_E_INVALID);
  mica_tensor_destroy(integers);
  mica_tensor_destroy(swapped);
  mica_tensor_destroy(tensor);
  mica_session_destroy(session);
}
END_TEST

/* --- norms of an inference, moved into the convolutions before them --- */

#define NORM_CHANNELS 4

static mica_value norm_of(mica_value x) {
  static const char *const names[] = {"scale", "shift", "mean", "variance"};
  mica_value p[4];
  for (int i = 0; i < 4; i++) p[i] = mica_parameter(graph, names[i], MICA_F32, MICA_SHAPE(NORM_CHANNELS));
  return mica_batch_norm(x, p[0], p[1], p[2], p[3], 1e-3);
}

/* Numbers of a sort in (0.5, 1.5), a different sequence for each seed. */
static void fill_tensor(mica_tensor *tensor, uint32_t seed) {
  float data[512];
  size_t count = mica_tensor_bytes(tensor) / sizeof *data;
  ck_assert_uint_le(count, 512);
  for (size_t i = 0; i < count; i++) data[i] = 0.5f + (float)((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-24f;
  graph_upload(tensor, data);
}

/* Runs the session on a given x and parameters; the result's elements go to out. */
static size_t run_on(mica_session *session, mica_tensor *x, uint32_t seed, float out[512]) {
  static const char *const names[] = {"w", "scale", "shift", "mean", "variance"};
  for (uint32_t i = 0; i < 5; i++) fill_tensor(mica_session_parameter(session, names[i]), seed + i);
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
  const mica_tensor *y = mica_session_output(session, 0);
  ck_assert_uint_le(mica_tensor_bytes(y), 512 * sizeof *out);
  ck_ok(mica_tensor_download(test_queue(), y, out, mica_tensor_bytes(y)));
  return mica_tensor_bytes(y) / sizeof *out;
}

/* y is made of "x", "w" and the norm's parameters: compiled, it takes so many launches a run, and gives what the graph
 * gives as it is, also when parameters have changed. */
static void expect_launches(mica_value y, mica_shape x_shape, size_t launches) {
  mica_session_config as_it_is = {.no_simplify = true, .no_fusion = true};
  mica_session *compiled = session_of(&y, 1), *plain = NULL;
  mica_tensor *x = NULL;
  float got[512], wanted[512];
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, &as_it_is, &plain));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, x_shape, &x));
  fill_tensor(x, 1);
  for (uint32_t seed = 10; seed <= 30; seed += 10) {
    size_t count = run_on(compiled, x, seed, got);
    ck_assert_uint_eq(run_on(plain, x, seed, wanted), count);
    for (size_t i = 0; i < count; i++)
      ck_assert_msg(fabsf(got[i] - wanted[i]) <= 1e-4f * (1 + fabsf(wanted[i])), "element %zu: %g, not %g", i,
                    (double)got[i], (double)wanted[i]);
  }
  ck_assert_uint_eq(report_of(compiled).launches, launches);
  mica_tensor_destroy(x);
  mica_session_destroy(plain);
  mica_session_destroy(compiled);
}

START_TEST(a_norm_behind_a_convolution_is_filters_and_a_bias) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3, 5, 5));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(NORM_CHANNELS, 3, 3, 3));
  expect_launches(mica_relu(norm_of(mica_conv(x, w, (mica_value){0}, NULL))), MICA_SHAPE(2, 3, 5, 5), 1);
}
END_TEST

START_TEST(a_norm_behind_a_transposed_convolution_too) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3, 3, 3));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(3, NORM_CHANNELS, 3, 3));
  expect_launches(norm_of(mica_conv_transpose(x, w, (mica_value){0}, NULL)), MICA_SHAPE(2, 3, 3, 3), 1);
}
END_TEST

START_TEST(a_convolution_of_other_users_keeps_its_norm) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3, 5, 5));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(NORM_CHANNELS, 3, 3, 3));
  mica_value y = mica_conv(x, w, (mica_value){0}, NULL);
  expect_launches(mica_mul(norm_of(y), y), MICA_SHAPE(2, 3, 5, 5), 2);
}
END_TEST

/* What stays as it is, but is an output too, is written by each run, and read where it was written. */
START_TEST(an_output_is_written_by_each_run) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2, 2)), square = mica_matmul(w, w);
  mica_value outputs[] = {square, mica_matmul(mica_matmul(square, w), w)};
  mica_session *session = session_of(outputs, 2);
  graph_upload(mica_session_parameter(session, "w"), (float[]){1, 1, 0, 1});
  run(session);
  graph_expect(mica_session_output(session, 0), (float[]){1, 2, 0, 1}, 4);
  graph_expect(mica_session_output(session, 1), (float[]){1, 4, 0, 1}, 4);
  graph_upload(mica_session_parameter(session, "w"), (float[]){2, 0, 0, 1});
  run(session);
  graph_expect(mica_session_output(session, 1), (float[]){16, 0, 0, 1}, 4);
  mica_session_destroy(session);
}
END_TEST

/* The null device plans and records like any other. */
START_TEST(a_session_on_the_null_device) {
  mica_engine *engine;
  mica_session *session;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null"}, &engine));
  mica_tensor *tensor;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(8, 8), &tensor));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(8, 8)),
             x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(8, 8)), y = mica_matmul(mica_tanh(mica_matmul(x, w)), w);
  ck_ok(mica_session_create(engine, graph, &y, 1, NULL, &session));
  ck_ok(mica_session_run(session, mica_engine_queue(engine), &(mica_feed){"x", tensor}, 1));
  ck_assert_uint_eq(report_of(session).planned_bytes, 256);
  mica_session_destroy(session);
  mica_tensor_destroy(tensor);
  mica_engine_destroy(engine);
}
END_TEST

TESTS(DEVICE, graph_setup, graph_teardown, sources_and_views_can_be_outputs, parameters_begin_as_zeros,
      parameters_are_swapped, a_parameter_is_reversed_in_its_place, the_old_value_is_read_before_it_goes,
      feeds_may_change_and_begin_anywhere, a_chain_is_one_kernel, cheap_values_are_computed_again,
      a_product_takes_what_stands_around_it, padding_and_parts_are_read_in_place, kernels_of_many_arguments_are_parted,
      softmax_is_one_kernel, a_deep_chain_keeps_few_activations, checkpoints_save_memory, launches_share_workspace,
      what_was_made_of_a_weight_follows_it, a_norm_behind_a_convolution_is_filters_and_a_bias,
      a_norm_behind_a_transposed_convolution_too, a_convolution_of_other_users_keeps_its_norm,
      an_output_is_written_by_each_run, wrong_sessions, wrong_runs, wrong_shares, a_session_on_the_null_device)
