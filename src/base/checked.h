/* base/checked.h: overflow-checked integer arithmetic for sizes. */
#ifndef MICA_BASE_CHECKED_H
#define MICA_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a b and *out = a + b. Return false if the true result does not fit size_t; *out is then not usable.
 *
 * Operands have 64 bits, because casting a dimension to a 32-bit size_t would drop its upper half. Do not pass negative
 * numbers: a negative int64_t becomes a number near 2^64, and its product with 1 fits. */
static inline bool mica__mul_size(uint64_t a, uint64_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool mica__add_size(uint64_t a, uint64_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
/* True if n fits an int64_t. This is a function because a direct comparison of a 32-bit size with INT64_MAX is always
 * true, which compilers warn about. */
static inline bool mica__fits_i64(uint64_t n) { return n <= INT64_MAX; }
static inline bool mica__mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* ceil(a / b), and a rounded up to a multiple of b, for a >= 0, b > 0 and results that fit. */
static inline size_t mica__ceil_div_size(size_t a, size_t b) { return a / b + (a % b != 0); }
static inline size_t mica__round_up(size_t a, size_t b) { return mica__ceil_div_size(a, b) * b; }

#endif
