#include "onnx/ops/family.h"

#include <math.h>
#include <string.h>

/* --- reductions --- */

typedef mica_value reduce_fn(mica_value x, mica_axes axes, bool keep);
static const struct {
  const char *op;
  reduce_fn *build;
  bool floating;   /* computed in floating point only */
  bool of_nothing; /* `build` also reduces axes without elements */
  double nothing;  /* if of_nothing is false: the result over axes without elements */
  bool identity;   /* the reduction of a single element is that element */
} reductions[] = {{"ReduceSum", mica_sum, false, true, 0, true},
                  {"ReduceMean", mica_mean, true, true, 0, true},
                  {"ReduceMax", mica_max, false, false, -(double)INFINITY, true},
                  {"ReduceMin", mica_min, false, false, (double)INFINITY, true},
                  {"ReduceProd", mica_prod, false, true, 0, true},
                  {"ReduceL1", mica_l1, false, true, 0, false},
                  {"ReduceL2", mica_l2, true, true, 0, false},
                  {"ReduceLogSum", mica_logsum, true, true, 0, false},
                  {"ReduceLogSumExp", mica_logsumexp, true, false, -(double)INFINITY, false},
                  {"ReduceSumSquare", mica_sum_square, false, true, 0, false}};

/* Reads the axes from the attribute `axes` or from operand 1. *given says whether there are any. Returns false if an
 * error was recorded, or if the lowering must restart to learn operand 1 (l->demands). */
static bool axes_of(mica__lowering *l, const mica__onnx_node *node, int32_t rank, mica_axes *axes, bool *given) {
  mica__integers list;
  if (!mica__onnx_ints(node, "axes", &list) && !mica__lower_integers(l, node, 1, &list)) return false;
  *given = list.count > 0;
  return mica__lower_axes(l, node, &list, rank, axes);
}

/* The shape that remains after reducing an empty value. */
static mica_shape reduced(mica_shape shape, mica_axes axes, bool keep) {
  mica_shape out = {0};
  uint32_t set = axes.count ? 0 : UINT32_MAX;
  for (int32_t i = 0; i < axes.count; i++) set |= 1u << axes.axis[i];
  for (int32_t i = 0; i < shape.rank; i++)
    if (!(set >> i & 1) || keep) out.dim[out.rank++] = set >> i & 1 ? 1 : shape.dim[i];
  return out;
}

static bool reduces_nothing(mica_shape shape, mica_axes axes) {
  bool nothing = false;
  for (int32_t i = 0; i < shape.rank; i++) nothing = nothing || (!axes.count && shape.dim[i] == 0);
  for (int32_t i = 0; i < axes.count; i++) nothing = nothing || shape.dim[axes.axis[i]] == 0;
  return nothing;
}

MICA__LOWER(reduce) {
  size_t at = 0;
  mica_axes axes;
  bool given = false, keep = mica__onnx_int(node, "keepdims", 1);
  mica_value x = x_of(l, node);
  while (at < sizeof reductions / sizeof *reductions && strcmp(reductions[at].op, node->op)) at++;
  if (!x.graph || !axes_of(l, node, mica_value_shape(x).rank, &axes, &given)) return MICA_OK;
  const bool none = !given && mica__onnx_int(node, "noop_with_empty_axes", 0);
  if (none && reductions[at].identity) return give(l, node, x);
  /* Without axes, apply the function (square, norm, logarithm) to each element alone: reduce over a new axis of 1. */
  if (none) x = mica_unsqueeze(x, MICA_AXES(0)), axes = MICA_AXES(0), keep = false;
  mica_dtype dtype = mica_value_dtype(x);
  if (!reductions[at].of_nothing && reduces_nothing(mica_value_shape(x), axes)) {
    /* mica_full converts an infinity to the smallest or largest value of an integer dtype. For bools, the result is
     * false for ReduceMax and true for ReduceMin. */
    const double nothing = dtype == MICA_BOOL ? reductions[at].nothing > 0 : reductions[at].nothing;
    return give(l, node, mica_full(mica__lower_graph(l), dtype, reduced(mica_value_shape(x), axes, keep), nothing));
  }
  if (dtype == MICA_BOOL) x = mica_cast(x, MICA_U8);
  if (reductions[at].floating && !is_floating(x)) x = mica_cast(x, MICA_F64);
  return give(l, node, mica_cast(reductions[at].build(x, axes, keep), dtype));
}

