/* Writes norms that builders have marked (mica__mark in ir/graph.h). Operands of a mark: x, scale, bias, mean,
 * variance; a norm has only the first ones, and an id of 0 is an absent operand. The first number is epsilon, except
 * for local_response_norm. */
#include "onnx/write/writer.h"

#include "base/element.h"

enum { X, SCALE, BIAS, MEAN, VARIANCE };

/* Returns operand k of the mark, cast to x's dtype. If the operand is absent, returns a tensor of the shape `like`
 * whose elements are all `standard`, 0 or 1; NULL if `like` is open. */
static const char *numbers_of(mica__onnx_writer *w, const mica__node *node, int32_t k, mica_shape like,
                              double standard) {
  const int32_t *in = node->mark->inputs;
  const mica_dtype dtype = mica__write_type_of(w, in[X]).dtype;
  if (k < node->mark->input_count && in[k]) {
    const char *name = mica__write_operand(w, in[k]);
    if (mica__write_type_of(w, in[k]).dtype == dtype) return name;
    const char *cast = mica__write_node(w, "Cast", NULL, MICA__OPERANDS(name));
    mica__write_int(w, "to", mica__onnx_type_of(dtype));
    return cast;
  }
  int64_t count = 0;
  if (mica_shape_count(like, &count) != MICA_OK) return NULL;
  void *data = mica__write_room(w, (size_t)count * mica_dtype_size(dtype));
  for (int64_t i = 0; data && i < count; i++) mica__element_set(dtype, data, i, standard);
  return mica__write_tensor(w, standard != 0 ? "ones" : "zeros", dtype, like, data);
}

/* The shape of scales and biases: the channels of x, which must be known. */
static mica_shape channels_of(mica__onnx_writer *w, int32_t id, const mica__node *node) {
  const mica_shape x = mica__write_type_of(w, node->mark->inputs[X]).shape;
  mica_shape channels = MICA_SHAPE(x.dim[1]);
  for (int32_t k = SCALE; k < node->mark->input_count; k++)
    if (node->mark->inputs[k]) channels = mica__write_type_of(w, node->mark->inputs[k]).shape;
  if (mica__write_is_open(channels)) mica__write_fail(w, id, "the number of channels must be known");
  return channels;
}

static const char *x_of(mica__onnx_writer *w, const mica__node *node) {
  return mica__write_operand(w, node->mark->inputs[X]);
}

/* Writes a norm with a scale and a bias per channel. */
static void write_channels(mica__onnx_writer *w, int32_t id, const mica__node *node, const char *op) {
  const mica_shape channels = channels_of(w, id, node);
  const char *scale = numbers_of(w, node, SCALE, channels, 1), *bias = numbers_of(w, node, BIAS, channels, 0);
  mica__write_node(w, op, mica__write_own(w, id), MICA__OPERANDS(x_of(w, node), scale, bias));
  mica__write_real(w, "epsilon", node->mark->numbers[0]);
}

MICA__WRITE_MARK(batch_norm) {
  const mica_shape channels = channels_of(w, id, node);
  const char *scale = numbers_of(w, node, SCALE, channels, 1), *bias = numbers_of(w, node, BIAS, channels, 0);
  const char *mean = numbers_of(w, node, MEAN, channels, 0), *variance = numbers_of(w, node, VARIANCE, channels, 1);
  mica__write_node(w, "BatchNormalization", mica__write_own(w, id),
                   MICA__OPERANDS(x_of(w, node), scale, bias, mean, variance));
  mica__write_real(w, "epsilon", node->mark->numbers[0]);
  return true;
}

MICA__WRITE_MARK(instance_norm) {
  write_channels(w, id, node, "InstanceNormalization");
  return true;
}

/* Scale and bias are per channel since operator set 21; in 18 they were per group, which is a different function. */
MICA__WRITE_MARK(group_norm) {
  write_channels(w, id, node, "GroupNormalization");
  mica__write_int(w, "num_groups", (int64_t)node->mark->numbers[1]);
  return true;
}

/* Sets *row to the extents of x from axis `numbers[1]` of the mark on. ONNX requires a scale. If the mark has none, the
 * writer makes a scale of ones in the shape *row, so these extents must be known: returns false if one is open. */
static bool row_of(const mica__onnx_writer *w, const mica__node *node, mica_shape *row) {
  const mica_shape x = mica__write_type_of(w, node->mark->inputs[X]).shape;
  *row = MICA_SCALAR;
  for (int32_t k = (int32_t)node->mark->numbers[1]; k < x.rank; k++) row->dim[row->rank++] = x.dim[k];
  return node->mark->inputs[SCALE] || !mica__write_is_open(*row);
}

MICA__WRITE_MARK(layer_norm) {
  mica_shape row;
  if (!row_of(w, node, &row)) return false;
  const char *scale = numbers_of(w, node, SCALE, row, 1);
  const char *bias = node->mark->inputs[BIAS] ? numbers_of(w, node, BIAS, row, 0) : NULL;
  mica__write_node(w, "LayerNormalization", mica__write_own(w, id), MICA__OPERANDS(x_of(w, node), scale, bias));
  mica__write_int(w, "axis", (int64_t)node->mark->numbers[1]);
  mica__write_real(w, "epsilon", node->mark->numbers[0]);
  return true;
}

MICA__WRITE_MARK(rms_norm) {
  mica_shape row;
  if (!row_of(w, node, &row)) return false;
  const char *scale = numbers_of(w, node, SCALE, row, 1);
  mica__write_node(w, "RMSNormalization", mica__write_own(w, id), MICA__OPERANDS(x_of(w, node), scale));
  mica__write_int(w, "axis", (int64_t)node->mark->numbers[1]);
  mica__write_real(w, "epsilon", node->mark->numbers[0]);
  return true;
}

/* The numbers of the mark are size, alpha, beta and k. */
MICA__WRITE_MARK(local_response_norm) {
  const double *numbers = node->mark->numbers;
  mica__write_node(w, "LRN", mica__write_own(w, id), MICA__OPERANDS(x_of(w, node)));
  mica__write_int(w, "size", (int64_t)numbers[0]);
  mica__write_real(w, "alpha", numbers[1]);
  mica__write_real(w, "beta", numbers[2]);
  mica__write_real(w, "bias", numbers[3]);
  return true;
}
