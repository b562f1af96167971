#include "support/op_case_helpers.h"

#include <mica/nodes.h>
#include <mica/norm.h>

mica_value test_split_and_multiply(mica_value x) {
  mica_value parts[3];
  mica_split(x, -1, (int64_t[]){3, 3, 1}, 3, parts);
  return mica_mul(mica_mul(parts[0], parts[1]), parts[2]);
}

mica_value test_batch_statistics(mica_value x) {
  mica_value mean, variance, none = {0};
  mica_value y = mica_batch_norm_train(x, none, none, 1e-5, &mean, &variance);
  mica_value both = mica_mul(mean, variance);
  return mica_sub(mica_cast(y, mica_value_dtype(both)), mica_reshape(both, MICA_SHAPE(MICA_DYNAMIC, 1)));
}

mica_value test_focal(mica_value logits, mica_value target, double gamma) {
  mica_value losses =
      mica_cross_entropy(logits, target, &(mica_cross_entropy_config){.reduction = MICA_LOSS_REDUCTION_NONE});
  mica_value rest = mica_affine(mica_exp(mica_neg(losses)), -1, 1);
  return mica_mean(mica_mul(mica_pow(rest, mica_full_like(rest, gamma)), losses), MICA_ALL_AXES, false);
}
