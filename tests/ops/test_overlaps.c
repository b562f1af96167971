/* labels: null single
 *
 * Which tensors share memory, against a count of every byte; and that operations refuse a result that shares memory
 * with an operand where their header forbids it, and take it where it allows it. */
#include "runtime/tensor.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS 128

static mica_engine *engine;
static mica_queue *queue;
static mica_tensor *base;

static void setup(void) {
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  queue = mica_engine_queue(engine);
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(ELEMENTS), &base));
}

static void teardown(void) {
  mica_tensor_destroy(base);
  mica_engine_destroy(engine);
}

static mica_tensor *view_of(mica_shape shape, const int64_t *strides, int64_t offset) {
  mica_tensor *view = NULL;
  ck_ok(mica_tensor_view(base, shape, strides, offset, &view));
  return view;
}

static bool really_overlap(const mica_tensor *a, const mica_tensor *b) {
  const mica_tensor *both[] = {a, b};
  unsigned char touched[ELEMENTS] = {0};
  for (int t = 0; t < 2; t++) {
    mica_shape shape = mica_tensor_shape(both[t]);
    const int64_t *strides = mica_tensor_strides(both[t]);
    for (int64_t k = 0; k < mica_tensor_count(both[t]); k++) {
      int64_t at = mica__tensor_first(both[t]), rest = k;
      for (int32_t i = shape.rank - 1; i >= 0; i--) {
        at += rest % shape.dim[i] * strides[i];
        rest /= shape.dim[i];
      }
      touched[at] |= (unsigned char)(1 << t);
    }
  }
  for (int i = 0; i < ELEMENTS; i++)
    if (touched[i] == 3) return true;
  return false;
}

/* Views with strides drawn from a small set, so that they fit in one another often. What is said to be apart must be;
 * tensors that are contiguous, or have the same strides over blocks that do not reach over a step, are told exactly. */
START_TEST(overlaps_agree_with_every_element) {
  static const int64_t steps[][2] = {{12, 1}, {24, 1}, {12, 2}, {1, 12}, {8, 1}, {0, 1}, {24, 12}};
  int apart = 0, together = 0;
  srand(7);
  for (int trial = 0; trial < 20000; trial++) {
    const int64_t *s[2] = {steps[rand() % 7], steps[rand() % 7]};
    mica_tensor *t[2];
    bool within = true; /* rows are shorter than their step */
    for (int k = 0; k < 2; k++) {
      const mica_shape shape = MICA_SHAPE(1 + rand() % 3, 1 + rand() % 4);
      t[k] = view_of(shape, s[k], rand() % 30);
      within = within && s[k][0] > s[k][1] && (shape.dim[1] - 1) * s[k][1] < s[k][0];
    }
    const bool truth = really_overlap(t[0], t[1]), said = mica__tensor_overlaps(t[0], t[1]);
    const bool contiguous = mica_tensor_is_contiguous(t[0]) && mica_tensor_is_contiguous(t[1]);
    ck_assert_int_eq(said, mica__tensor_overlaps(t[1], t[0]));
    if (truth || contiguous || (within && s[0] == s[1] && s[0][1] == 1)) ck_assert_int_eq(said, truth);
    apart += !said;
    together += truth;
    for (int k = 0; k < 2; k++) mica_tensor_destroy(t[k]);
  }
  ck_assert_int_gt(apart, 2000);
  ck_assert_int_gt(together, 2000);
}
END_TEST

START_TEST(other_memory_and_no_elements_never_overlap) {
  mica_tensor *other = NULL, *none = view_of(MICA_SHAPE(0, 3), NULL, 4), *bytes = NULL;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(ELEMENTS), &other));
  ck_assert(!mica__tensor_overlaps(base, other));
  ck_assert(!mica__tensor_overlaps(base, none));
  ck_assert(!mica__tensor_overlaps(none, none));
  mica_tensor_destroy(other);
  /* Elements of other sizes: bytes 8 and 9 of a buffer, and element 2 of it as f32. */
  mica_buffer *buffer = NULL;
  mica_tensor *word = NULL;
  ck_ok(mica_buffer_create(engine, 64, &buffer));
  ck_ok(mica_tensor_wrap(buffer, 8, MICA_U8, MICA_SHAPE(2), &bytes));
  ck_ok(mica_tensor_wrap(buffer, 8, MICA_F32, MICA_SHAPE(1), &word));
  ck_assert(mica__tensor_overlaps(bytes, word));
  mica_tensor_destroy(word);
  ck_ok(mica_tensor_wrap(buffer, 12, MICA_F32, MICA_SHAPE(1), &word));
  ck_assert(!mica__tensor_overlaps(bytes, word));
  mica_tensor_destroy(word);
  mica_tensor_destroy(bytes);
  mica_tensor_destroy(none);
  mica_buffer_destroy(buffer);
}
END_TEST

/* --- what operations take --- */

static void refused(mica_status got, const char *words) {
  ck_assert_msg(got == MICA_E_INVALID, "%s for '%s'", mica_status_name(got), words);
  ck_assert_msg(strstr(mica_error_message(), words) != NULL, "'%s' does not say '%s'", mica_error_message(), words);
}

