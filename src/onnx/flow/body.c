#include "onnx/flow/body.h"

#include <string.h>

/* Nodes that unrolling may make. */
#define MOST_UNROLLED 20000

const mica__onnx_graph *mica__flow_body(mica__lowering *l, const mica__onnx_node *node, const char *name) {
  int32_t at = 0;
  for (int32_t i = 0; i < node->attr_count; i++) {
    if (!node->attrs[i]->g) continue;
    if (!strcmp(mica__onnx_text(node->attrs[i]->name), name) && at < node->body_count) return &node->bodies[at];
    at++;
  }
  mica__lower_fail(l, node, MICA_E_FORMAT, "it has no body '%s'", name);
  return NULL;
}

static mica_status lower_in_scope(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                  const mica_value *inputs, mica_value *outputs) {
  const Onnx__GraphProto *graph = body->proto;
  for (size_t i = 0; i < graph->n_input; i++)
    MICA_TRY(mica__scope_put(l, mica__onnx_text(graph->input[i]->name), (mica__lower_value){.value = inputs[i]}));
  MICA_TRY(mica__scope_put_initials(l, graph));
  MICA_TRY(l->lower_nodes(l, body));
  for (size_t i = 0; !l->demands && i < graph->n_output; i++) {
    outputs[i] = mica__scope_value(l, node, mica__onnx_text(graph->output[i]->name));
    MICA_TRY(l->status);
  }
  return MICA_OK;
}

mica_status mica__flow_lower(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                             const mica_value *inputs, size_t input_count, mica_value *outputs) {
  if (body->proto->n_input != input_count)
    return mica__lower_fail(l, node, MICA_E_FORMAT, "its body has %zu inputs, and gets %zu values",
                            body->proto->n_input, input_count);
  if (l->depth == MICA__LOWER_DEPTH)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "bodies stand more than %d deep", MICA__LOWER_DEPTH);
  mica__lower_scope scope, *outer = l->scope;
  MICA_TRY(mica__scope_open(l, true, &scope));
  l->depth++;
  mica_status status = lower_in_scope(l, node, body, inputs, outputs);
  l->depth--;
  mica__scope_close(l, &scope);
  l->scope = outer;
  l->before = l->graph->count;
  return status;
}

bool mica__flow_may_unroll(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                           int64_t trips) {
  if (trips <= MOST_UNROLLED && trips * body->count <= MOST_UNROLLED) return true;
  mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                   "%lld trips through %d nodes, which stand one after another; %d at most", (long long)trips,
                   (int)body->count, MOST_UNROLLED);
  return false;
}

/* The declared type with no element along a new axis. */
static mica_value empty(mica__lowering *l, const mica__onnx_node *node, const Onnx__ValueInfoProto *declared) {
  const Onnx__TypeProto *type = declared ? declared->type : NULL;
  const Onnx__TypeProto__Tensor *tensor = type ? type->tensor_type : NULL;
  mica_dtype dtype;
  mica_shape shape = {.rank = 1};
  bool known =
      tensor && tensor->shape && tensor->shape->n_dim < MICA_MAX_RANK && mica__onnx_dtype(tensor->elem_type, &dtype);
  for (size_t i = 0; known && i < tensor->shape->n_dim; i++) {
    known = tensor->shape->dim[i]->has_dim_value && tensor->shape->dim[i]->dim_value >= 0;
    shape.dim[shape.rank++] = tensor->shape->dim[i]->dim_value;
  }
  if (known) return mica_full(l->graph, dtype, shape, 0);
  mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "no trips, and results whose shapes the file does not say");
  return (mica_value){0};
}

mica_value mica__flow_stack(mica__lowering *l, const mica__onnx_node *node, const mica_value *values, size_t count,
                            int32_t axis, const Onnx__ValueInfoProto *declared) {
  if (!count) return empty(l, node, declared);
  mica_value *apart = mica__lower_room(l, count, sizeof *apart);
  for (size_t i = 0; apart && i < count; i++) apart[i] = mica_unsqueeze(values[i], MICA_AXES(axis));
  if (!apart) return (mica_value){0};
  return count == 1 ? apart[0] : mica_concat(apart, count, axis);
}
