/* ops/pool/pool.h: windows of all poolings. */
#ifndef MICA_OPS_POOL_POOL_H
#define MICA_OPS_POOL_POOL_H

#include "ops/resample/window.h"

/* The spatial axes of x are those from 2 on. False, with the error recorded, where there are not one to three, or where
 * an entry of a configuration (NULL for adaptive ones) is no window. */
bool mica__pool_windows(const char *op, mica_value x, const mica_pool_config *config, mica__resample_window windows[3]);
/* mica__pool_windows for `sizes` outputs. An axis that is a multiple of its outputs has ordinary windows. */
bool mica__pool_adaptive_windows(const char *op, mica_value x, const int64_t *sizes, mica__resample_window windows[3]);

extern const mica__op mica__op_max_pool, mica__op_max_pool_grad;

#endif
