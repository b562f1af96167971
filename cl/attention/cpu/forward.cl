/* attention/cpu/forward.cl: y = softmax(score) v, a tile of queries a work-item, with an online softmax (Milakov and
 * Gimelshein 2018). CPU class; lanes are queries.
 *
 *   Y (B, Tq, H, E), L (B, H, Tq): the logarithm to base 2 of a row's sum of e^score, -infinity where nothing is seen
 *
 * NDRange (tiles of TILE queries, H, B), work-groups of one work-item. The last tile, which with causality sees most
 * keys, comes first. */
#include "attention/cpu_tile.clh"

DEFINE_PACKED_FIELDS(FORWARD_FIELDS);

CPU_KERNEL attention_cpu(ATTENTION_BUFFERS, elements Q, elements K, elements V, __global STORAGE(Q_T) * Y,
                         __global float *L, const mica_packed packed) {
  UNPACK_FIELDS(FORWARD_FIELDS);
  DROPOUT_TIME;
  __local float q_tile[D_PAD * TILE] ALIGNED, y_tile[E_PAD * TILE] ALIGNED, s_tile[BLOCK * TILE] ALIGNED,
      block[BLOCK * LARGER_PAD] ALIGNED;
  const int i0 = ((int)get_num_groups(0) - 1 - (int)get_group_id(0)) * TILE, i1 = min(i0 + TILE, Tq);
  const int h = get_group_id(1), b = get_group_id(2), g = (int)((long)h * G / H), keys = KEYS_OF(b);
  const long offset = OFFSET_OF(b);
  const int begin = LEAST_SEEN(i0, i1), end = end_seen(i1 - 1 + offset, after, keys);
  /* Keys that all lanes see. */
  const int from_all = MOST_SEEN(i0, i1), to_all = end_seen(i0 + offset, after, keys);
  elements k = K + K_at + b * K_b + g * K_h, v = V + V_at + b * V_b + g * V_h;
  vec most[NV], sum[NV];
  veci low[NV], high[NV];
  transpose_in(q_tile, D_PAD, Q + Q_at + b * Q_b + h * Q_h + i0 * Q_t, Q_t, Q_c, i1 - i0, D, product_scale);
  LANES_SEE(low, high);
  UNROLL for (int u = 0; u < NV; u++) most[u] = (vec)(SINK_OF(h)), sum[u] = (vec)(SINK_SHARE);
  clear(y_tile, E_PAD * TILE);

  for (int j0 = begin; j0 < end; j0 += BLOCK) {
    const int n = min(BLOCK, end - j0);
    vec now[NV], shrink[NV], base[NV];
    UNROLL for (int u = 0; u < NV; u++) now[u] = most[u];
    copy_rows(block, D_PAD, k + j0 * K_t, K_t, K_c, n, D, WHOLE_TILES(n));
    for (int j = 0; j < n; j += MR) {
      vec acc[MR][NV];
      TILE_CLEAR(acc, MR, NV);
      product(acc, block + j * D_PAD, D_PAD, 1, q_tile, D_PAD);
      const bool partly = j0 + j < from_all || j0 + j + MR > to_all;
      UNROLL for (int i = 0; i < MR; i++) UNROLL for (int u = 0; u < NV; u++) {
        vec chain, s = cap_score(acc[i][u], cap, &chain);
#if MASK
        const int key = min(j0 + j + i, Tk - 1), query = i0 + u * VW;
        s += read_mask(M + M_at + b * M_b + h * M_h + query * M_t + key * M_c, M_t, Tq - query);
#endif
        if (partly) s = select((vec)(-INFINITY), s, (j0 + j + i >= low[u]) & (j0 + j + i < high[u]));
        now[u] = larger(s, now[u]);
        STOREV(f32, VW, s, s_tile, (j + i) * TILE + u * VW);
      }
    }
    UNROLL for (int u = 0; u < NV; u++) {
      base[u] = select(now[u], (vec)(0.0f), now[u] == -INFINITY);
      shrink[u] = power_of_2(most[u] - base[u]);
      most[u] = now[u];
      sum[u] *= shrink[u];
    }
    for (int j = 0; j < n; j++) UNROLL for (int u = 0; u < NV; u++) {
        vec p = power_of_2(MICA_VLOAD(VW, s_tile, j * TILE + u * VW) - base[u]);
        sum[u] += p;
#if DROPOUT
        p *= kept_lanes((((ulong)b * H + h) * Tq + i0 + u * VW) * Tk + j0 + j, Tk, time, key_low, key_high, keep,
                        keep_scale);
#endif
        STOREV(f32, VW, p, s_tile, j * TILE + u * VW);
      }
    copy_rows(block, E_PAD, v + j0 * V_t, V_t, V_c, n, E, n);
    for (int c = 0; c < E_PAD; c += MR) {
      vec acc[MR][NV];
      TILE_EACH(MR, NV) acc[i][j] = MICA_VLOAD(VW, y_tile, (c + i) * TILE + j * VW) * shrink[j];
      product(acc, block + c, 1, E_PAD, s_tile, n);
      TILE_STORE(acc, MR, NV, y_tile + c * TILE, TILE);
    }
  }

  UNROLL for (int u = 0; u < NV; u++) {
    const vec inverse = select(1.0f / sum[u], (vec)(0.0f), sum[u] == 0.0f);
    const vec logsum = select(most[u] + log2(sum[u]), (vec)(-INFINITY), sum[u] == 0.0f);
    float lanes[VW];
    for (int c = 0; c < E; c++)
      STOREV(f32, VW, MICA_VLOAD(VW, y_tile, c * TILE + u * VW) * inverse, y_tile, c * TILE + u * VW);
    MICA_VSTORE(VW, logsum, lanes, 0);
    for (int l = 0; L && l < VW && i0 + u * VW + l < i1; l++)
      L[L_at + ((long)b * H + h) * Tq + i0 + u * VW + l] = lanes[l];
  }
  transpose_out(Y + Y_at + (((long)b * Tq + i0) * H + h) * E, (long)H * E, y_tile, i1 - i0, E);
}
