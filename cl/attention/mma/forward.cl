/* attention/mma/forward.cl: y = softmax(score) v on a GPU's matrix units, with an online softmax (Milakov and
 * Gimelshein 2018, Dao 2023), by the tiles of attention/mma/heads.clh. GPU class.
 *
 *   Y (B, Tq, H, E)   the result
 *   L (B, H, Tq)      log2 of a query's softmax denominator: the sum of e^score over the keys that it sees, plus
 *                     e^sink of its head. -infinity if it sees no key and there is no sink. L may be null
 *
 * Rows of tiles are queries, columns are keys. Scores, sums of weights and y are floats. Weights are rounded to 16 bits
 * for the product with v, but not for their sum.
 *
 * Requirements: operands are read 16 bytes (8 elements) at a time. So the last stride must be 1, and the other strides,
 * D, E and the indices of the first elements must be multiples of 8. product_scale must be positive.
 *
 * NDRange: (THREADS * tiles of queries, H, B), work-group (THREADS, 1, 1). Group 0 computes the last tile of queries:
 * with a causal mask it sees most keys and takes longest. */
#define OPERANDS 1
#include "attention/mma/heads.clh"

/* KEEPS_ROWS 1, for GPUs with enough registers: the fragments of q stay in registers during the whole loop over keys.
 * q_tile then becomes free and holds the weights. 0: fragments are read from q_tile again for each block of keys. */
#if MMA_UNIT < 3 && !(MMA_UNIT == 0 && MASK && HEAD > 96)
#define KEEPS_ROWS 1
#define Q_WIDTH (HEAD > WARP_N ? HEAD : WARP_N)
#else
#define KEEPS_ROWS 0
#define Q_WIDTH HEAD
#endif

DEFINE_PACKED_FIELDS(FORWARD_FIELDS);

#if KEEPS_ROWS
#define P_TILE
#define p_tile q_tile
#elif WEIGHTS_LIE
#define P_TILE __local uint4 p_tile[TILE_M * WARP_N / 8];
#else
#define P_TILE
#endif

#if KEEPS_ROWS
#define KEEP_ROWS                                                                                                      \
  mma_a_t q_words[SLICES_K][BLOCKS_M][MMA_WORDS];                                                                      \
  UNROLL for (int k = 0; k < SLICES_K; k++) READ_SLICE_OF_ROWS(q_words[k], q_tile, k)
#define READ_ROWS_SLICE(k)
#define ROWS_OF(k) q_words[k]
#else
#define KEEP_ROWS
#define READ_ROWS_SLICE(k)                                                                                             \
  mma_a_t q_words[BLOCKS_M][MMA_WORDS];                                                                                \
  READ_SLICE_OF_ROWS(q_words, q_tile, k)
#define ROWS_OF(k) q_words
#endif

/* SCORE_OF turns a product s = q . k into a score; the score is -infinity if the query does not see the key. Without
 * SCORES_SCALED the product of a visible key stays unscaled, and WEIGHTS multiplies it by `unit` later. */
#if SCORES_SCALED
#define SCORE_OF(s, seen, row, column)                                                                                 \
  {                                                                                                                    \
    real chain, score = s;                                                                                             \
    SCORE(score, chain, seen, row, column);                                                                            \
    s = score;                                                                                                         \
  }
#else
#define SCORE_OF(s, seen, row, column)                                                                                 \
  if (!(seen)) s = -INFINITY;
