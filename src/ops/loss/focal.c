/* Focal and quantile losses, made of pointwise ops and reductions as in loss.c. */
#include "base/arith.h"
#include "ops/common/build.h"

#include <mica/loss.h>

/* If gamma is not 0, 1 or 2, powers are computed by logarithms. 1 - p_t counts as at least this (in mica_focal for
 * every gamma), so that its logarithm is finite. */
#define LEAST 1e-7

static mica_value power(mica_value x, double gamma) {
  if (gamma == 0) return mica_full_like(x, 1);
  if (gamma == 1) return x;
  if (gamma == 2) return mica_square(x);
  return mica_exp(mica_affine(mica_log(x), gamma, 0));
}

static mica_value reduce(mica_value losses, mica_loss_reduction reduction) {
  return reduction == MICA_LOSS_REDUCTION_MEAN  ? mica_mean(losses, MICA_ALL_AXES, false)
         : reduction == MICA_LOSS_REDUCTION_SUM ? mica_sum(losses, MICA_ALL_AXES, false)
                                                : losses;
}

mica_value mica_focal(mica_value logits, mica_value target, const mica_focal_config *given) {
  static const mica_focal_config defaults = {0};
  const mica_focal_config *config = given ? given : &defaults;
  const double gamma = mica__or_default(config->gamma, 2);
  const int32_t axis = mica_value_shape(logits).rank > 1 ? 1 : 0;
  if (!(gamma >= 0))
    return mica__builder_fail("focal", logits, MICA_E_INVALID, "gamma is %g, but must be 0 or more", gamma);
  mica_value logs = mica_log_softmax(mica__widen(logits), axis);
  mica_value rest = mica_maximum(mica_affine(mica_exp(logs), -1, 1), mica__number(logs, LEAST));
  const mica_cross_entropy_config how = {.reduction = config->reduction,
                                         .label_smoothing = config->label_smoothing,
                                         .weights = config->weights,
                                         .ignore = config->ignore,
                                         .ignored = config->ignored};
  return mica__narrow(mica_nll(mica_mul(power(rest, gamma), logs), target, &how), logits);
}

mica_value mica_binary_focal(mica_value logits, mica_value target, const mica_binary_focal_config *given) {
  static const mica_binary_focal_config defaults = {0};
  const mica_binary_focal_config *config = given ? given : &defaults;
  const double gamma = mica__or_default(config->gamma, 2), alpha = config->alpha < 0   ? 0.5
                                                                   : config->alpha > 0 ? config->alpha
                                                                                       : 0.25;
  if (!(gamma >= 0))
    return mica__builder_fail("binary_focal", logits, MICA_E_INVALID, "gamma is %g, but must be 0 or more", gamma);
  if (!mica__builder_number("binary_focal", logits, "alpha", alpha, 0, 1) ||
      !mica__builder_choice("binary_focal", logits, "reduction", (int64_t)config->reduction,
                            MICA_LOSS_REDUCTION_NONE + 1))
    return (mica_value){0};
  mica_value z = mica__widen(logits), t = mica__widen(target), p = mica_sigmoid(z);
  /* rest is 1 - p_t and weight is alpha_t; both are linear in the target. */
  mica_value rest = mica_add(p, mica_mul(t, mica_affine(p, -2, 1)));
  mica_value weight = config->alpha < 0 ? mica__number(t, 1) : mica_affine(t, 2 * alpha - 1, 1 - alpha);
  if (gamma != 2 && gamma != 1 && gamma != 0) rest = mica_maximum(rest, mica__number(rest, LEAST));
  mica_value losses =
      mica_mul(mica_mul(weight, power(rest, gamma)), mica_bce_with_logits(z, t, 1, MICA_LOSS_REDUCTION_NONE));
  return mica__narrow(reduce(losses, config->reduction), logits);
}

mica_value mica_quantile_loss(mica_value prediction, mica_value target, double q, mica_loss_reduction reduction) {
  if (!(q > 0 && q < 1))
    return mica__builder_fail("quantile_loss", prediction, MICA_E_INVALID, "q is %g, but must be between 0 and 1", q);
  if (!mica__builder_choice("quantile_loss", prediction, "reduction", (int32_t)reduction, MICA_LOSS_REDUCTION_NONE + 1))
    return (mica_value){0};
  mica_value d = mica_sub(mica__widen(target), mica__widen(prediction));
  mica_value losses = mica_maximum(mica_affine(d, q, 0), mica_affine(d, q - 1, 0));
  return mica__narrow(reduce(losses, reduction), prediction);
}
