/* ops/conv/wgrad.h: parts of the implementations of a weight gradient on CPUs: kernels that know the filter's size,
 * and their end, where partial sums are added and brought into the filters' order. */
#ifndef MICA_OPS_CONV_WGRAD_H
#define MICA_OPS_CONV_WGRAD_H

#include "ops/conv/conv.h"

/* What lanes of sums are: channels of x, filters (of y), or filters while rows are pairs of channel and tap. */
enum { MICA__PANEL_X = 1, MICA__PANEL_Y = 2, MICA__PANEL_Y_TAPS = 3 };

/* Float sums as cl/conv/cpu/wgrad_implicit_gemm.cl writes them, in register tiles of mr rows and nv vectors of 16
 * lanes. */
typedef struct mica__conv_sums {
  int32_t panel, mr, nv;
  int64_t parts;
  int64_t first[3], taps[3]; /* the filter's taps that were summed; the others are 0 */
} mica__conv_sums;

/* True if a kernel whose table has FR and FS knows filters of so many rows and columns. */
bool mica__conv_knows_filter(const mica__kernel_desc *kernel, const mica__conv_dims *dims);
/* Sums of a depthwise convolution, rows being its taps: the problem becomes that of one group, whose filters are all
 * there are. */
mica__conv_sums mica__conv_depthwise_sums(mica__conv *conv, int64_t parts);

/* How many floats they are. */
int64_t mica__conv_sums_count(const mica__conv *conv, const mica__conv_sums *sums);
/* Floats of local memory that a work-group takes to add tiles of mr x nr sums of so many taps. */
static inline int64_t mica__conv_reduce_floats(int64_t taps, int64_t mr, int64_t nr) {
  return (mr + 1) * taps * nr + 16;
}
/* Writes a task's sums, which begin at the workspace's first element. */
typedef mica_status mica__conv_sums_launch(mica_queue *queue, const mica__task *task, mica_buffer *workspace);
/* conv->w from what `launch` writes into a workspace of so many floats, reduced by cl/conv/wgrad_reduce.cl; with sums
 * of NULL launch has written conv->w itself. */
mica_status mica__conv_wgrad_run(mica_queue *queue, const mica__task *task, int64_t floats,
                                 mica__conv_sums_launch *launch, const mica__conv *conv, const mica__conv_sums *sums);

#endif
