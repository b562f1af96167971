/* onnx/flow/loop_call.h: loops whose trips the host counts: a body is lowered once for the shapes it carries, and runs
 * as often as it has to. What is carried lies in two tensors a value, by turns, so that memory is bounded. */
#ifndef MICA_ONNX_FLOW_LOOP_CALL_H
#define MICA_ONNX_FLOW_LOOP_CALL_H

#include "onnx/flow/cut.h"

#define MICA__LOOP_VALUES 64

/* Inputs of the body: the trip's number, a condition where `conditional`, states, operands that are scanned. Outputs: a
 * condition where `conditional`, states, what is collected. */
typedef struct mica__loop_form {
  const mica__onnx_graph *body;
  const char *why; /* for mica_onnx_cut_at */
  bool conditional;
  size_t states, scanned, collected;
  int64_t axis_in[MICA__LOOP_VALUES];
  bool back_in[MICA__LOOP_VALUES], back_out[MICA__LOOP_VALUES];
  int64_t most;     /* trips; below 0: as `trips` says, or without a limit */
  mica_value trips; /* null: `most` */
  mica_value first; /* true if there is a first trip; null: there is */
} mica__loop_form;

/* values: states, scanned operands. results: states, then what is collected. *done stays false if the loop takes a
 * sequence, and has to be unrolled. */
mica_status mica__loop_call(mica__lowering *l, const mica__onnx_node *node, const mica__loop_form *form,
                            const mica_value *values, mica_value *results, bool *done);

#endif
