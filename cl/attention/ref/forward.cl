/* attention/ref/forward.cl: y = softmax(score) v, one query of one head per work-item. It serves f64, and sizes for
 * which there are no tiles. A work-item computes all of its scores once for the sum of weights, and again for every
 * four columns of y.
 *
 * Y (B, Tq, H, E) and L (B, H, Tq) are the same as in attention/gpu/forward.cl. One dimension of count = B H Tq
 * work-items. */
#include "attention/ref/row.clh"

#define NAIVE_FIELDS(X) FORWARD_FIELDS(X) COUNT_FIELDS(X)
DEFINE_PACKED_FIELDS(NAIVE_FIELDS);

RANGE_KERNEL attention_naive(ATTENTION_BUFFERS, elements Q, elements K, elements V, __global STORAGE(Q_T) * Y,
                             __global real *L, const mica_packed packed) {
  UNPACK_FIELDS(NAIVE_FIELDS);
  DROPOUT_TIME;
  const long row = get_global_id(0);
  if (row >= count) return;
  const long b = row / ((long)H * Tq), offset = OFFSET_OF(b);
  const int h = (int)(row / Tq % H), i = (int)(row % Tq), g = (int)((long)h * G / H), keys = KEYS_OF(b);
  const int begin = FIRST_SEEN(i), end = end_seen(i + offset, after, keys);
  real most = SINK_OF(h), sum = SINK_SHARE;
  for (int j = begin; j < end; j++) {
    SCORE_OF(s, chain, i, j);
    const real next = fmax(most, s);
    if (s == -(real)INFINITY) continue;
    sum = sum * exp2(most - next) + exp2(s - next);
    most = next;
  }
  const real logsum = sum == 0 ? -(real)INFINITY : most + log2(sum);
  for (int e = 0; e < E; e += 4) {
    real y[4] = {0, 0, 0, 0};
    for (int j = begin; j < end; j++) {
      SCORE_OF(s, chain, i, j);
      const real w = s == -(real)INFINITY ? (real)0 : exp2(s - logsum) * KEPT(i, j);
      UNROLL for (int c = 0; c < 4; c++) if (e + c < E) y[c] =
          fma(w, (real)LOAD(Q_T, AT(V, g, j), (e + c) * V_c), y[c]);
    }
    UNROLL for (int c = 0; c < 4; c++) if (e + c < E) STORE(Q_T, y[c], Y, Y_at + ((b * Tq + i) * H + h) * E + e + c);
  }
  if (L) L[L_at + row] = logsum;
}
