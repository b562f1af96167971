/* attention/cpu/grad.cl: the gradients of attention. The scores are computed again, once, and give all three
 * gradients. CPU class. Each lane of a vector computes one key.
 *
 *   weight[i, j] = exp2(score - L[i])
 *   ds[i, j] = weight (dy[i] . v[j] - Delta[i]) s', where s' is the derivative of the score by q . k
 *   DK (B, Tk, G, D)   sum of ds q over all queries i of all heads of q that share head g of k
 *   DV (B, Tk, G, E)   sum of weight dy over the same queries and heads; dropout changes weight and dy . v as in
 *                      attention/gpu/grad.cl
 *   P [split][B H][P_rows][D_PAD]   the part of dq = sum of ds k that comes from the keys of one split;
 *                      attention/sum.cl adds up the splits
 *
 * Work-item `split` of `splits` computes the key tiles split, split + splits, ... of one head of k and v. It computes
 * them one after another, because all of them add to the same rows of P. It sets these rows to 0 first. L and Delta are
 * (B, H, Tq). DK and DV may be null.
 *
 * NDRange (splits, G, B), work-groups of one work-item. */
#include "attention/cpu_tile.clh"

#define CPU_GRAD_FIELDS(X) GRAD_FIELDS(X) CPU_GRAD_RESULTS(X)
DEFINE_PACKED_FIELDS(CPU_GRAD_FIELDS);

/* p[i][c] += sum over the tile's keys of ds[i][key] k[key][c], for i < rows, c < D_PAD. */
INLINE void add_to_queries(__global float *p, __local const float *ds, __local const float *k, const int rows) {
  for (int first = 0; first < rows; first += MR)
    for (int c = 0; c < D_PAD; c += TILE) {
      vec acc[MR][NV];
      TILE_LOAD(acc, MR, NV, p + first * D_PAD + c, D_PAD);
      for (int key = 0; key < TILE; key++) {
        vec row[NV];
        TILE_READ(row, NV, k + key * D_PAD + c);
        TILE_MULTIPLY_ADD(acc, MR, NV, ds[(first + i) * TILE + key], row)
      }
      TILE_STORE(acc, MR, NV, p + first * D_PAD + c, D_PAD);
    }
}

/* ds[i][lanes] *= kept[i][lanes] (dy[i] . v[lanes]) - delta[i], for i < rows. `kept` is the factor by which dropout
 * multiplied the weight: 0 or 1 / keep. Without DROPOUT it is 1 and `kept` is not read. */
INLINE void weigh_gradients(__local float *ds, __local const float *dy, __local const float *v,
                            __local const float *delta, __local const float *kept, const int rows) {
  for (int i = 0; i < rows; i += MR) {
    vec acc[MR][NV];
    TILE_CLEAR(acc, MR, NV);
    product(acc, dy + i * E_PAD, E_PAD, 1, v, E_PAD);
    UNROLL for (int r = 0; r < MR; r++) UNROLL for (int u = 0; u < NV; u++) {
      const int at = (i + r) * TILE + u * VW;
      if (DROPOUT) acc[r][u] *= MICA_VLOAD(VW, kept, at);
      STOREV(f32, VW, MICA_VLOAD(VW, ds, at) * (acc[r][u] - delta[i + r]), ds, at);
    }
  }
}

