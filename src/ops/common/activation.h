/* ops/common/activation.h: the activations of cl/common/epilogue.clh, as nodes of graphs and as text. */
#ifndef MICA_OPS_COMMON_ACTIVATION_H
#define MICA_OPS_COMMON_ACTIVATION_H

#include "ir/graph.h"

#include <mica/ops.h>

/* True if a node is an activation that the epilogue can compute; then sets *activation and *argument. The epilogue
 * computes with floats, so an f64 node gives false if its argument or a constant of the activation would be rounded. */
bool mica__activation_of(const mica__node *node, mica_activation *activation, double *argument);

/* Returns the op of an activation without an argument; NULL for others. */
const mica__op *mica__activation_op(mica_activation activation);

/* The names of all values of mica_activation, for tables of attributes. */
extern const char *const mica__activation_names[];

/* mica__activation_prelude returns the text in front of a kernel whose epilogue has the activation and writes
 * `dtype`; NULL if it needs none. mica__activation_argument returns the epilogue's act_arg. If `dtype` is floating,
 * relu and no activation share one text, in which act_arg is a lower bound. */
const char *mica__activation_prelude(mica_activation activation, mica_dtype dtype);
float mica__activation_argument(mica_activation activation, float argument);

#endif
