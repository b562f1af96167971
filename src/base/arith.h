/* base/arith.h: small arithmetic functions. */
#ifndef MICA_BASE_ARITH_H
#define MICA_BASE_ARITH_H

#include <math.h>
#include <stdint.h>

static inline int64_t mica__min(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t mica__max(int64_t x, int64_t y) { return x > y ? x : y; }

/* Rounds x / y up. Requires y > 0 and x > -y, and x + y must fit an int64_t. */
static inline int64_t mica__ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

/* Resolves a config field: 0 gives the default, MICA_ZERO (-0.0) a real zero. */
static inline double mica__or_default(double given, double fallback) {
  return given != 0 ? given : signbit(given) ? 0 : fallback;
}

#endif
