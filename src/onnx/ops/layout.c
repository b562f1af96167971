/* Operators that change the shape of a value or the order of its elements. */
#include "onnx/ops/family.h"

#include <string.h>

static mica_status rank_too_high(mica__lowering *l, const mica__onnx_node *node, int64_t rank) {
  return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the result would have rank %lld, but the limit is %d",
                          (long long)rank, MICA_MAX_RANK);
}

/* Makes a shape from a list of dimensions; false, with an error recorded, if there are too many. */
static bool shape_of(mica__lowering *l, const mica__onnx_node *node, const mica__integers *list, mica_shape *shape) {
  *shape = (mica_shape){.rank = (int32_t)list->count};
  if (list->count > MICA_MAX_RANK) return (void)rank_too_high(l, node, list->count), false;
  for (int32_t i = 0; i < shape->rank; i++) shape->dim[i] = list->values[i];
  return true;
}

/* An extent of 0 in the new shape stands for the input's extent, unless allowzero is set; -1 is inferred. */
MICA__LOWER(reshape) {
  mica__integers list;
  mica_shape shape;
  mica_value x = x_of(l, node);
  if (node->version < 5)
    mica__onnx_ints(node, "shape", &list);
  else if (!mica__lower_integers(l, node, 1, &list))
    return MICA_OK;
  if (!x.graph || !shape_of(l, node, &list, &shape)) return MICA_OK;
  bool zeros = mica__onnx_int(node, "allowzero", 0);
  for (int32_t i = 0; i < shape.rank; i++) {
    if (shape.dim[i] == 0 && !zeros) {
      if (i >= mica_value_shape(x).rank)
        return mica__lower_fail(
            l, node, MICA_E_SHAPE,
            "dimension %d (from 0) of the new shape is 0, which copies that dimension of the input, but the input has "
            "rank %d",
            (int)i, (int)mica_value_shape(x).rank);
      shape.dim[i] = mica_value_shape(x).dim[i];
    }
    if (shape.dim[i] < -1)
      return mica__lower_fail(l, node, MICA_E_SHAPE,
                              "dimension %d (from 0) of the new shape is %lld, but must be -1 or above", (int)i,
                              (long long)shape.dim[i]);
  }
  return give(l, node, mica_reshape(x, shape));
}

MICA__LOWER(transpose) {
  mica__integers perm;
  mica_axes axes;
  mica_value x = x_of(l, node);
  if (!x.graph) return MICA_OK;
  mica__onnx_ints(node, "perm", &perm);
  if (!mica__lower_axes(l, node, &perm, mica_value_shape(x).rank, &axes)) return MICA_OK;
  if (axes.count && axes.count != mica_value_shape(x).rank)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "perm has %d axes, but must have %d, every axis of the input once",
                            (int)axes.count, (int)mica_value_shape(x).rank);
  return give(l, node, mica_value_shape(x).rank ? mica_transpose(x, axes) : x);
}

/* Reads the axes from the attribute `axes` (before version 13) or from operand 1. Returns false if they are not known
 * yet or, with an error recorded, if an axis is invalid. */
static bool axes_of(mica__lowering *l, const mica__onnx_node *node, int32_t rank, mica_axes *axes) {
  mica__integers list;
  if (!mica__onnx_ints(node, "axes", &list) && !mica__lower_integers(l, node, 1, &list)) return false;
  return mica__lower_axes(l, node, &list, rank, axes);
}

MICA__LOWER(squeeze) {
  mica_axes axes;
  mica_value x = x_of(l, node);
  if (!x.graph || !axes_of(l, node, mica_value_shape(x).rank, &axes)) return MICA_OK;
  bool given = mica__onnx_attr(node, "axes") || mica__lower_has(l, node, 1);
  return give(l, node, given && axes.count == 0 ? x : mica_squeeze(x, axes));
}

MICA__LOWER(unsqueeze) {
  mica__integers list;
  mica_axes axes;
  mica_value x = x_of(l, node);
  if (!mica__onnx_ints(node, "axes", &list) && !mica__lower_integers(l, node, 1, &list)) return MICA_OK;
  if (!x.graph) return MICA_OK;
  int64_t rank = mica_value_shape(x).rank + list.count;
  if (rank > MICA_MAX_RANK) return rank_too_high(l, node, rank);
  if (!mica__lower_axes(l, node, &list, (int32_t)rank, &axes)) return MICA_OK;
  return give(l, node, axes.count ? mica_unsqueeze(x, axes) : x);
}

