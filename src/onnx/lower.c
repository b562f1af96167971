#include "onnx/lowering.h"

#include "ir/graph.h"
#include "onnx/attributes.h"
#include "onnx/ops/table.h"

#include <stdlib.h>
#include <string.h>

/* The maximum number of nodes to lower. The nodes of bodies and functions count each time that they are lowered, so a
 * file of a few kilobytes can exceed the limit by nesting. */
#define MOST_NODES 1000000

/* --- functions --- */

/* Returns the attribute `name` of a function's call, or else the function's default for it; NULL if there is
 * neither. */
static const Onnx__AttributeProto *given_attr(const mica__onnx_node *call, const char *name) {
  const Onnx__AttributeProto *given = mica__onnx_attr(call, name);
  const Onnx__FunctionProto *f = call->function->proto;
  for (size_t i = 0; !given && i < f->n_attribute_proto; i++)
    if (!strcmp(mica__onnx_text(f->attribute_proto[i]->name), name)) given = f->attribute_proto[i];
  return given;
}

/* Copies a node of a function's body and replaces references to attributes by the call's attributes. */
static mica_status resolve(mica__lowering *l, const mica__onnx_node *call, const mica__onnx_node *node,
                           mica__onnx_node *out) {
  *out = *node;
  Onnx__AttributeProto **attrs = mica__lower_room(l, (size_t)node->attr_count, sizeof(Onnx__AttributeProto *));
  if (!attrs) return l->status;
  out->attrs = attrs;
  out->attr_count = 0;
  for (int32_t i = 0; i < node->attr_count; i++) {
    const char *reference = mica__onnx_text(node->attrs[i]->ref_attr_name);
    attrs[out->attr_count] = node->attrs[i];
    if (*reference) {
      const Onnx__AttributeProto *given = given_attr(call, reference);
      Onnx__AttributeProto *own = given ? mica__lower_room(l, 1, sizeof *own) : NULL;
      if (given && !own) return l->status;
      if (!given) continue;
      const int32_t type = mica__onnx_attr_type(node->attrs[i]), is = mica__onnx_attr_type(given);
      if (type && !mica__onnx_attr_fits(is, given, type))
        return mica__lower_fail(l, call, MICA_E_FORMAT, "attribute '%.80s' is of type %s, but must be %s", reference,
                                mica__onnx_attr_type_name(is), mica__onnx_attr_type_name(type));
      *own = *given;
      own->name = node->attrs[i]->name;
      attrs[out->attr_count] = own;
    }
    out->attr_count++;
  }
  return MICA_OK;
}

static mica_status lower_node(mica__lowering *l, const mica__onnx_node *node);

