#include "onnx/ops/ml.h"

#include "base/element.h"

#include <math.h>

mica_value mica__ml_rows(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  mica_value x = mica__lower_floating(l, node, k);
  if (!x.graph) return x;
  const mica_shape shape = mica_value_shape(x);
  if (shape.rank == 1) return mica_reshape(x, MICA_SHAPE(1, shape.dim[0]));
  if (shape.rank == 2) return x;
  mica__lower_fail(l, node, MICA_E_SHAPE,
                   "input %d (from 0) has rank %d, but must have 2 (rows of features) or 1 (one row)", (int)k,
                   (int)shape.rank);
  return (mica_value){0};
}

/* --- numbers of attributes --- */

static bool tensor_reals(mica__lowering *l, const mica__onnx_node *node, const Onnx__TensorProto *proto,
                         mica__reals *out) {
  mica__external none = {0};
  mica__onnx_tensor tensor = {0};
  const mica_status status = mica__onnx_tensor_read(&none, proto, &tensor);
  if (status != MICA_OK) {
    mica__lower_fail(l, node, status, "%s", mica_error_message());
    return false;
  }
  double *values = mica__lower_room(l, (size_t)tensor.count + 1, sizeof *values);
  for (int64_t i = 0; values && i < tensor.count; i++) values[i] = mica__element_get(tensor.dtype, tensor.data, i);
  *out = (mica__reals){values, tensor.count, tensor.shape};
  mica__onnx_tensor_free(&tensor);
  return values != NULL;
}

bool mica__ml_reals(mica__lowering *l, const mica__onnx_node *node, const char *list, const char *tensor,
                    mica__reals *out) {
  const Onnx__AttributeProto *floats = mica__onnx_attr(node, list);
  const Onnx__AttributeProto *whole = tensor ? mica__onnx_attr(node, tensor) : NULL;
  *out = (mica__reals){0};
  if (whole && whole->t) return tensor_reals(l, node, whole->t, out);
  if (!floats) return true;
  double *values = mica__lower_room(l, floats->n_floats + 1, sizeof *values);
  for (size_t i = 0; values && i < floats->n_floats; i++) values[i] = (double)floats->floats[i];
  *out = (mica__reals){values, (int64_t)floats->n_floats, MICA_SHAPE((int64_t)floats->n_floats)};
  return values != NULL;
}

mica_value mica__ml_constant(mica__lowering *l, mica_dtype dtype, mica_shape shape, const double *values) {
  int64_t count = 0;
  if (mica_shape_count(shape, &count) != MICA_OK) return (mica_value){0};
  void *data = mica__lower_room(l, (size_t)count + 1, mica_dtype_size(dtype));
  for (int64_t i = 0; data && i < count; i++) mica__element_set(dtype, data, i, values[i]);
  return data ? mica_constant(mica__lower_graph(l), dtype, shape, data) : (mica_value){0};
}

mica_value mica__ml_integers(mica__lowering *l, mica_shape shape, const int64_t *values) {
  return mica_constant(mica__lower_graph(l), MICA_I64, shape, values);
}

/* --- scores --- */

mica__ml_post mica__ml_post_of(mica__lowering *l, const mica__onnx_node *node) {
  return (mica__ml_post)mica__lower_choice(l, node, "post_transform", "NONE SOFTMAX LOGISTIC SOFTMAX_ZERO PROBIT", 0);
}

/* Softmax over the scores whose absolute value is above 1e-7. The other scores are only scaled, so scores of 0 stay 0.
 * If there is a score to sum, the largest one adds 1 to the sum. A sum below 1 therefore means that there is none, and
 * nothing is divided. The bound of 80 keeps the scale finite. */
