/* conv/depthwise/cpu_w.cl: depthwise convolution with stride 1 or 2, vectorised over the width, for the CPU class.
 *
 *   D[n][k][p][q] = sum over r, s < TAPS of S[n][k][p STRIDE + r - pad1][q STRIDE + s - pad2] W[k][r][s]
 *
 * with zeros outside S, whose planes are IN1 x IN2. In the backward pass to the data S is y, D is x and FLIP rotates
 * the filter by 180 degrees. With stride 2 (OUT_STRIDE 2) D then has two phases in each dimension, which read different
 * taps:
 *
 *   D[p][q] = sum over r, s with p + pad - r and q + pad - s even of S[(p + pad - r) / 2][(q + pad - s) / 2] W[r][s]
 *
 * Usually rows are stored in whole vectors, and the next row overwrites the elements that a vector writes beyond its
 * row. In these cases a plane is instead collected in local memory and stored exactly:
 *   - the last planes of a work-item, because nothing would overwrite the surplus;
 *   - the first and last planes of S, if a vector would read beyond S;
 *   - if alpha is not 1, beta is not 0 or operations are fused, because rows are stored with bias and activation only;
 *   - with non-temporal stores, if rows are not whole cache lines.
 *
 * A work-group, which has one work-item, computes PLANES consecutive planes of ALL_PLANES; an image has K planes.
 * STREAM: results are written with non-temporal stores if LANES is 16 and D is aligned to a cache line. NDRange:
 * ceil(ALL_PLANES / PLANES), 1, 1; work-group (1, 1, 1). results: OUT1 OUT2 + 16 floats. */
#ifdef MICA_EPILOGUE /* a fused epilogue may read the old contents of D */
#define DIRECT 0
#else
#define DIRECT 1
#endif
#include "common/fields.clh"
#include "common/finish.clh"
#include "common/cpu/stream.clh"
#include "conv/fields.clh"

#define ROW_TAPS (OUT_STRIDE == 1 ? TAPS : (TAPS + 1) / 2)
#include "conv/depthwise/rows.clh"

#define KNOWN_OUT (OUT_STRIDE == 1 ? OUT : 2 * SIDE)
#if SIDE
#define FOR_ROWS UNROLL for
#else
#define FOR_ROWS for
#endif

/* geometry: the sizes of a problem. target: the destination of results. If `direct`, it is D; the activation is applied
 * first, and sums begin with the bias. Otherwise it is `results`, in local memory. */
typedef struct geometry {
  int in1, in2, out1, out2, pad1, pad2;
} geometry;
typedef struct target {
  __local float *results;
  __global STORAGE(D_T) * D;
  float act_arg;
  bool direct, stream;
} target;

/* Declares g. It is a macro and not a function, because the result of an inlined function would have attributes that
 * Oclgrind 21.10 does not know. */
#define DECLARE_GEOMETRY(g)                                                                                            \
  UNPACK_INTS(DEPTHWISE_W_SIZE, size)                                                                                  \
  const geometry g = {IN1, IN2, OUT1, OUT2, pad1, pad2}

/* Declares the sizes. With SIDE they are constants, so that loops over rows are unrolled. */
#define KNOWN(known, argument) (SIDE ? (known) : (argument))
#define UNPACK_GEOMETRY                                                                                                \
  const int in1 = KNOWN(SIDE, g.in1), in2 = KNOWN(SIDE, g.in2), out1 = KNOWN(KNOWN_OUT, g.out1),                       \
            out2 = KNOWN(KNOWN_OUT, g.out2), pad1 = KNOWN(PAD, g.pad1), pad2 = KNOWN(PAD, g.pad2)

INLINE void store_row(const row v, const target to, const int at) {
#if DIRECT
  const float act_arg = to.act_arg;
  if (to.direct) {
    COMPUTEV(EPI_T, LANES) result = MICA_AS(COMPUTE(EPI_T), LANES, v);
    result = ACTIVATION(LANES, result, act_arg);
    if (LANES == 16 && to.stream)
      STREAMV(D_T, LANES, result, to.D, at);
    else
      STOREV(D_T, LANES, result, to.D, at);
    return;
  }
#endif
  STOREV(f32, LANES, v, to.results, at);
}

#if OUT_STRIDE == 1
#define OPEN ((TAPS + STRIDE - 1) / STRIDE) /* rows of D to which one row of S adds; their sums are in registers */

