/* onnx/flow/cut.h: the interface of cuts, for operators and for code that reads values on the host. */
#ifndef MICA_ONNX_FLOW_CUT_H
#define MICA_ONNX_FLOW_CUT_H

#include "onnx/flow/runner.h"

/* Reads a value that depends on data: the lowering's graph so far becomes a stage, which runs. *data, the elements, is
 * valid as long as the lowering. `what` names the value in messages. Only for lowerings that can run;
 * mica_onnx_build's cannot. */
mica_status mica__cut_value(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                            const void **data);

/* True if an earlier lowering already made the next cut of this path; an operator then need not make its call again. */
bool mica__cut_is_replayed(const mica__lowering *l);
/* True if the next cut of this path was already made, as for mica__cut_is_replayed, and is a call. */
bool mica__cut_replays_call(const mica__lowering *l);
/* Ends a stage with a call and takes ownership of the call, also on failure; its results become values of the graph.
 * `why` is the reason that mica_onnx_cut_at reports. */
mica_status mica__cut_call(mica__lowering *l, const mica__onnx_node *node, const char *why, mica__call *call,
                           const mica_value *operands, size_t operand_count, mica_value *results, size_t result_count);

/* Allocates the results array of a call. */
mica_status mica__call_init(mica__call *call, size_t result_count);

/* Makes a function of a body. Its inputs are the formal ones, named by `formals`, then the outer names that the body
 * uses. The function itself keeps outer values that are known or weights. operands[i], in the lowering's memory, is the
 * value for input i; null for formal inputs and for values that the function keeps. If the body takes a sequence,
 * *function is NULL and the status MICA_OK. */
mica_status mica__function_capture(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                   const char *const *formals, size_t formal_count, bool counts,
                                   mica__function **function, mica_value **operands);

#endif
