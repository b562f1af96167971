/* ops/elementwise/elementwise.h: the structs mica__<op>_attrs with the attributes of pointwise ops. Each has one or two
 * doubles, whose names are in elementwise.def. */
#ifndef MICA_OPS_ELEMENTWISE_ELEMENTWISE_H
#define MICA_OPS_ELEMENTWISE_ELEMENTWISE_H

#include "ir/attr.h"

#define UNARY(name, ...)
#define UNARY1(name, class, p, ...)                                                                                    \
  typedef struct mica__##name##_attrs {                                                                                \
    double p;                                                                                                          \
  } mica__##name##_attrs;
#define UNARY2(name, class, p, p_default, p_doc, q, ...)                                                               \
  typedef struct mica__##name##_attrs {                                                                                \
    double p, q;                                                                                                       \
  } mica__##name##_attrs;
#define BINARY(name, ...)
#define TERNARY(name, ...)
#include "ops/elementwise/elementwise.def"

#endif
