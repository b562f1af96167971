/* Indexing made of gather and scatter, and of comparisons with a range. */
#include "ops/index/index.h"

#include "base/checked.h"
#include "base/element.h"
#include "base/error.h"
#include "ops/layout/views.h"

#include <stdlib.h>

/* Returns the number up to which a dtype holds all integers. */
static double counts_to(mica_dtype dtype) {
  if (mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT) return 1 / mica__element_roundoff(dtype);
  double most = 0;
  unsigned char element[8] = {0};
  mica__element_set(dtype, element, 0, 0x1p64);
  most = mica__element_get(dtype, element, 0);
  return most;
}

mica_value mica_range(mica_graph *graph, mica_dtype dtype, int64_t count) {
  size_t size = mica_dtype_size(dtype);
  if (!graph || mica_graph_status(graph) != MICA_OK) return (mica_value){0};
  if (size == 0) return mica__graph_fail(graph, MICA_E_INVALID, "range: %d is not a dtype", (int)dtype);
  if (count < 0 || (uint64_t)count > SIZE_MAX / 16)
    return mica__graph_fail(graph, MICA_E_INVALID, "range: the number of elements is %lld, but must be from 0 to %llu",
                            (long long)count, (unsigned long long)(SIZE_MAX / 16));
  if ((double)count - 1 > counts_to(dtype))
    return mica__graph_fail(
        graph, MICA_E_OVERFLOW,
        "range: %lld elements are too many, because the largest whole number that %s counts to is %.0f",
        (long long)count, mica_dtype_name(dtype), counts_to(dtype));
  void *data = malloc((size_t)count * size + 1);
  if (!data) return mica__graph_fail_with(graph, mica__fail_nomem("a range"));
  for (int64_t i = 0; i < count; i++) mica__element_set(dtype, data, i, (double)i);
  mica_value range = mica_constant(graph, dtype, MICA_SHAPE(count), data);
  free(data);
  return range;
}

/* Indices may be smaller than x along axes other than `axis`. They are then padded with indices out of range, which a
 * scatter ignores. */
mica_value mica_scatter_elements(mica_value x, mica_value indices, mica_value updates, int32_t axis, mica_scatter how) {
  mica_shape shape = mica_value_shape(x), given = mica_value_shape(indices);
  int64_t k = axis;
  if (!mica__builder_axis("scatter_elements", x, &k)) return (mica_value){0};
  const double outside = mica__index_outside(shape.dim[k]);
  for (int32_t i = 0; i < shape.rank && shape.rank == given.rank; i++) {
    if (i == k || given.dim[i] >= shape.dim[i]) continue;
    indices = mica__pad_axis(indices, i, 0, shape.dim[i] - given.dim[i], outside);
    updates = mica__pad_axis(updates, i, 0, shape.dim[i] - given.dim[i], 0);
  }
  return mica__scatter(x, indices, updates, axis, true, how);
}

/* Converts indices (..., k) into the first k axes of x to indices into the merged axes; an index that is out of range
 * in one axis stays out of range. */
static mica_value merged_indices(const char *op, mica_value x, mica_value indices, mica_value *merged_x) {
  mica_shape shape = mica_value_shape(x), given = mica_value_shape(indices), merged = {.rank = 1, .dim = {1}};
  int64_t k = given.rank > 0 ? given.dim[given.rank - 1] : -1;
  char tx[MICA_SHAPE_TEXT], ti[MICA_SHAPE_TEXT];
  if (!x.graph || !indices.graph) return (mica_value){0};
  bool fits = k >= 1 && k <= shape.rank;
  for (int32_t i = 0; fits && i < shape.rank; i++) {
    fits = i >= k || shape.dim[i] != MICA_DYNAMIC;
    if (i < k)
      merged.dim[0] *= shape.dim[i];
    else
      merged.dim[merged.rank++] = MICA__COPY_DIM(i);
  }
  if (!fits)
    return mica__builder_fail(op, x, MICA_E_SHAPE,
                              "indices %s do not fit %s: the last axis of indices must have 1 to %d indices, each into "
                              "a leading axis of known size",
                              mica_shape_format(given, ti), mica_shape_format(shape, tx), (int)shape.rank);
  mica_dtype dtype = mica_value_dtype(indices);
  mica_value sum = {0}, zero = mica_scalar(x.graph, dtype, 0), inside = {0};
  for (int32_t i = 0; i < k; i++) {
    mica_value extent = mica_scalar(x.graph, dtype, (double)shape.dim[i]);
    mica_value index = mica__drop_axis(mica_slice(indices, -1, i, i + 1, 1), given.rank - 1);
    index = mica_where(mica_less(index, zero), mica_add(index, extent), index);
    mica_value here = mica_logical_and(mica_greater_equal(index, zero), mica_less(index, extent));
    sum = i ? mica_add(mica_mul(sum, extent), index) : index;
    inside = i ? mica_logical_and(inside, here) : here;
  }
  *merged_x = mica_reshape(x, merged);
  return mica_where(inside, sum, mica_scalar(x.graph, dtype, (double)merged.dim[0]));
}

