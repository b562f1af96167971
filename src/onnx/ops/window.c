#include "onnx/ops/window.h"

#include "onnx/ops/family.h"

#include <string.h>

/* Reads a list of one number per axis; `standard` if the attribute is absent. False, with an error recorded, if the
 * list has another length, if a number is below `least` or above 2^31 - 1, or if the attribute is absent and `standard`
 * is below `least`. */
static bool per_axis(mica__lowering *l, const mica__onnx_node *node, const char *name, int32_t rank, int64_t least,
                     int64_t standard, int64_t *out) {
  mica__integers list;
  bool given = mica__onnx_ints(node, name, &list) && list.count;
  if (given && list.count != rank) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "%s has %lld numbers, but must have %d, one per spatial axis", name,
                     (long long)list.count, (int)rank);
    return false;
  }
  for (int32_t i = 0; i < rank; i++) {
    out[i] = given ? list.values[i] : standard;
    if (out[i] >= least && out[i] <= INT32_MAX) continue;
    if (given)
      mica__lower_fail(l, node, MICA_E_INVALID, "%s contains %lld, but its numbers must be %lld to 2^31 - 1", name,
                       (long long)out[i], (long long)least);
    else
      mica__lower_fail(l, node, MICA_E_INVALID, "%s is missing", name);
    return false;
  }
  return true;
}

/* Pads so that there are ceil(n / stride) outputs. If the number of padded elements is odd, one more goes to the end
 * (upper) or to the start (lower). */
static void pad_to_same(mica__spatial_window *w, bool upper) {
  w->same = true;
  for (int32_t i = 0; i < w->rank; i++) {
    int64_t outputs = (w->extent[i] + w->stride[i] - 1) / w->stride[i];
    int64_t all = (outputs - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1 - w->extent[i];
    if (all < 0) all = 0;
    w->before[i] = upper ? all / 2 : all - all / 2;
    w->after[i] = all - w->before[i];
  }
}

/* True if no sum or product of the window's numbers can overflow; else records an error. */
static bool is_bounded(mica__lowering *l, const mica__onnx_node *node, const mica__spatial_window *w) {
  for (int32_t i = 0; i < w->rank; i++) {
    int64_t span = 0;
    if (w->extent[i] > INT32_MAX || w->size[i] > INT32_MAX) {
      mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                       "the window has %lld elements along an axis of %lld, but both must be at most 2^31 - 1",
                       (long long)w->size[i], (long long)w->extent[i]);
      return false;
    }
    if (!mica__lower_product(l, node, w->size[i], w->dilation[i], INT32_MAX, &span)) return false;
  }
  return true;
}

bool mica__lower_window(mica__lowering *l, const mica__onnx_node *node, mica_value x, mica_value filter,
                        mica__spatial_window *w) {
  *w = (mica__spatial_window){.rank = mica_value_shape(x).rank - 2};
  if (!x.graph) return false;
  if (w->rank < 1 || w->rank > MICA__WINDOW_AXES) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "the input has rank %d, but must have 3 to 5: batch, channels and one to three spatial axes",
                     (int)w->rank + 2);
    return false;
  }
  if (filter.graph && mica_value_shape(filter).rank != w->rank + 2) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "the weights have rank %d, but must have %d, the rank of the input",
                     (int)mica_value_shape(filter).rank, (int)w->rank + 2);
    return false;
  }
  for (int32_t i = 0; i < w->rank; i++) {
    w->extent[i] = mica_value_shape(x).dim[2 + i];
    if (filter.graph) w->size[i] = mica_value_shape(filter).dim[2 + i];
  }
  mica__integers pads;
  bool padded = mica__onnx_ints(node, "pads", &pads) && pads.count;
  int32_t automatic = mica__lower_choice(l, node, "auto_pad", "NOTSET SAME_UPPER SAME_LOWER VALID", 0);
  if (!filter.graph && !per_axis(l, node, "kernel_shape", w->rank, 1, 0, w->size)) return false;
  if (!per_axis(l, node, "strides", w->rank, 1, 1, w->stride)) return false;
  if (!per_axis(l, node, "dilations", w->rank, 1, 1, w->dilation) || !is_bounded(l, node, w)) return false;
  if (padded && pads.count != 2 * w->rank) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "pads has %lld numbers, but must have %d, two for each of %d spatial axes",
                     (long long)pads.count, (int)(2 * w->rank), (int)w->rank);
    return false;
  }
  for (int32_t i = 0; padded && automatic == 0 && i < w->rank; i++) {
    w->before[i] = pads.values[i];
    w->after[i] = pads.values[w->rank + i];
    if (w->before[i] < 0 || w->after[i] < 0 || w->before[i] > INT32_MAX || w->after[i] > INT32_MAX) {
      mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                       "pads contains %lld and %lld for an axis, but both must be 0 to 2^31 - 1",
                       (long long)w->before[i], (long long)w->after[i]);
      return false;
    }
  }
  if (automatic == 1 || automatic == 2) pad_to_same(w, automatic == 1);
  return true;
}