CPU_KERNEL attention_cpu_grad(ATTENTION_BUFFERS, elements Q, elements K, elements V, elements DY,
                              __global const float *L, __global const float *Delta, __global STORAGE(Q_T) * DK,
                              __global STORAGE(Q_T) * DV, __global float *P, const mica_packed packed) {
  UNPACK_FIELDS(CPU_GRAD_FIELDS);
  DROPOUT_TIME;
  __local float k_tile[D_PAD * TILE] ALIGNED, v_tile[E_PAD * TILE] ALIGNED, dk_tile[D_PAD * TILE] ALIGNED,
      dv_tile[E_PAD * TILE] ALIGNED, k_rows[TILE * D_PAD] ALIGNED, q_block[BLOCK * D_PAD] ALIGNED,
      dy_block[BLOCK * E_PAD] ALIGNED, w_block[BLOCK * TILE] ALIGNED, ds_block[BLOCK * TILE] ALIGNED;
  __local float kept_block[DROPOUT ? BLOCK * TILE : 1] ALIGNED;
  __local float logsum[BLOCK], delta[BLOCK];
  __local int low[BLOCK], high[BLOCK];
  const int split = get_group_id(0), splits = get_num_groups(0), g = get_group_id(1), b = get_group_id(2);
  const int heads = H / G, keys = KEYS_OF(b);
  const long offset = OFFSET_OF(b), p_head = (long)P_rows * D_PAD;
  elements k = K + K_at + b * K_b + g * K_h, v = V + V_at + b * V_b + g * V_h;
  __global float *p = P + P_at + (((long)split * get_num_groups(2) + b) * H + g * heads) * p_head;
  for (long c = 0; c < heads * p_head; c += VW) STOREV(f32, VW, (vec)(0.0f), p, c);

  for (int j0 = split * TILE; j0 < Tk; j0 += splits * TILE) {
    const int j1 = min(j0 + TILE, Tk);
    const int begin = first_seeing(j0, offset, after, Tq), end = end_seeing(j1 - 1, offset, before, Tq);
    transpose_in(k_tile, D_PAD, k + j0 * K_t, K_t, K_c, j1 - j0, D, product_scale);
    transpose_in(v_tile, E_PAD, v + j0 * V_t, V_t, V_c, j1 - j0, E, 1.0f);
    copy_rows(k_rows, D_PAD, k + j0 * K_t, K_t, K_c, j1 - j0, D, TILE);
    clear(dk_tile, D_PAD * TILE);
    clear(dv_tile, E_PAD * TILE);

    for (int h = g * heads; h < (g + 1) * heads; h++)
      for (int i0 = begin; i0 < end && j0 < keys; i0 += BLOCK) {
        const int n = min(BLOCK, end - i0), rows = WHOLE_TILES(n);
        if (STARTS && LEAST_SEEN(i0, i0 + n) >= j1) continue; /* none of these queries sees a key of the tile */
        const long of_row = ((long)b * H + h) * Tq + i0;
        copy_rows(q_block, D_PAD, Q + Q_at + b * Q_b + h * Q_h + i0 * Q_t, Q_t, Q_c, n, D, rows);
        copy_rows(dy_block, E_PAD, DY + DY_at + b * DY_b + h * DY_h + i0 * DY_t, DY_t, DY_c, n, E, rows);
        for (int i = 0; i < rows; i++) {
          const float own = i < n ? L[L_at + of_row + i] : 0.0f;
          logsum[i] = own == -INFINITY ? 0.0f : own;
          delta[i] = i < n ? Delta[Delta_at + of_row + i] : 0.0f;
          low[i] = i < n ? FIRST_SEEN(i0 + i) : 0;
          high[i] = i < n ? end_seen(i0 + i + offset, after, keys) : 0;
        }

        for (int i = 0; i < rows; i += MR) {
          vec acc[MR][NV];
          TILE_CLEAR(acc, MR, NV);
          product(acc, q_block + i * D_PAD, D_PAD, 1, k_tile, D_PAD);
          UNROLL for (int r = 0; r < MR; r++) UNROLL for (int u = 0; u < NV; u++) {
            const int at = (i + r) * TILE + u * VW, key = j0 + u * VW;
            vec chain, s = cap_score(acc[r][u], cap, &chain);
#if MASK
            s += read_mask(M + M_at + b * M_b + h * M_h + min(i0 + i + r, Tq - 1) * M_t + key * M_c, M_c, Tk - key);
#endif
            if (key < low[i + r] || key + VW > high[i + r])
              s = select((vec)(-INFINITY), s, (key + LANES >= low[i + r]) & (key + LANES < high[i + r]));
            const vec w = power_of_2(s - logsum[i + r]);
            STOREV(f32, VW, w * chain * slope, ds_block, at);
#if DROPOUT
            const vec kept =
                kept_lanes((ulong)(of_row + i + r) * Tk + key, 1, time, key_low, key_high, keep, keep_scale);
            STOREV(f32, VW, kept, kept_block, at);
            STOREV(f32, VW, w * kept, w_block, at);
#else
            STOREV(f32, VW, w, w_block, at);
#endif
          }
        }
        weigh_gradients(ds_block, dy_block, v_tile, delta, kept_block, rows);
        add_product(dv_tile, dy_block, E_PAD, w_block, n);
        add_product(dk_tile, q_block, D_PAD, ds_block, n);
        add_to_queries(p + (h - g * heads) * p_head + (long)i0 * D_PAD, ds_block, k_rows, rows);
      }
    if (DK) transpose_out(DK + DK_at + (((long)b * Tk + j0) * G + g) * D, (long)G * D, dk_tile, j1 - j0, D);
    if (DV) transpose_out(DV + DV_at + (((long)b * Tk + j0) * G + g) * E, (long)G * E, dv_tile, j1 - j0, E);
  }
}
