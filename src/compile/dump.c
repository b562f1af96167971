/* Descriptions of a session: its plan, its memory and the source of its kernels. */
#include "compile/plan.h"

#include "base/text.h"
#include "runtime/recording.h"

#include <stdlib.h>

/* The plan to describe: that of the last run, or the only possible one. It is recorded again if a parameter has been
 * shared since. */
static mica_status plan_of(mica_session *session, const char *call, const mica__plan **out) {
  if (!session) return mica__fail(MICA_E_INVALID, "%s: session is NULL", call);
  mica__plan *v = session->current;
  if (!v)
    return mica__fail(MICA_E_STATE,
                      "%s: the session has open dimensions and no plan before its first run; run it first", call);
  if (!v->recording) MICA_TRY(mica__plan_record(session, v, mica_engine_queue(session->engine)));
  *out = v;
  return MICA_OK;
}

mica_status mica_session_describe(mica_session *session, mica_session_report *report) {
  const mica__plan *v = NULL;
  if (!report) return mica__fail(MICA_E_INVALID, "mica_session_describe: report is NULL");
  MICA_TRY(plan_of(session, "mica_session_describe", &v));
  *report = (mica_session_report){.launches = mica__recording_count(v->recording),
                                  .host_steps = mica__recording_host_step_count(v->recording),
                                  .values = v->memory.value_count,
                                  .planned_bytes = mica__slabs_total(&v->memory.arena),
                                  .unplanned_bytes = v->memory.unplanned_bytes,
                                  .workspace_bytes = mica__recording_workspace(v->recording) +
                                                     mica__recording_workspace(v->prologue) +
                                                     mica__plan_derived_bytes(session, v),
                                  .parameter_bytes = session->parameter_bytes,
                                  .io_bytes = mica__slabs_total(&v->memory.outputs),
                                  .plan_bytes = mica__session_plan_bytes(session)};
  for (size_t i = 0; i < report->launches; i++) report->flops += mica__recording_at(v->recording, i)->flops;
  for (const mica__plan *plan = session->plans; plan; plan = plan->next) report->plans++;
  return MICA_OK;
}

/* Adds a step's ops and results to text, for example "mul add gelu -> %7 'h' f32 (64, 128)". */
static void add_step(mica__text *text, const mica__plan *v, const mica__step *step, int32_t index) {
  char type[MICA__TYPE_TEXT];
  const mica_graph *graph = v->template.graph;
  for (int32_t i = 0; i < step->count; i++) {
    const mica__op *op = mica__graph_node(graph, step->members[i])->op;
    if (op != &mica__op_result) mica__text_addf(text, "%s%s", i ? " " : "", op->name);
  }
  for (int32_t i = 0; i < step->count; i++) {
    int32_t id = step->members[i];
    const mica__node *node = mica__graph_node(graph, id);
    const mica__location *location = &v->memory.locations[id - 1];
    if (v->partition.step_of[id - 1] != index) continue;
    mica__text_addf(text, " -> %%%d ", (int)id);
    if (node->name) mica__text_addf(text, "'%s' ", node->name);
    mica__text_add(text, mica__type_format(node->type, type));
    if (location->home == MICA__HOME_PARAMETER)
      mica__text_addf(text, " as '%s'", mica__graph_node(graph, location->node)->name);
  }
}

/* Adds the host steps that come directly after this number of launches. A step in two halves is added twice: where it
 * begins and where it ends. */
static void add_host_steps(mica__text *text, const mica__plan *v, size_t launches) {
  mica__host_entry entry;
  for (size_t i = 0; mica__recording_host_entry(v->recording, i, &entry); i++) {
    if (entry.launches_before != launches) continue;
    mica__text_addf(text, "  - on the host%s: ", entry.is_begin ? " begins" : entry.is_end ? " ends" : "");
    add_step(text, v, &v->partition.steps[entry.number], entry.number);
    mica__text_add(text, "\n");
  }
}

mica_status mica_session_dump(mica_session *session, char **out) {
  const mica__plan *v = NULL;
  mica__text text = {0};
  if (!out) return mica__fail(MICA_E_INVALID, "mica_session_dump: text is NULL");
  MICA_TRY(plan_of(session, "mica_session_dump", &v));
  mica__text_add(&text, "");
  for (size_t i = 0; i < mica__recording_count(v->recording); i++) {
    const mica__launch *launch = mica__recording_at(v->recording, i);
    int32_t step = v->step_of_launch[i];
    add_host_steps(&text, v, i);
    mica__text_addf(&text, "%3zu %s: ", i, mica__kernel_name(launch->kernel));
    const int32_t share = step >= 0 ? mica__step_share(&v->partition.steps[step]) : 0;
    for (int32_t k = 0; k < share; k++) {
      mica__text_add(&text, k ? "; " : "");
      add_step(&text, v, &v->partition.steps[step + k], step + k);
    }
    int32_t list[MICA__BATCH_PARTS], copies = step < 0 ? mica__plan_copies(v, -1 - step, list) : 0;
    for (int32_t k = 0; k < copies; k++)
      mica__text_addf(&text, "%s'%s'", k ? ", " : "copy -> ",
                      mica__graph_node(v->template.graph, v->template.assignments[list[k]].parameter)->name);
    mica__text_addf(&text, "; %.0f flops, %.0f bytes\n", launch->flops, launch->bytes);
  }
  add_host_steps(&text, v, mica__recording_count(v->recording));
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK)
    *out = text.data;
  else
    mica__text_free(&text);
  return status;
}

mica_status mica_session_kernel_source(mica_session *session, size_t launch, char **out) {
  const mica__plan *v = NULL;
  mica__text text = {0};
  if (!out) return mica__fail(MICA_E_INVALID, "mica_session_kernel_source: text is NULL");
  MICA_TRY(plan_of(session, "mica_session_kernel_source", &v));
  if (launch >= mica__recording_count(v->recording))
    return mica__fail(MICA_E_NOT_FOUND,
                      "mica_session_kernel_source: a run has %zu launches, numbered from 0; there is no number %zu",
                      mica__recording_count(v->recording), launch);
  mica_status status = mica__kernel_text(mica__recording_at(v->recording, launch)->kernel, &text);
  if (status == MICA_OK)
    *out = text.data;
  else
    mica__text_free(&text);
  return status;
}
