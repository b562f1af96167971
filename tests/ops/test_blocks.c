/* labels: null single
 *
 * Weights in blocks on the host, against what the gguf package makes of the same bytes and numbers. */
#include "ops/blocks_data.h"
#include "support/check_main.h"

#include <math.h>
#include <mica/blocks.h>
#include <stdlib.h>
#include <string.h>

static void random_elements(const struct golden *g, float *x) {
  const int64_t elements = mica_block_elements(g->type);
  uint32_t state = (uint32_t)gguf_number(g->type) + 101;
  for (int64_t b = 0; b < GOLDEN_BLOCKS; b++)
    for (int64_t i = 0; i < elements; i++) {
      float v = (float)(next(&state) >> 8) * 0x1p-23f - 1;
      v *= ldexpf(1, (int)(b % 32) - 20);
      x[b * elements + i] = b % 67 == 2 ? 0 : b % 5 == 1 ? fabsf(v) : v;
    }
}

START_TEST(values_are_those_of_gguf_bit_for_bit) {
  const struct golden *g = &goldens[_i];
  const int64_t count = GOLDEN_BLOCKS * mica_block_elements(g->type);
  /* At an odd address, as a mapped file may have them. */
  uint8_t *blocks = malloc(GOLDEN_BLOCKS * mica_block_bytes(g->type) + 1);
  float *x = malloc((size_t)count * sizeof *x);
  random_blocks(g, blocks + 1);
  ck_assert_int_eq(mica_block_dequantize(g->type, blocks + 1, count, x), MICA_OK);
  for (int i = 0; i < 8; i++) ck_assert_float_eq(x[i], g->first[i]);
  ck_assert_uint_eq(hashed(x, (size_t)count * sizeof *x), g->dequantized);
  free(x);
  free(blocks);
}
END_TEST

START_TEST(types_with_a_formula_are_made_as_gguf_makes_them) {
  const struct golden *g = &goldens[_i];
  if (g->quantized == 0) return;
  const int64_t count = GOLDEN_BLOCKS * mica_block_elements(g->type);
  const size_t bytes = GOLDEN_BLOCKS * mica_block_bytes(g->type);
  uint8_t *blocks = malloc(bytes);
  float *x = malloc((size_t)count * sizeof *x);
  random_elements(g, x);
  ck_assert_int_eq(mica_block_quantize(g->type, x, count, NULL, blocks), MICA_OK);
  ck_assert_uint_eq(hashed(blocks, bytes), g->quantized);
  free(x);
  free(blocks);
}
END_TEST

static double error_of(mica_block type, const float *x, int64_t count, const float *importance, bool given) {
  const size_t bytes = (size_t)(count / mica_block_elements(type)) * mica_block_bytes(type);
  uint8_t *blocks = malloc(bytes);
  float *back = malloc((size_t)count * sizeof *back);
  ck_assert_int_eq(mica_block_quantize(type, x, count, given ? importance : NULL, blocks), MICA_OK);
  ck_assert_int_eq(mica_block_dequantize(type, blocks, count, back), MICA_OK);
  double error = 0, all = 0;
  for (int64_t i = 0; i < count; i++) {
    error += importance[i] * pow(back[i] - x[i], 2);
    all += importance[i] * pow(x[i], 2);
  }
  free(back);
  free(blocks);
  return sqrt(error / all);
}

/* Relative errors of numbers with a normal distribution; GGUF has a tenth less. */
START_TEST(the_search_has_small_errors) {
  static const struct {
    mica_block type;
    double most;
  } list[] = {{MICA_BLOCK_Q4_0, 0.094}, {MICA_BLOCK_Q4_1, 0.084}, {MICA_BLOCK_Q5_0, 0.047},
              {MICA_BLOCK_Q5_1, 0.040}, {MICA_BLOCK_Q8_0, 0.006}, {MICA_BLOCK_Q4_K, 0.080},
              {MICA_BLOCK_Q5_K, 0.040}, {MICA_BLOCK_Q6_K, 0.019}, {MICA_BLOCK_MXFP4, 0.125}};
  enum { COUNT = 256 * 64 };
  static float x[COUNT], importance[COUNT], alike[COUNT];
  uint32_t state = 7;
  for (int i = 0; i < COUNT; i++) {
    double sum = 0;
    for (int k = 0; k < 12; k++) sum += (double)next(&state) * 0x1p-32;
    x[i] = (float)((sum - 6) * 0.05);
    importance[i] = (float)pow((double)next(&state) * 0x1p-32, 4);
    alike[i] = 1;
  }
  const mica_block type = list[_i].type;
  const double plain = error_of(type, x, COUNT, alike, false), sought = error_of(type, x, COUNT, alike, true);
  ck_assert_msg(plain <= list[_i].most, "%s: %g", mica_block_name(type), plain);
  ck_assert_msg(sought <= plain * (1 + 1e-9), "%s: %g, plain %g", mica_block_name(type), sought, plain);
  const double blind = error_of(type, x, COUNT, importance, false), seen = error_of(type, x, COUNT, importance, true);
  ck_assert_msg(seen < blind, "%s: %g with importance, %g without", mica_block_name(type), seen, blind);
}
END_TEST

