/* onnx/ops/attention.h: functions that several attention operators share. */
#ifndef MICA_ONNX_OPS_ATTENTION_H
#define MICA_ONNX_OPS_ATTENTION_H

#include "onnx/lower.h"

/* Reshapes (batch, rows, heads width) to (batch, heads, rows, width); a value of rank 4 stays. Null, with an error
 * recorded, if the heads do not divide the last axis. */
mica_value mica__lower_split_heads(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t heads);
/* Repeats each head of (batch, heads, rows, width) for all the query heads that share it. */
mica_value mica__lower_share_heads(mica_value x, int64_t heads);

/* Rotation angles of positions. */
typedef struct mica__rotation {
  mica_value cosine, sine; /* (batch, rows, >= width / 2); with positions (all positions, >= width / 2) */
  mica_value positions;    /* integers (batch, rows): row indices of cosine and sine; null: none */
  int64_t width;           /* how many elements of a head are rotated, an even number; 0: all */
  bool neighbours;         /* pairs are elements 2 i and 2 i + 1; else i and i + width / 2 */
} mica__rotation;

/* Rotates (batch, heads, rows, width of a head). Null, with an error recorded unless an operand is null. */
mica_value mica__lower_rotate(mica__lowering *l, const mica__onnx_node *node, mica_value x,
                              const mica__rotation *rotation);

#endif
