/* ops/quant/quant.h: quantized values in a graph. */
#ifndef MICA_OPS_QUANT_QUANT_H
#define MICA_OPS_QUANT_QUANT_H

#include "ops/common/build.h"

#include <mica/quant.h>

/* quantize (x, scale, zero), all of one floating dtype, gives integers; dequantize (q, scale, zero) has an f32 zero, or
 * f64 if the result is f64. Both are pointwise and broadcast. Constant folding does not remove them, so that match.c
 * finds them even if their operands are constant. */
extern const mica__op mica__op_quantize, mica__op_dequantize;
/* nibble (bytes, which): the low nibble if `which` is 0, the high one if it is 1. mica__unpack4 adds this node and
 * reshapes the result. */
extern const mica__op mica__op_nibble;
/* Unpacks two elements per byte, low nibble first, along the last axis, to I8 or U8. */
mica_value mica__unpack4(mica_value x, mica_dtype dtype);

#define MICA__QUANTIZE_ATTRS(X, S)                                                                                     \
  X(S, DTYPE, to, MICA_I8, "the result's dtype")                                                                       \
  X(S, REAL, low, -128, "the least step")                                                                              \
  X(S, REAL, high, 127, "the largest step")                                                                            \
  X(S, BOOL, wide, false, "set by infer: f64")
MICA__ATTR_STRUCT(quantize, MICA__QUANTIZE_ATTRS);

#define MICA__NIBBLE_ATTRS(X, S)                                                                                       \
  X(S, DTYPE, to, MICA_I8, "I8 or U8")                                                                                 \
  X(S, REAL, sign, 8, "8 of signed nibbles, else 0")
MICA__ATTR_STRUCT(nibble, MICA__NIBBLE_ATTRS);

#endif
