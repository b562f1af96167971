#include "compile/plan.h"
#include "compile/without.h"

#include "base/text.h"
#include "runtime/recording.h"
#include "runtime/tensor.h"

#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

static const char *const who = "mica_session_create";

static mica_status add_slot(mica__slot *slots, int32_t *count, mica__name_table *names, const mica__node *node,
                            int32_t id) {
  mica__slot *slot = &slots[*count];
  *slot = (mica__slot){.name = mica__strdup(node->name), .type = node->type, .node = id};
  if (!slot->name) return mica__fail_nomem("a session");
  ++*count;
  return mica__name_table_add(names, slot->name, *count - 1);
}

/* Marks the inputs that are outputs, assigned values or operands of nodes, and the parameters that are assigned. */
static mica_status find_needed(mica_session *session) {
  const mica__template *template = &session->template;
  bool *named = calloc((size_t) template->graph->count + 1, sizeof *named);
  if (!named) return mica__fail_nomem("a session");
  for (int32_t o = 0; o < template->output_count; o++) named[template->outputs[o] - 1] = true;
  for (int32_t a = 0; a < template->assignment_count; a++) named[template->assignments[a].value - 1] = true;
  for (int32_t id = 1; id <= template->graph->count; id++) {
    const mica__node *node = mica__graph_node(template->graph, id);
    for (int32_t k = 0; k < node->input_count; k++) named[node->inputs[k] - 1] = true;
  }
  for (int32_t i = 0; i < session->input_count; i++) session->inputs[i].needed = named[session->inputs[i].node - 1];
  memset(named, 0, (size_t) template->graph->count * sizeof *named);
  for (int32_t a = 0; a < template->assignment_count; a++) named[template->assignments[a].parameter - 1] = true;
  for (int32_t i = 0; i < session->parameter_count; i++)
    session->parameters[i].assigned = named[session->parameters[i].node - 1];
  free(named);
  return MICA_OK;
}

static size_t count_nodes(const mica_graph *graph, const mica__op *op) {
  size_t count = 0;
  for (int32_t id = 1; id <= graph->count; id++) count += mica__graph_node(graph, id)->op == op;
  return count;
}

static mica_status collect_slots(mica_session *session) {
  const mica_graph *graph = session->template.graph;
  const size_t inputs = count_nodes(graph, &mica__op_input) + 1;
  const size_t parameters = count_nodes(graph, &mica__op_parameter) + 1;
  session->inputs = calloc(inputs, sizeof *session->inputs);
  session->parameters = calloc(parameters, sizeof *session->parameters);
  session->tensors = calloc(parameters, sizeof *session->tensors);
  session->shapes = calloc(inputs, sizeof *session->shapes);
  session->feeds = calloc(inputs, sizeof *session->feeds);
  session->bound = calloc((size_t)session->template.output_count + 1, sizeof *session->bound);
  if (!session->inputs || !session->parameters || !session->tensors || !session->shapes || !session->feeds ||
      !session->bound)
    return mica__fail_nomem("a session");
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    if (node->op == &mica__op_input)
      MICA_TRY(add_slot(session->inputs, &session->input_count, &session->input_names, node, id));
    if (node->op == &mica__op_parameter)
      MICA_TRY(add_slot(session->parameters, &session->parameter_count, &session->parameter_names, node, id));
  }
  return find_needed(session);
}

/* If no input that is needed has an open dimension (MICA_DYNAMIC), all shapes are known now. The plan is then made and
 * its kernels are built here rather than in the first run. The queue is finished because the zeros of parameters and
 * the constants must be in memory before another queue runs the session. */
static mica_status compile_now(mica_session *session) {
  mica_queue *queue = mica_engine_queue(session->engine);
  for (int32_t i = 0; i < session->input_count; i++) {
    session->shapes[i] = session->inputs[i].type.shape;
    for (int32_t d = 0; !session->inputs[i].needed && d < session->shapes[i].rank; d++)
      if (session->shapes[i].dim[d] == MICA_DYNAMIC) session->shapes[i].dim[d] = 0;
    if (mica__shape_is_open(session->shapes[i])) return session->parameter_bytes ? mica_queue_finish(queue) : MICA_OK;
  }
  MICA_TRY(mica__plan_create(session, session->shapes, &session->plans));
  session->current = session->plans;
  MICA_TRY(mica__plan_record(session, session->plans, queue));
  return mica_queue_finish(queue);
}

