/* Quantizes real numbers and converts them back; mica/quant.h says what the builders compute. */
#include "base/error.h"
#include "ops/layout/views.h"
#include "ops/quant/quant.h"

#include <math.h>

/* --- the ops --- */

static MICA__ATTR_TABLE(quantize, MICA__QUANTIZE_ATTRS);
static MICA__ATTR_TABLE(nibble, MICA__NIBBLE_ATTRS);

static mica_status broadcast(const mica__type *inputs, int32_t input_count, mica_shape *out) {
  *out = inputs[0].shape;
  for (int32_t i = 1; i < input_count; i++) MICA_TRY(mica__shape_broadcast(*out, inputs[i].shape, out));
  return MICA_OK;
}

static mica_status infer_quantize(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  mica__quantize_attrs *attrs = attributes;
  attrs->wide = inputs[0].dtype == MICA_F64;
  out->dtype = attrs->to;
  return broadcast(inputs, input_count, &out->shape);
}

static mica_status infer_dequantize(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)attrs;
  return broadcast(inputs, input_count, &out->shape);
}

static mica_status infer_nibble(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  out->dtype = ((const mica__nibble_attrs *)attributes)->to;
  return broadcast(inputs, input_count, &out->shape);
}

/* Rounds as a device does: the quotient to f32 or f64 first, and then to an integer. */
static double scalar_quantize(const double *inputs, const void *attributes) {
  const mica__quantize_attrs *attrs = attributes;
  double quotient = attrs->wide ? inputs[0] / inputs[1] : (double)((float)inputs[0] / (float)inputs[1]);
  double step = nearbyint(quotient) + inputs[2];
  return isnan(step) ? 0 : fmin(fmax(step, attrs->low), attrs->high);
}

static double scalar_dequantize(const double *inputs, const void *attrs) {
  (void)attrs;
  return (inputs[0] - inputs[2]) * inputs[1];
}

static double scalar_nibble(const double *inputs, const void *attributes) {
  const mica__nibble_attrs *attrs = attributes;
  int value = (int)inputs[0] >> 4 * (int)inputs[1] & 15, sign = (int)attrs->sign;
  return (value ^ sign) - sign;
}

static mica_status grad_dequantize(const mica__grad *grad) {
  mica_value steps = mica_sub(mica_cast(grad->inputs[0], mica_value_dtype(grad->dy)),
                              mica_cast(grad->inputs[2], mica_value_dtype(grad->dy)));
  grad->dinputs[1] = mica__sum_to(mica_mul(grad->dy, steps), grad->inputs[1]);
  return MICA_OK;
}

/* A device's quotient may be off by 2.5 units in the last place; adding the remainder over b rounds it correctly. With
 * an infinite quotient or divisor that gives NaN, and the plain quotient is used. */
#define BETTER "fma(fma(-(a / b), b, a), K(1) / b, a / b)"
#define QUOTIENT "PICK(" BETTER " == " BETTER ", " BETTER ", a / b)"
const mica__op mica__op_quantize = {.name = "quantize",
                                    .kind = MICA__OP_POINTWISE,
                                    .min_inputs = 3,
                                    .max_inputs = 3,
                                    .attrs = &mica__quantize_attr_list,
                                    .dtypes = "f00",
                                    .infer = infer_quantize,
                                    .expression = "CONVERT(mica_min(mica_max(mica_rint(" QUOTIENT ") + c, low), high))",
                                    .scalar = scalar_quantize,
                                    .kept = true,
                                    .cost = 8};

const mica__op mica__op_dequantize = {.name = "dequantize",
                                      .kind = MICA__OP_POINTWISE,
                                      .min_inputs = 3,
                                      .max_inputs = 3,
                                      .dtypes = "iff>1",
                                      .infer = infer_dequantize,
                                      .grad = grad_dequantize,
                                      .expression = "(CONVERT(a) - c) * b",
                                      .scalar = scalar_dequantize,
                                      .kept = true,
                                      .cost = 2};

const mica__op mica__op_nibble = {.name = "nibble",
                                  .kind = MICA__OP_POINTWISE,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .attrs = &mica__nibble_attr_list,
                                  .dtypes = "i0",
                                  .infer = infer_nibble,
                                  .expression = "(((a >> (b * K(4))) & K(15)) ^ sign) - sign",
                                  .scalar = scalar_nibble,
                                  .kept = true,
                                  .cost = 2};

/* --- builders --- */

