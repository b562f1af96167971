/* ops/conv/block.h: blocks of convolutions that are one launch on CPUs: inverted residuals, fire modules. Between
 * its convolutions a block adds one bias per channel and clamps to [low, high]. */
#ifndef MICA_OPS_CONV_BLOCK_H
#define MICA_OPS_CONV_BLOCK_H

#include "ops/conv/conv.h"
#include "ops/pool/max_pool.h"

/* True if the node is a convolution of two dimensions with a bias, without dilation or tf32, and with no activation,
 * relu or clipped relu. *low and *high receive the range to which its result is clamped, which may be infinite. */
bool mica__block_is_part(const mica_graph *graph, int32_t id, double *low, double *high);
/* True if mica__block_is_part is, and the filters have one element, stride 1, no padding and one group. */
bool mica__block_is_product(const mica_graph *graph, int32_t id, double *low, double *high);

/* The activation that clamps to [low, high]: [-inf, inf], [0, inf] or [0, high]. */
mica_conv_epilogue mica__block_epilogue(double low, double high);
/* Launches a convolution of the block by itself, with operand w as filters and operand `bias` as its bias. */
mica_status mica__block_launch_part(const mica__exec *exec, const mica_conv_config *config, const mica_tensor *x,
                                    int32_t w, int32_t bias, mica_conv_epilogue epilogue, mica_tensor *y);

/* With sides of images, windows and strides up to this, ints count a block's elements. */
#define MICA__BLOCK_MOST_SIDE 4096
/* True if a block can pool along axis i, rows or columns, `extent` elements into `pooled` results: windows have no
 * gaps, and each has elements. */
bool mica__block_pools(const mica__max_pool_attrs *windows, int i, int64_t extent, int64_t pooled);

/* On the host: y = clamp(y + bias), with one bias per channel. */
void mica__block_add_bias(double *y, const double *bias, int64_t images, int64_t channels, int64_t plane, double low,
                          double high);

#endif
