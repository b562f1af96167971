/* mica/window.h: the windows of convolutions and poolings, as tensors (mica/conv.h, mica/pool.h) and builders
 * (mica/nodes.h) take them.
 *
 * One, two or three spatial dimensions; element i of an array is for spatial dimension i, in the tensors' order. */
#ifndef MICA_WINDOW_H
#define MICA_WINDOW_H

#include <mica/api.h>
#include <stdbool.h>
#include <stdint.h>

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
  /* f32 operands may be rounded to 10 bits of mantissa on tensor cores (tf32), in all passes; sums stay f32. */
  bool allow_tf32;
} mica_conv_config;

/* Windows of a pooling; element i is for spatial axis i. Output o of an axis of n elements looks at elements
 * o stride - pad + k dilation, k < size, as far as there are such, and there are
 *
 *   floor((n + 2 pad + pad_more - dilation (size - 1) - 1) / stride) + 1
 *
 * outputs; with ceil_mode it is ceil, less an output that would begin behind the data and the padding before it. */
typedef struct mica_pool_config {
  int64_t size[3];     /* has no default: 0 is MICA_E_INVALID */
  int64_t stride[3];   /* 0: size */
  int64_t pad[3];      /* elements before the axis and behind it */
  int64_t pad_more[3]; /* behind it in addition; may be negative */
  int64_t dilation[3]; /* 0: 1 */
  bool ceil_mode;
  bool count_include_pad; /* averages divide by the elements of padding too */
  double p;               /* of Lp; 0: 2 */
} mica_pool_config;

MICA_END_DECLS

#endif
