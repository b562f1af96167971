/* matmul/integer.cl: y[..., i, j] = sum over l of a[..., i, l] b[..., l, j], integers that wrap.
 *
 * The last two axes of a (..., m, k), b (..., k, n) and y (..., m, n) are contiguous. `lead` has the extents of the
 * leading axes of y. a_lead and b_lead have the strides of these axes in a and b; a stride is 0 if the tensor is
 * broadcast along the axis.
 *
 *   X_T   type of a, b and y; sums are computed in COMPUTE(X_T)
 *   VW    columns that a work-item computes
 *
 * One dimension of batch * m * ceil(n / VW) work-items. */
#include "common/dtype.clh"
#include "common/group.clh"

#define LEAD(k)                                                                                                        \
  {                                                                                                                    \
    const long index = rest % lead.k;                                                                                  \
    rest /= lead.k;                                                                                                    \
    a += index * a_lead.k;                                                                                             \
    b += index * b_lead.k;                                                                                             \
  }

#define ROW(w, j)                                                                                                      \
  do {                                                                                                                 \
    COMPUTEV(X_T, w) sum = 0;                                                                                          \
    for (int l = 0; l < k; l++) sum += (COMPUTEV(X_T, w))(LOAD(X_T, a, l)) * LOADV(X_T, w, b, (long)l * n + (j));      \
    STOREV(X_T, w, sum, y, j);                                                                                         \
  } while (0)

RANGE_KERNEL matmul_integer(__global const STORAGE(X_T) * a, const long a_at, __global const STORAGE(X_T) * b,
                            const long b_at, __global STORAGE(X_T) * y, const long y_at, const int batch, const int m,
                            const int n, const int k, const int8 lead, const long8 a_lead, const long8 b_lead) {
  const int chunks = (n + VW - 1) / VW;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * VW;
  const long row = item / chunks;
  long rest = row / m;
  if (rest >= batch) return;
  a += a_at + row % m * k;
  b += b_at;
  y += y_at + row * n;
  LEAD(s7)
  LEAD(s6)
  LEAD(s5)
  LEAD(s4)
  LEAD(s3)
  LEAD(s2)
  LEAD(s1)
  LEAD(s0)
  if (begin + VW <= n)
    ROW(VW, begin);
  else
    for (int j = begin; j < n; j++) ROW(1, j);
}
