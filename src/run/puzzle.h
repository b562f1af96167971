/* run/puzzle.h: training on pictures that are mixed by their saliency (PuzzleMix, networks/puzzle.h). */
#ifndef MICA_RUN_PUZZLE_H
#define MICA_RUN_PUZZLE_H

#include "base/error.h"

#include <mica/run.h>

/* Refuses blocks that cannot cut the run's pictures into equal parts, rows, and samples that are mixed already.
 * blocks: per side; 0 does not mix, here and below. */
mica_status mica__run_check_puzzle(const mica_run *run, int64_t blocks);

/* Replaces the batch's pictures and labels by mixed ones. The gradient of the loss of the pictures as they are decides
 * how they are mixed: a pass before the training step's own. */
void mica__run_puzzle(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs,
                      int64_t blocks);

#endif
