/* attention/mma/grad.cl: the gradients of attention on a GPU's matrix units, by the tiles of attention/mma/heads.clh.
 * The scores are computed again (Dao 2023). GPU class.
 *
 *   weight[i, j] = exp2(score - L[i])
 *   dw[i, j] = dy[i] . v[j]
 *   ds[i, j] = weight (dw - Delta[i]) s', where s' is the derivative of the score by q . k
 *
 * Dropout multiplies weight (in dv) and dw by 1 / keep, or by 0 if it drops the weight.
 *
 *   OF_KEYS 1    rows are keys, columns queries: DX = dk (B, Tk, G, D) = sum of ds q, DV = dv (B, Tk, G, E) = sum of
 *                weight dy, both over all queries of all heads of q that share head g of k.
 *                NDRange (THREADS * tiles of keys, G, B)
 *   OF_KEYS 0    rows are queries, columns keys: DX = dq (B, Tq, H, D) = sum over keys of ds k.
 *                NDRange (THREADS * tiles of queries, H, B)
 *
 * The operands must meet the requirements of attention/mma/forward.cl. Weights and ds are rounded to 16 bits. DX or DV
 * is null if it is not wanted. The order of additions, and with it every bit, is the same in each run. */
#define OPERANDS 2
#include "attention/mma/heads.clh"

#if OF_KEYS
#define SIDES(keys_, queries_) keys_
#else
#define SIDES(keys_, queries_) queries_
#endif

/* The number of tiles of columns in local memory for each of the two operands. With two tiles, one is filled by a copy
 * while the other is used. */
#if MMA_COPIES && HEAD <= 64
#define COLUMN_TILES 2
#else
#define COLUMN_TILES 1
#endif

#define MMA_GRAD_FIELDS(X) GRAD_FIELDS(X) GRAD_RESULTS(X)
DEFINE_PACKED_FIELDS(MMA_GRAD_FIELDS);

/* READ_D(k) and READ_E(k) read slice k of this work-item's rows from local memory, from d_rows (D columns) and e_rows
 * (E columns). */
#define READ_D(k)                                                                                                      \
  mma_a_t d_words[BLOCKS_M][MMA_WORDS];                                                                                \
  READ_SLICE_OF_ROWS(d_words, d_rows, k)
#define READ_E(k)                                                                                                      \
  mma_a_t e_words[BLOCKS_M][MMA_WORDS];                                                                                \
  READ_SLICE_OF_ROWS(e_words, e_rows, k)
#define D_WORDS(k) d_words
#define E_WORDS(k) e_words

/* Begins to copy the columns of step `at` to column tile `tile`. A step is one block of columns of one head. */
#define FETCH_STEP(at, tile)                                                                                           \
  {                                                                                                                    \
    const int h_ = first_head + (at) / blocks, x_ = begin + (at) % blocks * WARP_N;                                    \
    elements d_ = SIDES(Q + Q_at + b * Q_b + h_ * Q_h + x_ * Q_t, k_rows + x_ * K_t);                                  \
    elements e_ = SIDES(DY + DY_at + b * DY_b + h_ * DY_h + x_ * DY_t, v_rows + x_ * V_t);                             \
    FETCH(0, d_columns[tile], d_, SIDES(Q, K), end - x_, D)                                                            \
    FETCH(PIECES / THREADS, e_columns[tile], e_, SIDES(DY, V), end - x_, E)                                            \
  }

/* Declares the row and column to which sum e of block (i, j) belongs. */
#define AT_SUM                                                                                                         \
  const int row = r0 + row_warp + i * MMA_M + MMA_EIGHT(e) * 8 + MMA_ROW8(e), column = x0 + j * MMA_N + MMA_COL(e);    \
  const int query = min(SIDES(column, row), Tq - 1), key = SIDES(row, column)
#define IS_SEEN (row < r1 && column < end && key >= FIRST_SEEN(query) && key < end_seen(query + offset, after, keys))
#define EACH_SUM(BODY)                                                                                                 \
  UNROLL for (int j = 0; j < BLOCKS_N; j++) {                                                                          \
    UNROLL for (int i = 0; i < BLOCKS_M; i++) {                                                                        \
      UNROLL for (int e = 0; e < MMA_SUMS; e++) {                                                                      \
        AT_SUM;                                                                                                        \
        BODY                                                                                                           \
      }                                                                                                                \
    }                                                                                                                  \
  }

