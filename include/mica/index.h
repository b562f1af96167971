/* mica/index.h: builders that find, order and collect elements by their values or by indices: sorted and different
 * elements, sums of segments, rows scattered into a table. What gathers and scatters by an index for every element
 * stands in mica/nodes.h.
 *
 * Letters and stickiness as there. Indices are i32 or i64; negative ones count from the end; outside an element is
 * not written. Sums are taken in a fixed order: the same operands give the same bits.
 *
 * Threads: as mica/graph.h. */
#ifndef MICA_INDEX_H
#define MICA_INDEX_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

/* All elements in order along an axis, rising or falling, as mica_top_k has them: equals stay in their order, 0 equals
 * -0, and a NaN comes first either way. The indices are i64. Number. */
MICA_API mica_top_k_results mica_sort(mica_value x, int32_t axis, bool falling);

/* The different elements of x in rising order, a NaN first: numpy.unique of a flattened x, in slots. values has as
 * many as x has elements; those behind `count`, i32 (), hold `fill`, as x's dtype. inverse, i32 of x's shape, is
 * where in values an element stands: values gathered by it are x. 0 and -0 are one element, all NaNs too. Number; no
 * gradient. */
typedef struct mica_unique_results {
  mica_value values, inverse, count;
} mica_unique_results;
MICA_API mica_unique_results mica_unique(mica_value x, double fill);

/* y[s, i...] = sum of the rows x[j, i...] with segments[j] = s, in rising j; 0 where there is none. x (M, ...),
 * number; segments (M) rise, and those outside 0 to count - 1 take no part (what is summed where they do not rise is
 * undefined); y (count, ...) of x's dtype, summed in f32 for 16-bit types. Rows of any order are mica_scatter_rows. */
MICA_API mica_value mica_segment_sum(mica_value x, mica_value segments, int64_t count);

/* x with updates[o..., j..., i...] reduced into [o..., indices[j...], i...], in rising j: indices (j...) name what
 * lies along `axis` of x, which updates has the indices' axes in place of. Axis 0: rows of a table. Where its result
 * is assigned to the parameter that x is, only what the indices name is read and written. Gradients as mica_scatter
 * says. */
MICA_API mica_value mica_scatter_rows(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                      mica_scatter how);
/* mica_scatter_rows where the caller knows that no element of x is named twice, which saves sorting the indices.
 * What an element that is named twice becomes is undefined (memory stays safe); indices outside may repeat. */
MICA_API mica_value mica_scatter_rows_unique(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                             mica_scatter how);

MICA_END_DECLS

#endif