START_TEST(products_refuse_results_in_operands) {
  const int64_t rows[] = {8, 1};
  mica_tensor *a = view_of(MICA_SHAPE(4, 4), rows, 0), *b = view_of(MICA_SHAPE(4, 4), rows, 4);
  mica_tensor *across = view_of(MICA_SHAPE(4, 4), rows, 2), *d = view_of(MICA_SHAPE(4, 4), NULL, 40);
  mica_tensor *bias = view_of(MICA_SHAPE(4), NULL, 44), *shifted = view_of(MICA_SHAPE(4, 4), NULL, 41);
  const mica_gemm_config add = {.beta = 1};
  ck_ok(mica_op_gemm(queue, NULL, a, b, NULL, NULL, d)); /* a and b are the halves of one matrix */
  ck_ok(mica_op_gemm(queue, &add, a, b, d, NULL, d));
  ck_ok(mica_op_gemm(queue, NULL, b, b, NULL, NULL, a));
  refused(mica_op_gemm(queue, NULL, a, b, NULL, NULL, a), "gemm: d overlaps a");
  refused(mica_op_gemm(queue, NULL, a, b, NULL, NULL, b), "gemm: d overlaps b");
  refused(mica_op_gemm(queue, NULL, a, a, NULL, NULL, across), "gemm: d overlaps a");
  refused(mica_op_gemm(queue, NULL, a, b, NULL, bias, d), "gemm: d overlaps bias");
  refused(mica_op_gemm(queue, &add, a, b, shifted, NULL, d), "gemm: d overlaps c");
  mica_tensor *const all[] = {a, b, across, d, bias, shifted};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica_tensor_destroy(all[i]);
}
END_TEST

START_TEST(convolutions_refuse_results_in_operands) {
  mica_tensor *x = view_of(MICA_SHAPE(1, 1, 3, 3), NULL, 0), *w = view_of(MICA_SHAPE(1, 1, 3, 3), NULL, 20);
  mica_tensor *y = view_of(MICA_SHAPE(1, 1, 3, 3), NULL, 40), *bias = view_of(MICA_SHAPE(1), NULL, 48);
  mica_tensor *shifted = view_of(MICA_SHAPE(1, 1, 3, 3), NULL, 44);
  const mica_conv_config same = {.pad = {1, 1}};
  ck_ok(mica_op_conv_fwd(queue, &same, x, w, &(mica_conv_epilogue){.addend = y}, y));
  refused(mica_op_conv_fwd(queue, &same, x, w, NULL, x), "conv: y overlaps x");
  refused(mica_op_conv_fwd(queue, &same, x, w, NULL, w), "conv: y overlaps w");
  refused(mica_op_conv_fwd(queue, &same, x, w, &(mica_conv_epilogue){.bias = bias}, y), "conv: y overlaps bias");
  refused(mica_op_conv_fwd(queue, &same, x, w, &(mica_conv_epilogue){.addend = shifted}, y), "conv: y overlaps addend");
  refused(mica_op_conv_bwd_data(queue, &same, y, w, NULL, y), "conv: dx overlaps dy");
  refused(mica_op_conv_bwd_filter(queue, &same, x, y, x), "conv: dw overlaps x");
  mica_tensor *const all[] = {x, w, y, bias, shifted};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica_tensor_destroy(all[i]);
}
END_TEST

START_TEST(others_refuse_results_in_operands) {
  mica_tensor *x = view_of(MICA_SHAPE(1, 1, 4, 4), NULL, 0), *y = view_of(MICA_SHAPE(1, 1, 4, 4), NULL, 32);
  mica_tensor *shifted = view_of(MICA_SHAPE(1, 1, 4, 4), NULL, 8), *row = view_of(MICA_SHAPE(1, 1, 4), NULL, 12);
  mica_tensor *scale = view_of(MICA_SHAPE(4), NULL, 44);
  const mica_pool_config pool = {.size = {3, 3}, .stride = {1, 1}, .pad = {1, 1}};
  refused(mica_op_copy(queue, x, x), "copy: y overlaps x");
  refused(mica_op_cast(queue, x, shifted), "cast: y overlaps x");
  refused(mica_op_bitcast(queue, x, shifted), "bitcast: y overlaps x");
  refused(mica_op_reduce(queue, MICA_REDUCTION_SUM, x, 2, row), "reduce: y overlaps x");
  ck_ok(mica_op_scale_add(queue, 2, x, 1, x));
  refused(mica_op_scale_add(queue, 2, x, 1, shifted), "scale_add: y overlaps x");
  refused(mica_op_max_pool_fwd(queue, &pool, x, x), "max_pool_fwd: y overlaps x");
  refused(mica_op_average_pool_fwd(queue, &pool, x, x), "average_pool_fwd: y overlaps x");
  refused(mica_op_max_pool_bwd(queue, &pool, x, y, y), "max_pool_bwd: dx overlaps dy");
  refused(mica_op_softmax_fwd(queue, -1, x, x), "softmax_fwd: y overlaps x");
  refused(mica_op_layer_norm_fwd(queue, -1, 1e-5, x, scale, NULL, y), "layer_norm_fwd: y overlaps scale");
  refused(mica_op_layer_norm_bwd(queue, -1, 1e-5, x, NULL, shifted, y, scale, NULL),
          "layer_norm_bwd: dscale overlaps dx");
  ck_ok(mica_op_activation_fwd(queue, MICA_ACTIVATION_TANH, 0, x, x));
  ck_ok(mica_op_activation_fwd(queue, MICA_ACTIVATION_NONE, 0, x, x));
  ck_ok(mica_op_activation_bwd(queue, MICA_ACTIVATION_TANH, 0, x, y, y));
  refused(mica_op_activation_fwd(queue, MICA_ACTIVATION_TANH, 0, x, shifted), "activation_fwd: y overlaps x");
  mica_tensor *const all[] = {x, y, shifted, row, scale};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica_tensor_destroy(all[i]);
}
END_TEST

TESTS(ANYWHERE, setup, teardown, overlaps_agree_with_every_element, other_memory_and_no_elements_never_overlap,
      products_refuse_results_in_operands, convolutions_refuse_results_in_operands, others_refuse_results_in_operands)
