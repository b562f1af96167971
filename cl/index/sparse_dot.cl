/* index/sparse_dot.cl: y[n, k, h] = sum over the features f of head h of a[n, entries[k, 0], f] b[n, entries[k, 1], f].
 * It is 0 if entry k is not among the entries of its row (`rows`).
 *
 * See index/pattern.clh for X_T, I_T and the operands. One dimension of samples * count * heads work-items. */
#include "index/pattern.clh"

RANGE_KERNEL sparse_dot(__global const STORAGE(X_T) * a, const long a_at, __global const STORAGE(X_T) * b,
                        const long b_at, __global const STORAGE(I_T) * rows, const long rows_at,
                        __global const STORAGE(I_T) * entries, const long entries_at, __global STORAGE(X_T) * y,
                        const long y_at, const int samples, const int vertices, const int count, const int heads,
                        const int width) {
  const int row = heads * width;
  const long item = get_global_id(0);
  const int head = (int)(item % heads);
  const long at = item / heads;
  const long n = at / count, k = at % count;
  if (n >= samples) return;
  a += a_at + n * vertices * row + head * width;
  b += b_at + n * vertices * row + head * width;
  rows += rows_at + n * vertices * 2;
  entries += entries_at + n * count * 2;
  const long i = AT(entries, 2 * k), j = AT(entries, 2 * k + 1);
  COMPUTE(X_T) sum = 0;
  if (INSIDE(i, vertices) && INSIDE(j, vertices) && AT(rows, 2 * i) <= k && k < AT(rows, 2 * i + 1)) {
    int f = 0;
    COMPUTEV(X_T, 4) sums = (COMPUTEV(X_T, 4))(0);
    for (; f + 4 <= width; f += 4) sums += LOADV(X_T, 4, a, i * row + f) * LOADV(X_T, 4, b, j * row + f);
    sum = (sums.x + sums.y) + (sums.z + sums.w);
    for (; f < width; f++) sum += LOAD(X_T, a, i * row + f) * LOAD(X_T, b, j * row + f);
  }
  STORE(X_T, sum, y, y_at + item);
}
