/* labels: device slow, shards: 2
 *
 * Generated kernels against an interpreter: known chains, and random lists over random accesses, in the ways of both
 * classes of device. MICA_TEST_FUSED_BATCHES is how many times eight random lists of each kind there are;
 * MICA_TEST_FUSED_PRINT prints every kernel. */
#include "compile/fused_plan.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fused_reference.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ops of the test's own, so that it depends on no other. */
#define POINTWISE(label, text, reference)                                                                              \
  static double label##_scalar(const double *x, const void *attrs) {                                                   \
    (void)attrs;                                                                                                       \
    return reference;                                                                                                  \
  }                                                                                                                    \
  static const mica__op op_##label = {                                                                                 \
      .name = #label, .kind = MICA__OP_POINTWISE, .expression = text, .scalar = label##_scalar, .cost = sizeof text};
POINTWISE(add, "a + b", x[0] + x[1])
POINTWISE(sub, "a - b", x[0] - x[1])
POINTWISE(mul, "a * b", x[0] * x[1])
POINTWISE(div, "a / b", x[0] / x[1])
POINTWISE(neg, "-a", -x[0])
POINTWISE(maximum, "mica_max(a, b)", x[0] > x[1] || x[0] != x[0] ? x[0] : x[1])
POINTWISE(less, "TRUTH(a < b)", x[0] < x[1])
POINTWISE(where, "PICK(a, b, c)", x[0] != 0 ? x[1] : x[2])
POINTWISE(half, "a * K(0.5)", x[0] * 0.5)
POINTWISE(cast, "CONVERT(a)", x[0])
POINTWISE(exp, "mica_exp(a)", exp(x[0]))
POINTWISE(tanh, "mica_tanh(a)", tanh(x[0]))
POINTWISE(gelu, "a * mica_normal_cdf(a)", x[0] * 0.5 * erfc(-x[0] * 0.70710678118654752440))
POINTWISE(rsqrt, "rsqrt(a)", 1 / sqrt(x[0]))
POINTWISE(square, "a * a", x[0] * x[0])

#define SCALE_ATTRS(X, S) X(S, REAL, factor, 1, "the factor")
MICA__ATTR_STRUCT(scale, SCALE_ATTRS);
static MICA__ATTR_TABLE(scale, SCALE_ATTRS);
static double scale_scalar(const double *x, const void *attrs) {
  return x[0] * ((const mica__scale_attrs *)attrs)->factor;
}
static const mica__op op_scale = {.name = "scale",
                                  .kind = MICA__OP_POINTWISE,
                                  .attrs = &mica__scale_attr_list,
                                  .expression = "a * factor",
                                  .scalar = scale_scalar};

static const mica__op joins[] = {
    {.name = "sum", .kind = MICA__OP_REDUCE, .join = MICA__JOIN_SUM},
    {.name = "max", .kind = MICA__OP_REDUCE, .join = MICA__JOIN_MAX},
    {.name = "min", .kind = MICA__OP_REDUCE, .join = MICA__JOIN_MIN},
    {.name = "prod", .kind = MICA__OP_REDUCE, .join = MICA__JOIN_PROD},
    {.name = "argmax", .kind = MICA__OP_REDUCE, .join = MICA__JOIN_ARGMAX},
    {.name = "argmin", .kind = MICA__OP_REDUCE, .join = MICA__JOIN_ARGMIN},
};

static int32_t push(mica__fused *fused, mica__fused_instr instr) {
  fused->instrs[fused->count] = instr;
  return fused->count++;
}

static int32_t operand(mica__fused *fused, mica_dtype dtype) {
  fused->operand_dtype[fused->operand_count] = dtype;
  return fused->operand_count++;
}

/* The access of a row-major tensor over the dimensions in `dims`, broadcast along the others. */
static mica__access dense(const mica__fused *fused, uint32_t dims) {
  mica__access access = {0};
  int64_t step = 1;
  for (int32_t d = fused->rank - 1; d >= 0; d--)
    if (dims >> d & 1) {
      access.stride[d] = step;
      step *= fused->extent[d] ? fused->extent[d] : 1;
    }
  return access;
}

