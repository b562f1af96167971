/* mica/pool.h: pooling of device tensors, forward and backward. For pooling in a graph, see mica/nodes.h.
 *
 * x is (N, C, spatial...) with one to three spatial dimensions, y (N, C, outputs...); see mica/window.h. Tensors are
 * contiguous and have one dtype: f32, f16, bf16 or f64; max pooling also accepts integers. Results must not overlap
 * operands.
 *
 * The rules of mica/ops.h apply. The first call with a new combination of arguments and shapes compiles, which blocks.
 * The engine keeps the compiled kernels of the last 64 combinations. Other calls do not wait and allocate no device
 * memory.
 *
 * Threads: as in mica/ops.h. */
#ifndef MICA_POOL_H
#define MICA_POOL_H

#include <mica/tensor.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

/* Maximum of each window; NaN if the window contains a NaN; the dtype's lowest value if the window has no elements. */
MICA_API MICA_CHECKED mica_status mica_op_max_pool_fwd(mica_queue *queue, const mica_pool_config *config,
                                                       const mica_tensor *x, mica_tensor *y);
/* dx[i] = sum of dy over the windows whose first maximum is i. Finds the maximum in x again. */
MICA_API MICA_CHECKED mica_status mica_op_max_pool_bwd(mica_queue *queue, const mica_pool_config *config,
                                                       const mica_tensor *x, const mica_tensor *dy, mica_tensor *dx);

/* Mean of each window's elements; 0 if the window has none. With count_include_pad, padding counts as elements of value
 * 0. */
MICA_API MICA_CHECKED mica_status mica_op_average_pool_fwd(mica_queue *queue, const mica_pool_config *config,
                                                           const mica_tensor *x, mica_tensor *y);
/* dx[i] = sum of dy / (elements that the mean counted), over the windows that contain i. */
MICA_API MICA_CHECKED mica_status mica_op_average_pool_bwd(mica_queue *queue, const mica_pool_config *config,
                                                           const mica_tensor *dy, mica_tensor *dx);

/* The window is the whole image: y has extent 1 in all spatial dimensions. If several elements equal the maximum, they
 * share the gradient equally, as in mica_max. */
MICA_API MICA_CHECKED mica_status mica_op_global_max_pool_fwd(mica_queue *queue, const mica_tensor *x, mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_global_max_pool_bwd(mica_queue *queue, const mica_tensor *x,
                                                              const mica_tensor *dy, mica_tensor *dx);
MICA_API MICA_CHECKED mica_status mica_op_global_average_pool_fwd(mica_queue *queue, const mica_tensor *x,
                                                                  mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_global_average_pool_bwd(mica_queue *queue, const mica_tensor *dy,
                                                                  mica_tensor *dx);

MICA_END_DECLS

#endif
