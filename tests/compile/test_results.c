/* labels: device single
 *
 * Nodes with several results: a cell of an LSTM, which gives y, h and c and, for its gradient, its gates; launched as
 * one kernel, folded, merged, computed again, carried from run to run. */
#include "ops/common/build.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/interpret.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

#define N 3
#define IN 4
#define WIDTH 5

/* --- the op: x (N, I), h (N, H), c (N, H), w (I, 4 H), r (H, 4 H); the gates are input, forget, cell, output --- */

enum { X, H, C, W, R, OPERANDS };
enum { Y, NEXT_H, NEXT_C, GATES, RESULTS = GATES + 4 };

static mica_status infer_cell(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  for (int r = 0; r < RESULTS; r++) out[r] = inputs[C];
  return MICA_OK;
}

static double sigmoid(double a) { return 1 / (1 + exp(-a)); }

static mica_status evaluate_cell(const mica__eval *eval) {
  int64_t in = eval->types[X].shape.dim[1], width = eval->types[H].shape.dim[1], rows = eval->types[X].shape.dim[0];
  for (int64_t n = 0; n < rows; n++)
    for (int64_t j = 0; j < width; j++) {
      int64_t at = n * width + j;
      double gates[4] = {0};
      for (int g = 0; g < 4; g++) {
        for (int64_t k = 0; k < in; k++)
          gates[g] += eval->inputs[X][n * in + k] * eval->inputs[W][(k * 4 + g) * width + j];
        for (int64_t k = 0; k < width; k++)
          gates[g] += eval->inputs[H][n * width + k] * eval->inputs[R][(k * 4 + g) * width + j];
        gates[g] = g == 2 ? tanh(gates[g]) : sigmoid(gates[g]);
        eval->outputs[GATES + g][at] = gates[g];
      }
      eval->outputs[NEXT_C][at] = gates[1] * eval->inputs[C][at] + gates[0] * gates[2];
      eval->outputs[Y][at] = eval->outputs[NEXT_H][at] = gates[3] * tanh(eval->outputs[NEXT_C][at]);
    }
  return MICA_OK;
}

static const char source[] =
    "__kernel void lstm_cell(__global const float *x, long x_at, __global const float *h, long h_at,\n"
    "    __global const float *c, long c_at, __global const float *w, long w_at, __global const float *r, long r_at,\n"
    "    __global float *next_c, long next_c_at, __global float *to, long to_at, int which, int in, int width) {\n"
    "  int n = get_global_id(0) / width, j = get_global_id(0) % width;\n"
    "  float gates[4];\n"
    "  for (int g = 0; g < 4; g++) {\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < in; k++) sum += x[x_at + n * in + k] * w[w_at + (k * 4 + g) * width + j];\n"
    "    for (int k = 0; k < width; k++) sum += h[h_at + n * width + k] * r[r_at + (k * 4 + g) * width + j];\n"
    "    gates[g] = g == 2 ? tanh(sum) : 1 / (1 + exp(-sum));\n"
    "  }\n"
    "  float state = gates[1] * c[c_at + n * width + j] + gates[0] * gates[2];\n"
    "  next_c[next_c_at + n * width + j] = state;\n"
    "  to[to_at + n * width + j] = which < 2 ? gates[3] * tanh(state) : which == 2 ? state : gates[which - 3];\n"
    "}\n";

/* What the last launch was asked for, bit k result k. */
static uint32_t asked;

/* One launch a wanted result. c' is filled always: the kernel writes it in passing. */
static mica_status launch_cell(const mica__exec *exec) {
  mica_kernel *kernel = NULL;
  mica_status status = mica_kernel_build(test_engine(), "lstm_cell", source, "", &kernel);
  int64_t rows = mica_tensor_shape(exec->inputs[X]).dim[0], in = mica_tensor_shape(exec->inputs[X]).dim[1];
  int64_t width = mica_tensor_shape(exec->inputs[H]).dim[1];
  asked = 0;
  for (int k = 0; status == MICA_OK && k < RESULTS; k++) {
    if (!exec->outputs[k]) continue;
    asked |= 1u << k;
    const mica_arg args[] = {MICA_ARG_TENSOR(exec->inputs[X]),
                             MICA_ARG_TENSOR(exec->inputs[H]),
                             MICA_ARG_TENSOR(exec->inputs[C]),
                             MICA_ARG_TENSOR(exec->inputs[W]),
                             MICA_ARG_TENSOR(exec->inputs[R]),
                             MICA_ARG_TENSOR(exec->outputs[NEXT_C]),
                             MICA_ARG_TENSOR(exec->outputs[k]),
                             MICA_ARG_INT(k),
                             MICA_ARG_INT(in),
                             MICA_ARG_INT(width)};
    status = mica_kernel_run(exec->queue, kernel, args, sizeof args / sizeof *args,
                             (size_t[]){(size_t)(rows * width), 1, 1}, (size_t[]){1, 1, 1});
  }
  return status;
}