/* Adds the call's operands to the scope as the function's inputs. */
static mica_status put_operands(mica__lowering *l, const mica__onnx_node *call, mica__lower_scope *scope) {
  const Onnx__FunctionProto *f = call->function->proto;
  for (size_t i = 0; i < f->n_input; i++) {
    mica__lower_value value = {0};
    const mica__lower_value *given = mica__lower_has(l, call, (int32_t)i) ? mica__scope_find(l, call->inputs[i]) : NULL;
    if (given && given->list)
      value = *given;
    else if (mica__lower_has(l, call, (int32_t)i))
      value.value = mica__lower_operand(l, call, (int32_t)i);
    if (l->status != MICA_OK || l->demands) return l->status;
    mica__lower_scope *outer = l->scope;
    l->scope = scope;
    mica_status status = mica__scope_put(l, f->input[i], value);
    l->scope = outer;
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most MICA__LOWER_DEPTH deep. */
static mica_status lower_body(mica__lowering *l, const mica__onnx_node *call) {
  const mica__onnx_graph *body = &call->function->body;
  l->scope->graph = body;
  for (int32_t i = 0; i < body->count && !l->demands; i++) {
    mica__onnx_node node;
    l->scope->at = i;
    MICA_TRY(resolve(l, call, &body->nodes[i], &node));
    MICA_TRY(lower_node(l, &node));
  }
  return MICA_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): see lower_body. */
static mica_status lower_call(mica__lowering *l, const mica__onnx_node *call) {
  const Onnx__FunctionProto *f = call->function->proto;
  mica__lower_scope scope = {.caller = l->scope}, *outer = l->scope;
  mica_status status = put_operands(l, call, &scope);
  l->scope = &scope;
  if (status == MICA_OK && !l->demands) status = lower_body(l, call);
  mica_value results[64] = {{0}};
  int32_t count = call->output_count < 64 ? call->output_count : 64;
  if ((size_t)count > f->n_output) count = (int32_t)f->n_output;
  for (int32_t k = 0; status == MICA_OK && !l->demands && k < count; k++)
    if (mica__lower_wants(call, k)) {
      results[k] = mica__scope_value(l, call, f->output[k]);
      status = l->status;
    }
  l->scope = outer;
  mica__scope_close(l, &scope);
  for (int32_t k = 0; status == MICA_OK && !l->demands && k < count; k++)
    if (mica__lower_wants(call, k))
      status = mica__scope_put(l, call->outputs[k], (mica__lower_value){.value = results[k]});
  return status;
}

/* --- nodes --- */

/* If operand 0 holds texts and the operator only moves its elements, marks result 0 as texts too. */
static void pass_texts(mica__lowering *l, const mica__onnx_node *node) {
  bool moves = false;
  if (l->status != MICA_OK || l->demands || !mica__lower_texts(l, node, 0)) return;
  mica__onnx_takes_texts(node, 0, &moves);
  mica__lower_value *made = moves && mica__lower_wants(node, 0) ? mica__scope_find(l, node->outputs[0]) : NULL;
  if (made) made->texts = *mica__lower_texts(l, node, 0);
}

/* NOLINTNEXTLINE(misc-no-recursion): see lower_body. */
static mica_status lower_node(mica__lowering *l, const mica__onnx_node *node) {
  if (++l->nodes > MOST_NODES)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "the model has more than %d nodes after its functions are expanded and its loops unrolled",
                            MOST_NODES);
  if (node->function) {
    if (l->depth == MICA__LOWER_DEPTH)
      return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "bodies and functions are nested more than %d deep",
                              MICA__LOWER_DEPTH);
    l->depth++;
    mica_status status = lower_call(l, node);
    l->depth--;
    return status;
  }
  const mica__onnx_defined *own = mica__onnx_defined_find(l->model, node->domain, node->op);
  const mica__onnx_op *op = mica__onnx_op_find(node->domain, node->op, node->version);
  if (!op && !own)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "the operator is not supported in version %lld of its operator set",
                            (long long)node->version);
  l->before = l->graph->count;
  mica_status status = own ? mica__lower_defined(l, node, own) : op->lower(l, node);
  if (status != MICA_OK || l->status != MICA_OK)
    mica__lower_fail(l, node, l->status != MICA_OK ? l->status : status, "%s", mica_error_message());
  mica__lower_pass_graph_error(l, node);
  if (status == MICA_OK && op) pass_texts(l, node);
  return mica__lower_failed(l);
}

/* NOLINTNEXTLINE(misc-no-recursion): see lower_body. */
static mica_status lower_nodes(mica__lowering *l, const mica__onnx_graph *graph) {
  l->scope->graph = graph;
  for (int32_t i = 0; i < graph->count && !l->demands; i++) {
    l->scope->at = i;
    MICA_TRY(lower_node(l, &graph->nodes[i]));
    if (l->stop_at && !l->scope->caller && mica__scope_find(l, l->stop_at)) return MICA_OK;
  }
  l->scope->at = graph->count;
  return MICA_OK;
}

/* --- models --- */

/* Makes the value of an input: a constant if the input is bound. Null if the input is absent or is an initialiser
 * from outside. */
