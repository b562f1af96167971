/* Products of sparse matrices with dense rows, and products of rows at the entries of a sparse matrix: each is the
 * gradient of the other. */
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/select/launch_check.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"

#include <mica/sparse.h>

extern const mica__op mica__op_sparse_sum, mica__op_sparse_dot;

/* Operands: two floating tensors, then the pattern. */
enum { X, W, ROWS, ENTRIES, COLUMNS, ORDER, OPERANDS };

#define SPARSE_ATTRS(X, S)                                                                                             \
  X(S, BOOL, back, false, "along columns, not rows")                                                                   \
  X(S, INT, heads, 1, "weights of an entry")
MICA__ATTR_STRUCT(sparse, SPARSE_ATTRS);
static MICA__ATTR_TABLE(sparse, SPARSE_ATTRS);

/* Extents of a problem. */
typedef struct extents {
  int64_t samples, vertices, count, heads, width;
} extents;

static extents extents_of(const mica__sparse_attrs *attrs, mica_shape x, mica_shape entries) {
  return (extents){x.dim[0], x.dim[1], entries.dim[1], attrs->heads, x.dim[2] / attrs->heads};
}

static bool agree(int64_t a, int64_t b) { return a == b || a == MICA_DYNAMIC || b == MICA_DYNAMIC; }

/* Checks the shapes of features (N, V, F) and of the pattern of N matrices. */
static mica_status check_pattern(const mica__type *inputs, const mica__sparse_attrs *how) {
  static const char *const names[] = {NULL, NULL, "rows", "entries", "columns", "order"};
  const mica_shape x = inputs[X].shape, entries = inputs[ENTRIES].shape;
  char tx[MICA_SHAPE_TEXT], tp[MICA_SHAPE_TEXT];
  if (how->heads < 1) return mica__fail(MICA_E_SHAPE, "heads is %lld, but must be at least 1", (long long)how->heads);
  if (x.rank != 3 || (x.dim[2] != MICA_DYNAMIC && x.dim[2] % how->heads))
    return mica__fail(MICA_E_SHAPE,
                      "features %s must be (samples, vertices, features), with features a multiple of heads (%lld)",
                      mica_shape_format(x, tx), (long long)how->heads);
  for (int k = ROWS; k < OPERANDS; k++) {
    const mica_shape p = inputs[k].shape;
    const int64_t length = k == ROWS || k == COLUMNS ? x.dim[1] : entries.rank > 1 ? entries.dim[1] : 0;
    const bool pairs = k != ORDER;
    if (p.rank != 2 + pairs || (pairs && !agree(p.dim[2], 2)) || !agree(p.dim[0], x.dim[0]) || !agree(p.dim[1], length))
      return mica__fail(MICA_E_SHAPE,
                        "the pattern's tensor '%s' is %s; for features (N, V, F) of %s, rows and columns must be (N, "
                        "V, 2), entries (N, E, 2) and order (N, E)",
                        names[k], mica_shape_format(p, tp), mica_shape_format(x, tx));
  }
  return MICA_OK;
}

static const mica__kernel_param sum_params[] = {
    MICA__DTYPE("X_T", "type of x, weights and y", MICA__FLOATS),
    MICA__DTYPE("I_T", "type of the pattern", MICA_I32, MICA_I64),
    MICA__INT("BACK", "1: along columns", 0, 1),
    MICA__INT("VW", "features a work-item makes", 1, 2, 4, 8, 16),
};
static const mica__variant sum_variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA_I32, 0, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_I32, 0, 1),
};
static const mica__kernel_desc sparse_sum = {
    MICA__KERNEL("sparse_sum", "index/sparse_sum.cl", sum_params, sum_variants)};

static const mica__kernel_param dot_params[] = {
    MICA__DTYPE("X_T", "type of the features", MICA__FLOATS),
    MICA__DTYPE("I_T", "type of the pattern", MICA_I32, MICA_I64),
};
static const mica__variant dot_variants[] = {
    MICA__VARIANT("any", MICA__ON_CPU | MICA__ON_GPU, MICA_F32, MICA_I32),
};
static const mica__kernel_desc sparse_dot = {
    MICA__KERNEL("sparse_dot", "index/sparse_dot.cl", dot_params, dot_variants)};

/* Chooses the variant and begins a launch with the first `operands` operands. */
static mica_status begin_launch(const mica__exec *exec, const mica__kernel_desc *desc, int operands, int32_t *values,
                                mica__kernel **kernel, mica__launch *launch) {
  const mica__sparse_attrs *how = exec->attrs;
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(exec->inputs[X]));
  mica__kernel_set(desc, values, "I_T", (int32_t)mica_tensor_dtype(exec->inputs[ROWS]));
  if (desc == &sparse_sum) mica__kernel_set(desc, values, "BACK", how->back);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, kernel));
  *launch = mica__launch_of(*kernel);
  for (int k = 0; k < operands; k++) mica__launch_tensor(launch, exec->inputs[k]);
  mica__launch_tensor(launch, exec->output);
  return MICA_OK;
}

