/* labels: device single
 *
 * Weights held as 16 bits or in blocks: the numbers of the same weights widened, in the memory that a file takes. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VOCABULARY 1021
#define WIDTH 320
#define HIDDEN 704
#define MOST_ROWS 300

/* How a network's weights are held. */
typedef struct form {
  mica_dtype dtype;    /* of weights */
  mica_dtype computes; /* mica_nn_config.dtype */
  mica_block block;
  bool hooked; /* by a hook that changes nothing */
} form;

typedef struct network {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_value logits;
} network;

static bool hold(void *user, const char *name, mica_shape shape, mica_nn_held *held) {
  ck_assert_int_ge(shape.rank, 2);
  ck_assert_ptr_null(strstr(name, "net."));
  held->dtype = ((const form *)user)->dtype;
  held->block = ((const form *)user)->block;
  held->frozen = true;
  return true;
}

/* Logits of a table that is used twice, between them dense layers, a residual and norms. */
static mica_value build(mica_nn *nn, int64_t rows) {
  mica_value ids = mica_input(mica_nn_graph(nn), "ids", MICA_I32, MICA_SHAPE(rows));
  mica_value x = mica_nn_embedding(nn, "embed", ids, VOCABULARY, WIDTH, NULL);
  mica_value h = mica_nn_rms_norm(nn, "norm", x, NULL);
  h = mica_gelu(mica_nn_dense(nn, "up", h, HIDDEN, NULL));
  x = mica_add(x, mica_nn_dense(nn, "down", h, WIDTH, &(mica_dense_config){.no_bias = true}));
  x = mica_nn_layer_norm(nn, "norm2", x, NULL);
  return mica_cast(mica_matmul(x, mica_transpose(mica_nn_weight_of(nn, "embed.weight"), MICA_AXES(1, 0))), MICA_F32);
}

