/* base/checked.h: integer arithmetic whose result becomes a size. */
#ifndef MICA_BASE_CHECKED_H
#define MICA_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* false when the true result does not fit *out, which then holds garbage. Operands are 64 bits wide, since a dimension
 * that is cast to size_t loses its upper half where that has 32 bits; a negative one does not fit. */
static inline bool mica__mul_size(uint64_t a, uint64_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool mica__add_size(uint64_t a, uint64_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
/* A function, since compilers warn of a comparison with INT64_MAX that every size of 32 bits passes. */
static inline bool mica__fits_i64(uint64_t n) { return n <= INT64_MAX; }
static inline bool mica__mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* ceil(a / b) and the next multiple of b, for a >= 0, b > 0 and results that fit. */
static inline size_t mica__ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }
static inline size_t mica__round_up(size_t a, size_t b) { return mica__ceil_div(a, b) * b; }

#endif