/* A config with its defaults filled in. */
typedef struct range {
  mica_dtype dtype;
  int32_t bits;
  double low, high;
} range;

static bool range_of(const char *op, mica_value x, const mica_quantize_config *config, range *r) {
  static const struct {
    mica_dtype dtype;
    int32_t bits;
  } types[] = {{MICA_I8, 8}, {MICA_U8, 8}, {MICA_I16, 16}, {MICA_U16, 16}};
  r->dtype = config->dtype == MICA_F32 ? MICA_I8 : config->dtype;
  int32_t most = 0;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].dtype == r->dtype) most = types[i].bits;
  bool is_signed = mica_dtype_is_valid(r->dtype) && mica_dtype_kind_of(r->dtype) == MICA_DTYPE_KIND_SIGNED;
  r->bits = config->bits ? config->bits : most;
  if (most == 0) {
    mica__builder_fail(op, x, MICA_E_DTYPE, "dtype is %s, but must be i8, u8, i16 or u16",
                       mica_dtype_is_valid(r->dtype) ? mica_dtype_name(r->dtype) : "not a mica_dtype");
    return false;
  }
  if (r->bits < 2 || r->bits > most) {
    mica__builder_fail(op, x, MICA_E_INVALID, "bits is %d, but must be from 2 to %d for %s", (int)r->bits, (int)most,
                       mica_dtype_name(r->dtype));
    return false;
  }
  if (config->narrow && !is_signed) {
    mica__builder_fail(op, x, MICA_E_INVALID,
                       "narrow is set, but %s is not signed; only i8 and i16 have a narrow range",
                       mica_dtype_name(r->dtype));
    return false;
  }
  r->high = exp2(r->bits - is_signed) - 1;
  r->low = is_signed ? -r->high - !config->narrow : 0;
  return true;
}

static bool is_packed(const range *r) { return r->bits == 4 && mica_dtype_size(r->dtype) == 1; }

/* x with its scale and zero point in shapes that broadcast to x. If blocks divide the axis evenly, the axis of x is
 * split into two: the blocks, and the elements of a block. */
typedef struct beside {
  mica_value x, scale, zero; /* zero.graph is NULL if there is no zero point */
  mica_shape back;           /* the shape of the result, if the axis was split */
  bool divided;
} beside;

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

/* Returns the shape as an argument of mica_reshape, which copies each open dimension from its operand. */
static mica_shape as_it_is(mica_shape shape) {
  for (int32_t i = 0; i < shape.rank; i++)
    if (shape.dim[i] == MICA_DYNAMIC) shape.dim[i] = MICA__COPY_DIM(i);
  return shape;
}

/* Repeats the numbers of `part`, one per block, for each element of the block. `own` is the shape of part. The result
 * has `extent` elements along the axis; the last block may be shorter. */
static mica_value repeated(mica_value part, mica_shape own, int32_t axis, int64_t block, int64_t extent) {
  mica_shape apart = {0}, each = {0}, wide = own;
  for (int32_t i = 0; i < own.rank; i++) {
    apart.dim[apart.rank++] = each.dim[each.rank++] = own.dim[i];
    if (i != axis) continue;
    apart.dim[apart.rank++] = 1;
    each.dim[each.rank++] = block;
  }
  wide.dim[axis] *= block;
  return mica_slice(mica_reshape(mica_expand(mica_reshape(part, apart), each), wide), axis, 0, extent, 1);
}

/* Makes the scale and zero point of each block broadcast to x. If blocks divide the axis evenly, the axis is split into
 * two; otherwise the scale and zero point are repeated for each element. Returns false if it records an error. */
