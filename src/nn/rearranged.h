/* nn/rearranged.h: reads parameters whose tensor in the file has another order of elements, or which come from two
 * tensors. */
#ifndef MICA_NN_REARRANGED_H
#define MICA_NN_REARRANGED_H

#include "nn/name_map.h"

/* The function for mica__named_tensor.read (nn/name_map.h) of these parameters. */
void mica__rearrange(const mica__named_tensor *from, mica_shape shape, int64_t first, int64_t count, void *out);

#endif