static int32_t load(mica__fused *fused, mica_dtype dtype, uint32_t dims) {
  return push(fused, (mica__fused_instr){.kind = MICA__FUSED_LOAD,
                                         .operand = operand(fused, dtype),
                                         .dtype = dtype,
                                         .access = dense(fused, dims)});
}

static int32_t op(mica__fused *fused, const mica__op *what, mica_dtype dtype, int32_t count, int32_t a, int32_t b) {
  return push(fused, (mica__fused_instr){
                         .kind = MICA__FUSED_OP, .op = what, .dtype = dtype, .arg_count = count, .args = {a, b}});
}

static int32_t reduce(mica__fused *fused, mica__join how, int32_t a) {
  mica_dtype dtype = how >= MICA__JOIN_ARGMAX ? MICA_I64 : fused->instrs[a].dtype;
  const mica__op *what = joins;
  while (what->join != how) what++;
  return push(fused, (mica__fused_instr){.kind = MICA__FUSED_REDUCE, .op = what, .dtype = dtype, .args = {a}});
}

static void store(mica__fused *fused, mica_dtype dtype, int32_t a, uint32_t dims) {
  push(fused, (mica__fused_instr){.kind = MICA__FUSED_STORE,
                                  .operand = operand(fused, dtype),
                                  .dtype = dtype,
                                  .args = {a},
                                  .access = dense(fused, dims)});
}

static const unsigned classes[] = {MICA__ON_CPU, MICA__ON_GPU};

static void run_both(const mica__fused *fused, const char *name) {
  for (int c = 0; c < 2; c++) {
    char label[128];
    snprintf(label, sizeof label, "%s %s", name, c ? "gpu" : "cpu");
    if (getenv("MICA_TEST_FUSED_PRINT")) {
      mica__text source = {0};
      ck_ok(mica__fused_source(fused, classes[c], &source));
      printf("/* %s */\n%s\n", label, source.data);
      fflush(stdout);
      mica__text_free(&source);
    }
    fused_run_and_compare(fused, classes[c], 7, label);
  }
}

static const int64_t lengths[] = {0, 1, 5, 15, 16, 17, 64, 100, 1000};

START_TEST(gelu_chain) {
  if (!test_in_shard((size_t)_i)) return;
  mica__fused f = {.rank = 2, .extent = {3, lengths[_i]}};
  int32_t a = load(&f, MICA_F32, 3), b = load(&f, MICA_F32, 3), c = load(&f, MICA_F32, 2), d = load(&f, MICA_F32, 1);
  int32_t ab = op(&f, &op_mul, MICA_F32, 2, a, b), s = op(&f, &op_add, MICA_F32, 2, ab, c);
  int32_t g = op(&f, &op_gelu, MICA_F32, 1, s, 0);
  store(&f, MICA_F32, op(&f, &op_mul, MICA_F32, 2, g, d), 3);
  run_both(&f, "gelu(a*b + c) * d");
}
END_TEST

START_TEST(softmax) {
  if (!test_in_shard((size_t)_i)) return;
  mica__fused f = {.rank = 2, .extent = {5, lengths[_i] ? lengths[_i] : 2}, .reduced = 1};
  int32_t x = load(&f, MICA_F32, 3), m = reduce(&f, MICA__JOIN_MAX, x);
  int32_t e = op(&f, &op_exp, MICA_F32, 1, op(&f, &op_sub, MICA_F32, 2, x, m), 0), s = reduce(&f, MICA__JOIN_SUM, e);
  store(&f, MICA_F32, op(&f, &op_div, MICA_F32, 2, e, s), 3);
  run_both(&f, "softmax");
}
END_TEST

