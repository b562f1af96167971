/* run/board.h: what TensorBoard shows of a run beside its metrics. */
#ifndef MICA_RUN_BOARD_H
#define MICA_RUN_BOARD_H

#include "run/run.h"

/* Writes a new event file with the network under test, the settings and stored values (run/facts.h), and the first
 * training pictures. */
mica_status mica__board_begin(const mica_run *run);
/* Writes histograms of the weights, if the network has at most MICA__BOARD_WEIGHTS of them. */
#define MICA__BOARD_WEIGHTS (1 << 20)
mica_status mica__board_weights(const mica_run *run, int64_t step);

#endif
