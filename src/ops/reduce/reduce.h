/* ops/reduce/reduce.h: what the reduction shares with its check. */
#ifndef MICA_OPS_REDUCE_REDUCE_H
#define MICA_OPS_REDUCE_REDUCE_H

#include "runtime/launch.h"

#include <mica/ops.h>

extern const mica__kernel_desc mica__reduce_rows, mica__reduce_columns;

/* A tensor as (outer, n, inner), reduced over n. */
typedef struct mica__reduce_view {
  int64_t outer, n, inner;
} mica__reduce_view;

/* Queues the reduction of x, which *view describes, to y (outer, inner). variant is from the list that both kernels
 * share; NULL selects the device's default. view->n must be above 0. */
mica_status mica__reduce_launch(mica_queue *queue, const mica__variant *variant, mica_reduction reduction,
                                const mica__reduce_view *view, const mica_tensor *x, mica_tensor *y);

#endif
