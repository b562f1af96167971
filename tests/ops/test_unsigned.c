/* labels: device single
 *
 * u16, u32 and u64 in every op that takes integers, at the edges of their ranges, against arithmetic modulo 2^bits on
 * the host; and bitcast. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 19 /* a vector of 16 and a rest */
#define MOST_OUTPUTS 24

static const mica_dtype types[] = {MICA_U16, MICA_U32, MICA_U64};
#define TYPES (sizeof types / sizeof *types)

static int bits_of(mica_dtype dtype) { return 8 * (int)mica_dtype_size(dtype); }
static uint64_t most(mica_dtype dtype) { return UINT64_MAX >> (64 - bits_of(dtype)); }

/* --- elements of unsigned types on the host --- */

static uint64_t get(mica_dtype dtype, const void *data, size_t i) {
  switch (mica_dtype_size(dtype)) {
  case 1: return ((const uint8_t *)data)[i];
  case 2: return ((const uint16_t *)data)[i];
  case 4: return ((const uint32_t *)data)[i];
  default: return ((const uint64_t *)data)[i];
  }
}

static void set(mica_dtype dtype, void *data, size_t i, uint64_t value) {
  switch (mica_dtype_size(dtype)) {
  case 1: ((uint8_t *)data)[i] = (uint8_t)value; break;
  case 2: ((uint16_t *)data)[i] = (uint16_t)value; break;
  case 4: ((uint32_t *)data)[i] = (uint32_t)value; break;
  default: ((uint64_t *)data)[i] = value; break;
  }
}

/* Both ends, the middle, where a sign would be, and numbers between. */
static uint64_t sample(mica_dtype dtype, size_t i) {
  const uint64_t m = most(dtype), half = m / 2 + 1;
  const uint64_t values[N] = {0,     1,         2,        3,     m,     m - 1,  half,       half - 1,  half + 1, 7,
                              m / 3, m / 5 * 4, half | 5, m - 7, 0x5a5, 0xfffe, m ^ 0x00ff, half >> 1, 12345};
  return values[i] & m;
}

/* --- running a graph --- */

static mica_graph *graph;
static mica_session *session;
static mica_value outputs[MOST_OUTPUTS];
static size_t output_count;

static void setup(void) {
  output_count = 0;
  ck_ok(mica_graph_create(&graph));
}

static void teardown(void) {
  mica_session_destroy(session);
  session = NULL;
  mica_graph_destroy(graph);
}

static void renew(void) {
  teardown();
  setup();
}

static void want(mica_value y) {
  ck_assert_uint_lt(output_count, MOST_OUTPUTS);
  outputs[output_count++] = y;
}

static void run(const mica_feed *feeds, size_t count) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, output_count, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), feeds, count));
}

/* The bytes of an output, the caller's to free. */
static void *output(size_t index) {
  const mica_tensor *tensor = mica_session_output(session, index);
  void *data = malloc(mica_tensor_bytes(tensor) + 1);
  ck_assert_ptr_nonnull(data);
  ck_ok(mica_tensor_download(test_queue(), tensor, data, mica_tensor_bytes(tensor)));
  return data;
}

static void run_on_samples(mica_dtype dtype) {
  unsigned char data[N * 8];
  mica_tensor *x = NULL;
  for (size_t i = 0; i < N; i++) set(dtype, data, i, sample(dtype, i));
  ck_ok(mica_tensor_create_from(test_engine(), dtype, MICA_SHAPE(N), data, &x));
  run(&(mica_feed){"x", x}, 1);
  mica_tensor_destroy(x);
}

static mica_value input(mica_dtype dtype) { return mica_input(graph, "x", dtype, MICA_SHAPE(N)); }

/* --- two operands, each pair of samples --- */

