/* labels: device slow
 *
 * The matrix product over every size from 1 to 67 in each dimension, every transpose, odd strides, batches that
 * broadcast and every type, against the product in double. The kernel is whichever the device's class prefers; the grid
 * over all kernels and variants is the op's own check (test_checks.c). */
#include "base/element.h"
#include "ops/common/tolerance.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gemm_case {
  int64_t m, n, k, batches;
  bool a_transposed, b_transposed, a_shared, b_shared; /* shared: one matrix for all batches */
  int64_t gap;                                         /* elements between the lines of a and b, and the rows of d */
  int64_t unit;                                        /* elements from one element of a line to the next */
  mica_dtype type, d_type;
  mica_gemm_config config;
  bool bias, in_place; /* in_place: c is d */
} gemm_case;

static uint64_t random_state = 1;

static double random_value(mica_dtype type) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  int64_t bits = (int64_t)(random_state >> 33) - (INT64_C(1) << 30);
  return mica_dtype_kind_of(type) == MICA_DTYPE_KIND_FLOAT ? (double)bits * 0x1p-30
                                                           : (double)(bits % (type == MICA_I32 ? 1000 : 100));
}

/* Matrices in memory of their own: host bytes, what they mean, and the device's view. */
typedef struct matrices {
  mica_tensor *all, *view;
  unsigned char *bytes;
  mica_dtype type;
  int64_t count, row, col, batch;
} matrices;

static matrices make_matrices(mica_dtype type, int64_t batches, int64_t rows, int64_t cols, bool transposed,
                              int64_t unit, int64_t gap, bool poison) {
  int64_t lines = transposed ? cols : rows, line = (transposed ? rows : cols) * unit + gap;
  matrices x = {.type = type, .batch = batches == 1 ? 0 : lines * line, .count = batches * lines * line + 1};
  x.row = transposed ? unit : line;
  x.col = transposed ? line : unit;
  size_t bytes = (size_t)x.count * mica_dtype_size(type);
  x.bytes = malloc(bytes);
  ck_assert_ptr_nonnull(x.bytes);
  memset(x.bytes, 0xff, bytes);
  for (int64_t i = 0; !poison && i < x.count; i++) mica__element_set(type, x.bytes, i, random_value(type));
  ck_ok(mica_tensor_create_from(test_engine(), type, MICA_SHAPE(x.count), x.bytes, &x.all));
  ck_ok(mica_tensor_view(x.all, MICA_SHAPE(batches, rows, cols), (int64_t[]){x.batch, x.row, x.col}, 0, &x.view));
  return x;
}

static void free_matrices(matrices *x) {
  mica_tensor_destroy(x->view);
  mica_tensor_destroy(x->all);
  free(x->bytes);
}

static double at(const matrices *x, int64_t batch, int64_t row, int64_t col) {
  return mica__element_get(x->type, x->bytes, batch * x->batch + row * x->row + col * x->col);
}

static double reference(const gemm_case *t, const matrices *a, const matrices *b, const matrices *c,
                        const matrices *bias, const int64_t i[3], double *bound) {
  mica_dtype compute = mica_dtype_kind_of(t->type) == MICA_DTYPE_KIND_FLOAT ? MICA_F32 : MICA_I32;
  double sum = 0, magnitude = 0;
  for (int64_t k = 0; k < t->k; k++) {
    double product = at(a, t->a_shared ? 0 : i[0], i[1], k) * at(b, t->b_shared ? 0 : i[0], k, i[2]);
    sum += product;
    magnitude += fabs(product);
  }
  double addend = t->config.beta == 0 ? 0 : t->config.beta * at(c, i[0], i[1], i[2]);
  double more = !t->bias ? 0 : at(bias, 0, 0, t->config.bias_axis == MICA_BIAS_AXIS_ROW ? i[1] : i[2]);
  double value = t->config.alpha * sum + addend + more;
  if (t->config.activation == MICA_ACTIVATION_RELU && value < 0) value = 0;
  *bound = mica__tolerance_sum(compute, t->d_type, (double)t->k,
                               fabs(t->config.alpha) * magnitude + fabs(addend) + fabs(more), value);
  return value;
}

/* Larger products are compared at every seventh element: where 7 divides no row, that is in every row and column. */
#define WORK_COMPARED 32000000

