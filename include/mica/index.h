/* mica/index.h: builders that find, sort and collect elements by value or index: sorted and distinct elements, sums of
 * segments, rows scattered into a table. mica/nodes.h has gathers and scatters with one index per element.
 *
 * Letters for shapes, and sticky errors, as in mica/nodes.h. Indices are i32 or i64. Negative ones count from the end;
 * elements outside are not written. Sums have a fixed order: the same operands give the same bits.
 *
 * Threads: as in mica/graph.h. */
#ifndef MICA_INDEX_H
#define MICA_INDEX_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

/* Sorts all elements along an axis, ascending or descending, like mica_top_k: equal elements keep their order, 0 equals
 * -0, and NaN comes first in both cases. The indices are i64. Any number type. */
MICA_API mica_top_k_results mica_sort(mica_value x, int32_t axis, bool falling);

/* Distinct elements of x in ascending order, NaN first (numpy.unique of the flattened x). values has x's number of
 * elements and dtype; elements after the first `count` hold `fill`. count is an i32 scalar. inverse, i32 of x's shape,
 * is the index in values of each element: gathering values by it gives x. 0 and -0 are equal, and so are all NaNs. Any
 * number type. No gradient. */
typedef struct mica_unique_results {
  mica_value values, inverse, count;
} mica_unique_results;
MICA_API mica_unique_results mica_unique(mica_value x, double fill);

/* y[s, i...] = sum over j with segments[j] = s of x[j, i...], in ascending j; 0 if there is no such j. x (M, ...) of
 * any number type; segments (M) must be ascending, else sums are undefined; values outside 0 to count - 1 are ignored.
 * y (count, ...) of x's dtype; sums of 16-bit types are in f32. For unsorted rows use mica_scatter_rows. */
MICA_API mica_value mica_segment_sum(mica_value x, mica_value segments, int64_t count);

/* x with updates[o..., j..., i...] reduced into [o..., indices[j...], i...], in ascending j. indices (j...) select
 * along `axis` of x; updates has the axes of indices instead of this axis. Axis 0: rows of a table. If the result is
 * assigned to the parameter x, only the selected elements are read and written. Gradients as in mica_scatter. */
MICA_API mica_value mica_scatter_rows(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                      mica_scatter how);
/* mica_scatter_rows if no element of x is selected twice; saves sorting the indices. The result for an element selected
 * twice is undefined, but memory stays safe. Indices outside may repeat. */
MICA_API mica_value mica_scatter_rows_unique(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                             mica_scatter how);

MICA_END_DECLS

#endif
