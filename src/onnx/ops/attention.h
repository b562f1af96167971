/* onnx/ops/attention.h: what kinds of attention share. */
#ifndef MICA_ONNX_OPS_ATTENTION_H
#define MICA_ONNX_OPS_ATTENTION_H

#include "onnx/lower.h"

/* (batch, rows, heads width) as (batch, heads, rows, width); a value of rank 4 as it is. null with an error recorded
 * where the heads do not divide it. */
mica_value mica__lower_split_heads(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t heads);
/* Every head of (batch, heads, rows, width) for as many heads of queries as share it. */
mica_value mica__lower_share_heads(mica_value x, int64_t heads);

/* Angles of positions. */
typedef struct mica__rotation {
  mica_value cosine, sine; /* (batch, rows, at least width / 2); with positions (all positions, at least width / 2) */
  mica_value positions;    /* integers (batch, rows): rows of cosine and sine; null: none */
  int64_t width;           /* elements of a head that are rotated, an even number; 0: all */
  bool neighbours;         /* elements 2 i and 2 i + 1 are a pair; else i and i + width / 2 */
} mica__rotation;

/* (batch, heads, rows, width of a head) rotated. Null, with an error recorded unless an operand is null. */
mica_value mica__lower_rotate(mica__lowering *l, const mica__onnx_node *node, mica_value x,
                              const mica__rotation *rotation);

#endif
