/* The memory of a session's parameters: its own, another session's or the caller's. */
#include "compile/plan.h"
#include "runtime/tensor.h"

#include <mica/ops.h>
#include <stdlib.h>

/* Checks that the tensor can be the memory of parameter i. */
static mica_status check_tensor(const mica_session *session, const char *call, int32_t i, const mica_tensor *tensor) {
  char is[MICA__TYPE_TEXT], want[MICA__TYPE_TEXT];
  const mica__slot *slot = &session->parameters[i];
  mica__type type = {mica_tensor_dtype(tensor), mica_tensor_shape(tensor)};
  if (mica_tensor_engine(tensor) != session->engine)
    return mica__fail(MICA_E_INVALID, "%s: the tensor for '%s' belongs to another engine", call, slot->name);
  if (type.dtype != slot->type.dtype || !mica_shape_equal(type.shape, slot->type.shape))
    return mica__fail(type.dtype != slot->type.dtype ? MICA_E_DTYPE : MICA_E_SHAPE,
                      "%s: the tensor for '%s' is %s, but the parameter is %s", call, slot->name,
                      mica__type_format(type, is), mica__type_format(slot->type, want));
  if (slot->assigned) MICA_TRY(mica__tensor_check_writable(tensor, call, slot->name));
  if (!mica_tensor_is_contiguous(tensor))
    return mica__fail(MICA_E_INVALID, "%s: the tensor for '%s' is not contiguous", call, slot->name);
  const mica__node *node = mica__graph_node(session->template.graph, slot->node);
  const bool anywhere = mica__is_held(node) && type.dtype == MICA_U8;
  if (!anywhere && !mica__tensor_is_aligned(tensor))
    return mica__fail(MICA_E_INVALID, "%s: the tensor for '%s' does not begin at a multiple of %d bytes", call,
                      slot->name, MICA__TENSOR_ALIGNMENT);
  return MICA_OK;
}

/* Fails if the tensor shares memory with another parameter or an output. */
static mica_status check_overlaps(const mica_session *session, const char *call, int32_t i, const mica_tensor *tensor) {
  for (int32_t k = 0; k < session->parameter_count; k++)
    if (k != i && session->tensors[k] && mica__tensor_overlaps(tensor, session->tensors[k]))
      return mica__fail(MICA_E_INVALID, "%s: the tensor for '%s' overlaps that of '%s'", call,
                        session->parameters[i].name, session->parameters[k].name);
  for (int32_t k = 0; k < session->template.output_count; k++)
    if (session->bound[k] && mica__tensor_overlaps(tensor, session->bound[k]))
      return mica__fail(MICA_E_INVALID, "%s: the tensor for '%s' overlaps that of output %d", call,
                        session->parameters[i].name, (int)k);
  return MICA_OK;
}

/* Replaces the session's handle for parameter i by one on the tensor's memory. */
static mica_status use_tensor(mica_session *session, int32_t i, const mica_tensor *tensor) {
  mica_tensor *handle = NULL;
  MICA_TRY(mica_tensor_view(tensor, mica_tensor_shape(tensor), NULL, 0, &handle));
  mica_tensor_destroy(session->tensors[i]);
  session->tensors[i] = handle;
  return MICA_OK;
}

static bool is_parameter(const mica_graph *graph, const char *name) {
  int32_t id = mica__name_table_find(&graph->names, name);
  return id > 0 && mica__graph_node(graph, id)->op == &mica__op_parameter;
}

/* Takes bindings first, then the other session's parameters. given[i] becomes true for parameters that a binding
 * named. */
static mica_status take_given(mica_session *session, const mica_graph *graph, const mica_session_config *config,
                              bool *given) {
  static const char *const call = "mica_session_create";
  if (config->parameter_count && !config->parameters)
    return mica__fail(MICA_E_INVALID, "%s: config.parameters is NULL", call);
  for (size_t b = 0; b < config->parameter_count; b++) {
    const mica_binding *binding = &config->parameters[b];
    if (!binding->name) return mica__fail(MICA_E_INVALID, "%s: binding %zu has no name", call, b);
    int32_t i = mica__name_table_find(&session->parameter_names, binding->name);
    if (i < 0 && is_parameter(graph, binding->name)) continue;
    if (i < 0) return mica__fail(MICA_E_NOT_FOUND, "%s: the graph has no parameter '%s'", call, binding->name);
    if (given[i]) return mica__fail(MICA_E_INVALID, "%s: parameter '%s' is given twice", call, binding->name);
    given[i] = true;
    if (!binding->tensor) continue;
    MICA_TRY(check_tensor(session, call, i, binding->tensor));
    MICA_TRY(check_overlaps(session, call, i, binding->tensor));
    MICA_TRY(use_tensor(session, i, binding->tensor));
  }
  if (config->share && config->share->engine != session->engine)
    return mica__fail(MICA_E_INVALID, "%s: the session to share parameters with belongs to another engine", call);
  for (int32_t i = 0; config->share && i < session->parameter_count; i++) {
    const mica_tensor *tensor = mica_session_parameter(config->share, session->parameters[i].name);
    if (given[i] || !tensor) continue;
    MICA_TRY(check_tensor(session, call, i, tensor));
    if (config->parameter_count) MICA_TRY(check_overlaps(session, call, i, tensor));
    MICA_TRY(use_tensor(session, i, tensor));
  }
  return MICA_OK;
}