static mica_value times(mica_value a, mica_value b) { return a.graph && b.graph ? mica_mul(a, b) : (mica_value){0}; }

static mica_value plus(mica_value a, mica_value b) { return !a.graph ? b : !b.graph ? a : mica_add(a, b); }

/* a (1 - a) and 1 - a^2 */
static mica_value sigmoid_slope(mica_value a) { return mica_mul(a, mica_affine(a, -1, 1)); }
static mica_value tanh_slope(mica_value a) { return mica_affine(mica_square(a), -1, 1); }

/* Any of the results may have no gradient, and so the sums may have none. */
static mica_status grad_cell(const mica__grad *grad) {
  const mica_value *gates = grad->results + GATES, *d = grad->dresults;
  mica_value dh = plus(d[Y], d[NEXT_H]), c = mica_tanh(grad->results[NEXT_C]);
  mica_value dc = plus(d[NEXT_C], times(dh, mica_mul(gates[3], tanh_slope(c))));
  const mica_value sums[] = {plus(d[GATES], times(dc, gates[2])), plus(d[GATES + 1], times(dc, grad->inputs[C])),
                             plus(d[GATES + 2], times(dc, gates[0])), plus(d[GATES + 3], times(dh, c))};
  mica_value slopes[4];
  for (int g = 0; g < 4; g++) {
    mica_value slope = g == 2 ? tanh_slope(gates[g]) : sigmoid_slope(gates[g]);
    slopes[g] = sums[g].graph ? mica_mul(sums[g], slope) : mica_full_like(slope, 0);
  }
  mica_value all = mica_concat(slopes, 4, 1);
  grad->dinputs[X] = mica_matmul(all, mica_transpose(grad->inputs[W], MICA_AXES(1, 0)));
  grad->dinputs[H] = mica_matmul(all, mica_transpose(grad->inputs[R], MICA_AXES(1, 0)));
  grad->dinputs[C] = times(dc, gates[1]);
  grad->dinputs[W] = mica_matmul(mica_transpose(grad->inputs[X], MICA_AXES(1, 0)), all);
  grad->dinputs[R] = mica_matmul(mica_transpose(grad->inputs[H], MICA_AXES(1, 0)), all);
  return MICA_OK;
}

static const mica__op op_cell = {.name = "lstm_cell",
                                 .kind = MICA__OP_LAUNCH,
                                 .min_inputs = OPERANDS,
                                 .max_inputs = OPERANDS,
                                 .results = RESULTS,
                                 .infer = infer_cell,
                                 .grad = grad_cell,
                                 .evaluate = evaluate_cell,
                                 .launch = launch_cell,
                                 .fills = 1u << NEXT_C};

typedef struct cell {
  mica_value y, h, c;
} cell;

static cell lstm_cell(const mica_value operands[OPERANDS]) {
  mica_value node = mica__graph_add(&op_cell, operands, OPERANDS, NULL);
  return (cell){node, mica__graph_result(node, NEXT_H), mica__graph_result(node, NEXT_C)};
}

/* --- values --- */

static mica_graph *graph;
static mica_value operands[OPERANDS];
static double *feeds[4096];
static const mica_shape shapes[OPERANDS] = {
    {2, {N, IN}}, {2, {N, WIDTH}}, {2, {N, WIDTH}}, {2, {IN, 4 * WIDTH}}, {2, {WIDTH, 4 * WIDTH}}};
static const char *const names[OPERANDS] = {"x", "h", "c", "w", "r"};

static double element(int operand, int64_t i) { return (double)((i * 37 + operand * 11) % 23) / 16 - 0.7; }

static void make_graph(mica_dtype dtype) {
  ck_ok(mica_graph_create(&graph));
  for (int k = 0; k < OPERANDS; k++) {
    operands[k] = mica_input(graph, names[k], dtype, shapes[k]);
    feeds[k] = calloc((size_t)test_count(shapes[k]), sizeof(double));
    for (int64_t i = 0; i < test_count(shapes[k]); i++) feeds[k][i] = element(k, i);
  }
}

