/* Lowers Scan, which runs a body once for each slice of the scanned operands and carries states from one slice to the
 * next. In long scans, the host counts the trips. */
#include "onnx/flow/body.h"
#include "onnx/flow/loop_call.h"

#include <string.h>

#define MOST_VALUES MICA__LOOP_VALUES

typedef struct scan {
  const mica__onnx_graph *body;
  size_t states, inputs, outputs; /* counts of carried states, scanned operands, collected results */
  int64_t axis_in[MOST_VALUES], axis_out[MOST_VALUES];
  bool back_in[MOST_VALUES], back_out[MOST_VALUES];
  int64_t trips;
} scan;

/* Element k of an attribute that is a list of integers; 0 if the list is shorter or absent. */
static int64_t of_list(const mica__onnx_node *node, const char *name, size_t k) {
  mica__integers list;
  mica__onnx_ints(node, name, &list);
  return (int64_t)k < list.count ? list.values[k] : 0;
}

static mica_status begin(mica__lowering *l, const mica__onnx_node *node, size_t operands, scan *s) {
  int64_t scanned = mica__onnx_int(node, "num_scan_inputs", 0);
  s->body = mica__flow_body(l, node, "body");
  if (!s->body) return l->status;
  if (scanned < 1 || scanned > (int64_t)operands)
    return mica__lower_fail(l, node, MICA_E_FORMAT,
                            "num_scan_inputs is %lld, but must be at least 1 and at most the number of states and "
                            "scanned inputs together, %zu",
                            (long long)scanned, operands);
  if (s->body->proto->n_input != operands)
    return mica__lower_fail(l, node, MICA_E_FORMAT,
                            "the body has %zu inputs, but must have %zu, one per state and scanned input",
                            s->body->proto->n_input, operands);
  s->inputs = (size_t)scanned;
  s->states = operands - s->inputs;
  if (s->body->proto->n_output < s->states)
    return mica__lower_fail(l, node, MICA_E_FORMAT,
                            "the body has %zu outputs, but must have at least %zu, one per state",
                            s->body->proto->n_output, s->states);
  s->outputs = s->body->proto->n_output - s->states;
  if (operands > MOST_VALUES || s->states + s->outputs > MOST_VALUES)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "a Scan with more than %d inputs or outputs is not supported",
                            MOST_VALUES);
  bool old = node->version < 9; /* version 8 has one list of directions and no axes */
  for (size_t k = 0; k < s->inputs; k++) {
    s->axis_in[k] = old ? 0 : of_list(node, "scan_input_axes", k);
    s->back_in[k] = of_list(node, old ? "directions" : "scan_input_directions", k) == 1;
  }
  for (size_t k = 0; k < s->outputs; k++) {
    s->axis_out[k] = old ? 0 : of_list(node, "scan_output_axes", k);
    s->back_out[k] = !old && of_list(node, "scan_output_directions", k) == 1;
  }
  return MICA_OK;
}

/* Slice t of a value along an axis, without that axis. */
static mica_value slice_at(mica_value x, int64_t axis, int64_t t) {
  return mica_squeeze(mica_slice(x, (int32_t)axis, t, t + 1, 1), MICA_AXES((int32_t)axis));
}

static mica_status count_trips(mica__lowering *l, const mica__onnx_node *node, scan *s, const mica_value *values) {
  for (size_t k = 0; k < s->inputs; k++) {
    mica_shape shape = mica_value_shape(values[s->states + k]);
    if (!mica__lower_axis(l, node, shape.rank, &s->axis_in[k])) return l->status;
    int64_t extent = shape.dim[s->axis_in[k]];
    if (extent < 0)
      return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                              "the number of slices is not known; give inputs of fixed shapes");
    if (k && extent != s->trips)
      return mica__lower_fail(l, node, MICA_E_SHAPE,
                              "the scanned inputs must have the same number of slices, but have %lld and %lld",
                              (long long)s->trips, (long long)extent);
    s->trips = extent;
  }
  return MICA_OK;
}

/* Moves axis 0 of x to `axis`. */
static mica_value move_axis(mica_value x, int64_t axis) {
  int32_t rank = mica_value_shape(x).rank;
  mica_axes order = {.count = rank};
  for (int32_t i = 0; i < rank; i++) order.axis[i] = i < axis ? i + 1 : i == axis ? 0 : i;
  return mica_transpose(x, order);
}

static mica_status call(mica__lowering *l, const mica__onnx_node *node, const scan *s, const mica_value *values,
                        mica_value *results, bool *done) {
  mica__loop_form form = {.body = s->body,
                          .why = "the host counts its trips",
                          .states = s->states,
                          .scanned = s->inputs,
                          .collected = s->outputs,
                          .most = s->trips};
  memcpy(form.axis_in, s->axis_in, sizeof form.axis_in);
  memcpy(form.back_in, s->back_in, sizeof form.back_in);
  memcpy(form.back_out, s->back_out, sizeof form.back_out);
  MICA_TRY(mica__loop_call(l, node, &form, values, results, done));
  for (size_t k = 0; *done && k < s->outputs; k++) {
    int64_t axis = s->axis_out[k];
    if (!mica__lower_axis(l, node, mica_value_shape(results[s->states + k]).rank, &axis)) return l->status;
    if (axis) results[s->states + k] = move_axis(results[s->states + k], axis);
  }
  return MICA_OK;
}

