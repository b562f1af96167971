#include "onnx/ops/family.h"

#include <math.h>
#include <string.h>

/* The scales or sizes and the region of interest of a node, and the axes to which their numbers belong. */
typedef struct asked {
  mica_axes axes; /* if axes.count is 0: all axes, in order */
  mica__reals scales, roi;
  mica__integers sizes;
} asked;

static int32_t axis_at(const asked *a, int64_t i) { return a->axes.count ? a->axes.axis[i] : (int32_t)i; }

/* Applies keep_aspect_ratio_policy: sets one common scale, and the sizes that follow from it, for the axes of a->sizes.
 * Each size asks for a scale; the common scale is the largest of these if `larger` is set, else the smallest. Returns
 * false if a size that follows is invalid. */
static bool keep_aspect(const asked *a, mica_shape shape, bool larger, mica_resize_config *config) {
  double scale = larger ? 0 : (double)INFINITY;
  for (int64_t i = 0; i < a->sizes.count; i++) {
    double own = (double)a->sizes.values[i] / (double)shape.dim[axis_at(a, i)];
    scale = larger ? fmax(scale, own) : fmin(scale, own);
  }
  for (int64_t i = 0; i < a->sizes.count; i++) {
    double size = floor(scale * (double)shape.dim[axis_at(a, i)] + 0.5);
    if (!(size >= 0 && size <= INT32_MAX)) return false;
    config->size[axis_at(a, i)] = (int64_t)size;
    config->scale[axis_at(a, i)] = scale;
  }
  return true;
}

static bool take_extents(mica__lowering *l, const mica__onnx_node *node, const asked *a, mica_shape shape,
                         mica_resize_config *config) {
  int64_t axes = a->axes.count ? a->axes.count : shape.rank, given = a->sizes.count ? a->sizes.count : a->scales.count;
  if (given != axes) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "%s has %lld numbers, but must have %lld, one per axis",
                     a->sizes.count    ? "sizes"
                     : a->scales.count ? "scales"
                                       : "scales or sizes",
                     (long long)given, (long long)axes);
    return false;
  }
  bool not_smaller = mica__onnx_is(node, "keep_aspect_ratio_policy", "not_smaller");
  bool keeps = not_smaller || mica__onnx_is(node, "keep_aspect_ratio_policy", "not_larger");
  if (a->sizes.count && keeps) {
    if (keep_aspect(a, shape, not_smaller, config)) return true;
    mica__lower_fail(
        l, node, MICA_E_INVALID,
        "keep_aspect_ratio_policy needs one scale for all axes, but this scale gives an axis a size outside 0 to "
        "2147483647");
    return false;
  }
  for (int64_t i = 0; i < given; i++) {
    if (a->sizes.count)
      config->size[axis_at(a, i)] = a->sizes.values[i];
    else
      config->scale[axis_at(a, i)] = a->scales.values[i];
    if (a->sizes.count ? a->sizes.values[i] > 0 : a->scales.values[i] > 0) continue;
    mica__lower_fail(l, node, MICA_E_INVALID, "%s contains %g, but its numbers must be above 0",
                     a->sizes.count ? "sizes" : "scales",
                     a->sizes.count ? (double)a->sizes.values[i] : a->scales.values[i]);
    return false;
  }
  return true;
}

static void take_region(const asked *a, int32_t rank, mica_resize_config *config) {
  for (int32_t i = 0; i < rank; i++) config->crop_end[i] = 1;
  int64_t count = a->roi.count / 2;
  for (int64_t i = 0; i < count && axis_at(a, i) < rank; i++) {
    config->crop_start[axis_at(a, i)] = a->roi.values[i];
    config->crop_end[axis_at(a, i)] = a->roi.values[count + i];
  }
}

static mica_value resized(mica_value x, const mica_resize_config *config) {
  if (is_floating(x) || config->mode == MICA_RESIZE_MODE_NEAREST) return mica_resize(x, config);
  /* Integers are computed in f32 and cast back. */
  return mica_cast(mica_resize(mica_cast(x, MICA_F32), config), mica_value_dtype(x));
}