/* Random weights in blocks. */
static void fill_blocks(const network *n) {
  uint32_t random = 1;
  for (size_t i = 0; i < mica_nn_parameter_count(n->nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(n->nn, i);
    const mica_block block = info->held.block;
    mica_tensor *tensor = mica_session_parameter(n->session, info->name);
    if (block == MICA_BLOCK_NONE) continue;
    const size_t bytes = mica_tensor_bytes(tensor);
    const int64_t count = (int64_t)(bytes / mica_block_bytes(block)) * mica_block_elements(block);
    float *values = malloc((size_t)count * sizeof *values);
    unsigned char *blocks = malloc(bytes);
    for (int64_t k = 0; k < count; k++) {
      random = random * 1664525 + 1013904223;
      values[k] = (float)(random >> 8) * 0x1p-26F - 0.125F;
    }
    ck_ok(mica_block_quantize(block, values, count, NULL, blocks));
    ck_ok(mica_tensor_upload(test_queue(), tensor, blocks, bytes));
    free(values);
    free(blocks);
  }
}

static mica_value leave_alone(void *user, mica_nn *nn, mica_nn_point point, const char *name, mica_value value) {
  (void)user, (void)nn, (void)point, (void)name;
  return value;
}

static network make(const form *f, int64_t rows) {
  network n = {0};
  ck_ok(mica_graph_create(&n.graph));
  ck_ok(mica_nn_create(n.graph,
                       &(mica_nn_config){.seed = 3,
                                         .name_prefix = "net.",
                                         .dtype = f->computes,
                                         .hold = hold,
                                         .hold_user = (void *)(uintptr_t)f,
                                         .hook = f->hooked ? leave_alone : NULL},
                       &n.nn));
  n.logits = build(n.nn, rows);
  ck_assert_msg(mica_graph_status(n.graph) == MICA_OK, "%s", mica_graph_message(n.graph));
  ck_ok(mica_session_create(test_engine(), n.graph, &n.logits, 1, NULL, &n.session));
  ck_ok(mica_nn_initialise(n.nn, n.session));
  fill_blocks(&n);
  return n;
}

static void destroy(network *n) {
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

/* Widens the network's weights into its twin's. */
static void widen(const network *from, const network *to) {
  for (size_t i = 0; i < mica_nn_parameter_count(from->nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(from->nn, i);
    mica_tensor *a = mica_session_parameter(from->session, info->name),
                *b = mica_session_parameter(to->session, info->name);
    const size_t count = (size_t)mica_tensor_count(b);
    float *wide = calloc(count, sizeof *wide);
    if (mica_tensor_dtype(a) == MICA_F32) {
      ck_ok(mica_tensor_download(test_queue(), a, wide, count * sizeof *wide));
    } else if (info->held.block != MICA_BLOCK_NONE) {
      unsigned char *blocks = malloc(mica_tensor_bytes(a));
      ck_ok(mica_tensor_download(test_queue(), a, blocks, mica_tensor_bytes(a)));
      ck_ok(mica_block_dequantize(info->held.block, blocks, (int64_t)count, wide));
      free(blocks);
    } else {
      mica_tensor *of = NULL;
      ck_ok(mica_tensor_create(test_engine(), MICA_F32, mica_tensor_shape(a), &of));
      ck_ok(mica_op_cast(test_queue(), a, of));
      ck_ok(mica_tensor_download(test_queue(), of, wide, count * sizeof *wide));
      mica_tensor_destroy(of);
    }
    ck_ok(mica_tensor_upload(test_queue(), b, wide, count * sizeof *wide));
    free(wide);
  }
}

static float *logits_of(const network *n, int64_t rows) {
  static int32_t ids[MOST_ROWS];
  mica_tensor *fed = NULL;
  float *logits = malloc((size_t)rows * VOCABULARY * sizeof *logits);
  for (int64_t i = 0; i < rows; i++) ids[i] = (int32_t)(i * 37 % VOCABULARY);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(rows), ids, &fed));
  ck_ok(mica_session_run(n->session, test_queue(), &(mica_feed){"ids", fed}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(n->session, 0), logits,
                             (size_t)rows * VOCABULARY * sizeof *logits));
  mica_tensor_destroy(fed);
  return logits;
}

static const int64_t row_counts[] = {1, 2, 7, 33, MOST_ROWS};
#define ROW_COUNTS ((int)(sizeof row_counts / sizeof *row_counts))
static const form forms[] = {
    {MICA_BF16, MICA_F32, MICA_BLOCK_NONE, false},  {MICA_F16, MICA_F32, MICA_BLOCK_NONE, false},
    {MICA_BF16, MICA_BF16, MICA_BLOCK_NONE, false}, {MICA_F32, MICA_F32, MICA_BLOCK_Q8_0, false},
    {MICA_F32, MICA_F32, MICA_BLOCK_Q4_1, false},   {MICA_F32, MICA_F32, MICA_BLOCK_Q8_0, .hooked = true}};
#define FORMS ((int)(sizeof forms / sizeof *forms))

START_TEST(the_numbers_are_those_of_widened_weights) {
  const form *held = &forms[_i / ROW_COUNTS];
  const int64_t rows = row_counts[_i % ROW_COUNTS];
  const form plain = {MICA_F32, held->computes, MICA_BLOCK_NONE, false};
  network a = make(held, rows), b = make(&plain, rows);
  widen(&a, &b);
  float *x = logits_of(&a, rows), *y = logits_of(&b, rows);
  /* Kernels of blocks, and on GPUs kernels of halves, add in another order. Each number is a sum of WIDTH products of
   * sums of HIDDEN products, and each of these rounds once more at most. */
  const bool cpu =
      held->block == MICA_BLOCK_NONE && mica_engine_device(test_engine())->device_class == MICA_DEVICE_CLASS_CPU;
  size_t differ = 0;
  float largest = 0;
  for (size_t i = 0; i < (size_t)rows * VOCABULARY; i++) largest = fmaxf(largest, fabsf(y[i]));
  const float most = cpu ? 0 : (held->computes == MICA_F32 ? 0x1p-24F : 0x1p-8F) * (WIDTH + HIDDEN) * largest;
  for (size_t i = 0; i < (size_t)rows * VOCABULARY; i++)
    differ += cpu ? memcmp(&x[i], &y[i], sizeof *x) != 0 : !(fabsf(x[i] - y[i]) <= most);
  ck_assert_msg(!differ, "%s in %s, %lld rows: %zu logits differ, first %g and %g", mica_dtype_name(held->dtype),
                mica_dtype_name(held->computes), (long long)rows, differ, x[0], y[0]);
  free(x);
  free(y);
  destroy(&a);
  destroy(&b);
}
END_TEST

/* What a file of the network has. */
static uint64_t file_bytes(const network *n) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(n->nn); i++)
    bytes += mica_tensor_bytes(mica_session_parameter(n->session, mica_nn_parameter_at(n->nn, i)->name));
  return bytes;
}

