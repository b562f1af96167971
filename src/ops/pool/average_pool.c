/* Poolings that are sums: averages and Lp, made of the resampling op, and poolings over whole planes. */
#include "base/error.h"
#include "ops/pool/pool.h"
#include "ops/resample/resample.h"

static bool has_planes(const char *op, mica_value x) {
  int32_t rank = mica_value_shape(x).rank;
  if (!x.graph) return false;
  if (rank >= 3 && rank <= 5) return true;
  mica__builder_fail(op, x, MICA_E_SHAPE,
                     "the tensor has a rank of %d, but must have 3 to 5: batch, channels and one to three axes",
                     (int)rank);
  return false;
}

bool mica__pool_windows(const char *op, mica_value x, const mica_pool_config *config,
                        mica__resample_window windows[3]) {
  mica_status status = MICA_OK;
  if (!has_planes(op, x)) return false;
  if (!config) {
    mica__builder_fail(op, x, MICA_E_INVALID, "config is NULL, but must give the window's size");
    return false;
  }
  for (int32_t k = 0; k < mica_value_shape(x).rank - 2 && status == MICA_OK; k++)
    status = mica__resample_window_of(config, k, &windows[k]);
  if (status != MICA_OK) mica__graph_fail_at(x.graph, status, op, &x, 1);
  return status == MICA_OK;
}

bool mica__pool_adaptive_windows(const char *op, mica_value x, const int64_t *sizes, mica__resample_window windows[3]) {
  if (!has_planes(op, x)) return false;
  mica_shape shape = mica_value_shape(x);
  for (int32_t k = 0; k < shape.rank - 2; k++) {
    int64_t n = shape.dim[k + 2], outputs = sizes[k];
    if (outputs < 1 || outputs > INT32_MAX) {
      mica__builder_fail(op, x, MICA_E_INVALID,
                         "the size of the result along spatial axis %d is %lld, but must be from 1 to 2^31 - 1", (int)k,
                         (long long)outputs);
      return false;
    }
    windows[k] = (mica__resample_window){.outputs = outputs};
    if (n > 0 && n % outputs == 0)
      windows[k] = (mica__resample_window){.size = n / outputs, .stride = n / outputs, .dilation = 1};
  }
  return true;
}

static mica_value sum_windows(mica_value x, const mica__resample_window windows[3], mica__map_divisor divisor) {
  mica__axis_map maps[MICA_MAX_RANK] = {{0}};
  for (int32_t k = 0; k < mica_value_shape(x).rank - 2; k++)
    maps[k + 2] = (mica__axis_map){.kind = MICA__MAP_WINDOW, .window = windows[k], .divisor = divisor};
  return mica__resample(x, maps);
}

mica_value mica_average_pool(mica_value x, const mica_pool_config *config) {
  mica__resample_window windows[3];
  if (!mica__pool_windows("average_pool", x, config, windows)) return (mica_value){0};
  return sum_windows(x, windows, config->count_include_pad ? MICA__DIVIDE_BY_PADDED : MICA__DIVIDE_BY_ELEMENTS);
}

mica_value mica_adaptive_average_pool(mica_value x, const int64_t *sizes) {
  mica__resample_window windows[3];
  if (!mica__pool_adaptive_windows("adaptive_average_pool", x, sizes, windows)) return (mica_value){0};
  return sum_windows(x, windows, MICA__DIVIDE_BY_ELEMENTS);
}

static mica_value raised(mica_value x, double p) {
  if (p == 2) return mica_square(x);
  mica_value magnitude = mica_abs(x);
  return p == 1 ? magnitude : mica_pow(magnitude, mica__number(x, p));
}

static mica_value root(mica_value x, double p) {
  if (p == 1) return x;
  return p == 2 ? mica_sqrt(x) : mica_pow(x, mica__number(x, 1 / p));
}

static bool is_power(const char *op, mica_value x, double p) {
  if (p > 0) return true;
  mica__builder_fail(op, x, MICA_E_INVALID, "p is %g, but must be above 0", p);
  return false;
}

mica_value mica_lp_pool(mica_value x, const mica_pool_config *config) {
  mica__resample_window windows[3];
  if (!mica__pool_windows("lp_pool", x, config, windows)) return (mica_value){0};
  double p = config->p == 0 ? 2 : config->p;
  if (!is_power("lp_pool", x, p)) return (mica_value){0};
  return mica__narrow(root(sum_windows(raised(mica__widen(x), p), windows, MICA__DIVIDE_BY_ONE), p), x);
}

/* --- over whole planes --- */

static mica_axes spatial_axes(mica_value x) {
  mica_axes axes = {0};
  for (int32_t k = 2; k < mica_value_shape(x).rank; k++) axes.axis[axes.count++] = k;
  return axes;
}

mica_value mica_global_average_pool(mica_value x) {
  if (!has_planes("global_average_pool", x)) return (mica_value){0};
  return mica_mean(x, spatial_axes(x), true);
}

mica_value mica_global_max_pool(mica_value x) {
  if (!has_planes("global_max_pool", x)) return (mica_value){0};
  return mica_max(x, spatial_axes(x), true);
}

mica_value mica_global_lp_pool(mica_value x, double p) {
  if (!has_planes("global_lp_pool", x)) return (mica_value){0};
  if (p == 0) p = 2;
  if (!is_power("global_lp_pool", x, p)) return (mica_value){0};
  return mica__narrow(root(mica_sum(raised(mica__widen(x), p), spatial_axes(x), true), p), x);
}
