/* mica/index.h: builders that find, order and collect elements by their values or by indices: rows scattered into a
 * table. What gathers and scatters by an index for every element stands in mica/nodes.h.
 *
 * Letters and stickiness as there. Indices are i32 or i64; negative ones count from the end; outside an element is not
 * written. Sums are taken in a fixed order: the same operands give the same bits.
 *
 * Threads: as mica/graph.h. */
#ifndef MICA_INDEX_H
#define MICA_INDEX_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

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
