/* run/layout.h: how the ranks of a run share the work. */
#ifndef MICA_RUN_LAYOUT_H
#define MICA_RUN_LAYOUT_H

#include "base/error.h"

#include <mica/parallel.h>

/* `data` replicas, each of `pipe` stages, each of `tensor` ranks. */
typedef struct mica__layout {
  int32_t data, pipe, tensor;
  int32_t micro; /* micro-batches of a batch; 0 for the largest number, at most two per stage, that divides it */
  mica_pipeline_schedule schedule;
} mica__layout;

/* Parses "data=2,pipe=2,micro=8,order=gpipe"; NULL and "" mean replicas only. Of the numbers left out, pipe and tensor
 * are 1, micro is 0, and data is as large as the number of ranks allows. MICA_E_INVALID if a word is unknown, a number
 * is malformed, or the product of data, pipe and tensor differs from the number of ranks. */
mica_status mica__layout_parse(const char *text, int32_t ranks, mica__layout *layout);

#endif
