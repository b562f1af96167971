/* onnx/ops/attention.h: functions that several attention operators share. */
#ifndef MICA_ONNX_OPS_ATTENTION_H
#define MICA_ONNX_OPS_ATTENTION_H

#include "onnx/lower.h"

/* Turns (batch, rows, heads * width) into (batch, heads, rows, width); returns a value of rank 4 unchanged. For any
 * other rank, or if `heads` is below 1 or does not divide the last axis, records an error and returns null. A null x
 * gives null. */
mica_value mica__lower_split_heads(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t heads);
/* Repeats the key heads of x (batch, key heads, rows, width), so that each of `heads` query heads has a copy of the key
 * head that it shares with others. `heads` must be a multiple of the number of key heads. */
mica_value mica__lower_share_heads(mica_value x, int64_t heads);

/* How mica__lower_rotate rotates the heads: rotary position embedding (Su et al. 2021) rotates pairs of elements. */
typedef struct mica__rotation {
  /* One angle per pair: (batch, rows, at least width / 2), or (n, at least width / 2) if `positions` is set. */
  mica_value cosine, sine;
  mica_value positions; /* integers (batch, rows): the row of cosine and sine that each row uses; null: none */
  int64_t width;        /* how many elements of a head are rotated, an even number; 0: all */
  bool neighbours;      /* true: pair i is elements 2 i and 2 i + 1; false: elements i and i + width / 2 */
} mica__rotation;

/* Rotates x (batch, heads, rows, width of a head) by rows, or only the first `width` elements of each row. Returns null
 * on failure; an error is recorded unless the reason is that an operand is null. */
mica_value mica__lower_rotate(mica__lowering *l, const mica__onnx_node *node, mica_value x,
                              const mica__rotation *rotation);

#endif
