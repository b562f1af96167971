/* Integers with a scale and a zero point. They are computed as f32, exactly as long as sums of products stay below
 * 2^24; products of matrices whose sums may be larger are computed as f64. */
#include "onnx/ops/family.h"
#include "onnx/ops/window.h"

/* --- scales --- */

/* A scale or zero point beside x: one number, one an index of the axis, or one a block of `block` of them. */
static mica_value beside(mica_value part, mica_value x, int64_t axis, int64_t block) {
  mica_shape own = mica_value_shape(part), whole = mica_value_shape(x), wide = {.rank = whole.rank};
  int64_t count = 1;
  for (int32_t i = 0; i < own.rank; i++) count *= own.dim[i];
  if (own.rank <= 1 && count == 1) return mica_reshape(part, MICA_SCALAR);
  if (own.rank == 1 && !block) {
    for (int32_t i = 0; i < whole.rank; i++) wide.dim[i] = i == axis ? own.dim[0] : 1;
    return mica_reshape(part, wide);
  }
  if (!block || own.rank != whole.rank || whole.rank == MICA_MAX_RANK) return part;
  mica_shape apart = {0}, each = {0};
  for (int32_t i = 0; i < whole.rank; i++) {
    apart.dim[apart.rank++] = each.dim[each.rank++] = own.dim[i];
    wide.dim[i] = i == axis ? own.dim[i] * block : own.dim[i];
    if (i != axis) continue;
    apart.dim[apart.rank++] = 1;
    each.dim[each.rank++] = block;
  }
  mica_value repeated = mica_reshape(mica_expand(mica_reshape(part, apart), each), wide);
  return mica_slice(repeated, (int32_t)axis, 0, whole.dim[axis], 1);
}

/* The attributes that say for which part of x a scale is; false when an error is recorded. */
static bool axis_of(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t *axis, int64_t *block) {
  int32_t rank = mica_value_shape(x).rank;
  *axis = mica__onnx_int(node, "axis", 1);
  *block = mica__onnx_int(node, "block_size", 0);
  if (!x.graph) return false;
  /* A value with one scale may have no such axis. */
  if (rank == 0 || *axis >= rank) *axis = 0;
  return rank == 0 || mica__lower_axis(l, node, rank, axis);
}

static mica_value zero_point(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
}

/* x - zero, as f32. */
static mica_value centred(mica_value x, mica_value zero, int64_t axis, int64_t block) {
  mica_value wide = mica_cast(x, MICA_F32);
  return zero.graph ? mica_sub(wide, mica_cast(beside(zero, x, axis, block), MICA_F32)) : wide;
}

/* round(x / scale) + zero, cut to what the type holds. */
static mica_value quantized(mica_value x, mica_value scale, mica_value zero, mica_dtype dtype) {
  mica_value steps = mica_round(mica_div(x, scale));
  if (zero.graph) steps = mica_add(steps, mica_cast(zero, mica_value_dtype(x)));
  return mica_cast(steps, dtype);
}

MICA__LOWER(quantize) {
  int64_t axis, block;
  mica_value x = mica__lower_floating(l, node, 0), scale = mica__lower_operand(l, node, 1);
  mica_value zero = zero_point(l, node, 2);
  mica_dtype dtype = zero.graph ? mica_value_dtype(zero) : MICA_U8;
  if (!axis_of(l, node, x, &axis, &block) || !scale.graph) return MICA_OK;
  int64_t type = mica__onnx_int(node, "output_dtype", 0);
  if (type && !mica__onnx_dtype((int32_t)type, &dtype))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "elements of type %s", mica__onnx_type_name((int32_t)type));
  scale = mica_cast(beside(scale, x, axis, block), MICA_F32);
  if (zero.graph) zero = beside(zero, x, axis, block);
  return give(l, node, quantized(mica_cast(x, MICA_F32), scale, zero, dtype));
}

MICA__LOWER(dequantize) {
  int64_t axis, block;
  mica_value x = x_of(l, node), scale = mica__lower_operand(l, node, 1);
  if (!axis_of(l, node, x, &axis, &block) || !scale.graph) return MICA_OK;
  mica_dtype dtype = mica_value_dtype(scale);
  int64_t type = mica__onnx_int(node, "output_dtype", 0);
  if (type && !mica__onnx_dtype((int32_t)type, &dtype))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "elements of type %s", mica__onnx_type_name((int32_t)type));
  mica_value steps = centred(x, zero_point(l, node, 2), axis, block);
  return give(l, node, mica_cast(mica_mul(steps, mica_cast(beside(scale, x, axis, block), MICA_F32)), dtype));
}

