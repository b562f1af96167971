/* attention/cpu/forward.cl: y = softmax(score) v with an online softmax (Milakov and Gimelshein 2018). CPU class. Each
 * lane of a vector computes one query.
 *
 *   Y (B, Tq, H, E)   the result
 *   L (B, H, Tq)      log2 of a query's softmax denominator: the sum of e^score over the keys that it sees, plus
 *                     e^sink of its head. -infinity if it sees no key and there is no sink. L may be null
 *
 * A work-item owns up to TILES tiles of queries. It copies a block of keys and values, BLOCK rows of each, and
 * processes all of its tiles with that block before it copies the next one.
 *
 * NDRange (work-groups per head, H, B), work-groups of one work-item. The tiles of TILE queries of a head are divided
 * evenly among its work-groups. Group 0 gets the last tiles: with a causal mask they see most keys and take longest. */
#include "attention/cpu_tile.clh"

DEFINE_PACKED_FIELDS(FORWARD_FIELDS);

INLINE void fill(__local float *to, const float value, const int count) {
  for (int c = 0; c < count; c += VW) STOREV(f32, VW, (vec)(value), to, c);
}

/* The step of the online softmax after the maxima of a tile have risen from `most` to `now`, lane by lane:
 *   base     `now`, or 0 in a lane that has seen no key yet
 *   shrink   2^(most - base), the factor for all earlier sums
 *   sum      sum_before * shrink
 * It ends by writing `now` to `most`. */
INLINE void rescale(__private const vec now[NV], __local float *most, __local const float *sum_before,
                    __private vec base[NV], __private vec shrink[NV], __private vec sum[NV]) {
  UNROLL for (int u = 0; u < NV; u++) {
    base[u] = select(now[u], (vec)(0.0f), now[u] == -INFINITY);
    shrink[u] = relative_weight(MICA_VLOAD(VW, most, u * VW) - base[u]);
    sum[u] = MICA_VLOAD(VW, sum_before, u * VW) * shrink[u];
    STOREV(f32, VW, now[u], most, u * VW);
  }
}

/* y[c][lanes] = y[c][lanes] shrink + sum over j < n of v[j][c] weight[j][lanes]. */
INLINE void add_values(__local float *y, __private const vec shrink[NV], __local const float *v,
                       __local const float *weight, const int n) {
  for (int c = 0; c < E_PAD; c += MR) {
    vec acc[MR][NV];
    TILE_EACH(MR, NV) acc[i][j] = MICA_VLOAD(VW, y, (c + i) * TILE + j * VW) * shrink[j];
    product(acc, v + c, 1, E_PAD, weight, n);
    TILE_STORE(acc, MR, NV, y + c * TILE, TILE);
  }
}

/* Divides y of a tile by its softmax denominators, lane by lane; y is 0 if a denominator is 0. If L is not null, the
 * logarithms of the denominators of the first `rows` lanes are written to it. */
INLINE void finish_tile(__local float *y_tile, __local const float *most_of, __local const float *sum_of,
                        __global float *L, const int rows) {
  UNROLL for (int u = 0; u < NV; u++) {
    const vec most = MICA_VLOAD(VW, most_of, u * VW), sum = MICA_VLOAD(VW, sum_of, u * VW);
    const vec inverse = select(1.0f / sum, (vec)(0.0f), sum == 0.0f);
    const vec logsum = select(most + log2(sum), (vec)(-INFINITY), sum == 0.0f);
    float lanes[VW];
    for (int c = 0; c < E_PAD; c++)
      STOREV(f32, VW, MICA_VLOAD(VW, y_tile, c * TILE + u * VW) * inverse, y_tile, c * TILE + u * VW);
    MICA_VSTORE(VW, logsum, lanes, 0);
    for (int l = 0; L && l < VW && u * VW + l < rows; l++) L[u * VW + l] = lanes[l];
  }
}