static bool divide(const char *op, int32_t axis, int64_t block, beside *b) {
  char ts[MICA_SHAPE_TEXT], tx[MICA_SHAPE_TEXT];
  mica_shape x = mica_value_shape(b->x), own = mica_value_shape(b->scale), want = x;
  int64_t extent = x.dim[axis];
  if (extent == MICA_DYNAMIC || x.rank == MICA_MAX_RANK) {
    mica__builder_fail(op, b->x, MICA_E_SHAPE, "axis %d of %s cannot be divided into blocks, because %s", (int)axis,
                       mica_shape_format(x, tx),
                       extent == MICA_DYNAMIC ? "its size is not known" : "the rank is not below 8");
    return false;
  }
  want.dim[axis] = extent / block + (extent % block != 0);
  if (!mica__shape_fits(own, want)) {
    mica__builder_fail(op, b->x, MICA_E_SHAPE, "scale is %s, but with blocks of %lld along axis %d of %s must be %s",
                       mica_shape_format(own, ts), (long long)block, (int)axis, mica_shape_format(x, tx),
                       mica_shape_format(want, (char[MICA_SHAPE_TEXT]){0}));
    return false;
  }
  b->divided = extent % block == 0;
  if (!b->divided) {
    b->scale = repeated(b->scale, own, axis, block, extent);
    if (b->zero.graph) b->zero = repeated(b->zero, own, axis, block, extent);
    return true;
  }
  mica_shape parts = {.rank = x.rank + 1}, numbers = parts;
  b->back = as_it_is(x);
  for (int32_t i = 0; i < parts.rank; i++) {
    int32_t from = i > axis ? i - 1 : i;
    parts.dim[i] = i == axis ? extent / block : i == axis + 1 ? block : b->back.dim[from];
    numbers.dim[i] = i == axis + 1 ? 1 : own.dim[from];
  }
  /* An open dimension after the new axis would be copied from the wrong index, so reshape computes it from the
   * others. */
  int32_t open = 0;
  for (int32_t i = 0; i < parts.rank; i++)
    if (i <= axis + 1 ? false : x.dim[i - 1] == MICA_DYNAMIC) parts.dim[i] = b->back.dim[i - 1] = MICA_DYNAMIC, open++;
  if (open > 1) {
    mica__builder_fail(
        op, b->x, MICA_E_SHAPE,
        "%s has several open dimensions after axis %d, which is divided into blocks; at most one may be open",
        mica_shape_format(x, tx), (int)axis);
    return false;
  }
  b->x = mica_reshape(b->x, parts);
  b->scale = mica_reshape(b->scale, numbers);
  if (b->zero.graph) b->zero = mica_reshape(b->zero, numbers);
  return true;
}

/* Reshapes scale and zero, which have one number for each index of the axis, so that they broadcast to x. Returns false
 * if it records an error. */
static bool per_axis(const char *op, int32_t axis, beside *b) {
  char tx[MICA_SHAPE_TEXT], ts[MICA_SHAPE_TEXT];
  mica_shape x = mica_value_shape(b->x), own = mica_value_shape(b->scale), wide = {.rank = x.rank};
  if (own.rank != 1 || (x.dim[axis] != MICA_DYNAMIC && own.dim[0] != x.dim[axis])) {
    mica__builder_fail(op, b->x, MICA_E_SHAPE,
                       "scale is %s, but must have one number, or one for each index of axis %d of %s",
                       mica_shape_format(own, ts), (int)axis, mica_shape_format(x, tx));
    return false;
  }
  for (int32_t i = 0; i < wide.rank; i++) wide.dim[i] = i == axis ? own.dim[0] : 1;
  b->scale = mica_reshape(b->scale, wide);
  if (b->zero.graph) b->zero = mica_reshape(b->zero, wide);
  return true;
}

static bool types_fit(const char *op, const beside *b) {
  mica_dtype scale = mica_value_dtype(b->scale), zero = b->zero.graph ? mica_value_dtype(b->zero) : MICA_I8;
  if (mica_dtype_kind_of(scale) != MICA_DTYPE_KIND_FLOAT) {
    mica__builder_fail(op, b->x, MICA_E_DTYPE, "scale is %s, but must be of a floating type", mica_dtype_name(scale));
    return false;
  }
  if (mica__dtype_in(zero, 'i', NULL)) return true;
  mica__builder_fail(op, b->x, MICA_E_DTYPE, "zero is %s, but must be of an integer type", mica_dtype_name(zero));
  return false;
}

/* Shapes scale and zero to broadcast to x. Returns false if it records an error, or if x or scale is null; a null value
 * has recorded its error already. */
