#include "onnx/flow/body.h"

/* The branch of a known condition stands in its place. */
MICA__LOWER(branch) {
  mica__integers condition;
  if (!mica__lower_integers(l, node, 0, &condition)) return MICA_OK;
  if (condition.count != 1) return mica__lower_fail(l, node, MICA_E_SHAPE, "the condition is no single element");
  const mica__onnx_graph *body = mica__flow_body(l, node, condition.values[0] ? "then_branch" : "else_branch");
  if (!body) return MICA_OK;
  size_t count = body->proto->n_output;
  mica_value *outputs = mica__lower_room(l, count, sizeof *outputs);
  if (!outputs) return MICA_E_NOMEM;
  MICA_TRY(mica__flow_lower(l, node, body, NULL, 0, outputs));
  for (int32_t k = 0; !l->demands && k < node->output_count && (size_t)k < count; k++)
    mica__lower_result(l, node, k, outputs[k]);
  return MICA_OK;
}
