/* ops/pool/pool.h: what poolings have in common. */
#ifndef MICA_OPS_POOL_POOL_H
#define MICA_OPS_POOL_POOL_H

#include "ops/resample/window.h"

/* The spatial axes of x are those from 2 on. False, with the error recorded, where there are not one to three, or where
 * an entry of a configuration (NULL for adaptive ones) is no window. */
bool mica__pool_windows(const char *op, mica_value x, const mica_pool_config *config, mica__window windows[3]);
/* The same for `sizes` outputs. Where an axis is a multiple of its outputs, it has ordinary windows. */
bool mica__pool_adaptive_windows(const char *op, mica_value x, const int64_t *sizes, mica__window windows[3]);

extern const mica__op mica__op_max_pool, mica__op_max_pool_indices, mica__op_max_pool_grad;

#endif