/* The range of x, with 0 in it, in 255 steps. */
MICA__LOWER(dynamic_quantize) {
  mica_value x = x_of(l, node);
  if (!x.graph) return MICA_OK;
  mica_value least = mica_minimum(mica_min(x, MICA_ALL_AXES, false), mica__lower_number(x, 0));
  mica_value most = mica_maximum(mica_max(x, MICA_ALL_AXES, false), mica__lower_number(x, 0));
  mica_value scale = mica_div(mica_sub(most, least), mica__lower_number(x, 255));
  mica_value zero = mica_cast(mica_round(mica_div(mica_neg(least), scale)), MICA_U8);
  mica__lower_result(l, node, 0, quantized(x, scale, zero, MICA_U8));
  mica__lower_result(l, node, 1, scale);
  mica__lower_result(l, node, 2, zero);
  return MICA_OK;
}

/* --- products --- */

/* Zero points of the rows of a matrix stand along its last axis but one. */
static mica_value of_rows(mica_value zero) {
  return zero.graph && mica_value_shape(zero).rank == 1 ? mica_unsqueeze(zero, MICA_AXES(1)) : zero;
}

/* (a - its zero) (b - its zero) as i32. */
static mica_value product(mica_value a, mica_value a_zero, mica_value b, mica_value b_zero) {
  a = mica_cast(a, MICA_I32);
  b = mica_cast(b, MICA_I32);
  if (a_zero.graph) a = mica_sub(a, mica_cast(of_rows(a_zero), MICA_I32));
  if (b_zero.graph) b = mica_sub(b, mica_cast(b_zero, MICA_I32));
  return mica_matmul(a, b);
}

MICA__LOWER(matmul_integer) {
  mica_value y =
      product(x_of(l, node), zero_point(l, node, 2), mica__lower_operand(l, node, 1), zero_point(l, node, 3));
  return give(l, node, y);
}

/* x in steps of scale_x scale_w as steps of scale_y. */
static mica_value requantized(mica_value y, mica_value factor, mica_value scale, mica_value zero) {
  mica_value value = mica_mul(mica_cast(y, MICA_F32), factor);
  return quantized(value, mica_cast(scale, MICA_F32), zero, mica_value_dtype(zero));
}

MICA__LOWER(qlinear_matmul) {
  mica_value in[8];
  for (int32_t k = 0; k < 8; k++) in[k] = mica__lower_operand(l, node, k);
  mica_value y = product(in[0], in[2], in[3], in[5]);
  mica_value factor = mica_mul(mica_cast(of_rows(in[1]), MICA_F32), mica_cast(in[4], MICA_F32));
  return give(l, node, requantized(y, factor, in[6], in[7]));
}

/* --- convolutions --- */

/* One number an output channel, or one for all, beside filters or results of this rank. */
static mica_value of_channels(mica_value part, int32_t rank, int32_t axis) {
  mica_shape shape = {.rank = rank};
  if (!part.graph || mica_value_shape(part).rank != 1 || mica_value_shape(part).dim[0] == 1)
    return part.graph ? mica_reshape(part, MICA_SCALAR) : part;
  for (int32_t i = 0; i < rank; i++) shape.dim[i] = i == axis ? mica_value_shape(part).dim[0] : 1;
  return mica_reshape(part, shape);
}

/* The convolution of what is centred, so that padding is the zero point. */
static mica_value convolution(mica__lowering *l, const mica__onnx_node *node, mica_value x, mica_value x_zero,
                              mica_value w, mica_value w_zero) {
  mica__window window;
  if (!x.graph || !w.graph || !mica__lower_window(l, node, x, w, &window)) return (mica_value){0};
  mica_conv_config config = mica__lower_conv_config(node, &window);
  int32_t rank = mica_value_shape(x).rank;
  x = mica_cast(x, MICA_F32);
  w = mica_cast(w, MICA_F32);
  if (x_zero.graph) x = mica_sub(x, mica_cast(of_channels(x_zero, rank, 1), MICA_F32));
  if (w_zero.graph) w = mica_sub(w, mica_cast(of_channels(w_zero, rank, 0), MICA_F32));
  return mica_conv(x, w, (mica_value){0}, &config);
}

MICA__LOWER(conv_integer) {
  mica_value x = x_of(l, node), w = mica__lower_operand(l, node, 1);
  return give(l, node, mica_cast(convolution(l, node, x, zero_point(l, node, 2), w, zero_point(l, node, 3)), MICA_I32));
}

MICA__LOWER(qlinear_conv) {
  mica_value in[8];
  for (int32_t k = 0; k < 8; k++) in[k] = mica__lower_operand(l, node, k);
  mica_value y = convolution(l, node, in[0], in[2], in[3], in[5]);
  int32_t rank = mica_value_shape(y).rank;
  if (!y.graph) return MICA_OK;
  if (mica__lower_has(l, node, 8))
    y = mica_add(y, mica_cast(of_channels(mica__lower_operand(l, node, 8), rank, 1), MICA_F32));
  mica_value factor = mica_mul(of_channels(in[1], rank, 1), of_channels(in[4], rank, 1));
  return give(l, node, requantized(y, factor, of_channels(in[6], rank, 1), of_channels(in[7], rank, 1)));
}