#define CHOSEN(q, x, y) ((q) ? (x) : (y))
#define BINARY_OPS(X)                                                                                                  \
  X(add, mica_add(a, b), a + b)                                                                                        \
  X(sub, mica_sub(a, b), a - b)                                                                                        \
  X(mul, mica_mul(a, b), a *b)                                                                                         \
  X(div, mica_div(a, b), b ? a / b : 0)                                                                                \
  X(mod, mica_mod(a, b), b ? a % b : 0)                                                                                \
  X(fmod, mica_fmod(a, b), b ? a % b : 0)                                                                              \
  X(maximum, mica_maximum(a, b), CHOSEN(a > b, a, b))                                                                  \
  X(minimum, mica_minimum(a, b), CHOSEN(a < b, a, b))                                                                  \
  X(bit_and, mica_bit_and(a, b), a &b)                                                                                 \
  X(bit_or, mica_bit_or(a, b), a | b)                                                                                  \
  X(bit_xor, mica_bit_xor(a, b), a ^ b)                                                                                \
  X(less, mica_less(a, b), a < b)                                                                                      \
  X(less_equal, mica_less_equal(a, b), a <= b)                                                                         \
  X(greater, mica_greater(a, b), a > b)                                                                                \
  X(greater_equal, mica_greater_equal(a, b), a >= b)                                                                   \
  X(equal, mica_equal(a, b), a == b)                                                                                   \
  X(not_equal, mica_not_equal(a, b), a != b)                                                                           \
  X(where, mica_where(mica_less(a, b), b, a), CHOSEN(a < b, b, a))

#define BINARY(name, build, reference)                                                                                 \
  static mica_value build_##name(mica_value a, mica_value b) { return build; }                                         \
  static uint64_t name##_of(uint64_t a, uint64_t b) { return reference; }
BINARY_OPS(BINARY)
#undef BINARY

static const struct {
  const char *name;
  mica_value (*build)(mica_value a, mica_value b);
  uint64_t (*reference)(uint64_t a, uint64_t b);
} binaries[] = {
#define BINARY(name, build, reference) {#name, build_##name, name##_of},
    BINARY_OPS(BINARY)
#undef BINARY
};
#define BINARIES (sizeof binaries / sizeof *binaries)

START_TEST(pairs_are_right) {
  mica_dtype dtype = types[_i];
  mica_value x = input(dtype), column = mica_reshape(x, MICA_SHAPE(N, 1));
  for (size_t k = 0; k < BINARIES; k++) want(binaries[k].build(column, x));
  run_on_samples(dtype);
  for (size_t k = 0; k < BINARIES; k++) {
    void *got = output(k);
    mica_dtype type = mica_tensor_dtype(mica_session_output(session, k));
    for (size_t i = 0; i < N * N; i++) {
      uint64_t a = sample(dtype, i / N), b = sample(dtype, i % N), y = binaries[k].reference(a, b) & most(dtype);
      ck_assert_msg(get(type, got, i) == y, "%s %s(%llu, %llu) is %llu, not %llu", mica_dtype_name(dtype),
                    binaries[k].name, (unsigned long long)a, (unsigned long long)b,
                    (unsigned long long)get(type, got, i), (unsigned long long)y);
    }
    free(got);
  }
}
END_TEST

/* --- one operand --- */

#define UNARY_OPS(X)                                                                                                   \
  X(neg, mica_neg(a), -a)                                                                                              \
  X(abs, mica_abs(a), a)                                                                                               \
  X(sign, mica_sign(a), a > 0)                                                                                         \
  X(square, mica_square(a), a *a)                                                                                      \
  X(relu, mica_relu(a), a)                                                                                             \
  X(bit_not, mica_bit_not(a), ~a)                                                                                      \
  X(clip, mica_clip(a, -1, 9), CHOSEN(a > 9, 9, a))                                                                    \
  X(clip_above, mica_clip(a, 300, INFINITY), CHOSEN(a < 300, 300, a))                                                  \
  X(shift_left, mica_shift_left(a, mica_scalar(graph, mica_value_dtype(a), 5)), a << 5)                                \
  X(shift_right, mica_shift_right(a, mica_scalar(graph, mica_value_dtype(a), 5)), a >> 5)                              \
  X(flip, mica_slice(a, 0, -1, MICA_END, -1), a)                                                                       \
  X(twice, mica_slice(mica_concat((mica_value[]){a, a}, 2, 0), 0, 0, N, 1), a)

#define UNARY(name, build, reference)                                                                                  \
  static mica_value build_##name(mica_value a) { return build; }                                                       \
  static uint64_t name##_of(uint64_t a) { return reference; }
UNARY_OPS(UNARY)
#undef UNARY

static const struct {
  const char *name;
  mica_value (*build)(mica_value a);
  uint64_t (*reference)(uint64_t a);
} unaries[] = {
#define UNARY(name, build, reference) {#name, build_##name, name##_of},
    UNARY_OPS(UNARY)
#undef UNARY
};
#define UNARIES (sizeof unaries / sizeof *unaries)