CPU_KERNEL attention_cpu(ATTENTION_BUFFERS, elements Q, elements K, elements V, __global STORAGE(Q_T) * Y,
                         __global float *L, const mica_packed packed) {
  UNPACK_FIELDS(FORWARD_FIELDS);
  DROPOUT_TIME;
  __local float q_tiles[TILES * D_PAD * TILE] ALIGNED, y_tiles[TILES * E_PAD * TILE] ALIGNED,
      mosts[TILES * TILE] ALIGNED, sums[TILES * TILE] ALIGNED, s_tile[BLOCK * TILE] ALIGNED,
      k_block[BLOCK * D_PAD] ALIGNED, v_block[BLOCK * E_PAD] ALIGNED;
  const int tiles = (Tq + TILE - 1) / TILE, each = (tiles + (int)get_num_groups(0) - 1) / (int)get_num_groups(0);
  const int first = max(0, tiles - ((int)get_group_id(0) + 1) * each), last = tiles - (int)get_group_id(0) * each;
  const int h = get_group_id(1), b = get_group_id(2), g = (int)((long)h * G / H), keys = KEYS_OF(b);
  const long offset = OFFSET_OF(b);
  const int group_end = min(last * TILE, Tq);
  const int group_from = LEAST_SEEN(first * TILE, group_end), group_to = end_seen(group_end - 1 + offset, after, keys);
  elements k = K + K_at + b * K_b + g * K_h, v = V + V_at + b * V_b + g * V_h;

  for (int t = first; t < last; t++) {
    transpose_in(q_tiles + (t - first) * D_PAD * TILE, D_PAD, Q + Q_at + b * Q_b + h * Q_h + t * TILE * Q_t, Q_t, Q_c,
                 min(TILE, Tq - t * TILE), D, product_scale);
  }
  fill(mosts, SINK_OF(h), (last - first) * TILE);
  fill(sums, SINK_SHARE, (last - first) * TILE);
  clear(y_tiles, (last - first) * E_PAD * TILE);

  for (int j0 = group_from; j0 < group_to && first < last; j0 += BLOCK) {
    const int block_end = min(j0 + BLOCK, group_to);
    copy_rows(k_block, D_PAD, k + j0 * K_t, K_t, K_c, block_end - j0, D, WHOLE_TILES(block_end - j0));
    copy_rows(v_block, E_PAD, v + j0 * V_t, V_t, V_c, block_end - j0, E, block_end - j0);

    for (int t = first; t < last; t++) {
      const int i0 = t * TILE, i1 = min(i0 + TILE, Tq), state = (t - first) * TILE;
      /* No query of the tile sees a key from j0 + n on. All of them see the keys from_all .. to_all - 1. */
      const int n = min(block_end, end_seen(i1 - 1 + offset, after, keys)) - j0;
      const int from_all = MOST_SEEN(i0, i1), to_all = end_seen(i0 + offset, after, keys);
      __local const float *q_tile = q_tiles + state * D_PAD;
      vec now[NV], sum[NV], shrink[NV], base[NV];
      veci low[NV], high[NV];
      if (n <= 0 || LEAST_SEEN(i0, i1) >= block_end) continue;
      UNROLL for (int u = 0; u < NV; u++) {
        now[u] = MICA_VLOAD(VW, mosts, state + u * VW);
        low[u] = high[u] = (veci)(0);
      }
      if (j0 < from_all || j0 + WHOLE_TILES(n) > to_all) LANES_SEE(low, high);
      for (int j = 0; j < n; j += MR) {
        vec acc[MR][NV];
        TILE_CLEAR(acc, MR, NV);
        product(acc, k_block + j * D_PAD, D_PAD, 1, q_tile, D_PAD);
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
      rescale(now, mosts + state, sums + state, base, shrink, sum);
      for (int j = 0; j < n; j++) UNROLL for (int u = 0; u < NV; u++) {
          vec p = relative_weight(MICA_VLOAD(VW, s_tile, j * TILE + u * VW) - base[u]);
          sum[u] += p;
#if DROPOUT
          p *= kept_lanes((((ulong)b * H + h) * Tq + i0 + u * VW) * Tk + j0 + j, Tk, time, key_low, key_high, keep,
                          keep_scale);
#endif
          STOREV(f32, VW, p, s_tile, j * TILE + u * VW);
        }
      UNROLL for (int u = 0; u < NV; u++) STOREV(f32, VW, sum[u], sums, state + u * VW);
      add_values(y_tiles + state * E_PAD, shrink, v_block, s_tile, n);
    }
  }

  for (int t = first; t < last; t++) {
    const int i0 = t * TILE, rows = min(TILE, Tq - i0), state = (t - first) * TILE;
    finish_tile(y_tiles + state * E_PAD, mosts + state, sums + state, L ? L + L_at + ((long)b * H + h) * Tq + i0 : 0,
                rows);
    transpose_out(Y + Y_at + (((long)b * Tq + i0) * H + h) * E, (long)H * E, y_tiles + state * E_PAD, rows, E);
  }
}
