/* run/state/record.h: what a run records about its training. */
#ifndef MICA_RUN_STATE_RECORD_H
#define MICA_RUN_STATE_RECORD_H

#include <mica/history.h>
#include <stdbool.h>

#define MICA__REMARKS 16

typedef struct mica__run_record {
  mica_history *history;
  mica_events *events;
  char *stopped;     /* what mica_run_stopped returns: why training ended before its last epoch, or NULL */
  bool last_is_best; /* the last epoch is the best so far */
  bool last_is_kept; /* the last epoch's weights are those that are kept as the best */
  char *remarks[MICA__REMARKS];
} mica__run_record;

#endif