/* HIDE sets a product to -infinity if the query does not see the key. With SCORES_SCALED, HIDE is empty and SCORE_OF
 * does this. Most blocks skip it, because every query in them sees every key. */
#if SCORES_SCALED
#define HIDE
#define SCORE_OF(s)                                                                                                    \
  real chain, score = s;                                                                                               \
  SCORE(score, chain, IS_SEEN, query, key);                                                                            \
  if (!SOFT_CAP) chain = 1
#else
#define HIDE                                                                                                           \
  if (!ALL_SEEN) {                                                                                                     \
    MMA_SELDOM;                                                                                                        \
    EACH_SUM(if (!IS_SEEN) s[i][j][e] = -INFINITY;)                                                                    \
  }
#define SCORE_OF(s) const real score = (s)*product_scale, chain = 1
#endif
/* Turns s, the product q . k, into the weight times the factor of dropout, and dw, the product dy . v, into the
 * gradient of the loss with respect to q . k. Without a soft cap the gradient still lacks the factor `slope`, by which
 * the kernel multiplies the finished sums. */
#define WEIGH                                                                                                          \
  SCORE_OF(s[i][j][e]);                                                                                                \
  const real own = L[L_at + of_row + query], delta = Delta[Delta_at + of_row + query];                                 \
  const real weight = MMA_EXP2(score - (own == -INFINITY ? 0 : own));                                                  \
  const real kept = IS_KEPT(bits, i, j, e) ? (DROPOUT ? keep_scale : 1) : 0;                                           \
  s[i][j][e] = weight * kept;                                                                                          \
  dw[i][j][e] = weight == 0 ? 0 : weight * (dw[i][j][e] * kept - delta) * chain;

/* True if every query of this block sees every key of it. The block has TILE_M rows from r0 on and WARP_N columns from
 * x0 on. */
#define ALL_SEEN                                                                                                       \
  (r0 + TILE_M <= r1 && x0 + WARP_N <= end && SIDES(r0, x0) >= MOST_SEEN(SIDES(x0, r0), SIDES(x0 + WARP_N, r1)) &&     \
   SIDES(r1, x0 + WARP_N) <= end_seen(SIDES(x0, r0) + offset, after, keys))

