/* onnx/flow/loop_call.h: loops whose trips the host counts. The body is lowered once per set of carried shapes and runs
 * as often as necessary. Carried values alternate between two tensors each, so memory is bounded. */
#ifndef MICA_ONNX_FLOW_LOOP_CALL_H
#define MICA_ONNX_FLOW_LOOP_CALL_H

#include "onnx/flow/cut.h"

#define MICA__LOOP_VALUES 64

/* Inputs of the body: the trip's number, a condition if `conditional`, states, scanned operands. Outputs: a condition
 * if `conditional`, states, collected results. */
typedef struct mica__loop_form {
  const mica__onnx_graph *body;
  const char *why; /* for mica_onnx_cut_at */
  bool conditional;
  size_t states, scanned, collected;
  int64_t axis_in[MICA__LOOP_VALUES];
  bool back_in[MICA__LOOP_VALUES], back_out[MICA__LOOP_VALUES];
  int64_t most;     /* the number of trips; below 0: given by `trips`, or unlimited */
  mica_value trips; /* null: `most` */
  mica_value first; /* true if a first trip runs; null: it always runs */
} mica__loop_form;

/* values: states, scanned operands. results: states, then collected results. *done stays false if the loop takes a
 * sequence and must be unrolled. */
mica_status mica__loop_call(mica__lowering *l, const mica__onnx_node *node, const mica__loop_form *form,
                            const mica_value *values, mica_value *results, bool *done);

#endif
