/* conv/depthwise/cpu_w.cl: convolution of each channel with a filter of its own, with stride 1 or 2, in planes where
 * they
 * lie, for the CPU class.
 *
 *   D[n][k][p][q] = sum over r, s < TAPS of S[n][k][p STRIDE + r - pad1][q STRIDE + s - pad2] W[k][r][s]
 *
 * with zeros outside S, whose planes are IN1 x IN2. Backward to the data S is y, D is x, and FLIP turns the filter
 * round; with stride 2 D's formula is another one (SPREAD 2, see conv/spread.clh). Lanes of vectors are adjacent places
 * of a row (conv/lines.clh), and those that find a tap outside are set to zero: nothing is copied or turned.
 *
 * Rows of D shorter than a vector leave with what is in its other lanes, and the next row writes over that. Behind the
 * last plane of a work-item nothing would, and where beta is not 0 what C has there may still be wanted: then results
 * gather in local memory first, and leave in stretches. So do those that are written past the caches (streams), where
 * rows are not whole lines.
 *
 * A work-item, which is a work-group, takes `planes` planes of all images, one after another. size: planes in all,
 * channels, IN1 IN2, OUT1 OUT2, planes, streams. NDRange: ceil(planes in all / planes), 1, 1; work-group (1, 1, 1).
 * results: OUT1 OUT2 + 16 floats. */
#ifdef MICA_EPILOGUE /* may read what D's memory held */
#define OVERWRITES 0
#else
#define OVERWRITES 1
#endif
#include "common/epilogue.clh"
#include "common/stream.clh"

#ifndef TAPS /* height and width of the filter */
#define TAPS 3
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef SIDE /* 0, or IN1 and IN2, with pad1 and pad2 PAD: then OUT1 and OUT2 are OUT */
#define SIDE 0
#endif
#ifndef PAD /* with SPREAD 2 always pad1 and pad2 */
#define PAD 0
#endif
#ifndef SPREAD
#define SPREAD 1
#endif
#define LINE_TAPS (SPREAD == 1 ? TAPS : (TAPS + 1) / 2)
#define DILATION 1
#define UNROLL _Pragma("unroll")
#include "conv/lines.clh"
#if SPREAD == 1
#include "conv/slide.clh"
#else
#include "conv/spread.clh"
#endif

#define READ(n, i) MICA_AS(float, n, LOADV(D_T, n, S, i))

/* Elements from i of the plane on: all of them, or 0 for those that S lacks, which has `count`. */
#define READ_ALL(i) READ(LANES, plane + (i))
#define READ_SOME(i) read_some(S, count, plane + (i))
static inline line read_some(__global const STORAGE(D_T) * S, const long count, const long at) {
  float lanes[LANES];
  for (int i = 0; i < LANES; i++) lanes[i] = at + i >= 0 && at + i < count ? READ(1, at + i) : 0.0f;
  return MICA_VLOAD(LANES, lanes, 0);
}

#if SIDE
#define FOR_ROWS UNROLL for
#define SIZES const int IN1 = SIDE, IN2 = SIDE, OUT1 = OUT, OUT2 = OUT, top = PAD, side = PAD
#else
#define FOR_ROWS for
#define SIZES                                                                                                          \
  const int IN1 = size.s2, IN2 = size.s3, OUT1 = size.s4, OUT2 = size.s5, top = pad1, side = pad2
#endif

/* The taps of a filter: read before the loops, or they are read again after each vector that is written. */
#define TAKE_TAPS(w, W, step)                                                                                          \
  float w[TAPS * TAPS];                                                                                                \
  UNROLL for (int t = 0; t < TAPS * TAPS; t++) w[t] = MICA_AS(float, 1, LOAD(D_T, W, t * step))

/* Functions by themselves, or PoCL keeps little in registers. */
#define LEAVE_IN_RESULTS(v, at) STOREV(f32, LANES, v, results, at)
#define DEFINE_GATHER(name, read)                                                                                      \
  static __attribute__((noinline)) void name(__global const STORAGE(D_T) * S, const long count, const long plane,      \
                                             const int8 size, const int pad1, const int pad2,                          \
                                             __global const STORAGE(D_T) * W, const int step,                          \
                                             __local float *results) {                                                 \
    SIZES;                                                                                                             \
    TAKE_TAPS(w, W, step);                                                                                             \
    CONVOLVE(read, w, 0.0f, LEAVE_IN_RESULTS)                                                                          \
  }
DEFINE_GATHER(gather_all, READ_ALL)
DEFINE_GATHER(gather_some, READ_SOME)

