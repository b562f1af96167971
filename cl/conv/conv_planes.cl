/* conv/conv_planes.cl: convolution of each channel with a filter of its own, with stride 1 or 2, in planes where they
 * lie, for the CPU class.
 *
 *   D[n][k][p][q] = sum over r, s < TAPS of S[n][k][p STRIDE + r - pad1][q STRIDE + s - pad2] W[k][r][s]
 *
 * with zeros outside S, whose planes are IN1 x IN2. Backward to the data S is y, D is x, and FLIP turns the filter
 * round. Lanes of vectors are adjacent places of a row, or of two rows of a plane whose size is known (SIDE, see
 * conv/lines.clh), and those that find a tap outside are set to zero: nothing is copied or turned. Rows of S are read
 * one after another and added to the rows of D that they meet, which are in registers, and leave as soon as they are
 * complete.
 *
 * Rows of D shorter than a vector leave with what is in its other lanes, and the next row writes over that. Behind the
 * last plane of a work-item nothing would, and where beta is not 0 what C has there may still be wanted: then results
 * gather in local memory first, and leave in stretches.
 *
 * A work-item, which is a work-group, takes `planes` planes of all images, one after another. size: planes in all,
 * channels, IN1 IN2, OUT1 OUT2, planes. NDRange: ceil(planes in all / planes), 1, 1; work-group (1, 1, 1). results:
 * OUT1 OUT2 + 16 floats. */
#ifdef MICA_EPILOGUE /* may read what D's memory held */
#define OVERWRITES 0
#else
#define OVERWRITES 1
#endif
#include "common/epilogue.clh"

#ifndef TAPS /* height and width of the filter */
#define TAPS 3
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef SIDE /* 0, or IN1 and IN2, with pad1 and pad2 PAD */
#define SIDE 0
#endif
#ifndef PAD
#define PAD 0
#endif
#define DILATION 1
#include "conv/lines.clh"

#define VW 16
#define OPEN ((TAPS + STEP - 1) / STEP) /* vectors of D that a row of S meets */
#define UNROLL _Pragma("unroll")
#define READ(n, i) MICA_AS(float, n, LOADV(D_T, n, S, i))

/* Elements from i of the plane on: all of them, or 0 for those that S lacks, which has `count`. */
#define READ_ALL(i) READ(16, plane + (i))
#define READ_SOME(i) read_some(S, count, plane + (i))
static inline float16 read_some(__global const STORAGE(D_T) * S, const long count, const long at) {
  float lanes[VW];
  for (int i = 0; i < VW; i++) lanes[i] = at + i >= 0 && at + i < count ? READ(1, at + i) : 0.0f;
  return vload16(0, lanes);
}

#if SIDE
#define SIZES const int IN1 = SIDE, IN2 = SIDE, OUT1 = OUT, OUT2 = OUT, top = PAD, side = PAD
#else
#define SIZES                                                                                                          \
  const int IN1 = size.s2, IN2 = size.s3, OUT1 = size.s4, OUT2 = size.s5, top = pad1, side = pad2
#endif

/* Convolves the plane that begins at `plane` of S with scale W, whose taps are `step` apart, and adds `start`; TO is
 * where LEAVE puts vectors. By itself, or PoCL keeps little of it in registers; with the taps there before the loops,
 * or it reads them again after each vector that it has written. */
