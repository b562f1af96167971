/* signal/overlap_add.cl: the transpose of signal/frames.cl: y[n, i] = the sum of all elements of frames that
 * signal/frames.cl would copy from sample i. It adds them in this order: the elements at i itself, in ascending order
 * of frames; the elements in the padding before the signal; the elements in the padding after it.
 *
 * x is (rows, frames, length), y (rows, t), both contiguous.
 *
 *   X_T   type of x and y; sums are computed in COMPUTE(X_T)
 *   PAD   as in signal/frames.cl
 *
 * One dimension of rows * t work-items. */
#include "common/dtype.clh"
#include "common/group.clh"

/* Adds the elements of frames at position p of the padded signal, which is in the frames f with p - length < f hop <=
 * p. */
#define ADD(position)                                                                                                  \
  do {                                                                                                                 \
    const int p = (position);                                                                                          \
    const int last = min(p / hop, count - 1);                                                                          \
    for (int f = p < length ? 0 : (p - length) / hop + 1; p >= 0 && f <= last; f++)                                    \
      sum += LOAD(X_T, x, (long)f * length + (p - f * hop));                                                           \
  } while (0)

RANGE_KERNEL overlap_add(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * y, const long y_at,
                         const int rows, const int t, const int count, const int length, const int hop, const int pad,
                         const int more) {
  const long item = get_global_id(0), row = item / t;
  const int i = (int)(item % t);
  if (row >= rows) return;
  x += x_at + row * count * length;
  COMPUTE(X_T) sum = 0;
  ADD(i + pad);
#if PAD == 1
  if (i > 0 && i <= pad) ADD(pad - i);
  if (i < t - 1 && t - 1 - i <= more) ADD(2 * (t - 1) - i + pad);
#elif PAD == 2
  for (int k = 0; i == 0 && k < pad; k++) ADD(k);
  for (int k = 0; i == t - 1 && k < more; k++) ADD(t + pad + k);
#endif
  STORE(X_T, sum, y, y_at + item);
}
