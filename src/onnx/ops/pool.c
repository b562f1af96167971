#include "onnx/ops/family.h"
#include "onnx/ops/window.h"

static bool pool_config(mica__lowering *l, const mica__onnx_node *node, mica_value x, mica_pool_config *config) {
  mica__spatial_window w;
  if (!mica__lower_window(l, node, x, (mica_value){0}, &w)) return false;
  *config = (mica_pool_config){.ceil_mode = mica__onnx_int(node, "ceil_mode", 0),
                               .count_include_pad = mica__onnx_int(node, "count_include_pad", 0)};
  for (int32_t i = 0; i < w.rank; i++) {
    config->size[i] = w.size[i];
    config->stride[i] = w.stride[i];
    config->dilation[i] = w.dilation[i];
    config->pad[i] = w.before[i];
    config->pad_more[i] = w.after[i] - w.before[i];
  }
  return true;
}

/* Converts row-major indices within a plane to column-major ones. */
static mica_value column_major(mica_value positions, mica_shape shape) {
  mica_value rest = positions, out = {0};
  int64_t stride = 1;
  int64_t column_stride[MICA_MAX_RANK];
  for (int32_t i = 2; i < shape.rank; i++, stride *= shape.dim[i - 1]) column_stride[i] = stride;
  for (int32_t i = shape.rank - 1; i >= 2; i--) {
    mica_value extent = mica__lower_number(positions, (double)shape.dim[i]);
    mica_value term = mica_mul(mica_mod(rest, extent), mica__lower_number(positions, (double)column_stride[i]));
    out = out.graph ? mica_add(out, term) : term;
    rest = mica_div(rest, extent);
  }
  return out;
}

/* Converts indices within a plane, as mica_max_pool_indices gives them, to indices into all of x (batch, channels,
 * ...). If `columns`, the order within a plane becomes column-major. */
static mica_value whole_indices(mica_value x, mica_value positions, bool columns) {
  mica_shape shape = mica_value_shape(x), planes = {.rank = shape.rank, .dim = {shape.dim[0], shape.dim[1]}};
  int64_t plane = 1;
  for (int32_t i = 2; i < shape.rank; i++) {
    plane *= shape.dim[i];
    planes.dim[i] = 1;
  }
  mica_value start = mica_reshape(mica_range(x.graph, MICA_I64, shape.dim[0] * shape.dim[1]), planes);
  if (columns) positions = column_major(positions, shape);
  return mica_add(positions, mica_mul(start, mica__lower_number(start, (double)plane)));
}

MICA__LOWER(max_pool) {
  mica_pool_config config;
  mica_value x = x_of(l, node);
  if (!pool_config(l, node, x, &config)) return MICA_OK;
  mica__lower_result(l, node, 0, mica_max_pool(x, &config));
  int64_t planes = 0;
  if (mica__lower_wants(node, 1) && x.graph &&
      (!mica__lower_product(l, node, mica_value_shape(x).dim[0], mica_value_shape(x).dim[1], INT64_MAX, &planes) ||
       !mica__lower_positions(l, node, planes)))
    return MICA_OK;
  if (mica__lower_wants(node, 1))
    mica__lower_result(
        l, node, 1, whole_indices(x, mica_max_pool_indices(x, &config), mica__onnx_int(node, "storage_order", 0) != 0));
  return MICA_OK;
}

MICA__LOWER(average_pool) {
  mica_pool_config config;
  mica_value x = x_of(l, node);
  if (!pool_config(l, node, x, &config)) return MICA_OK;
  return give(l, node, mica_average_pool(x, &config));
}

MICA__LOWER(lp_pool) {
  mica_pool_config config;
  mica_value x = x_of(l, node);
  if (!pool_config(l, node, x, &config)) return MICA_OK;
  config.p = node->version < 2 ? mica__onnx_real(node, "p", 2) : (double)mica__onnx_int(node, "p", 2);
  return give(l, node, mica_lp_pool(x, &config));
}

MICA__LOWER(global_average_pool) { return give(l, node, mica_global_average_pool(x_of(l, node))); }
MICA__LOWER(global_max_pool) { return give(l, node, mica_global_max_pool(x_of(l, node))); }

MICA__LOWER(global_lp_pool) {
  double p = node->version < 2 ? mica__onnx_real(node, "p", 2) : (double)mica__onnx_int(node, "p", 2);
  return give(l, node, mica_global_lp_pool(x_of(l, node), p));
}

/* Puts each element back to the index from which a max pooling took it; all other elements of the result are 0. Operand
 * 1 holds these indices, flat indices into the result. The result has the shape output_shape (operand 2). If that is
 * absent, it has the shape that follows from window and strides.
 *
 * If a node has output_shape, ONNX's text does not say whether the indices refer to output_shape or to the shape that
 * follows from window and strides. ONNX's own test of 2019 uses the latter. Mica uses output_shape, as onnxruntime and
 * PyTorch do, because only this inverts MaxPool. */
MICA__LOWER(max_unpool) {
  mica__spatial_window w;
  mica__integers wanted;
  mica_value x = x_of(l, node), indices = mica__lower_operand(l, node, 1);
  if (!indices.graph || !mica__lower_window(l, node, x, (mica_value){0}, &w) ||
      !mica__lower_integers(l, node, 2, &wanted))
    return MICA_OK;
  mica_shape pooled = mica_value_shape(x), whole = pooled;
  if (wanted.count && wanted.count != whole.rank)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "output_shape has %lld numbers, but must have %d, one per axis of the input",
                            (long long)wanted.count, (int)whole.rank);
  for (int32_t i = 0; i < w.rank; i++)
    whole.dim[2 + i] = (w.extent[i] - 1) * w.stride[i] + w.size[i] - w.before[i] - w.after[i];
  for (int32_t i = 0; wanted.count && i < whole.rank; i++) {
    if (wanted.values[i] < 0)
      return mica__lower_fail(l, node, MICA_E_INVALID, "output_shape contains %lld, but its numbers must be 0 or above",
                              (long long)wanted.values[i]);
    whole.dim[i] = wanted.values[i];
  }
  int64_t count = 0, all = 0;
  MICA_TRY(mica_shape_count(pooled, &count));
  MICA_TRY(mica_shape_count(whole, &all));
  mica_value zeros = mica_full(mica__lower_graph(l), mica_value_dtype(x), MICA_SHAPE(all), 0);
  mica_value flat = mica_scatter_elements(zeros, mica_reshape(indices, MICA_SHAPE(count)),
                                          mica_reshape(x, MICA_SHAPE(count)), 0, MICA_SCATTER_SET);
  return give(l, node, mica_reshape(flat, whole));
}