static bool hold_all(void *user, const char *name, mica_shape shape, mica_nn_held *held) {
  (void)name, (void)shape;
  *held = *(const mica_nn_held *)user;
  return true;
}

/* The status and sentence of a dense layer of 3 x 48 that is held so. */
static void refused(mica_nn_held held, mica_status status, const char *reason) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.hold = hold_all, .hold_user = &held}, &nn));
  mica_nn_dense(nn, "a", mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 48)), 3, NULL);
  ck_assert_msg(mica_graph_status(graph) == status && strstr(mica_graph_message(graph), reason), "%s",
                mica_graph_message(graph));
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

START_TEST(forms_that_cannot_be_are_refused) {
  refused((mica_nn_held){.dtype = MICA_I8}, MICA_E_DTYPE,
          "a.weight: a weight must be held as f32, f16, bf16 or in blocks");
  refused((mica_nn_held){.dtype = (mica_dtype)99}, MICA_E_DTYPE, "a.weight");
  refused((mica_nn_held){.block = MICA_BLOCK_Q4_0}, MICA_E_SHAPE,
          "the length of a row is 48, but must be a multiple of 32, the length of a q4_0 block");
  refused((mica_nn_held){.block = (mica_block)77}, MICA_E_INVALID, "77 is not a block type");
}
END_TEST

