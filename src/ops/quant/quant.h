/* ops/quant/quant.h: what quantised values are in a graph, and the integer ops that are found in them. */
#ifndef MICA_OPS_QUANT_QUANT_H
#define MICA_OPS_QUANT_QUANT_H

#include "ops/common/build.h"

#include <mica/quant.h>

/* quantize (x, scale, zero), all of one floating dtype, to an integer; dequantize (q, scale, zero): zero is f32, of f64
 * f64. Both are pointwise, broadcast, and are not folded, so that integer ops find them around constants. */
extern const mica__op mica__op_quantize, mica__op_dequantize;
/* nibble (bytes, which): the low one where which is 0, the high one where it is 1. mica__unpack4 is a reshape of it. */
extern const mica__op mica__op_nibble;
/* Two elements a byte, low nibble first, as elements along the last axis, of dtype I8 or U8. */
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