#endif
#define SCORES                                                                                                         \
  UNROLL for (int i = 0; i < BLOCKS_M; i++) {                                                                          \
    UNROLL for (int e = 0; e < MMA_SUMS; e++) {                                                                        \
      const int row = min(i0 + row_warp + i * MMA_M + MMA_EIGHT(e) * 8 + MMA_ROW8(e), Tq - 1);                         \
      const int low = FIRST_SEEN(row), high = end_seen(row + offset, after, keys);                                     \
      UNROLL for (int j = 0; j < BLOCKS_N; j++) {                                                                      \
        const int column = j0 + j * MMA_N + MMA_COL(e);                                                                \
        SCORE_OF(s[i][j][e], column >= low && column < high, row, column)                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }

/* Turns scores into weights relative to the row's largest score so far. If that maximum has risen, y and the sum of
 * weights are scaled down to match. Then dropout sets weights to 0, after they were added to the sum. */
#define WEIGHTS                                                                                                        \
  UNROLL for (int i = 0; i < BLOCKS_M; i++) {                                                                          \
    real now[MMA_ROWS], from[MMA_ROWS];                                                                                \
    UNROLL for (int r = 0; r < MMA_ROWS; r++) now[r] = most[i][r];                                                     \
    UNROLL for (int j = 0; j < BLOCKS_N; j++) {                                                                        \
      UNROLL for (int e = 0; e < MMA_SUMS; e++) now[MMA_ROW(e)] = fmax(now[MMA_ROW(e)], s[i][j][e]);                   \
    }                                                                                                                  \
    UNROLL for (int r = 0; r < MMA_ROWS; r++) {                                                                        \
      OVER_ROW(fmax, now[r])                                                                                           \
      const real base = now[r] == -INFINITY ? 0 : now[r] * unit;                                                       \
      const real shrink = MMA_EXP2(fma(most[i][r], unit, -base));                                                      \
      most[i][r] = now[r];                                                                                             \
      from[r] = -base;                                                                                                 \
      sum[i][r] *= shrink;                                                                                             \
      now[r] = shrink;                                                                                                 \
    }                                                                                                                  \
    UNROLL for (int j = 0; j < BLOCKS_E; j++) {                                                                        \
      UNROLL for (int e = 0; e < MMA_SUMS; e++) y[i][j][e] *= now[MMA_ROW(e)];                                         \
    }                                                                                                                  \
    UNROLL for (int j = 0; j < BLOCKS_N; j++) {                                                                        \
      UNROLL for (int e = 0; e < MMA_SUMS; e++) {                                                                      \
        s[i][j][e] = MMA_EXP2(fma(s[i][j][e], unit, from[MMA_ROW(e)]));                                                \
        sum[i][MMA_ROW(e)] += s[i][j][e];                                                                              \
        if (!IS_KEPT(bits, i, j, e)) s[i][j][e] = 0;                                                                   \
      }                                                                                                                \
    }                                                                                                                  \
  }
/* Divides each row of y by its sum of weights (y is 0 if the sum is 0); with dropout it also multiplies the row by
 * keep_scale. If L is not null, writes L. */
#define FINISH_ROWS                                                                                                    \
  UNROLL for (int i = 0; i < BLOCKS_M; i++) {                                                                          \
    real share[MMA_ROWS];                                                                                              \
    UNROLL for (int r = 0; r < MMA_ROWS; r++) {                                                                        \
      OVER_ROW(ADD, sum[i][r])                                                                                         \
      share[r] = sum[i][r] == 0 ? 0 : (DROPOUT ? keep_scale : 1) / sum[i][r];                                          \
    }                                                                                                                  \
    UNROLL for (int e = 0; e < MMA_SUMS; e++) {                                                                        \
      const int row = i0 + row_warp + i * MMA_M + MMA_EIGHT(e) * 8 + MMA_ROW8(e), r = MMA_ROW(e);                      \
      UNROLL for (int j = 0; j < BLOCKS_E; j++) y[i][j][e] *= share[r];                                                \
      if (L && MMA_COL(e) == 0 && row < Tq)                                                                            \
        L[L_at + ((long)b * H + h) * Tq + row] = sum[i][r] == 0 ? -INFINITY : most[i][r] * unit + log2(sum[i][r]);     \
    }                                                                                                                  \
  }

__kernel MMA_SUBGROUP __attribute__((reqd_work_group_size(THREADS, 1, 1))) void attention_mma(
    ATTENTION_BUFFERS, elements Q, elements K, elements V, __global STORAGE(Q_T) * Y, __global real *L,
    const mica_packed packed) {
  UNPACK_FIELDS(FORWARD_FIELDS);
  DROPOUT_TIME;
  __local uint4 q_tile[TILE_M * Q_WIDTH / 8], k_tile[PIECES], b_tiles[1][PIECES];
  P_TILE
  const int item = (int)get_local_id(0), warp = item / MMA_LANES, lane = item % MMA_LANES, row_warp = warp * WARP_M;
  MMA_VARIABLES
  const int h = get_group_id(1), b = get_group_id(2), of = (int)((long)h * G / H), keys = KEYS_OF(b);
  const int i0 = ((Tq + TILE_M - 1) / TILE_M - 1 - (int)get_group_id(0)) * TILE_M, i1 = min(i0 + TILE_M, Tq);
  const long offset = OFFSET_OF(b);
  const int begin = LEAST_SEEN(i0, i1), end = end_seen(i1 - 1 + offset, after, keys);
  /* The range of keys that every query of the tile sees. */
  const int all_begin = MOST_SEEN(i0, i1), all_end = end_seen(i0 + offset, after, keys);
  elements q = Q + Q_at + b * Q_b + h * Q_h + i0 * Q_t, k_rows = K + K_at + b * K_b + of * K_h,
           v_rows = V + V_at + b * V_b + of * V_h;
  /* A weight is 2^(unit (s - most)). Without SCORES_SCALED (no soft cap, no mask) s is the plain product q . k, and
   * `unit` scales it. */
  const real unit = SCORES_SCALED ? 1 : product_scale;
  mma_block_t y[BLOCKS_M][BLOCKS_E], s[BLOCKS_M][BLOCKS_N];
  real most[BLOCKS_M][MMA_ROWS], sum[BLOCKS_M][MMA_ROWS];
  CLEAR_BLOCKS(y, BLOCKS_E)
  UNROLL for (int i = 0; i < BLOCKS_M; i++) {
    UNROLL for (int r = 0; r < MMA_ROWS; r++) most[i][r] = SINK_OF(h) / unit, sum[i][r] = 0;
    UNROLL for (int e = 0; e < MMA_SUMS; e++) if (MMA_COL(e) == 0) sum[i][MMA_ROW(e)] = SINK_SHARE;
  }

  if (begin < end) {
    FETCH(0, k_tile, k_rows + begin * K_t, K, end - begin, D)
    MMA_FLUSH
  }
  MMA_COMMIT;
  READ_ROWS(q_tile, q, Q, i1 - i0, D)
  barrier(CLK_LOCAL_MEM_FENCE);
  KEEP_ROWS

  for (int j0 = begin; j0 < end; j0 += WARP_N) {
    ITEM_ANEW
    MMA_WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    FETCH_LYING(0, b_tiles[0], v_rows + j0 * V_t, V, end - j0, E)
    MMA_COMMIT;
    CLEAR_BLOCKS(s, BLOCKS_N)
    MULTIPLY_HEADS(s, READ_ROWS_SLICE, ROWS_OF, k_tile)
    MMA_FLUSH
    MMA_WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (j0 + WARP_N < end) FETCH(0, k_tile, k_rows + (j0 + WARP_N) * K_t, K, end - j0 - WARP_N, D)
    MMA_COMMIT;

    if (SCORES_SCALED || j0 < all_begin || j0 + WARP_N > all_end) {
      MMA_SELDOM;
      SCORES
    }
    KEPT_BITS(bits, i0 + row, j0 + column)
    WEIGHTS
    PUT_WEIGHTS(p_tile, s)
    MULTIPLY_COLUMNS(y, WEIGHTS_OF(p_tile, s), b_tiles[0])
    if (j0 + WARP_N < end) {
      MMA_FLUSH
    }
  }

  FINISH_ROWS
  barrier(CLK_LOCAL_MEM_FENCE);
  PUT_SUMS(q_tile, y, BLOCKS_E)
  barrier(CLK_LOCAL_MEM_FENCE);
  WRITE_ROWS(q_tile, Y + Y_at + (((long)b * Tq + i0) * H + h) * E, (long)H * E, i1 - i0, E)
}
