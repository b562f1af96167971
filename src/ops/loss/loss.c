/* Losses made of pointwise ops and reductions, whose kernels the compiler generates. Computed in f32 if the operands
 * have 16 bits. */
#include "ops/common/build.h"

#include <float.h>
#include <math.h>

static mica_value reduced(const char *op, mica_value losses, mica_value x, mica_loss_reduction reduction) {
  if (!mica__builder_choice(op, losses, "reduction", (int32_t)reduction, MICA_LOSS_REDUCTION_NONE + 1))
    return (mica_value){0};
  mica_value y = reduction == MICA_LOSS_REDUCTION_MEAN  ? mica_mean(losses, MICA_ALL_AXES, false)
                 : reduction == MICA_LOSS_REDUCTION_SUM ? mica_sum(losses, MICA_ALL_AXES, false)
                                                        : losses;
  return mica__narrow(y, x);
}

/* Reshapes (C) to (C, 1, ...), which broadcasts along axis 1 of a tensor of this rank. */
static mica_value along_classes(mica_value values, int32_t rank) {
  for (int32_t i = 2; i < rank; i++) values = mica__insert_axis(values, 1);
  return values;
}

/* Returns the losses for targets given as class probabilities (N, C, ...): sum_c -w_c p_c log q_c. */
static mica_value probability_losses(mica_value logs, mica_value target, const mica_cross_entropy_config *config) {
  mica_value p = mica__widen(target);
  int32_t rank = mica_value_shape(logs).rank;
  if (config->label_smoothing != 0)
    p = mica_affine(p, 1 - config->label_smoothing, config->label_smoothing / (double)mica_value_shape(logs).dim[1]);
  mica_value terms = mica_mul(p, logs);
  if (config->weights.graph) terms = mica_mul(terms, along_classes(mica__widen(config->weights), rank));
  return mica_neg(mica_sum(terms, MICA_AXES(1), false));
}

/* Returns the losses for targets given as class indices (N, ...), which are compared with 0 ... C - 1. *weight receives
 * the weight of each sample: its class's weight (1 without class weights), or 0 if it is ignored; null if the config
 * has neither class weights nor an ignored class. */
static mica_value index_losses(mica_value logs, mica_value target, const mica_cross_entropy_config *config,
                               mica_value *weight) {
  const mica_shape shape = mica_value_shape(logs);
  mica_value zero = mica__number(logs, 0), classes = mica_range(logs.graph, mica_value_dtype(target), shape.dim[1]);
  mica_value chosen = mica_equal(mica__insert_axis(target, 1), along_classes(classes, shape.rank));
  mica_value weights = config->weights.graph ? along_classes(mica__widen(config->weights), shape.rank) : zero;
  mica_value weighted = config->weights.graph ? mica_mul(logs, weights) : logs;
  mica_value losses = mica_neg(mica_sum(mica_where(chosen, weighted, zero), MICA_AXES(1), false));
  *weight = (mica_value){0};
  if (config->weights.graph) *weight = mica_sum(mica_where(chosen, weights, zero), MICA_AXES(1), false);
  if (config->label_smoothing != 0) {
    double part = config->label_smoothing / (double)shape.dim[1];
    mica_value all = mica_sum(weighted, MICA_AXES(1), false);
    losses = mica_sub(mica_affine(losses, 1 - config->label_smoothing, 0), mica_affine(all, part, 0));
  }
  if (config->ignore) {
    mica_value used =
        mica_not_equal(target, mica_scalar(logs.graph, mica_value_dtype(target), (double)config->ignored));
    losses = mica_where(used, losses, zero);
    *weight = config->weights.graph ? mica_where(used, *weight, zero) : mica_cast(used, mica_value_dtype(logs));
  }
  return losses;
}

/* Returns the cross entropy of log probabilities `logs` (N, C, ...), reduced as configured. target: indices or
 * probabilities. x: the builder's operand, whose type the result gets. */
static mica_value class_loss(const char *op, mica_value logs, mica_value target, mica_value x,
                             const mica_cross_entropy_config *given) {
  static const mica_cross_entropy_config defaults = {0};
  const mica_cross_entropy_config *config = given ? given : &defaults;
  mica_shape shape = mica_value_shape(logs);
  char text[MICA_SHAPE_TEXT];
  if (!logs.graph || !target.graph) return (mica_value){0};
  if (shape.rank < 2 || shape.dim[1] < 0)
    return mica__builder_fail(op, logs, MICA_E_SHAPE,
                              "the shape is %s, but must have a known number of classes along axis 1",
                              mica_shape_format(shape, text));
  if (!mica__builder_number(op, logs, "label_smoothing", config->label_smoothing, 0, 1)) return (mica_value){0};
  if (mica_dtype_kind_of(mica_value_dtype(target)) == MICA_DTYPE_KIND_FLOAT) {
    mica_value losses = probability_losses(logs, target, config);
    return reduced(op, losses, x, config->reduction);
  }
  mica_value weight, losses = index_losses(logs, target, config, &weight);
  if (config->reduction != MICA_LOSS_REDUCTION_MEAN || !weight.graph) return reduced(op, losses, x, config->reduction);
  mica_value total = mica_sum(losses, MICA_ALL_AXES, false);
  return mica__narrow(mica_div(total, mica_sum(weight, MICA_ALL_AXES, false)), x);
}

