/* compile/fused_split.h: splits a reduction of few long rows into several passes, so that there is enough parallel work
 * to fill a device.
 *
 * Each level of reductions takes two passes: one joins the elements of each piece of a row, the other joins the pieces.
 * If the list stores elements, a pointwise pass follows at the end. Each pass is a list of fused instructions like any
 * other. Two arrays per REDUCE connect the passes: one holds `pieces` values per row, the other one value per row,
 * row-major over the outer dimensions. They are operands of every pass, in the order of the REDUCEs, after the operands
 * of the whole list. */
#ifndef MICA_COMPILE_FUSED_SPLIT_H
#define MICA_COMPILE_FUSED_SPLIT_H

#include "compile/fused_plan.h"

/* True if the rows of a simplified list should be walked in pieces: *split is the dimension of the row that is cut,
 * *chunk the steps per piece. */
bool mica__fused_split_choose(const mica__fused *fused, const mica__fused_plan *plan, int32_t *split, int64_t *chunk);
int64_t mica__fused_split_pieces(const mica__fused *fused, int32_t split, int64_t chunk);

/* Makes the pass that reduces each piece of a row to one value, for the REDUCEs of a level. Levels count from 1. */
void mica__fused_split_pieces_pass(const mica__fused *whole, const mica__fused_plan *plan, int32_t level, int32_t split,
                                   int64_t chunk, mica__fused *fused);
/* Makes the pass that combines the values of a row's pieces into one value per row, for the same REDUCEs. If `last`
 * (the last level), the pass also does the STOREs of one value per row. */
void mica__fused_split_join_pass(const mica__fused *whole, const mica__fused_plan *plan, int32_t level, int64_t pieces,
                                 bool last, mica__fused *fused);
/* The pass that stores elements; false if there are no elements to store. */
bool mica__fused_split_rest_pass(const mica__fused *whole, const mica__fused_plan *plan, mica__fused *fused);

#endif
