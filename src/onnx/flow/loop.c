/* Loops whose trips are known: each trip stands in the graph, so that shapes may change from one to the next. */
#include "onnx/flow/body.h"

#include <string.h>

typedef struct loop {
  const mica__onnx_graph *body;
  size_t carried, scans; /* values that go from trip to trip, and results that are collected */
  mica_value *inputs, *outputs;
  mica_value **kept; /* by collected result, a value for each trip */
  size_t trips, capacity;
} loop;

static mica_status keep(mica__lowering *l, loop *s) {
  if (s->trips == s->capacity) {
    size_t capacity = s->capacity ? 2 * s->capacity : 16;
    for (size_t k = 0; k < s->scans; k++) {
      mica_value *kept = mica__lower_room(l, capacity, sizeof *kept);
      if (!kept) return l->status;
      if (s->trips) memcpy(kept, s->kept[k], s->trips * sizeof *kept);
      s->kept[k] = kept;
    }
    s->capacity = capacity;
  }
  for (size_t k = 0; k < s->scans; k++) s->kept[k][s->trips] = s->outputs[1 + s->carried + k];
  s->trips++;
  return MICA_OK;
}

static mica_status begin(mica__lowering *l, const mica__onnx_node *node, loop *s) {
  s->body = mica__flow_body(l, node, "body");
  if (!s->body) return l->status;
  s->carried = node->input_count > 2 ? (size_t)node->input_count - 2 : 0;
  size_t inputs = s->body->proto->n_input, outputs = s->body->proto->n_output;
  if (inputs != 2 + s->carried || outputs < 1 + s->carried)
    return mica__lower_fail(l, node, MICA_E_FORMAT, "its body has %zu inputs and %zu outputs for %zu values", inputs,
                            outputs, s->carried);
  s->scans = outputs - 1 - s->carried;
  s->inputs = mica__lower_room(l, inputs, sizeof *s->inputs);
  s->outputs = mica__lower_room(l, outputs, sizeof *s->outputs);
  s->kept = mica__lower_room(l, s->scans, sizeof(mica_value *));
  if (!s->inputs || !s->outputs || !s->kept) return l->status;
  for (size_t k = 0; k < s->carried; k++) {
    s->inputs[2 + k] = mica__lower_operand(l, node, 2 + (int32_t)k);
    if (!s->inputs[2 + k].graph) return l->status;
  }
  return MICA_OK;
}

/* Goes on as long as the condition is true, at most `most` trips (below 0: no limit). */
static mica_status run(mica__lowering *l, const mica__onnx_node *node, loop *s, int64_t most, bool on) {
  for (int64_t trip = 0; on && (most < 0 || trip < most); trip++) {
    if (!mica__flow_may_unroll(l, node, s->body, trip + 1)) return l->status;
    s->inputs[0] = mica__lower_integer_constant(l, &trip, 1, 0);
    s->inputs[1] = mica_full(l->graph, MICA_BOOL, MICA_SCALAR, 1);
    MICA_TRY(mica__flow_lower(l, node, s->body, s->inputs, 2 + s->carried, s->outputs));
    if (l->demands) return MICA_OK;
    MICA_TRY(keep(l, s));
    memcpy(&s->inputs[2], &s->outputs[1], s->carried * sizeof *s->inputs);
    if (!mica__lower_truth(l, s->outputs[0], &on))
      return mica__lower_demand(l, node, s->outputs[0], "the condition of a further trip");
  }
  return MICA_OK;
}

MICA__LOWER(loop) {
  mica__integers most, first;
  loop s = {0};
  if (!mica__lower_integers(l, node, 0, &most) || !mica__lower_integers(l, node, 1, &first)) return MICA_OK;
  if (begin(l, node, &s) != MICA_OK || l->demands) return l->status;
  bool on = !first.count || first.values[0];
  if (!most.count && !first.count) return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "a loop without an end");
  MICA_TRY(run(l, node, &s, most.count ? most.values[0] < 0 ? 0 : most.values[0] : -1, on));
  if (l->demands) return MICA_OK;
  l->before = l->graph->count;
  for (size_t k = 0; k < s.carried; k++) mica__lower_result(l, node, (int32_t)k, s.inputs[2 + k]);
  for (size_t k = 0; k < s.scans; k++)
    if (mica__lower_wants(node, (int32_t)(s.carried + k)))
      mica__lower_result(l, node, (int32_t)(s.carried + k),
                         mica__flow_stack(l, node, s.kept[k], s.trips, 0, s.body->proto->output[1 + s.carried + k]));
  return l->status;
}