static mica_value softmax_zero(mica_value s) {
  const mica_value none = mica__lower_number(s, -1e30), zero = mica__lower_number(s, 0);
  const mica_value counts = mica_greater(mica_abs(s), mica__lower_number(s, 1e-7));
  const mica_value largest = mica_max(mica_where(counts, s, none), MICA_AXES(-1), true);
  const mica_value most = mica_where(mica_greater(largest, none), largest, zero);
  const mica_value e = mica_where(counts, mica_exp(mica_sub(s, most)), zero);
  const mica_value sum = mica_maximum(mica_sum(e, MICA_AXES(-1), true), mica__lower_number(s, 1));
  const mica_value scale = mica_exp(mica_minimum(mica_neg(most), mica__lower_number(s, 80)));
  return mica_div(mica_where(counts, e, mica_mul(s, scale)), sum);
}

/* sqrt(2) erfinv(2 s - 1) by Winitzki's formula, "A handy approximation for the error function and its inverse",
 * 2008. */
static mica_value probit(mica_value s) {
  const double a = 0.147, pi = 3.14159;
  const mica_value x = mica_affine(s, 2, -1), log = mica_log(mica_affine(mica_square(x), -1, 1));
  const mica_value v = mica_affine(log, 0.5, 2 / (pi * a));
  const mica_value root = mica_sqrt(mica_sub(mica_sqrt(mica_sub(mica_square(v), mica_affine(log, 1 / a, 0))), v));
  const mica_value y = mica_affine(root, sqrt(2), 0);
  return mica_where(mica_less(x, mica__lower_number(x, 0)), mica_neg(y), y);
}

mica_value mica__ml_transform(mica_value scores, mica__ml_post post) {
  switch (post) {
  case MICA__ML_SOFTMAX: return mica_softmax(scores, -1);
  case MICA__ML_LOGISTIC: return mica_sigmoid(scores);
  case MICA__ML_SOFTMAX_ZERO: return softmax_zero(scores);
  case MICA__ML_PROBIT: return probit(scores);
  default: return scores;
  }
}

mica_value mica__ml_two(mica_value score, mica__ml_post post, bool share) {
  if (post == MICA__ML_PROBIT) return probit(score);
  const bool logistic = post == MICA__ML_LOGISTIC;
  const mica_value other = mica_affine(score, -1, share && !logistic ? 1 : 0);
  const mica_value both = mica_concat((mica_value[]){other, score}, 2, 1);
  return logistic ? mica_sigmoid(both) : both;
}

/* --- labels --- */

bool mica__ml_classes_of(mica__lowering *l, const mica__onnx_node *node, const char *numbers, mica__ml_classes *out) {
  const Onnx__AttributeProto *texts = mica__onnx_attr(node, "classlabels_strings");
  const Onnx__AttributeProto *ints = mica__onnx_attr(node, numbers);
  *out = (mica__ml_classes){0};
  if (texts && texts->n_strings) out->texts = (mica__onnx_texts){.texts = texts->strings, .count = texts->n_strings};
  if (ints && ints->n_ints) {
    if (out->texts.count) {
      mica__lower_fail(l, node, MICA_E_FORMAT, "classlabels_strings and %s are both given; give only one of them",
                       numbers);
      return false;
    }
    out->texts = (mica__onnx_texts){.numbers = ints->ints, .count = ints->n_ints};
  }
  out->count = (int64_t)out->texts.count;
  if (!out->count)
    mica__lower_fail(l, node, MICA_E_FORMAT, "the node has no class labels; it needs classlabels_strings or %s",
                     numbers);
  return out->count > 0;
}

void mica__ml_give_labels(mica__lowering *l, const mica__onnx_node *node, const mica__ml_classes *classes,
                          mica_value indices) {
  if (classes->texts.texts) {
    mica__lower_text_result(l, node, 0, indices, classes->texts);
    return;
  }
  const mica_value numbers = mica__ml_integers(l, MICA_SHAPE(classes->count), classes->texts.numbers);
  mica__lower_result(l, node, 0, mica_gather(numbers, indices, 0));
}

mica_value mica__ml_best(mica_value scores, double threshold) {
  if (!scores.graph || mica_value_shape(scores).dim[1] != 1) return mica_argmax(scores, 1, false);
  return mica_cast(mica_greater(mica_squeeze(scores, MICA_AXES(1)), mica__lower_number(scores, threshold)), MICA_I64);
}
