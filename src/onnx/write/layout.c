/* Writes views, joins, padding and products of extents, and the shapes that they need. An extent that is known only
 * when the model runs is called open here. */
#include "onnx/write/writer.h"

#include <string.h>

static size_t open_count(mica_shape shape) {
  size_t count = 0;
  for (int32_t k = 0; k < shape.rank; k++) count += shape.dim[k] == MICA_DYNAMIC;
  return count;
}

const char *mica__write_shape_of(mica__onnx_writer *w, int32_t id) {
  const mica_shape shape = mica__write_type_of(w, id).shape;
  if (!mica__write_is_open(shape)) return mica__write_integers(w, shape.dim, (size_t)shape.rank);
  return mica__write_node(w, "Shape", NULL, MICA__OPERANDS(mica__write_operand(w, id)));
}

const char *mica__write_extents(mica__onnx_writer *w, int32_t id, const int64_t *axes, size_t count) {
  const mica_shape shape = mica__write_type_of(w, id).shape;
  int64_t known[MICA_MAX_RANK];
  bool open = false;
  for (size_t i = 0; i < count; i++) {
    known[i] = shape.dim[axes[i]];
    open = open || known[i] == MICA_DYNAMIC;
  }
  if (!open) return mica__write_integers(w, known, count);
  return mica__write_node(w, "Gather", NULL,
                          MICA__OPERANDS(mica__write_shape_of(w, id), mica__write_integers(w, axes, count)));
}

/* --- reshape and expand --- */

/* Sets allowzero if the shape has an extent of 0, so that it means 0, not the operand's extent. */
static void allow_zero(mica__onnx_writer *w, mica_shape shape) {
  for (int32_t k = 0; k < shape.rank; k++)
    if (shape.dim[k] == 0) {
      mica__write_int(w, "allowzero", 1);
      return;
    }
}

/* Returns the shape operand of a Reshape with several open extents. It is a Concat of one number per axis: a known
 * extent, the extent of an axis of the operand, or -1, which ONNX infers. */
static const char *joined_shape(mica__onnx_writer *w, int32_t id, const mica__node *node, mica_shape asked) {
  const char *parts[MICA_MAX_RANK];
  for (int32_t k = 0; k < asked.rank; k++) {
    const int64_t known = node->type.shape.dim[k], rest = -1, axis = -2 - asked.dim[k];
    if (known != MICA_DYNAMIC)
      parts[k] = mica__write_integers(w, &known, 1);
    else
      parts[k] = axis >= 0 ? mica__write_extents(w, node->inputs[0], &axis, 1) : mica__write_integers(w, &rest, 1);
  }
  (void)id;
  const char *shape = mica__write_node(w, "Concat", NULL, parts, (size_t)asked.rank);
  mica__write_int(w, "axis", 0);
  return shape;
}

MICA__WRITE(reshape) {
  const mica_shape to = node->type.shape, asked = mica__node_shape(node, "shape");
  const char *x = mica__write_operand(w, node->inputs[0]), *shape = NULL;
  bool in_place = true; /* each open extent is the operand's along the same axis */
  for (int32_t k = 0; k < to.rank; k++) in_place = in_place && (to.dim[k] != MICA_DYNAMIC || asked.dim[k] == -2 - k);
  if (open_count(to) < 2) {
    shape = mica__write_integers(w, to.dim, (size_t)to.rank);
  } else if (node->input_count == 2) {
    shape = mica__write_shape_of(w, node->inputs[1]);
  } else if (in_place) {
    int64_t dims[MICA_MAX_RANK];
    for (int32_t k = 0; k < to.rank; k++) dims[k] = to.dim[k] == MICA_DYNAMIC ? 0 : to.dim[k];
    shape = mica__write_integers(w, dims, (size_t)to.rank);
  } else {
    shape = joined_shape(w, id, node, asked);
  }
  mica__write_node(w, "Reshape", mica__write_own(w, id), MICA__OPERANDS(x, shape));
  if (open_count(to) < 2) allow_zero(w, to);
}

/* In the shape that Expand reads, an extent of 1 keeps the operand's extent. */
MICA__WRITE(expand) {
  const char *x = mica__write_operand(w, node->inputs[0]), *shape = NULL;
  mica_shape to = node->type.shape;
  if (node->input_count == 2) shape = mica__write_shape_of(w, node->inputs[1]);
  for (int32_t k = 0; k < to.rank; k++)
    if (to.dim[k] == MICA_DYNAMIC) to.dim[k] = 1;
  if (!shape) shape = mica__write_integers(w, to.dim, (size_t)to.rank);
  mica__write_node(w, "Expand", mica__write_own(w, id), MICA__OPERANDS(x, shape));
}