static mica_status fill_zero(mica_engine *engine, mica_buffer *buffer, size_t bytes) {
  mica_tensor *all = NULL;
  MICA_TRY(mica_tensor_wrap(buffer, 0, MICA_U8, MICA_SHAPE((int64_t)bytes), &all));
  mica_status status = mica_op_fill(mica_engine_queue(engine), 0, all);
  mica_tensor_destroy(all);
  return status;
}

static mica_status append(mica__slabs *slabs, const mica_session *session, int32_t i, size_t *offset) {
  const mica__slot *slot = &session->parameters[i];
  size_t bytes = mica__node_bytes(mica__graph_node(session->template.graph, slot->node));
  const mica_device_info *device = mica_engine_device(session->engine);
  if (bytes <= slabs->step) return mica__slabs_append(slabs, bytes, offset);
  return mica__fail(MICA_E_DEVICE_MEMORY,
                    "the parameter '%s' has %zu bytes, more than the %zu bytes of the largest buffer of %s", slot->name,
                    bytes, slabs->step, device->name);
}

/* Makes zeroed memory for the parameters marked in own[]: if `assigned`, for those that runs assign, otherwise for the
 * others. The two groups have separate buffers, because changes are counted for a buffer as a whole
 * (mica__tensor_changes). */
static mica_status make_own(mica_session *session, bool assigned, const bool *own) {
  mica__slabs slabs = mica__slabs_of(session->engine);
  mica__slab_buffers memory = NULL;
  size_t *offsets = calloc((size_t)session->parameter_count + 1, sizeof *offsets);
  mica_status status = offsets ? MICA_OK : mica__fail_nomem("a session");
  for (int32_t i = 0; status == MICA_OK && i < session->parameter_count; i++)
    if (own[i] && session->parameters[i].assigned == assigned) status = append(&slabs, session, i, &offsets[i]);
  if (status == MICA_OK) status = mica__slabs_allocate(&slabs, session->engine, &memory);
  for (int32_t i = 0; status == MICA_OK && i < session->parameter_count; i++) {
    const mica__type type = mica__graph_node(session->template.graph, session->parameters[i].node)->type;
    size_t at = 0;
    if (!own[i] || session->parameters[i].assigned != assigned) continue;
    mica_buffer *buffer = mica__slabs_at(&slabs, memory, offsets[i], &at);
    status = mica_tensor_wrap(buffer, at, type.dtype, type.shape, &session->tensors[i]);
  }
  for (size_t i = 0; status == MICA_OK && i < slabs.count; i++)
    status = fill_zero(session->engine, memory[i], slabs.bytes[i]);
  session->parameter_bytes += mica__slabs_total(&slabs);
  mica__slabs_release(&slabs, memory);
  mica__slabs_free(&slabs);
  free(offsets);
  return status;
}

mica_status mica__session_make_parameters(mica_session *session, const mica_graph *graph,
                                          const mica_session_config *config) {
  bool *marks = calloc((size_t)session->parameter_count + 1, sizeof *marks);
  mica_status status = marks ? MICA_OK : mica__fail_nomem("a session");
  if (status == MICA_OK && config) status = take_given(session, graph, config, marks);
  for (int32_t i = 0; marks && i < session->parameter_count; i++) marks[i] = !session->tensors[i];
  if (status == MICA_OK) status = make_own(session, false, marks);
  if (status == MICA_OK) status = make_own(session, true, marks);
  free(marks);
  return status;
}

mica_tensor *mica_session_parameter(mica_session *session, const char *name) {
  int32_t i = session && name ? mica__name_table_find(&session->parameter_names, name) : -1;
  return i < 0 ? NULL : session->tensors[i];
}

mica_status mica_session_share(mica_session *session, const char *name, mica_tensor *tensor) {
  static const char *const call = "mica_session_share";
  if (!session || !name || !tensor) return mica__fail(MICA_E_INVALID, "%s: a pointer is NULL", call);
  int32_t i = mica__name_table_find(&session->parameter_names, name);
  if (i < 0) return mica__fail(MICA_E_NOT_FOUND, "%s: the session has no parameter '%s'", call, name);
  MICA_TRY(check_tensor(session, call, i, tensor));
  MICA_TRY(check_overlaps(session, call, i, tensor));
  MICA_TRY(use_tensor(session, i, tensor));
  for (mica__plan *v = session->plans; v; v = v->next) mica__plan_forget(v);
  return MICA_OK;
}
