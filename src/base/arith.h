/* base/arith.h: small things that numbers lack. */
#ifndef MICA_BASE_ARITH_H
#define MICA_BASE_ARITH_H

#include <math.h>
#include <stdint.h>

static inline int64_t mica__min(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t mica__max(int64_t x, int64_t y) { return x > y ? x : y; }

/* x / y rounded up; y is above 0, x at least 1 - y, and x + y an int64_t. */
static inline int64_t mica__ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

/* A config's field by the rule of zeros: 0 stands for the default, MICA_ZERO (-0.0) for a real zero. */
static inline double mica__or_default(double given, double fallback) {
  return given != 0 ? given : signbit(given) ? 0 : fallback;
}

#endif
