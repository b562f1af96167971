/* compile/fused_split.h: few long rows in several passes, so that they fill a device.
 *
 * For each level of reductions one pass joins pieces of the rows, and a second joins the pieces; what follows on the
 * elements is a pointwise pass. Each pass is a list like any other. Between them stand two arrays for each REDUCE:
 * `pieces` values a row, and one value a row, row-major over the outer dimensions; they are operands of every pass, in
 * the order of the REDUCEs, after those of the whole. */
#ifndef MICA_COMPILE_FUSED_SPLIT_H
#define MICA_COMPILE_FUSED_SPLIT_H

#include "compile/fused_plan.h"

/* True if (simplified) rows should be walked in pieces: which dimension of the row is cut, and after how many steps. */
bool mica__fused_split_choose(const mica__fused *fused, const mica__fused_plan *plan, int32_t *split, int64_t *chunk);
int64_t mica__fused_split_pieces(const mica__fused *fused, int32_t split, int64_t chunk);

/* The pass that makes the REDUCEs of a level (from 1 on) over pieces. */
void mica__fused_split_pieces_pass(const mica__fused *whole, const mica__fused_plan *plan, int32_t level, int32_t split,
                                   int64_t chunk, mica__fused *fused);
/* The one that joins their pieces, and in the last level also stores what is one a row. */
void mica__fused_split_join_pass(const mica__fused *whole, const mica__fused_plan *plan, int32_t level, int64_t pieces,
                                 bool last, mica__fused *fused);
/* The one that stores elements; false when there are none to be stored. */
bool mica__fused_split_rest_pass(const mica__fused *whole, const mica__fused_plan *plan, mica__fused *fused);

#endif