static bool lay(const char *op, const mica_quantize_config *config, beside *b) {
  char ts[MICA_SHAPE_TEXT], tz[MICA_SHAPE_TEXT];
  int64_t axis = config->axis;
  if (!b->x.graph || !b->scale.graph || !types_fit(op, b)) return false;
  mica_shape own = mica_value_shape(b->scale), zero = b->zero.graph ? mica_value_shape(b->zero) : own;
  bool one = own.rank <= 1 && count_of(own) == 1 && !config->block;
  if (b->zero.graph && !mica_shape_equal(own, zero) && count_of(zero) != 1) {
    mica__builder_fail(op, b->x, MICA_E_SHAPE,
                       "scale is %s and zero is %s, but zero must have the shape of scale, or one element",
                       mica_shape_format(own, ts), mica_shape_format(zero, tz));
    return false;
  }
  if (config->block < 0) {
    mica__builder_fail(op, b->x, MICA_E_INVALID, "block is %lld, but must not be negative", (long long)config->block);
    return false;
  }
  if (!one && !mica__builder_axis(op, b->x, &axis)) return false;
  if (b->zero.graph && count_of(zero) == 1) b->zero = mica_reshape(b->zero, MICA_SCALAR);
  if (b->zero.graph && !one && count_of(zero) == 1) b->zero = mica_expand(b->zero, own);
  if (!one) return config->block ? divide(op, (int32_t)axis, config->block, b) : per_axis(op, (int32_t)axis, b);
  b->scale = mica_reshape(b->scale, MICA_SCALAR);
  return true;
}

static mica_value laid_back(const beside *b, mica_value y) { return b->divided ? mica_reshape(y, b->back) : y; }

/* Packs two elements per byte along the last axis, low nibble first. */
static mica_value pack4(mica_value q) {
  mica_shape pairs = as_it_is(mica_value_shape(q));
  int32_t last = pairs.rank - 1;
  int64_t extent = pairs.rank ? pairs.dim[last] : 1;
  if (!q.graph) return q;
  if (extent < 0 || extent % 2 != 0)
    return mica__builder_fail("quantize", q, MICA_E_SHAPE, "the last axis must have a known, even size for 4 bits");
  if (pairs.rank == MICA_MAX_RANK)
    return mica__builder_fail("quantize", q, MICA_E_SHAPE, "the rank is %d, but must be below %d for 4 bits",
                              (int)pairs.rank, MICA_MAX_RANK);
  pairs.dim[last] = extent / 2;
  pairs.dim[pairs.rank++] = 2;
  mica_value two = mica_reshape(mica_cast(q, MICA_U8), pairs), fifteen = mica__number(two, 15);
  mica_value low = mica__drop_axis(mica_slice(two, last + 1, 0, 1, 1), last + 1);
  mica_value high = mica__drop_axis(mica_slice(two, last + 1, 1, 2, 1), last + 1);
  return mica_bit_or(mica_bit_and(low, fifteen), mica_shift_left(mica_bit_and(high, fifteen), mica__number(two, 4)));
}

mica_value mica__unpack4(mica_value x, mica_dtype dtype) {
  mica_shape shape = as_it_is(mica_value_shape(x));
  if (!x.graph) return x;
  if (mica_value_dtype(x) != MICA_U8)
    return mica__builder_fail("dequantize", x, MICA_E_DTYPE, "values of 4 bits must be stored in u8, but x is %s",
                              mica_dtype_name(mica_value_dtype(x)));
  if (shape.rank == 0 || shape.rank == MICA_MAX_RANK)
    return mica__builder_fail("dequantize", x, MICA_E_SHAPE, "the rank is %d, but must be from 1 to %d for 4 bits",
                              (int)shape.rank, MICA_MAX_RANK - 1);
  if (shape.dim[shape.rank - 1] < 0)
    return mica__builder_fail("dequantize", x, MICA_E_SHAPE, "the last axis must have a known size for 4 bits");
  mica__nibble_attrs attrs = {dtype, dtype == MICA_I8 ? 8 : 0};
  mica_value which = mica_constant(x.graph, MICA_U8, MICA_SHAPE(2), (const uint8_t[]){0, 1});
  mica_value bytes = mica__insert_axis(x, shape.rank);
  mica_value both = mica__graph_add(&mica__op_nibble, (mica_value[]){bytes, which}, 2, &attrs);
  shape.dim[shape.rank - 1] *= 2;
  return mica_reshape(both, shape);
}

static bool is_floating(const char *op, mica_value x) {
  mica_dtype dtype = mica_value_dtype(x);
  if (mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT) return true;
  mica__builder_fail(op, x, MICA_E_DTYPE, "x is %s, but must be of a floating type", mica_dtype_name(dtype));
  return false;
}

