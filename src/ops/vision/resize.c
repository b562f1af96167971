/* Resizes axes with the resampling op. If x is not floating and the mode is nearest, gathers elements instead. */
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/resample/resample.h"

/* Describes in *map how axis k is resized. If the axis stays as it is, returns false and sets *map to the identity. */
static bool axis_map(mica_value x, const mica_resize_config *config, int32_t k, mica__axis_map *map) {
  int64_t n = mica_value_shape(x).dim[k];
  *map = (mica__axis_map){.kind = MICA__MAP_RESIZE,
                          .outputs = config->size[k],
                          .mode = config->mode,
                          .coordinates = config->coordinates,
                          .nearest = config->nearest,
                          .exclude_outside = config->exclude_outside,
                          .antialias = config->antialias && config->mode != MICA_RESIZE_MODE_NEAREST,
                          .scale = config->scale[k],
                          .cubic_a = config->cubic_a == 0 ? -0.75 : config->cubic_a,
                          .crop_start = config->crop_start[k],
                          .crop_end = config->crop_end[k]};
  bool crops = config->coordinates == MICA_RESIZE_COORDINATES_TF_CROP;
  bool same = (config->size[k] == 0 || config->size[k] == n) && (config->scale[k] == 0 || config->scale[k] == 1);
  bool named = config->size[k] != 0 || config->scale[k] != 0;
  if (named && (crops || !same)) return true;
  map->kind = MICA__MAP_IDENTITY;
  return false;
}

static mica_status check_axis(mica_value x, const mica_resize_config *config, int32_t k) {
  if (config->size[k] < 0 || config->size[k] > INT32_MAX)
    return mica__fail(MICA_E_INVALID, "size is %lld for axis %d, but must be from 0 to 2^31 - 1",
                      (long long)config->size[k], (int)k);
  if (!(config->scale[k] >= 0 && config->scale[k] < 1e9))
    return mica__fail(MICA_E_INVALID, "scale is %g for axis %d, but must be at least 0 and below 1e9", config->scale[k],
                      (int)k);
  if (mica_value_shape(x).dim[k] != 0 || config->size[k] == 0) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "axis %d has no elements to resize", (int)k);
}

/* Gathers the nearest elements, of any type. */
static mica_value gather_nearest(mica_value x, const mica__axis_map *maps) {
  mica_value source = x;
  for (int32_t k = 0; k < mica_value_shape(source).rank; k++) {
    if (maps[k].kind != MICA__MAP_RESIZE) continue;
    mica_value index = mica__axis_table(&mica__op_resample_index, source, k, &maps[k]);
    x = mica_gather(x, mica__drop_axis(index, 0), k);
  }
  return x;
}

/* Replaces outputs of y by `value` if their source lies outside of x along some axis. Such an output has no elements in
 * the axis's table of weights, so its first weight is 0; the first weight of any other output is not 0. */
static mica_value extrapolate(mica_value y, mica_value x, const mica__axis_map *maps, double value) {
  for (int32_t k = 0; k < mica_value_shape(x).rank; k++) {
    if (maps[k].kind != MICA__MAP_RESIZE) continue;
    mica_value weight = mica__axis_table(&mica__op_resample_weight, x, k, &maps[k]);
    mica_shape along = {.rank = mica_value_shape(x).rank - k, .dim = {MICA_DYNAMIC, 1, 1, 1, 1, 1, 1, 1}};
    mica_value first = mica_reshape(mica_slice(weight, 0, 0, 1, 1), along);
    y = mica_where(mica_not_equal(first, mica__number(first, 0)), y, mica__number(y, value));
  }
  return y;
}

mica_value mica_resize(mica_value x, const mica_resize_config *given) {
  static const mica_resize_config defaults = {0};
  const mica_resize_config *config = given ? given : &defaults;
  mica__axis_map maps[MICA_MAX_RANK];
  mica_status status = MICA_OK;
  if (!mica__builder_choice("resize", x, "mode", (int32_t)config->mode, MICA_RESIZE_MODE_CUBIC + 1) ||
      !mica__builder_choice("resize", x, "coordinates", (int32_t)config->coordinates,
                            MICA_RESIZE_COORDINATES_TF_CROP + 1) ||
      !mica__builder_choice("resize", x, "nearest", (int32_t)config->nearest, MICA_RESIZE_NEAREST_CEIL + 1))
    return (mica_value){0};
  bool any = false;
  for (int32_t k = 0; k < mica_value_shape(x).rank && status == MICA_OK; k++) {
    status = check_axis(x, config, k);
    any = axis_map(x, config, k, &maps[k]) || any;
  }
  if (status != MICA_OK) return mica__graph_fail_at(x.graph, status, "resize", &x, 1);
  if (!any) return x;
  bool floating = mica_dtype_kind_of(mica_value_dtype(x)) == MICA_DTYPE_KIND_FLOAT;
  bool gathers = config->mode == MICA_RESIZE_MODE_NEAREST && !floating;
  mica_value y = gathers ? gather_nearest(x, maps) : mica__resample(x, maps);
  bool crops = config->coordinates == MICA_RESIZE_COORDINATES_TF_CROP && config->extrapolation != 0;
  return crops ? extrapolate(y, x, maps, config->extrapolation) : y;
}