START_TEST(layer_norm) {
  if (!test_in_shard((size_t)_i)) return;
  int64_t n = lengths[_i] ? lengths[_i] : 2;
  mica__fused f = {.rank = 2, .extent = {5, n}, .reduced = 1};
  int32_t x = load(&f, MICA_F32, 3), gamma = load(&f, MICA_F32, 2), beta = load(&f, MICA_F32, 2);
  int32_t share = push(&f, (mica__fused_instr){.kind = MICA__FUSED_VALUE, .dtype = MICA_F32, .value = 1.0 / (double)n});
  int32_t eps = push(&f, (mica__fused_instr){.kind = MICA__FUSED_VALUE, .dtype = MICA_F32, .value = 1e-5});
  int32_t mean = op(&f, &op_mul, MICA_F32, 2, reduce(&f, MICA__JOIN_SUM, x), share);
  int32_t d = op(&f, &op_sub, MICA_F32, 2, x, mean), dd = op(&f, &op_square, MICA_F32, 1, d, 0);
  int32_t var = op(&f, &op_mul, MICA_F32, 2, reduce(&f, MICA__JOIN_SUM, dd), share);
  int32_t r = op(&f, &op_rsqrt, MICA_F32, 1, op(&f, &op_add, MICA_F32, 2, var, eps), 0);
  int32_t y = op(&f, &op_mul, MICA_F32, 2, op(&f, &op_mul, MICA_F32, 2, d, r), gamma);
  store(&f, MICA_F32, op(&f, &op_add, MICA_F32, 2, y, beta), 3);
  store(&f, MICA_F32, mean, 1);
  store(&f, MICA_F32, r, 1);
  run_both(&f, "layer norm");
}
END_TEST

/* The access of a matrix whose rows are the columns of the index space. */
static void transpose(mica__fused *f, int32_t k) {
  f->instrs[k].access.stride[0] = 1;
  f->instrs[k].access.stride[1] = f->extent[0];
}

static const int64_t widths[] = {1, 3, 16, 37, 1100};

/* dgamma and dbeta of layer norm: sums of columns. */
START_TEST(column_sums) {
  if (!test_in_shard((size_t)_i)) return;
  mica__fused f = {.rank = 2, .extent = {widths[_i], 600}, .reduced = 1};
  int32_t x = load(&f, MICA_F32, 3), dy = load(&f, MICA_F32, 3), mean = load(&f, MICA_F32, 2),
          c = load(&f, MICA_F32, 1);
  transpose(&f, x);
  transpose(&f, dy);
  int32_t h = op(&f, &op_mul, MICA_F32, 2, op(&f, &op_sub, MICA_F32, 2, x, mean), c);
  int32_t s = reduce(&f, MICA__JOIN_SUM, op(&f, &op_mul, MICA_F32, 2, dy, h));
  store(&f, MICA_F32, op(&f, &op_add, MICA_F32, 2, s, c), 1);
  store(&f, MICA_F32, reduce(&f, MICA__JOIN_SUM, dy), 1);
  store(&f, MICA_F32, reduce(&f, MICA__JOIN_MAX, dy), 1);
  store(&f, MICA_I64, reduce(&f, MICA__JOIN_ARGMIN, dy), 1);
  run_both(&f, "column sums");
}
END_TEST

/* So long that it is walked in pieces: a softmax of one row, and per channel over two dimensions. */
START_TEST(long_rows) {
  if (!test_in_shard((size_t)_i)) return;
  mica__fused f = {.rank = 1, .extent = {100003}, .reduced = 1};
  if (_i) f = (mica__fused){.rank = 3, .extent = {3, 50, 1500}, .reduced = 2};
  uint32_t all = (1u << f.rank) - 1;
  int32_t x = load(&f, MICA_F32, all), m = reduce(&f, MICA__JOIN_MAX, x);
  int32_t e = op(&f, &op_exp, MICA_F32, 1, op(&f, &op_sub, MICA_F32, 2, x, m), 0), s = reduce(&f, MICA__JOIN_SUM, e);
  if (_i) f.instrs[x].access = (mica__access){.stride = {1500, 3 * 1500, 1}};
  store(&f, MICA_F32, op(&f, &op_div, MICA_F32, 2, e, s), all);
  store(&f, MICA_F32, op(&f, &op_mul, MICA_F32, 2, s, m), _i ? 1 : 0);
  run_both(&f, "long rows");
}
END_TEST

/* Sums of long columns, in pieces of lines. */
START_TEST(long_columns) {
  if (!test_in_shard(1)) return;
  mica__fused f = {.rank = 2, .extent = {70, 9001}, .reduced = 1};
  int32_t x = load(&f, MICA_F16, 3);
  transpose(&f, x);
  store(&f, MICA_F32, reduce(&f, MICA__JOIN_SUM, x), 1);
  store(&f, MICA_F16, reduce(&f, MICA__JOIN_MIN, x), 1);
  run_both(&f, "long columns");
}
END_TEST

/* Norms of columns, which groups of a GPU share: columns, rows and dimensions of the row; few columns take several
 * passes, many a single one. Statistics are stored as well. */
