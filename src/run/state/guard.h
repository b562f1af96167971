/* run/state/guard.h: how a run guards its folder and its data. Private to run/guard.c. */
#ifndef MICA_RUN_STATE_GUARD_H
#define MICA_RUN_STATE_GUARD_H

#include <stdbool.h>

typedef struct mica__run_guard {
  int lock;        /* the folder of a run in training, open and locked, or -1 */
  bool other_data; /* a resumed run continues with data that differ from those it began with */
} mica__run_guard;

#endif
