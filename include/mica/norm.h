/* mica/norm.h: softmax and normalisation of device tensors, forward and backward. mica/nodes.h builds them in graphs.
 *
 * Tensors are contiguous and have one dtype: f32, f16, bf16 or f64; statistics and sums are f32 for 16-bit types.
 * Results must not overlap operands. Negative axes count from the end. Backward passes give the gradient of the sum of
 * y dy; they recompute statistics from x, and results that are not needed may be NULL.
 *
 * The rules of mica/ops.h apply. The first call with new arguments, new shapes or another queue builds a session, which
 * may compile kernels and block. The engine keeps the 64 sessions that were used last. Calls that find their session do
 * not wait, and allocate no device memory.
 *
 * Threads: as in mica/ops.h. */
#ifndef MICA_NORM_H
#define MICA_NORM_H

#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* y = e^x / sum e^x along the axis, without overflow. dx = y (dy - sum of y dy), from the result y. */
MICA_API MICA_CHECKED mica_status mica_op_softmax_fwd(mica_queue *queue, int32_t axis, const mica_tensor *x,
                                                      mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_softmax_bwd(mica_queue *queue, int32_t axis, const mica_tensor *y,
                                                      const mica_tensor *dy, mica_tensor *dx);

/* y = x - log sum e^x along the axis. dx = dy - e^y sum of dy, from the result y. */
MICA_API MICA_CHECKED mica_status mica_op_log_softmax_fwd(mica_queue *queue, int32_t axis, const mica_tensor *x,
                                                          mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_log_softmax_bwd(mica_queue *queue, int32_t axis, const mica_tensor *y,
                                                          const mica_tensor *dy, mica_tensor *dx);

/* y = (x - mean) / sqrt(variance + epsilon) scale + bias over the axes from `axis` on. scale, bias, dscale and dbias
 * have the shape of these axes. scale NULL: 1; bias NULL: 0. Ba et al. 2016. */
MICA_API MICA_CHECKED mica_status mica_op_layer_norm_fwd(mica_queue *queue, int32_t axis, double epsilon,
                                                         const mica_tensor *x, const mica_tensor *scale,
                                                         const mica_tensor *bias, mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_layer_norm_bwd(mica_queue *queue, int32_t axis, double epsilon,
                                                         const mica_tensor *x, const mica_tensor *scale,
                                                         const mica_tensor *dy, mica_tensor *dx, mica_tensor *dscale,
                                                         mica_tensor *dbias);

/* y = x / sqrt(mean of x x + epsilon) scale. Axes, scale and dscale are as in layer norm. Zhang and Sennrich 2019. */
MICA_API MICA_CHECKED mica_status mica_op_rms_norm_fwd(mica_queue *queue, int32_t axis, double epsilon,
                                                       const mica_tensor *x, const mica_tensor *scale, mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_rms_norm_bwd(mica_queue *queue, int32_t axis, double epsilon,
                                                       const mica_tensor *x, const mica_tensor *scale,
                                                       const mica_tensor *dy, mica_tensor *dx, mica_tensor *dscale);

/* Below, x is (N, C, ...). scale, bias, mean and variance are (C); dscale and dbias are like scale and bias. If x has a
 * 16-bit type, scale and bias may have that type or f32, and statistics that are written are f32. */

/* y = (x - mean) / sqrt(variance + epsilon) scale + bias with statistics per image and group of C / groups channels.
 * With groups = C it is instance norm. Wu and He 2018. */
MICA_API MICA_CHECKED mica_status mica_op_group_norm_fwd(mica_queue *queue, int64_t groups, double epsilon,
                                                         const mica_tensor *x, const mica_tensor *scale,
                                                         const mica_tensor *bias, mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_group_norm_bwd(mica_queue *queue, int64_t groups, double epsilon,
                                                         const mica_tensor *x, const mica_tensor *scale,
                                                         const mica_tensor *dy, mica_tensor *dx, mica_tensor *dscale,
                                                         mica_tensor *dbias);

/* Batch norm with given statistics, as in inference. The backward pass treats them as constants. Ioffe and Szegedy
 * 2015. */
MICA_API MICA_CHECKED mica_status mica_op_batch_norm_fwd(mica_queue *queue, double epsilon, const mica_tensor *x,
                                                         const mica_tensor *scale, const mica_tensor *bias,
                                                         const mica_tensor *mean, const mica_tensor *variance,
                                                         mica_tensor *y);
MICA_API MICA_CHECKED mica_status mica_op_batch_norm_bwd(mica_queue *queue, double epsilon, const mica_tensor *x,
                                                         const mica_tensor *scale, const mica_tensor *mean,
                                                         const mica_tensor *variance, const mica_tensor *dy,
                                                         mica_tensor *dx, mica_tensor *dscale, mica_tensor *dbias);

/* Batch norm with the statistics of this batch, over all axes but 1. mean and variance (may be NULL) receive them, in
 * f32 for 16-bit types; the variance is biased. To update running statistics: mica_op_scale_add(queue, momentum, mean,
 * 1 - momentum, running). */
MICA_API MICA_CHECKED mica_status mica_op_batch_norm_train_fwd(mica_queue *queue, double epsilon, const mica_tensor *x,
                                                               const mica_tensor *scale, const mica_tensor *bias,
                                                               mica_tensor *y, mica_tensor *mean,
                                                               mica_tensor *variance);
MICA_API MICA_CHECKED mica_status mica_op_batch_norm_train_bwd(mica_queue *queue, double epsilon, const mica_tensor *x,
                                                               const mica_tensor *scale, const mica_tensor *dy,
                                                               mica_tensor *dx, mica_tensor *dscale,
                                                               mica_tensor *dbias);

MICA_END_DECLS

#endif
