/* base/arith.h: small things that int64_t lacks. */
#ifndef MICA_BASE_ARITH_H
#define MICA_BASE_ARITH_H

#include <stdint.h>

static inline int64_t mica__min(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t mica__max(int64_t x, int64_t y) { return x > y ? x : y; }

/* x / y rounded up; y is above 0, x at least 1 - y, and x + y an int64_t. */
static inline int64_t mica__ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

#endif
