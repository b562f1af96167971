#include "ops/common/tolerance.h"

#include "base/element.h"

#include <math.h>

static double smallest(mica_dtype dtype) {
  switch (dtype) {
  case MICA_F64: return 0x1p-1074;
  case MICA_F16: return 0x1p-24;
  /* Devices may flush f32 subnormals to zero (OpenCL 1.2, 7.5.3), and bf16 has f32's range. */
  case MICA_F32:
  case MICA_BF16: return 0x1p-126;
  default: return 0;
  }
}

double mica__tolerance_sum(mica_dtype compute, mica_dtype stored, double terms, double magnitude, double exact) {
  return mica__element_roundoff(compute) * (4 + 2 * sqrt(terms)) * magnitude +
         mica__element_roundoff(stored) * fabs(exact) + smallest(stored);
}

double mica__tolerance_ulps(mica_dtype compute, mica_dtype stored, double ulps, double exact) {
  return (2 * ulps * mica__element_roundoff(compute) + mica__element_roundoff(stored)) * fabs(exact) + smallest(stored);
}
