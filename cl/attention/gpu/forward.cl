/* attention/gpu/forward.cl: y = softmax(score) v by tiles of queries, with an online softmax (Milakov and Gimelshein
 * 2018, Dao 2023). GPU class.
 *
 *   Y (B, Tq, H, E)   the result
 *   L (B, H, Tq)      log2 of a query's softmax denominator: the sum of e^score over the keys that it sees, plus
 *                     e^sink of its head. -infinity if it sees no key and there is no sink. L may be null
 *
 * A group computes SIDE_M queries of a head and CHUNKS * SIDE_N columns of y. It loops over the keys that at least one
 * of its queries may see, SIDE_N at a time. Scores stay in registers, and the group finds the maximum of each row
 * through local memory. Weights are written to local memory, as an operand of the product with v. Each work-item sums
 * the weights that it computed itself; these sums are added up after the last key.
 *
 * NDRange: (THREADS * tiles of queries, H, B * splits), work-group (THREADS, 1, 1). `splits` groups divide the columns
 * of y. Group 0 computes the last tile of queries: with a causal mask it sees most keys and takes longest. */
#include "attention/gpu/tile.clh"

#define GPU_FIELDS(X) FORWARD_FIELDS(X) SPLIT_FIELDS(X)
DEFINE_PACKED_FIELDS(GPU_FIELDS);

/* SCORES_OF(i) turns the four products s[i][..] of a work-item's row i, after CAP_SCORES, into scores, and sets now[i]
 * to their maximum. */
#define SCORE_OF(i, j)                                                                                                 \
  {                                                                                                                    \
    const int column = j0 + 4 * n_item + j;                                                                            \
    const bool seen = column >= low && column < high;                                                                  \
    real chain;                                                                                                        \
    SCORE_CAPPED(s[i][j], chain, seen, row, column);                                                                   \
    now[i] = fmax(now[i], s[i][j]);                                                                                    \
  }
#define SCORES_OF(i)                                                                                                   \
  {                                                                                                                    \
    const int row = min(i0 + 4 * m_item + i, Tq - 1);                                                                  \
    const int low = FIRST_SEEN(row), high = end_seen(row + offset, after, keys);                                       \
    now[i] = -INFINITY;                                                                                                \
    EACH_OF(SCORE_OF, i)                                                                                               \
  }

/* WEIGHTS_OF(i) turns the four scores s[i][..] of a work-item's row i into weights and adds them to sum[i]. now[i] must
 * be the maximum of the row over all work-items of the group. If it is a new maximum, the sum and the row's y so far
 * are scaled to it. */
#define WEIGHT_OF(i, j)                                                                                                \
  s[i][j] = exp2(s[i][j] - base);                                                                                      \
  sum[i] += s[i][j];                                                                                                   \
  s[i][j] *= OWN_KEPT(i, j);
#define SHRINK_CHUNK(chunk, i)                                                                                         \
  y[chunk][i][0] *= shrink, y[chunk][i][1] *= shrink, y[chunk][i][2] *= shrink, y[chunk][i][3] *= shrink;
#define WEIGHTS_OF(i)                                                                                                  \
  {                                                                                                                    \
    const real next = fmax(now[i], most[i]), base = next == -INFINITY ? (real)0 : next;                                \
    const real shrink = exp2(most[i] - base);                                                                          \
    most[i] = next;                                                                                                    \
    sum[i] *= shrink;                                                                                                  \
    EACH_OF(WEIGHT_OF, i)                                                                                              \
    EACH_CHUNK(SHRINK_CHUNK, i)                                                                                        \
  }

