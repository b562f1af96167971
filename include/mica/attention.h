/* mica/attention.h: scaled dot-product attention in graphs. Forward and backward need memory linear in the length,
 * except for the gradient of a mask.
 *
 * Letters: B sequences, H heads of queries, G heads of keys and values, Tq queries, Tk keys, D size of a head, E size
 * of a value. H must be a multiple of G. G = H is multi-head attention, G = 1 multi-query, others grouped-query.
 *
 *   score[i, j]  = q[i] . k[j] scale; head h of q uses head h G / H of k and v
 *                  with soft_cap: soft_cap tanh(score / soft_cap); then an additive mask is added
 *   y[i]         = sum over the keys j visible to query i of softmax(score[i])[j] v[j]
 *
 * Query i is at position i + offset among the keys. It sees key j if all of these hold:
 *
 *   causal         j <= i + offset
 *   window w       |i + offset - j| < w
 *   key_lengths    j < key_lengths[b]
 *   starts         j >= starts[b, i]; several documents in one sequence each start at their own key
 *   mask           a boolean mask is true; an additive mask is not -infinity
 *
 * With sinks, the softmax of head h has one more term, e^sinks[h], which has no value (gpt-oss).
 *
 * A query that sees no key gives 0 and has no gradient. offset 0 aligns a causal mask top left, as in PyTorch and ONNX.
 * Tk - Tq aligns it bottom right, as in FlashAttention. With a cache of keys, offset is the number of positions already
 * in it.
 *
 * Threads: as in mica/graph.h.
 *
 * Papers: Vaswani et al. 2017; Shazeer 2019 (multi-query); Ainslie et al. 2023 (grouped-query); Milakov and Gimelshein
 * 2018 (online softmax); Xiao et al. 2024 (sinks); Rabe and Staats 2021, Dao et al. 2022, Dao 2023 (tiles). */
#ifndef MICA_ATTENTION_H
#define MICA_ATTENTION_H

#include <mica/graph.h>

MICA_BEGIN_DECLS

/* All zeros: plain attention. */
typedef struct mica_attention_config {
  bool causal;
  int64_t window;         /* positions that a query sees to each side, including its own; 0: all */
  double scale;           /* 0: 1 / sqrt(D) */
  double soft_cap;        /* 0: none */
  double dropout;         /* probability of setting a softmax weight to 0; others are divided by 1 - dropout */
  uint64_t seed;          /* for dropout; random numbers depend only on seed, builder call, `step` and element */
  mica_value mask;        /* null, b8, or additive: q's dtype or f32; broadcasts to (B, H, Tq, Tk) from the right */
  mica_value key_lengths; /* null, or i32 (B): number of valid keys per sequence */
  mica_value starts;      /* null: 0; or i32 (B, Tq): first key visible to each query; negative: 0 */
  mica_value sinks;       /* null, or floats (H): an additional score in the softmax of each row */
  mica_value offset;      /* null: 0; or i32, a scalar or (B): position of query 0 */
  mica_value step;        /* needed with dropout: one i32 or i64; see mica_dropout */
} mica_attention_config;

/* y (B, H, Tq, E) from q (B, H, Tq, D), k (B, G, Tk, D) and v (B, G, Tk, E). All have one dtype: f32, f16, bf16 or f64;
 * sums are in f32 (f64 for f64). B, Tq and Tk may be dynamic. config may be NULL.
 *
 * Operands may be views with any strides, so transposes before them need no copy. y is stored as (B, Tq, H, E) and
 * returned as a view: a transpose to (B, Tq, H, E) and a reshape to (B, Tq, H E) need no copy. The same holds for the
 * gradients of q, k and v.
 *
 * Differentiable once, in q, k, v, sinks and an additive mask; a second gradient is an error that names attention_grad.
 * The backward pass recomputes the softmax; the forward pass keeps one number per head and query for it. A mask with a
 * gradient needs B H Tq Tk further elements; all other memory is linear in Tq and Tk. The same seed gives the same
 * bits. */
MICA_API mica_value mica_attention(mica_value q, mica_value k, mica_value v, const mica_attention_config *config);

MICA_END_DECLS

#endif