START_TEST(single_operands_are_right) {
  mica_dtype dtype = types[_i];
  mica_value x = input(dtype);
  for (size_t k = 0; k < UNARIES; k++) want(unaries[k].build(x));
  run_on_samples(dtype);
  for (size_t k = 0; k < UNARIES; k++) {
    void *got = output(k);
    bool reversed = !strcmp(unaries[k].name, "flip");
    for (size_t i = 0; i < N; i++) {
      uint64_t a = sample(dtype, reversed ? N - 1 - i : i), y = unaries[k].reference(a) & most(dtype);
      ck_assert_msg(get(dtype, got, i) == y, "%s %s(%llu) is %llu, not %llu", mica_dtype_name(dtype), unaries[k].name,
                    (unsigned long long)a, (unsigned long long)get(dtype, got, i), (unsigned long long)y);
    }
    free(got);
  }
}
END_TEST

/* --- casts --- */

/* Every pair of integer types wraps; to floating types the nearest. */
START_TEST(casts_are_right) {
  static const mica_dtype to[] = {MICA_I8,  MICA_U8,  MICA_I16,  MICA_U16, MICA_I32, MICA_U32,
                                  MICA_I64, MICA_U64, MICA_BOOL, MICA_F32, MICA_F64};
  mica_dtype dtype = types[_i];
  bool has_f64 = mica_engine_device(test_engine())->features & MICA_FEATURE_FP64;
  size_t count = sizeof to / sizeof *to - !has_f64;
  mica_value x = input(dtype);
  for (size_t k = 0; k < count; k++) want(mica_cast(x, to[k]));
  for (size_t k = 0; k < TYPES; k++) want(mica_cast(mica_cast(x, MICA_I8), types[k])); /* signs are kept */
  run_on_samples(dtype);
  for (size_t k = 0; k < output_count; k++) {
    void *got = output(k);
    for (size_t i = 0; i < N; i++) {
      mica_dtype type = mica_tensor_dtype(mica_session_output(session, k));
      uint64_t x_i = sample(dtype, i);
      if (k >= count)
        ck_assert_uint_eq(get(type, got, i), (uint64_t)(int64_t)(int8_t)x_i & most(type));
      else if (type == MICA_F32)
        ck_assert(((float *)got)[i] == (float)x_i);
      else if (type == MICA_F64)
        ck_assert(((double *)got)[i] == (double)x_i);
      else
        ck_assert_uint_eq(get(type, got, i), type == MICA_BOOL ? x_i != 0 : x_i & most(type));
    }
    free(got);
  }
}
END_TEST

/* From floating types values saturate, and NaN gives 0. */
START_TEST(floats_saturate) {
  const float values[] = {-1,      -0.5f, 0.75f,  255.9f,   65535,     65536, 4294967040.0f, 4294967296.0f, 0x1p63f,
                          0x1p64f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN};
  enum { COUNT = sizeof values / sizeof *values };
  mica_tensor *x = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(COUNT), values, &x));
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(COUNT));
  for (size_t k = 0; k < TYPES; k++) want(mica_cast(in, types[k]));
  run(&(mica_feed){"x", x}, 1);
  for (size_t k = 0; k < TYPES; k++) {
    void *got = output(k);
    double end = k == 0 ? 0x1p16 : k == 1 ? 0x1p32 : 0x1p64;
    for (size_t i = 0; i < COUNT; i++) {
      uint64_t y = !(values[i] > 0) ? 0 : values[i] >= end ? most(types[k]) : (uint64_t)values[i];
      ck_assert_msg(get(types[k], got, i) == y, "%s(%g) is %llu", mica_dtype_name(types[k]), (double)values[i],
                    (unsigned long long)get(types[k], got, i));
    }
    free(got);
  }
  mica_tensor_destroy(x);
}
END_TEST

/* --- reductions and what goes along an axis --- */

