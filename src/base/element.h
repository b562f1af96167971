/* base/element.h: reads and writes elements of every dtype as doubles on the host: for references, readers and
 * printing, not for speed. Also converts arrays of a floating type to f32, and checks bools. */
#ifndef MICA_BASE_ELEMENT_H
#define MICA_BASE_ELEMENT_H

#include "base/shared.h"

#include <mica/dtype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns element i of data. i64 and u64 beyond 2^53 are rounded. */
MICA__SHARED double mica__element_get(mica_dtype dtype, const void *data, int64_t i);

/* Converts the first `count` elements of a floating type to floats; f64 rounds to nearest even. data may have any
 * address. Fast. */
MICA__SHARED void mica__elements_to_floats(mica_dtype dtype, const void *data, size_t count, float *floats);

/* True if value, returned by mica__element_get, determines the element. False for integers of magnitude 2^53 and more,
 * because several of them round to the same double. */
bool mica__element_is_exact(mica_dtype dtype, double value);

/* Stores value as element i. Floating types round to nearest even. Integers are truncated towards zero and saturate
 * (NaN becomes 0). A bool becomes value != 0. */
MICA__SHARED void mica__element_set(mica_dtype dtype, void *data, int64_t i, double value);

/* Stores value as element i. Integers are truncated towards zero and wrap around (infinity and NaN become 0); other
 * types are stored as by mica__element_set. */
void mica__element_wrap(mica_dtype dtype, void *data, int64_t i, double value);

/* True if every byte is a valid bool, 0 or 1. */
bool mica__bools_are(const void *data, size_t count);
/* Sets every byte that is not 0 to 1. */
void mica__bools_from(void *data, size_t count);

/* Returns the unit roundoff: half the distance from 1 to the next number; 0 for integers. */
double mica__element_roundoff(mica_dtype dtype);

#endif
