/* ops/conv/gpu/splits.h: the end of a weight gradient on GPUs whose pixels were divided among groups. */
#ifndef MICA_OPS_CONV_GPU_SPLITS_H
#define MICA_OPS_CONV_GPU_SPLITS_H

#include "ops/conv/conv.h"

/* conv->w from partial sums [splits][rows][columns] of float, added in that order (cl/matmul/gemm_splitk.cl). */
mica_status mica__conv_add_splits(mica_queue *queue, const mica__conv *conv, int64_t splits, mica_buffer *partial);

#endif