mica_value mica_gather_nd(mica_value x, mica_value indices) {
  mica_value merged = {0}, positions = merged_indices("gather_nd", x, indices, &merged);
  return mica_gather(merged, positions, 0);
}

mica_value mica_scatter_nd(mica_value x, mica_value indices, mica_value updates, mica_scatter how) {
  mica_value merged = {0}, positions = merged_indices("scatter_nd", x, indices, &merged);
  return mica__reshape_like(mica__scatter(merged, positions, updates, 0, false, how), x);
}

/* True if two shapes have the same rank and their known extents agree in all axes except `axis`. */
static bool same_beside(mica_shape a, mica_shape b, int64_t axis) {
  bool same = a.rank == b.rank;
  for (int32_t k = 0; same && k < a.rank; k++)
    same = k == axis || a.dim[k] == b.dim[k] || a.dim[k] == MICA_DYNAMIC || b.dim[k] == MICA_DYNAMIC;
  return same;
}

mica_value mica_slice_assign(mica_value x, mica_value values, int32_t axis, int64_t start, int64_t step) {
  mica_shape shape = mica_value_shape(x), given = mica_value_shape(values);
  char tx[MICA_SHAPE_TEXT], tv[MICA_SHAPE_TEXT];
  int64_t k = axis;
  if (!x.graph || !values.graph || !mica__builder_axis("slice_assign", x, &k)) return (mica_value){0};
  if (step == 0) return mica__builder_fail("slice_assign", x, MICA_E_INVALID, "step must not be 0");
  if (!same_beside(shape, given, k))
    return mica__builder_fail("slice_assign", x, MICA_E_SHAPE,
                              "values %s must have the shape of x, %s, except along axis %d",
                              mica_shape_format(given, tv), mica_shape_format(shape, tx), (int)k);
  int64_t count = given.dim[k], extent = shape.dim[k], first = start, last = 0;
  if (count == 0) return x;
  if (extent == MICA_DYNAMIC || count < 0)
    return mica__builder_fail("slice_assign", x, MICA_E_SHAPE, "axis %d of '%s' is open, but must have a known size",
                              (int)k, mica_value_name(extent == MICA_DYNAMIC ? x : values));
  if (start < 0) first += extent;
  bool fits = mica__mul_i64(count - 1, step, &last) && !__builtin_add_overflow(last, first, &last) && first >= 0 &&
              first < extent && last >= 0 && last < extent;
  if (!fits)
    return mica__builder_fail("slice_assign", x, MICA_E_SHAPE,
                              "values %s, placed from %lld in steps of %lld along axis %d, do not lie inside %s",
                              mica_shape_format(given, tv), (long long)start, (long long)step, (int)k,
                              mica_shape_format(shape, tx));
  int64_t *rows = calloc((size_t)count, sizeof *rows);
  if (!rows) return mica__graph_fail_with(x.graph, mica__fail_nomem("a slice"));
  for (int64_t i = 0; i < count; i++) rows[i] = first + i * step;
  mica_value indices = mica_constant(x.graph, MICA_I64, MICA_SHAPE(count), rows);
  free(rows);
  return mica__scatter(x, indices, values, (int32_t)k, false, MICA_SCATTER_SET);
}

mica_value mica_one_hot(mica_value indices, int64_t depth, int32_t axis, mica_value off, mica_value on) {
  mica_dtype dtype = mica_value_dtype(indices);
  int32_t rank = mica_value_shape(indices).rank + 1;
  int64_t k = axis < 0 ? axis + rank : axis;
  if (!indices.graph) return (mica_value){0};
  if (dtype != MICA_I32 && dtype != MICA_I64)
    return mica__builder_fail("one_hot", indices, MICA_E_DTYPE, "operand 0 is %s, but must be indices of i32 or i64",
                              mica_dtype_name(dtype));
  if (k < 0 || k >= rank)
    return mica__builder_fail("one_hot", indices, MICA_E_SHAPE, "axis is %d, but must be from %d to %d", (int)axis,
                              -(int)rank, (int)rank - 1);
  if (depth < 0)
    return mica__builder_fail("one_hot", indices, MICA_E_SHAPE, "depth is %lld, but must not be negative",
                              (long long)depth);
  mica_value zero = mica_scalar(indices.graph, dtype, 0), extent = mica_scalar(indices.graph, dtype, (double)depth);
  mica_value position = mica_where(mica_less(indices, zero), mica_add(indices, extent), indices);
  mica_value positions = mica_range(indices.graph, dtype, depth);
  for (int32_t i = (int32_t)k + 1; i < rank; i++) positions = mica__insert_axis(positions, 1);
  return mica_where(mica_equal(mica__insert_axis(position, (int32_t)k), positions), on, off);
}
