/* Lowers If. If the condition is known or can be made known by binding inputs, or if a branch has sequences, the branch
 * is lowered in place. Else the model is cut: the host reads the condition and calls the branch as a function, which is
 * lowered when it is first taken. */
#include "base/element.h"
#include "onnx/flow/body.h"
#include "onnx/flow/cut.h"

#include <stdlib.h>
#include <string.h>

/* operands: the condition, then the inputs of else_branch, then the inputs of then_branch. */
typedef struct branch_call {
  mica__call call;
  mica__function *bodies[2]; /* else_branch, then_branch */
  /* slots[b][i]: the index of the operand for input i of bodies[b]; 0 if the function itself holds the value. */
  size_t *slots[2];
} branch_call;

static mica_status run(mica__call *call, mica_queue *queue, const mica_tensor *const *operands) {
  branch_call *c = (branch_call *)call;
  unsigned char element[16];
  MICA_TRY(mica_tensor_download(queue, operands[0], element, mica_tensor_bytes(operands[0])));
  bool on = mica__element_get(mica_tensor_dtype(operands[0]), element, 0) != 0;
  mica__function *body = c->bodies[on];
  const mica_tensor **inputs = calloc(body->input_count + 1, sizeof *inputs);
  if (!inputs) return mica__fail_nomem("a branch");
  for (size_t i = 0; i < body->input_count; i++)
    if (c->slots[on][i]) inputs[i] = operands[c->slots[on][i]];
  mica__flow_program *program = NULL;
  mica__run taken = {.queue = queue, .inputs = inputs};
  mica_status status = mica__function_call(body, &taken, &program);
  for (size_t i = 0; status == MICA_OK && i < call->result_count; i++) call->results[i] = program->outputs[i];
  free(inputs);
  return status;
}

static void destroy(mica__call *call) {
  branch_call *c = (branch_call *)call;
  for (int on = 0; on < 2; on++) {
    mica__function_destroy(c->bodies[on]);
    free(c->slots[on]);
  }
}

/* Makes functions of the two branches and lists their operands after the condition. *call is NULL if a branch reads a
 * sequence from outside. */
static mica_status make_call(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *const bodies[2],
                             mica_value *operands, size_t *count, mica__call **call) {
  branch_call *c = calloc(1, sizeof *c);
  if (!c) return mica__fail_nomem("a branch");
  c->call.run = run;
  c->call.destroy = destroy;
  mica_status status = mica__call_init(&c->call, bodies[0]->proto->n_output);
  bool whole = true;
  for (int on = 0; status == MICA_OK && on < 2; on++) {
    mica_value *values = NULL;
    status = mica__function_capture(l, node, bodies[on], NULL, 0, false, &c->bodies[on], &values);
    whole = whole && c->bodies[on];
    if (status != MICA_OK || !c->bodies[on]) continue;
    c->slots[on] = calloc(c->bodies[on]->input_count + 1, sizeof(size_t));
    if (!c->slots[on]) status = mica__fail_nomem("a branch");
    for (size_t i = 0; status == MICA_OK && i < c->bodies[on]->input_count; i++) {
      if (!values[i].graph) continue;
      c->slots[on][i] = *count;
      operands[(*count)++] = values[i];
    }
  }
  if (status == MICA_OK && whole) {
    *call = &c->call;
    return MICA_OK;
  }
  destroy(&c->call);
  free(c->call.results);
  free(c);
  return status;
}

static bool gives_tensors(const mica__onnx_graph *body) {
  for (size_t i = 0; i < body->proto->n_output; i++) {
    const Onnx__TypeProto *type = body->proto->output[i]->type;
    if (type && (type->sequence_type || type->optional_type)) return false;
  }
  return true;
}

/* An upper bound of the number of names that a body, and the bodies inside it, read. */
static size_t count_reads(const mica__onnx_graph *body) {
  size_t count = body->proto->n_output;
  for (int32_t i = 0; i < body->count; i++) {
    count += (size_t)body->nodes[i].input_count;
    for (int32_t k = 0; k < body->nodes[i].body_count; k++) count += count_reads(&body->nodes[i].bodies[k]);
  }
  return count;
}

/* Cuts the model and calls the branch that the condition selects. *done stays false if the node must be lowered in
 * place. */
static mica_status call_branch(mica__lowering *l, const mica__onnx_node *node, mica_value condition, bool *done) {
  const mica__onnx_graph *bodies[2] = {mica__flow_body(l, node, "else_branch"),
                                       mica__flow_body(l, node, "then_branch")};
  mica__call *call = NULL;
  if (!bodies[0] || !bodies[1]) return l->status;
  size_t results = bodies[0]->proto->n_output, count = 1;
  if (bodies[1]->proto->n_output != results)
    return mica__lower_fail(l, node, MICA_E_FORMAT,
                            "then_branch and else_branch must have the same number of outputs, not %zu and %zu",
                            bodies[1]->proto->n_output, results);
  if (!gives_tensors(bodies[0]) || !gives_tensors(bodies[1])) return MICA_OK;
  mica_value *operands = mica__lower_room(l, 1 + count_reads(bodies[0]) + count_reads(bodies[1]), sizeof *operands);
  mica_value *values = mica__lower_room(l, results, sizeof *values);
  if (!operands || !values) return l->status;
  operands[0] = condition;
  if (!mica__cut_is_replayed(l)) {
    MICA_TRY(make_call(l, node, bodies, operands, &count, &call));
    if (!call) return MICA_OK;
  } else if (!mica__cut_replays_call(l)) {
    return MICA_OK;
  }
  MICA_TRY(mica__cut_call(l, node, "the condition comes from data", call, operands, count, values, results));
  for (int32_t k = 0; k < node->output_count && (size_t)k < results; k++) mica__lower_result(l, node, k, values[k]);
  *done = true;
  return MICA_OK;
}

MICA__LOWER(branch) {
  bool on = false, done = false;
  mica_value condition = mica__lower_operand(l, node, 0);
  if (!condition.graph) return MICA_OK;
  int64_t elements = 0;
  MICA_TRY(mica_shape_count(mica_value_shape(condition), &elements));
  if (elements != 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the condition has %lld elements, but must have 1",
                            (long long)elements);
  if (l->trace && !mica__lower_truth(l, condition, &on) && !mica__lower_can_bind(l, condition, false))
    MICA_TRY(call_branch(l, node, condition, &done));
  if (done) return l->status;
  MICA_TRY(mica__lower_condition(l, node, condition, "the condition", &on));
  if (l->demands) return MICA_OK;
  const mica__onnx_graph *body = mica__flow_body(l, node, on ? "then_branch" : "else_branch");
  if (!body) return MICA_OK;
  size_t count = body->proto->n_output;
  mica__lower_value *outputs = mica__lower_room(l, count, sizeof *outputs);
  if (!outputs) return MICA_E_NOMEM;
  MICA_TRY(mica__flow_lower_any(l, node, body, NULL, 0, outputs));
  for (int32_t k = 0; !l->demands && k < node->output_count && (size_t)k < count; k++)
    MICA_TRY(mica__flow_give(l, node, k, &outputs[k]));
  return MICA_OK;
}
