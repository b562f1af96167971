/* elementwise/functions.cl: y[i] = f(x[i]), 0 <= i < n. `mica doctor` uses it to check the functions f that pointwise
 * ops of graphs call.
 *
 *   VW         elements that a work-item computes
 *   function   selects f: its index in the list `functions` of ops/elementwise/functions.c
 *
 * One dimension of ceil(n / VW) work-items. The last one computes the remaining elements one by one. */
#include "common/group.clh"
#include "common/math.clh"

#define CASE(number, f)                                                                                                \
  case number: v = f(v); break;
#define APPLY(n, i)                                                                                                    \
  {                                                                                                                    \
    MICA_PASTE(float, n) v = MICA_VLOAD(n, x, i);                                                                      \
    switch (function) {                                                                                                \
      CASE(0, mica_exp)                                                                                                \
      CASE(1, mica_expm1)                                                                                              \
      CASE(2, mica_log)                                                                                                \
      CASE(3, mica_log1p)                                                                                              \
      CASE(4, mica_tanh)                                                                                               \
      CASE(5, mica_erf)                                                                                                \
      CASE(6, mica_sigmoid)                                                                                            \
      CASE(7, mica_sin)                                                                                                \
      CASE(8, mica_cos)                                                                                                \
      CASE(9, mica_tan)                                                                                                \
      CASE(10, mica_rint)                                                                                              \
      CASE(11, exp2)                                                                                                   \
      CASE(12, log2)                                                                                                   \
      CASE(13, log10)                                                                                                  \
      CASE(14, sqrt)                                                                                                   \
      CASE(15, asin)                                                                                                   \
      CASE(16, acos)                                                                                                   \
      CASE(17, atan)                                                                                                   \
      CASE(18, sinh)                                                                                                   \
      CASE(19, cosh)                                                                                                   \
      CASE(20, asinh)                                                                                                  \
      CASE(21, acosh)                                                                                                  \
      CASE(22, atanh)                                                                                                  \
    }                                                                                                                  \
    MICA_VSTORE(n, v, y, i);                                                                                           \
  }

RANGE_KERNEL functions(__global const float *x, const long x_at, __global float *y, const long y_at, const long n,
                       const int function) {
  const long i = (long)get_global_id(0) * VW;
  x += x_at;
  y += y_at;
  if (i + VW <= n)
    APPLY(VW, i)
  else
    for (long j = i; j < n; j++) APPLY(1, j)
}
