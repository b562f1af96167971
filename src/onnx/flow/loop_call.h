/* onnx/flow/loop_call.h: loops whose trips the host counts. The body is lowered once for each combination of shapes of
 * the carried values. Each carried value has two tensors, which trips write in turn, so that memory does not grow with
 * the number of trips. */
#ifndef MICA_ONNX_FLOW_LOOP_CALL_H
#define MICA_ONNX_FLOW_LOOP_CALL_H

#include "onnx/flow/cut.h"

#define MICA__LOOP_VALUES 64

/* A loop. states: values carried from trip to trip. scanned: operands; each trip takes one slice of each. collected:
 * results to which each trip adds one slice.
 *
 *   inputs of the body   the trip's number, a condition if `conditional`, the states, the slices of scanned operands
 *   outputs of the body  a condition if `conditional`, the states, the slices of collected results */
typedef struct mica__loop_form {
  const mica__onnx_graph *body;
  /* The reason that mica_onnx_cut_at reports. */
  const char *why;
  bool conditional;
  size_t states, scanned, collected;
  int64_t axis_in[MICA__LOOP_VALUES];
  bool back_in[MICA__LOOP_VALUES], back_out[MICA__LOOP_VALUES];
  /* The maximum number of trips if `trips` is null; negative: no limit. */
  int64_t most;
  /* The maximum number of trips, computed by the model; null: `most` is used. */
  mica_value trips;
  /* The first trip runs only if this is true; null: it always runs. */
  mica_value first;
} mica__loop_form;

/* Ends a stage with a call that runs the loop. values: the states before the first trip, then the scanned operands.
 * results: the states after the last trip, then the collected results. *done stays false if the body reads a sequence
 * from outside; the loop must then be unrolled. */
mica_status mica__loop_call(mica__lowering *l, const mica__onnx_node *node, const mica__loop_form *form,
                            const mica_value *values, mica_value *results, bool *done);

#endif