__kernel MMA_SUBGROUP __attribute__((reqd_work_group_size(THREADS, 1, 1))) void attention_mma_grad(
    ATTENTION_BUFFERS, elements Q, elements K, elements V, elements DY, __global const real *L,
    __global const real *Delta, __global STORAGE(Q_T) * DX, __global STORAGE(Q_T) * DV, const mica_packed packed) {
  UNPACK_FIELDS(MMA_GRAD_FIELDS);
  DROPOUT_TIME;
  __local uint4 d_rows[TILE_M * HEAD / 8], e_rows[TILE_M * HEAD / 8];
  __local uint4 d_columns[COLUMN_TILES][PIECES], e_columns[COLUMN_TILES][PIECES];
#if WEIGHTS_LIE
  __local uint4 p_tile[TILE_M * (WARP_N < 32 ? 32 : WARP_N) / 8];
#endif
  const int item = (int)get_local_id(0), warp = item / MMA_LANES, lane = item % MMA_LANES, row_warp = warp * WARP_M;
  MMA_VARIABLES
  const int b = get_group_id(2), rows = SIDES(Tk, Tq), r0 = (int)get_group_id(0) * TILE_M, r1 = min(r0 + TILE_M, rows);
  const int of = SIDES((int)get_group_id(1), (int)((long)get_group_id(1) * G / H)), keys = KEYS_OF(b);
  const int first_head = SIDES(of * (H / G), (int)get_group_id(1)), heads = SIDES(H / G, 1);
  const long offset = OFFSET_OF(b);
  const int begin = SIDES(first_seeing(r0, offset, after, Tq), LEAST_SEEN(r0, r1));
  const int end = SIDES(end_seeing(r1 - 1, offset, before, Tq), end_seen(r1 - 1 + offset, after, keys));
  elements k_rows = K + K_at + b * K_b + of * K_h, v_rows = V + V_at + b * V_b + of * V_h;
  elements q_rows = Q + Q_at + b * Q_b + first_head * Q_h, dy_rows = DY + DY_at + b * DY_b + first_head * DY_h;
  mma_block_t dx[BLOCKS_M][BLOCKS_E], dv[BLOCKS_M][BLOCKS_E], s[BLOCKS_M][BLOCKS_N], dw[BLOCKS_M][BLOCKS_N];
  CLEAR_BLOCKS(dx, BLOCKS_E)
  CLEAR_BLOCKS(dv, BLOCKS_E)

  /* A single loop over heads and blocks: PoCL takes minutes to compile barriers in three nested loops. */
  const int blocks = max(end - begin + WARP_N - 1, 0) / WARP_N, all_steps = heads * blocks;
  if (all_steps) {
    FETCH_STEP(0, 0)
    MMA_FLUSH
  }
  MMA_COMMIT;
  READ_ROWS(d_rows, SIDES(k_rows + r0 * K_t, q_rows + r0 * Q_t), SIDES(K, Q), r1 - r0, D)
  READ_ROWS(e_rows, SIDES(v_rows + r0 * V_t, dy_rows + r0 * DY_t), SIDES(V, DY), r1 - r0, E)
  for (int step = 0; step < all_steps; step++) {
    ITEM_ANEW
    const int h = first_head + step / blocks, x0 = begin + step % blocks * WARP_N, tile = step % COLUMN_TILES;
    const long of_row = ((long)b * H + h) * Tq;
    MMA_WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (step + 1 < all_steps && (COLUMN_TILES == 2 || !MMA_COPIES)) FETCH_STEP(step + 1, (step + 1) % COLUMN_TILES)
    if (COLUMN_TILES == 2) {
      MMA_COMMIT;
    }
    CLEAR_BLOCKS(s, BLOCKS_N)
    CLEAR_BLOCKS(dw, BLOCKS_N)
    MULTIPLY_HEADS(s, READ_D, D_WORDS, d_columns[tile])
    MULTIPLY_HEADS(dw, READ_E, E_WORDS, e_columns[tile])
    KEPT_BITS(bits, SIDES(x0 + column, r0 + row), SIDES(r0 + row, x0 + column))
    HIDE EACH_SUM(WEIGH) if (OF_KEYS){PUT_WEIGHTS(p_tile, s) MULTIPLY_COLUMNS(
        dv, WEIGHTS_OF(p_tile, s), e_columns[tile]) AFTER_WEIGHTS} PUT_WEIGHTS(p_tile, dw)
        MULTIPLY_COLUMNS(dx, WEIGHTS_OF(p_tile, dw), d_columns[tile]) if (COLUMN_TILES == 1)
            barrier(CLK_LOCAL_MEM_FENCE);
    if (step + 1 < all_steps) {
      if (COLUMN_TILES == 1 && MMA_COPIES) FETCH_STEP(step + 1, 0)
      MMA_FLUSH
    }
    if (COLUMN_TILES == 1) {
      MMA_COMMIT;
    }
  }

  const real last = SOFT_CAP ? 1 : slope;
  UNROLL for (int i = 0; i < BLOCKS_M; i++) {
    UNROLL for (int j = 0; j < BLOCKS_E; j++) { UNROLL for (int e = 0; e < MMA_SUMS; e++) dx[i][j][e] *= last; }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  PUT_SUMS(d_rows, dx, BLOCKS_E)
  if (OF_KEYS) {
    PUT_SUMS(e_rows, dv, BLOCKS_E)
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const long at = SIDES(((long)b * Tk + r0) * G + of, ((long)b * Tq + r0) * H + first_head), apart = SIDES(G, H);
  if (DX) WRITE_ROWS(d_rows, DX + DX_at + at * D, apart * D, r1 - r0, D)
  if (OF_KEYS && DV) WRITE_ROWS(e_rows, DV + DV_at + at * E, apart * E, r1 - r0, E)
}
