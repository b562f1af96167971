/* attention/attention_cpu_row.cl: y = softmax(score) v for few queries, as when text is generated: a query a work-item,
 * with an online softmax. CPU class; lanes are elements of a head in both products, and keys in between, VW at a time.
 *
 *   Y (B, Tq, H, E), L (B, H, Tq): as attention_cpu.cl has them
 *
 * NDRange (Tq, H, B), work-groups of one work-item. */
#include "attention/cpu_tile.clh"

DEFINE_PACKED(ATTENTION_VALUES + 3 * TENSOR_VALUES + 2);

/* The largest lane. */
INLINE float largest(const vec x) {
  float lanes[VW], most = -INFINITY;
  MICA_VSTORE(VW, x, lanes, 0);
  for (int l = 0; l < VW; l++) most = fmax(lanes[l], most);
  return most;
}

INLINE float sum_of(const vec x) {
  float lanes[VW], sum = 0;
  MICA_VSTORE(VW, x, lanes, 0);
  for (int l = 0; l < VW; l++) sum += lanes[l];
  return sum;
}

/* Products of q with the VW rows of k from row j on, those behind `end` with the last. */
INLINE vec products(__local const float *q, elements k, const long row_step, const long column_step, const int j,
                    const int end, const int columns) {
  vec t[VW];
  UNROLL for (int r = 0; r < VW; r++) t[r] = (vec)(0.0f);
  for (int c = 0; c < columns; c += VW) {
    const vec q_ = MICA_VLOAD(VW, q, c);
    UNROLL for (int r = 0; r < VW; r++) t[r] =
        fma(q_, read_row(k + min(j + r, end - 1) * row_step, column_step, c, columns), t[r]);
  }
  TRANSPOSE(vec, VW, t)
  vec sum = t[0];
  UNROLL for (int r = 1; r < VW; r++) sum += t[r];
  return sum;
}

CPU_KERNEL attention_cpu_row(ATTENTION_BUFFERS, elements Q, elements K, elements V, __global STORAGE(Q_T) * Y,
                             __global float *L, const mica_packed packed) {
  ATTENTION_UNPACK;
  UNPACK_HEADS;
  const long Y_at = UNPACK(i64), L_at = UNPACK(i64);
  DROPOUT_TIME;
  __local float q_row[D_PAD] ALIGNED, y_row[E_PAD] ALIGNED, weights[VW] ALIGNED;
  const int i = get_group_id(0), h = get_group_id(1), b = get_group_id(2), g = (int)((long)h * G / H);
  const int keys = KEYS_OF(b);
  const long offset = OFFSET_OF(b);
  const int begin = first_seen(i + offset, before, keys), end = end_seen(i + offset, after, keys);
  elements q = Q + Q_at + b * Q_b + h * Q_h + i * Q_t, k = K + K_at + b * K_b + g * K_h,
           v = V + V_at + b * V_b + g * V_h;
  float most = -INFINITY;
  vec sum = (vec)(0.0f);
  for (int c = 0; c < D_PAD; c += VW) STOREV(f32, VW, read_row(q, Q_c, c, D) * product_scale, q_row, c);
  clear(y_row, E_PAD);

  for (int j = begin; j < end; j += VW) {
    vec chain, s = cap_score(products(q_row, k, K_t, K_c, j, end, D), cap, &chain);
#if MASK
    s += read_mask(M + M_at + b * M_b + h * M_h + i * M_t + j * M_c, M_c, end - j);
#endif
    s = select((vec)(-INFINITY), s, LANES < end - j);
    const float next = fmax(most, largest(s)), base = next == -INFINITY ? 0.0f : next;
    const vec shrink = power_of_2((vec)(most - base));
    most = next;
    vec p = power_of_2(s - base);
    sum = sum * shrink + p;
#if DROPOUT
    p *= kept_lanes((((ulong)b * H + h) * Tq + i) * Tk + j, 1, time, key_low, key_high, keep, keep_scale);
#endif
    STOREV(f32, VW, p, weights, 0);
    for (int c = 0; c < E; c += VW) {
      vec y = MICA_VLOAD(VW, y_row, c) * shrink;
      UNROLL for (int r = 0; r < VW; r++) y =
          fma((vec)(weights[r]), read_row(v + min(j + r, end - 1) * V_t, V_c, c, E), y);
      STOREV(f32, VW, y, y_row, c);
    }
  }

  const float total = sum_of(sum), inverse = total == 0.0f ? 0.0f : 1.0f / total;
  const long at = ((long)b * Tq + i) * H + h;
  for (int c = 0; c < E; c += VW) write_row(Y + Y_at + at * E, MICA_VLOAD(VW, y_row, c) * inverse, c, E);
  if (L) L[L_at + ((long)b * H + h) * Tq + i] = total == 0.0f ? -INFINITY : most + log2(total);
}