INLINE void convolve(const plane S, const geometry g, __private const float *w, const float start, const target to) {
  UNPACK_GEOMETRY;
  for (int first = 0; first < out2; first += VECTORS * LANES) {
    row sum[VECTORS][OPEN];
    mask masks[VECTORS][MASKS];
    int q[VECTORS];
    EACH_VECTOR(i) {
      q[i] = min(first + i * LANES, max(0, out2 - LANES));
      /* column_masks gets the variable g.in2 instead of in2, which may be a constant: if the compiler knew the masks,
       * it would split the vector loads. */
      column_masks(masks[i], g.in2, q[i] * STRIDE - pad2, 1);
      UNROLL for (int j = 0; j < OPEN; j++) sum[i][j] = (row)(start);
    }
    /* In step p, sum[i][j] is the unfinished row p - j of D. */
    FOR_ROWS(int p = 0; p < out1 + OPEN - 1; p++) {
      UNROLL for (int t = 0; t < min(STRIDE, TAPS); t++) {
        const int y = p * STRIDE + t - pad1;
        if (y < 0 || y >= in1) continue;
        EACH_VECTOR(i) {
          row x[ROW_TAPS];
          read_taps(x, S, y, in2, q[i] * STRIDE - pad2, 1, masks[i]);
          /* The loop over rows is the inner one. So successive steps add to different sums and need not wait for each
           * other. */
          UNROLL for (int s = 0; s < TAPS; s++) UNROLL for (int j = 0; j < OPEN; j++) if (t + j * STRIDE < TAPS)
              sum[i][j] = w[(t + j * STRIDE) * TAPS + s] * x[s] + sum[i][j];
        }
      }
      EACH_VECTOR(i) {
        if (p >= OPEN - 1 && first + i * LANES < out2)
          store_row(FROM_PHASES(sum[i][OPEN - 1]), to, (p - (OPEN - 1)) * out2 + q[i]);
        UNROLL for (int j = OPEN - 1; j > 0; j--) sum[i][j] = sum[i][j - 1];
        sum[i][0] = (row)(start);
      }
    }
  }
}
#else
/* Row (or column) 2 p + phase of D uses every other tap from FIRST_TAP(phase) on, PHASE_TAPS(phase) taps in all. Its
 * first tap reads row (or column) p + FIRST_INPUT(phase) of S; each further tap reads the row before. */
#define FIRST_TAP(phase) ((phase) ? 1 - PAD % 2 : PAD % 2)
#define FIRST_INPUT(phase) (PAD / 2 + ((phase) ? PAD % 2 : 0))
#define PHASE_TAPS(phase) ((TAPS - FIRST_TAP(phase) + 1) / 2)

/* For each row of D, computes a vector of even columns and a vector of odd columns at a time, and stores them
 * interleaved. */
INLINE void convolve(const plane S, const geometry g, __private const float *w, const float start, const target to) {
  UNPACK_GEOMETRY;
  FOR_ROWS(int pair = 0; pair < (out1 + 1) / 2; pair++)
  UNROLL for (int down = 0; down < 2; down++) if (2 * pair + down < out1)
      FOR_ROWS(int first = 0; first < (out2 + 1) / 2; first += LANES) {
    const int left = first + FIRST_INPUT(1) - (ROW_TAPS - 1), at = (2 * pair + down) * out2 + 2 * first;
    mask masks[MASKS];
    row sum[2] = {(row)(start), (row)(start)}, both;
    column_masks(masks, g.in2, left, 1);
    UNROLL for (int i = 0; i < PHASE_TAPS(down); i++) {
      const int y = pair + FIRST_INPUT(down) - i;
      row x[ROW_TAPS];
      if (y < 0 || y >= in1) continue;
      read_taps(x, S, y, in2, left, 1, masks);
      UNROLL for (int phase = 0; phase < 2; phase++) UNROLL for (int j = 0; j < PHASE_TAPS(phase); j++) sum[phase] =
          w[(FIRST_TAP(down) + 2 * i) * TAPS + FIRST_TAP(phase) + 2 * j] *
              x[ROW_TAPS - 1 - j - FIRST_INPUT(1) + FIRST_INPUT(phase)] +
          sum[phase];
    }
    both.even = sum[0].lo, both.odd = sum[1].lo;
    store_row(both, to, at);
    if (2 * first + LANES < out2) {
      both.even = sum[0].hi, both.odd = sum[1].hi;
      store_row(both, to, at + LANES);
    }
  }
}
#endif

/* Reads the taps of a filter before the loops over pixels. If the loops read W, the compiler would read it again after
 * each store, because D might overlap it. */
INLINE void read_filter(__private float *w, source W, const int step) {
  UNROLL for (int t = 0; t < TAPS * TAPS; t++) w[t] = READ(1, W, t * step);
}