static void setup(void) { make_graph(MICA_F32); }

static void teardown(void) {
  mica_graph_destroy(graph);
  for (int k = 0; k < OPERANDS; k++) free(feeds[k]);
  memset(feeds, 0, sizeof feeds);
}

static mica_session *session_of(const mica_value *outputs, size_t count, const mica_session_config *config) {
  mica_session *session = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, config, &session));
  return session;
}

static void run(mica_session *session) {
  mica_feed fed[OPERANDS];
  mica_tensor *tensors[OPERANDS];
  for (int k = 0; k < OPERANDS; k++) {
    float values[WIDTH * 4 * WIDTH];
    for (int64_t i = 0; i < test_count(shapes[k]); i++) values[i] = (float)feeds[k][i];
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shapes[k], values, &tensors[k]));
    fed[k] = (mica_feed){names[k], tensors[k]};
  }
  ck_ok(mica_session_run(session, test_queue(), fed, OPERANDS));
  ck_ok(mica_queue_finish(test_queue()));
  for (int k = 0; k < OPERANDS; k++) mica_tensor_destroy(tensors[k]);
}

/* Runs the outputs and compares them with the interpreter. */
static void expect(const mica_value *outputs, size_t count, const mica_session_config *config) {
  mica_session *session = session_of(outputs, count, config);
  run(session);
  test_values values = test_interpret(graph, feeds);
  for (size_t i = 0; i < count; i++)
    test_expect(&values, outputs[i], mica_session_output(session, i), "lstm_cell", "a result");
  test_values_free(&values);
  mica_session_destroy(session);
}

/* --- tests --- */

START_TEST(a_launch_gives_all_results) {
  const cell made = lstm_cell(operands);
  const mica_value outputs[] = {made.y, made.h, made.c, mica_tanh(mica_add(made.h, made.c))};
  static const mica_session_config configs[] = {{0}, {.no_fusion = true}, {.no_simplify = true}};
  for (int i = 0; i < 3; i++) {
    expect(outputs, 4, &configs[i]);
    ck_assert_uint_eq(asked, 1u << Y | 1u << NEXT_H | 1u << NEXT_C);
  }
}
END_TEST

START_TEST(unwanted_results_get_no_memory) {
  const cell made = lstm_cell(operands);
  mica_session_report one, two;
  /* c' is filled whether wanted or not, and lives in the arena; then it is an output. */
  mica_session *session = session_of(&made.h, 1, NULL);
  run(session);
  ck_assert_uint_eq(asked, 1u << NEXT_H | 1u << NEXT_C);
  ck_ok(mica_session_describe(session, &one));
  mica_session_destroy(session);
  session = session_of((mica_value[]){made.h, made.c}, 2, NULL);
  run(session);
  ck_assert_uint_eq(asked, 1u << NEXT_H | 1u << NEXT_C);
  ck_ok(mica_session_describe(session, &two));
  mica_session_destroy(session);
  ck_assert_uint_eq(one.values, 1);
  ck_assert_uint_eq(two.values, 0);
}
END_TEST

START_TEST(dumps_name_all_results) {
  const cell made = lstm_cell(operands);
  char *text = NULL;
  mica_named(made.c, "state");
  ck_ok(mica_graph_dump(graph, MICA_DUMP_FORMAT_TEXT, &text));
  ck_assert_ptr_nonnull(strstr(text, "\n%6, %7, %8, %9, %10, %11, %12 = lstm_cell %1 %2 %3 %4 %5 -> f32 (3, 5), "
                                     "f32 (3, 5), f32 (3, 5) 'state', f32 (3, 5)"));
  free(text);
  mica_session *session = session_of((mica_value[]){made.y, made.c}, 2, NULL);
  ck_ok(mica_session_dump(session, &text));
  ck_assert_ptr_nonnull(strstr(text, ": lstm_cell -> %6 f32 (3, 5) -> %8 'state' f32 (3, 5);"));
  free(text);
  mica_session_destroy(session);
}
END_TEST

