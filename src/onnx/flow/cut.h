/* onnx/flow/cut.h: cuts, as operators and what reads values on the host see them. */
#ifndef MICA_ONNX_FLOW_CUT_H
#define MICA_ONNX_FLOW_CUT_H

#include "onnx/flow/runner.h"

/* The elements of a value that is computed from data: the lowering's graph so far becomes a stage, which runs. They are
 * valid as long as the lowering. `what` is for sentences. MICA_E_UNSUPPORTED if nothing can run (mica_onnx_build).
 */
mica_status mica__cut_value(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                            const void **data);

/* True if the next cut is one that has been made before on this way: then its call need not be made. */
bool mica__cut_is_replayed(const mica__lowering *l);
/* True if that one was a call. */
bool mica__cut_replays_call(const mica__lowering *l);
/* Ends a stage with a call, which is taken over, also where it fails; results become values of the graph. `why` says
 * what comes from data, for mica_onnx_cut_at. */
mica_status mica__cut_call(mica__lowering *l, const mica__onnx_node *node, const char *why, mica__call *call,
                           const mica_value *operands, size_t operand_count, mica_value *results, size_t result_count);

/* Makes the results array of a call. */
mica_status mica__call_init(mica__call *call, size_t result_count);

/* A body as a function: formal inputs first, whose names are given, then what it takes from the names in sight. What
 * of the latter is known or a weight belongs to the function; operands[i], in the lowering's room, is the value for
 * input i, null for these and for the formal ones. *function is NULL, with MICA_OK if the body takes a sequence. */
mica_status mica__function_capture(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                   const char *const *formals, size_t formal_count, bool counts,
                                   mica__function **function, mica_value **operands);

#endif
