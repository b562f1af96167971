/* Quantised operators. QuantizeLinear and its relatives become mica_quantize or elementwise operations. The others
 * become products and convolutions of dequantised values, which a session replaces by integer kernels (mica/quant.h).
 * If the kernels do not support a shape:
 *
 * - Matrices are multiplied in i32.
 * - Convolutions are computed in f32, which is exact while sums of products stay below 2^24. */
#include "ir/graph.h"
#include "onnx/ops/family.h"
#include "onnx/ops/window.h"

#include <mica/quant.h>

/* --- scales --- */

/* Expands a scale or zero point to broadcast with x. It has one number, one per index of the axis, or one per block of
 * `block` indices of the axis. */
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
  if (block < 0 || block > INT32_MAX)
    return mica__graph_fail(x.graph, MICA_E_INVALID, "block_size is %lld, but must be 0 to 2^31 - 1", (long long)block);
  if (own.dim[axis] > INT32_MAX)
    return mica__graph_fail(x.graph, MICA_E_INVALID,
                            "a scale or zero point has %lld blocks along axis %d, but the limit is 2^31 - 1",
                            (long long)own.dim[axis], (int)axis);
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

/* Reads the attributes `axis` (the axis of x along which scales differ) and block_size. Returns false if x is null, or
 * with an error recorded if the axis is invalid. */
static bool axis_of(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t *axis, int64_t *block) {
  int32_t rank = mica_value_shape(x).rank;
  *axis = mica__onnx_int(node, "axis", 1);
  *block = mica__onnx_int(node, "block_size", 0);
  if (!x.graph) return false;
  /* With a single scale the axis does not matter, and x may lack it. */
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

/* round(x / scale) + zero, saturated to the type's range. */
static mica_value quantized(mica_value x, mica_value scale, mica_value zero, mica_dtype dtype) {
  mica_value steps = mica_round(mica_div(x, scale));
  if (zero.graph) steps = mica_add(steps, mica_cast(zero, mica_value_dtype(x)));
  return mica_cast(steps, dtype);
}

/* True if mica_quantize can produce the type. */
static bool are_steps(mica_dtype dtype) {
  return dtype == MICA_I8 || dtype == MICA_U8 || dtype == MICA_I16 || dtype == MICA_U16;
}

static bool is_one(mica_value part) {
  mica_shape shape = mica_value_shape(part);
  return shape.rank == 0 || (shape.rank == 1 && shape.dim[0] == 1);
}

/* The block size; 0 if there is one scale, or one per index of an axis. */
static int64_t blocks_of(mica_value scale, int64_t block) { return mica_value_shape(scale).rank > 1 ? block : 0; }

/* round(x / scale) + zero, saturated to 4 bits. */
static mica_value nibbles_of(mica_value x, mica_value scale, mica_value zero, mica_dtype dtype) {
  mica_value steps = mica_round(mica_div(x, scale));
  if (zero.graph) steps = mica_add(steps, mica_cast(zero, MICA_F32));
  const double least = dtype == MICA_I8 ? -8 : 0;
  return mica_cast(mica_clip(steps, least, least + 15), dtype);
}

MICA__LOWER(quantize) {
  int64_t axis, block;
  mica_value x = mica__lower_floating(l, node, 0), scale = mica__lower_operand(l, node, 1);
  mica_value zero = zero_point(l, node, 2);
  mica_dtype dtype = zero.graph ? mica_value_dtype(zero) : MICA_U8;
  if (!axis_of(l, node, x, &axis, &block) || !scale.graph) return MICA_OK;
  int64_t type = mica__onnx_int(node, "output_dtype", 0);
  int32_t steps = type > 0 && type < 32 ? (int32_t)type : mica__lower_file_type(l, node, 2);
  if (!mica__onnx_is_nibble(steps) && !type) steps = mica__lower_result_type(l, node, 0);
  const bool nibbles = mica__onnx_is_nibble(steps);
  if (nibbles ? !mica__onnx_dtype(steps, &dtype) : type && !mica__lower_dtype(l, type, &dtype))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "elements of type %s (output_dtype %lld) are not supported",
                            mica__onnx_type_name(type), (long long)type);
  scale = mica_cast(scale, MICA_F32);
  if (nibbles)
    return give(l, node,
                nibbles_of(mica_cast(x, MICA_F32), beside(scale, x, axis, block),
                           zero.graph ? beside(zero, x, axis, block) : zero, dtype));
  if (are_steps(dtype))
    return give(l, node,
                mica_quantize(
                    mica_cast(x, MICA_F32), scale, zero,
                    &(mica_quantize_config){.axis = (int32_t)axis, .block = blocks_of(scale, block), .dtype = dtype}));
  scale = beside(scale, x, axis, block);
  if (zero.graph) zero = beside(zero, x, axis, block);
  return give(l, node, quantized(mica_cast(x, MICA_F32), scale, zero, dtype));
}