mica_value mica_cross_entropy(mica_value logits, mica_value target, const mica_cross_entropy_config *config) {
  int32_t axis = mica_value_shape(logits).rank > 1 ? 1 : 0;
  return class_loss("cross_entropy", mica_log_softmax(mica__widen(logits), axis), target, logits, config);
}

mica_value mica_nll(mica_value log_probabilities, mica_value target, const mica_cross_entropy_config *config) {
  return class_loss("nll", mica__widen(log_probabilities), target, log_probabilities, config);
}

static mica_value difference(mica_value a, mica_value b) { return mica_sub(mica__widen(a), mica__widen(b)); }

mica_value mica_mse(mica_value a, mica_value b, mica_loss_reduction reduction) {
  return reduced("mse", mica_square(difference(a, b)), a, reduction);
}

mica_value mica_mae(mica_value a, mica_value b, mica_loss_reduction reduction) {
  return reduced("mae", mica_abs(difference(a, b)), a, reduction);
}

mica_value mica_huber(mica_value a, mica_value b, double delta, mica_loss_reduction reduction) {
  if (a.graph && !(delta > 0 && isfinite(delta)))
    return mica__builder_fail("huber", a, MICA_E_INVALID, "delta is %g, but must be a finite number above 0", delta);
  mica_value d = difference(a, b), size = mica_abs(d);
  mica_value near = mica_affine(mica_square(d), 0.5, 0), far = mica_affine(size, delta, -0.5 * delta * delta);
  return reduced("huber", mica_where(mica_less_equal(size, mica__number(d, delta)), near, far), a, reduction);
}

/* -(p t log s(x) + (1 - t) log(1 - s(x))) with p the positive weight and s the sigmoid, by log s(x) = min(x, 0) - log(1
 * + e^-|x|). */
mica_value mica_bce_with_logits(mica_value logits, mica_value target, double positive_weight,
                                mica_loss_reduction reduction) {
  if (logits.graph &&
      !mica__builder_number("bce_with_logits", logits, "the positive weight", positive_weight, 0, DBL_MAX))
    return (mica_value){0};
  mica_value x = mica__widen(logits), t = mica__widen(target);
  mica_value tail = mica_softplus(mica_neg(mica_abs(x)));
  mica_value against = mica_add(mica_relu(x), tail), in_favour = mica_add(mica_relu(mica_neg(x)), tail);
  mica_value losses =
      mica_add(mica_mul(mica_affine(t, -1, 1), against), mica_mul(mica_affine(t, positive_weight, 0), in_favour));
  return reduced("bce_with_logits", losses, logits, reduction);
}

mica_value mica_cosine_similarity(mica_value a, mica_value b, int32_t axis, double epsilon) {
  if (a.graph && !mica__builder_number("cosine_similarity", a, "epsilon", epsilon, 0, DBL_MAX)) return (mica_value){0};
  mica_value wide_a = mica__widen(a), wide_b = mica__widen(b);
  mica_value dot = mica_sum(mica_mul(wide_a, wide_b), MICA_AXES(axis), false);
  mica_value squares =
      mica_mul(mica_sum_square(wide_a, MICA_AXES(axis), false), mica_sum_square(wide_b, MICA_AXES(axis), false));
  mica_value norms = mica_sqrt(mica_maximum(squares, mica__number(squares, epsilon * epsilon)));
  return mica__narrow(mica_div(dot, norms), a);
}

/* A target of 0 contributes nothing, and its logarithm does not reach the gradient. */
mica_value mica_kl_divergence(mica_value log_q, mica_value p, mica_loss_reduction reduction) {
  mica_value q = mica__widen(log_q), t = mica__widen(p), zero = mica__number(t, 0);
  mica_value positive = mica_greater(t, zero);
  mica_value log_p = mica_log(mica_where(positive, t, mica__number(t, 1)));
  return reduced("kl_divergence", mica_where(positive, mica_mul(t, mica_sub(log_p, q)), zero), log_q, reduction);
}