static const struct {
  mica_dtype dtype;
  int64_t columns, rows, inner;
} norms[] = {{MICA_F16, 64, 1300, 1}, {MICA_F16, 32, 300, 1},  {MICA_BF16, 48, 70, 17}, {MICA_F32, 24, 2500, 1},
             {MICA_F32, 520, 70, 1},  {MICA_F16, 512, 130, 1}, {MICA_F32, 40, 7, 200},  {MICA_F16, 20, 1000, 1}};

START_TEST(column_norms) {
  if (!test_in_shard((size_t)_i)) return;
  const mica_dtype dtype = norms[_i].dtype;
  const int64_t n = norms[_i].columns, rows = norms[_i].rows, inner = norms[_i].inner;
  mica__fused f = {.rank = inner > 1 ? 3 : 2, .extent = {n, rows, inner}, .reduced = inner > 1 ? 2 : 1};
  const uint32_t all = inner > 1 ? 7 : 3;
  const mica__access last = {.stride = {1, inner > 1 ? n * inner : n, inner > 1 ? n : 0}};
  int32_t x = load(&f, dtype, all), dy = load(&f, dtype, all), gamma = load(&f, MICA_F32, 1);
  f.instrs[x].access = last;
  if (inner == 1) f.instrs[dy].access = last; /* else of rows with channels first, read across */
  int32_t share = push(
      &f, (mica__fused_instr){.kind = MICA__FUSED_VALUE, .dtype = MICA_F32, .value = 1.0 / (double)(rows * inner)});
  int32_t x32 = dtype == MICA_F32 ? x : op(&f, &op_cast, MICA_F32, 1, x, 0);
  int32_t dy32 = dtype == MICA_F32 ? dy : op(&f, &op_cast, MICA_F32, 1, dy, 0);
  int32_t mean = op(&f, &op_mul, MICA_F32, 2, reduce(&f, MICA__JOIN_SUM, x32), share);
  int32_t least = reduce(&f, MICA__JOIN_MIN, dy32);
  int32_t d = op(&f, &op_mul, MICA_F32, 2, op(&f, &op_sub, MICA_F32, 2, x32, mean), gamma);
  int32_t y = op(&f, &op_sub, MICA_F32, 2, op(&f, &op_add, MICA_F32, 2, d, dy32), least);
  store(&f, MICA_F32, y, all);
  f.instrs[f.count - 1].access = last;
  store(&f, MICA_F32, mean, 1);
  /* Rows are not split where an index is wanted. */
  if (_i % 2) store(&f, MICA_I64, reduce(&f, MICA__JOIN_ARGMAX, dy32), 1);
  run_both(&f, "column norm");
}
END_TEST

START_TEST(transposes) {
  if (!test_in_shard((size_t)_i)) return;
  mica__fused f = {.rank = 3, .extent = {3, widths[_i], 50}};
  int32_t x = load(&f, MICA_F32, 7), y = load(&f, MICA_BF16, 7);
  f.instrs[x].access = (mica__access){.stride = {50 * widths[_i], 1, widths[_i]}};
  store(&f, MICA_F32, op(&f, &op_add, MICA_F32, 2, x, op(&f, &op_cast, MICA_F32, 1, y, 0)), 7);
  run_both(&f, "transpose");
}
END_TEST

/* A random list that is being made: which values vary along the row, and the dtype they all share. */
typedef struct maker {
  mica__fused fused;
  bool varies[MICA__FUSED_INSTRS];
  mica_dtype dtype;
  uint64_t random;
} maker;

static bool is_float(mica_dtype dtype) { return mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT; }

/* A random walk through memory: dimensions in any order, gaps, some backwards, along the dimensions in `dims`. */
static mica__access random_access(maker *m, uint32_t dims) {
  mica__access access = {.offset = fused_pick(&m->random, 3)};
  int32_t order[MICA_MAX_RANK], rank = m->fused.rank;
  int64_t step = fused_pick(&m->random, 6) ? 1 : 2;
  for (int32_t i = 0; i < rank; i++) order[i] = rank - 1 - i;
  if (fused_pick(&m->random, 2))
    for (int32_t i = rank - 1; i > 0; i--) {
      int32_t j = fused_pick(&m->random, i + 1), kept = order[i];
      order[i] = order[j];
      order[j] = kept;
    }
  for (int32_t i = 0; i < rank; i++) {
    int32_t d = order[i];
    if (!(dims >> d & 1)) continue;
    bool backwards = fused_pick(&m->random, 8) == 0;
    access.stride[d] = backwards ? -step : step;
    if (backwards) access.offset += (m->fused.extent[d] - 1) * step;
    step = step * m->fused.extent[d] + (fused_pick(&m->random, 4) ? 0 : fused_pick(&m->random, 5));
  }
  return access;
}

