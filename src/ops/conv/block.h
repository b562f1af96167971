/* ops/conv/block.h: helpers for blocks, that is, several layers with convolutions that CPUs compute in one launch: an
 * inverted residual, a fire module (with or without max pooling), or a convolution before max pooling. A block adds one
 * bias per channel to the result of each convolution and clamps the sum to [low, high]. The last result of an inverted
 * residual is not clamped. */
#ifndef MICA_OPS_CONV_BLOCK_H
#define MICA_OPS_CONV_BLOCK_H

#include "ops/conv/conv.h"
#include "ops/pool/max_pool.h"

/* True if the node is a convolution of two dimensions with a bias, without dilation or tf32, and its activation is
 * none, relu or clipped relu. It may have an addend. *low and *high receive the range to which its result is
 * clamped, which may be infinite. */
bool mica__block_is_part(const mica_graph *graph, int32_t id, double *low, double *high);
/* True if mica__block_is_part is true, and the filters have one element, stride 1, no padding and one group. */
bool mica__block_is_product(const mica_graph *graph, int32_t id, double *low, double *high);

/* Returns an epilogue without bias and addend whose activation clamps to [low, high]. The range must be [-inf, inf],
 * [0, inf] or [0, high]. */
mica_conv_epilogue mica__block_epilogue(double low, double high);
/* Launches a convolution of the block by itself, with operand w as filters and operand `bias` as its bias. */
mica_status mica__block_launch_part(const mica__exec *exec, const mica_conv_config *config, const mica_tensor *x,
                                    int32_t w, int32_t bias, mica_conv_epilogue epilogue, mica_tensor *y);

/* The largest side of a window and the largest stride that the kernels of blocks with pooling, which count in ints,
 * accept; for conv_max_pool also the largest side of an image. */
#define MICA__BLOCK_MOST_SIDE 4096
/* True if a block's kernel can pool `extent` elements into `pooled` results along axis i (0: rows, 1: columns): windows
 * have no gaps, a fixed size and a fixed stride of at most MICA__BLOCK_MOST_SIDE each, and every window holds an
 * element that is not padding. */
bool mica__block_pools(const mica__max_pool_attrs *windows, int i, int64_t extent, int64_t pooled);

/* Computes y = clamp(y + bias) on the host, with one bias per channel. */
void mica__block_add_bias(double *y, const double *bias, int64_t images, int64_t channels, int64_t plane, double low,
                          double high);

#endif
