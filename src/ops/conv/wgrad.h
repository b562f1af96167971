/* ops/conv/wgrad.h: what implementations of the weight gradient on CPUs share. It checks if a kernel is compiled for
 * the filter's size, and does the last step, which adds partial sums and writes them in the order of the filters. */
#ifndef MICA_OPS_CONV_WGRAD_H
#define MICA_OPS_CONV_WGRAD_H

#include "ops/conv/conv.h"

/* What the lanes of a vector of sums belong to:
 *
 *   MICA__PANEL_X        channels of x
 *   MICA__PANEL_Y        filters (channels of y)
 *   MICA__PANEL_Y_TAPS   filters; the rows of a tile are pairs of channel and tap */
enum { MICA__PANEL_X = 1, MICA__PANEL_Y = 2, MICA__PANEL_Y_TAPS = 3 };

/* Float sums as cl/conv/cpu/wgrad_implicit_gemm.cl writes them: register tiles of mr rows and nv vectors of 16
 * lanes, for each of `parts` parts of the pixels. */
typedef struct mica__conv_sums {
  int32_t panel, mr, nv;
  int64_t parts;
  int64_t first[3], taps[3]; /* the taps that were summed; all others are 0 */
} mica__conv_sums;

/* True if the filter's rows and columns are among the values of the kernel's parameters FR and FS. */
bool mica__conv_knows_filter(const mica__kernel_desc *kernel, const mica__conv_dims *dims);
/* The sums of a depthwise convolution, with taps as rows. Changes the problem to one group that has all filters. */
mica__conv_sums mica__conv_depthwise_sums(mica__conv *conv, int64_t parts);

/* The number of floats that the sums of all parts take. */
int64_t mica__conv_sums_count(const mica__conv *conv, const mica__conv_sums *sums);
/* The floats of local memory that a work-group takes to add tiles of mr x nr sums for `taps` taps. */
static inline int64_t mica__conv_reduce_floats(int64_t taps, int64_t mr, int64_t nr) {
  return (mr + 1) * taps * nr + 16;
}
/* Writes a task's sums from the workspace's first element on. */
typedef mica_status mica__conv_sums_launch(mica_queue *queue, const mica__task *task, mica_buffer *workspace);
/* Computes conv->w: `launch` writes sums into a workspace of `floats` floats, and cl/conv/wgrad_reduce.cl adds them. If
 * sums is NULL, launch writes conv->w itself. */
mica_status mica__conv_wgrad_run(mica_queue *queue, const mica__task *task, int64_t floats,
                                 mica__conv_sums_launch *launch, const mica__conv *conv, const mica__conv_sums *sums);

#endif
