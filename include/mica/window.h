/* mica/window.h: windows of convolutions and pooling, for tensors (mica/conv.h, mica/pool.h) and builders
 * (mica/nodes.h).
 *
 * There are one, two or three spatial dimensions. Element i of an array is for spatial dimension i, in the tensors'
 * order. */
#ifndef MICA_WINDOW_H
#define MICA_WINDOW_H

#include <mica/api.h>
#include <stdbool.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* Parameters of a convolution. All zeros: no padding, stride, dilation or groups; 0 means 1 for strides, dilations and
 * groups. */
typedef struct mica_conv_config {
  int64_t stride[3];
  int64_t pad[3];        /* zeros before the first element and after the last */
  int64_t pad_more[3];   /* further zeros after the last element; may be negative */
  int64_t dilation[3];   /* distance between elements of a filter */
  int64_t output_pad[3]; /* mica_conv_transpose only: further elements at the end, fewer than the stride */
  int64_t groups;
  /* f32 operands may be rounded to 10 bits of mantissa for tensor cores (tf32), in all passes; sums stay f32. */
  bool allow_tf32;
} mica_conv_config;

/* Parameters of pooling. Output o of an axis of n elements covers elements o stride - pad + k dilation for k < size,
 * except those outside. The number of outputs is
 *
 *   floor((n + 2 pad + pad_more - dilation (size - 1) - 1) / stride) + 1
 *
 * With ceil_mode it is ceil instead of floor, minus an output that would begin after the data and the padding before
 * them. */
typedef struct mica_pool_config {
  int64_t size[3];     /* required; 0 is MICA_E_INVALID */
  int64_t stride[3];   /* 0: size */
  int64_t pad[3];      /* elements before and after the axis */
  int64_t pad_more[3]; /* further elements after the axis; may be negative */
  int64_t dilation[3]; /* 0: 1 */
  bool ceil_mode;
  bool count_include_pad; /* averages also count elements of padding */
  double p;               /* exponent of Lp; 0: 2 */
} mica_pool_config;

MICA_END_DECLS

#endif