/* Computes a plane and writes it to `results`. gather and convolve_planes are not inlined, because PoCL would otherwise
 * keep few variables in registers. */
APART void gather(const plane S, const int8 size, const int pad1, const int pad2, source W, const int step,
                  __local float *results) {
  const target to = {results, 0, 0.0f, false, false};
  DECLARE_GEOMETRY(g);
  const plane checked = {S.at, S.begin, S.end, false}, whole = {S.at, 0, 0, true};
  float w[TAPS * TAPS];
  read_filter(w, W, step);
  if (S.inside)
    convolve(whole, g, w, 0.0f, to);
  else
    convolve(checked, g, w, 0.0f, to);
}

#if DIRECT
/* Computes planes first .. last - 1 and writes them to D. alpha must be 1 and beta 0. */
APART void convolve_planes(source S, const int8 size, const int pad1, const int pad2, source W, const int step,
                           const int first, const int last, __global STORAGE(D_T) * D, const long D_row,
                           const long D_batch, __global const STORAGE(BIAS_T) * bias, const long bias_at,
                           const float act_arg, const bool stream) {
  DECLARE_GEOMETRY(g);
  const long area = (long)IN1 * IN2;
  int n = first / K, k = first % K;
  for (int i = first; i < last; i++, k++) {
    if (k == K) n++, k = 0;
    const float start = bias_at < 0 ? 0.0f : MICA_AS(float, 1, LOAD(BIAS_T, bias, bias_at + k));
    const plane in = {S + i * area, 0, 0, true};
    const target to = {0, D + n * D_batch + k * D_row, act_arg, true, stream};
    float w[TAPS * TAPS];
    read_filter(w, W + (long)k * TAPS * TAPS, step);
    convolve(in, g, w, start, to);
  }
}
#endif

CPU_KERNEL conv_depthwise_cpu_w(const int8 size, const int pad1, const int pad2, const int FLIP, source S,
                                const long S_at, source W, const long W_at, __local float *results, EPILOGUE_PARAMS) {
  UNPACK_INTS(DEPTHWISE_W_SIZE, size)
  const int pixels = OUT1 * OUT2, step = FLIP ? -1 : 1;
  const int first = (int)get_group_id(0) * PLANES, last = min(ALL_PLANES, first + PLANES);
  const long area = (long)IN1 * IN2, count = ALL_PLANES * area;
  /* Planes begin .. end - 1 are those whose vector loads stay inside S. */
  int begin = first, end = last;
  while (begin < end && begin * area < pad1 * IN2 + pad2 + ROW_TAPS) begin++;
  while (end > begin && end * area + 2 * LANES + TAPS > count) end--;
  const int end_inside = end;
  const bool aligned = (size_t)(D + D_at) % 64 == 0, whole_lines = (OUT2 | D_row | D_batch) % 16 == 0;
  const bool stream = LANES == 16 && STREAM && aligned;
  S += S_at;
  W += W_at + (FLIP ? TAPS * TAPS - 1 : 0);
#if !DIRECT
  end = begin;
#else
  if (alpha != 1 || beta != 0 || (stream && !whole_lines)) end = begin;
  /* A plane may be written directly only if enough planes of this work-item follow, which overwrite the surplus of its
   * last row. */
  const int surplus = OUT_STRIDE == 1 ? max(0, LANES - OUT2) : (LANES - OUT2 % LANES) % LANES;
  end = max(begin, min(end, last - (surplus + pixels - 1) / max(pixels, 1)));
  if (begin < end)
    convolve_planes(S, size, pad1, pad2, W, step, begin, end, D + D_at, D_row, D_batch, bias, bias_at, act_arg, stream);
#endif
  for (int each = first; each < last; each++) {
    if (each >= begin && each < end) continue;
    const int n = each / K, k = each % K;
    const plane in = {S + each * area, -each * area, count - each * area, each >= begin && each < end_inside};
    gather(in, size, pad1, pad2, W + (long)k * TAPS * TAPS, step, results);
    int i = 0;
#if LANES == 16
    if (stream) {
      for (; i < pixels && (n * D_batch + k * D_row + i) % 16; i++) FINISH(1, results[i], n, k, i);
      for (; i + 16 <= pixels; i += 16) FINISH_BY(STREAMV, 16, MICA_VLOAD(16, results, i), n, k, i);
    }
#endif
    FINISH_WHILE(LANES, results, i, pixels, n, k, 0)
    FINISH_WHILE(1, results, i, pixels, n, k, 0)
  }
}
