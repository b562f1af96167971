/* attention/cpu/row.cl: y = softmax(score) v for few queries, for example one query per step of text generation. One
 * work-item computes one query, with an online softmax over KEYS keys per step. CPU class.
 *
 * A step first computes the scores of its keys: q . k of VW keys at a time, where the lanes of a vector hold
 * neighbouring elements of one key. Then it adds the weighted rows of v to y. Each row of k and v is read once, from
 * its first to its last element, so that memory bandwidth bounds the time for a long cache.
 *
 *   Y (B, Tq, H, E), L (B, H, Tq): the same as in attention/cpu/forward.cl
 *   WHOLE   1: D == D_PAD, E == E_PAD, and the elements of a row of k or v are adjacent
 *
 * NDRange (Tq, H, B), work-groups of one work-item. */
#include "attention/cpu_row.clh"

DEFINE_PACKED_FIELDS(FORWARD_FIELDS);

CPU_KERNEL attention_cpu_row(ATTENTION_BUFFERS, elements Q, elements K, elements V, __global STORAGE(Q_T) * Y,
                             __global float *L, const mica_packed packed) {
  UNPACK_FIELDS(FORWARD_FIELDS);
  DROPOUT_TIME;
  __local float q_row[D_PAD] ALIGNED, y_row[E_PAD] ALIGNED, weights[KEYS] ALIGNED;
  const int i = get_group_id(0), h = get_group_id(1), b = get_group_id(2), g = (int)((long)h * G / H);
  const int keys = KEYS_OF(b);
  const long offset = OFFSET_OF(b);
  const int begin = FIRST_SEEN(i), end = end_seen(i + offset, after, keys);
  elements q = Q + Q_at + b * Q_b + h * Q_h + i * Q_t, k = K + K_at + b * K_b + g * K_h,
           v = V + V_at + b * V_b + g * V_h;
  float most = SINK_OF(h);
  vec sum = select((vec)(0.0f), (vec)(SINK_SHARE), LANES == 0);
  for (int c = 0; c < D_PAD; c += VW) STOREV(f32, VW, read_row(q, Q_c, c, D) * product_scale, q_row, c);
  clear(y_row, E_PAD);

  for (int j = begin; j < end; j += KEYS) {
    const int count = min(KEYS, end - j);
    vec high = (vec)(-INFINITY);
    for (int r = 0; r < count; r += VW) {
      vec chain, s = cap_score(products(q_row, k + (j + r) * K_t, K_t, K_c, count - 1 - r, D), cap, &chain);
#if MASK
      s += read_mask(M + M_at + b * M_b + h * M_h + i * M_t + (j + r) * M_c, M_c, count - r);
#endif
      s = select((vec)(-INFINITY), s, LANES < count - r);
      high = larger(s, high);
      STOREV(f32, VW, s, weights, r);
    }
    const float step_most = largest(high), next = step_most > most ? step_most : most,
                base = next == -INFINITY ? 0.0f : next;
    const vec shrink = power_of_2((vec)(most - base));
    most = next;
    sum *= shrink;
    for (int r = 0; r < count; r += VW) {
      vec p = power_of_2(MICA_VLOAD(VW, weights, r) - base);
      sum += p;
#if DROPOUT
      p *= kept_lanes((((ulong)b * H + h) * Tq + i) * Tk + j + r, 1, time, key_low, key_high, keep, keep_scale);
#endif
      STOREV(f32, VW, p, weights, r);
    }
    add_rows(y_row, weights, shrink.s0, v + j * V_t, V_t, V_c, count, E);
  }

  const float total = sum_of(sum), inverse = total == 0.0f ? 0.0f : 1.0f / total;
  const long at = ((long)b * Tq + i) * H + h;
  for (int c = 0; c < E; c += VW) write_row(Y + Y_at + at * E, MICA_VLOAD(VW, y_row, c) * inverse, c, E);
  if (L) L[L_at + ((long)b * H + h) * Tq + i] = total == 0.0f ? -INFINITY : most + log2(total);
}
