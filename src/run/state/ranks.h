/* run/state/ranks.h: how the ranks of a run share the work. Private to run/ranks.c. */
#ifndef MICA_RUN_STATE_RANKS_H
#define MICA_RUN_STATE_RANKS_H

#include "run/layout.h"

#include <stdbool.h>

typedef struct mica__run_ranks {
  mica__layout layout;
  int64_t *shares; /* of a batch, per rank; NULL: even ones */
  bool refused;    /* by all ranks alike, so that none needs to be told */
} mica__run_ranks;

#endif
