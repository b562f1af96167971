/* signal/frames.cl: divides signals into frames: y[n, f, i] = x[n, f hop + i - pad]. PAD says what samples before the
 * beginning and after the end of a signal are.
 *
 * x is (rows, t), y (rows, frames, length), both contiguous. With PAD 1, t must be larger than pad and than the number
 * of samples after the end.
 *
 *   X_T   type of x and y
 *   PAD   0: zeros. 1: mirrored at the first and the last sample. 2: equal to the first or the last sample
 *   VW    elements of a frame that a work-item computes
 *
 * One dimension of rows * frames * ceil(length / VW) work-items. */
#include "common/dtype.clh"
#include "common/group.clh"

static inline COMPUTE(X_T) sample(__global const STORAGE(X_T) * x, const int i, const int t) {
#if PAD == 0
  return i >= 0 && i < t ? LOAD(X_T, x, i) : (COMPUTE(X_T))(0);
#elif PAD == 1
  const int right = abs(i);
  return LOAD(X_T, x, right < t ? right : 2 * (t - 1) - right);
#else
  return LOAD(X_T, x, clamp(i, 0, t - 1));
#endif
}

RANGE_KERNEL frames(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * y, const long y_at,
                    const int rows, const int t, const int count, const int length, const int hop, const int pad) {
  const int chunks = (length + VW - 1) / VW;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * VW;
  const long frame = item / chunks, row = frame / count;
  if (row >= rows) return;
  const int from = (int)(frame % count) * hop + begin - pad;
  x += x_at + row * t;
  y += y_at + frame * length + begin;
#if VW > 1
  if (begin + VW <= length && from >= 0 && from + VW <= t) {
    STOREV(X_T, VW, LOADV(X_T, VW, x, from), y, 0);
    return;
  }
#endif
  const int some = min(VW, length - begin);
  for (int i = 0; i < some; i++) STORE(X_T, sample(x, from + i, t), y, i);
}
