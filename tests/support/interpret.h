/* tests/support/interpret.h: a whole graph on the host, in double, with a bound for what a device may make of it. */
#ifndef MICA_TESTS_SUPPORT_INTERPRET_H
#define MICA_TESTS_SUPPORT_INTERPRET_H

#include "ir/graph.h"

#include <mica/tensor.h>

/* Every value of a graph: value[id - 1] and bound[id - 1] have its elements in row-major order. Floating results are
 * not rounded; integers are cut towards zero, wrapped, and 0 where the result is not finite.
 *
 * bound is how far a device's element may lie from the value: the bounds of the operands carried through the op (by
 * trying their ends for pointwise ops, by the op on magnitudes for sums and products, as elements where these are only
 * moved), plus the op's own error from ops/common/tolerance.h. Elements of sources are exact. */
typedef struct test_values {
  double **value, **bound;
  int32_t count;
} test_values;

/* feeds[id - 1] are the elements of input or parameter `id`. All shapes are known. Fails the test on any error. */
test_values test_interpret(const mica_graph *graph, double *const *feeds);
void test_values_free(test_values *result);

/* Values alone, without bounds, of which only those with kept[id - 1] stay (the others are NULL). With `rounding` every
 * floating value is rounded to its dtype, as a device stores it that has one kernel an op; how far that is from the
 * values as they are is what rounding does to them in this graph. To the nearest where *rounding is 0, else up or down
 * as that draws, which goes on: what cancels well by chance in one rounding does not in others. */
test_values test_interpret_values(const mica_graph *graph, double *const *feeds, uint64_t *rounding, const bool *kept);

/* Fails the test where an element of the tensor lies further from the value of `output` than its bound. label and what
 * begin the sentence. */
void test_expect(const test_values *values, mica_value output, const mica_tensor *got, const char *label,
                 const char *what);

int64_t test_count(mica_shape shape);
/* What a value of the type holds of a number: floating ones as it is; of integers what the op's result becomes. */
double test_stored(mica_dtype dtype, double value);

#endif