START_TEST(constants_zeros_and_lone_elements_come_back) {
  const mica_block type = goldens[_i].type;
  const int64_t count = mica_block_elements(type);
  float x[256] = {0}, back[256];
  uint8_t blocks[256];
  ck_assert_int_eq(mica_block_quantize(type, x, count, NULL, blocks), MICA_OK);
  ck_assert_int_eq(mica_block_dequantize(type, blocks, count, back), MICA_OK);
  for (int64_t i = 0; i < count; i++) ck_assert_float_eq(back[i], 0);
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int64_t i = 0; i < count; i++) x[i] = (float)sign;
    ck_assert_int_eq(mica_block_quantize(type, x, count, NULL, blocks), MICA_OK);
    ck_assert_int_eq(mica_block_dequantize(type, blocks, count, back), MICA_OK);
    for (int64_t i = 0; i < count; i++) ck_assert_float_eq_tol(back[i], x[i], 0.01F);
  }
  memset(x, 0, sizeof x);
  x[count - 1] = -3;
  ck_assert_int_eq(mica_block_quantize(type, x, count, NULL, blocks), MICA_OK);
  ck_assert_int_eq(mica_block_dequantize(type, blocks, count, back), MICA_OK);
  ck_assert_float_eq_tol(back[count - 1], -3, 0.01F);
  for (int64_t i = 0; i + 1 < count; i++) ck_assert_float_eq_tol(back[i], 0, 1e-3F);
}
END_TEST

START_TEST(wrong_calls_are_refused) {
  float x[256] = {0}, weights[256] = {0};
  uint8_t blocks[256] = {0};
  ck_assert_int_eq(mica_block_dequantize(MICA_BLOCK_NONE, blocks, 32, x), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_dequantize(MICA_BLOCK_COUNT, blocks, 32, x), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_dequantize(MICA_BLOCK_Q4_0, blocks, 33, x), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_dequantize(MICA_BLOCK_Q4_0, blocks, -32, x), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_dequantize(MICA_BLOCK_Q6_K, blocks, 128, x), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_dequantize(MICA_BLOCK_Q4_0, NULL, 32, x), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_dequantize(MICA_BLOCK_Q4_0, blocks, 32, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_dequantize(MICA_BLOCK_Q4_0, NULL, 0, NULL), MICA_OK);
  ck_assert_int_eq(mica_block_quantize(MICA_BLOCK_NONE, x, 32, NULL, blocks), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_quantize(MICA_BLOCK_Q5_K, x, 32, NULL, blocks), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_quantize(MICA_BLOCK_Q4_0, NULL, 32, NULL, blocks), MICA_E_INVALID);
  ck_assert_int_eq(mica_block_quantize(MICA_BLOCK_Q4_0, x, 32, NULL, NULL), MICA_E_INVALID);
  for (size_t i = 0; i < GOLDENS; i++) {
    const mica_block type = goldens[i].type;
    const int64_t count = mica_block_elements(type);
    x[3] = NAN;
    ck_assert_int_eq(mica_block_quantize(type, x, count, NULL, blocks), MICA_E_INVALID);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), "element 3"));
    x[3] = INFINITY;
    ck_assert_int_eq(mica_block_quantize(type, x, count, NULL, blocks), MICA_E_INVALID);
    x[3] = 0;
    weights[5] = -1;
    ck_assert_int_eq(mica_block_quantize(type, x, count, weights, blocks), MICA_E_INVALID);
    weights[5] = NAN;
    ck_assert_int_eq(mica_block_quantize(type, x, count, weights, blocks), MICA_E_INVALID);
    weights[5] = 0;
    x[3] = 3e38f;
    x[4] = -3e38f;
    const mica_status status = type == MICA_BLOCK_MXFP4 ? MICA_OK : MICA_E_INVALID;
    ck_assert_int_eq(mica_block_quantize(type, x, count, NULL, blocks), status);
    ck_assert_int_eq(mica_block_quantize(type, x, count, weights, blocks), status);
    x[3] = 1e-44f;
    x[4] = 0;
    ck_assert_int_eq(mica_block_quantize(type, x, count, NULL, blocks), MICA_OK);
    x[3] = 0;
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(values_are_those_of_gguf_bit_for_bit, 0, GOLDENS),
      LOOP(types_with_a_formula_are_made_as_gguf_makes_them, 0, GOLDENS), LOOP(the_search_has_small_errors, 0, 9),
      LOOP(constants_zeros_and_lone_elements_come_back, 0, GOLDENS), wrong_calls_are_refused)