/* A held weight is never trained, and its elements are counted as numbers. */
START_TEST(held_weights_stay_frozen) {
  const form *held = &forms[_i];
  network n = make(held, 1);
  size_t count = 0;
  ck_ok(mica_nn_freeze(n.nn, "*", false, &count));
  ck_assert_uint_eq(count, 7);
  const int64_t matrices = VOCABULARY * WIDTH + 2 * WIDTH * HIDDEN, vectors = HIDDEN + 3 * WIDTH;
  ck_assert_int_eq(mica_nn_element_count(n.nn, false), matrices + vectors);
  ck_assert_int_eq(mica_nn_element_count(n.nn, true), vectors);
  for (size_t i = 0; i < mica_nn_parameter_count(n.nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(n.nn, i);
    const bool matrix = mica_value_shape(info->value).rank == 2;
    ck_assert_int_eq(info->frozen, matrix);
    ck_assert_int_eq(info->held.block, matrix ? held->block : MICA_BLOCK_NONE);
  }
  destroy(&n);
}
END_TEST

START_TEST(nothing_of_a_weight_is_kept_twice) {
  const form *held = &forms[_i / ROW_COUNTS];
  const int64_t rows = row_counts[_i % ROW_COUNTS];
  /* Products of blocks with many rows widen one weight at a time. */
  const int64_t widened = held->block != MICA_BLOCK_NONE && rows > 8 ? 4 * VOCABULARY * WIDTH : 0;
  network a = make(held, rows);
  mica_session_report report;
  free(logits_of(&a, rows));
  ck_ok(mica_session_describe(a.session, &report));
  const double all = (double)(report.parameter_bytes + report.workspace_bytes), file = (double)file_bytes(&a);
  char *text = NULL;
  ck_ok(mica_session_dump(a.session, &text));
  /* Partial sums of a product are workspace too: at most one per result. */
  const double sums = rows > 2 ? 4.0 * (double)rows * (VOCABULARY + HIDDEN + WIDTH) : 0;
  ck_assert_msg(all <= 1.03 * file + sums, "%lld rows: %g bytes of %g\n%s", (long long)rows, all, file, text);
  /* The widest values beside the weights: logits are an output, the hidden layer is in the arena. */
  const double arena = (double)report.planned_bytes,
               hidden = 4.0 * (double)rows * (HIDDEN + 4 * WIDTH) + 65536 + (double)widened;
  ck_assert_msg(arena <= hidden, "%lld rows: %g bytes, above %g\n%s", (long long)rows, arena, hidden, text);
  mica_free(text);
  destroy(&a);
}
END_TEST

/* The gradient of a sum of logits by an offset of the embedded rows: it flows through every held weight. */
static void gradient_of(const form *f, const network *like, int64_t rows, float *gradient, uint64_t *planned) {
  network n = {0};
  ck_ok(mica_graph_create(&n.graph));
  ck_ok(mica_nn_create(
      n.graph, &(mica_nn_config){.seed = 3, .name_prefix = "net.", .hold = hold, .hold_user = (void *)(uintptr_t)f},
      &n.nn));
  mica_value x = mica_input(n.graph, "x", MICA_F32, MICA_SHAPE(rows, WIDTH));
  mica_value h = mica_gelu(mica_nn_dense(n.nn, "up", mica_nn_rms_norm(n.nn, "norm", x, NULL), HIDDEN, NULL));
  mica_value y = mica_nn_dense(n.nn, "down", mica_checkpoint(h), WIDTH, &(mica_dense_config){.no_bias = true});
  mica_value loss = mica_sum(mica_mul(y, y), MICA_ALL_AXES, false), dx;
  ck_ok(mica_gradients(loss, &x, 1, &dx));
  ck_ok(mica_session_create(test_engine(), n.graph, &dx, 1, NULL, &n.session));
  ck_ok(mica_nn_initialise(n.nn, n.session));
  fill_blocks(&n);
  if (like) widen(like, &n);
  mica_tensor *fed = NULL;
  float *values = malloc((size_t)(rows * WIDTH) * sizeof *values);
  for (int64_t i = 0; i < rows * WIDTH; i++) values[i] = (float)(i * 7919 % 1021) / 511 - 1;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(rows, WIDTH), values, &fed));
  ck_ok(mica_session_run(n.session, test_queue(), &(mica_feed){"x", fed}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(n.session, 0), gradient,
                             (size_t)(rows * WIDTH) * sizeof *gradient));
  mica_session_report report;
  ck_ok(mica_session_describe(n.session, &report));
  *planned = report.planned_bytes + report.workspace_bytes;
  if (!like && f->dtype != MICA_F32) {
    const form plain = {MICA_F32, MICA_F32, MICA_BLOCK_NONE, false};
    float *twin = malloc((size_t)(rows * WIDTH) * sizeof *twin);
    uint64_t unused = 0;
    gradient_of(&plain, &n, rows, twin, &unused);
    float largest = 0;
    for (int64_t i = 0; i < rows * WIDTH; i++) largest = fmaxf(largest, fabsf(twin[i]));
    ck_assert(largest > 0);
    for (int64_t i = 0; i < rows * WIDTH; i++)
      ck_assert_float_le(fabsf(gradient[i] - twin[i]), 0x1p-24F * 2 * (WIDTH + HIDDEN) * largest);
    free(twin);
  }
  free(values);
  mica_tensor_destroy(fed);
  destroy(&n);
}

START_TEST(gradients_flow_through_held_weights) {
  const int64_t rows = row_counts[2];
  static float gradient[7 * WIDTH];
  uint64_t planned = 0;
  gradient_of(&forms[_i], NULL, rows, gradient, &planned);
  /* No weight is stored as numbers: the smallest has 4 WIDTH HIDDEN bytes. */
  ck_assert_uint_lt(planned, 4 * WIDTH * HIDDEN);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(the_numbers_are_those_of_widened_weights, 0, FORMS *ROW_COUNTS),
      LOOP(nothing_of_a_weight_is_kept_twice, 0, FORMS *ROW_COUNTS), LOOP(held_weights_stay_frozen, 0, FORMS),
      LOOP(gradients_flow_through_held_weights, 0, 2), forms_that_cannot_be_are_refused)