static void compare(const gemm_case *t, const matrices *a, const matrices *b, const matrices *c, const matrices *bias,
                    matrices *d) {
  unsigned char *got = malloc((size_t)d->count * mica_dtype_size(d->type));
  ck_assert_ptr_nonnull(got);
  ck_ok(mica_tensor_download(test_queue(), d->all, got, (size_t)d->count * mica_dtype_size(d->type)));
  char text[200];
  snprintf(text, sizeof text, "m=%lld n=%lld k=%lld batches=%lld %c%c unit=%lld gap=%lld %s beta=%g", (long long)t->m,
           (long long)t->n, (long long)t->k, (long long)t->batches, t->a_transposed ? 't' : 'n',
           t->b_transposed ? 't' : 'n', (long long)t->unit, (long long)t->gap, mica_dtype_name(t->type),
           t->config.beta);
  int64_t step = t->batches * t->m * t->n * t->k > WORK_COMPARED ? 7 : 1, element = 0;
  for (int64_t z = 0; z < t->batches; z++)
    for (int64_t i = 0; i < t->m; i++)
      for (int64_t j = 0; j < t->n; j++) {
        if (element++ % step) continue;
        double bound = 0, want = reference(t, a, b, c, bias, (int64_t[]){z, i, j}, &bound);
        int64_t at = z * d->batch + i * d->row + j;
        double is = mica__element_get(d->type, got, at);
        ck_assert_msg(fabs(is - want) <= bound, "%s: d[%lld, %lld, %lld] is %.9g, should be %.9g within %g", text,
                      (long long)z, (long long)i, (long long)j, is, want, bound);
        mica__element_set(d->type, got, at, mica__element_get(d->type, d->bytes, at));
      }
  /* What lies between the rows of d is as it was. */
  for (int64_t z = 0; z < t->batches; z++)
    for (int64_t i = 0; i < t->m; i++)
      for (int64_t j = t->n; j < d->row && z * d->batch + i * d->row + j < d->count; j++) {
        size_t size = mica_dtype_size(d->type), at = (size_t)(z * d->batch + i * d->row + j) * size;
        ck_assert_msg(memcmp(got + at, d->bytes + at, size) == 0, "%s: wrote beyond row %lld", text, (long long)i);
      }
  free(got);
}

static void run_case(const gemm_case *t) {
  matrices a =
      make_matrices(t->type, t->a_shared ? 1 : t->batches, t->m, t->k, t->a_transposed, t->unit, t->gap, false);
  matrices b =
      make_matrices(t->type, t->b_shared ? 1 : t->batches, t->k, t->n, t->b_transposed, t->unit, t->gap, false);
  matrices c = make_matrices(t->d_type, t->batches, t->m, t->n, false, 1, 1, false);
  matrices d = make_matrices(t->d_type, t->batches, t->m, t->n, false, 1, t->gap, t->config.beta == 0 || !t->in_place);
  int64_t bias_count = t->config.bias_axis == MICA_BIAS_AXIS_ROW ? t->m : t->n;
  matrices bias = make_matrices(t->d_type, 1, 1, bias_count, false, 1, 0, false);
  mica_tensor *bias_view = NULL;
  ck_ok(mica_tensor_view(bias.all, MICA_SHAPE(bias_count), NULL, 0, &bias_view));
  const matrices *added = t->in_place ? &d : &c;
  ck_ok(mica_op_gemm(test_queue(), &t->config, a.view, b.view, added->view, t->bias ? bias_view : NULL, d.view));
  compare(t, &a, &b, added, &bias, &d);
  mica_tensor_destroy(bias_view);
  free_matrices(&a);
  free_matrices(&b);
  free_matrices(&c);
  free_matrices(&d);
  free_matrices(&bias);
}

static gemm_case case_of(int64_t m, int64_t n, int64_t k, int transposes) {
  gemm_case t = {.m = m, .n = n, .k = k, .batches = 1, .unit = 1, .type = MICA_F32, .d_type = MICA_F32};
  t.config = mica_gemm_config_default();
  t.a_transposed = transposes & 1;
  t.b_transposed = transposes & 2;
  return t;
}

static int64_t random_size(void) { return 1 + (int64_t)(fabs(random_value(MICA_F32)) * 67); }

