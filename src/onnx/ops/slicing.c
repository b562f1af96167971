/* Slices, splits, padding, crops, triangular parts, reversed sequences. */
#include "onnx/ops/family.h"

#include <string.h>

/* --- slices --- */

/* Converts the start or end of a slice, by Python's rules, to an index from the front, and clamps it to the range from
 * `low` to `high`. */
static int64_t clamp(int64_t at, int64_t extent, int64_t low, int64_t high) {
  if (at < 0) at = at < -extent ? -1 : at + extent;
  return at < low ? low : at > high ? high : at;
}

static mica_value cut(mica_value x, int32_t axis, int64_t start, int64_t end, int64_t step) {
  int64_t extent = mica_value_shape(x).dim[axis];
  if (step > 0) return mica_slice(x, axis, clamp(start, extent, 0, extent), clamp(end, extent, 0, extent), step);
  start = clamp(start, extent, -1, extent - 1);
  end = clamp(end, extent, -1, extent - 1);
  if (start <= end) return mica_slice(x, axis, 0, 0, 1);
  return mica_slice(x, axis, start, end < 0 ? MICA_END : end, step);
}

static bool parts_of_slice(mica__lowering *l, const mica__onnx_node *node, mica__integers part[4]) {
  static const char *const names[] = {"starts", "ends", "axes"};
  for (int k = 0; k < 4; k++) {
    part[k] = (mica__integers){0};
    if (node->version < 10) {
      if (k < 3) mica__onnx_ints(node, names[k], &part[k]);
    } else if (!mica__lower_integers(l, node, k + 1, &part[k])) {
      return false;
    }
  }
  return true;
}

MICA__LOWER(slice) {
  mica__integers part[4];
  mica_value x = x_of(l, node);
  if (!parts_of_slice(l, node, part) || !x.graph) return MICA_OK;
  int64_t count = part[0].count;
  if (part[1].count != count || (part[2].count && part[2].count != count) || (part[3].count && part[3].count != count))
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "starts, ends, axes and steps have %lld, %lld, %lld and %lld numbers, but must have the "
                            "same length (axes and steps may be absent)",
                            (long long)count, (long long)part[1].count, (long long)part[2].count,
                            (long long)part[3].count);
  for (int64_t i = 0; i < count; i++) {
    int64_t axis = part[2].count ? part[2].values[i] : i, step = part[3].count ? part[3].values[i] : 1;
    if (!mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
    if (step == 0) return mica__lower_fail(l, node, MICA_E_INVALID, "steps contains 0, but its numbers must not be 0");
    x = cut(x, (int32_t)axis, part[0].values[i], part[1].values[i], step);
    if (!x.graph) break;
  }
  return give(l, node, x);
}

/* --- splits --- */

/* Sizes of `count` equal parts. If `count` does not divide the extent, the last parts are smaller or empty. */
static void equal_parts(int64_t extent, int64_t count, int64_t *sizes) {
  int64_t size = extent / count + (extent % count != 0), left = extent;
  for (int64_t i = 0; i < count; i++) {
    sizes[i] = left < size ? left : size;
    left -= sizes[i];
  }
}