START_TEST(reductions_are_right) {
  mica_dtype dtype = types[_i];
  mica_value x = input(dtype);
  mica_axes all = MICA_AXES(0);
  want(mica_sum(x, all, false));
  want(mica_prod(mica_bit_or(x, mica_scalar(graph, dtype, 1)), all, false));
  want(mica_max(x, all, false));
  want(mica_min(mica_bit_or(x, mica_scalar(graph, dtype, 4)), all, false));
  want(mica_argmax(x, 0, false));
  want(mica_argmin(x, 0, false));
  run_on_samples(dtype);
  uint64_t y[6] = {0, 1, 0, UINT64_MAX, 0, 0};
  for (size_t i = 0; i < N; i++) {
    uint64_t v = sample(dtype, i);
    y[0] += v;
    y[1] *= v | 1;
    if (v > sample(dtype, y[4])) y[4] = i;
    if (v < sample(dtype, y[5])) y[5] = i;
    if ((v | 4) < y[3]) y[3] = v | 4;
  }
  y[2] = sample(dtype, y[4]);
  for (size_t k = 0; k < 6; k++) {
    void *got = output(k);
    ck_assert_uint_eq(get(k < 4 ? dtype : MICA_U64, got, 0), y[k] & (k < 4 ? most(dtype) : UINT64_MAX));
    free(got);
  }
}
END_TEST

START_TEST(op_reduce_takes_u32_and_u64) {
  for (size_t t = 1; t < TYPES; t++)
    for (int r = MICA_REDUCTION_SUM; r <= MICA_REDUCTION_ARGMAX; r++) {
      unsigned char data[N * 8];
      uint64_t y = 0, sum = 0, best = 0;
      mica_tensor *x = NULL, *to = NULL;
      for (size_t i = 0; i < N; i++) {
        set(types[t], data, i, sample(types[t], i));
        sum += sample(types[t], i);
        if (sample(types[t], i) > sample(types[t], best)) best = i;
      }
      mica_dtype type = r == MICA_REDUCTION_ARGMAX ? MICA_I64 : types[t];
      ck_ok(mica_tensor_create_from(test_engine(), types[t], MICA_SHAPE(1, N), data, &x));
      ck_ok(mica_tensor_create(test_engine(), type, MICA_SHAPE(1), &to));
      ck_ok(mica_op_reduce(test_queue(), (mica_reduction)r, x, 1, to));
      ck_ok(mica_tensor_download(test_queue(), to, &y, mica_tensor_bytes(to)));
      ck_assert_uint_eq(get(type, &y, 0), r == MICA_REDUCTION_SUM   ? sum & most(types[t])
                                          : r == MICA_REDUCTION_MAX ? sample(types[t], best)
                                                                    : best);
      mica_tensor_destroy(to);
      mica_tensor_destroy(x);
    }
}
END_TEST