static mica_value input_value(mica__lowering *l, const mica__lower_input *input) {
  if (!input->given || input->tensor || input->sparse) return (mica_value){0};
  if (input->data) return mica_constant(l->graph, input->dtype, input->shape, input->data);
  return mica_input(l->graph, input->name, input->dtype, input->shape);
}

/* Returns this trip's slice of the scanned operand `whole`. If input->back is set, trip 0 takes the last slice. */
static mica_value slice_of(mica__lowering *l, const mica__lower_input *input, mica_value whole) {
  mica_value trip = l->input_values[0];
  if (input->back) trip = mica_sub(mica_scalar(l->graph, MICA_I64, (double)(input->shape.dim[input->axis] - 1)), trip);
  return mica_gather(whole, trip, input->axis);
}

bool mica__lower_dtype(const mica__lowering *l, int64_t type, mica_dtype *dtype) {
  if (type < 0 || type > INT32_MAX || mica__onnx_is_nibble((int32_t)type)) return false;
  if (!mica__onnx_dtype((int32_t)type, dtype)) return false;
  if (l->widens) *dtype = mica__onnx_widened(*dtype);
  return true;
}

static mica_status put_inputs(mica__lowering *l) {
  bool given = l->input_values != NULL;
  if (!given) l->input_values = mica__lower_room(l, l->input_count, sizeof *l->input_values);
  if (!l->input_values) return l->status;
  for (size_t i = 0; i < l->input_count; i++) {
    const mica__lower_input *input = &l->inputs[i];
    if (!given) l->input_values[i] = input_value(l, input);
    mica__lower_value value = {.value = l->input_values[i], .tensor = input->tensor, .sparse = input->sparse};
    if (input->sliced) value.value = slice_of(l, input, value.value);
    if (input->given && !value.value.graph && !input->tensor && !input->sparse)
      return mica__fail(mica_graph_status(l->graph), "%s", mica_graph_message(l->graph));
    MICA_TRY(mica__scope_put(l, input->name, value));
  }
  return MICA_OK;
}

static mica_status take_output(mica__lowering *l, const char *name, mica_value *output) {
  const mica__onnx_node whole = {.op = "output", .domain = "", .name = name};
  *output = mica__scope_value(l, &whole, name);
  return l->status;
}

static mica_status take_outputs(mica__lowering *l, mica_value *outputs) {
  const Onnx__GraphProto *graph = l->root->proto;
  if (l->stop_at) return take_output(l, l->stop_at, outputs);
  for (size_t i = 0; i < graph->n_output; i++)
    MICA_TRY(take_output(l, mica__onnx_text(graph->output[i]->name), &outputs[i]));
  if (!l->counts) return MICA_OK;
  outputs[graph->n_output] = mica_add(l->input_values[0], mica_scalar(l->graph, MICA_I64, 1));
  return mica_graph_status(l->graph);
}

mica_status mica__lower_model(mica__lowering *l, mica_value *outputs) {
  mica__lower_scope scope = {0};
  l->scope = &scope;
  l->lower_nodes = lower_nodes;
  /* Depth 0 is the model's own graph; some checks are done only there. */
  l->depth = l->is_body;
  mica_status status = put_inputs(l);
  if (status == MICA_OK) status = mica__scope_put_initials(l, l->root->proto);
  if (status == MICA_OK) status = lower_nodes(l, l->root);
  if (status == MICA_OK && !l->demands) status = take_outputs(l, outputs);
  mica__scope_close(l, &scope);
  l->scope = NULL;
  return status;
}

void mica__lower_free(mica__lowering *l) {
  for (size_t i = 0; i < l->room_count; i++) free(l->rooms[i]);
  free(l->rooms);
  free(l->weights);
  free(l->indices);
  l->rooms = NULL;
  l->weights = NULL;
  l->indices = NULL;
  l->room_count = l->weight_count = l->index_count = 0;
}