#if OVERWRITES
#define LEAVE_IN_D(v, at)                                                                                              \
  do {                                                                                                                 \
    COMPUTEV(EPI_T, LANES) v_ = MICA_AS(COMPUTE(EPI_T), LANES, v);                                                     \
    v_ = ACTIVATION(LANES, v_, act_arg);                                                                               \
    if (LANES == 16 && stream)                                                                                         \
      STREAMV(D_T, LANES, v_, D, D_plane + (at));                                                                      \
    else                                                                                                               \
      STOREV(D_T, LANES, v_, D, D_plane + (at));                                                                       \
  } while (0)

/* Planes first .. last - 1, where alpha is 1 and beta 0: the bias is what sums begin with. */
static __attribute__((noinline)) void convolve(__global const STORAGE(D_T) * S, const int8 size, const int pad1,
                                               const int pad2, __global const STORAGE(D_T) * W, const int step,
                                               const int first, const int last, __global STORAGE(D_T) * D,
                                               const long D_at, const long D_row, const long D_batch,
                                               __global const STORAGE(BIAS_T) * bias, const long bias_at,
                                               const float act_arg, const bool stream) {
  SIZES;
  const int K = size.s1;
  int n = first / K, k = first % K;
  long plane = (long)first * IN1 * IN2;
  for (int each = first; each < last; each++, k++, plane += (long)IN1 * IN2) {
    if (k == K) n++, k = 0;
    const float start = bias_at < 0 ? 0.0f : MICA_AS(float, 1, LOAD(BIAS_T, bias, bias_at + k));
    const long D_plane = D_at + n * D_batch + k * D_row;
    TAKE_TAPS(w, W + (long)k * TAPS * TAPS, step);
    CONVOLVE(READ_ALL, w, start, LEAVE_IN_D)
  }
}
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_cpu_w(const int8 size, const int pad1, const int pad2, const int FLIP, __global const STORAGE(D_T) * S,
            const long S_at, __global const STORAGE(D_T) * W, const long W_at, __local float *results,
            EPILOGUE_PARAMS) {
  const int K = size.s1, places = size.s4 * size.s5, planes = size.s6, step = FLIP ? -1 : 1;
  const int first = (int)get_group_id(0) * planes, last = min(size.s0, first + planes);
  const long area = (long)size.s2 * size.s3, count = size.s0 * area;
  /* Of the planes around which vectors find nothing but S, those whose rows may leave with more than they are. */
  int begin = first, end = last;
  while (begin < end && begin * area < pad1 * size.s3 + pad2 + LINE_TAPS) begin++;
  while (end > begin && end * area + 2 * LANES + TAPS > count) end--;
  const int end_inside = end;
  const bool aligned = (size_t)(D + D_at) % 64 == 0, lines = (size.s5 | D_row | D_batch) % 16 == 0;
  const bool stream = LANES == 16 && size.s7 && aligned;
  if (!OVERWRITES || alpha != 1 || beta != 0 || (stream && !lines)) end = begin;
  /* Behind those that may, as many follow as the last row writes over. */
  const int over = SPREAD == 1 ? max(0, LANES - size.s5) : (LANES - size.s5 % LANES) % LANES;
  end = max(begin, min(end, last - (over + places - 1) / max(places, 1)));
  S += S_at;
  W += W_at + (FLIP ? TAPS * TAPS - 1 : 0);
#if OVERWRITES
  if (begin < end)
    convolve(S, size, pad1, pad2, W, step, begin, end, D, D_at, D_row, D_batch, bias, bias_at, act_arg, stream);
#endif
  for (int each = first; each < last; each++) {
    if (each >= begin && each < end) continue;
    const int n = each / K, k = each % K;
    __global const STORAGE(D_T) *filter = W + (long)k * TAPS * TAPS;
    if (each >= begin && each < end_inside)
      gather_all(S, count, each * area, size, pad1, pad2, filter, step, results);
    else
      gather_some(S, count, each * area, size, pad1, pad2, filter, step, results);
    int i = 0;
#if LANES == 16
    if (stream) {
      for (; i < places && (n * D_batch + k * D_row + i) % 16; i++) FINISH(1, results[i], n, k, i);
      for (; i + 16 <= places; i += 16) FINISH_BY(STREAMV, 16, MICA_VLOAD(16, results, i), n, k, i);
    }
#endif
    for (; i + LANES <= places; i += LANES) FINISH(LANES, MICA_VLOAD(LANES, results, i), n, k, i);
    for (; i < places; i++) FINISH(1, results[i], n, k, i);
  }
}
