/* mica/conv.h: convolution of device tensors. mica/nodes.h builds it in graphs with the same formula and config.
 *
 * Letters: N images; C channels and (D, H, W) extents of the input x; K filters of (T, R, S); output y of (O, P, Q).
 * There are one, two or three spatial dimensions:
 *
 *   x (N, C, W)         w (K, C / groups, S)         y (N, K, Q)
 *   x (N, C, H, W)      w (K, C / groups, R, S)      y (N, K, P, Q)
 *   x (N, C, D, H, W)   w (K, C / groups, T, R, S)   y (N, K, O, P, Q)
 *
 *   y[n, k, p, q] = sum over c, r, s of x[n, c, p stride - pad + r dilation, q stride - pad + s dilation] w[k, c, r, s]
 *
 * x is 0 outside its extents. The kernel is not flipped (cross-correlation). With groups, channels and filters are
 * divided into equal groups; the filters of a group use its channels only.
 *
 * Threads: as in mica/ops.h. */
#ifndef MICA_CONV_H
#define MICA_CONV_H

#include <mica/ops.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

/* Epilogue of a convolution: each element r of the result becomes activation(r + bias[channel] + addend). All zeros: r.
 * bias (channels of the result) is f32, f16 or bf16 (f64 for f64). addend has the result's shape and dtype. */
typedef struct mica_conv_epilogue {
  const mica_tensor *bias, *addend;
  mica_activation activation;
  float activation_arg;
} mica_conv_epilogue;

/* Rules for all functions below. Tensors are contiguous and have one dtype: f32, f16, bf16 or f64; sums are f32 (f64
 * for f64). config and epilogue may be NULL. The result must not overlap an operand, except that it may be the addend.
 * The same call gives the same bits. Results may have 0 elements; empty sums are 0. MICA_E_SHAPE: the message names the
 * shapes. */

/* y from x and w, by the formula above. */
MICA_API MICA_CHECKED mica_status mica_op_conv_fwd(mica_queue *queue, const mica_conv_config *config,
                                                   const mica_tensor *x, const mica_tensor *w,
                                                   const mica_conv_epilogue *epilogue, mica_tensor *y);
/* Gradient with respect to x:
 *
 *   dx[n, c, i, j] = sum of dy[n, k, p, q] w[k, c, r, s]
 *                    over k, p, q, r, s with i = p stride - pad + r dilation and j = q stride - pad + s dilation
 *
 * This is a transposed convolution of dy. The bias of the epilogue has C elements. */
MICA_API MICA_CHECKED mica_status mica_op_conv_bwd_data(mica_queue *queue, const mica_conv_config *config,
                                                        const mica_tensor *dy, const mica_tensor *w,
                                                        const mica_conv_epilogue *epilogue, mica_tensor *dx);
/* Gradient with respect to w:
 *
 *   dw[k, c, r, s] = sum over n, p, q of
 *                    dy[n, k, p, q] x[n, c, p stride - pad + r dilation, q stride - pad + s dilation] */
MICA_API MICA_CHECKED mica_status mica_op_conv_bwd_filter(mica_queue *queue, const mica_conv_config *config,
                                                          const mica_tensor *x, const mica_tensor *dy, mica_tensor *dw);

MICA_END_DECLS

#endif
