/* run/state/ranks.h: how the ranks of a run share the work. Private to run/ranks.c. */
#ifndef MICA_RUN_STATE_RANKS_H
#define MICA_RUN_STATE_RANKS_H

#include "run/layout.h"

#include <stdbool.h>

typedef struct mica__run_ranks {
  mica__layout layout;
  int64_t *shares; /* shares of a batch, one per rank; NULL if they are equal */
  bool refused;    /* mica__run_check_ranks found a difference, so all ranks fail */
} mica__run_ranks;

#endif
