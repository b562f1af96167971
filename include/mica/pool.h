/* mica/pool.h: pooling of device tensors, forward and backward. mica/nodes.h builds it in graphs with the same config.
 *
 * x is (N, C, spatial...) with one to three spatial dimensions, y (N, C, outputs...); see mica/window.h. Tensors are
 * contiguous and have one dtype: f32, f16, bf16 or f64; max pooling also accepts integers. Results must not overlap
 * operands.
 *
 * The rules of mica/ops.h apply. The first call with new arguments and shapes compiles, which blocks; the engine keeps
 * the last 64 such calls. Other calls do not wait and allocate no device memory.
 *
 * Threads: as in mica/ops.h. */
#ifndef MICA_POOL_H
#define MICA_POOL_H

#include <mica/tensor.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

/* Maximum per window; NaN if it contains one; the dtype's lowest value for a window without elements. */
MICA_API MICA_CHECKED mica_status mica_op_max_pool_fwd(mica_queue *queue, const mica_pool_config *config,
                                                       const mica_tensor *x, mica_tensor *y);
/* dx[i] = sum of dy over the windows whose first maximum is i. Finds the maximum in x again. */
MICA_API MICA_CHECKED mica_status mica_op_max_pool_bwd(mica_queue *queue, const mica_pool_config *config,
                                                       const mica_tensor *x, const mica_tensor *dy, mica_tensor *dx);

/* Mean per window over its elements, with count_include_pad including padding; 0 for a window without elements. */
MICA_API MICA_CHECKED mica_status mica_op_average_pool_fwd(mica_queue *queue, const mica_pool_config *config,
                                                           const mica_tensor *x, mica_tensor *y);
/* dx[i] = sum over the windows that contain i of dy divided by the window's number of elements. */
MICA_API MICA_CHECKED mica_status mica_op_average_pool_bwd(mica_queue *queue, const mica_pool_config *config,
                                                           const mica_tensor *dy, mica_tensor *dx);

/* Over all spatial dimensions; y has extent 1 there. Equal maxima share the gradient, as in mica_max. */
MICA_API MICA_CHECKED mica_status mica_op_global_max_pool_fwd(mica_queue *queue, const mica_tensor *x, mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_global_max_pool_bwd(mica_queue *queue, const mica_tensor *x,
                                                              const mica_tensor *dy, mica_tensor *dx);
MICA_API MICA_CHECKED mica_status mica_op_global_average_pool_fwd(mica_queue *queue, const mica_tensor *x,
                                                                  mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_global_average_pool_bwd(mica_queue *queue, const mica_tensor *dy,
                                                                  mica_tensor *dx);

MICA_END_DECLS

#endif
