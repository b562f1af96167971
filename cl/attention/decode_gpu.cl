/* attention/decode_gpu.cl: attention of one new position of each sequence, with its cache, on GPUs; decode.clh has the
 * contract. A work-group computes one head of one sequence, LANES keys per step. SHARE work-items compute q . k of one
 * key together, so that adjacent work-items read adjacent elements. Then each work-item computes the weight of one key,
 * and some columns of the weighted sum of values.
 *
 *   LANES   work-items of a group, a power of two
 *
 * NDRange (H LANES, B), work-groups of LANES work-items. */
#include "attention/decode.clh"
#include "attention/problem.clh"

#define SHARE 8
#define COLUMNS ((D_PAD + LANES - 1) / LANES)

DEFINE_PACKED_FIELDS(DECODE_FIELDS);

/* Defines a function that reduces one value per work-item to one value (the expression `joined` combines a and z), and
 * returns it in every work-item. All work-items of the group must call it. */
#define JOIN_LANES(label, joined)                                                                                      \
  static inline float label(__local float *lanes, const int lane, const float value) {                                 \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
    lanes[lane] = value;                                                                                               \
    for (int s = LANES / 2; s > 0; s /= 2) {                                                                           \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                                    \
      if (lane < s) {                                                                                                  \
        const float a = lanes[lane], z = lanes[lane + s];                                                              \
        lanes[lane] = joined;                                                                                          \
      }                                                                                                                \
    }                                                                                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
    return lanes[0];                                                                                                   \
  }
JOIN_LANES(sum_lanes, a + z)
JOIN_LANES(most_lanes, a > z ? a : z)

static inline void norm_row(__local float *row, __local float *lanes, const int lane, __global const float *scale,
                            const float epsilon, const int columns) {
  float sum = 0;
  for (int c = lane; c < columns; c += LANES) sum = fma(row[c], row[c], sum);
  const float factor = 1.0f / sqrt(sum_lanes(lanes, lane, sum) / columns + epsilon);
  for (int c = lane; c < columns; c += LANES) row[c] *= factor * scale[c];
}

static inline void rotate_pair(__local float *row, const int first, const int second, const float cosine,
                               const float sine) {
  const float a = row[first], z = row[second];
  row[first] = a * cosine - z * sine;
  row[second] = z * cosine + a * sine;
}

/* Feature c of a row, rounded to the type of the cache. If `writes`, also writes it to `to`. For an i8 cache, the first
 * feature of each block of 1 << shift also writes the block's scale to `scales`. */
static inline float keep_feature(__local const float *row, const int c, __global STORAGE(C_T) * to,
                                 __global half *scales, const int columns, const int shift, const int writes) {
#if SCALED
  const float scale = scale_of(row, c >> shift, shift, columns);
  const int steps = steps_of(row[c], scale);
  if (writes) STORE(i8, steps, to, c);
  if (writes && (c & ((1 << shift) - 1)) == 0) STORE(f16, scale, scales, c >> shift);
  return steps * scale;
#else
  const float kept = NARROWED(row[c]);
  if (writes) STORE(C_T, kept, to, c);
  return kept;
#endif
}