static mica_status launch_sparse(const mica__exec *exec, const mica__kernel_desc *desc) {
  const bool sums = desc == &sparse_sum;
  const extents e =
      extents_of(exec->attrs, mica_tensor_shape(exec->inputs[X]), mica_tensor_shape(exec->inputs[ENTRIES]));
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__launch launch;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(begin_launch(exec, desc, sums ? OPERANDS : COLUMNS, values, &kernel, &launch));
  const int64_t sizes[] = {e.samples, e.vertices, e.count, e.heads, e.width};
  for (int k = 0; k < 5; k++) mica__launch_size(&launch, sizes[k]);
  const int64_t vw = sums ? mica__kernel_value(desc, values, "VW") : 1;
  mica__launch_range1(
      &launch, sums ? e.samples * e.vertices * e.heads * ((e.width + vw - 1) / vw) : e.samples * e.count * e.heads,
      MICA__RANGE_GROUP);
  const double products = (double)e.samples * (double)e.count * (double)(e.heads * e.width);
  const double size = (double)mica_dtype_size(mica_tensor_dtype(exec->inputs[X]));
  mica__launch_cost(&launch, 2 * products,
                    products * size * (sums ? 1 : 2) + (double)mica_tensor_bytes(exec->output) +
                        (double)mica_tensor_bytes(exec->inputs[ENTRIES]));
  return mica__queue_submit(exec->queue, &launch);
}

/* --- sparse_sum --- */

static mica_status infer_sum(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__sparse_attrs *how = attrs;
  const mica_shape w = inputs[W].shape, entries = inputs[ENTRIES].shape;
  char tw[MICA_SHAPE_TEXT], te[MICA_SHAPE_TEXT];
  MICA_TRY(check_pattern(inputs, how));
  if (w.rank != 3 || !agree(w.dim[0], entries.dim[0]) || !agree(w.dim[1], entries.dim[1]) ||
      !agree(w.dim[2], how->heads))
    return mica__fail(MICA_E_SHAPE,
                      "weights are %s and entries %s, but weights must be (N, E, %lld), one number per entry and head",
                      mica_shape_format(w, tw), mica_shape_format(entries, te), (long long)how->heads);
  *out = inputs[X];
  return MICA_OK;
}

static bool inside(double i, int64_t n) { return i >= 0 && i < (double)n; }

static mica_status evaluate_sum(const mica__eval *eval) {
  const mica__sparse_attrs *how = eval->attrs;
  const extents e = extents_of(how, eval->types[X].shape, eval->types[ENTRIES].shape);
  const int64_t row = e.heads * e.width;
  for (int64_t at = 0; at < e.samples * e.vertices; at++) {
    const int64_t n = at / e.vertices;
    const double *span = eval->inputs[how->back ? COLUMNS : ROWS] + 2 * at;
    double *y = eval->output + at * row;
    for (int64_t f = 0; f < row; f++) y[f] = 0;
    for (int64_t j = span[0] > 0 ? (int64_t)span[0] : 0; j < e.count && (double)j < span[1]; j++) {
      const double listed = how->back ? eval->inputs[ORDER][n * e.count + j] : (double)j;
      if (!inside(listed, e.count)) continue;
      const int64_t k = n * e.count + (int64_t)listed;
      const double v = eval->inputs[ENTRIES][2 * k + !how->back];
      for (int64_t f = 0; inside(v, e.vertices) && f < row; f++)
        y[f] += eval->inputs[W][k * e.heads + f / e.width] * eval->inputs[X][(n * e.vertices + (int64_t)v) * row + f];
    }
  }
  return MICA_OK;
}

static mica_status launch_sum(const mica__exec *exec) { return launch_sparse(exec, &sparse_sum); }

static mica_value add_sum(mica_value x, mica_value weights, const mica_value *pattern, bool back, int64_t heads) {
  const mica_value operands[] = {x, weights, pattern[0], pattern[1], pattern[2], pattern[3]};
  return mica__graph_add(&mica__op_sparse_sum, operands, OPERANDS, &(mica__sparse_attrs){back, heads});
}

static mica_value add_dot(mica_value a, mica_value b, const mica_value *pattern, int64_t heads) {
  const mica_value operands[] = {a, b, pattern[0], pattern[1], pattern[2], pattern[3]};
  return mica__graph_add(&mica__op_sparse_dot, operands, OPERANDS, &(mica__sparse_attrs){.heads = heads});
}

