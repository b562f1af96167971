/* base/checked.h: integer arithmetic whose result becomes a size. */
#ifndef MICA_BASE_CHECKED_H
#define MICA_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* false when the true result does not fit *out, which then holds garbage. */
static inline bool mica__mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool mica__add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool mica__mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* ceil(a / b) and the next multiple of b, for a >= 0, b > 0 and results that fit. */
static inline size_t mica__ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }
static inline size_t mica__round_up(size_t a, size_t b) { return mica__ceil_div(a, b) * b; }

#endif
