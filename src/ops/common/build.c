#include "ops/common/build.h"

#include "base/number.h"
#include <stdarg.h>
#include <stdio.h>

const void *mica__attrs_of(mica_value value) { return mica__graph_node(value.graph, value.id)->attrs; }

mica_status mica__axis(int64_t *axis, int32_t rank) {
  if (rank == 0) return mica__fail(MICA_E_SHAPE, "axis is %lld, but a tensor of rank 0 has no axes", (long long)*axis);
  if (*axis < -rank || *axis >= rank)
    return mica__fail(MICA_E_SHAPE, "axis is %lld, but a tensor of rank %d has axes %d to %d", (long long)*axis,
                      (int)rank, (int)-rank, (int)rank - 1);
  if (*axis < 0) *axis += rank;
  return MICA_OK;
}

bool mica__builder_axis(const char *op, mica_value x, int64_t *axis) {
  if (!x.graph) return false;
  mica_status status = mica__axis(axis, mica_value_shape(x).rank);
  if (status == MICA_OK) return true;
  mica__graph_fail_at(x.graph, status, op, &x, 1);
  return false;
}

static mica_status name_axes(mica_axes axes, int32_t rank, uint32_t *set) {
  *set = 0;
  if (axes.count < 0 || axes.count > MICA_MAX_RANK)
    return mica__fail(MICA_E_INVALID, "the number of axes is %d, but must be from 0 to %d", (int)axes.count,
                      MICA_MAX_RANK);
  for (int32_t i = 0; i < axes.count; i++) {
    int64_t axis = axes.axis[i];
    MICA_TRY(mica__axis(&axis, rank));
    if (*set >> axis & 1) return mica__fail(MICA_E_SHAPE, "axis %lld is named twice", (long long)axis);
    *set |= 1u << axis;
  }
  return MICA_OK;
}

bool mica__builder_named_axes(const char *op, mica_value x, mica_axes axes, int32_t rank, uint32_t *set) {
  if (!x.graph) return false;
  mica_status status = name_axes(axes, rank, set);
  if (status == MICA_OK) return true;
  mica__graph_fail_at(x.graph, status, op, &x, 1);
  return false;
}

bool mica__builder_axes(const char *op, mica_value x, mica_axes axes, uint32_t *set) {
  int32_t rank = mica_value_shape(x).rank;
  if (!mica__builder_named_axes(op, x, axes, rank, set)) return false;
  if (axes.count == 0) *set = (1u << rank) - 1;
  return true;
}

bool mica__builder_choice(const char *op, mica_value x, const char *what, int64_t value, int64_t count) {
  if (!x.graph || (value >= 0 && value < count)) return x.graph != NULL;
  mica__builder_fail(op, x, MICA_E_INVALID, "%s is %lld, but must be from 0 to %lld", what, (long long)value,
                     (long long)(count - 1));
  return false;
}

bool mica__builder_number(const char *op, mica_value x, const char *what, double value, double least, double most) {
  if (!x.graph || (value >= least && value <= most)) return x.graph != NULL;
  mica__builder_fail(op, x, MICA_E_INVALID, "%s is %g, but must be from %g to %g", what, value, least, most);
  return false;
}

mica_axes mica__axes_of(uint32_t set) {
  mica_axes axes = {0};
  for (int32_t k = 0; k < MICA_MAX_RANK; k++)
    if (set >> k & 1) axes.axis[axes.count++] = k;
  return axes;
}

mica_value mica__builder_fail(const char *op, mica_value x, mica_status status, const char *format, ...) {
  char text[512];
  va_list args;
  if (!x.graph) return x;
  va_start(args, format);
  mica__vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return mica__graph_fail_at(x.graph, mica__fail(status, "%s", text), op, &x, 1);
}

mica_value mica__number(mica_value like, double number) {
  return mica_scalar(like.graph, mica_value_dtype(like), number);
}

mica_value mica__widen(mica_value x) {
  mica_dtype dtype = mica_value_dtype(x);
  if (dtype != MICA_F16 && dtype != MICA_BF16) return x;
  const mica__node *node = mica__graph_node(x.graph, x.id);
  /* A cast at a checkpoint is not bypassed: values that are recomputed start from the checkpoint itself. */
  if (node->op != &mica__op_cast || !node->op->is_stream(node->attrs) || node->checkpoint)
    return mica_cast(x, MICA_F32);
  return (mica_value){x.graph, node->inputs[0]};
}

mica_value mica__narrow(mica_value value, mica_value x) {
  return mica_value_dtype(value) == mica_value_dtype(x) ? value : mica_cast(value, mica_value_dtype(x));
}

mica_value mica__stream(mica_value value, mica_value x) {
  const mica_dtype dtype = mica_value_dtype(x);
  if (mica_value_dtype(value) == dtype) return value;
  return mica__graph_add(&mica__op_cast, &value, 1, &(mica__cast_attrs){.to = dtype, .stream = true});
}

bool mica__shape_is_known(mica_shape shape) {
  for (int32_t i = 0; i < shape.rank; i++)
    if (shape.dim[i] == MICA_DYNAMIC) return false;
  return true;
}

mica_value mica__drop_axis(mica_value value, int32_t axis) {
  mica_shape from = mica_value_shape(value), to = {.rank = from.rank - 1};
  for (int32_t i = 0; i < to.rank; i++) to.dim[i] = MICA__COPY_DIM(i < axis ? i : i + 1);
  return mica_reshape(value, to);
}

mica_value mica__insert_axis(mica_value value, int32_t axis) {
  mica_shape from = mica_value_shape(value), to = {.rank = from.rank + 1};
  if (to.rank > MICA_MAX_RANK)
    return mica__graph_fail(value.graph, MICA_E_SHAPE,
                            "the result would have %d dimensions, but a tensor has at most %d", (int)to.rank,
                            MICA_MAX_RANK);
  for (int32_t i = 0; i < to.rank; i++) to.dim[i] = i == axis ? 1 : MICA__COPY_DIM(i < axis ? i : i - 1);
  return mica_reshape(value, to);
}

mica__rows mica__rows_of(mica_shape shape, int64_t axis) {
  mica__rows rows = {.outer = 1, .n = shape.dim[axis], .inner = 1};
  for (int32_t i = 0; i < axis; i++) rows.outer *= shape.dim[i];
  for (int64_t i = axis + 1; i < shape.rank; i++) rows.inner *= shape.dim[i];
  return rows;
}

void mica__row_major(mica_shape shape, int64_t stride[MICA_MAX_RANK]) {
  int64_t step = 1;
  for (int32_t i = shape.rank - 1; i >= 0; i--) {
    stride[i] = step;
    step *= shape.dim[i];
  }
}

bool mica__next_index(mica_shape shape, int64_t index[MICA_MAX_RANK]) {
  for (int32_t i = shape.rank - 1; i >= 0; i--) {
    if (++index[i] < shape.dim[i]) return true;
    index[i] = 0;
  }
  return false;
}

int64_t mica__access_at(const mica__access *access, mica_shape space, const int64_t *index) {
  int64_t at = access->offset;
  for (int32_t i = 0; i < space.rank; i++) at += index[i] * access->stride[i];
  return at;
}
