/* run/board.h: what TensorBoard shows of a run beside its metrics. */
#ifndef MICA_RUN_BOARD_H
#define MICA_RUN_BOARD_H

#include "run/run.h"

/* Writes to the run's new event file: the network under test, the settings and stored values (run/facts.h), and the
 * first training pictures. */
mica_status mica__board_begin(const mica_run *run);
/* Writes histograms of the f32 weights. Does nothing if the network has more than MICA__BOARD_WEIGHTS elements. */
#define MICA__BOARD_WEIGHTS (1 << 20)
mica_status mica__board_weights(const mica_run *run, int64_t step);

#endif
