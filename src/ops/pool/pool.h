/* ops/pool/pool.h: windows of all poolings. */
#ifndef MICA_OPS_POOL_POOL_H
#define MICA_OPS_POOL_POOL_H

#include "ops/resample/window.h"

/* Finds the windows of x's spatial axes, which are all axes from 2 on. False after recording an error in any of these
 * cases: x does not have one to three spatial axes, config is NULL, or an axis's window is not valid. False without an
 * error for a null x. */
bool mica__pool_windows(const char *op, mica_value x, const mica_pool_config *config, mica__resample_window windows[3]);
/* mica__pool_windows for `sizes` outputs. If the outputs divide an axis evenly, its windows are ordinary ones. */
bool mica__pool_adaptive_windows(const char *op, mica_value x, const int64_t *sizes, mica__resample_window windows[3]);

extern const mica__op mica__op_max_pool, mica__op_max_pool_grad;

#endif
