/* ops/conv/gpu/splits.h: convolutions on GPUs whose sums are divided among groups: how they are divided and added. */
#ifndef MICA_OPS_CONV_GPU_SPLITS_H
#define MICA_OPS_CONV_GPU_SPLITS_H

#include "ops/conv/conv.h"

/* Packs GPU_WGRAD_SPLIT (cl/conv/fields.clh): `splits` groups divide the sums over all pixels of y and advance in steps
 * of `step` pixels, which are ADVANCE in image, depth, height and width. */
void mica__conv_push_split(mica__launch *launch, const mica__conv_dims *dims, int64_t step, int64_t splits);

/* Adds the partial sums [splits][images][rows][columns] of float, in that order, and writes the result
 * (cl/matmul/gpu/splitk.cl). */
mica_status mica__conv_add_splits(mica_queue *queue, const mica__conv *conv, int64_t splits, mica_buffer *partial);

#endif