static mica_status grad_sum(const mica__grad *grad) {
  const mica__sparse_attrs *how = mica__attrs_of(grad->y);
  const mica_value *in = grad->inputs;
  grad->dinputs[X] = add_sum(grad->dy, in[W], in + ROWS, !how->back, how->heads);
  grad->dinputs[W] =
      how->back ? add_dot(in[X], grad->dy, in + ROWS, how->heads) : add_dot(grad->dy, in[X], in + ROWS, how->heads);
  return MICA_OK;
}

/* --- sparse_dot --- */

static mica_status infer_dot(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__sparse_attrs *how = attrs;
  const mica_shape a = inputs[X].shape, b = inputs[W].shape;
  char ta[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT];
  MICA_TRY(check_pattern(inputs, how));
  if (b.rank != 3 || !agree(a.dim[0], b.dim[0]) || !agree(a.dim[1], b.dim[1]) || !agree(a.dim[2], b.dim[2]))
    return mica__fail(MICA_E_SHAPE, "features %s and %s differ, but must have the same shape", mica_shape_format(a, ta),
                      mica_shape_format(b, tb));
  *out = inputs[X];
  out->shape = MICA_SHAPE(a.dim[0], inputs[ENTRIES].shape.dim[1], how->heads);
  return MICA_OK;
}

static mica_status evaluate_dot(const mica__eval *eval) {
  const extents e = extents_of(eval->attrs, eval->types[X].shape, eval->types[ENTRIES].shape);
  const int64_t row = e.heads * e.width;
  for (int64_t at = 0; at < e.samples * e.count; at++) {
    const int64_t n = at / e.count, k = at % e.count;
    const double *entry = eval->inputs[ENTRIES] + 2 * at;
    double *y = eval->output + at * e.heads;
    for (int64_t h = 0; h < e.heads; h++) y[h] = 0;
    if (!inside(entry[0], e.vertices) || !inside(entry[1], e.vertices)) continue;
    const int64_t i = n * e.vertices + (int64_t)entry[0], j = n * e.vertices + (int64_t)entry[1];
    const double *span = eval->inputs[ROWS] + 2 * i;
    if ((double)k < span[0] || (double)k >= span[1]) continue;
    for (int64_t f = 0; f < row; f++) y[f / e.width] += eval->inputs[X][i * row + f] * eval->inputs[W][j * row + f];
  }
  return MICA_OK;
}

static mica_status launch_dot(const mica__exec *exec) { return launch_sparse(exec, &sparse_dot); }

static mica_status grad_dot(const mica__grad *grad) {
  const mica__sparse_attrs *how = mica__attrs_of(grad->y);
  const mica_value *in = grad->inputs;
  grad->dinputs[X] = add_sum(in[W], grad->dy, in + ROWS, false, how->heads);
  grad->dinputs[W] = add_sum(in[X], grad->dy, in + ROWS, true, how->heads);
  return MICA_OK;
}

/* --- checks --- */

/* The pattern has two entries per vertex, or fewer if there is no room: vertex i with itself and with its successor.
 * Random numbers would rarely describe the same entries by rows and by columns. */
static void fill_pattern(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  const int64_t vertices = c->inputs[X].shape.dim[1], entries = c->inputs[ENTRIES].shape.dim[1];
  const int64_t per = input == ORDER ? entries : 2 * (input == ENTRIES ? entries : vertices);
  (void)check;
  for (int64_t at = 0; at < count; at++) {
    const int64_t i = at % per, half = i / 2, odd = i % 2;
    switch (input) {
    case ROWS:
    case COLUMNS: values[at] = (double)(2 * half + 2 * odd); break;
    case ENTRIES: values[at] = (double)(odd ? (half / 2 + half % 2) % (vertices ? vertices : 1) : half / 2); break;
    default: values[at] = (double)(i % 2 ? (i + entries - 2) % (entries ? entries : 1) : i); break;
    }
  }
}

#define PATTERN(dtype, n, v, e)                                                                                        \
  {dtype, {3, {n, v, 2}}}, {dtype, {3, {n, e, 2}}}, {dtype, {3, {n, v, 2}}}, {                                         \
    dtype, {                                                                                                           \
      2, { n, e }                                                                                                      \
    }                                                                                                                  \
  }
#define FILLED (1u << ROWS | 1u << ENTRIES | 1u << COLUMNS | 1u << ORDER)
#define CASE(x, attrs_, n, v, e, f, third, fourth, i)                                                                  \
  {                                                                                                                    \
    .attrs = &attrs_, .inputs = {{x, {3, {n, v, f}}}, {x, {3, {n, third, fourth}}}, PATTERN(i, n, v, e)},              \
    .input_count = OPERANDS, .terms = 2 + (f), .filled = FILLED, .fill = fill_pattern                                  \
  }