static void take_modes(mica__lowering *l, const mica__onnx_node *node, mica_resize_config *config) {
  static const mica_resize_coordinates coordinates[] = {MICA_RESIZE_COORDINATES_HALF_PIXEL,
                                                        MICA_RESIZE_COORDINATES_HALF_PIXEL_SYMMETRIC,
                                                        MICA_RESIZE_COORDINATES_PYTORCH_HALF_PIXEL,
                                                        MICA_RESIZE_COORDINATES_ALIGN_CORNERS,
                                                        MICA_RESIZE_COORDINATES_ASYMMETRIC,
                                                        MICA_RESIZE_COORDINATES_TF_HALF_PIXEL,
                                                        MICA_RESIZE_COORDINATES_TF_CROP};
  static const mica_resize_mode modes[] = {MICA_RESIZE_MODE_NEAREST, MICA_RESIZE_MODE_LINEAR, MICA_RESIZE_MODE_CUBIC,
                                           MICA_RESIZE_MODE_LINEAR};
  static const mica_resize_nearest nearest[] = {MICA_RESIZE_NEAREST_ROUND_PREFER_FLOOR,
                                                MICA_RESIZE_NEAREST_ROUND_PREFER_CEIL, MICA_RESIZE_NEAREST_FLOOR,
                                                MICA_RESIZE_NEAREST_CEIL};
  config->mode = modes[mica__lower_choice(l, node, "mode", "nearest linear cubic bilinear", 0)];
  config->nearest = nearest[mica__lower_choice(
      l, node, "nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil", node->version < 11 ? 2 : 0)];
  config->coordinates =
      coordinates[mica__lower_choice(l, node, "coordinate_transformation_mode",
                                     "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric "
                                     "tf_half_pixel_for_nn tf_crop_and_resize",
                                     node->version < 11 ? 4 : 0)];
  config->cubic_a = mica__onnx_real(node, "cubic_coeff_a", -0.75);
  config->exclude_outside = mica__onnx_int(node, "exclude_outside", 0);
  config->antialias = mica__onnx_int(node, "antialias", 0);
  config->extrapolation = mica__onnx_real(node, "extrapolation_value", 0);
}

MICA__LOWER(resize) {
  asked a = {0};
  mica__integers list;
  mica_resize_config config = {0};
  mica_value x = x_of(l, node);
  if (!x.graph) return MICA_OK;
  int32_t rank = mica_value_shape(x).rank;
  take_modes(l, node, &config);
  mica__onnx_ints(node, "axes", &list);
  if (!mica__lower_axes(l, node, &list, rank, &a.axes)) return MICA_OK;
  bool old = node->version < 11, region = config.coordinates == MICA_RESIZE_COORDINATES_TF_CROP;
  if (region && !mica__lower_reals(l, node, 1, &a.roi)) return MICA_OK;
  if (!mica__lower_reals(l, node, old ? 1 : 2, &a.scales)) return MICA_OK;
  if (!old && !mica__lower_integers(l, node, 3, &a.sizes)) return MICA_OK;
  if (region) take_region(&a, rank, &config);
  if (!take_extents(l, node, &a, mica_value_shape(x), &config)) return MICA_OK;
  return give(l, node, resized(x, &config));
}

/* Before version 9 the scales are an attribute. */
MICA__LOWER(upsample) {
  mica_resize_config config = {.coordinates = MICA_RESIZE_COORDINATES_ASYMMETRIC, .nearest = MICA_RESIZE_NEAREST_FLOOR};
  mica_value x = x_of(l, node);
  mica__reals scales = {0};
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, "scales");
  if (!x.graph || (node->version >= 9 && !mica__lower_reals(l, node, 1, &scales))) return MICA_OK;
  int32_t linear = mica__lower_choice(l, node, "mode", "nearest linear bilinear", 0);
  config.mode = linear ? MICA_RESIZE_MODE_LINEAR : MICA_RESIZE_MODE_NEAREST;
  int64_t given = attr ? (int64_t)attr->n_floats : scales.count;
  if (given != mica_value_shape(x).rank)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "scales has %lld numbers, but must have %d, one per axis of the input", (long long)given,
                            (int)mica_value_shape(x).rank);
  for (int64_t i = 0; i < given; i++) config.scale[i] = attr ? (double)attr->floats[i] : scales.values[i];
  return give(l, node, resized(x, &config));
}