#define DEFINE_CONVOLVE(name, read, LEAVE, TO)                                                                         \
  static __attribute__((noinline)) void name(__global const STORAGE(D_T) * S, const long count, const long plane,      \
                                             const int8 size, const int pad1, const int pad2,                          \
                                             __global const STORAGE(D_T) * W, const int step, const float scale,       \
                                             const float start, TO) {                                                  \
    SIZES;                                                                                                             \
    float w[TAPS * TAPS];                                                                                              \
    UNROLL for (int t = 0; t < TAPS * TAPS; t++) w[t] = scale * MICA_AS(float, 1, LOAD(D_T, W, t * step));             \
    for (int from = 0; from < OUT2; from += VW) {                                                                      \
      const int q = min(from, max(0, OUT2 - VW)), left = q * STRIDE - side;                                            \
      float16 sum[OPEN];                                                                                               \
      int16 columns[TAPS];                                                                                             \
      FIND_COLUMNS(columns, IN2, left)                                                                                 \
      UNROLL for (int j = 0; j < OPEN; j++) sum[j] = (float16)(start);                                                 \
      /* sum[0] begins with row p LINES of D. */                                                                       \
      FOR_VECTORS(int p = 0; (p - (OPEN - 1)) * LINES < OUT1; p++) {                                                   \
        const int complete = (p - (OPEN - 1)) * LINES, lines = min(LINES, OUT1 - complete);                            \
        UNROLL for (int t = 0; t < min(STEP, TAPS); t++) {                                                             \
          const int row = p * STEP + t - top;                                                                          \
          float16 x[TAPS];                                                                                             \
          if (row + (LINES - 1) * STRIDE < 0 || row >= IN1) continue;                                                  \
          READ_LINES(x, read, row, IN2, left, columns);                                                                \
          /* Sums in turn: each waits for its own. */                                                                  \
          UNROLL for (int s = 0; s < TAPS; s++) UNROLL for (int j = 0; j < OPEN; j++) if (t + j * STEP < TAPS)         \
              sum[j] = w[(t + j * STEP) * TAPS + s] * x[s] + sum[j];                                                   \
        }                                                                                                              \
        if (complete >= 0) LEAVE(sum[OPEN - 1], complete * OUT2 + q);                                                  \
        UNROLL for (int j = OPEN - 1; j > 0; j--) sum[j] = sum[j - 1];                                                 \
        sum[0] = (float16)(start);                                                                                     \
      }                                                                                                                \
    }                                                                                                                  \
  }

#define LEAVE_IN_RESULTS(v, at) STORE_LINES(f32, VW, v, results, at)
DEFINE_CONVOLVE(gather_all, READ_ALL, LEAVE_IN_RESULTS, __local float *results)
DEFINE_CONVOLVE(gather_some, READ_SOME, LEAVE_IN_RESULTS, __local float *results)

#if OVERWRITES
/* alpha is in the scale, the bias is the start, and D begins with the plane: of FINISH the activation remains. */
#define LEAVE_IN_D(v, at)                                                                                              \
  do {                                                                                                                 \
    const COMPUTE(EPI_T) alpha = 1, beta = 0;                                                                          \
    const long D_row = 0, D_batch = 0, C_at = 0, C_row = 0, C_batch = 0, bias_at = -1;                                 \
    __global const STORAGE(D_T) *C = D;                                                                                \
    __global const STORAGE(BIAS_T) *bias = 0;                                                                          \
    FINISH_BY(STORE_LINES, 16, v, 0, 0, at);                                                                           \
  } while (0)
#define TO_D __global STORAGE(D_T) * D, const long D_at, const float act_arg
DEFINE_CONVOLVE(convolve, READ_ALL, LEAVE_IN_D, TO_D)
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_planes(const int8 size, const int pad1, const int pad2, const int FLIP, __global const STORAGE(D_T) * S,
            const long S_at, __global const STORAGE(D_T) * W, const long W_at, __local float *results,
            EPILOGUE_PARAMS) {
  const int K = size.s1, OUT2 = size.s5, places = size.s4 * OUT2, planes = size.s6, step = FLIP ? -1 : 1;
  const int first = (int)get_group_id(0) * planes, last = min(size.s0, first + planes);
  const long area = (long)size.s2 * size.s3, count = size.s0 * area;
  int n = first / K, k = first % K;
  S += S_at;
  W += W_at + (FLIP ? TAPS * TAPS - 1 : 0);
  for (int each = first; each < last; each++, k++) {
    if (k == K) n++, k = 0;
    const long plane = each * area;
    /* The first vector of the first row, and the last of the last. */
    const bool inside = plane >= pad1 * size.s3 + pad2 && plane + area + 2 * VW + TAPS <= count;
    __global const STORAGE(D_T) *filter = W + (long)k * TAPS * TAPS;
#if OVERWRITES
    if (inside && beta == 0 && (each + 1 < last || OUT2 >= VW / LINES)) {
      const float start = bias_at < 0 ? 0.0f : MICA_AS(float, 1, LOAD(BIAS_T, bias, bias_at + k));
      convolve(S, count, plane, size, pad1, pad2, filter, step, alpha, start, D, D_at + n * D_batch + k * D_row,
               act_arg);
      continue;
    }
#endif
    if (inside)
      gather_all(S, count, plane, size, pad1, pad2, filter, step, 1, 0, results);
    else
      gather_some(S, count, plane, size, pad1, pad2, filter, step, 1, 0, results);
    int i = 0;
    for (; i + VW <= places; i += VW) FINISH(16, MICA_VLOAD(16, results, i), n, k, i);
    for (; i < places; i++) FINISH(1, results[i], n, k, i);
  }
}
