/* attention/decode_cpu.cl: attention of one new position of each sequence, with its cache, on CPUs; decode.clh has the
 * contract. A work-item computes one head of one sequence, with the online softmax of attention/cpu/row.cl. The new key
 * is its first key.
 *
 *   WHOLE   1: D is D_PAD
 *
 * NDRange (H, B), work-groups of one work-item. */
#include "attention/decode.clh"
#define E_PAD D_PAD
#define ROW_T C_T
#include "attention/cpu_row.clh"

#if SCALED
#define SCALES_AT(x, j) , x + x##_at + (first + (j)) * scale_step + scale_column, scale_step, last_scale
#else
#define SCALES_AT(x, j)
#endif

DEFINE_PACKED_FIELDS(DECODE_FIELDS);

INLINE void read_whole(__local float *to, elements x, const long step, const int columns) {
  for (int c = 0; c < D_PAD; c += VW) STOREV(f32, VW, read_row(x, step, c, columns), to, c);
}

INLINE void norm_row(__local float *row, elements scale, const float epsilon, const int columns) {
  vec sum = 0;
  for (int c = 0; c < D_PAD; c += VW) {
    const vec x = MICA_VLOAD(VW, row, c);
    sum = fma(x, x, sum);
  }
  const float factor = 1.0f / sqrt(sum_of(sum) / columns + epsilon);
  for (int c = 0; c < D_PAD; c += VW)
    STOREV(f32, VW, MICA_VLOAD(VW, row, c) * factor * read_row(scale, 1, c, columns), row, c);
}

INLINE void rotate_row(__local float *row, __local const float *cosines, __local const float *sines, const int pairs) {
  for (int i = 0; i < pairs; i++) {
    const float a = row[PAIR_FIRST(i)], z = row[PAIR_SECOND(i)];
    row[PAIR_FIRST(i)] = a * cosines[i] - z * sines[i];
    row[PAIR_SECOND(i)] = z * cosines[i] + a * sines[i];
  }
}

/* Rounds a row to the type of the cache, in place. If `writes`, also writes the rounded row to `to` and, for an i8
 * cache, its scales to `scales`. */
INLINE void keep_row(__local float *row, __global STORAGE(C_T) * to, __global half *scales, const int columns,
                     const int shift, const int writes) {
#if SCALED
  for (int s = 0; s <= (columns - 1) >> shift; s++) {
    const float scale = scale_of(row, s, shift, columns);
    if (writes) STORE(f16, scale, scales, s);
    for (int c = s << shift; c < min(columns, (s + 1) << shift); c++) {
      const int steps = steps_of(row[c], scale);
      row[c] = steps * scale;
      if (writes) STORE(i8, steps, to, c);
    }
  }
#else
  for (int c = 0; c < D_PAD; c++) row[c] = NARROWED(row[c]);
  for (int c = 0; writes && c < D_PAD; c += VW) write_part(to, MICA_VLOAD(VW, row, c), c, columns);
#endif
}

CPU_KERNEL attention_decode_cpu(DECODE_BUFFERS, const mica_packed packed) {
  UNPACK_FIELDS(DECODE_FIELDS);
  __local float q_row[D_PAD] ALIGNED, k_row[D_PAD] ALIGNED, y_row[D_PAD] ALIGNED, weights[KEYS] ALIGNED;
  __local float cosines[D_PAD / 2] ALIGNED, sines[D_PAD / 2] ALIGNED;
  DECODE_TASK;
  read_whole(q_row, Q + Q_at + b * Q_b + h * Q_h, Q_c, D);
  read_whole(k_row, K + K_at + b * K_b + g * K_h, K_c, D);
  read_whole(y_row, V + V_at + b * V_b + g * V_h, V_c, D);
#if NORM
  norm_row(q_row, q_scale + q_scale_at, epsilon, D);
  norm_row(k_row, k_scale + k_scale_at, epsilon, D);
#endif
#if ROTARY
  for (int c = 0; c < pairs; c += VW) {
    const vec angle = read_row(frequencies + frequencies_at, 1, c, pairs) * (float)position;
    STOREV(f32, VW, cos(angle) * rotary_scale, cosines, c);
    STOREV(f32, VW, sin(angle) * rotary_scale, sines, c);
  }
  rotate_row(q_row, cosines, sines, pairs);
  rotate_row(k_row, cosines, sines, pairs);
#endif
  const int writes = own && h % shared == 0;
  keep_row(k_row, KC + KC_at + written, KS + KS_at + scale_written, D, shift, writes);
  keep_row(y_row, VC + VC_at + written, VS + VS_at + scale_written, D, shift, writes);
  vec product_of = 0, chain;
  for (int c = 0; c < D_PAD; c += VW) {
    const vec q = MICA_VLOAD(VW, q_row, c) * product_scale;
    STOREV(f32, VW, q, q_row, c);
    product_of = fma(q, MICA_VLOAD(VW, k_row, c), product_of);
  }
  /* The softmax begins with the new key and the sink. The loop below adds the cached keys. */
  const float score = own ? cap_score((vec)(sum_of(product_of)), cap, &chain).s0 : -INFINITY;
  const float sink = sinks ? LOG2_E * sinks[sinks_at + h] : -INFINITY;
  float most = score > sink ? score : sink;
  const float from = most == -INFINITY ? 0.0f : most;
  const float share = power_of_2((vec)(score - from)).s0;
  vec sum = select((vec)(0.0f), (vec)(share + power_of_2((vec)(sink - from)).s0), LANES == 0);
  for (int c = 0; c < D_PAD; c += VW) STOREV(f32, VW, MICA_VLOAD(VW, y_row, c) * share, y_row, c);

  rows_of keys = KC + KC_at + first * width + column, values = VC + VC_at + first * width + column;
  for (int j = begin; j < end; j += KEYS) {
    const int count = min(KEYS, end - j);
    vec high = (vec)(-INFINITY);
    for (int r = 0; r < count; r += VW) {
      vec s = cap_score(products(q_row, keys + (j + r) * width, width, 1, count - 1 - r, D SCALES_AT(KS, j + r)), cap,
                        &chain);
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
      const vec p = power_of_2(MICA_VLOAD(VW, weights, r) - base);
      sum += p;
      STOREV(f32, VW, p, weights, r);
    }
    add_rows(y_row, weights, shrink.s0, values + j * width, width, 1, count, D SCALES_AT(VS, j));
  }
  const float total = sum_of(sum), inverse = total == 0.0f ? 0.0f : 1.0f / total;
  const long at = Y_at + ((long)b * H + h) * D;
  for (int c = 0; c < D; c += VW) write_row(Y + at, MICA_VLOAD(VW, y_row, c) * inverse, c, D);
}