MICA__WRITE(transpose) {
  mica__write_node(w, "Transpose", mica__write_own(w, id), MICA__OPERANDS(mica__write_operand(w, node->inputs[0])));
  mica__write_ints(w, "perm", mica__node_list(node, "axes"), (size_t)node->type.shape.rank);
}

/* --- windows --- */

/* Returns the end of a slice: one step past its last element. ONNX counts a negative index from the back. So if start
 * and end have different signs, or if `count` is open, returns the largest integer (for a negative step, the smallest),
 * which stands for the end of the axis. */
static int64_t end_of(int64_t start, int64_t step, int64_t count) {
  const int64_t far = step > 0 ? INT64_MAX : INT64_MIN;
  if (count == MICA_DYNAMIC) return far;
  const int64_t end = start + step * count;
  return (start >= 0) == (end >= 0) ? end : far;
}

MICA__WRITE(slice) {
  int64_t starts[MICA_MAX_RANK], ends[MICA_MAX_RANK], axes[MICA_MAX_RANK], steps[MICA_MAX_RANK];
  const mica_shape from = mica__write_type_of(w, node->inputs[0]).shape, to = node->type.shape;
  const int64_t *start = mica__node_list(node, "start"), *step = mica__node_list(node, "step");
  size_t n = 0;
  for (int32_t k = 0; k < to.rank; k++) {
    if (start[k] == 0 && step[k] == 1 && from.dim[k] == to.dim[k]) continue;
    axes[n] = k;
    starts[n] = start[k];
    steps[n] = step[k];
    ends[n++] = to.dim[k] == 0 ? start[k] : end_of(start[k], step[k], to.dim[k]);
  }
  const char *x = mica__write_operand(w, node->inputs[0]), *own = mica__write_own(w, id);
  if (!n)
    mica__write_node(w, "Identity", own, MICA__OPERANDS(x));
  else
    mica__write_node(w, "Slice", own,
                     MICA__OPERANDS(x, mica__write_integers(w, starts, n), mica__write_integers(w, ends, n),
                                    mica__write_integers(w, axes, n), mica__write_integers(w, steps, n)));
}

MICA__WRITE(pad) {
  int64_t pads[2 * MICA_MAX_RANK] = {0};
  const mica_shape from = mica__write_type_of(w, node->inputs[0]).shape, to = node->type.shape;
  const int64_t *start = mica__node_list(node, "start"), *step = mica__node_list(node, "step");
  for (int32_t k = 0; k < to.rank; k++) {
    if (from.dim[k] == to.dim[k] && start[k] == 0 && step[k] == 1) continue;
    if (step[k] != 1 || start[k] < 0)
      mica__write_fail(w, id, "padding that is negative or between elements cannot be expressed in ONNX");
    pads[k] = start[k];
    pads[to.rank + k] = to.dim[k] - start[k] - from.dim[k];
  }
  const char *x = mica__write_operand(w, node->inputs[0]);
  const char *value = mica__write_scalar(w, node->type.dtype, mica__node_real(node, "value"));
  mica__write_node(w, "Pad", mica__write_own(w, id),
                   MICA__OPERANDS(x, mica__write_integers(w, pads, 2 * (size_t)to.rank), value));
}

MICA__WRITE(concat) {
  const char **parts = mica__write_room(w, (size_t)node->input_count * sizeof *parts);
  for (int32_t k = 0; parts && k < node->input_count; k++) parts[k] = mica__write_operand(w, node->inputs[k]);
  if (!parts) return;
  mica__write_node(w, "Concat", mica__write_own(w, id), parts, (size_t)node->input_count);
  mica__write_int(w, "axis", mica__node_int(node, "axis"));
}

/* Writes the product of the operand's extents along the node's axes. */
MICA__WRITE(extent) {
  int64_t axes[MICA_MAX_RANK];
  const size_t count = mica__node_axes(node, "axes", axes);
  const char *extents = mica__write_extents(w, node->inputs[0], axes, count);
  const char *product = mica__write_node(w, "ReduceProd", NULL, MICA__OPERANDS(extents));
  mica__write_int(w, "keepdims", 0);
  mica__write_node(w, "Cast", mica__write_own(w, id), MICA__OPERANDS(product));
  mica__write_int(w, "to", mica__onnx_type_of(node->type.dtype));
}