MICA__LOWER(split) {
  mica__integers given;
  mica_value x = x_of(l, node);
  int64_t axis = mica__onnx_int(node, "axis", 0), count = mica__onnx_int(node, "num_outputs", node->output_count);
  if (!mica__onnx_ints(node, "split", &given) && !mica__lower_integers(l, node, 1, &given)) return MICA_OK;
  if (!x.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  if (given.count) count = given.count;
  if (count < 1 || count < node->output_count || count > 65536)
    return mica__lower_fail(l, node, MICA_E_FORMAT,
                            "the number of parts (%lld) must be 1 to 65536, and at least the number of outputs (%d)",
                            (long long)count, (int)node->output_count);
  mica_value *parts = mica__lower_room(l, (size_t)count, sizeof *parts);
  int64_t *sizes = mica__lower_room(l, (size_t)count, sizeof *sizes);
  if (!parts || !sizes) return MICA_E_NOMEM;
  equal_parts(mica_value_shape(x).dim[axis], count, sizes);
  if (given.count) memcpy(sizes, given.values, (size_t)count * sizeof *sizes);
  mica_split(x, (int32_t)axis, sizes, (size_t)count, parts);
  for (int32_t k = 0; k < node->output_count; k++) mica__lower_result(l, node, k, parts[k]);
  return MICA_OK;
}

/* --- paddings --- */

/* Reads the padding before and after each axis. Returns false if an error was recorded, or if the lowering must restart
 * to learn the operands (l->demands).
 *
 * - Version 1: attribute "paddings"
 * - Versions 2 to 10: attribute "pads"
 * - From version 11 on: operand 1. Operand 3, if present, names the axes. */
static bool pads_of(mica__lowering *l, const mica__onnx_node *node, int32_t rank, int64_t before[MICA_MAX_RANK],
                    int64_t after[MICA_MAX_RANK]) {
  mica__integers pads = {0}, list = {0};
  mica_axes axes = {0};
  if (node->version < 11)
    mica__onnx_ints(node, node->version < 2 ? "paddings" : "pads", &pads);
  else if (!mica__lower_integers(l, node, 1, &pads) || !mica__lower_integers(l, node, 3, &list))
    return false;
  if (!mica__lower_axes(l, node, &list, rank, &axes)) return false;
  int64_t count = list.count ? list.count : rank;
  if (pads.count != 2 * count) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "pads has %lld numbers, but must have %lld, two for each of %lld axes",
                     (long long)pads.count, (long long)(2 * count), (long long)count);
    return false;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t axis = list.count ? axes.axis[i] : i;
    before[axis] = pads.values[i];
    after[axis] = pads.values[count + i];
  }
  return true;
}

/* Pads by a value that is computed on the device: a mask tells the elements of x from the padding. */
static mica_value pad_by_value(mica_value x, const int64_t *before, const int64_t *after, mica_value value) {
  mica_value inside = mica_full(x.graph, MICA_BOOL, mica_value_shape(x), 1);
  mica_value mask = mica_pad(inside, before, after, MICA_PAD_MODE_CONSTANT, 0);
  return mica_where(mask, mica_pad(x, before, after, MICA_PAD_MODE_CONSTANT, 0), mica_reshape(value, MICA_SCALAR));
}

MICA__LOWER(pad) {
  static const mica_pad_mode modes[] = {MICA_PAD_MODE_CONSTANT, MICA_PAD_MODE_REFLECT, MICA_PAD_MODE_EDGE,
                                        MICA_PAD_MODE_WRAP};
  int64_t before[MICA_MAX_RANK] = {0}, after[MICA_MAX_RANK] = {0};
  mica_value x = x_of(l, node);
  mica_pad_mode mode = modes[mica__lower_choice(l, node, "mode", "constant reflect edge wrap", 0)];
  if (!x.graph || !pads_of(l, node, mica_value_shape(x).rank, before, after)) return MICA_OK;
  double value = mica__onnx_real(node, "value", 0);
  if (mode == MICA_PAD_MODE_CONSTANT && mica__lower_has(l, node, 2) && !mica__lower_known_number(l, node, 2, &value))
    return give(l, node, pad_by_value(x, before, after, mica__lower_operand(l, node, 2)));
  return give(l, node, mica_pad(x, before, after, mode, value));
}