static int falling(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

START_TEST(orders_and_running_sums_are_right) {
  mica_dtype dtype = types[_i];
  mica_value x = input(dtype);
  want(mica_cumsum(x, 0, false, false));
  want(mica_cumprod(x, 0, true, true));
  want(mica_top_k(x, N, 0, false).values);
  want(mica_top_k(x, N, 0, true).values);
  run_on_samples(dtype);
  uint64_t y[4][N], sorted[N], sum = 0, product = 1;
  for (size_t i = 0; i < N; i++) sorted[i] = sample(dtype, i);
  qsort(sorted, N, sizeof *sorted, falling);
  for (size_t i = 0; i < N; i++) {
    y[0][i] = sum += sample(dtype, i);
    y[1][N - 1 - i] = product;
    product *= sample(dtype, N - 1 - i);
    y[2][i] = sorted[i];
    y[3][i] = sorted[N - 1 - i];
  }
  for (size_t k = 0; k < 4; k++) {
    void *got = output(k);
    for (size_t i = 0; i < N; i++) ck_assert_uint_eq(get(dtype, got, i), y[k][i] & most(dtype));
    free(got);
  }
}
END_TEST

/* --- indexing and layout --- */

START_TEST(indexing_is_right) {
  static const int64_t rows[N] = {3, 3, 0, 4, 18, -1, 7, 3, 3, 5, 6, 1, 2, 8, 9, 10, 11, 12, 13};
  mica_dtype dtype = types[_i];
  mica_value x = input(dtype), at = mica_constant(graph, MICA_I64, MICA_SHAPE(N), rows);
  const int64_t before[] = {2}, after[] = {3};
  want(mica_gather(x, at, 0));
  for (int how = MICA_SCATTER_SET; how <= MICA_SCATTER_MIN; how++)
    want(mica_scatter_elements(x, at, mica_bit_not(x), 0, (mica_scatter)how));
  want(mica_scatter_nd(x, mica_reshape(at, MICA_SHAPE(N, 1)), x, MICA_SCATTER_ADD));
  want(mica_pad(x, before, after, MICA_PAD_MODE_CONSTANT, 9));
  want(
      mica_max_pool(mica_reshape(x, MICA_SHAPE(1, 1, N)), &(mica_pool_config){.size = {3}, .stride = {1}, .pad = {1}}));
  want(mica_one_hot(mica_constant(graph, MICA_I64, MICA_SHAPE(1), &rows[0]), N, -1, mica_scalar(graph, dtype, 7),
                    mica_scalar(graph, dtype, 65535)));
  want(mica_range(graph, dtype, N));
  run_on_samples(dtype);
  uint64_t y[11][N + 5], m = most(dtype);
  size_t counts[11];
  for (size_t k = 0; k < 11; k++) counts[k] = k == 7 ? N + 5 : N;
  for (size_t i = 0; i < N; i++) {
    for (size_t k = 1; k <= 6; k++) y[k][i] = sample(dtype, i);
    y[0][i] = sample(dtype, (size_t)(rows[i] < 0 ? rows[i] + N : rows[i]));
    uint64_t left = i ? sample(dtype, i - 1) : 0, right = i + 1 < N ? sample(dtype, i + 1) : 0, own = sample(dtype, i);
    y[8][i] = own > left ? own : left;
    if (right > y[8][i]) y[8][i] = right;
    y[9][i] = i == 3 ? 65535 : 7;
    y[10][i] = i;
  }
  for (size_t i = 0; i < N + 5; i++) y[7][i] = i < 2 || i >= N + 2 ? 9 : sample(dtype, i - 2);
  for (size_t j = 0; j < N; j++) {
    size_t to = (size_t)(rows[j] < 0 ? rows[j] + N : rows[j]);
    uint64_t update = ~sample(dtype, j) & m;
    y[1][to] = update;
    y[2][to] = (y[2][to] + update) & m;
    y[3][to] = (y[3][to] * update) & m;
    if (update > y[4][to]) y[4][to] = update;
    if (update < y[5][to]) y[5][to] = update;
    y[6][to] = (y[6][to] + sample(dtype, j)) & m;
  }
  for (size_t k = 0; k < 11; k++) {
    void *got = output(k);
    ck_assert_uint_eq(mica_tensor_bytes(mica_session_output(session, k)), counts[k] * mica_dtype_size(dtype));
    for (size_t i = 0; i < counts[k]; i++)
      ck_assert_msg(get(dtype, got, i) == y[k][i], "%s output %zu element %zu: %llu, not %llu", mica_dtype_name(dtype),
                    k, i, (unsigned long long)get(dtype, got, i), (unsigned long long)y[k][i]);
    free(got);
  }
}
END_TEST

/* --- constants --- */

START_TEST(constants_are_right) {
  mica_dtype dtype = types[_i];
  unsigned char data[N * 8];
  mica_value x = input(dtype);
  for (size_t i = 0; i < N; i++) set(dtype, data, i, sample(dtype, i));
  mica_value constant = mica_constant(graph, dtype, MICA_SHAPE(N), data);
  want(mica_add(x, constant));
  want(mica_sub(constant, mica_scalar(graph, dtype, 3))); /* below 0 it wraps, folded or not */
  want(mica_mul(x, mica_full_like(x, 300)));
  run_on_samples(dtype);
  for (size_t k = 0; k < 3; k++) {
    void *got = output(k);
    for (size_t i = 0; i < N; i++) {
      uint64_t v = sample(dtype, i), y = k == 0 ? v + v : k == 1 ? v - 3 : v * 300;
      ck_assert_uint_eq(get(dtype, got, i), y & most(dtype));
    }
    free(got);
  }
}
END_TEST

/* Cut towards zero and modulo the range, by the driver and by the kernel that recordings take. */
START_TEST(fill_wraps) {
  static const struct {
    double value;
    uint64_t bits;
  } cases[] = {{-3, -(uint64_t)3}, {65536.5, 65536}, {0x1p32, 1ull << 32}, {0x1p63, 1ull << 63}, {5.9, 5}, {-0.5, 0}};
  for (size_t t = 0; t < TYPES; t++)
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
      mica_tensor *y = NULL;
      uint64_t got[N];
      ck_ok(mica_tensor_create(test_engine(), types[t], MICA_SHAPE(N), &y));
      ck_ok(mica_op_fill(test_queue(), cases[c].value, y));
      ck_ok(mica_tensor_download(test_queue(), y, got, mica_tensor_bytes(y)));
      for (size_t i = 0; i < N; i++) ck_assert_uint_eq(get(types[t], got, i), cases[c].bits & most(types[t]));
      mica_tensor_destroy(y);
    }
}
END_TEST

