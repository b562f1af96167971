#include "onnx/indices.h"
#include "onnx/lowering.h"
#include "onnx/ops/family.h"

/* Operand k as indices of a dtype that Mica accepts. */
static mica_value indices_of(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  mica_value indices = mica__lower_operand(l, node, k);
  mica_dtype dtype = mica_value_dtype(indices);
  return dtype == MICA_I64 || dtype == MICA_I32 ? indices : mica_cast(indices, MICA_I64);
}

static bool axis_of(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t *axis) {
  *axis = mica__onnx_int(node, "axis", 0);
  return x.graph && mica__lower_axis(l, node, mica_value_shape(x).rank, axis);
}

/* Checks operand 1, indices along the axis of x. Returns false, with an error recorded, if a constant index is out of
 * range. onnx/indices.h says how other indices are checked. */
static bool within(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t axis) {
  return mica__lower_indices_within(l, node, mica__lower_operand(l, node, 1), &mica_value_shape(x).dim[axis], 1);
}

/* Checks operand 1, whose column i indexes axis first + i of x. Returns false, with an error recorded, if a constant
 * index is out of range. onnx/indices.h says how other indices are checked. */
static bool columns_within(mica__lowering *l, const mica__onnx_node *node, mica_value x, int32_t first) {
  mica_value indices = mica__lower_operand(l, node, 1);
  if (!x.graph || !indices.graph) return true; /* an error was already recorded */
  mica_shape own = mica_value_shape(indices), whole = mica_value_shape(x);
  int64_t columns = own.rank ? own.dim[own.rank - 1] : 0;
  if (columns < 1 || first + columns > whole.rank) return true; /* the graph builder records the error */
  return mica__lower_indices_within(l, node, indices, whole.dim + first, (int32_t)columns);
}

/* Returns true if the indices are constants that ascend by equal steps. Such a gather is a slice, which copies nothing.
 * Sets *from to the first index and *step to the step. */
static bool is_slice(mica__lowering *l, const mica__onnx_node *node, mica_value indices, int64_t extent, int64_t *from,
                     int64_t *step) {
  mica__integers known;
  if (!indices.graph || !mica__lower_is_known(l->graph, indices.id) || !mica__lower_integers(l, node, 1, &known))
    return false;
  bool rises = known.count > 0;
  *step = 1;
  for (int64_t i = 0; rises && i < known.count; i++) {
    int64_t at = known.values[i] < 0 ? known.values[i] + extent : known.values[i];
    if (i == 0) *from = at;
    if (i == 1) *step = at - *from;
    rises = *step > 0 && at == *from + i * *step;
  }
  return rises;
}

MICA__LOWER(gather) {
  int64_t axis, from = 0, step = 1;
  mica_value x = x_of(l, node), indices = indices_of(l, node, 1);
  if (!axis_of(l, node, x, &axis) || !within(l, node, x, axis)) return MICA_OK;
  mica_shape whole = mica_value_shape(x), own = mica_value_shape(indices), shape = {0};
  if (whole.rank - 1 + own.rank > MICA_MAX_RANK || !is_slice(l, node, indices, whole.dim[axis], &from, &step))
    return give(l, node, mica_gather(x, indices, (int32_t)axis));
  int64_t count = 1;
  for (int32_t i = 0; i < own.rank; i++) count *= own.dim[i];
  for (int32_t i = 0; i < axis; i++) shape.dim[shape.rank++] = whole.dim[i];
  for (int32_t i = 0; i < own.rank; i++) shape.dim[shape.rank++] = own.dim[i];
  for (int32_t i = (int32_t)axis + 1; i < whole.rank; i++) shape.dim[shape.rank++] = whole.dim[i];
  mica_value part = mica_slice(x, (int32_t)axis, from, from + (count - 1) * step + 1, step);
  return give(l, node, mica_reshape(part, shape));
}

MICA__LOWER(gather_elements) {
  int64_t axis;
  mica_value x = x_of(l, node), indices = indices_of(l, node, 1);
  if (!axis_of(l, node, x, &axis) || !indices.graph || !within(l, node, x, axis)) return MICA_OK;
  mica_shape own = mica_value_shape(indices), whole = mica_value_shape(x);
  /* Along the other axes the indices may be shorter than x; x is then cut to their extent. */
  for (int32_t i = 0; i < whole.rank && own.rank == whole.rank; i++)
    if (i != axis && own.dim[i] < whole.dim[i]) x = mica_slice(x, i, 0, own.dim[i], 1);
  return give(l, node, mica_gather_elements(x, indices, (int32_t)axis));
}

/* The first batch_dims axes are common to both operands. A column per batch axis, with the position along that axis, is
 * put before the columns of the given indices. This makes a gather without batch axes. */
