/* run/puzzle.h: training on pictures that are mixed by their saliency (PuzzleMix, networks/puzzle.h). */
#ifndef MICA_RUN_PUZZLE_H
#define MICA_RUN_PUZZLE_H

#include "base/error.h"

#include <mica/run.h>

/* Checks that pictures can be mixed in blocks x blocks parts; with blocks = 0 they are not mixed. Refuses samples that
 * are rows, pictures that cannot be cut into that many equal parts, mixup or cutmix besides, and a network that is
 * divided among ranks. */
mica_status mica__run_check_puzzle(const mica_run *run, int64_t blocks);

/* Replaces the batch's pictures and labels by mixed ones; does nothing if blocks is 0. The gradient of the loss for the
 * unmixed pictures decides how they are mixed, so this takes a pass of its own before that of the training step. */
void mica__run_puzzle(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs,
                      int64_t blocks);

#endif
