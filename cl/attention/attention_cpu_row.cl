/* attention/attention_cpu_row.cl: y = softmax(score) v for few queries, as when text is generated: a query a work-item,
 * with an online softmax. CPU class. A step takes KEYS keys: scores first, by products whose lanes are elements of a
 * head and which are added up for VW keys at once; then the sum of v's rows. Each row is read once and as a whole: a
 * long cache takes as long as memory takes to read it.
 *
 *   Y (B, Tq, H, E), L (B, H, Tq): as attention_cpu.cl has them
 *   WHOLE   1: D and E are D_PAD and E_PAD, and elements of k and of v are adjacent
 *
 * NDRange (Tq, H, B), work-groups of one work-item. */
#include "attention/cpu_tile.clh"

#ifndef WHOLE
#define WHOLE 0
#endif
#define KEYS 64
/* Columns of a row that are in registers at once. */
#define AT_ONCE(pad) ((pad) <= 128 ? (pad) : 32)
#if WHOLE
#define PART(x, step, c, columns) MICA_AS(float, VW, LOADV(Q_T, VW, x, c))
#else
#define PART(x, step, c, columns) read_row(x, step, c, columns)
#endif

DEFINE_PACKED(ATTENTION_VALUES + 3 * TENSOR_VALUES + 2);

/* The largest lane. */
INLINE float largest(const vec x) {
  float lanes[VW];
  MICA_VSTORE(VW, x, lanes, 0);
  UNROLL for (int s = VW / 2; s > 0; s /= 2) UNROLL for (int l = 0; l < s; l++) lanes[l] =
      lanes[l + s] > lanes[l] ? lanes[l + s] : lanes[l];
  return lanes[0];
}

INLINE float sum_of(const vec x) {
  float lanes[VW], sum = 0;
  MICA_VSTORE(VW, x, lanes, 0);
  for (int l = 0; l < VW; l++) sum += lanes[l];
  return sum;
}

/* Fetches what the next step reads at these columns. Rows of a cache lie apart, with other heads' between them, and
 * processors fetch ahead by themselves only what is adjacent. */
#define FETCH(row, row_step, column_step, c, pad)                                                                      \
  UNROLL for (int u = 0; u < AT_ONCE(pad) / VW; u++) PREFETCH_FAR(row + KEYS * row_step + (c + u * VW) * column_step)

/* Products of q with VW rows of k, of which those behind `last` are `last`. */
INLINE vec products(__local const float *q, elements k, const long row_step, const long column_step, const int last,
                    const int columns) {
  vec t[VW];
  UNROLL for (int r = 0; r < VW; r++) t[r] = (vec)(0.0f);
  for (int c = 0; c < D_PAD; c += AT_ONCE(D_PAD)) {
    vec q_[AT_ONCE(D_PAD) / VW];
    UNROLL for (int u = 0; u < AT_ONCE(D_PAD) / VW; u++) q_[u] = MICA_VLOAD(VW, q, c + u * VW);
    UNROLL for (int r = 0; r < VW; r++) {
      elements row = k + min(r, last) * row_step;
      FETCH(row, row_step, column_step, c, D_PAD);
      UNROLL for (int u = 0; u < AT_ONCE(D_PAD) / VW; u++) t[r] =
          fma(q_[u], PART(row, column_step, c + u * VW, columns), t[r]);
    }
  }
  TRANSPOSE(vec, VW, t)
  UNROLL for (int s = VW / 2; s > 0; s /= 2) UNROLL for (int r = 0; r < s; r++) t[r] += t[r + s];
  return t[0];
}

/* y = y * shrink + the sum over r < count of weights[r] v[r]. */
INLINE void add_rows(__local float *y, __local const float *weights, const float shrink, elements v,
                     const long row_step, const long column_step, const int count, const int columns) {
  for (int c = 0; c < E_PAD; c += AT_ONCE(E_PAD)) {
    vec y_[AT_ONCE(E_PAD) / VW];
    UNROLL for (int u = 0; u < AT_ONCE(E_PAD) / VW; u++) y_[u] = MICA_VLOAD(VW, y, c + u * VW) * shrink;
    for (int r = 0; r < count; r++) {
      elements row = v + r * row_step;
      FETCH(row, row_step, column_step, c, E_PAD);
      const vec weight = (vec)(weights[r]);
      UNROLL for (int u = 0; u < AT_ONCE(E_PAD) / VW; u++) y_[u] =
          fma(weight, PART(row, column_step, c + u * VW, columns), y_[u]);
    }
    UNROLL for (int u = 0; u < AT_ONCE(E_PAD) / VW; u++) STOREV(f32, VW, y_[u], y, c + u * VW);
  }
}

CPU_KERNEL attention_cpu_row(ATTENTION_BUFFERS, elements Q, elements K, elements V, __global STORAGE(Q_T) * Y,
                             __global float *L, const mica_packed packed) {
  ATTENTION_UNPACK;
  UNPACK_HEADS;
  const long Y_at = UNPACK(i64), L_at = UNPACK(i64);
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
