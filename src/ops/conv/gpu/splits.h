/* ops/conv/gpu/splits.h: convolutions on GPUs in which several work-groups compute parts of the same sums. These
 * functions divide the terms of a sum among the work-groups and add their partial sums. */
#ifndef MICA_OPS_CONV_GPU_SPLITS_H
#define MICA_OPS_CONV_GPU_SPLITS_H

#include "ops/conv/conv.h"

/* Packs GPU_WGRAD_SPLIT (cl/conv/fields.clh): `splits` work-groups divide the sums over all pixels of y. Each advances
 * by `step` pixels at a time. The fields ADVANCE_N and ADVANCE0 to ADVANCE2 have this step as a number of images,
 * depths, rows and columns. */
void mica__conv_push_split(mica__launch *launch, const mica__conv_dims *dims, int64_t step, int64_t splits);

/* Adds the partial sums, an array [splits][images][rows][columns] of float ([splits][images][columns][rows] if the
 * result has its channels last), from the first split to the last, and writes the result (cl/matmul/gpu/splitk.cl). */
mica_status mica__conv_add_splits(mica_queue *queue, const mica__conv *conv, int64_t splits, mica_buffer *partial);

#endif
