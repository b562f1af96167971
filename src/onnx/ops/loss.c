#include "onnx/ops/family.h"

static mica_cross_entropy_config config_of(mica__lowering *l, const mica__onnx_node *node) {
  static const mica_loss_reduction reductions[] = {MICA_LOSS_REDUCTION_MEAN, MICA_LOSS_REDUCTION_SUM,
                                                   MICA_LOSS_REDUCTION_NONE};
  const Onnx__AttributeProto *ignored = mica__onnx_attr(node, "ignore_index");
  mica_cross_entropy_config config = {.reduction =
                                          reductions[mica__lower_choice(l, node, "reduction", "mean sum none", 0)],
                                      .ignore = ignored != NULL,
                                      .ignored = ignored ? ignored->i : 0};
  if (mica__lower_has(l, node, 2)) config.weights = mica__lower_operand(l, node, 2);
  return config;
}

MICA__LOWER(nll_loss) {
  mica_cross_entropy_config config = config_of(l, node);
  return give(l, node, mica_nll(x_of(l, node), mica__lower_operand(l, node, 1), &config));
}

MICA__LOWER(cross_entropy_loss) {
  mica_cross_entropy_config config = config_of(l, node);
  mica_value x = x_of(l, node);
  mica__lower_result(l, node, 0, mica_cross_entropy(x, mica__lower_operand(l, node, 1), &config));
  if (mica__lower_wants(node, 1)) mica__lower_result(l, node, 1, mica_log_softmax(x, 1));
  return MICA_OK;
}