/* Divides the work-item's row i of y by its sum of weights, and writes it and the element of L. */
#define WRITE_ROW(i)                                                                                                   \
  if (i0 + 4 * m_item + i < Tq) {                                                                                      \
    const int row = i0 + 4 * m_item + i;                                                                               \
    const real shrink = sum[i] == 0 ? (real)0 : (real)1 / sum[i];                                                      \
    const long at = ((long)b * Tq + row) * H + h;                                                                      \
    EACH_CHUNK(SHRINK_CHUNK, i)                                                                                        \
    WRITE_SUMS(y, i, Y, Y_at + at * E, e0 + 4 * n_item, E)                                                             \
    if (L && e0 == 0 && n_item == 0)                                                                                   \
      L[L_at + ((long)b * H + h) * Tq + row] = sum[i] == 0 ? -(real)INFINITY : most[i] + log2(sum[i]);                 \
  }

GPU_KERNEL attention_gpu(ATTENTION_BUFFERS, elements Q, elements K, elements V, __global STORAGE(Q_T) * Y,
                         __global real *L, const mica_packed packed) {
  UNPACK_FIELDS(GPU_FIELDS);
  DROPOUT_TIME;
  __local real a_tile[DEPTH * PITCH_M] __attribute__((aligned(32))),
      b_tile[DEPTH * PITCH_N] __attribute__((aligned(32)));
  __local real p_tile[SIDE_N * PITCH_M] __attribute__((aligned(32))), ends[WG_N * SIDE_M] __attribute__((aligned(32)));
  const int item = get_local_id(0), m_item = item / WG_N, n_item = item % WG_N;
  const int h = get_group_id(1), b = (int)get_group_id(2) / splits,
            e0 = (int)get_group_id(2) % splits * CHUNKS * SIDE_N;
  const int i0 = ((Tq + SIDE_M - 1) / SIDE_M - 1 - (int)get_group_id(0)) * SIDE_M, i1 = min(i0 + SIDE_M, Tq);
  const int g = (int)((long)h * G / H), keys = KEYS_OF(b);
  const long offset = OFFSET_OF(b);
  const int begin = LEAST_SEEN(i0, i1), end = end_seen(i1 - 1 + offset, after, keys);
  elements q = Q + Q_at + b * Q_b + h * Q_h + i0 * Q_t, k = K + K_at + b * K_b + g * K_h,
           v = V + V_at + b * V_b + g * V_h;
  real y[CHUNKS][4][4], most[4], sum[4];
  CLEAR_CHUNKS(y);
  most[0] = most[1] = most[2] = most[3] = SINK_OF(h);
  sum[0] = sum[1] = sum[2] = sum[3] = n_item == 0 ? SINK_SHARE : (real)0;

  for (int j0 = begin; j0 < end; j0 += SIDE_N) {
    real s[4][4], now[4];
    CLEAR(s);
    MULTIPLY_ROWS(s, q, Q_t, Q_c, i1 - i0, k + j0 * K_t, K_t, K_c, end - j0, D)
    CAP_SCORES;
    EACH(SCORES_OF)
    ((__local real4 *)ends)[n_item * WG_M + m_item] = (real4)(now[0], now[1], now[2], now[3]);
    barrier(CLK_LOCAL_MEM_FENCE);
    real4 top = ((__local const real4 *)ends)[m_item];
    for (int n = 1; n < WG_N; n++) top = fmax(top, ((__local const real4 *)ends)[n * WG_M + m_item]);
    now[0] = top.s0, now[1] = top.s1, now[2] = top.s2, now[3] = top.s3;
    KEEP_WEIGHTS(i0 + 4 * m_item + e_ % 4, j0 + 4 * n_item + e_ / 4);
    EACH(WEIGHTS_OF)
    WRITE_WEIGHTS(s);
    MULTIPLY_WEIGHTS(y, v + j0 * V_t + e0 * V_c, V_t, V_c, end - j0, E - e0)
  }

  ((__local real4 *)ends)[n_item * WG_M + m_item] = (real4)(sum[0], sum[1], sum[2], sum[3]);
  barrier(CLK_LOCAL_MEM_FENCE);
  real4 total = (real4)(0);
  for (int n = 0; n < WG_N; n++) total += ((__local const real4 *)ends)[n * WG_M + m_item];
  sum[0] = total.s0, sum[1] = total.s1, sum[2] = total.s2, sum[3] = total.s3;
  EACH(WRITE_ROW)
}
