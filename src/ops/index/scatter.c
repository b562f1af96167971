#include "base/error.h"
#include "ops/index/index.h"
#include "ops/select/launch_check.h"
#include "ops/sort/order.h"
#include "runtime/launch.h"
#include "runtime/tensor.h"

#include <math.h>
#include <mica/ops.h>

/* Operands: the base (or, for a scatter into zeros, a value of the result's shape), the indices, the updates. */
static mica_status infer_scatter(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  char tu[MICA_SHAPE_TEXT], tt[MICA_SHAPE_TEXT];
  mica_shape taken;
  int32_t how = ((const mica__index_attrs *)attrs)->join;
  if (how < MICA_SCATTER_SET || how > MICA_SCATTER_MIN)
    return mica__fail(MICA_E_INVALID, "%d is not a value of mica_scatter", (int)how);
  MICA_TRY(mica__index_infer(attrs, &inputs[0], &inputs[1], &taken));
  bool fits = taken.rank == inputs[2].shape.rank;
  for (int32_t i = 0; fits && i < taken.rank; i++)
    fits = taken.dim[i] == inputs[2].shape.dim[i] || taken.dim[i] == MICA_DYNAMIC ||
           inputs[2].shape.dim[i] == MICA_DYNAMIC;
  if (!fits)
    return mica__fail(MICA_E_SHAPE, "updates are %s, but must be %s, the shape that the base and the indices give",
                      mica_shape_format(inputs[2].shape, tu), mica_shape_format(taken, tt));
  if (mica_dtype_kind_of(inputs[0].dtype) == MICA_DTYPE_KIND_BOOL && how != MICA_SCATTER_SET)
    return mica__fail(MICA_E_DTYPE, "b8 elements can only be set (MICA_SCATTER_SET), not joined");
  *out = inputs[0];
  return MICA_OK;
}

static double join(int32_t how, double a, double b) {
  switch (how) {
  case MICA_SCATTER_ADD: return a + b;
  case MICA_SCATTER_MUL: return a * b;
  case MICA_SCATTER_MAX: return fmax(a, b);
  case MICA_SCATTER_MIN: return fmin(a, b);
  default: return b;
  }
}

static mica_status evaluate_scatter(const mica__eval *eval) {
  const mica__index_attrs *attrs = eval->attrs;
  const mica__index_view v = mica__index_view_of(attrs, eval->types[0].shape, eval->types[1].shape);
  for (int64_t i = 0; i < v.outer * v.n * v.inner; i++) eval->output[i] = attrs->base ? eval->inputs[0][i] : 0;
  for (int64_t o = 0, at = 0; o < v.outer; o++)
    for (int64_t j = 0; j < v.m; j++)
      for (int64_t i = 0; i < v.inner; i++, at++) {
        int64_t k = mica__index_resolve(eval->inputs[1][attrs->elements ? at : j], v.n);
        double *to = &eval->output[(o * v.n + k) * v.inner + i];
        if (k >= 0) *to = join(attrs->join, *to, eval->inputs[2][at]);
      }
  return MICA_OK;
}

static const mica__kernel_param params[] = {
    MICA__DTYPE("U_T", "type of the updates and the result", MICA__DTYPES),
    MICA__DTYPE("I_T", "type of the indices", MICA_I64, MICA_I32),
    MICA__INT("JOIN", "0 the last stays, 1 sum, 2 product, 3 largest, 4 smallest", 0, 1, 2, 3, 4),
    MICA__INT("EACH", "1: an index for every element, not for every row", 0, 1),
    MICA__INT("FIND", "equal indices: 0 are compared, 1 there are none, 2 are sorted", 0, 1, 2),
    MICA__INT("VW", "elements a work-item makes", 1, 2, 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA_I64, MICA_SCATTER_SET, 0, 0, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_I64, MICA_SCATTER_SET, 0, 0, 1),
};
static const mica__kernel_desc update = {MICA__KERNEL("scatter_update", "index/scatter_update.cl", params, variants)};

/* With at most this many indices, equal ones are found by comparing each index with all others. With more, sorting them
 * takes less time. */
#define MOST_COMPARED 64
enum { FIND_COMPARED, FIND_NONE, FIND_SORTED };

