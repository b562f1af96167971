/* run/layout.h: how the ranks of a run share the work. */
#ifndef MICA_RUN_LAYOUT_H
#define MICA_RUN_LAYOUT_H

#include "base/error.h"

#include <mica/parallel.h>

/* data replicas of pipe stages of tensor ranks each. */
typedef struct mica__layout {
  int32_t data, pipe, tensor;
  int32_t micro; /* micro-batches of a stage; 0: what divides the batch */
  mica_pipeline_schedule schedule;
} mica__layout;

/* Parses "data=2,pipe=2,micro=8,order=gpipe"; NULL and "": replicas alone. What is left out is 1, and data as many as
 * there are ranks for. MICA_E_INVALID: another word, a number that is none, products that are not the ranks. */
mica_status mica__layout_parse(const char *text, int32_t ranks, mica__layout *layout);

#endif
