/* Operands and results of the node that is being lowered. */
#include "ir/graph.h"
#include "onnx/lowering.h"
#include "ops/select/match.h"

#include <string.h>

mica_value mica__lower_operand(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  if (l->status != MICA_OK || l->demands) return (mica_value){0};
  if (k < node->input_count && *node->inputs[k]) {
    const mica_value value = mica__scope_value(l, node, node->inputs[k]);
    bool moves = false;
    if (!value.graph || !mica__lower_texts(l, node, k) || mica__onnx_takes_texts(node, k, &moves)) return value;
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "the input '%.80s' holds strings, which Mica does not support for this operator", node->inputs[k]);
    return (mica_value){0};
  }
  mica__lower_fail(l, node, MICA_E_FORMAT, "the operator needs input %d (from 0), but the node lacks it", (int)k);
  return (mica_value){0};
}

mica_value mica__lower_step(mica__lowering *l, const mica__onnx_node *node) {
  if (l->status != MICA_OK || l->demands) return (mica_value){0};
  if (!l->trace)
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "the node draws random numbers, which mica_onnx_build does not support; use mica_onnx_run");
  else if (!l->step.graph)
    l->step = mica_input(l->graph, "random step #", MICA_I64, MICA_SCALAR);
  return l->step;
}

uint64_t mica__lower_seed(const mica__lowering *l) { return l->seed; }

const mica__onnx_texts *mica__lower_texts(const mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  const mica__lower_value *found =
      k < node->input_count && *node->inputs[k] ? mica__scope_find(l, node->inputs[k]) : NULL;
  return found && (found->texts.count || found->texts.more) ? &found->texts : NULL;
}

/* The element type (ONNX's TensorProto.DataType) that the graph declares for its input or output of this name. 0 if it
 * has no such input or output, or declares no type for it. */
static int32_t declared_type(const Onnx__GraphProto *graph, const char *name) {
  const size_t all = graph ? graph->n_input + graph->n_output : 0;
  for (size_t i = 0; i < all; i++) {
    const Onnx__ValueInfoProto *value = i < graph->n_input ? graph->input[i] : graph->output[i - graph->n_input];
    if (!strcmp(mica__onnx_text(value->name), name) && value->type && value->type->tensor_type)
      return value->type->tensor_type->elem_type;
  }
  return 0;
}

int32_t mica__lower_result_type(const mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_wants(node, k) ? declared_type(l->root->proto, node->outputs[k]) : 0;
}

int32_t mica__lower_file_type(const mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  const mica__lower_value *found = mica__lower_has(l, node, k) ? mica__scope_find(l, node->inputs[k]) : NULL;
  if (!found) return 0;
  return found->tensor ? found->tensor->data_type : declared_type(l->root->proto, node->inputs[k]);
}

mica_value mica__lower_floating(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  mica_value x = mica__lower_operand(l, node, k);
  if (!x.graph || mica_dtype_kind_of(mica_value_dtype(x)) == MICA_DTYPE_KIND_FLOAT) return x;
  return mica_cast(x, MICA_F32);
}

bool mica__lower_has(const mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  if (k >= node->input_count || !*node->inputs[k]) return false;
  const mica__lower_value *found = mica__scope_find(l, node->inputs[k]);
  /* An unknown name counts as present, so that reading the operand reports the error. */
  return !found || found->value.graph || found->tensor || found->sparse || found->list;
}

bool mica__lower_wants(const mica__onnx_node *node, int32_t k) { return k < node->output_count && *node->outputs[k]; }

void mica__lower_pass_graph_error(mica__lowering *l, const mica__onnx_node *node) {
  if (l->status != MICA_OK || l->demands || mica_graph_status(l->graph) == MICA_OK) return;
  mica__lower_fail(l, node, mica_graph_status(l->graph), "%s", mica_graph_message(l->graph));
}

void mica__lower_result(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value value) {
  mica__lower_pass_graph_error(l, node);
  if (l->status != MICA_OK || l->demands || !mica__lower_wants(node, k)) return;
  if (!value.graph) {
    mica__lower_fail(l, node, MICA_E_FORMAT, "output %d (from 0) cannot be computed, because the node lacks an input",
                     (int)k);
    return;
  }
  value = mica__lower_fold(l, value);
  if (value.id > l->before) value = mica__matched(value);
  /* If the caller builds on the graph (make_parameter is set), values get the names that they have in the file. */
  if (value.id > l->before && l->make_parameter && !*mica_value_name(value)) mica_named(value, node->outputs[k]);
  mica_status status = mica__scope_put(l, node->outputs[k], (mica__lower_value){.value = value});
  if (status != MICA_OK) l->status = status;
}

void mica__lower_text_result(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value indices,
                             mica__onnx_texts texts) {
  mica__lower_result(l, node, k, indices);
  mica__lower_value *made = mica__lower_wants(node, k) ? mica__scope_find(l, node->outputs[k]) : NULL;
  if (made && l->status == MICA_OK) made->texts = texts;
}