MICA__LOWER(dequantize) {
  int64_t axis, block;
  mica_value x = x_of(l, node), scale = mica__lower_operand(l, node, 1);
  if (!axis_of(l, node, x, &axis, &block) || !scale.graph) return MICA_OK;
  mica_dtype dtype = mica_value_dtype(scale);
  int64_t type = mica__onnx_int(node, "output_dtype", 0);
  if (type && !mica__lower_dtype(l, type, &dtype))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "elements of type %s (output_dtype %lld) are not supported",
                            mica__onnx_type_name(type), (long long)type);
  mica_value zero = zero_point(l, node, 2);
  if (mica_dtype_kind_of(mica_value_dtype(x)) != MICA_DTYPE_KIND_FLOAT && mica_value_dtype(scale) != MICA_F64) {
    const mica_quantize_config config = {.axis = (int32_t)axis, .block = blocks_of(scale, block)};
    return give(l, node, mica_cast(mica_dequantize(x, scale, zero, &config), dtype));
  }
  mica_value steps = centred(x, zero, axis, block);
  return give(l, node, mica_cast(mica_mul(steps, mica_cast(beside(scale, x, axis, block), MICA_F32)), dtype));
}

MICA__LOWER(dynamic_quantize) {
  mica_value x = x_of(l, node), zero;
  if (!x.graph) return MICA_OK;
  mica_value scale = mica__lower_byte_range(x, &zero);
  mica__lower_result(l, node, 0, mica_quantize(x, scale, zero, &(mica_quantize_config){.dtype = MICA_U8}));
  mica__lower_result(l, node, 1, scale);
  mica__lower_result(l, node, 2, zero);
  return MICA_OK;
}

/* --- products --- */

/* Reshapes scales or zero points, one per row of a matrix, to a column that broadcasts along the rows. */
static mica_value of_rows(mica_value zero) {
  return zero.graph && mica_value_shape(zero).rank == 1 ? mica_unsqueeze(zero, MICA_AXES(1)) : zero;
}

/* (a - a_zero) (b - b_zero) as i32. */
static mica_value product(mica_value a, mica_value a_zero, mica_value b, mica_value b_zero) {
  a = mica_cast(a, MICA_I32);
  b = mica_cast(b, MICA_I32);
  if (a_zero.graph) a = mica_sub(a, mica_cast(of_rows(a_zero), MICA_I32));
  if (b_zero.graph) b = mica_sub(b, mica_cast(b_zero, MICA_I32));
  return mica_matmul(a, b);
}

/* True if integer kernels support the product of a and b. `parts` are the scales and zero points of a and b; each may
 * be null. */
static bool are_matrices(mica_value a, mica_value b, const mica_value *parts, int count) {
  mica_shape x = mica_value_shape(a), y = mica_value_shape(b);
  bool fit = x.rank >= 2 && (y.rank == 2 || y.rank == x.rank);
  for (int32_t i = 0; fit && y.rank > 2 && i + 2 < x.rank; i++) fit = x.dim[i] == y.dim[i];
  for (int i = 0; fit && i < count; i++) fit = !parts[i].graph || mica_value_shape(parts[i]).rank <= 1;
  return fit;
}

/* Returns (x - zero) * scale. If there are several scales or zero points, they go along `axis`. A null scale stands for
 * 1. */
static mica_value real(mica_value x, mica_value scale, mica_value zero, int32_t axis) {
  mica_value one = mica_scalar(x.graph, MICA_F32, 1);
  if (!scale.graph) scale = zero.graph && !is_one(zero) ? mica_expand(one, mica_value_shape(zero)) : one;
  return mica_dequantize(x, mica_cast(scale, MICA_F32), zero, &(mica_quantize_config){.axis = axis});
}

