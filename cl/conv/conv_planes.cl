/* conv/conv_planes.cl: convolution of each channel with a filter of its own, with stride 1 or 2, in planes where they
 * lie, for the CPU class.
 *
 *   D[n][k][p][q] = sum over r, s < TAPS of S[n][k][p STRIDE + r - pad1][q STRIDE + s - pad2] W[k][r][s]
 *
 * with zeros outside S, whose planes are IN1 x IN2. Backward to the data S is y, D is x, and FLIP turns the filter
 * round. Lanes of vectors are adjacent places of a row, and those that find a tap outside it are set to zero: nothing
 * is copied or turned. The rows of a register tile share what they read. Results gather in local memory, since rows
 * seldom fill vectors, and leave in stretches.
 *
 * A work-item, which is a work-group, takes `planes` planes of all images, one after another. size: planes in all,
 * channels, IN1 IN2, OUT1 OUT2, planes. NDRange: ceil(planes in all / planes), 1, 1; work-group (1, 1, 1). results:
 * OUT1 OUT2 + 16 floats. */
#include "common/epilogue.clh"

#ifndef TAPS /* height and width of the filter */
#define TAPS 3
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#define VW 16
#define BLOCK 4 /* rows of a register tile */
#define REACH ((BLOCK - 1) * STRIDE + TAPS) /* rows that it reads */
#define UNROLL _Pragma("unroll")
#define READ(n, i) MICA_AS(float, n, LOADV(D_T, n, S, i))

/* Elements at, at + 1, ... of S, which has `count`: all of them, or 0 for those that it lacks. */
#define READ_ALL(at) READ(16, at)
#define READ_SOME(at) read_some(S, count, at)
static inline float16 read_some(__global const STORAGE(D_T) * S, const long count, const long at) {
  float lanes[VW];
  for (int i = 0; i < VW; i++) lanes[i] = at + i >= 0 && at + i < count ? READ(1, at + i) : 0.0f;
  return vload16(0, lanes);
}

/* x[s] is what tap s has for adjacent results, the first of which begins at `at`: with stride 2 every second element of
 * twice as many, which serve the tap between them too. Zero where columns[s] is not set. */
#if STRIDE == 1
#define READ_ROW(x, read, at)                                                                                          \
  UNROLL for (int s = 0; s < TAPS; s++) x[s] = select((float16)(0.0f), read((at) + s), columns[s])
#else
#define READ_ROW(x, read, at)                                                                                          \
  UNROLL for (int s = 0; s < TAPS; s += 2) {                                                                           \
    const float16 low = read((at) + s), high = read((at) + s + VW);                                                    \
    x[s] = select((float16)(0.0f), (float16)(low.even, high.even), columns[s]);                                        \
    if (s + 1 < TAPS) x[s + 1] = select((float16)(0.0f), (float16)(low.odd, high.odd), columns[s + 1]);                \
  }
#endif

/* results[p OUT2 + q], of the plane that begins at `plane` of S. By itself, or PoCL keeps little of it in registers. */
#define DEFINE_CONVOLVE(name, read)                                                                                    \
  static __attribute__((noinline)) void name(__global const STORAGE(D_T) * S, const long count, const long plane,      \
                                             const int8 size, const int pad1, const int pad2, const float *w,          \
                                             __local float *results) {                                                 \
    const int IN1 = size.s2, IN2 = size.s3, OUT1 = size.s4, OUT2 = size.s5;                                            \
    const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);                                  \
    for (int from = 0; from < OUT2; from += VW) {                                                                      \
      const int q = min(from, max(0, OUT2 - VW)), left = q * STRIDE - pad2;                                            \
      int16 columns[TAPS];                                                                                             \
      UNROLL for (int s = 0; s < TAPS; s++)                                                                            \
        columns[s] = lane * STRIDE + (left + s) >= 0 && lane * STRIDE + (left + s) < IN2;                              \
      for (int p = 0; p < OUT1; p += BLOCK) {                                                                          \
        float16 sum[BLOCK];                                                                                            \
        UNROLL for (int i = 0; i < BLOCK; i++) sum[i] = (float16)(0.0f);                                               \
        UNROLL for (int j = 0; j < REACH; j++) {                                                                       \
          const int row = p * STRIDE + j - pad1;                                                                       \
          const long at = plane + (long)row * IN2 + left;                                                              \
          if (row < 0 || row >= IN1) continue;                                                                         \
          float16 x[TAPS];                                                                                             \
          READ_ROW(x, read, at);                                                                                       \
          UNROLL for (int i = 0; i < BLOCK; i++) {                                                                     \
            const int r = j - i * STRIDE;                                                                              \
            if (r < 0 || r >= TAPS) continue;                                                                          \
            UNROLL for (int s = 0; s < TAPS; s++) sum[i] = w[r * TAPS + s] * x[s] + sum[i];                            \
          }                                                                                                            \
        }                                                                                                              \
        /* What a short row has beyond its end is written over by the next one. */                                     \
        UNROLL for (int i = 0; i < BLOCK; i++) if (p + i < OUT1)                                                       \
          STOREV(f32, VW, sum[i], results, (p + i) * OUT2 + q);                                                        \
      }                                                                                                                \
    }                                                                                                                  \
  }
DEFINE_CONVOLVE(convolve_all, READ_ALL)
DEFINE_CONVOLVE(convolve_some, READ_SOME)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_planes(const int8 size, const int pad1, const int pad2, const int FLIP, __global const STORAGE(D_T) * S,
            const long S_at, __global const STORAGE(D_T) * W, const long W_at, __local float *results,
            EPILOGUE_PARAMS) {
  const int K = size.s1, places = size.s4 * size.s5, planes = size.s6;
  const int first = (int)get_group_id(0) * planes, last = min(size.s0, first + planes);
  const long area = (long)size.s2 * size.s3, count = size.s0 * area;
  S += S_at;
  for (int each = first; each < last; each++) {
    const int n = each / K, k = each % K;
    const long plane = each * area;
    /* The first row's first column, and the last vector of the last row. */
    const bool inside = plane >= pad2 && plane + area + 2 * VW + TAPS <= count;
    float w[TAPS * TAPS];
    for (int t = 0; t < TAPS * TAPS; t++)
      w[FLIP ? TAPS * TAPS - 1 - t : t] = MICA_AS(float, 1, LOAD(D_T, W, W_at + (long)k * TAPS * TAPS + t));
    if (inside)
      convolve_all(S, count, plane, size, pad1, pad2, w, results);
    else
      convolve_some(S, count, plane, size, pad1, pad2, w, results);
    int i = 0;
    for (; i + VW <= places; i += VW) FINISH(16, MICA_VLOAD(16, results, i), n, k, i);
    for (; i < places; i++) FINISH(1, results[i], n, k, i);
  }
}