static mica_status check(const mica_engine *engine, const mica_graph *graph, const mica_value *outputs,
                         size_t output_count, mica_session *const *session) {
  if (!engine || !graph || !session || (output_count && !outputs))
    return mica__fail(MICA_E_INVALID, "%s: a pointer is NULL", who);
  if (mica_graph_status(graph) != MICA_OK)
    return mica__fail(mica_graph_status(graph), "%s: the graph failed: %s", who, mica_graph_message(graph));
  for (size_t i = 0; i < output_count; i++)
    if (outputs[i].graph != graph || outputs[i].id < 1 || outputs[i].id > graph->count)
      return mica__fail(MICA_E_INVALID, "%s: output %zu is %s", who, i,
                        outputs[i].graph ? "not a value of the graph" : "the null value");
  return MICA_OK;
}

mica_status mica_session_create(mica_engine *engine, mica_graph *graph, const mica_value *outputs, size_t output_count,
                                const mica_session_config *config, mica_session **out) {
  MICA_TRY(check(engine, graph, outputs, output_count, out));
  mica_session *session = calloc(1, sizeof *session);
  if (!session) return mica__fail_nomem("a session");
  session->engine = engine;
  if (config) session->config = *config;
  /* `share` and `parameters` are read only during this call. */
  session->config.share = NULL;
  session->config.parameters = NULL;
  bool scale_folding = !session->config.no_simplify && !mica__is_without(MICA__WITHOUT_SCALES);
  mica_status status = mica__template_clone(graph, outputs, output_count, scale_folding, &session->template);
  mica_dtype dtype = session->config.dtype;
  if (status == MICA_OK && dtype != MICA_F32 && dtype != MICA_F16 && dtype != MICA_BF16)
    status = mica__fail(MICA_E_DTYPE, "mica_session_create: dtype is %s, but must be f32, f16 or bf16",
                        mica_dtype_name(dtype));
  if (status == MICA_OK && dtype != MICA_F32) status = mica__template_narrow(&session->template, dtype);
  if (status == MICA_OK) status = collect_slots(session);
  if (status == MICA_OK) status = mica__session_make_parameters(session, graph, config);
  if (status == MICA_OK) status = compile_now(session);
  if (status == MICA_OK)
    *out = session;
  else
    mica_session_destroy(session);
  return status;
}

void mica_session_destroy(mica_session *session) {
  if (!session) return;
  for (mica__plan *v = session->plans, *next; v; v = next) {
    next = v->next;
    mica__plan_destroy(session, v);
  }
  for (int32_t i = 0; i < session->input_count; i++) free(session->inputs[i].name);
  for (int32_t i = 0; i < session->parameter_count; i++) {
    free(session->parameters[i].name);
    mica_tensor_destroy(session->tensors[i]);
  }
  for (int32_t i = 0; session->bound && i < session->template.output_count; i++) mica_tensor_destroy(session->bound[i]);
  mica__name_table_free(&session->input_names);
  mica__name_table_free(&session->parameter_names);
  mica__template_free(&session->template);
  void *all[] = {session->inputs, session->parameters,    session->tensors,
                 session->shapes, (void *)session->feeds, session->bound};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  free(session);
}

/* --- running --- */