/* One size in each dimension in turn, the other two at random; every other case with all that D may be made of. */
START_TEST(every_size) {
  int64_t s = _i;
  random_state = (uint64_t)s;
  for (int transposes = 0; transposes < 4; transposes++)
    for (int dimension = 0; dimension < 3; dimension++) {
      int64_t x = random_size(), y = random_size();
      gemm_case t = case_of(dimension == 0 ? s : x,
                            dimension == 1   ? s
                            : dimension == 0 ? x
                                             : y,
                            dimension == 2 ? s : y, transposes);
      t.gap = (s + dimension) % 3;
      if ((s + dimension + transposes) % 2) {
        t.config.alpha = 0.75;
        t.config.beta = -0.5;
        t.config.activation = MICA_ACTIVATION_RELU;
        t.bias = true;
        t.in_place = s % 4 < 2;
      }
      run_case(&t);
    }
}
END_TEST

/* Sizes that cross every block of the CPU's kernels, with sums in more than one part. */
START_TEST(blocks) {
  static const int64_t sizes[][3] = {{1, 700, 300},   {2, 600, 70},    {3, 530, 65},   {5, 1100, 40},  {8, 1056, 513},
                                     {65, 33, 777},   {300, 300, 300}, {513, 70, 260}, {40, 2100, 90}, {3, 5, 17000},
                                     {17, 16, 20000}, {700, 1, 530},   {1, 1, 40000},  {70, 1100, 730}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    gemm_case t = case_of(sizes[i][0], sizes[i][1], sizes[i][2], _i);
    t.gap = (int64_t)i % 2;
    run_case(&t);
    t.config.beta = 2;
    t.config.activation = MICA_ACTIVATION_RELU;
    t.in_place = true;
    t.bias = true;
    run_case(&t);
  }
}
END_TEST

/* Rows of A that are adjacent in memory are packed several panels at a time: every number of them that may be left. */
START_TEST(panels_together) {
  for (int64_t m = 43 + _i; m < 112; m += 4) {
    gemm_case t = case_of(m, 67, 1 + 4000000 / (67 * m), m % 2 ? 1 : 3);
    t.gap = m % 3;
    run_case(&t);
  }
}
END_TEST

/* A B that many blocks of rows share is packed once, by a launch of its own, on CPUs: on both sides of where that
 * begins. */
START_TEST(packed_once) {
  static const struct {
    int64_t m, n, k, batches;
    bool b_shared, once;
  } cases[] = {{1030, 125, 500, 1, false, true}, {1030, 120, 500, 1, false, false}, {1024, 130, 500, 1, false, false},
               {1100, 33, 250, 8, false, true},  {1100, 33, 250, 8, true, true},    {1300, 64, 70, 13, false, true},
               {1030, 1000, 800, 1, false, true}};
  bool on_cpu = mica_engine_device(test_engine())->device_class == MICA_DEVICE_CLASS_CPU;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gemm_case t = case_of(cases[i].m, cases[i].n, cases[i].k, _i);
    t.batches = cases[i].batches;
    t.b_shared = cases[i].b_shared;
    t.gap = (int64_t)i % 2;
    uint64_t before = mica_engine_stats(test_engine()).launches;
    run_case(&t);
    if (on_cpu) ck_assert_uint_eq(mica_engine_stats(test_engine()).launches - before, cases[i].once ? 2 : 1);
  }
}
END_TEST

/* No stride is 1; a column or row is the whole matrix. */
START_TEST(odd_strides) {
  for (int64_t unit = 2; unit < 4; unit++)
    for (int64_t s = 1; s < 67; s += 13) {
      gemm_case t = case_of(s, 67 - s, 40 + s, _i);
      t.unit = unit;
      t.gap = 3;
      run_case(&t);
    }
}
END_TEST

START_TEST(batches) {
  for (int shared = 0; shared < 4; shared++) {
    gemm_case t = case_of(13 + 8 * shared, 40 - 9 * shared, 21, _i);
    t.batches = 5;
    t.a_shared = shared & 1;
    t.b_shared = shared & 2;
    t.config.beta = shared == 3 ? 1 : 0;
    t.config.bias_axis = MICA_BIAS_AXIS_ROW;
    t.bias = shared >= 2;
    run_case(&t);
  }
}
END_TEST

