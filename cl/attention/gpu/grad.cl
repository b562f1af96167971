/* attention/gpu/grad.cl: the gradients of attention by tiles. The scores are computed again (Dao 2023). GPU class.
 *
 *   weight[i, j] = exp2(score - L[i])
 *   dw[i, j] = dy[i] . v[j]
 *   ds[i, j] = weight (dw - Delta[i]) s', where s' is the derivative of the score by q . k
 *
 * Dropout multiplies weight (in dv) and dw by 1 / keep, or by 0 if it drops the weight.
 *
 *   OF_KEYS 1    rows of tiles are keys: DX = dk (B, Tk, G, D) = sum of ds q, DV = dv (B, Tk, G, E) = sum of weight dy,
 *                both over all queries of all heads of q that share head g of k.
 *                NDRange (THREADS * tiles of keys, G, B * splits)
 *   OF_KEYS 0    rows are queries: DX = dq (B, Tq, H, D) = sum over keys of ds k.
 *                NDRange (THREADS * tiles of queries, H, B * splits)
 *
 * L and Delta are (B, H, Tq): the logarithms that attention/gpu/forward.cl writes, and the sums of attention/delta.cl.
 * A group computes SIDE_M rows and CHUNKS * SIDE_N columns of DX and DV; `splits` groups divide the columns. DX or DV
 * is null if it is not wanted. There are no atomics, so the order of additions, and with it every bit, is the same in
 * each run. */
#include "attention/gpu/tile.clh"

#define GPU_GRAD_FIELDS(X) GRAD_FIELDS(X) GRAD_RESULTS(X) SPLIT_FIELDS(X)
DEFINE_PACKED_FIELDS(GPU_GRAD_FIELDS);

#if OF_KEYS
#define SIDES(keys_, queries_) keys_
#else
#define SIDES(keys_, queries_) queries_
#endif

/* For element (i, j): turns s, the product q . k after CAP_SCORES, into the weight times the factor of dropout, and dw,
 * the product dy . v, into the gradient of the loss with respect to q . k. */
#define WEIGHT_OF(i, j, row, column, query, key)                                                                       \
  {                                                                                                                    \
    const bool seen = (row) < r1 && (column) < end && (key) >= low && (key) < high;                                    \
    real chain;                                                                                                        \
    SCORE_CAPPED(s[i][j], chain, seen, query, key);                                                                    \
    const real weight = s[i][j] == -(real)INFINITY ? (real)0 : exp2(s[i][j] - logsum);                                 \
    const real kept = OWN_KEPT(i, j);                                                                                  \
    s[i][j] = weight * kept;                                                                                           \
    dw[i][j] = weight == 0 ? (real)0 : weight * (dw[i][j] * kept - delta) * chain;                                     \
  }
#if OF_KEYS
#define WEIGHT_OF_KEY(query_index, i) WEIGHT_OF(i, query_index, r0 + 4 * m_item + i, query, query, r0 + 4 * m_item + i)
#else
#define WEIGHT_OF_KEY(query_index, j) WEIGHT_OF(query_index, j, query, x0 + 4 * n_item + j, query, x0 + 4 * n_item + j)
#endif
/* Applies WEIGHT_OF to the four elements of the work-item's query x (0 .. 3), with the range of keys that the query
 * sees, its L and its Delta. */
#define WEIGHTS_OF_QUERY(x)                                                                                            \
  {                                                                                                                    \
    const int query = SIDES(x0 + 4 * n_item, r0 + 4 * m_item) + x, there = min(query, Tq - 1);                         \
    const int low = FIRST_SEEN(there), high = end_seen(there + offset, after, keys);                                   \
    const real logsum = L[L_at + of_row + there], delta = Delta[Delta_at + of_row + there];                            \
    EACH_OF(WEIGHT_OF_KEY, x)                                                                                          \
  }

/* Writes the work-item's row i of DX and of DV. */
#define WRITE_ROW(i)                                                                                                   \
  if (r0 + 4 * m_item + i < r1) {                                                                                      \
    const int row = r0 + 4 * m_item + i;                                                                               \
    const long at = SIDES(((long)b * Tk + row) * G + g, ((long)b * Tq + row) * H + first_head);                        \
    if (DX) {                                                                                                          \
      WRITE_SUMS(dx, i, DX, DX_at + at * D, c0 + 4 * n_item, D)                                                        \
    }                                                                                                                  \
    if (OF_KEYS && DV) {                                                                                               \
      WRITE_SUMS(dv, i, DV, DV_at + at * E, c0 + 4 * n_item, E)                                                        \
    }                                                                                                                  \
  }