static int32_t add(maker *m, mica__fused_instr instr, bool varies) {
  int32_t k = push(&m->fused, instr);
  for (int32_t i = 0; i < mica__fused_arg_count(&instr); i++) varies |= m->varies[instr.args[i]];
  m->varies[k] = varies && instr.kind != MICA__FUSED_REDUCE;
  return k;
}

static int32_t apply_op(maker *m, const mica__op *what, mica_dtype dtype, int32_t count, int32_t a, int32_t b,
                        int32_t c) {
  static const mica__scale_attrs attrs = {0.3};
  return add(
      m,
      (mica__fused_instr){
          .kind = MICA__FUSED_OP, .op = what, .dtype = dtype, .arg_count = count, .args = {a, b, c}, .attrs = &attrs},
      false);
}

/* A value of the common dtype. */
static int32_t as_common(maker *m, int32_t k) {
  return m->fused.instrs[k].dtype == m->dtype ? k : apply_op(m, &op_cast, m->dtype, 1, k, 0, 0);
}

static int32_t random_load(maker *m) {
  static const mica_dtype floats[] = {MICA_F32, MICA_F16, MICA_BF16, MICA_I8, MICA_BOOL};
  static const mica_dtype integers[] = {MICA_I32, MICA_I8, MICA_U8, MICA_I16, MICA_BOOL};
  mica__fused *f = &m->fused;
  mica_dtype dtype =
      fused_pick(&m->random, 3) ? m->dtype : (is_float(m->dtype) ? floats : integers)[fused_pick(&m->random, 5)];
  uint32_t dims = (1u << f->rank) - 1, row = dims & ~((1u << (f->rank - f->reduced)) - 1);
  if (fused_pick(&m->random, 3) == 0) dims &= (uint32_t)fused_pick(&m->random, 256);
  mica__fused_instr instr = {.kind = MICA__FUSED_LOAD, .operand = operand(f, dtype), .dtype = dtype};
  instr.access = random_access(m, dims);
  if (fused_pick(&m->random, 5) == 0) {
    instr.bounded = true;
    instr.value = fused_pick(&m->random, 2) ? 0 : 0.3;
    if (!is_float(dtype)) instr.value = 1;
    for (int32_t d = 0; d < f->rank; d++) {
      bool here = fused_pick(&m->random, 2);
      instr.low[d] = here ? fused_pick(&m->random, (int32_t)f->extent[d]) : -1;
      instr.high[d] =
          here ? instr.low[d] + 1 + fused_pick(&m->random, (int32_t)(f->extent[d] - instr.low[d])) : f->extent[d];
      if (here) dims |= 1u << d;
    }
  }
  return as_common(m, add(m, instr, (dims & row) != 0));
}

static int32_t random_op(maker *m, int32_t a, int32_t b) {
  static const mica__op *const both[] = {&op_add, &op_sub, &op_mul, &op_maximum};
  static const mica__op *const one[] = {&op_neg, &op_square, &op_half, &op_scale, &op_tanh, &op_exp};
  int32_t kind = fused_pick(&m->random, 10);
  if (kind < 5) return apply_op(m, both[fused_pick(&m->random, 4)], m->dtype, 2, a, b, 0);
  if (kind < 6) return apply_op(m, &op_where, m->dtype, 3, apply_op(m, &op_less, MICA_BOOL, 2, a, b, 0), b, a);
  if (kind < 7) {
    int32_t d = fused_pick(&m->random, m->fused.rank);
    return as_common(m, add(m, (mica__fused_instr){.kind = MICA__FUSED_INDEX, .operand = d, .dtype = MICA_I64},
                            d >= m->fused.rank - m->fused.reduced));
  }
  return apply_op(m, one[fused_pick(&m->random, is_float(m->dtype) ? 6 : 2)], m->dtype, 1, a, 0, 0);
}