/* --- bitcast --- */

START_TEST(bitcast_keeps_every_bit) {
  static const mica_dtype pairs[][2] = {{MICA_U16, MICA_F16}, {MICA_U16, MICA_BF16}, {MICA_U16, MICA_I16},
                                        {MICA_U32, MICA_F32}, {MICA_U32, MICA_I32},  {MICA_U64, MICA_I64}};
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
    /* NaNs with a payload, subnormal numbers, both zeros, infinities. */
    static const uint64_t words[] = {0x7f80000100007fffull, 0xffc12345fc010001ull, 0x8000000080008000ull,
                                     0x7c007f800000ull, 0x0001000100010001ull};
    enum { BYTES = sizeof words };
    mica_dtype from = pairs[p][0], to = pairs[p][1];
    int64_t n = (int64_t)(BYTES / mica_dtype_size(from));
    mica_tensor *x = NULL, *y = NULL;
    unsigned char got[BYTES];
    renew();
    ck_ok(mica_tensor_create_from(test_engine(), from, MICA_SHAPE(n), words, &x));
    mica_value in = mica_input(graph, "x", from, MICA_SHAPE(n));
    want(mica_bitcast(in, to));
    want(mica_bitcast(mica_bitcast(in, to), from));
    want(mica_bitcast(mica_bitcast(mica_slice(in, 0, 1, n, 1), to), from));
    want(mica_bitcast(mica_constant(graph, from, MICA_SHAPE(n), words), to));
    run(&(mica_feed){"x", x}, 1);
    for (size_t k = 0; k < 4; k++) {
      unsigned char *data = output(k);
      size_t skip = k == 2 ? mica_dtype_size(from) : 0;
      ck_assert_int_eq(mica_tensor_dtype(mica_session_output(session, k)), k == 0 || k == 3 ? to : from);
      ck_assert(!memcmp(data, (const unsigned char *)words + skip, BYTES - skip));
      free(data);
    }
    ck_ok(mica_tensor_create(test_engine(), to, MICA_SHAPE(n), &y));
    ck_ok(mica_op_bitcast(test_queue(), x, y));
    ck_ok(mica_tensor_download(test_queue(), y, got, BYTES));
    ck_assert(!memcmp(got, words, BYTES));
    mica_tensor_destroy(y);
    mica_tensor_destroy(x);
  }
}
END_TEST

START_TEST(bitcast_takes_equal_sizes) {
  mica_tensor *x = NULL, *y = NULL;
  want(mica_bitcast(mica_input(graph, "x", MICA_U32, MICA_SHAPE(2)), MICA_F64));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_DTYPE);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "u32 has 4 bytes, but f64 has 8"));
  ck_ok(mica_tensor_create(test_engine(), MICA_U32, MICA_SHAPE(2), &x));
  ck_ok(mica_tensor_create(test_engine(), MICA_U16, MICA_SHAPE(2), &y));
  ck_assert_int_eq(mica_op_bitcast(test_queue(), x, y), MICA_E_DTYPE);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "u32 has 4 bytes, but u16 has 2"));
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
}
END_TEST

TESTS(DEVICE, setup, teardown, LOOP(pairs_are_right, 0, TYPES), LOOP(single_operands_are_right, 0, TYPES),
      LOOP(casts_are_right, 0, TYPES), floats_saturate, LOOP(reductions_are_right, 0, TYPES),
      op_reduce_takes_u32_and_u64, LOOP(orders_and_running_sums_are_right, 0, TYPES), LOOP(indexing_is_right, 0, TYPES),
      LOOP(constants_are_right, 0, TYPES), fill_wraps, bitcast_keeps_every_bit, bitcast_takes_equal_sizes)
