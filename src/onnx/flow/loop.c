/* Lowers Loop. A loop whose number of trips is known and small is unrolled; shapes may then change from trip to trip
 * without a further lowering. For other loops the host counts the trips (loop_call.c). */
#include "onnx/flow/body.h"
#include "onnx/flow/loop_call.h"

#include <string.h>

typedef struct loop {
  const mica__onnx_graph *body;
  /* The number of values carried from trip to trip, and the number of results that collect one value per trip. */
  size_t carried, scans;
  mica__lower_value *inputs, *outputs;
  /* kept[k][trip]: the value that collected result k takes from a trip. */
  mica_value **kept;
  size_t trips, capacity;
} loop;

static bool is_list(const mica__lower_value *value) { return value->list != NULL; }

static bool carries_list(const loop *s) {
  for (size_t k = 0; k < s->carried; k++)
    if (is_list(&s->inputs[2 + k])) return true;
  return false;
}

static mica_status keep(mica__lowering *l, const mica__onnx_node *node, loop *s) {
  for (size_t k = 0; k < s->carried; k++)
    if (is_list(&s->inputs[2 + k]) != is_list(&s->outputs[1 + k]))
      return mica__lower_fail(
          l, node, MICA_E_FORMAT,
          "carried value %zu (from 0) must be a sequence both before and after a trip, or a tensor both times", k);
  for (size_t k = 0; k < s->scans; k++)
    if (is_list(&s->outputs[1 + s->carried + k]))
      return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the loop collects sequences, but can only collect tensors");
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
  for (size_t k = 0; k < s->scans; k++) s->kept[k][s->trips] = s->outputs[1 + s->carried + k].value;
  s->trips++;
  return MICA_OK;
}

static mica_status begin(mica__lowering *l, const mica__onnx_node *node, loop *s) {
  s->body = mica__flow_body(l, node, "body");
  if (!s->body) return l->status;
  s->carried = node->input_count > 2 ? (size_t)node->input_count - 2 : 0;
  size_t inputs = s->body->proto->n_input, outputs = s->body->proto->n_output;
  if (inputs != 2 + s->carried || outputs < 1 + s->carried)
    return mica__lower_fail(l, node, MICA_E_FORMAT,
                            "the body has %zu inputs and %zu outputs, but must have %zu inputs and at least %zu "
                            "outputs, because the number "
                            "of carried values is %zu",
                            inputs, outputs, 2 + s->carried, 1 + s->carried, s->carried);
  s->scans = outputs - 1 - s->carried;
  s->inputs = mica__lower_room(l, inputs, sizeof *s->inputs);
  s->outputs = mica__lower_room(l, outputs, sizeof *s->outputs);
  s->kept = mica__lower_room(l, s->scans, sizeof(mica_value *));
  if (!s->inputs || !s->outputs || !s->kept) return l->status;
  for (size_t k = 0; k < s->carried; k++) {
    mica__lower_value *value = &s->inputs[2 + k];
    const char *name = node->inputs[2 + k];
    const mica__lower_value *found = *name ? mica__scope_find(l, name) : NULL;
    value->list = found ? found->list : NULL;
    if (!value->list) value->value = mica__lower_operand(l, node, 2 + (int32_t)k);
    if (!value->list && !value->value.graph) return l->status;
  }
  return MICA_OK;
}

/* Lowers the body once per trip, while the condition holds and for at most `most` trips; there is no limit if `most` is
 * negative. *whole becomes false, and the unrolling ends early, if there would be too many nodes. */
static mica_status unroll(mica__lowering *l, const mica__onnx_node *node, loop *s, int64_t most, bool on, bool *whole) {
  for (int64_t trip = 0; on && (most < 0 || trip < most); trip++) {
    *whole = mica__flow_may_unroll(l, s->body, trip + 1);
    if (!*whole) return MICA_OK;
    s->inputs[0].value = mica__lower_integer_constant(l, &trip, 1, 0);
    s->inputs[1].value = mica_full(l->graph, MICA_BOOL, MICA_SCALAR, 1);
    MICA_TRY(mica__flow_lower_any(l, node, s->body, s->inputs, 2 + s->carried, s->outputs));
    if (l->demands) return MICA_OK;
    MICA_TRY(keep(l, node, s));
    memcpy(&s->inputs[2], &s->outputs[1], s->carried * sizeof *s->inputs);
    if (is_list(&s->outputs[0]))
      return mica__lower_fail(l, node, MICA_E_FORMAT, "the loop's condition is a sequence, but must be a tensor");
    MICA_TRY(mica__lower_condition(l, node, s->outputs[0].value, "the condition of a further trip", &on));
    if (l->demands) return MICA_OK;
  }
  return MICA_OK;
}

