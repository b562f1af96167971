/* ops/conv/gpu/splits.h: convolutions on GPUs in which several work-groups share the sum of an element: how the
 * terms are divided among them, and how their sums are added. */
#ifndef MICA_OPS_CONV_GPU_SPLITS_H
#define MICA_OPS_CONV_GPU_SPLITS_H

#include "ops/conv/conv.h"

/* Packs GPU_WGRAD_SPLIT (cl/conv/fields.clh): `splits` work-groups divide the sums over all pixels of y. Each
 * advances by `step` pixels at a time, which are ADVANCE in image, depth, height and width. */
void mica__conv_push_split(mica__launch *launch, const mica__conv_dims *dims, int64_t step, int64_t splits);

/* Adds the partial sums [splits][images][rows][columns] of float, in that order, and writes the result
 * (cl/matmul/gpu/splitk.cl). */
mica_status mica__conv_add_splits(mica_queue *queue, const mica__conv *conv, int64_t splits, mica_buffer *partial);

#endif
