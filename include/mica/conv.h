/* mica/conv.h: convolution, stateless (mica_op_conv_*) and as values of a graph (mica_conv, mica_conv_transpose).
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
 * many groups as channels are; those of a group see its channels alone. */
#ifndef MICA_CONV_H
#define MICA_CONV_H

#include <mica/graph.h>
#include <mica/ops.h>

MICA_BEGIN_DECLS

/* A value for each spatial dimension, in the tensors' order. All zeros is a convolution without padding, stride or
 * dilation: a stride, dilation or group count of 0 stands for 1. */
typedef struct mica_conv_config {
  int64_t stride[3];
  int64_t pad[3];        /* zeros before the first element, and as many after the last */
  int64_t pad_more[3];   /* after the last so many more (or fewer, where negative): asymmetric padding */
  int64_t dilation[3];   /* from one element of a filter to the next */
  int64_t output_pad[3]; /* mica_conv_transpose alone: elements more at the end, less than the stride */
  int64_t groups;
} mica_conv_config;

/* What is done to each element of a result r as it is stored: activation(r + bias[channel] + addend). All zeros is
 * nothing. bias: (channels of the result), of any of f32 f16 bf16 (f64 for f64). addend: the result's shape and
 * dtype. */
typedef struct mica_conv_epilogue {
  const mica_tensor *bias, *addend;
  mica_activation activation;
  float activation_arg;
} mica_conv_epilogue;

/* The stateless operations. Tensors are contiguous, of one dtype of f32 f16 bf16 f64; sums are f32 (f64 for f64).
 * config and epilogue may be NULL. The result may not overlap an operand, except that it may be the addend. The same
 * call gives the same bits. MICA_E_SHAPE names the shapes. Results may have no elements; sums of no terms are 0. */

/* y from x and w, as above. */
MICA_API mica_status mica_op_conv_fwd(mica_queue *queue, const mica_conv_config *config, const mica_tensor *x,
                                      const mica_tensor *w, const mica_conv_epilogue *epilogue, mica_tensor *y);
/* The gradient with respect to x, from that with respect to y:
 *   dx[n, c, h, w] = sum over k, p, q, r, s with h = p stride - pad + r dilation (w likewise) of dy[n, k, p, q] w[k, c,
 *   r, s]
 * A transposed convolution of dy. The bias of the epilogue has C elements. */
MICA_API mica_status mica_op_conv_bwd_data(mica_queue *queue, const mica_conv_config *config, const mica_tensor *dy,
                                           const mica_tensor *w, const mica_conv_epilogue *epilogue, mica_tensor *dx);
/* The gradient with respect to w: dw[k, c, r, s] = sum over n, p, q of dy[n, k, p, q] x[n, c, p stride - pad + r
 * dilation, q stride - pad + s dilation]. */
MICA_API mica_status mica_op_conv_bwd_filter(mica_queue *queue, const mica_conv_config *config, const mica_tensor *x,
                                             const mica_tensor *dy, mica_tensor *dw);

/* y, plus b (K) for each channel unless b is null. */
MICA_API mica_value mica_conv(mica_value x, mica_value w, mica_value b, const mica_conv_config *config);
/* The transposed convolution: x (N, K, ...), w (K, C / groups, ...) and y (N, C, ...) with extents
 * (X - 1) stride - 2 pad - pad_more + (S - 1) dilation + 1 + output_pad: what mica_conv with this config makes x's
 * shape of. b (C) may be null. */
MICA_API mica_value mica_conv_transpose(mica_value x, mica_value w, mica_value b, const mica_conv_config *config);

MICA_END_DECLS

#endif
