/* onnx/ops/window.h: the attributes that convolutions and poolings share. */
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
  bool same; /* pads were found by auto_pad, for x's extents and a forward window */
} mica__spatial_window;

/* kernel_shape (that of w, whose first two dimensions are not spatial, where w is not null), strides, dilations, pads
 * and auto_pad; false when an error is recorded. */
bool mica__lower_window(mica__lowering *l, const mica__onnx_node *node, mica_value x, mica_value w,
                        mica__spatial_window *window);

/* The configuration of a convolution with that window, and of the attribute group. */
mica_conv_config mica__lower_conv_config(const mica__onnx_node *node, const mica__spatial_window *window);

#endif
