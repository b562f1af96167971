/* onnx/ops/window.h: the attributes of a window, for convolutions and poolings. */
#ifndef MICA_ONNX_OPS_WINDOW_H
#define MICA_ONNX_OPS_WINDOW_H

#include "onnx/lower.h"

#define MICA__WINDOW_AXES 3

/* A window over the spatial axes of x. */
typedef struct mica__spatial_window {
  int32_t rank;
  int64_t extent[MICA__WINDOW_AXES]; /* of x */
  int64_t size[MICA__WINDOW_AXES], stride[MICA__WINDOW_AXES], dilation[MICA__WINDOW_AXES];
  int64_t before[MICA__WINDOW_AXES], after[MICA__WINDOW_AXES];
  /* auto_pad is SAME_UPPER or SAME_LOWER; then `before` and `after` are right for Conv and poolings, not for
   * ConvTranspose. */
  bool same;
} mica__spatial_window;

/* Reads kernel_shape, strides, dilations, pads and auto_pad. If w is not null, kernel_shape is w's shape after its
 * first two dimensions. Returns false if x is null, or with an error recorded if an attribute or shape is invalid. */
bool mica__lower_window(mica__lowering *l, const mica__onnx_node *node, mica_value x, mica_value w,
                        mica__spatial_window *window);

/* Makes the configuration of a convolution with this window and the attribute group. */
mica_conv_config mica__lower_conv_config(const mica__onnx_node *node, const mica__spatial_window *window);

#endif