mica_value mica_quantize(mica_value x, mica_value scale, mica_value zero, const mica_quantize_config *config) {
  static const mica_quantize_config plain;
  range r;
  beside b = {.x = x, .scale = scale, .zero = zero};
  if (!config) config = &plain;
  if (!x.graph || !scale.graph || !range_of("quantize", x, config, &r)) return (mica_value){0};
  if (!is_floating("quantize", x) || !lay("quantize", config, &b)) return (mica_value){0};
  mica_dtype compute = mica_value_dtype(x);
  if (mica_value_dtype(scale) != compute)
    compute = compute == MICA_F64 || mica_value_dtype(scale) == MICA_F64 ? MICA_F64 : MICA_F32;
  b.zero = b.zero.graph ? mica_cast(b.zero, compute) : mica_scalar(x.graph, compute, 0);
  mica_value operands[] = {mica_cast(b.x, compute), mica_cast(b.scale, compute), b.zero};
  mica__quantize_attrs attrs = {.to = r.dtype, .low = r.low, .high = r.high};
  mica_value q = laid_back(&b, mica__graph_add(&mica__op_quantize, operands, 3, &attrs));
  if (is_packed(&r)) return pack4(q);
  const double numbers[] = {config->axis, (double)config->block, r.low, r.high};
  return mica__graph_mark(q, "quantize", (mica_value[]){x, scale, zero}, 3, numbers, 4);
}

mica_value mica_dequantize(mica_value x, mica_value scale, mica_value zero, const mica_quantize_config *config) {
  static const mica_quantize_config plain;
  range r;
  if (!config) config = &plain;
  if (!x.graph || !scale.graph || (config->bits && !range_of("dequantize", x, config, &r))) return (mica_value){0};
  beside b = {.x = config->bits && is_packed(&r) ? mica__unpack4(x, r.dtype) : x, .scale = scale, .zero = zero};
  if (!b.x.graph) return b.x;
  if (!mica__dtype_in(mica_value_dtype(b.x), 'i', NULL))
    return mica__builder_fail("dequantize", x, MICA_E_DTYPE, "x is %s, but must be of an integer type",
                              mica_dtype_name(mica_value_dtype(x)));
  if (!lay("dequantize", config, &b)) return (mica_value){0};
  mica_dtype compute = mica_value_dtype(scale) == MICA_F64 ? MICA_F64 : MICA_F32;
  b.zero = b.zero.graph ? mica_cast(b.zero, compute) : mica_scalar(x.graph, compute, 0);
  mica_value y = laid_back(&b, mica__graph_add(&mica__op_dequantize, (mica_value[]){b.x, b.scale, b.zero}, 3, NULL));
  const double numbers[] = {config->axis, (double)config->block, 0, 0};
  return mica__graph_mark(y, "dequantize", (mica_value[]){b.divided ? x : b.x, scale, zero}, 3, numbers, 4);
}

/* Returns the scale. Its gradient is multiplied by 1 / sqrt(most * elements of x per scale), as in Esser et al.:
 * Learned Step Size Quantization, ICLR 2020. */
static mica_value gradient_scaled(mica_value x, mica_value scale, double scales, double most) {
  mica_value count = mica_cast(mica__count_along(x, MICA_ALL_AXES), mica_value_dtype(scale));
  mica_value part = mica_mul(scale, mica_rsqrt(mica_affine(count, most / scales, 0)));
  return mica_add(part, mica_stop_gradient(mica_sub(scale, part)));
}

mica_value mica_fake_quantize(mica_value x, mica_value scale, const mica_quantize_config *config) {
  static const mica_quantize_config plain;
  range r;
  beside b = {.x = x, .scale = scale};
  if (!config) config = &plain;
  if (!x.graph || !scale.graph || !range_of("fake_quantize", x, config, &r)) return (mica_value){0};
  if (!is_floating("fake_quantize", x) || !lay("fake_quantize", config, &b)) return (mica_value){0};
  /* Computes in f32 or f64: in a 16-bit type, the rounding error could not be added back exactly. */
  b.x = mica__widen(b.x);
  b.scale = mica_cast(b.scale, mica_value_dtype(b.x));
  /* Counts the scales that the caller gave: b.scale has one for each index of the axis if blocks do not divide it
   * evenly. */
  const double scales = (double)count_of(mica_value_shape(scale));
  if (!config->plain_gradient) b.scale = gradient_scaled(b.x, b.scale, scales, r.high);
  mica_value steps = mica_clip(mica_div(b.x, b.scale), r.low, r.high);
  mica_value left = mica_stop_gradient(mica_sub(mica_round(steps), steps));
  return laid_back(&b, mica_cast(mica_mul(mica_add(steps, left), b.scale), mica_value_dtype(x)));
}
