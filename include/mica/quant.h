/* mica/quant.h: integers that stand for real numbers, as builders of graphs: quantising, the way back, and what a
 * quantised network does during training.
 *
 *   quantize         q = saturate(round(x / scale) + zero)      ties to even; the quotient is rounded to f32 before
 *   dequantize       x = (q - zero) scale
 *   fake_quantize    x = scale round(clip(x / scale))           all in floating point, with a gradient
 *
 * Nothing else is needed for integer inference. A session finds by itself what integer kernels compute:
 *
 *   matmul, linear or conv (with bias and activation) of two dequantized 8-bit values
 *                                      sums of integers, times both scales; with quantize behind it, integers again
 *   matmul of integers that are cast to i32 and lose their zero points
 *                                      the same sums as they are
 *   matmul of few rows by a dequantized value of 8 or 4 bits (at most 4 rows of the former, 8 of the latter)
 *                                      weights are read as they are stored, and never written as floats
 *
 * Whatever is none of these is computed in floating point, with the same meaning. Sums of products are i32 and wrap
 * modulo 2^32, as ONNX says: no sum of at most 65,793 products of bytes leaves that range (255 * 128 * 65,793 < 2^31);
 * of two u8 operands without zero points 33,025 (255^2). A padded element of a convolution is x's zero point.
 *
 * Scales are data, which no builder can look at: a scale that is 0, negative, infinite or not a number gives what the
 * formula gives in IEEE arithmetic, where an infinite quotient saturates and one that is not a number becomes 0.
 *
 * The builders are sticky, as mica/nodes.h says, and as safe for threads as the graph. */
#ifndef MICA_QUANT_H
#define MICA_QUANT_H

#include <mica/graph.h>

MICA_BEGIN_DECLS

/* No product of more rows than this reads weights as they are stored. Fewer may do, as measured: see above. */
#define MICA_QUANT_ROWS 16

/* Zero is signed, of 8 bits, with one scale for all or one an index of the first axis. */
typedef struct mica_quantize_config {
  /* The axis along which scales differ where `scale` has rank 1 and more than one element; negative ones count from the
   * last. With `block` the axis that is divided. 0 is the first: filters of a convolution, rows of a weight. */
  int32_t axis;
  /* 0: one scale an index of the axis, or one for all. Else one for each `block` elements along the axis: scale has x's
   * rank and shape, but ceil(extent / block) along the axis. */
  int64_t block;
  /* quantize: of the result, I8 U8 I16 or U16; fake_quantize: whose range it is. dequantize: with 4 bits what the
   * nibbles are, I8 or U8; else not looked at. MICA_F32, which is zero, stands for I8. */
  mica_dtype dtype;
  /* 2 to 16, at most the dtype's; 0: the dtype's. 4 bits of 8-bit types are stored as two elements a byte, a U8 value
   * whose last axis has half the length, an even extent: element 2 k in the low nibble of byte k, element 2 k + 1 in
   * the high one. Other bits than 4 narrow the range alone. fake_quantize packs nothing. */
  int32_t bits;
  /* The range without its least value, -127 to 127: symmetric weights. Of signed dtypes alone. */
  bool narrow;
  /* fake_quantize: the scale's gradient is not multiplied by 1 / sqrt(elements of x a scale * largest step). */
  bool plain_gradient;
} mica_quantize_config;

/* x floating, computed in f32 (f64 in f64). scale: floating, a scalar, rank 1 or, with block, x's rank. zero: of any
 * integer type, a scalar or of scale's shape; null for 0. MICA_E_SHAPE where scale or zero suit neither x nor the axis;
 * MICA_E_DTYPE for other dtypes; MICA_E_INVALID for bits or a block that there are not. */
MICA_API mica_value mica_quantize(mica_value x, mica_value scale, mica_value zero, const mica_quantize_config *config);

/* x: I8 U8 I16 U16 or I32; with 4 bits U8, two elements a byte. The result has scale's dtype. Differentiable in
 * scale. */
MICA_API mica_value mica_dequantize(mica_value x, mica_value scale, mica_value zero,
                                    const mica_quantize_config *config);

/* What dequantize(quantize(x)) gives, without zero point, for training. Gradients, with v = x / scale and the range low
 * to high of the dtype (or of bits), are those of learned step sizes (LSQ, Esser et al. 2020):
 *
 *   dx      dy where low <= v <= high, else 0
 *   dscale  sum of dy (round(v) - v) where v is inside, dy low or dy high where it is not,
 *           times 1 / sqrt(n high), n being x's elements over the number of scales, unless plain_gradient
 *
 * Learned scales are to be kept positive by whoever learns them. */
MICA_API mica_value mica_fake_quantize(mica_value x, mica_value scale, const mica_quantize_config *config);

MICA_END_DECLS

#endif
