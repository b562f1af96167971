/* ops/conv/attrs.h: the attributes of convolutions in graphs (ops/conv/nodes.c). */
#ifndef MICA_OPS_CONV_ATTRS_H
#define MICA_OPS_CONV_ATTRS_H

#include "ir/attr.h"
#include "ops/common/activation.h"

#define MICA__CONV_ATTRS(X, S)                                                                                         \
  X(S, SPATIAL, stride, 1, "from one result to the next")                                                              \
  X(S, SPATIAL, pad, 0, "zeros before the first element, and as many after the last")                                  \
  X(S, SPATIAL, pad_more, 0, "after the last so many more")                                                            \
  X(S, SPATIAL, dilation, 1, "from one element of a filter to the next")                                               \
  X(S, SPATIAL, output_pad, 0, "of conv_transpose: elements more at the end")                                          \
  X(S, INT, groups, 1, "of channels and filters")                                                                      \
  X(S, BOOL, allow_tf32, false, "f32 operands may be rounded to 10 bits of mantissa")                                  \
  X(S, INT, bias, 0, "fused: which operand it is; 0 for none")                                                         \
  X(S, INT, addend, 0, "fused: likewise")                                                                              \
  X(S, INT, last, 0, "bit k: operand k is a copy with its channels last (op channels_last)")                           \
  X(S, BOOL, result_last, false, "the result and the addend have their channels last")                                 \
  X(S, ENUM, activation, MICA_ACTIVATION_NONE, "fused", mica__activation_names)                                        \
  X(S, REAL, activation_argument, 0, "its argument")
MICA__ATTR_STRUCT(conv, MICA__CONV_ATTRS);

#endif
