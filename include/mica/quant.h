/* mica/quant.h: builders for quantised values: integers that represent real numbers.
 *
 *   quantize         q = saturate(round(x / scale) + zero)      ties to even; the quotient is first rounded to f32
 *   dequantize       x = (q - zero) scale
 *   fake_quantize    x = scale round(clip(x / scale))           in floating point, with a gradient; for training
 *
 * These are sufficient for integer inference. A session recognises the patterns that integer kernels compute:
 *
 *   matmul, linear or conv of two dequantized 8-bit values, with bias and activation
 *                                      integer sums times both scales; if quantize follows, integers again
 *   matmul of integers cast to i32, minus zero points
 *                                      the same sums
 *   matmul of few rows with a dequantized 8-bit (at most 4 rows) or 4-bit (at most 8 rows) value
 *                                      reads weights in stored form, without a copy as floats
 *
 * Other uses are computed in floating point with the same meaning. Integer sums are i32 and wrap modulo 2^32, as in
 * ONNX. Sums of at most 65,793 byte products cannot overflow (255 * 128 * 65,793 < 2^31); with two u8 operands without
 * zero points the limit is 33,025 (255^2). Padding of a convolution is x's zero point.
 *
 * Scales are data that builders cannot check. A scale that is 0, negative, infinite or NaN gives what IEEE arithmetic
 * gives for the formula; an infinite quotient saturates, and NaN becomes 0.
 *
 * Sticky errors as in mica/nodes.h. Threads: as in mica/graph.h. */
#ifndef MICA_QUANT_H
#define MICA_QUANT_H

#include <mica/graph.h>

MICA_BEGIN_DECLS

/* Upper bound for the rows of a product that reads weights in stored form. The limits in use, which come from
 * measurements, are lower: 4 rows for 8 bits, 8 rows for 4 bits. */
#define MICA_QUANT_ROWS 16

/* A config of zeros means signed 8-bit integers, with one scale per index of the first axis or one scale for all. */
typedef struct mica_quantize_config {
  /* Axis along which scales differ, if `scale` has rank 1 and more than one element. With `block`: the axis that is
   * divided into blocks. A negative axis counts from the end. 0 is the first axis: the filters of a convolution, the
   * rows of a weight matrix. */
  int32_t axis;
  /* 0: one scale per index of the axis, or one for all. Else one per `block` elements along the axis: scale has x's
   * rank and shape, except ceil(extent / block) along the axis. */
  int64_t block;
  /* quantize: dtype of the result, I8, U8, I16 or U16. fake_quantize: dtype that gives the range. dequantize with 4
   * bits: whether nibbles are I8 or U8; else ignored. MICA_F32, which is zero, means I8. */
  mica_dtype dtype;
  /* Bits per number: 2 to 16, and at most the bits of the dtype; 0: all bits of the dtype. With 4 bits of 8-bit types,
   * two elements share a byte: the value is U8 with half the length on its last axis, which must be even. Element 2 k
   * is the low nibble of byte k, element 2 k + 1 the high one. Other numbers of bits only narrow the range.
   * fake_quantize never packs. */
  int32_t bits;
  /* excludes the lowest value, for symmetric weights: -127 to 127. Signed dtypes only. */
  bool narrow;
  /* fake_quantize: do not multiply the scale's gradient by 1 / sqrt(n high); see mica_fake_quantize. */
  bool plain_gradient;
} mica_quantize_config;

/* x: float; the result is computed in f32, or in f64 if x or scale is f64. scale: float; a scalar, rank 1 or, with
 * block, x's rank. zero: any integer type; a scalar or scale's shape; null: 0. MICA_E_SHAPE: scale or zero does not
 * match x and the axis. MICA_E_DTYPE: another dtype. MICA_E_INVALID: bits or block is out of range, or narrow is set
 * for an unsigned dtype. */
MICA_API mica_value mica_quantize(mica_value x, mica_value scale, mica_value zero, const mica_quantize_config *config);

/* x: any integer type. With 4 bits, x is U8 and has two elements per byte. The result has scale's dtype. Differentiable
 * in scale. */
MICA_API mica_value mica_dequantize(mica_value x, mica_value scale, mica_value zero,
                                    const mica_quantize_config *config);

/* dequantize(quantize(x)) without a zero point, for training. Gradients follow learned step sizes (LSQ, Esser et al.
 * 2020). With v = x / scale, and low to high the range of dtype and bits:
 *
 *   dx      dy if low <= v <= high, else 0
 *   dscale  sum of dy (round(v) - v) if v is inside, dy low or dy high if not,
 *           times 1 / sqrt(n high) unless plain_gradient; n is the number of elements of x per scale
 *
 * The caller must keep learned scales positive. */
MICA_API mica_value mica_fake_quantize(mica_value x, mica_value scale, const mica_quantize_config *config);

MICA_END_DECLS

#endif
