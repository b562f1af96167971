/* ops/resample/window.h: windows along one axis, as in poolings. */
#ifndef MICA_OPS_RESAMPLE_WINDOW_H
#define MICA_OPS_RESAMPLE_WINDOW_H

#include "ops/common/build.h"

/* Output o covers the elements o stride - pad + k dilation, k < size, that lie inside the axis. If `outputs` is
 * above 0 the window is adaptive and ignores the other members: output o covers elements from floor(o n / outputs)
 * to below ceil((o + 1) n / outputs). */
typedef struct mica__resample_window {
  int64_t size, stride, pad, pad_end, dilation;
  int64_t ceil_mode, outputs;
} mica__resample_window;

/* Gets the window along spatial axis k of a configuration; MICA_E_INVALID if it is not valid. */
mica_status mica__resample_window_of(const mica_pool_config *config, int32_t k, mica__resample_window *window);

/* Sets *outputs to the number of outputs for an axis of n elements; MICA_E_SHAPE if the window does not fit. */
mica_status mica__resample_window_outputs(const mica__resample_window *window, int64_t n, int64_t *outputs);

/* The elements of one output: `count` elements from `first` on, `step` apart. */
typedef struct mica__resample_window_taps {
  int64_t first, count, step;
  int64_t padded; /* the count if padding counts as elements */
} mica__resample_window_taps;
mica__resample_window_taps mica__resample_window_at(const mica__resample_window *window, int64_t n, int64_t outputs,
                                                    int64_t o);

#endif