/* Crops x around its middle, or centres it in zeros, to the given extents. */
MICA__LOWER(center_crop_pad) {
  mica__integers shape, list;
  mica_axes axes;
  int64_t before[MICA_MAX_RANK] = {0}, after[MICA_MAX_RANK] = {0};
  mica_value x = x_of(l, node);
  mica__onnx_ints(node, "axes", &list);
  if (!mica__lower_integers(l, node, 1, &shape) || !x.graph) return MICA_OK;
  mica_shape own = mica_value_shape(x);
  if (!mica__lower_axes(l, node, &list, own.rank, &axes)) return MICA_OK;
  if (shape.count != (axes.count ? axes.count : own.rank))
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "shape has %lld numbers, but must have %d, one for each axis in axes (for each axis of the "
                            "input if axes is absent)",
                            (long long)shape.count, (int)(axes.count ? axes.count : own.rank));
  for (int64_t i = 0; i < shape.count; i++) {
    if (shape.values[i] < 0)
      return mica__lower_fail(l, node, MICA_E_INVALID, "shape contains %lld, but its numbers must be 0 or above",
                              (long long)shape.values[i]);
    int64_t axis = axes.count ? axes.axis[i] : i, more = shape.values[i] - own.dim[axis];
    /* If the difference is odd, the end gains or loses one element more than the start. */
    before[axis] = more / 2;
    after[axis] = more - more / 2;
  }
  return give(l, node, mica_pad(x, before, after, MICA_PAD_MODE_CONSTANT, 0));
}

/* --- positions --- */

/* 0, 1, ... along an axis of x, with extent 1 along the others. */
static mica_value positions(mica_value x, int32_t axis) {
  mica_shape shape = {.rank = mica_value_shape(x).rank};
  for (int32_t i = 0; i < shape.rank; i++) shape.dim[i] = i == axis ? mica_value_shape(x).dim[i] : 1;
  return mica_reshape(mica_range(x.graph, MICA_I64, shape.dim[axis]), shape);
}

MICA__LOWER(trilu) {
  mica__integers k;
  mica_value x = x_of(l, node);
  bool upper = mica__onnx_int(node, "upper", 1);
  if (!mica__lower_integers(l, node, 1, &k) || !x.graph) return MICA_OK;
  int32_t rank = mica_value_shape(x).rank;
  if (rank < 2)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the input has rank %d, but must have at least 2", (int)rank);
  for (int32_t i = rank - 2; i < rank; i++)
    if (!mica__lower_positions(l, node, mica_value_shape(x).dim[i])) return MICA_OK;
  mica_value rows = positions(x, rank - 2), columns = positions(x, rank - 1);
  mica_value diagonal = mica_add(rows, mica__lower_number(rows, k.count ? (double)k.values[0] : 0));
  mica_value kept = upper ? mica_greater_equal(columns, diagonal) : mica_less_equal(columns, diagonal);
  return give(l, node, mica_where(kept, x, mica__lower_number(x, 0)));
}

/* Reverses the first n elements of each sequence, where n is its length (operand 1). The elements from n on stay where
 * they are. */
MICA__LOWER(reverse_sequence) {
  mica_value x = x_of(l, node), lengths = mica__lower_operand(l, node, 1);
  int64_t time = mica__onnx_int(node, "time_axis", 0), batch = mica__onnx_int(node, "batch_axis", 1);
  if (!x.graph || !lengths.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &time) ||
      !mica__lower_axis(l, node, mica_value_shape(x).rank, &batch) ||
      !mica__lower_positions(l, node, mica_value_shape(x).dim[time]))
    return MICA_OK;
  mica_shape shape = {.rank = mica_value_shape(x).rank};
  for (int32_t i = 0; i < shape.rank; i++) shape.dim[i] = i == batch ? mica_value_shape(x).dim[i] : 1;
  mica_value n = mica_reshape(mica_cast(lengths, MICA_I64), shape), t = positions(x, (int32_t)time);
  mica_value back = mica_sub(mica_sub(n, t), mica__lower_number(n, 1));
  mica_value from = mica_expand(mica_where(mica_less(t, n), back, t), mica_value_shape(x));
  return give(l, node, mica_gather_elements(x, from, (int32_t)time));
}
