/* onnx/flow/cut.h: cuts a model where the lowering needs the elements of a value, or a call on the host. */
#ifndef MICA_ONNX_FLOW_CUT_H
#define MICA_ONNX_FLOW_CUT_H

#include "onnx/flow/runner.h"

/* Reads the elements of a value that a run must compute: the lowering's graph so far becomes a stage, which runs. On a
 * path that already has this stage, nothing runs again. *data stays valid as long as the lowering. `what` names the
 * value in messages. Only for lowerings that can run, so not in mica_onnx_build. */
mica_status mica__cut_value(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                            const void **data);

/* True if the path already has a stage for the next cut, made by an earlier lowering. An operator may then pass no call
 * (NULL) to mica__cut_call. */
bool mica__cut_is_replayed(const mica__lowering *l);
/* True if the path already has a stage for the next cut, and this stage ends with a call. */
bool mica__cut_replays_call(const mica__lowering *l);
/* Ends a stage with a call; the results of the call become values of the lowering's graph. Takes ownership of `call`,
 * also on failure. `why` is the reason that mica_onnx_cut_at reports. */
mica_status mica__cut_call(mica__lowering *l, const mica__onnx_node *node, const char *why, mica__call *call,
                           const mica_value *operands, size_t operand_count, mica_value *results, size_t result_count);

/* Sets the number of a call's results and allocates their array. */
mica_status mica__call_init(mica__call *call, size_t result_count);

/* Makes a function of a body. Its inputs are the names in `formals`, then the names that the body reads from outside.
 * The function itself keeps known values and weights from outside; a run must pass all other values.
 *
 *   counts       input 0 is the trip's number, and a last output is added: the next trip's number
 *   *operands    by input: the value that a run must pass; null for the formal inputs and for values that the
 *                function keeps. The array lives as long as the lowering.
 *   *function    NULL, with the status MICA_OK, if the body reads a sequence from outside */
mica_status mica__function_capture(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                   const char *const *formals, size_t formal_count, bool counts,
                                   mica__function **function, mica_value **operands);

#endif
