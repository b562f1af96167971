/* mica/pool.h: pooling of device tensors, forward and backward. mica/nodes.h builds it in graphs, by the same config.
 *
 * x is (N, C, spatial...) with one to three spatial dimensions, y (N, C, outputs...) as mica/window.h says; tensors are
 * contiguous, of one dtype of f32 f16 bf16 f64, and x and y of the largest value may be integers too. No result
 * overlaps an operand. The rules of mica/ops.h hold; a call of arguments and shapes not met before is compiled once,
 * which blocks (the engine keeps the last 64 such calls), the others wait for nothing and allocate no device memory.
 * Threads: as mica/ops.h. */
#ifndef MICA_POOL_H
#define MICA_POOL_H

#include <mica/tensor.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

/* The largest of each window, NaN where there is one; the type's lowest value for a window without elements. */
MICA_API MICA_CHECKED mica_status mica_op_max_pool_fwd(mica_queue *queue, const mica_pool_config *config,
                                                       const mica_tensor *x, mica_tensor *y);
/* dx[i] = the sum of dy over the windows whose first largest element is i. Finds it in x again. */
MICA_API MICA_CHECKED mica_status mica_op_max_pool_bwd(mica_queue *queue, const mica_pool_config *config,
                                                       const mica_tensor *x, const mica_tensor *dy, mica_tensor *dx);

/* The mean of each window, over its elements or, with count_include_pad, over those of the padding too; 0 for a window
 * without elements. */
MICA_API MICA_CHECKED mica_status mica_op_average_pool_fwd(mica_queue *queue, const mica_pool_config *config,
                                                           const mica_tensor *x, mica_tensor *y);
/* dx[i] = the sum, over the windows that i is in, of dy divided by the window's count. */
MICA_API MICA_CHECKED mica_status mica_op_average_pool_bwd(mica_queue *queue, const mica_pool_config *config,
                                                           const mica_tensor *dy, mica_tensor *dx);

/* Over all spatial dimensions, which y has with extent 1. Here equal largest elements share the gradient, as in
 * mica_max. */
MICA_API MICA_CHECKED mica_status mica_op_global_max_pool_fwd(mica_queue *queue, const mica_tensor *x, mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_global_max_pool_bwd(mica_queue *queue, const mica_tensor *x,
                                                              const mica_tensor *dy, mica_tensor *dx);
MICA_API MICA_CHECKED mica_status mica_op_global_average_pool_fwd(mica_queue *queue, const mica_tensor *x,
                                                                  mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_global_average_pool_bwd(mica_queue *queue, const mica_tensor *dy,
                                                                  mica_tensor *dx);

MICA_END_DECLS

#endif
