/* Values that depend only on shapes and attributes. */
#include "onnx/ops/family.h"

#include <math.h>
#include <string.h>

MICA__LOWER(shape) {
  mica_value x = x_of(l, node);
  mica_shape shape = mica_value_shape(x);
  int64_t start = mica__onnx_int(node, "start", 0), end = mica__onnx_int(node, "end", shape.rank);
  if (!x.graph) return MICA_OK;
  if (start < 0) start += shape.rank;
  if (end < 0) end += shape.rank;
  start = start < 0 ? 0 : start > shape.rank ? shape.rank : start;
  end = end > shape.rank ? shape.rank : end < start ? start : end;
  return give(l, node, mica__lower_integer_constant(l, shape.dim + start, end - start, 1));
}

MICA__LOWER(size) {
  int64_t count = 0;
  mica_value x = x_of(l, node);
  if (!x.graph) return MICA_OK;
  MICA_TRY(mica_shape_count(mica_value_shape(x), &count));
  return give(l, node, mica__lower_integer_constant(l, &count, 1, 0));
}

static mica_value reals(mica__lowering *l, const float *values, size_t count, mica_shape shape) {
  return mica_constant(mica__lower_graph(l), MICA_F32, shape, count ? values : &(const float){0});
}

MICA__LOWER(constant) {
  for (int32_t i = 0; i < node->attr_count; i++) {
    const Onnx__AttributeProto *a = node->attrs[i];
    const char *name = mica__onnx_text(a->name);
    if (!strcmp(name, "value") && a->t) {
      mica__onnx_texts texts = {0};
      mica__onnx_texts_in(a->t, &texts);
      mica__lower_text_result(l, node, 0, mica__lower_tensor(l, a->t, node->outputs[0]), texts);
      return MICA_OK;
    }
    if (!strcmp(name, "sparse_value") && a->sparse_tensor)
      return give(l, node, mica__lower_sparse(l, a->sparse_tensor));
    if (!strcmp(name, "value_float")) return give(l, node, reals(l, &a->f, 1, MICA_SCALAR));
    if (!strcmp(name, "value_floats"))
      return give(l, node, reals(l, a->floats, a->n_floats, MICA_SHAPE((int64_t)a->n_floats)));
    if (!strcmp(name, "value_int")) return give(l, node, mica__lower_integer_constant(l, &a->i, 1, 0));
    if (!strcmp(name, "value_ints"))
      return give(l, node,
                  mica__lower_integer_constant(l, a->n_ints ? a->ints : &(const int64_t){0}, (int64_t)a->n_ints, 1));
  }
  return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                          "the node has none of the attributes that Mica supports: value, sparse_value, value_float, "
                          "value_floats, value_int or value_ints");
}

/* mica_full checks that the product of dimensions does not overflow. */
MICA__LOWER(constant_of_shape) {
  mica__integers list;
  mica_shape shape = {0};
  mica_dtype dtype = MICA_F32;
  double value = 0;
  if (!mica__lower_integers(l, node, 0, &list)) return MICA_OK;
  if (list.count > MICA_MAX_RANK)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the result would have rank %lld, but the limit is %d",
                            (long long)list.count, MICA_MAX_RANK);
  for (int64_t i = 0; i < list.count; i++) shape.dim[shape.rank++] = list.values[i];
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, "value");
  if (attr && attr->t) MICA_TRY(mica__onnx_tensor_number(attr->t, &dtype, &value));
  if (attr && attr->t && !mica__lower_dtype(l, attr->t->data_type, &dtype)) return MICA_E_DTYPE;
  return give(l, node, mica_full(mica__lower_graph(l), dtype, shape, value));
}

MICA__LOWER(eye_like) {
  mica_value x = x_of(l, node);
  mica_shape shape = mica_value_shape(x);
  mica_dtype dtype = mica_value_dtype(x);
  int64_t type = mica__onnx_int(node, "dtype", -1), k = mica__onnx_int(node, "k", 0);
  if (!x.graph) return MICA_OK;
  if (shape.rank != 2)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the input has rank %d, but must have rank 2", (int)shape.rank);
  if (type >= 0 && !mica__lower_dtype(l, type, &dtype))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "elements of type %s (dtype %lld) are not supported",
                            mica__onnx_type_name(type), (long long)type);
  if (!mica__lower_positions(l, node, shape.dim[0]) || !mica__lower_positions(l, node, shape.dim[1])) return MICA_OK;
  mica_graph *graph = mica__lower_graph(l);
  mica_value rows = mica_reshape(mica_range(graph, MICA_I64, shape.dim[0]), MICA_SHAPE(shape.dim[0], 1));
  mica_value columns = mica_range(graph, MICA_I64, shape.dim[1]);
  return give(l, node, mica_cast(mica_equal(columns, mica_add(rows, mica__lower_number(rows, (double)k))), dtype));
}

MICA__LOWER(range) {
  mica__reals start, limit, delta;
  mica_value x = x_of(l, node);
  if (!mica__lower_reals(l, node, 0, &start) || !mica__lower_reals(l, node, 1, &limit) ||
      !mica__lower_reals(l, node, 2, &delta))
    return MICA_OK;
  if (start.count != 1 || limit.count != 1 || delta.count != 1)
    return mica__lower_fail(l, node, MICA_E_INVALID,
                            "start, limit and delta have %lld, %lld and %lld numbers, but each must have 1",
                            (long long)start.count, (long long)limit.count, (long long)delta.count);
  if (delta.values[0] == 0) return mica__lower_fail(l, node, MICA_E_INVALID, "delta is 0, but must not be 0");
  double count = ceil((limit.values[0] - start.values[0]) / delta.values[0]);
  if (!(count <= MICA__LOWER_POSITIONS))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "a range of %g elements is not possible; the limit is %d",
                            count, MICA__LOWER_POSITIONS);
  mica_dtype dtype = mica_value_dtype(x);
  mica_value positions = mica_range(mica__lower_graph(l), MICA_I64, count > 0 ? (int64_t)count : 0);
  if (is_floating(x))
    return give(l, node,
                mica_cast(mica_affine(mica_cast(positions, MICA_F64), delta.values[0], start.values[0]), dtype));
  mica_value step = mica_mul(positions, mica__lower_number(positions, delta.values[0]));
  return give(l, node, mica_cast(mica_add(step, mica__lower_number(positions, start.values[0])), dtype));
}
