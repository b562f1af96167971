/* mica/index.h: builders that find, sort and collect elements by value or index: sorted and distinct elements, sums of
 * segments, rows scattered into a table. mica/nodes.h has gathers and scatters with one index per element.
 *
 * Shapes are written, and errors recorded, as in mica/nodes.h. Indices are i32 or i64. Negative indices count from the
 * end; nothing is written for an index that is out of range. Sums have a fixed order: the same operands give the same
 * bits.
 *
 * Threads: as in mica/graph.h. */
#ifndef MICA_INDEX_H
#define MICA_INDEX_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

/* Sorts all elements along an axis, descending if falling is true, else ascending. As in mica_top_k, equal elements
 * keep their order, 0 equals -0, and NaN comes first in both directions. The indices are i64. x has any number type. */
MICA_API mica_top_k_results mica_sort(mica_value x, int32_t axis, bool falling);

/* Distinct elements of x in ascending order, NaN first (numpy.unique of the flattened x). values has x's number of
 * elements and dtype; elements after the first `count` are `fill`. count is an i32 scalar. inverse, i32 of x's shape,
 * has the index in values of each element of x: gathering values by it gives x. 0 and -0 are equal, and so are all
 * NaNs. x has any number type. There is no gradient. */
typedef struct mica_unique_results {
  mica_value values, inverse, count;
} mica_unique_results;
MICA_API mica_unique_results mica_unique(mica_value x, double fill);

/* y[s, i...] = sum of x[j, i...] over all j with segments[j] = s, in ascending j; 0 if there is no such j.
 *
 * x (M, ...) has any number type, and y (count, ...) has x's dtype; sums of 16-bit types are in f32. segments (M) must
 * be ascending, else sums are undefined; rows whose segment is not 0 to count - 1 are ignored. For unsorted rows use
 * mica_scatter_rows. */
MICA_API mica_value mica_segment_sum(mica_value x, mica_value segments, int64_t count);

/* Returns a copy of x in which element [o..., indices[j...], i...] is combined with updates[o..., j..., i...] as `how`
 * says, in ascending j. indices (j...) select along `axis` of x; updates has the axes of indices instead of this axis.
 * With axis 0, indices select rows of a table. If the result is assigned to the parameter x, only the selected elements
 * are read and written. Gradients are as in mica_scatter. */
MICA_API mica_value mica_scatter_rows(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                      mica_scatter how);
/* Works as mica_scatter_rows does, without sorting the indices. For use if no element of x is selected twice: the
 * result for such an element is undefined, though no memory out of bounds is written. Indices out of range may
 * repeat. */
MICA_API mica_value mica_scatter_rows_unique(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                             mica_scatter how);

MICA_END_DECLS

#endif