/* Joins the updates into the output, which already holds the base. order: the sorted order of the indices, or NULL. */
static mica_status launch_update(const mica__exec *exec, const mica__index_view *v, int find,
                                 const mica_tensor *order) {
  const mica__index_attrs *attrs = exec->attrs;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, &update, values));
  mica__kernel_set(&update, values, "U_T", (int32_t)mica_tensor_dtype(exec->output));
  mica__kernel_set(&update, values, "I_T", (int32_t)mica_tensor_dtype(exec->inputs[1]));
  mica__kernel_set(&update, values, "JOIN", attrs->join);
  mica__kernel_set(&update, values, "EACH", attrs->elements);
  mica__kernel_set(&update, values, "FIND", find);
  int64_t width = attrs->elements ? 1 : mica__kernel_value(&update, values, "VW");
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &update, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[2]);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_tensor(&launch, exec->inputs[1]);
  mica__launch_optional(&launch, order);
  mica__launch_size(&launch, v->outer);
  mica__launch_size(&launch, v->n);
  mica__launch_size(&launch, v->m);
  mica__launch_size(&launch, v->inner);
  mica__launch_range1(&launch, v->outer * v->m * ((v->inner + width - 1) / width), MICA__RANGE_GROUP);
  /* The updates are read and the same number of bytes is written; joins other than set also read the old elements. */
  bool sets = attrs->join == MICA_SCATTER_SET;
  mica__launch_cost(&launch, sets ? 0 : (double)mica_tensor_count(exec->inputs[2]),
                    (sets ? 2 : 3) * (double)mica_tensor_bytes(exec->inputs[2]) +
                        (double)mica_tensor_bytes(exec->inputs[1]));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status launch_scatter(const mica__exec *exec) {
  const mica__index_attrs *attrs = exec->attrs;
  const mica__index_view v =
      mica__index_view_of(attrs, mica_tensor_shape(exec->output), mica_tensor_shape(exec->inputs[1]));
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  if (!attrs->base)
    MICA_TRY(mica_op_fill(exec->queue, 0, exec->output));
  else if (!mica__tensor_same_memory(exec->inputs[0], exec->output))
    MICA_TRY(mica_op_copy(exec->queue, exec->inputs[0], exec->output));
  if (mica_tensor_count(exec->inputs[2]) == 0) return MICA_OK;
  if (attrs->unique) return launch_update(exec, &v, FIND_NONE, NULL);
  if (v.m <= MOST_COMPARED) return launch_update(exec, &v, FIND_COMPARED, NULL);
  mica_tensor *order = NULL;
  const mica__rows rows = {attrs->elements ? v.outer : 1, v.m, attrs->elements ? v.inner : 1};
  MICA_TRY(mica__sort_order(exec, exec->inputs[1], rows, MICA__ORDER_INDEX, v.n, &order));
  mica_status status = launch_update(exec, &v, FIND_SORTED, order);
  mica_tensor_destroy(order);
  return status;
}

static mica_status grad_scatter(const mica__grad *grad) {
  const mica__index_attrs *attrs = mica__attrs_of(grad->y);
  bool adds = attrs->join == MICA_SCATTER_ADD;
  int32_t axis = (int32_t)attrs->axis;
  mica_value indices = grad->inputs[1];
  if (attrs->join != MICA_SCATTER_SET && !adds)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "a scatter that multiplies or takes extremes has no gradient; only set and add have one");
  if (attrs->base) {
    mica_value overwritten[] = {grad->dy, indices, mica_full_like(grad->inputs[2], 0)};
    grad->dinputs[0] = adds ? grad->dy : mica__graph_add(&mica__op_scatter, overwritten, 3, attrs);
  }
  grad->dinputs[2] =
      attrs->elements ? mica_gather_elements(grad->dy, indices, axis) : mica_gather(grad->dy, indices, axis);
  return MICA_OK;
}

