/* nn/sequence.h: declarations that layers of sequences share. */
#ifndef MICA_NN_SEQUENCE_H
#define MICA_NN_SEQUENCE_H

#include "nn/nn.h"
#include "ops/common/build.h"

#include <mica/nodes.h>
#include <mica/sequence.h>

/* ALiBi: f32 values to add to scores, (H, Tq, Tk), or (B, H, Tq, Tk) if each sequence has its own query positions.
 * Query positions are (Tq) or (B, Tq), key positions (Tk). */
mica_value mica__alibi(mica_value queries, mica_value keys, int64_t heads);

/* Frequencies of the rotary positions of heads x (B, T, heads, D), as f32 (c->rotated / 2). Also fills in the defaults
 * of c. Null, with an error in the graph, if c is invalid. */
mica_value mica__rotary_frequencies(mica_value x, mica_rotary_config *c);

/* Reshapes x (B, T, n size) to (B, T, n, size), and back. */
mica_value mica__split_heads(mica_value x, int64_t n, int64_t size);
mica_value mica__join_heads(mica_value x, int64_t width);

/* True for functions that use two dense layers: f(gate(x)) up(x). */
bool mica__feed_is_gated(mica_feed_forward kind);
/* Applies the activation function of a block's feed-forward layers to x. */
mica_value mica__feed_activate(mica_value x, mica_feed_forward kind);
/* A mixture of experts over x (B, T, C), in the scope of a block. */
mica_value mica__nn_experts(mica_nn *nn, mica_value x, const mica_transformer_config *c, int64_t width);

/* x + y in f32, rounded to x's dtype. Norms and further sums read the f32 number (mica__widen): in 16 bits, a sequence
 * of blocks would lose small summands. */
static inline mica_value mica__residual_sum(mica_value x, mica_value y) {
  const mica_value wide = mica__widen(x), other = mica__widen(y);
  const mica_dtype dtype = mica_value_dtype(wide);
  return mica__stream(mica_add(wide, mica_value_dtype(other) == dtype ? other : mica_cast(other, dtype)), x);
}

/* The elements from to from + count - 1 of an axis. Use it if a layer computes several sections of its output in one
 * product, such as q, k and v or the gates of an RNN: pruning then knows that the slice is such a section. */
mica_value mica__section(mica_value x, int32_t axis, int64_t from, int64_t count);

#endif
