#include "onnx/flow/body.h"
#include "onnx/ops/attention.h"

#include <math.h>

/* Replaces *value by the result of the body in the attribute `name`, whose only input is *value. No change if the node
 * lacks the attribute. */
static mica_status changed(mica__lowering *l, const mica__onnx_node *node, const char *name, mica_value *value) {
  if (!mica__onnx_attr(node, name)) return MICA_OK;
  const mica__onnx_graph *body = mica__flow_body(l, node, name);
  mica_value results[8];
  if (!body) return l->status;
  if (body->proto->n_output != 1)
    return mica__lower_fail(l, node, MICA_E_FORMAT, "the body '%s' has %zu outputs, but must have 1", name,
                            body->proto->n_output);
  MICA_TRY(mica__flow_lower(l, node, body, value, 1, results));
  if (!l->demands) *value = results[0];
  return MICA_OK;
}

/* Lowers attention in which the body score_mod changes the scores and the body prob_mod the weights after softmax. */
MICA__LOWER(flex_attention) {
  mica_value q = mica__lower_operand(l, node, 0), k = mica__lower_operand(l, node, 1);
  mica_value v = mica__lower_operand(l, node, 2);
  if (!q.graph || !k.graph || !v.graph) return MICA_OK;
  mica_dtype dtype = mica_value_dtype(q), wide = dtype == MICA_F64 ? MICA_F64 : MICA_F32;
  int64_t heads = mica_value_shape(q).dim[1], shared = mica_value_shape(k).dim[1];
  char queries[MICA_SHAPE_TEXT], keys_are[MICA_SHAPE_TEXT];
  if (mica_value_shape(q).rank != 4 || mica_value_shape(k).rank != 4 || shared < 1 || heads % shared)
    return mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "queries are %s and keys %s, but both must be (batch, heads, rows, width) with known heads, "
        "and the heads of queries must be a multiple of the heads of keys",
        mica_shape_format(mica_value_shape(q), queries), mica_shape_format(mica_value_shape(k), keys_are));
  double scale = mica__onnx_real(node, "scale", 0);
  if (scale == 0) scale = 1 / sqrt((double)mica_value_shape(q).dim[3]);
  mica_value keys = mica_transpose(mica__lower_share_heads(k, heads), MICA_AXES(0, 1, 3, 2));
  mica_value scores = mica_matmul(mica_affine(q, sqrt(scale), 0), mica_affine(keys, sqrt(scale), 0));
  scores = mica_cast(scores, wide);
  if (!scores.graph) return MICA_OK;
  MICA_TRY(changed(l, node, "score_mod", &scores));
  if (l->demands) return MICA_OK;
  mica_value weights = mica_softmax(scores, -1);
  if (!weights.graph) return MICA_OK;
  MICA_TRY(changed(l, node, "prob_mod", &weights));
  if (l->demands) return MICA_OK;
  l->before = l->graph->count;
  mica__lower_result(l, node, 0, mica_matmul(mica_cast(weights, dtype), mica__lower_share_heads(v, heads)));
  return MICA_OK;
}