START_TEST(types) {
  static const mica_dtype pairs[][2] = {{MICA_F16, MICA_F16},  {MICA_F16, MICA_F32}, {MICA_BF16, MICA_BF16},
                                        {MICA_BF16, MICA_F32}, {MICA_I8, MICA_I32},  {MICA_U8, MICA_I32}};
  static const int64_t sizes[][3] = {{1, 1, 1}, {1, 67, 130}, {33, 1, 20}, {37, 45, 300}, {64, 64, 1030}, {5, 130, 17}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int transposes = 0; transposes < 4; transposes++) {
      gemm_case t = case_of(sizes[i][0], sizes[i][1], sizes[i][2], transposes);
      t.type = pairs[_i][0];
      t.d_type = pairs[_i][1];
      t.gap = transposes % 2;
      t.config.alpha = transposes == 3 ? 2 : 1;
      t.config.beta = transposes == 2 ? 1 : 0;
      t.bias = transposes == 1;
      run_case(&t);
    }
}
END_TEST

START_TEST(nothing_to_sum) {
  for (int transposes = 0; transposes < 4; transposes++) {
    gemm_case t = case_of(20, 33, 0, transposes);
    run_case(&t);
    t.config.beta = 1.5;
    t.bias = true;
    run_case(&t);
    t = case_of(0, 5, 7, transposes);
    run_case(&t);
    t = case_of(5, 0, 7, transposes);
    run_case(&t);
  }
}
END_TEST

/* A result without elements may have any strides, as a graph's of no samples has. */
START_TEST(no_result) {
  mica_tensor *a = NULL, *b = NULL, *all = NULL, *d = NULL;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(0, 3), &a));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(3, 5), &b));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(10), &all));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(0, 5), (int64_t[]){1, 2}, 0, &d));
  ck_ok(mica_op_gemm(test_queue(), NULL, a, b, NULL, NULL, d));
  mica_tensor_destroy(a);
  mica_tensor_destroy(b);
  mica_tensor_destroy(d);
  mica_tensor_destroy(all);
}
END_TEST

/* Equal calls give equal bits. */
START_TEST(repeatable) {
  mica_shape shape = MICA_SHAPE(130, 130);
  float *data = malloc(130 * 130 * sizeof *data), *first = malloc(130 * 130 * sizeof *data),
        *second = malloc(130 * 130 * sizeof *data);
  ck_assert(data && first && second);
  for (int i = 0; i < 130 * 130; i++) data[i] = (float)random_value(MICA_F32);
  mica_tensor *a = NULL, *d = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, data, &a));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, shape, &d));
  ck_ok(mica_op_gemm(test_queue(), NULL, a, a, NULL, NULL, d));
  ck_ok(mica_tensor_download(test_queue(), d, first, 130 * 130 * sizeof *first));
  ck_ok(mica_op_gemm(test_queue(), NULL, a, a, NULL, NULL, d));
  ck_ok(mica_tensor_download(test_queue(), d, second, 130 * 130 * sizeof *second));
  ck_assert_mem_eq(first, second, 130 * 130 * sizeof *first);
  mica_tensor_destroy(a);
  mica_tensor_destroy(d);
  free(data);
  free(first);
  free(second);
}
END_TEST

/* The rule of zeros: NULL, a config of zeros and the default one multiply alike, also with a bias; MICA_ZERO is 0. */
START_TEST(zero_configs) {
  const mica_gemm_config configs[] = {
      mica_gemm_config_default(), (mica_gemm_config){0}, {.bias_axis = MICA_BIAS_AXIS_COLUMN}, {.alpha = MICA_ZERO}};
  const float a_data[] = {1, 2, 3, 4}, b_data[] = {5, 7}, bias_data[] = {0.5f};
  const float wanted[2][2] = {{19.5f, 43.5f}, {0.5f, 0.5f}};
  mica_tensor *a = NULL, *b = NULL, *bias = NULL, *d = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, 2), a_data, &a));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, 1), b_data, &b));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(1), bias_data, &bias));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, 1), &d));
  for (int i = 0; i < 5; i++) {
    float got[2] = {NAN, NAN};
    ck_ok(mica_op_gemm(test_queue(), i < 4 ? &configs[i] : NULL, a, b, NULL, bias, d));
    ck_ok(mica_tensor_download(test_queue(), d, got, sizeof got));
    ck_assert_mem_eq(got, wanted[i == 3], sizeof got);
  }
  mica_tensor_destroy(a);
  mica_tensor_destroy(b);
  mica_tensor_destroy(bias);
  mica_tensor_destroy(d);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(every_size, 1, 68), LOOP(blocks, 0, 4), LOOP(panels_together, 0, 4),
      LOOP(packed_once, 0, 4), LOOP(odd_strides, 0, 4), LOOP(batches, 0, 4), LOOP(types, 0, 6), nothing_to_sum,
      zero_configs, no_result, repeatable)