START_TEST(equal_nodes_are_merged) {
  const cell first = lstm_cell(operands), again = lstm_cell(operands);
  mica_value y = mica_sub(mica_add(first.h, first.c), mica_add(again.h, again.c));
  mica_session *session = session_of(&y, 1, NULL);
  char *text = NULL;
  ck_ok(mica_session_dump(session, &text));
  const char *one = strstr(text, ": lstm_cell ->");
  ck_assert_ptr_nonnull(one);
  /* The one node has a launch a result. */
  ck_assert_ptr_null(strstr(text, "%13"));
  run(session);
  ck_assert_uint_eq(asked, 1u << NEXT_H | 1u << NEXT_C);
  free(text);
  mica_session_destroy(session);
  expect(&y, 1, NULL);
}
END_TEST

START_TEST(constants_are_folded) {
  mica_value constants[OPERANDS];
  for (int k = 0; k < OPERANDS; k++)
    constants[k] = mica_cast(mica_constant(graph, MICA_F64, shapes[k], feeds[k]), MICA_F32);
  const cell made = lstm_cell(constants);
  mica_value y = mica_add(made.h, made.c);
  mica_session *session = session_of(&y, 1, NULL);
  char *text = NULL;
  ck_ok(mica_session_dump(session, &text));
  ck_assert_msg(!strstr(text, "lstm_cell"), "%s", text);
  free(text);
  mica_session_destroy(session);
  expect(&y, 1, NULL);
}
END_TEST

/* h and c live in parameters, which each run updates. */
START_TEST(results_are_assigned) {
  mica_value state[OPERANDS];
  memcpy(state, operands, sizeof state);
  state[H] = mica_parameter(graph, "state_h", MICA_F32, shapes[H]);
  state[C] = mica_parameter(graph, "state_c", MICA_F32, shapes[C]);
  const cell made = lstm_cell(state);
  mica_assign(state[H], made.h);
  mica_assign(state[C], made.c);
  mica_session *session = session_of(&made.y, 1, NULL);
  double h[N * WIDTH] = {0}, c[N * WIDTH] = {0};
  feeds[state[H].id - 1] = h;
  feeds[state[C].id - 1] = c;
  for (int step = 0; step < 3; step++) {
    run(session);
    test_values values = test_interpret(graph, feeds);
    float got[N * WIDTH];
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, sizeof got));
    for (int i = 0; i < N * WIDTH; i++) ck_assert_double_eq_tol((double)got[i], values.value[made.y.id - 1][i], 1e-5);
    memcpy(h, values.value[made.h.id - 1], sizeof h);
    memcpy(c, values.value[made.c.id - 1], sizeof c);
    test_values_free(&values);
  }
  feeds[state[H].id - 1] = feeds[state[C].id - 1] = NULL;
  mica_session_destroy(session);
}
END_TEST

/* A loss of some of the results (bit k: y, h, c), after `steps` cells. */
static mica_value loss_of(unsigned which, int steps, bool checkpoints) {
  mica_value state[OPERANDS], loss = {0};
  memcpy(state, operands, sizeof state);
  cell made = lstm_cell(state);
  for (int s = 1; s < steps; s++) {
    state[H] = checkpoints ? mica_checkpoint(made.h) : made.h;
    state[C] = made.c;
    made = lstm_cell(state);
  }
  const mica_value results[] = {made.y, made.h, made.c};
  for (unsigned k = 0; k < 3; k++)
    if (which >> k & 1) {
      mica_value part = mica_sum(mica_affine(mica_mul(results[k], results[k]), k + 1, 0.5), MICA_ALL_AXES, false);
      loss = loss.graph ? mica_add(loss, part) : part;
    }
  return loss;
}

/* The gradient times a direction against the difference of losses along it, in double on the host. */
START_TEST(gradients_are_those_of_differences) {
  for (unsigned which = 1; which < 8; which++) {
    teardown();
    make_graph(MICA_F64);
    mica_value loss = loss_of(which, 2, false), grads[OPERANDS];
    ck_ok(mica_gradients(loss, operands, OPERANDS, grads));
    test_values values = test_interpret(graph, feeds);
    double slope = 0, at[2];
    for (int k = 0; k < OPERANDS; k++)
      for (int64_t i = 0; i < test_count(shapes[k]); i++) slope += values.value[grads[k].id - 1][i] * element(k + 5, i);
    test_values_free(&values);
    for (int side = 0; side < 2; side++) {
      for (int k = 0; k < OPERANDS; k++)
        for (int64_t i = 0; i < test_count(shapes[k]); i++)
          feeds[k][i] = element(k, i) + (side ? -1e-6 : 1e-6) * element(k + 5, i);
      values = test_interpret(graph, feeds);
      at[side] = values.value[loss.id - 1][0];
      test_values_free(&values);
    }
    double difference = (at[0] - at[1]) / 2e-6;
    ck_assert_msg(fabs(slope - difference) <= 1e-6 * (1 + fabs(difference)),
                  "results %u: gradient %.12g, difference %.12g", which, slope, difference);
  }
}
END_TEST

