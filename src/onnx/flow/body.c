#include "onnx/flow/body.h"

#include <stdio.h>
#include <string.h>

/* The limits on the nodes that unrolling a loop may make if the caller sets no limit. MOST_UNROLLED is for models that
 * run: the host counts the trips of longer loops. MOST_WITHOUT_RUNS is for mica_onnx_build, where the host cannot do
 * so. */
#define MOST_UNROLLED 2000
#define MOST_WITHOUT_RUNS 20000

const mica__onnx_graph *mica__flow_body(mica__lowering *l, const mica__onnx_node *node, const char *name) {
  int32_t at = 0;
  for (int32_t i = 0; i < node->attr_count; i++) {
    if (!node->attrs[i]->g) continue;
    if (!strcmp(mica__onnx_text(node->attrs[i]->name), name) && at < node->body_count) return &node->bodies[at];
    at++;
  }
  mica__lower_fail(l, node, MICA_E_FORMAT, "the attribute '%s' is missing or is not a graph", name);
  return NULL;
}

static mica_status lower_in_scope(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                  const mica__lower_value *inputs, mica__lower_value *outputs) {
  const Onnx__GraphProto *graph = body->proto;
  for (size_t i = 0; i < graph->n_input; i++)
    MICA_TRY(mica__scope_put(l, mica__onnx_text(graph->input[i]->name), inputs[i]));
  MICA_TRY(mica__scope_put_initials(l, graph));
  MICA_TRY(l->lower_nodes(l, body));
  for (size_t i = 0; !l->demands && i < graph->n_output; i++) {
    const char *name = mica__onnx_text(graph->output[i]->name);
    const mica__lower_value *found = mica__scope_find(l, name);
    outputs[i] = (mica__lower_value){.list = found ? found->list : NULL};
    if (!outputs[i].list) outputs[i].value = mica__scope_value(l, node, name);
    MICA_TRY(l->status);
  }
  return MICA_OK;
}

mica_status mica__flow_lower_any(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                 const mica__lower_value *inputs, size_t input_count, mica__lower_value *outputs) {
  if (body->proto->n_input != input_count)
    return mica__lower_fail(l, node, MICA_E_FORMAT, "the body has %zu inputs, but must have %zu", body->proto->n_input,
                            input_count);
  if (l->depth == MICA__LOWER_DEPTH)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "bodies and functions are nested more than %d deep",
                            MICA__LOWER_DEPTH);
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

mica_status mica__flow_lower(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                             const mica_value *inputs, size_t input_count, mica_value *outputs) {
  const size_t count = body->proto->n_output;
  mica__lower_value *in = mica__lower_room(l, input_count, sizeof *in), *out = mica__lower_room(l, count, sizeof *out);
  if (!in || !out) return l->status;
  for (size_t i = 0; i < input_count; i++) in[i].value = inputs[i];
  MICA_TRY(mica__flow_lower_any(l, node, body, in, input_count, out));
  for (size_t i = 0; !l->demands && i < count; i++) {
    if (out[i].list)
      return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "output %zu of the body is a sequence, but must be a tensor",
                              i);
    outputs[i] = out[i].value;
  }
  return MICA_OK;
}

mica_status mica__flow_give(mica__lowering *l, const mica__onnx_node *node, int32_t k, const mica__lower_value *value) {
  if (!value->list)
    mica__lower_result(l, node, k, value->value);
  else if (mica__lower_wants(node, k))
    MICA_TRY(mica__scope_put(l, node->outputs[k], (mica__lower_value){.list = value->list}));
  return l->status;
}

static int64_t most_unrolled(const mica__lowering *l) {
  return l->most_unrolled ? l->most_unrolled : l->trace ? MOST_UNROLLED : MOST_WITHOUT_RUNS;
}

bool mica__flow_may_unroll(const mica__lowering *l, const mica__onnx_graph *body, int64_t trips) {
  int64_t most = most_unrolled(l);
  return trips <= most && trips * body->count <= most;
}

mica_status mica__flow_too_long(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                const char *what, int64_t trips) {
  const int64_t most = most_unrolled(l) / (body->count > 1 ? body->count : 1);
  char asked[64] = "";
  if (trips >= 0) snprintf(asked, sizeof asked, ", but are %lld", (long long)trips);
  return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                          "the loop is too long to unroll: with %d nodes in the body, the %s can be at most %lld%s",
                          (int)body->count, what, (long long)most, asked);
}

bool mica__flow_declared(const Onnx__ValueInfoProto *declared, mica_dtype *dtype, mica_shape *shape) {
  const Onnx__TypeProto *type = declared ? declared->type : NULL;
  const Onnx__TypeProto__Tensor *tensor = type ? type->tensor_type : NULL;
  *shape = (mica_shape){0};
  if (!tensor || !tensor->shape || tensor->shape->n_dim >= MICA_MAX_RANK || !mica__onnx_dtype(tensor->elem_type, dtype))
    return false;
  for (size_t i = 0; i < tensor->shape->n_dim; i++) {
    if (!tensor->shape->dim[i]->has_dim_value || tensor->shape->dim[i]->dim_value < 0) return false;
    shape->dim[shape->rank++] = tensor->shape->dim[i]->dim_value;
  }
  return true;
}

/* Returns an empty tensor: the declared shape with a new first axis of extent 0. Null, with an error recorded, if the
 * file does not declare a supported dtype and a fixed shape. */
static mica_value empty(mica__lowering *l, const mica__onnx_node *node, const Onnx__ValueInfoProto *declared) {
  mica_dtype dtype;
  mica_shape one, shape = {.rank = 1};
  if (!mica__flow_declared(declared, &dtype, &one)) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "the loop has no trips, so its body must declare a supported type and a fixed shape of at most %d "
                     "axes for each "
                     "output that is collected",
                     MICA_MAX_RANK - 1);
    return (mica_value){0};
  }
  for (int32_t i = 0; i < one.rank; i++) shape.dim[shape.rank++] = one.dim[i];
  return mica_full(l->graph, dtype, shape, 0);
}

mica_value mica__flow_stack(mica__lowering *l, const mica__onnx_node *node, const mica_value *values, size_t count,
                            int32_t axis, const Onnx__ValueInfoProto *declared) {
  if (!count) return empty(l, node, declared);
  mica_value *apart = mica__lower_room(l, count, sizeof *apart);
  for (size_t i = 0; apart && i < count; i++) apart[i] = mica_unsqueeze(values[i], MICA_AXES(axis));
  if (!apart) return (mica_value){0};
  return count == 1 ? apart[0] : mica_concat(apart, count, axis);
}
