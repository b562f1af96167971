/* run/state/ranks.h: how the ranks of a run share the work. Private to run/ranks.c. */
#ifndef MICA_RUN_STATE_RANKS_H
#define MICA_RUN_STATE_RANKS_H

#include "run/layout.h"

#include <stdbool.h>

typedef struct mica__run_ranks {
  mica__layout layout;
  int64_t *shares; /* shares of a batch, one per rank; NULL: equal ones */
  bool refused;    /* all ranks failed alike, so that none has to be informed */
} mica__run_ranks;

#endif