START_TEST(gradients_on_the_device) {
  mica_value loss = loss_of(7, 2, false), grads[OPERANDS];
  ck_ok(mica_gradients(loss, operands, OPERANDS, grads));
  mica_session *session = session_of(grads, OPERANDS, NULL);
  run(session);
  test_values values = test_interpret(graph, feeds);
  for (int k = 0; k < OPERANDS; k++) {
    float got[WIDTH * 4 * WIDTH];
    const mica_tensor *tensor = mica_session_output(session, (size_t)k);
    ck_ok(mica_tensor_download(test_queue(), tensor, got, mica_tensor_bytes(tensor)));
    for (int64_t i = 0; i < test_count(shapes[k]); i++)
      ck_assert_double_eq_tol((double)got[i], values.value[grads[k].id - 1][i], 1e-4);
  }
  test_values_free(&values);
  mica_session_destroy(session);
}
END_TEST

/* A node that is computed again is so with all of its results; one that is kept is kept with all. */
START_TEST(checkpoints_agree) {
  mica_value losses[2], grads[2][OPERANDS];
  for (int c = 0; c < 2; c++) {
    losses[c] = loss_of(5, 3, c != 0);
    if (c) mica_checkpoint(mica_affine(operands[X], 2, 0));
    ck_ok(mica_gradients(losses[c], operands, OPERANDS, grads[c]));
  }
  mica_value inner = mica_tanh(lstm_cell(operands).c), loss, again[OPERANDS];
  loss = mica_sum(mica_mul(mica_checkpoint(mica_square(inner)), inner), MICA_ALL_AXES, false);
  ck_ok(mica_gradients(loss, operands, OPERANDS, again));
  mica_value plain = mica_tanh(lstm_cell(operands).c), plain_grads[OPERANDS];
  loss = mica_sum(mica_mul(mica_square(plain), plain), MICA_ALL_AXES, false);
  ck_ok(mica_gradients(loss, operands, OPERANDS, plain_grads));
  test_values values = test_interpret(graph, feeds);
  for (int k = 0; k < OPERANDS; k++)
    for (int64_t i = 0; i < test_count(shapes[k]); i++) {
      ck_assert_double_eq(values.value[grads[0][k].id - 1][i], values.value[grads[1][k].id - 1][i]);
      ck_assert_double_eq(values.value[again[k].id - 1][i], values.value[plain_grads[k].id - 1][i]);
    }
  test_values_free(&values);
}
END_TEST

/* An op of the host alone: its operand without the sign, and how many of its elements are below 0. */
static mica_status infer_parts(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  out[0] = inputs[0];
  out[1] = (mica__type){MICA_I64, MICA_SCALAR};
  return MICA_OK;
}

static mica_status host_parts(const mica__host *host) {
  int64_t count = test_count(host->types[0].shape), *below = host->outputs[1];
  *below = 0;
  ck_assert(host->type[1].dtype == MICA_I64 && host->output == host->outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    float x = ((const float *)host->inputs[0])[i];
    ((float *)host->outputs[0])[i] = fabsf(x);
    *below += x < 0;
  }
  return MICA_OK;
}

START_TEST(host_steps_give_several_results) {
  static const mica__op op = {.name = "parts",
                              .kind = MICA__OP_LAUNCH,
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .results = 2,
                              .infer = infer_parts,
                              .host = host_parts};
  mica_value part = mica__graph_add(&op, &operands[X], 1, NULL);
  mica_value below = mica_add(mica__graph_result(part, 1), mica_scalar(graph, MICA_I64, 100));
  int64_t want = 100, got = 0;
  for (int64_t i = 0; i < N * IN; i++) want += feeds[X][i] < 0;
  mica_session *session = session_of(&below, 1, NULL);
  run(session);
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), &got, sizeof got));
  ck_assert_int_eq(got, want);
  mica_session_destroy(session);
}
END_TEST

TESTS(ANYWHERE, setup, teardown, a_launch_gives_all_results, unwanted_results_get_no_memory, dumps_name_all_results,
      equal_nodes_are_merged, constants_are_folded, results_are_assigned, gradients_are_those_of_differences,
      gradients_on_the_device, checkpoints_agree, host_steps_give_several_results)
