#include "onnx/ops/family.h"
#include "onnx/ops/window.h"

#include <mica/vision.h>

MICA__LOWER(grid_sample) {
  static const mica_sample_mode modes[] = {MICA_SAMPLE_MODE_LINEAR, MICA_SAMPLE_MODE_NEAREST, MICA_SAMPLE_MODE_CUBIC,
                                           MICA_SAMPLE_MODE_LINEAR, MICA_SAMPLE_MODE_CUBIC};
  static const mica_sample_padding paddings[] = {MICA_SAMPLE_PADDING_ZEROS, MICA_SAMPLE_PADDING_BORDER,
                                                 MICA_SAMPLE_PADDING_REFLECT};
  mica_value x = mica__lower_floating(l, node, 0), grid = mica__lower_operand(l, node, 1);
  mica_sample_config config = {
      .mode = modes[mica__lower_choice(l, node, "mode", "linear nearest cubic bilinear bicubic", 0)],
      .padding = paddings[mica__lower_choice(l, node, "padding_mode", "zeros border reflection", 0)],
      .align = mica__onnx_int(node, "align_corners", 0)};
  if (!x.graph || !grid.graph) return MICA_OK;
  mica_value y = mica_sample(x, mica_cast(grid, mica_value_dtype(x)), &config);
  return give(l, node, mica_cast(y, mica_value_dtype(x_of(l, node))));
}

#define MOST_SAMPLES 4096

/* Each cell of a box is sampled at ceil(box size / number of cells) points along an axis. Sets *most to the largest
 * such number, over all boxes and both axes. Returns false if an error was recorded, or if the lowering must restart to
 * learn the boxes (l->demands). */
static bool most_samples(mica__lowering *l, const mica__onnx_node *node, mica_value boxes,
                         const mica_roi_config *config, int64_t *most) {
  const mica_shape shape = mica_value_shape(boxes);
  *most = 1;
  if (!boxes.graph) return false;
  if (shape.rank != 2 || shape.dim[1] != 4 || shape.dim[0] == 0) return true; /* the builder reports the error */
  mica_value size = mica_mul(mica_sub(mica_slice(boxes, 1, 2, 4, 1), mica_slice(boxes, 1, 0, 2, 1)),
                             mica__lower_number(boxes, config->scale));
  mica_value width = mica_affine(mica_slice(size, 1, 0, 1, 1), 1 / (double)config->width, 0);
  mica_value height = mica_affine(mica_slice(size, 1, 1, 2, 1), 1 / (double)config->height, 0);
  mica_value samples = mica_max(mica_ceil(mica_maximum(width, height)), MICA_ALL_AXES, false);
  samples = mica_clip(samples, 1, MOST_SAMPLES + 1);
  if (!mica__lower_integer_value(l, node, samples, "the number of samples", most)) return false;
  if (*most >= 1 && *most <= MOST_SAMPLES) return true;
  mica__lower_fail(
      l, node, MICA_E_UNSUPPORTED,
      "with sampling_ratio 0, a box has more than %d samples per cell along an axis, the limit; set sampling_ratio",
      MOST_SAMPLES);
  return false;
}

/* Before version 16 boxes are not shifted by half a pixel. */
MICA__LOWER(roi_align) {
  int32_t whole =
      mica__lower_choice(l, node, "coordinate_transformation_mode", "half_pixel output_half_pixel", node->version < 16);
  int64_t sampling = mica__onnx_int(node, "sampling_ratio", 0);
  mica_roi_config config = {.height = mica__onnx_int(node, "output_height", 1),
                            .width = mica__onnx_int(node, "output_width", 1),
                            .sampling = sampling,
                            .scale = mica__onnx_real(node, "spatial_scale", 1),
                            .whole_pixels = whole};
  /* In ONNX, the mode `max` takes the maximum over the four pixels around each sample, each times its interpolation
   * weight. No other framework has this. */
  if (mica__lower_choice(l, node, "mode", "avg max", 0))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the mode 'max' is not supported");
  if (config.height < 1 || config.width < 1)
    return mica__lower_fail(l, node, MICA_E_INVALID,
                            "output_height is %lld and output_width is %lld, but both must be at least 1",
                            (long long)config.height, (long long)config.width);
  if (sampling < 0)
    return mica__lower_fail(l, node, MICA_E_INVALID, "sampling_ratio is %lld, but must be 0 or above",
                            (long long)sampling);
  config.adaptive = !sampling;
  if (config.adaptive && !most_samples(l, node, mica__lower_operand(l, node, 1), &config, &sampling)) return MICA_OK;
  config.sampling = sampling;
  for (int k = 0; k < 2; k++) {
    int64_t samples = 0;
    if (!mica__lower_product(l, node, k ? config.width : config.height, sampling, MICA__LOWER_POSITIONS, &samples))
      return MICA_OK;
  }
  return give(l, node,
              mica_roi_align(x_of(l, node), mica__lower_operand(l, node, 1), mica__lower_operand(l, node, 2), &config));
}

MICA__LOWER(deform_conv) {
  mica__spatial_window window;
  mica_value x = x_of(l, node), w = mica__lower_operand(l, node, 1), offset = mica__lower_operand(l, node, 2);
  mica_value b = {0}, mask = {0};
  if (mica__lower_has(l, node, 3)) b = mica__lower_operand(l, node, 3);
  if (mica__lower_has(l, node, 4)) mask = mica__lower_operand(l, node, 4);
  if (!x.graph || !w.graph || !offset.graph || !mica__lower_window(l, node, x, w, &window)) return MICA_OK;
  mica_conv_config config = mica__lower_conv_config(node, &window);
  return give(l, node, mica_deform_conv(x, offset, mask, w, b, &config));
}

MICA__LOWER(det) { return give(l, node, mica_determinant(x_of(l, node))); }
