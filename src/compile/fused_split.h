/* compile/fused_split.h: splits few long rows into several passes, so that they fill a device.
 *
 * For each level of reductions one pass joins pieces of the rows, and a second one joins the pieces; what follows on
 * elements is a pointwise pass. Each pass is a list like any other. Two arrays per REDUCE connect the passes: `pieces`
 * values per row, and one value per row, row-major over the outer dimensions. They are operands of every pass, in the
 * order of the REDUCEs, after the operands of the whole list. */
#ifndef MICA_COMPILE_FUSED_SPLIT_H
#define MICA_COMPILE_FUSED_SPLIT_H

#include "compile/fused_plan.h"

/* True if the rows of a simplified list should be walked in pieces: *split is the dimension of the row that is cut,
 * *chunk the steps per piece. */
bool mica__fused_split_choose(const mica__fused *fused, const mica__fused_plan *plan, int32_t *split, int64_t *chunk);
int64_t mica__fused_split_pieces(const mica__fused *fused, int32_t split, int64_t chunk);

/* The pass that joins pieces of the rows for the REDUCEs of a level (from 1 on). */
void mica__fused_split_pieces_pass(const mica__fused *whole, const mica__fused_plan *plan, int32_t level, int32_t split,
                                   int64_t chunk, mica__fused *fused);
/* The pass that joins the pieces; in the last level it also stores the values per row. */
void mica__fused_split_join_pass(const mica__fused *whole, const mica__fused_plan *plan, int32_t level, int64_t pieces,
                                 bool last, mica__fused *fused);
/* The pass that stores elements; false if there are no elements to store. */
bool mica__fused_split_rest_pass(const mica__fused *whole, const mica__fused_plan *plan, mica__fused *fused);

#endif