/* Lowers the body once for each slice. If there are too many slices to unroll, the host counts the trips, or an error
 * is recorded if the lowering has no trace. results: the states after the last slice, then the collected results. */
static mica_status unroll(mica__lowering *l, const mica__onnx_node *node, scan *s, const mica_value *values,
                          mica_value *results) {
  mica_value inputs[MOST_VALUES], outputs[MOST_VALUES];
  mica__lower_value states[MOST_VALUES] = {0};
  MICA_TRY(count_trips(l, node, s, values));
  if (!mica__flow_may_unroll(l, s->body, s->trips)) {
    bool done = false;
    if (l->trace) MICA_TRY(call(l, node, s, values, results, &done));
    return done ? MICA_OK : mica__flow_too_long(l, node, s->body, "slices", s->trips);
  }
  mica__lower_held held = {l->held, states, s->states};
  mica_value *kept = mica__lower_room(l, (size_t)s->trips * s->outputs, sizeof *kept);
  if (!kept) return l->status;
  memcpy(inputs, values, s->states * sizeof *inputs);
  for (int64_t t = 0; t < s->trips; t++) {
    for (size_t k = 0; k < s->inputs; k++)
      inputs[s->states + k] = slice_at(values[s->states + k], s->axis_in[k], s->back_in[k] ? s->trips - 1 - t : t);
    for (size_t k = 0; k < s->states; k++) states[k].value = inputs[k];
    l->held = &held;
    mica_status status = mica__flow_lower(l, node, s->body, inputs, s->states + s->inputs, outputs);
    l->held = held.before;
    MICA_TRY(status);
    if (l->demands) return MICA_OK;
    memcpy(inputs, outputs, s->states * sizeof *inputs);
    for (size_t k = 0; k < s->outputs; k++)
      kept[k * (size_t)s->trips + (size_t)(s->back_out[k] ? s->trips - 1 - t : t)] = outputs[s->states + k];
  }
  memcpy(results, inputs, s->states * sizeof *results);
  for (size_t k = 0; k < s->outputs; k++) {
    mica_value *list = &kept[k * (size_t)s->trips];
    int64_t axis = s->axis_out[k];
    if (s->trips && !mica__lower_axis(l, node, mica_value_shape(list[0]).rank + 1, &axis)) return l->status;
    results[s->states + k] =
        mica__flow_stack(l, node, list, (size_t)s->trips, (int32_t)axis, s->body->proto->output[s->states + k]);
  }
  return MICA_OK;
}

/* Version 8: axis 0 of every operand is the batch, and each sequence is scanned separately. */
static mica_status unroll_batch(mica__lowering *l, const mica__onnx_node *node, scan *s, const mica_value *values,
                                mica_value *results) {
  size_t operands = s->states + s->inputs, count = s->states + s->outputs;
  int64_t batch = mica_value_shape(values[0]).rank ? mica_value_shape(values[0]).dim[0] : 0;
  if (batch < 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "the batch, axis 0 of the operands, has size %lld, but must be known (-1: not known) and "
                            "at least 1",
                            (long long)batch);
  if (!mica__flow_may_unroll(l, s->body, batch))
    return mica__flow_too_long(l, node, s->body, "sequences of the batch", batch);
  mica_value *all = mica__lower_room(l, count * (size_t)batch, sizeof *all);
  if (!all) return l->status;
  for (int64_t b = 0; b < batch; b++) {
    mica_value own[MOST_VALUES], out[MOST_VALUES];
    for (size_t k = 0; k < operands; k++) own[k] = slice_at(values[k], 0, b);
    MICA_TRY(unroll(l, node, s, own, out));
    if (l->demands) return MICA_OK;
    for (size_t k = 0; k < count; k++) all[k * (size_t)batch + (size_t)b] = out[k];
  }
  for (size_t k = 0; k < count; k++)
    results[k] = mica__flow_stack(l, node, &all[k * (size_t)batch], (size_t)batch, 0, NULL);
  return MICA_OK;
}

MICA__LOWER(scan) {
  scan s = {0};
  mica_value values[MOST_VALUES], results[MOST_VALUES] = {{0}};
  int32_t first = node->version < 9 ? 1 : 0; /* in version 8, operand 0 has the lengths of the sequences */
  if (first && mica__lower_has(l, node, 0))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "sequence_lens is not supported: all sequences must have the same length");
  if (node->input_count - first > MOST_VALUES)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "a Scan with more than %d inputs or outputs is not supported",
                            MOST_VALUES);
  MICA_TRY(begin(l, node, (size_t)(node->input_count - first), &s));
  for (size_t k = 0; k < s.states + s.inputs; k++) {
    values[k] = mica__lower_operand(l, node, first + (int32_t)k);
    if (!values[k].graph) return MICA_OK;
  }
  MICA_TRY(first ? unroll_batch(l, node, &s, values, results) : unroll(l, node, &s, values, results));
  l->before = l->graph->count;
  for (size_t k = 0; !l->demands && k < s.states + s.outputs; k++) mica__lower_result(l, node, (int32_t)k, results[k]);
  return MICA_OK;
}
