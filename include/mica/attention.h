/* mica/attention.h: scaled dot-product attention in graphs, forward and backward in memory linear in the length.
 *
 * Letters: B sequences, H heads of the queries, G heads of keys and values (H is a multiple of G: G = H is multi-head
 * attention, G = 1 multi-query, others grouped-query), Tq queries, Tk keys, D the size of a head, E that of a value.
 *
 *   score[i, j]  = q[i] . k[j] scale, where head h of q meets head h G / H of k and v
 *                  with soft_cap: soft_cap tanh(score / soft_cap); then an additive mask is added
 *   y[i]         = sum over the keys j that query i sees of softmax(score[i])[j] v[j]
 *
 * Query i stands at position i + offset among the keys. It sees key j
 *   causal            if j <= i + offset
 *   window w          if |i + offset - j| < w; with causal those up to its own position alone
 *   key_lengths       if j < key_lengths[b]
 *   a boolean mask    where it is true; an additive one where it is not -infinity
 * and all of these together. A query that sees no key gives 0 and passes no gradient (PyTorch's NaN). With offset 0 a
 * causal mask is aligned top left, as PyTorch and ONNX have it; Tk - Tq aligns it bottom right, as FlashAttention does;
 * with a cache of keys offset is the number of positions that were there before.
 *
 * Threads: as mica/graph.h.
 *
 * Papers: Vaswani et al. 2017; Shazeer 2019 (multi-query); Ainslie et al. 2023 (grouped-query); Milakov and Gimelshein
 * 2018 (online softmax); Rabe and Staats 2021, Dao et al. 2022, Dao 2023 (tiles). */
#ifndef MICA_ATTENTION_H
#define MICA_ATTENTION_H

#include <mica/graph.h>

MICA_BEGIN_DECLS

/* All zeros is plain attention. */
typedef struct mica_attention_config {
  bool causal;
  int64_t window;  /* how many positions a query sees to each side, its own included; 0: all */
  double scale;    /* 0: 1 / sqrt(D) */
  double soft_cap; /* 0: none */
  double dropout;  /* probability that a weight of softmax is set to 0, the others being divided by 1 - dropout */
  uint64_t seed;   /* of dropout, whose numbers depend on the seed, the builder's call, `step` and the element alone */
  mica_value mask; /* null, or b8, or added: of q's dtype or f32; broadcast to (B, H, Tq, Tk) from the right */
  mica_value key_lengths; /* null, or i32 (B): how many keys of the sequence there are */
  mica_value offset;      /* null: 0; or i32, one number or (B): the position of query 0 */
  mica_value step;        /* where dropout is not 0: one i32 or i64, as in mica_dropout */
} mica_attention_config;

/* y (B, H, Tq, E), of the operands' dtype, from q (B, H, Tq, D), k (B, G, Tk, D) and v (B, G, Tk, E): f32 f16 bf16 f64,
 * sums in f32 (f64 for f64). Operands may be views with any strides, so that transposes before them cost nothing; y is
 * stored as (B, Tq, H, E) and shown as a view: a transpose to (B, Tq, H, E) and a reshape to (B, Tq, H E) copy nothing,
 * and likewise the gradients. config may be NULL. B, H, Tq and Tk may be open.
 *
 * Differentiable once, in q, k, v and an additive mask: a second gradient is an error that names attention_grad. The
 * backward pass computes the scores again from a number kept for each query; a mask that wants a gradient costs
 * B H Tq Tk elements more, what else there is is linear in Tq and Tk. The same seed gives the same bits. */
MICA_API mica_value mica_attention(mica_value q, mica_value k, mica_value v, const mica_attention_config *config);

MICA_END_DECLS

#endif