/* Unrolls the loop. The carried values are in l->held meanwhile, so that a cut inside a trip keeps them. */
static mica_status unroll_held(mica__lowering *l, const mica__onnx_node *node, loop *s, int64_t most, bool on,
                               bool *whole) {
  const mica__lower_held *before = l->held;
  mica__lower_held held = {before, &s->inputs[2], s->carried};
  l->held = &held;
  mica_status status = unroll(l, node, s, most, on, whole);
  l->held = before;
  return status;
}

static mica_status give_unrolled(mica__lowering *l, const mica__onnx_node *node, const loop *s) {
  l->before = l->graph->count;
  for (size_t k = 0; k < s->carried; k++) MICA_TRY(mica__flow_give(l, node, (int32_t)k, &s->inputs[2 + k]));
  for (size_t k = 0; k < s->scans; k++)
    if (mica__lower_wants(node, (int32_t)(s->carried + k)))
      mica__lower_result(
          l, node, (int32_t)(s->carried + k),
          mica__flow_stack(l, node, s->kept[k], s->trips, 0, s->body->proto->output[1 + s->carried + k]));
  return l->status;
}

/* Lets the host count the trips. *done stays false if the loop carries a sequence or its body reads one from outside:
 * the loop must then be unrolled. */
static mica_status call(mica__lowering *l, const mica__onnx_node *node, const loop *s, mica_value trips,
                        mica_value first, bool *done) {
  if (carries_list(s)) return MICA_OK;
  const mica__loop_form form = {.body = s->body,
                                .why = "the host counts its trips",
                                .conditional = true,
                                .states = s->carried,
                                .collected = s->scans,
                                .most = -1,
                                .trips = trips,
                                .first = first};
  mica_value results[MICA__LOOP_VALUES], *values = mica__lower_room(l, s->carried, sizeof *values);
  if (!values) return l->status;
  for (size_t k = 0; k < s->carried; k++) values[k] = s->inputs[2 + k].value;
  MICA_TRY(mica__loop_call(l, node, &form, values, results, done));
  for (size_t k = 0; *done && k < s->carried + s->scans; k++) mica__lower_result(l, node, (int32_t)k, results[k]);
  return l->status;
}

static mica_value operand(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
}

static bool is_absent_or_known(const mica__lowering *l, mica_value value) {
  return !value.graph || mica__lower_is_known(l->graph, value.id);
}

MICA__LOWER(loop) {
  mica__integers most, first;
  loop s = {0};
  bool done = false, whole = true;
  mica_value trips = operand(l, node, 0), condition = operand(l, node, 1);
  if (l->status != MICA_OK || begin(l, node, &s) != MICA_OK || l->demands) return l->status;
  if (!trips.graph && !condition.graph)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "the loop has no end: it has neither a number of trips (M) nor a condition (cond)");
  bool known = is_absent_or_known(l, trips) && is_absent_or_known(l, condition) &&
               mica__flow_is_known(l, s.body, 0, &s.inputs[2], s.carried);
  mica__lower_value *begin_with = mica__lower_room(l, s.carried, sizeof *begin_with);
  if (!begin_with) return l->status;
  memcpy(begin_with, &s.inputs[2], s.carried * sizeof *begin_with);
  if (l->trace && !known) MICA_TRY(call(l, node, &s, trips, condition, &done));
  if (done) return MICA_OK;
  if (!mica__lower_integers(l, node, 0, &most) || !mica__lower_integers(l, node, 1, &first)) return l->status;
  int64_t limit = most.count ? most.values[0] < 0 ? 0 : most.values[0] : -1;
  bool on = !first.count || first.values[0];
  if (l->trace && known && on && limit > 0) whole = mica__flow_may_unroll(l, s.body, limit);
  if (whole) MICA_TRY(unroll_held(l, node, &s, limit, on, &whole));
  if (l->demands) return MICA_OK;
  if (whole) return give_unrolled(l, node, &s);
  memcpy(&s.inputs[2], begin_with, s.carried * sizeof *begin_with);
  if (l->trace) MICA_TRY(call(l, node, &s, trips, condition, &done));
  return done ? MICA_OK : mica__flow_too_long(l, node, s.body, "trips", limit);
}
