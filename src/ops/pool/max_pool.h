/* ops/pool/max_pool.h: the problem that implementations of max pooling and of its gradient receive. */
#ifndef MICA_OPS_POOL_MAX_POOL_H
#define MICA_OPS_POOL_MAX_POOL_H

#include "ops/resample/window.h"
#include "ops/select/impl.h"
#include "ops/select/launch_check.h"

/* The results of max_pool. */
enum { MICA__POOL_VALUES, MICA__POOL_INDICES, MICA__POOL_RESULTS };

/* Planes of three axes. If there are fewer, the first axes have one element and a window of one. */
typedef struct mica__pool_planes {
  int64_t count, n[3], m[3]; /* number of planes; elements and outputs of each axis */
  mica__resample_window windows[3];
} mica__pool_planes;

/* The problem of an implementation. exec belongs to max_pool (x) or to max_pool_grad (x, dy and positions). */
typedef struct mica__pool_problem {
  const mica__exec *exec;
  mica__pool_planes p;
} mica__pool_problem;

/* Windows of 2 x 2 on CPUs (max_pool_2x2.c). */
extern const mica__impl mica__max_pool_2x2, mica__max_pool_2x2_grad;
extern const mica__kernel_desc mica__kernel_max_pool_2x2, mica__kernel_max_pool_2x2_grad;

/* Values alone, in windows with stride 2 along rows, on CPUs (max_pool_rows.c). */
extern const mica__impl mica__max_pool_rows;
extern const mica__kernel_desc mica__kernel_max_pool_rows;

#endif
