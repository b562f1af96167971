/* run/state/record.h: what a run records of its training. */
#ifndef MICA_RUN_STATE_RECORD_H
#define MICA_RUN_STATE_RECORD_H

#include <mica/history.h>

#define MICA__REMARKS 16

typedef struct mica__run_record {
  mica_history *history;
  mica_events *events;
  char *stopped; /* the sentence of mica_run_stopped; NULL: the run has ended */
  char *remarks[MICA__REMARKS];
} mica__run_record;

#endif