static mica_status take_feed(mica_session *session, const mica_feed *feed) {
  char is[MICA__TYPE_TEXT], want[MICA__TYPE_TEXT];
  if (!feed->name || !feed->tensor)
    return mica__fail(MICA_E_INVALID, "mica_session_run: the name or the tensor of a feed is NULL");
  int32_t i = mica__name_table_find(&session->input_names, feed->name);
  if (i < 0) return mica__fail(MICA_E_NOT_FOUND, "mica_session_run: the graph has no input '%s'", feed->name);
  if (session->feeds[i]) return mica__fail(MICA_E_INVALID, "mica_session_run: input '%s' is fed twice", feed->name);
  mica__type type = {mica_tensor_dtype(feed->tensor), mica_tensor_shape(feed->tensor)};
  mica__type wanted = session->inputs[i].type;
  bool fits = mica__shape_fits(type.shape, wanted.shape);
  if (type.dtype != wanted.dtype || !fits)
    return mica__fail(type.dtype != wanted.dtype ? MICA_E_DTYPE : MICA_E_SHAPE,
                      "mica_session_run: input '%s' is %s, but was fed %s", feed->name, mica__type_format(wanted, want),
                      mica__type_format(type, is));
  if (mica_tensor_engine(feed->tensor) != session->engine)
    return mica__fail(MICA_E_INVALID, "mica_session_run: the tensor for '%s' belongs to another engine", feed->name);
  if (!mica_tensor_is_contiguous(feed->tensor))
    return mica__fail(MICA_E_INVALID, "mica_session_run: the tensor for '%s' is not contiguous", feed->name);
  session->feeds[i] = feed->tensor;
  session->shapes[i] = type.shape;
  return MICA_OK;
}

static mica_status take_feeds(mica_session *session, const mica_feed *feeds, size_t feed_count) {
  for (int32_t i = 0; i < session->input_count; i++) session->feeds[i] = NULL;
  for (size_t f = 0; f < feed_count; f++) MICA_TRY(take_feed(session, &feeds[f]));
  for (int32_t i = 0; i < session->input_count; i++) {
    const mica__slot *slot = &session->inputs[i];
    if (slot->needed && !session->feeds[i])
      return mica__fail(MICA_E_INVALID, "mica_session_run: input '%s' is not fed", slot->name);
    if (slot->needed) continue;
    /* An input that nothing reads must not cause another plan. */
    session->shapes[i] = slot->type.shape;
    for (int32_t d = 0; d < slot->type.shape.rank; d++)
      if (slot->type.shape.dim[d] == MICA_DYNAMIC) session->shapes[i].dim[d] = 0;
  }
  return MICA_OK;
}

/* Binds a feed. Kernels were chosen for aligned tensors; others are first copied to aligned memory. */
static mica_status bind_feed(mica__plan *v, mica_engine *engine, mica_queue *queue, int32_t i,
                             const mica_tensor *feed) {
  mica__plan_input *input = &v->inputs[i];
  if (!input->node) return MICA_OK;
  if (!mica__tensor_is_aligned(feed)) {
    if (!input->aligned)
      MICA_TRY(mica_tensor_create(engine, mica_tensor_dtype(feed), mica_tensor_shape(feed), &input->aligned));
    MICA_TRY(mica_op_copy(queue, feed, input->aligned));
    feed = input->aligned;
  }
  return mica__recording_bind(v->recording, input->placeholder, feed);
}

mica_status mica_session_run(mica_session *session, mica_queue *queue, const mica_feed *feeds, size_t feed_count) {
  mica__plan *v = NULL;
  if (!session || !queue || (feed_count && !feeds))
    return mica__fail(MICA_E_INVALID, "mica_session_run: a pointer is NULL");
  if (mica__queue_engine(queue) != session->engine)
    return mica__fail(MICA_E_INVALID, "mica_session_run: the queue belongs to another engine");
  MICA_TRY(take_feeds(session, feeds, feed_count));
  MICA_TRY(mica__session_check_feeds(session));
  MICA_TRY(mica__session_find_plan(session, queue, &v));
  MICA_TRY(mica__plan_check_feeds(session, v));
  for (int32_t i = 0; i < session->input_count; i++)
    if (session->feeds[i]) MICA_TRY(bind_feed(v, session->engine, queue, i, session->feeds[i]));
  MICA_TRY(mica__plan_bind_outputs(session, v));
  mica_status status = mica__plan_run(session, v, queue);
  if (status == MICA_OK) status = mica__plan_copy_outputs(session, v, queue);
  /* Only now may the previous plan be dropped, because feeds may be its outputs. */
  session->current = v;
  if (session->grown) mica__session_trim(session, v);
  return status;
}