MICA__LOWER(matmul_integer) {
  mica_value a = x_of(l, node), b = mica__lower_operand(l, node, 1), none = {0};
  mica_value zeros[] = {zero_point(l, node, 2), zero_point(l, node, 3)};
  if (!a.graph || !b.graph) return MICA_OK;
  if (!are_matrices(a, b, zeros, 2)) return give(l, node, product(a, zeros[0], b, zeros[1]));
  return give(l, node, mica_cast(mica_matmul(real(a, none, zeros[0], -2), real(b, none, zeros[1], -1)), MICA_I32));
}

/* Returns round(y * factor / scale) + zero, of zero's dtype. y holds sums of integer products, in units of factor =
 * scale_x * scale_w. */
static mica_value requantized(mica_value y, mica_value factor, mica_value scale, mica_value zero) {
  mica_value value = mica_mul(mica_cast(y, MICA_F32), factor);
  return quantized(value, mica_cast(scale, MICA_F32), zero, mica_value_dtype(zero));
}

MICA__LOWER(qlinear_matmul) {
  mica_value in[8];
  for (int32_t k = 0; k < 8; k++) in[k] = mica__lower_operand(l, node, k);
  for (int32_t k = 0; k < 8; k++)
    if (!in[k].graph) return MICA_OK;
  const mica_value parts[] = {in[1], in[2], in[4], in[5]};
  if (are_matrices(in[0], in[3], parts, 4) && is_one(in[6]) && is_one(in[7])) {
    mica_value y = mica_matmul(real(in[0], in[1], in[2], -2), real(in[3], in[4], in[5], -1));
    const mica_quantize_config config = {.dtype = mica_value_dtype(in[7])};
    return give(l, node, mica_quantize(y, mica_cast(in[6], MICA_F32), in[7], &config));
  }
  mica_value y = product(in[0], in[2], in[3], in[5]);
  mica_value factor = mica_mul(mica_cast(of_rows(in[1]), MICA_F32), mica_cast(in[4], MICA_F32));
  return give(l, node, requantized(y, factor, in[6], in[7]));
}

/* --- convolutions --- */

/* Convolves dequantised values. Padding is 0 here, which is the zero point before dequantisation. */
static mica_value convolution(mica__lowering *l, const mica__onnx_node *node, mica_value x, mica_value w,
                              mica_value bias) {
  mica__spatial_window window;
  if (!x.graph || !w.graph || !mica__lower_window(l, node, x, w, &window)) return (mica_value){0};
  mica_conv_config config = mica__lower_conv_config(node, &window);
  return mica_conv(x, w, bias, &config);
}

MICA__LOWER(conv_integer) {
  mica_value x = x_of(l, node), w = mica__lower_operand(l, node, 1), none = {0};
  mica_value x_zero = zero_point(l, node, 2), w_zero = zero_point(l, node, 3);
  if (!x.graph || !w.graph) return MICA_OK;
  mica_value y = convolution(l, node, real(x, none, x_zero, 1), real(w, none, w_zero, 0), none);
  return give(l, node, mica_cast(y, MICA_I32));
}

MICA__LOWER(qlinear_conv) {
  mica_value in[8], bias = {0};
  for (int32_t k = 0; k < 8; k++) in[k] = mica__lower_operand(l, node, k);
  for (int32_t k = 0; k < 8; k++)
    if (!in[k].graph) return MICA_OK;
  if (mica__lower_has(l, node, 8)) {
    /* The bias is an integer multiple of scale_x scale_w, as the sums of products are. */
    mica_value steps = mica__lower_operand(l, node, 8), one = mica_reshape(mica_cast(in[1], MICA_F32), MICA_SCALAR);
    mica_value scale = mica_mul(one, mica_cast(in[4], MICA_F32));
    bias = mica_dequantize(steps, scale, (mica_value){0}, NULL);
  }
  mica_value x = real(in[0], in[1], in[2], 1), w = real(in[3], in[4], in[5], 0);
  mica_value y = convolution(l, node, x, w, bias);
  const mica_quantize_config config = {.axis = 1, .dtype = mica_value_dtype(in[7])};
  return give(l, node, mica_quantize(y, mica_cast(in[6], MICA_F32), in[7], &config));
}
