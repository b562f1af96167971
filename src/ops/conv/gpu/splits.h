/* ops/conv/gpu/splits.h: the end of a convolution on GPUs whose sums were divided among groups. */
#ifndef MICA_OPS_CONV_GPU_SPLITS_H
#define MICA_OPS_CONV_GPU_SPLITS_H

#include "ops/conv/conv.h"

/* The result from partial sums [splits][images][rows][columns] of float, added in that order
 * (cl/matmul/gemm_splitk.cl). */
mica_status mica__conv_add_splits(mica_queue *queue, const mica__conv *conv, int64_t splits, mica_buffer *partial);

#endif