static const mica__sparse_attrs one = {.heads = 1}, back = {true, 1}, three = {.heads = 3}, three_back = {true, 3};

static mica_status check_sum(mica__check *check) {
  const mica__launch_case list[] = {
      CASE(MICA_F32, one, 1, 5, 10, 7, 10, 1, MICA_I32),
      CASE(MICA_F32, back, 2, 5, 10, 33, 10, 1, MICA_I32),
      CASE(MICA_F16, three, 3, 9, 18, 48, 18, 3, MICA_I32),
      CASE(MICA_BF16, three_back, 2, 70, 140, 15, 140, 3, MICA_I64),
      CASE(MICA_F64, back, 1, 300, 600, 16, 600, 1, MICA_I32),
      CASE(MICA_F32, three, 2, 4, 5, 3, 5, 3, MICA_I32),
      CASE(MICA_F32, one, 2, 3, 0, 4, 0, 1, MICA_I32),
      CASE(MICA_F32, one, 0, 3, 6, 4, 6, 1, MICA_I32),
      {.attrs = &one,
       .inputs = {{MICA_F32, {3, {2, 6, 5}}}, {MICA_F32, {3, {2, 9, 1}}}, PATTERN(MICA_I32, 2, 6, 9)},
       .input_count = OPERANDS,
       .bound = {2, 2, 12, 8, 12, 12},
       .terms = 12},
  };
  return mica__check_launches(check, &mica__op_sparse_sum, "sparse_sum", list, sizeof list / sizeof *list);
}

static mica_status check_dot(mica__check *check) {
  const mica__launch_case list[] = {
      CASE(MICA_F32, one, 1, 5, 10, 7, 5, 7, MICA_I32),
      CASE(MICA_F16, three, 3, 9, 18, 48, 9, 48, MICA_I32),
      CASE(MICA_BF16, three, 2, 70, 140, 15, 70, 15, MICA_I64),
      CASE(MICA_F64, one, 1, 300, 600, 16, 300, 16, MICA_I32),
      CASE(MICA_F32, one, 2, 3, 0, 4, 3, 4, MICA_I32),
      {.attrs = &one,
       .inputs = {{MICA_F32, {3, {2, 6, 5}}}, {MICA_F32, {3, {2, 6, 5}}}, PATTERN(MICA_I32, 2, 6, 9)},
       .input_count = OPERANDS,
       .bound = {2, 2, 12, 8, 12, 12},
       .terms = 5},
  };
  return mica__check_launches(check, &mica__op_sparse_dot, "sparse_dot", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const sum_kernels[] = {&sparse_sum, NULL};
const mica__op mica__op_sparse_sum = {.name = "sparse_sum",
                                      .kernels = sum_kernels,
                                      .check = check_sum,
                                      .kind = MICA__OP_LAUNCH,
                                      .min_inputs = OPERANDS,
                                      .max_inputs = OPERANDS,
                                      .attrs = &mica__sparse_attr_list,
                                      .dtypes = "f0x222>0",
                                      .infer = infer_sum,
                                      .grad = grad_sum,
                                      .evaluate = evaluate_sum,
                                      .launch = launch_sum};

static const mica__kernel_desc *const dot_kernels[] = {&sparse_dot, NULL};
const mica__op mica__op_sparse_dot = {.name = "sparse_dot",
                                      .kernels = dot_kernels,
                                      .check = check_dot,
                                      .kind = MICA__OP_LAUNCH,
                                      .min_inputs = OPERANDS,
                                      .max_inputs = OPERANDS,
                                      .attrs = &mica__sparse_attr_list,
                                      .dtypes = "f0x222>0",
                                      .infer = infer_dot,
                                      .grad = grad_dot,
                                      .evaluate = evaluate_dot,
                                      .launch = launch_dot};

mica_value mica_sparse_sum(mica_value x, mica_value weights, const mica_pattern *pattern) {
  const mica_shape w = mica_value_shape(weights);
  if (mica_value_is_null(x) || mica_value_is_null(weights)) return (mica_value){0};
  if (!pattern) return mica__graph_fail(x.graph, MICA_E_INVALID, "sparse_sum: the pattern is NULL");
  return add_sum(x, weights, (const mica_value[]){pattern->rows, pattern->entries, pattern->columns, pattern->order},
                 false, w.rank == 3 ? w.dim[2] : 1);
}

mica_value mica_sparse_dot(mica_value a, mica_value b, const mica_pattern *pattern, int64_t heads) {
  if (mica_value_is_null(a)) return a;
  if (!pattern) return mica__graph_fail(a.graph, MICA_E_INVALID, "sparse_dot: the pattern is NULL");
  return add_dot(a, b, (const mica_value[]){pattern->rows, pattern->entries, pattern->columns, pattern->order}, heads);
}