MICA__LOWER(flatten) {
  mica_value x = x_of(l, node);
  int64_t axis = mica__onnx_int(node, "axis", 1), rank = mica_value_shape(x).rank;
  if (x.graph && axis != rank && !mica__lower_axis(l, node, (int32_t)rank, &axis)) return MICA_OK;
  return give(l, node, mica_flatten(x, (int32_t)axis));
}

MICA__LOWER(expand) {
  mica__integers list;
  mica_shape shape;
  mica_value x = x_of(l, node);
  if (!mica__lower_integers(l, node, 1, &list) || !shape_of(l, node, &list, &shape)) return MICA_OK;
  return give(l, node, mica_expand(x, shape));
}

MICA__LOWER(concat) {
  if (node->input_count < 1)
    return mica__lower_fail(l, node, MICA_E_FORMAT, "the node has no inputs, but needs at least 1");
  mica_value *values = mica__lower_room(l, (size_t)node->input_count, sizeof *values);
  if (!values) return MICA_E_NOMEM;
  for (int32_t k = 0; k < node->input_count; k++) {
    values[k] = mica__lower_operand(l, node, k);
    if (!values[k].graph) return MICA_OK;
  }
  int64_t axis = mica__onnx_int(node, "axis", 1);
  if (!mica__lower_axis(l, node, mica_value_shape(values[0]).rank, &axis)) return MICA_OK;
  if (node->input_count == 1) return give(l, node, values[0]);
  return give(l, node, mica_concat(values, (size_t)node->input_count, (int32_t)axis));
}

MICA__LOWER(tile) {
  mica__integers repeats;
  mica_value x = x_of(l, node);
  if (!mica__lower_integers(l, node, 1, &repeats) || !x.graph) return MICA_OK;
  if (repeats.count != mica_value_shape(x).rank)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "repeats has %lld numbers, but must have %d, one per axis of the input",
                            (long long)repeats.count, (int)mica_value_shape(x).rank);
  return give(l, node, repeats.count ? mica_tile(x, repeats.values) : x);
}

/* Reads the side of a block; 0, with an error recorded, if it is invalid. */
static int64_t block_of(mica__lowering *l, const mica__onnx_node *node) {
  int64_t block = mica__onnx_int(node, "blocksize", 0);
  if (block >= 1 && block <= INT16_MAX) return block;
  mica__lower_fail(l, node, MICA_E_INVALID, "blocksize is %lld, but must be 1 to 32767", (long long)block);
  return 0;
}

MICA__LOWER(depth_to_space) {
  int64_t block = block_of(l, node);
  int32_t columns_first = mica__lower_choice(l, node, "mode", "DCR CRD", 0);
  if (!block) return MICA_OK;
  return give(l, node, mica_depth_to_space(x_of(l, node), (int32_t)block, columns_first));
}

MICA__LOWER(space_to_depth) {
  mica_value x = x_of(l, node);
  int64_t b = block_of(l, node);
  if (!b) return MICA_OK;
  if (mica__lower_choice(l, node, "mode", "DCR CRD", 0) == 0) return give(l, node, mica_space_to_depth(x, (int32_t)b));
  mica_shape s = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (!x.graph || s.rank != 4 || s.dim[2] % b || s.dim[3] % b)
    return mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "the input is %s, but must have rank 4 and a known height and width that are multiples of blocksize (%lld)",
        mica_shape_format(s, text), (long long)b);
  int64_t depth_of = 0;
  if (!mica__lower_product(l, node, s.dim[1], b * b, INT64_MAX, &depth_of)) return MICA_OK;
  mica_value blocks = mica_reshape(x, MICA_SHAPE(s.dim[0], s.dim[1], s.dim[2] / b, b, s.dim[3] / b, b));
  mica_value depth = mica_transpose(blocks, MICA_AXES(0, 1, 3, 5, 2, 4));
  return give(l, node, mica_reshape(depth, MICA_SHAPE(s.dim[0], depth_of, s.dim[2] / b, s.dim[3] / b)));
}
