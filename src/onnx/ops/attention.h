/* onnx/ops/attention.h: what kinds of attention share. */
#ifndef MICA_ONNX_OPS_ATTENTION_H
#define MICA_ONNX_OPS_ATTENTION_H

#include "onnx/lower.h"

/* (batch, rows, heads width) as (batch, heads, rows, width); a value of rank 4 as it is. null with an error recorded
 * where the heads do not divide it. */
mica_value mica__lower_split_heads(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t heads);
/* Every head of (batch, heads, rows, width) for as many heads of queries as share it. */
mica_value mica__lower_share_heads(mica_value x, int64_t heads);

#endif