/* Checks scatters: all joins if there is a base, only sums into zeros. */
static mica_status check_joins(mica__check *check, const mica__op *op, bool base) {
  mica__index_attrs rows = {0}, columns = {.axis = 1}, each = {.elements = true}, last = {.axis = -1, .elements = true};
  mica__index_attrs *const all[] = {&rows, &columns, &each, &last};
  mica__launch_case list[] = {
      {.attrs = &rows,
       .inputs = {{MICA_F32, {2, {5, 7}}}, {MICA_I64, {1, {9}}}, {MICA_F32, {2, {9, 7}}}},
       .bound = {2, 6},
       .terms = 9},
      {.attrs = &rows,
       .inputs = {{MICA_F16, {2, {5, 33}}}, {MICA_I32, {2, {2, 3}}}, {MICA_F16, {3, {2, 3, 33}}}},
       .bound = {2, 6},
       .terms = 6},
      {.attrs = &rows,
       .inputs = {{MICA_F32, {2, {300, 16}}}, {MICA_I64, {1, {1000}}}, {MICA_F32, {2, {1000, 16}}}},
       .bound = {1, 300},
       .terms = 20},
      {.attrs = &each,
       .inputs = {{MICA_F32, {2, {9, 3}}}, {MICA_I32, {2, {100, 3}}}, {MICA_F32, {2, {100, 3}}}},
       .bound = {1, 10},
       .terms = 30},
      {.attrs = &columns,
       .inputs = {{MICA_F32, {3, {2, 4, 3}}}, {MICA_I64, {1, {5}}}, {MICA_F32, {3, {2, 5, 3}}}},
       .bound = {2, 4},
       .terms = 5},
      {.attrs = &columns,
       .inputs = {{MICA_I32, {2, {3, 4}}}, {MICA_I64, {1, {0}}}, {MICA_I32, {2, {3, 0}}}},
       .bound = {9, 4, 9},
       .terms = 1},
      {.attrs = &each,
       .inputs = {{MICA_F32, {2, {5, 7}}}, {MICA_I64, {2, {3, 7}}}, {MICA_F32, {2, {3, 7}}}},
       .bound = {2, 6},
       .terms = 3},
      {.attrs = &last,
       .inputs = {{MICA_I64, {2, {5, 7}}}, {MICA_I32, {2, {5, 9}}}, {MICA_I64, {2, {5, 9}}}},
       .bound = {9, 8, 3},
       .terms = 9},
  };
  int32_t from = base ? MICA_SCATTER_SET : MICA_SCATTER_ADD, to = base ? MICA_SCATTER_MIN : MICA_SCATTER_ADD;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) list[i].input_count = 3;
  for (int32_t how = from; how <= to; how++) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      all[i]->join = how;
      all[i]->base = base;
    }
    MICA_TRY(mica__check_launches(check, op, mica__scatter_joins[how], list, sizeof list / sizeof *list));
  }
  return MICA_OK;
}

static mica_status check_scatter(mica__check *check) { return check_joins(check, &mica__op_scatter, true); }
static mica_status check_zeros(mica__check *check) { return check_joins(check, &mica__op_scatter_into_zeros, false); }

static const mica__kernel_desc *const kernels[] = {&update, MICA__SORT_LONG_KERNELS, NULL};

#define SCATTER(label, check_fn, unread, from)                                                                         \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kernels = kernels,                                                               \
                                     .check = check_fn,                                                                \
                                     .kind = MICA__OP_LAUNCH,                                                          \
                                     .min_inputs = 3,                                                                  \
                                     .max_inputs = 3,                                                                  \
                                     .attrs = &mica__index_attr_list,                                                  \
                                     .dtypes = "*x0>0",                                                                \
                                     .infer = infer_scatter,                                                           \
                                     .grad = grad_scatter,                                                             \
                                     .evaluate = evaluate_scatter,                                                     \
                                     .launch = launch_scatter,                                                         \
                                     .may_alias = from,                                                                \
                                     .updates = from,                                                                  \
                                     .shape_only = unread};
SCATTER(scatter, check_scatter, 0, 1)
SCATTER(scatter_into_zeros, check_zeros, 1, 0)

mica_value mica__scatter_sum(mica_value x, mica_value indices, mica_value updates, int32_t axis, bool unique) {
  const mica__index_attrs attrs = {.axis = axis, .elements = true, .join = MICA_SCATTER_ADD, .unique = unique};
  return mica__graph_add(&mica__op_scatter_into_zeros, (mica_value[]){x, indices, updates}, 3, &attrs);
}

mica_value mica__scatter(mica_value x, mica_value indices, mica_value updates, int32_t axis, bool elements,
                         mica_scatter how) {
  const mica__index_attrs attrs = {.axis = axis, .elements = elements, .join = (int32_t)how, .base = true};
  return mica__graph_add(&mica__op_scatter, (mica_value[]){x, indices, updates}, 3, &attrs);
}

static mica_value scatter_rows_of(mica_value x, mica_value indices, mica_value updates, int32_t axis, mica_scatter how,
                                  bool unique) {
  const mica__index_attrs attrs = {.axis = axis, .join = (int32_t)how, .base = true, .unique = unique};
  return mica__graph_add(&mica__op_scatter, (mica_value[]){x, indices, updates}, 3, &attrs);
}

mica_value mica_scatter_rows(mica_value x, mica_value indices, mica_value updates, int32_t axis, mica_scatter how) {
  return scatter_rows_of(x, indices, updates, axis, how, false);
}

mica_value mica_scatter_rows_unique(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                    mica_scatter how) {
  return scatter_rows_of(x, indices, updates, axis, how, true);
}
