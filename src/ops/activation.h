/* ops/activation.h: the activations of cl/common/epilogue.clh, as nodes of graphs and as text. */
#ifndef MICA_OPS_ACTIVATION_H
#define MICA_OPS_ACTIVATION_H

#include "ir/graph.h"

#include <mica/ops.h>

/* Whether a pointwise node is one of them; then which, and its argument. */
bool mica__activation_of(const mica__node *node, mica_activation *activation, double *argument);

/* What stands in front of a kernel whose epilogue has the activation; NULL for none. */
const char *mica__activation_prelude(mica_activation activation);

#endif