/* Feature c of row r of a cache; x is `keys` or `values`. Row 0 is row `first` of the cache. */
#if SCALED
#define CACHED(x, r, c)                                                                                                \
  ((float)x[(r)*width + (c)] * vload_half((first + (r)) * scale_step + scale_column + ((c) >> shift), x##_scales))
#else
#define CACHED(x, r, c) ((float)LOAD(C_T, x, (r)*width + (c)))
#endif

static inline float score_of(const float product, const float product_scale, const float cap) {
#if SOFT_CAP
  return cap * tanh(product * product_scale);
#else
  return product * product_scale;
#endif
}

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void attention_decode_gpu(DECODE_BUFFERS,
                                                                                      const mica_packed packed) {
  UNPACK_FIELDS(DECODE_FIELDS);
  __local float q_row[D_PAD], k_row[D_PAD], v_row[D_PAD], lanes[LANES], weights[LANES], partial[LANES * SHARE];
  DECODE_TASK;
  const int lane = get_local_id(0);
  for (int c = lane; c < D; c += LANES) {
    q_row[c] = Q[Q_at + b * Q_b + h * Q_h + c * Q_c];
    k_row[c] = K[K_at + b * K_b + g * K_h + c * K_c];
    v_row[c] = V[V_at + b * V_b + g * V_h + c * V_c];
  }
#if NORM
  norm_row(q_row, lanes, lane, q_scale + q_scale_at, epsilon, D);
  norm_row(k_row, lanes, lane, k_scale + k_scale_at, epsilon, D);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
#if ROTARY
  for (int i = lane; i < pairs; i += LANES) {
    const float angle = (float)position * frequencies[frequencies_at + i];
    const float cosine = cos(angle) * rotary_scale, sine = sin(angle) * rotary_scale;
    rotate_pair(q_row, PAIR_FIRST(i), PAIR_SECOND(i), cosine, sine);
    rotate_pair(k_row, PAIR_FIRST(i), PAIR_SECOND(i), cosine, sine);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  const int writes = own && h % shared == 0;
  float product = 0, y[COLUMNS];
  for (int c = lane; c < D; c += LANES)
    product = fma(q_row[c], keep_feature(k_row, c, KC + KC_at + written, KS + KS_at + scale_written, D, shift, writes),
                  product);
  const float score = own ? score_of(sum_lanes(lanes, lane, product), product_scale, cap) : -(float)INFINITY;
  const float sink = sinks ? (float)LOG2_E * sinks[sinks_at + h] : -(float)INFINITY;
  float most = score > sink ? score : sink;
  const float from = most == -(float)INFINITY ? 0.0f : most, share = exp2(score - from);
  float sum = share + exp2(sink - from);
  UNROLL for (int u = 0; u < COLUMNS; u++) {
    const int c = lane + u * LANES;
    y[u] = 0;
    if (c >= D || !own) continue;
    y[u] = share * keep_feature(v_row, c, VC + VC_at + written, VS + VS_at + scale_written, D, shift, writes);
  }

  __global const STORAGE(C_T) *keys = KC + KC_at + first * width + column,
                              *values = VC + VC_at + first * width + column;
#if SCALED
  __global const half *keys_scales = KS + KS_at, *values_scales = VS + VS_at;
#endif
  for (int j = begin; j < end; j += LANES) {
    const int count = min(LANES, end - j);
    barrier(CLK_LOCAL_MEM_FENCE); /* wait until the weights and parts of the last step have been read */
    for (int r = lane / SHARE; r < count; r += LANES / SHARE) {
      float part = 0;
      for (int c = lane % SHARE; c < D; c += SHARE) part = fma(q_row[c], CACHED(keys, j + r, c), part);
      partial[r * SHARE + lane % SHARE] = part;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float s = 0;
    for (int k = 0; lane < count && k < SHARE; k++) s += partial[lane * SHARE + k];
    s = lane < count ? score_of(s, product_scale, cap) : -(float)INFINITY;
    const float step_most = most_lanes(lanes, lane, s), next = step_most > most ? step_most : most;
    const float base = next == -(float)INFINITY ? 0.0f : next, shrink = exp2(most - base), p = exp2(s - base);
    most = next;
    weights[lane] = p;
    sum = sum * shrink + sum_lanes(lanes, lane, p);
    UNROLL for (int u = 0; u < COLUMNS; u++) {
      const int c = lane + u * LANES;
      if (c >= D) continue;
      float column_sum = y[u] * shrink;
      for (int r = 0; r < count; r++) column_sum = fma(weights[r], CACHED(values, j + r, c), column_sum);
      y[u] = column_sum;
    }
  }
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  UNROLL for (int u = 0; u < COLUMNS; u++) if (lane + u * LANES < D)
      Y[Y_at + ((long)b * H + h) * D + lane + u * LANES] = y[u] * inverse;
}