/* --- along an axis --- */

MICA__LOWER(arg) {
  mica_value x = x_of(l, node);
  int64_t axis = mica__onnx_int(node, "axis", 0);
  bool most = !strcmp(node->op, "ArgMax"), keep = mica__onnx_int(node, "keepdims", 1);
  if (!x.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  bool last = mica__onnx_int(node, "select_last_index", 0);
  if (last) x = mica_flip(x, MICA_AXES((int32_t)axis));
  mica_value y = most ? mica_argmax(x, (int32_t)axis, keep) : mica_argmin(x, (int32_t)axis, keep);
  if (last) y = mica_sub(mica__lower_number(y, (double)(mica_value_shape(x).dim[axis] - 1)), y);
  return give(l, node, y);
}

MICA__LOWER(cumulative) {
  mica__integers axis;
  mica_value x = x_of(l, node);
  if (!mica__lower_integers(l, node, 1, &axis) || !x.graph) return MICA_OK;
  if (axis.count != 1)
    return mica__lower_fail(l, node, MICA_E_FORMAT, "axis has %lld numbers, but must have 1", (long long)axis.count);
  bool exclusive = mica__onnx_int(node, "exclusive", 0), reverse = mica__onnx_int(node, "reverse", 0);
  int64_t at = axis.values[0];
  if (!mica__lower_axis(l, node, mica_value_shape(x).rank, &at)) return MICA_OK;
  bool sum = !strcmp(node->op, "CumSum");
  return give(l, node,
              sum ? mica_cumsum(x, (int32_t)at, exclusive, reverse) : mica_cumprod(x, (int32_t)at, exclusive, reverse));
}

static mica_value rows(const char *op, mica_value x, int32_t axis) {
  if (!strcmp(op, "Softmax")) return mica_softmax(x, axis);
  if (!strcmp(op, "LogSoftmax")) return mica_log_softmax(x, axis);
  if (!x.graph) return x;
  return mica_one_hot(mica_argmax(x, axis, false), mica_value_shape(x).dim[axis], axis, mica__lower_number(x, 0),
                      mica__lower_number(x, 1));
}

/* Before version 13, x is treated as a matrix: the axes before `axis` are its rows, the others its columns. */
MICA__LOWER(softmax) {
  mica_value x = x_of(l, node);
  mica_shape shape = mica_value_shape(x);
  int64_t axis = mica__onnx_int(node, "axis", node->version < 13 ? 1 : -1);
  if (!x.graph || (shape.rank == 0 && node->version < 13)) return give(l, node, x);
  if (axis == shape.rank && node->version < 13)
    return give(l, node, mica_full_like(x, strcmp(node->op, "LogSoftmax") != 0));
  if (!mica__lower_axis(l, node, shape.rank, &axis)) return MICA_OK;
  if (node->version >= 13 || axis == shape.rank - 1) return give(l, node, rows(node->op, x, (int32_t)axis));
  return give(l, node, mica_reshape(rows(node->op, mica_flatten(x, (int32_t)axis), 1), shape));
}

MICA__LOWER(top_k) {
  mica__integers k = {0};
  mica_value x = x_of(l, node);
  int64_t attribute = mica__onnx_int(node, "k", 1), axis = mica__onnx_int(node, "axis", -1);
  if (node->version >= 10 && !mica__lower_integers(l, node, 1, &k)) return MICA_OK;
  if (!x.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  bool largest = mica__onnx_int(node, "largest", 1);
  mica_top_k_results found = mica_top_k(x, k.count ? k.values[0] : attribute, (int32_t)axis, !largest);
  mica__lower_result(l, node, 0, found.values);
  mica__lower_result(l, node, 1, found.indices);
  return MICA_OK;
}