mica_conv_config mica__lower_conv_config(const mica__onnx_node *node, const mica__spatial_window *w) {
  mica_conv_config config = {.groups = mica__onnx_int(node, "group", 1)};
  for (int32_t i = 0; i < w->rank; i++) {
    config.stride[i] = w->stride[i];
    config.dilation[i] = w->dilation[i];
    config.pad[i] = w->before[i];
    config.pad_more[i] = w->after[i] - w->before[i];
  }
  return config;
}

static mica_value bias_of(mica__lowering *l, const mica__onnx_node *node) {
  return mica__lower_has(l, node, 2) ? mica__lower_operand(l, node, 2) : (mica_value){0};
}

MICA__LOWER(conv) {
  mica__spatial_window w;
  mica_value x = x_of(l, node), filter = mica__lower_operand(l, node, 1);
  if (!x.graph || !filter.graph || !mica__lower_window(l, node, x, filter, &w)) return MICA_OK;
  mica_conv_config config = mica__lower_conv_config(node, &w);
  return give(l, node, mica_conv(x, filter, bias_of(l, node), &config));
}

/* Reads output_padding, and computes the pads that output_shape or auto_pad asks for. With them, the result has the
 * extent stride * (n - 1) + output_padding + (size - 1) * dilation + 1 - pads, where n is the extent of x and size that
 * of the filter. Returns false, with an error recorded, if a list is invalid. */
static bool transposed_pads(mica__lowering *l, const mica__onnx_node *node, const mica__spatial_window *w,
                            mica_conv_config *config) {
  mica__integers wanted;
  bool given = mica__onnx_ints(node, "output_shape", &wanted) && wanted.count;
  int32_t automatic = mica__lower_choice(l, node, "auto_pad", "NOTSET SAME_UPPER SAME_LOWER VALID", 0);
  if (!per_axis(l, node, "output_padding", w->rank, 0, 0, config->output_pad)) return false;
  if (!given && automatic != 1 && automatic != 2) return true;
  for (int32_t i = 0; i < w->rank; i++) {
    int64_t whole = w->stride[i] * (w->extent[i] - 1) + config->output_pad[i] + (w->size[i] - 1) * w->dilation[i] + 1;
    int64_t at = wanted.count - w->rank + i;
    if (given && at >= 0 && (wanted.values[at] < 0 || wanted.values[at] > INT32_MAX)) {
      mica__lower_fail(l, node, MICA_E_INVALID, "output_shape contains %lld, but its numbers must be 0 to 2^31 - 1",
                       (long long)wanted.values[at]);
      return false;
    }
    int64_t extent = given && at >= 0 ? wanted.values[at] : w->extent[i] * w->stride[i], all = whole - extent;
    if (all < 0) { /* the result must be larger: add zeros after it by output_padding */
      config->output_pad[i] -= all;
      all = 0;
    }
    /* If `all` is odd, SAME_UPPER cuts one more element at the end, the other modes at the start. */
    int64_t before = automatic == 1 ? all / 2 : all - all / 2;
    config->pad[i] = before;
    config->pad_more[i] = all - 2 * before;
  }
  return true;
}

MICA__LOWER(conv_transpose) {
  mica__spatial_window w;
  mica_value x = x_of(l, node), filter = mica__lower_operand(l, node, 1);
  if (!x.graph || !filter.graph || !mica__lower_window(l, node, x, filter, &w)) return MICA_OK;
  mica_conv_config config = mica__lower_conv_config(node, &w);
  if (!transposed_pads(l, node, &w, &config)) return MICA_OK;
  return give(l, node, mica_conv_transpose(x, filter, bias_of(l, node), &config));
}
