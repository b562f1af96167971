/* matmul/determinant.cl: y[i] = the determinant of the matrix x[i], by Gaussian elimination with partial pivoting. The
 * pivot is the element of largest magnitude in a column, the first one if there are several.
 *
 * x is (count, n, n), y (count), scratch (count, n, n) in COMPUTE(X_T).
 *
 *   X_T   f32 or f64
 *
 * One dimension of count work-items. */
#include "common/dtype.clh"
#include "common/group.clh"

RANGE_KERNEL determinant(__global const STORAGE(X_T) * x, const long x_at, __global COMPUTE(X_T) * scratch,
                         const long scratch_at, __global STORAGE(X_T) * y, const long y_at, const int count,
                         const int n) {
  const long item = get_global_id(0), size = (long)n * n;
  if (item >= count) return;
  __global COMPUTE(X_T) *m = scratch + scratch_at + item * size;
  COMPUTE(X_T) product = 1;
  for (long i = 0; i < size; i++) m[i] = LOAD(X_T, x, x_at + item * size + i);
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(m[(long)i * n + k]) > fabs(m[(long)pivot * n + k])) pivot = i;
    const COMPUTE(X_T) largest = m[(long)pivot * n + k];
    product *= pivot == k ? largest : -largest;
    if (largest == 0) break;
    for (int j = k; j < n && pivot != k; j++) {
      const COMPUTE(X_T) other = m[(long)k * n + j];
      m[(long)k * n + j] = m[(long)pivot * n + j];
      m[(long)pivot * n + j] = other;
    }
    for (int i = k + 1; i < n; i++) {
      const COMPUTE(X_T) factor = m[(long)i * n + k] / largest;
      for (int j = k + 1; j < n; j++) m[(long)i * n + j] -= factor * m[(long)k * n + j];
    }
  }
  STORE(X_T, product, y, y_at + item);
}
