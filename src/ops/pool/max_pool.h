/* ops/pool/max_pool.h: the problem that implementations of max pooling and of its gradient receive. */
#ifndef MICA_OPS_POOL_MAX_POOL_H
#define MICA_OPS_POOL_MAX_POOL_H

#include "ir/attr.h"
#include "ops/resample/window.h"
#include "ops/select/impl.h"
#include "ops/select/launch_check.h"

#define MICA__MAX_POOL_ATTRS(X, S)                                                                                     \
  X(S, SPATIAL, size, 0, "of the window")                                                                              \
  X(S, SPATIAL, stride, 1, "from one window to the next")                                                              \
  X(S, SPATIAL, pad, 0, "elements before the first, lower than all")                                                   \
  X(S, SPATIAL, pad_end, 0, "and after the last")                                                                      \
  X(S, SPATIAL, dilation, 1, "from one element of a window to the next")                                               \
  X(S, SPATIAL, ceil_mode, 0, "1: a last window may reach beyond the padding")                                         \
  X(S, SPATIAL, outputs, 0, "above 0: so many adaptive windows")
MICA__ATTR_STRUCT(max_pool, MICA__MAX_POOL_ATTRS);
/* Copies these attributes between structs that have them. */
#define MICA__MAX_POOL_COPY(to, from)                                                                                  \
  do {                                                                                                                 \
    for (int i_ = 0; i_ < 3; i_++) {                                                                                   \
      (to)->size[i_] = (from)->size[i_];                                                                               \
      (to)->stride[i_] = (from)->stride[i_];                                                                           \
      (to)->pad[i_] = (from)->pad[i_];                                                                                 \
      (to)->pad_end[i_] = (from)->pad_end[i_];                                                                         \
      (to)->dilation[i_] = (from)->dilation[i_];                                                                       \
      (to)->ceil_mode[i_] = (from)->ceil_mode[i_];                                                                     \
      (to)->outputs[i_] = (from)->outputs[i_];                                                                         \
    }                                                                                                                  \
  } while (0)
extern const mica__attr_list mica__max_pool_attr_list;

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
