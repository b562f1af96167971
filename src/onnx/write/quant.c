/* Writes quantised values as pairs of QuantizeLinear and DequantizeLinear, from marks of builders (mica__mark in
 * ir/graph.h). Operands of a mark: x, scale, zero if any. Its numbers: the axis, the size of blocks (0: none), the
 * lowest and the highest quantised value. */
#include "onnx/write/writer.h"

#include "base/element.h"

enum { X, SCALE, ZERO };
enum { AXIS, BLOCK, LOW, HIGH };

static bool has_form(const mica__node *node) { return node->mark->numbers[BLOCK] == 0; }

/* Returns the zero point as a tensor of `dtype`, with zeros if the mark has no zero point. QuantizeLinear makes its
 * result in the dtype of its zero point. */
static const char *zero_of(mica__onnx_writer *w, const mica__node *node, mica_dtype dtype) {
  const int32_t *in = node->mark->inputs;
  const bool given = node->mark->input_count > ZERO && in[ZERO];
  const mica_shape shape = mica__write_type_of(w, in[SCALE]).shape;
  const mica__type own = given ? mica__write_type_of(w, in[ZERO]) : (mica__type){dtype, shape};
  const char *known = given ? mica__write_known(w, in[ZERO]) : NULL;
  int64_t count = 0, numbers = 0;
  if (given && own.dtype == dtype && mica_shape_equal(own.shape, shape)) return mica__write_operand(w, in[ZERO]);
  if (given && !known) {
    const char *cast = mica__write_node(w, "Cast", NULL, MICA__OPERANDS(mica__write_operand(w, in[ZERO])));
    mica__write_int(w, "to", mica__onnx_type_of(dtype));
    return cast;
  }
  if (mica_shape_count(shape, &count) != MICA_OK || mica_shape_count(own.shape, &numbers) != MICA_OK) return NULL;
  char *data = mica__write_room(w, (size_t)count * mica_dtype_size(dtype));
  for (int64_t i = 0; given && data && i < count; i++)
    mica__element_set(dtype, data, i, mica__element_get(own.dtype, known, numbers == 1 ? 0 : i));
  return mica__write_tensor(w, "zero_point", dtype, shape, data);
}

static void write_axis(mica__onnx_writer *w, const mica__node *node) {
  if (mica__write_type_of(w, node->mark->inputs[SCALE]).shape.rank == 1)
    mica__write_int(w, "axis", (int64_t)node->mark->numbers[AXIS]);
}

/* If the range is narrower than the dtype's, a Clip follows. */
MICA__WRITE_MARK(quantize) {
  const int32_t *in = node->mark->inputs;
  const mica_dtype dtype = node->type.dtype;
  const double low = node->mark->numbers[LOW], high = node->mark->numbers[HIGH];
  unsigned char element[8] = {0};
  if (!has_form(node) || (mica_dtype_size(dtype) != 1 && w->opset < 21)) return false;
  mica__element_set(dtype, element, 0, low - 1);
  const bool narrow = mica__element_get(dtype, element, 0) == low - 1;
  mica__element_set(dtype, element, 0, high + 1);
  const bool cut = narrow || mica__element_get(dtype, element, 0) == high + 1;
  const char *own = mica__write_own(w, id), *x = mica__write_operand(w, in[X]), *zero = zero_of(w, node, dtype);
  const char *q = mica__write_node(w, "QuantizeLinear", cut ? NULL : own,
                                   MICA__OPERANDS(x, mica__write_operand(w, in[SCALE]), zero));
  write_axis(w, node);
  if (cut)
    mica__write_node(w, "Clip", own,
                     MICA__OPERANDS(q, mica__write_scalar(w, dtype, low), mica__write_scalar(w, dtype, high)));
  return true;
}

MICA__WRITE_MARK(dequantize) {
  const int32_t *in = node->mark->inputs;
  const mica_dtype dtype = mica__write_type_of(w, in[X]).dtype;
  if (!has_form(node) || (mica_dtype_size(dtype) != 1 && dtype != MICA_I32 && w->opset < 21)) return false;
  const char *x = mica__write_operand(w, in[X]), *scale = mica__write_operand(w, in[SCALE]);
  /* For i32 elements ONNX allows only the zero point 0. */
  const char *zero = dtype == MICA_I32 ? NULL : zero_of(w, node, dtype);
  if (dtype == MICA_I32 && node->mark->input_count > ZERO && in[ZERO])
    mica__write_fail(w, id, "a zero point of i32 cannot be expressed in ONNX");
  mica__write_node(w, "DequantizeLinear", mica__write_own(w, id), MICA__OPERANDS(x, scale, zero));
  write_axis(w, node);
  return true;
}