static void random_store(maker *m, int32_t k) {
  mica__fused *f = &m->fused;
  uint32_t dims = (1u << (m->varies[k] ? f->rank : f->rank - f->reduced)) - 1;
  mica__fused_instr instr = {
      .kind = MICA__FUSED_STORE, .operand = operand(f, m->dtype), .dtype = m->dtype, .args = {k}};
  instr.access = random_access(m, dims);
  add(m, instr, false);
}

static void random_list(maker *m, uint64_t seed, bool reduced) {
  static const int64_t extents[] = {1, 2, 3, 5, 7, 15, 16, 17, 33, 64, 100, 130};
  static const mica_dtype dtypes[] = {MICA_F32, MICA_F32, MICA_F32, MICA_I32, MICA_I64, MICA_F16, MICA_F64, MICA_I8};
  *m = (maker){.random = seed * 2654435761u + 17};
  mica__fused *f = &m->fused;
  bool doubles = mica_engine_device(test_engine())->features & MICA_FEATURE_FP64;
  int64_t total = 1;
  f->rank = 1 + fused_pick(&m->random, 4);
  for (int32_t d = 0; d < f->rank; d++) {
    f->extent[d] = extents[fused_pick(&m->random, 12)];
    while (total * f->extent[d] > 8000) f->extent[d] = 1 + f->extent[d] / 3;
    total *= f->extent[d];
  }
  f->reduced = reduced ? 1 + fused_pick(&m->random, f->rank) : 0;
  m->dtype = dtypes[fused_pick(&m->random, doubles ? 8 : 6)];
  int32_t values[32], count = 0;
  for (int32_t i = 0; i < 2; i++) values[count++] = random_load(m);
  for (int32_t i = 2 + fused_pick(&m->random, 6); i > 0; i--) {
    int32_t a = values[count - 1 - fused_pick(&m->random, count > 2 ? 2 : count)],
            b = values[fused_pick(&m->random, count)];
    if (reduced && fused_pick(&m->random, 3) == 0) {
      mica__join join = (mica__join)(MICA__JOIN_SUM + fused_pick(&m->random, 6));
      if (join == MICA__JOIN_PROD && !is_float(m->dtype)) join = MICA__JOIN_MAX;
      int32_t r = reduce(f, join, a);
      m->varies[r] = false;
      values[count++] = as_common(m, r);
    } else if (fused_pick(&m->random, 5) == 0) {
      values[count++] = random_load(m);
    } else {
      values[count++] = random_op(m, a, b);
    }
  }
  random_store(m, values[count - 1]);
  if (fused_pick(&m->random, 2)) random_store(m, values[fused_pick(&m->random, count)]);
}

/* Each case is a batch, so that the log stays short. */
#define BATCH 8

static void random_batch(int batch, bool reduced) {
  if (!test_in_shard((size_t)batch)) return;
  maker *m = malloc(sizeof *m);
  for (int i = 0; i < BATCH; i++) {
    char label[64];
    random_list(m, (uint64_t)(batch * BATCH + i), reduced);
    snprintf(label, sizeof label, "%s list %d", reduced ? "reducing" : "pointwise", batch * BATCH + i);
    run_both(&m->fused, label);
  }
  free(m);
}

START_TEST(random_pointwise) { random_batch(_i, false); }
END_TEST
START_TEST(random_reducing) { random_batch(_i, true); }
END_TEST

/* Rounds of random chains. */
static int rounds(int usual) {
  const char *batches = getenv("MICA_TEST_FUSED_BATCHES");
  return batches ? atoi(batches) : usual;
}

#define LENGTHS (int)(sizeof lengths / sizeof *lengths)

TESTS(DEVICE, NULL, NULL, LOOP(gelu_chain, 0, LENGTHS), LOOP(softmax, 0, LENGTHS), LOOP(layer_norm, 0, LENGTHS),
      LOOP(column_sums, 0, 5), LOOP(column_norms, 0, sizeof norms / sizeof *norms), LOOP(transposes, 0, 5),
      LOOP(long_rows, 0, 2), long_columns, LOOP(random_pointwise, 0, rounds(2)), LOOP(random_reducing, 0, rounds(3)))
