/* Optimiser steps. The operands are the rate R, the number T of earlier steps, then for n tensors: n values, n
 * gradients, and n states for each kind of state that the optimiser has. */
#include "onnx/ops/family.h"

typedef struct step {
  mica_value rate, count;
  int32_t tensors;
} step;

/* Reads the rate and the count of steps, and computes the number of tensors. `kinds` is the number of operands per
 * tensor. Returns false, with an error recorded, if there is no tensor or the number of operands does not fit. */
static bool begin(mica__lowering *l, const mica__onnx_node *node, int32_t kinds, step *s) {
  s->rate = x_of(l, node);
  s->count = mica__lower_operand(l, node, 1);
  s->tensors = (node->input_count - 2) / kinds;
  if (s->rate.graph && s->count.graph && s->tensors >= 1 && (node->input_count - 2) % kinds == 0) return true;
  mica__lower_fail(l, node, MICA_E_FORMAT,
                   "the node has %d inputs, but must have 2 (the rate and the count) and %d more per tensor, with at "
                   "least one tensor",
                   (int)node->input_count, (int)kinds);
  return false;
}

/* Returns one operand of tensor i. kind: 0 values, 1 gradients, 2 and above states. */
static mica_value part(mica__lowering *l, const mica__onnx_node *node, const step *s, int32_t kind, int32_t i) {
  return mica__lower_operand(l, node, 2 + kind * s->tensors + i);
}

/* Adds the gradient of (norm / 2) |x|^2 to the gradient g. */
static mica_value regularised(const mica__onnx_node *node, mica_value x, mica_value g) {
  return mica_add(mica_affine(x, mica__onnx_real(node, "norm_coefficient", 0), 0), g);
}

/* The formulas are from Duchi et al. 2011. */
MICA__LOWER(adagrad) {
  step s;
  double decay = mica__onnx_real(node, "decay_factor", 0), epsilon = mica__onnx_real(node, "epsilon", 1e-6);
  if (!begin(l, node, 3, &s)) return MICA_OK;
  for (int32_t i = 0; i < s.tensors; i++) {
    mica_value x = part(l, node, &s, 0, i), g = regularised(node, x, part(l, node, &s, 1, i));
    mica_value sum = mica_add(part(l, node, &s, 2, i), mica_square(g));
    mica_value rate = mica_div(s.rate, mica_affine(mica_cast(s.count, mica_value_dtype(s.rate)), decay, 1));
    mica_value change = mica_div(mica_mul(rate, g), mica_affine(mica_sqrt(sum), 1, epsilon));
    mica__lower_result(l, node, i, mica_sub(x, change));
    mica__lower_result(l, node, s.tensors + i, sum);
  }
  return MICA_OK;
}

/* 1 - beta^T */
static mica_value remaining(mica_value rate, mica_value count, double beta) {
  mica_value power = mica_pow(mica__lower_number(rate, beta), mica_cast(count, mica_value_dtype(rate)));
  return mica_affine(power, -1, 1);
}

/* The formulas are from Kingma and Ba 2014; the bias correction of the rate starts with the second step. */
MICA__LOWER(adam) {
  step s;
  double alpha = mica__onnx_real(node, "alpha", 0.9), beta = mica__onnx_real(node, "beta", 0.999);
  double epsilon = mica__onnx_real(node, "epsilon", 1e-6), post = mica__onnx_real(node, "norm_coefficient_post", 0);
  if (!begin(l, node, 4, &s)) return MICA_OK;
  mica_value corrected =
      mica_div(mica_mul(s.rate, mica_sqrt(remaining(s.rate, s.count, beta))), remaining(s.rate, s.count, alpha));
  mica_value later = mica_greater(s.count, mica__lower_number(s.count, 0));
  mica_value rate = mica_where(later, corrected, s.rate);
  for (int32_t i = 0; i < s.tensors; i++) {
    mica_value x = part(l, node, &s, 0, i), g = regularised(node, x, part(l, node, &s, 1, i));
    mica_value v = mica_add(mica_affine(part(l, node, &s, 2, i), alpha, 0), mica_affine(g, 1 - alpha, 0));
    mica_value h = mica_add(mica_affine(part(l, node, &s, 3, i), beta, 0), mica_affine(mica_square(g), 1 - beta, 0));
    mica_value y = mica_sub(x, mica_div(mica_mul(rate, v), mica_affine(mica_sqrt(h), 1, epsilon)));
    mica__lower_result(l, node, i, mica_affine(y, 1 - post, 0));
    mica__lower_result(l, node, s.tensors + i, v);
    mica__lower_result(l, node, 2 * s.tensors + i, h);
  }
  return MICA_OK;
}

/* Standard momentum, and Nesterov's. */
MICA__LOWER(momentum) {
  step s;
  double alpha = mica__onnx_real(node, "alpha", 0), beta = mica__onnx_real(node, "beta", 0);
  int32_t nesterov = mica__lower_choice(l, node, "mode", "standard nesterov", 0);
  if (!begin(l, node, 3, &s)) return MICA_OK;
  mica_value first = mica_equal(s.count, mica__lower_number(s.count, 0));
  mica_value share = mica_where(first, mica__lower_number(s.rate, 1), mica__lower_number(s.rate, beta));
  for (int32_t i = 0; i < s.tensors; i++) {
    mica_value x = part(l, node, &s, 0, i), g = regularised(node, x, part(l, node, &s, 1, i));
    mica_value v = mica_add(mica_affine(part(l, node, &s, 2, i), alpha, 0), mica_mul(share, g));
    mica_value way = nesterov ? mica_add(g, mica_affine(v, alpha, 0)) : v;
    mica__lower_result(l, node, i, mica_sub(x, mica_mul(s.rate, way)));
    mica__lower_result(l, node, s.tensors + i, v);
  }
  return MICA_OK;
}