MICA__LOWER(gather_nd) {
  mica_value x = x_of(l, node), indices = indices_of(l, node, 1);
  int64_t batch = mica__onnx_int(node, "batch_dims", 0);
  if (!x.graph || !indices.graph) return MICA_OK;
  mica_shape shape = mica_value_shape(indices);
  if (batch < 0 || batch >= shape.rank || batch >= mica_value_shape(x).rank)
    return mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "batch_dims is %lld, but must be at least 0 and less than the ranks of data (%d) and indices (%d)",
        (long long)batch, (int)mica_value_shape(x).rank, (int)shape.rank);
  if (!columns_within(l, node, x, (int32_t)batch)) return MICA_OK;
  for (int32_t i = 0; i < batch; i++)
    if (!mica__lower_positions(l, node, shape.dim[i])) return MICA_OK;
  mica_value columns[MICA_MAX_RANK + 1];
  for (int32_t i = 0; i < batch; i++) {
    mica_shape column = {.rank = shape.rank}, own = shape;
    for (int32_t d = 0; d < shape.rank; d++) column.dim[d] = d == i ? shape.dim[d] : 1;
    own.dim[shape.rank - 1] = 1;
    mica_value positions = mica_reshape(mica_range(mica__lower_graph(l), MICA_I64, shape.dim[i]), column);
    columns[i] = mica_expand(positions, own);
  }
  columns[batch] = batch ? mica_cast(indices, MICA_I64) : indices;
  if (batch) indices = mica_concat(columns, (size_t)batch + 1, shape.rank - 1);
  return give(l, node, mica_gather_nd(x, indices));
}

static mica_scatter how(mica__lowering *l, const mica__onnx_node *node) {
  static const mica_scatter list[] = {MICA_SCATTER_SET, MICA_SCATTER_ADD, MICA_SCATTER_MUL, MICA_SCATTER_MAX,
                                      MICA_SCATTER_MIN};
  return list[mica__lower_choice(l, node, "reduction", "none add mul max min", 0)];
}

MICA__LOWER(scatter_elements) {
  int64_t axis;
  mica_value x = x_of(l, node), indices = indices_of(l, node, 1), updates = mica__lower_operand(l, node, 2);
  if (!axis_of(l, node, x, &axis) || !within(l, node, x, axis)) return MICA_OK;
  return give(l, node, mica_scatter_elements(x, indices, updates, (int32_t)axis, how(l, node)));
}

MICA__LOWER(scatter_nd) {
  mica_value x = x_of(l, node), indices = indices_of(l, node, 1), updates = mica__lower_operand(l, node, 2);
  if (!columns_within(l, node, x, 0)) return MICA_OK;
  return give(l, node, mica_scatter_nd(x, indices, updates, how(l, node)));
}

/* Updates a cache along `axis`: the update of sequence b begins at write_indices[b], or at 0 without this operand. It
 * wraps around if the mode is circular. */
MICA__LOWER(tensor_scatter) {
  mica_value x = x_of(l, node), update = mica__lower_operand(l, node, 1);
  int64_t axis = mica__onnx_int(node, "axis", -2);
  bool circular = mica__lower_choice(l, node, "mode", "linear circular", 0);
  if (!x.graph || !update.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  mica_shape shape = mica_value_shape(update), along = {.rank = shape.rank}, batch = {.rank = shape.rank};
  for (int32_t i = 0; i < shape.rank; i++) {
    along.dim[i] = i == axis ? shape.dim[i] : 1;
    batch.dim[i] = i == 0 ? shape.dim[i] : 1;
  }
  if (!mica__lower_positions(l, node, shape.dim[axis])) return MICA_OK;
  mica_value positions = mica_reshape(mica_range(mica__lower_graph(l), MICA_I64, shape.dim[axis]), along);
  if (mica__lower_has(l, node, 2))
    positions = mica_add(positions, mica_reshape(mica_cast(mica__lower_operand(l, node, 2), MICA_I64), batch));
  if (circular) positions = mica_mod(positions, mica__lower_number(positions, (double)mica_value_shape(x).dim[axis]));
  return give(l, node,
              mica_scatter_elements(x, mica_expand(positions, shape), update, (int32_t)axis, MICA_SCATTER_SET));
}

MICA__LOWER(one_hot) {
  mica__integers depth;
  mica_value indices = indices_of(l, node, 0), values = mica__lower_operand(l, node, 2);
  if (!mica__lower_integers(l, node, 1, &depth) || !indices.graph || !values.graph) return MICA_OK;
  int64_t axis = mica__onnx_int(node, "axis", -1);
  if (depth.count != 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "depth has %lld numbers, but must have 1", (long long)depth.count);
  if (!mica__lower_axis(l, node, mica_value_shape(indices).rank + 1, &axis)) return l->status;
  if (!mica__lower_positions(l, node, depth.values[0])) return MICA_OK;
  mica_value off = mica_reshape(mica_slice(values, 0, 0, 1, 1), MICA_SCALAR);
  mica_value on = mica_reshape(mica_slice(values, 0, 1, 2, 1), MICA_SCALAR);
  return give(l, node, mica_one_hot(indices, depth.values[0], (int32_t)axis, off, on));
}
