/* Cuts. A lowering that needs a computed value on the host stops at the current node, runs the graph so far and
 * continues with the result. */
#include "onnx/flow/cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

static mica_status make_stage(mica__trace *t, const mica_value *values, size_t count, mica__stage **stage) {
  int32_t *live = NULL;
  size_t live_count = 0;
  MICA_TRY(mica__trace_live(t, &live, &live_count));
  mica_status status = mica__stage_create(t, values, count, live, live_count, stage);
  free(live);
  return status;
}

/* Makes `stage` the next stage of the path, and records why the model is cut there. `values` are what the cut needs:
 * the value that the lowering reads, or the operands of the call. Records where each of them is stored. */
static mica_status cut(mica__trace *t, const mica__onnx_node *node, const char *why, mica__stage *stage,
                       const mica_value *values, size_t count) {
  stage->sources = calloc(count + 1, sizeof *stage->sources);
  if (!stage->sources) return mica__fail_nomem("a stage");
  stage->source_count = count;
  for (size_t i = 0; i < count; i++) {
    stage->sources[i] = mica__trace_source(t, values[i].id);
    for (size_t k = 0; k < stage->id_count; k++)
      if (stage->ids[k] == values[i].id)
        stage->sources[i] = (mica__flow_source){(int32_t)t->program->path_count, (int32_t)k};
  }
  MICA_TRY(mica__runner_note_cut(t->program->function->runner, node, why));
  return mica__trace_push(t, stage);
}

mica_status mica__cut_value(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                            const void **data) {
  mica__trace *t = l->trace;
  mica__flow_program *p = t->program;
  if (!mica__cut_is_replayed(l)) {
    mica__stage *stage = NULL;
    mica_status status = make_stage(t, &value, 1, &stage);
    if (status == MICA_OK) {
      stage->end = MICA__STAGE_VALUE;
      status = cut(t, node, what, stage, &value, 1);
      if (status != MICA_OK) mica__stage_destroy(p->function, stage);
    }
    if (status == MICA_OK) status = mica__stage_run(p, t->run, p->path_count - 1);
    if (status != MICA_OK) return mica__lower_fail(l, node, status, "%s", mica_error_message());
  }
  *data = p->path[t->replayed]->now;
  return mica__trace_pass(t);
}

/* --- calls --- */

bool mica__cut_is_replayed(const mica__lowering *l) {
  return l->trace && l->trace->replayed < l->trace->program->path_count;
}

bool mica__cut_replays_call(const mica__lowering *l) {
  return mica__cut_is_replayed(l) && l->trace->program->path[l->trace->replayed]->end == MICA__STAGE_CALL;
}

mica_status mica__call_init(mica__call *call, size_t result_count) {
  call->result_count = result_count;
  call->results = calloc(result_count + 1, sizeof(mica_tensor *));
  return call->results ? MICA_OK : mica__fail_nomem("a call");
}

static void destroy_call(mica__call *call) {
  if (!call) return;
  call->destroy(call);
  free(call->results);
  free(call);
}

static mica_status run_call(mica__trace *t, const mica__onnx_node *node, const char *why, mica__call *call,
                            const mica_value *operands, size_t count) {
  mica__stage *stage = NULL;
  mica__flow_program *p = t->program;
  mica_status status = make_stage(t, operands, count, &stage);
  if (status != MICA_OK) {
    destroy_call(call);
    return status;
  }
  stage->call = call;
  stage->end = MICA__STAGE_CALL;
  stage->result_ids = calloc(call->result_count + 1, sizeof *stage->result_ids);
  status = stage->result_ids ? cut(t, node, why, stage, operands, count) : mica__fail_nomem("a stage");
  if (status != MICA_OK) {
    mica__stage_destroy(p->function, stage);
    return status;
  }
  return mica__stage_run(p, t->run, p->path_count - 1);
}

mica_status mica__cut_call(mica__lowering *l, const mica__onnx_node *node, const char *why, mica__call *call,
                           const mica_value *operands, size_t operand_count, mica_value *results, size_t result_count) {
  mica__trace *t = l->trace;
  mica_status status = l->status;
  if (status != MICA_OK || mica__cut_is_replayed(l))
    destroy_call(call);
  else
    status = run_call(t, node, why, call, operands, operand_count);
  if (status != MICA_OK) return mica__lower_fail(l, node, status, "%s", mica_error_message());
  const mica__stage *stage = t->program->path[t->replayed];
  if (stage->end != MICA__STAGE_CALL || stage->call->result_count != result_count)
    return mica__lower_fail(l, node, MICA_E_STATE,
                            "the node does not fit the stage of an earlier run (an error in Mica)");
  for (size_t i = 0; i < result_count; i++) {
    const mica__flow_type *type = &((const mica__flow_type *)stage->now)[i];
    char name[48];
    snprintf(name, sizeof name, "result #%zu.%zu", t->replayed, i);
    results[i] = mica_input(l->graph, name, (mica_dtype)type->dtype, mica__flow_shape(type));
    if (!results[i].graph)
      return mica__lower_fail(l, node, mica_graph_status(l->graph), "%s", mica_graph_message(l->graph));
    stage->result_ids[i] = results[i].id;
  }
  return mica__trace_pass(t);
}
