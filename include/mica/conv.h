/* mica/conv.h: convolution on device tensors. mica/nodes.h builds it in graphs, by the same formula and config.
 *
 * Letters: N images, C channels and (D, H, W) extents of the input x, K filters of (T, R, S), output y of (O, P, Q).
 * One, two or three spatial dimensions:
 *
 *   x (N, C, W)         w (K, C / groups, S)         y (N, K, Q)
 *   x (N, C, H, W)      w (K, C / groups, R, S)      y (N, K, P, Q)
 *   x (N, C, D, H, W)   w (K, C / groups, T, R, S)   y (N, K, O, P, Q)
 *
 *   y[n, k, p, q] = sum over c, r, s of x[n, c, p stride - pad + r dilation, q stride - pad + s dilation] w[k, c, r, s]
 *
 * with zeros outside x (no kernel is flipped: what mathematics calls cross-correlation). Filters are parted into as
 * many groups as channels are; those of a group see its channels alone. Threads: as
 * mica/ops.h. */
#ifndef MICA_CONV_H
#define MICA_CONV_H

#include <mica/ops.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

/* The epilogue of a convolution: each element r of the result is stored as activation(r + bias[channel] + addend). All
 * zeros leaves r as it is. bias: (channels of the result), of any of f32 f16 bf16 (f64 for f64). addend: the result's
 * shape and dtype. */
typedef struct mica_conv_epilogue {
  const mica_tensor *bias, *addend;
  mica_activation activation;
  float activation_arg;
} mica_conv_epilogue;

/* The stateless operations. Tensors are contiguous, of one dtype of f32 f16 bf16 f64; sums are f32 (f64 for f64).
 * config and epilogue may be NULL. The result may not overlap an operand, except that it may be the addend. The same
 * call gives the same bits. MICA_E_SHAPE names the shapes. Results may have no elements; sums of no terms are 0. */

/* y from x and w, as above. */
MICA_API MICA_CHECKED mica_status mica_op_conv_fwd(mica_queue *queue, const mica_conv_config *config,
                                                   const mica_tensor *x, const mica_tensor *w,
                                                   const mica_conv_epilogue *epilogue, mica_tensor *y);
/* The gradient with respect to x, from that with respect to y:
 *   dx[n, c, h, w] = sum of dy[n, k, p, q] w[k, c, r, s]
 *                    over k, p, q, r, s with h = p stride - pad + r dilation, w likewise
 * A transposed convolution of dy. The bias of the epilogue has C elements. */
MICA_API MICA_CHECKED mica_status mica_op_conv_bwd_data(mica_queue *queue, const mica_conv_config *config,
                                                        const mica_tensor *dy, const mica_tensor *w,
                                                        const mica_conv_epilogue *epilogue, mica_tensor *dx);
/* The gradient with respect to w: dw[k, c, r, s] = sum over n, p, q of dy[n, k, p, q] x[n, c, p stride - pad + r
 * dilation, q stride - pad + s dilation]. */
MICA_API MICA_CHECKED mica_status mica_op_conv_bwd_filter(mica_queue *queue, const mica_conv_config *config,
                                                          const mica_tensor *x, const mica_tensor *dy, mica_tensor *dw);

MICA_END_DECLS

#endif