GPU_KERNEL attention_gpu_grad(ATTENTION_BUFFERS, elements Q, elements K, elements V, elements DY,
                              __global const real *L, __global const real *Delta, __global STORAGE(Q_T) * DX,
                              __global STORAGE(Q_T) * DV, const mica_packed packed) {
  UNPACK_FIELDS(GPU_GRAD_FIELDS);
  DROPOUT_TIME;
  __local real a_tile[DEPTH * PITCH_M] __attribute__((aligned(32))),
      b_tile[DEPTH * PITCH_N] __attribute__((aligned(32)));
  __local real p_tile[SIDE_N * PITCH_M] __attribute__((aligned(32)));
  const int item = get_local_id(0), m_item = item / WG_N, n_item = item % WG_N;
  const int b = (int)get_group_id(2) / splits, c0 = (int)get_group_id(2) % splits * CHUNKS * SIDE_N;
  const int rows = SIDES(Tk, Tq), r0 = (int)get_group_id(0) * SIDE_M, r1 = min(r0 + SIDE_M, rows);
  const int g = SIDES((int)get_group_id(1), (int)((long)get_group_id(1) * G / H)), keys = KEYS_OF(b);
  const int first_head = SIDES(g * (H / G), (int)get_group_id(1)), heads = SIDES(H / G, 1);
  const long offset = OFFSET_OF(b);
  const int begin = SIDES(first_seeing(r0, offset, after, Tq), LEAST_SEEN(r0, r1));
  const int end = SIDES(end_seeing(r1 - 1, offset, before, Tq), end_seen(r1 - 1 + offset, after, keys));
  elements k_rows = K + K_at + b * K_b + g * K_h, v_rows = V + V_at + b * V_b + g * V_h;
  real dx[CHUNKS][4][4], dv[CHUNKS][4][4];
  CLEAR_CHUNKS(dx);
  CLEAR_CHUNKS(dv);

  /* A single loop over heads and blocks: PoCL takes minutes to compile barriers in three nested loops. */
  const int blocks = max(end - begin + SIDE_N - 1, 0) / SIDE_N;
  for (int step = 0; step < heads * blocks; step++) {
    const int h = first_head + step / blocks, x0 = begin + step % blocks * SIDE_N;
    elements q = Q + Q_at + b * Q_b + h * Q_h, dy = DY + DY_at + b * DY_b + h * DY_h;
    const long of_row = ((long)b * H + h) * Tq;
    real s[4][4], dw[4][4];
    CLEAR(s);
    CLEAR(dw);
#if OF_KEYS
    MULTIPLY_ROWS(s, k_rows + r0 * K_t, K_t, K_c, r1 - r0, q + x0 * Q_t, Q_t, Q_c, end - x0, D)
    MULTIPLY_ROWS(dw, v_rows + r0 * V_t, V_t, V_c, r1 - r0, dy + x0 * DY_t, DY_t, DY_c, end - x0, E)
#else
    MULTIPLY_ROWS(s, q + r0 * Q_t, Q_t, Q_c, r1 - r0, k_rows + x0 * K_t, K_t, K_c, end - x0, D)
    MULTIPLY_ROWS(dw, dy + r0 * DY_t, DY_t, DY_c, r1 - r0, v_rows + x0 * V_t, V_t, V_c, end - x0, E)
#endif
    CAP_SCORES;
    KEEP_WEIGHTS(SIDES(x0 + 4 * n_item + e_ / 4, r0 + 4 * m_item + e_ % 4),
                 SIDES(r0 + 4 * m_item + e_ % 4, x0 + 4 * n_item + e_ / 4));
    EACH(WEIGHTS_OF_QUERY)
#if OF_KEYS
    WRITE_WEIGHTS(s);
    MULTIPLY_WEIGHTS(dv, dy + x0 * DY_t + c0 * DY_c, DY_t, DY_c, end - x0, E - c0)
    WRITE_WEIGHTS(dw);
    MULTIPLY_WEIGHTS(dx, q + x0 * Q_t + c0 * Q_c, Q_t, Q_c, end - x0, D - c0)
#else
    WRITE_WEIGHTS(dw);
    MULTIPLY_WEIGHTS(dx, k_rows + x0 * K_t + c0 * K_c, K_t, K_c, end - x0, D - c0)
#endif
  }

  EACH(WRITE_ROW)
}
