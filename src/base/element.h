/* base/element.h: elements of every dtype as doubles on the host: for references, readers and printing, not for
 * speed. */
#ifndef MICA_BASE_ELEMENT_H
#define MICA_BASE_ELEMENT_H

#include "base/shared.h"

#include <mica/dtype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element i of data. i64 and u64 beyond 2^53 are rounded. */
MICA__SHARED double mica__element_get(mica_dtype dtype, const void *data, int64_t i);

/* The first `count` elements of floating type as floats, rounded to nearest even from f64. data: any address. Fast. */
MICA__SHARED void mica__elements_to_floats(mica_dtype dtype, const void *data, size_t count, float *floats);

/* True if value, which mica__element_get gave, tells the element: false for integers of magnitude 2^53 and more, where
 * several round to the same double. */
bool mica__element_is_exact(mica_dtype dtype, double value);

/* Stores value as element i: floating types round to nearest even, integers saturate (NaN gives 0), bool is
 * value != 0. */
MICA__SHARED void mica__element_set(mica_dtype dtype, void *data, int64_t i, double value);

/* Stores value as element i, cut towards zero and modulo the range of an integer type (what is not finite gives 0);
 * other types as above. */
void mica__element_wrap(mica_dtype dtype, void *data, int64_t i, double value);

/* True if every byte is a bool, 0 or 1. */
bool mica__bools_are(const void *data, size_t count);
/* Makes 1 of every byte that is not 0. */
void mica__bools_from(void *data, size_t count);

/* The unit roundoff: half the distance from 1 to the next number; 0 for integers. */
double mica__element_roundoff(mica_dtype dtype);

#endif
