/* The memory that a run's outputs are written to: the plan's own, or the caller's. */
#include "compile/plan.h"
#include "runtime/tensor.h"

#include <mica/ops.h>

mica_status mica__plan_make_results(mica_session *session, mica__plan *v) {
  const mica__slabs *slabs = &v->memory.outputs;
  MICA_TRY(mica__memory_check(&v->memory, v->template.graph, session->engine, true));
  MICA_TRY(mica__slabs_allocate(slabs, session->engine, &v->results));
  for (int32_t i = 0; i < v->template.output_count; i++) {
    int32_t id = v->template.outputs[i];
    const mica__type type = mica__graph_node(v->template.graph, id)->type;
    size_t at = 0;
    mica_buffer *buffer = mica__slabs_at(slabs, v->results, v->memory.locations[id - 1].offset, &at);
    if (!v->outputs[i].own) MICA_TRY(mica_tensor_wrap(buffer, at, type.dtype, type.shape, &v->outputs[i].own));
  }
  return MICA_OK;
}

static mica_status check_bound(const mica__plan *v, int32_t i, const mica_tensor *tensor) {
  char is[MICA__TYPE_TEXT], want[MICA__TYPE_TEXT];
  mica__type type = {mica_tensor_dtype(tensor), mica_tensor_shape(tensor)};
  mica__type wanted = mica__graph_node(v->template.graph, v->template.outputs[i])->type;
  if (type.dtype == wanted.dtype && mica_shape_equal(type.shape, wanted.shape)) return MICA_OK;
  return mica__fail(type.dtype != wanted.dtype ? MICA_E_DTYPE : MICA_E_SHAPE,
                    "mica_session_run: output %d is %s, but is bound to a tensor of %s", (int)i,
                    mica__type_format(wanted, want), mica__type_format(type, is));
}

/* True if kernels write the output directly to the caller's tensor. */
static bool goes_to_the_caller(const mica_session *session, int32_t i) {
  return session->bound[i] && mica__tensor_is_aligned(session->bound[i]);
}

mica_status mica__plan_bind_outputs(mica_session *session, mica__plan *v) {
  for (int32_t i = 0; i < v->template.output_count; i++) {
    mica__plan_output *output = &v->outputs[i];
    bool given = goes_to_the_caller(session, i);
    if (session->bound[i]) MICA_TRY(check_bound(v, i, session->bound[i]));
    if (!given && !output->own) MICA_TRY(mica__plan_make_results(session, v));
    const mica_tensor *at = given ? session->bound[i] : output->own;
    if (output->at == at) continue;
    output->at = NULL; /* unknown while only some of the launches are bound to the new memory */
    MICA_TRY(mica__recording_bind(v->recording, output->placeholder, at));
    output->at = at;
  }
  return MICA_OK;
}

mica_status mica__plan_copy_outputs(const mica_session *session, const mica__plan *v, mica_queue *queue) {
  for (int32_t i = 0; i < v->template.output_count; i++)
    if (session->bound[i] && !goes_to_the_caller(session, i))
      MICA_TRY(mica_op_copy(queue, v->outputs[i].own, session->bound[i]));
  return MICA_OK;
}

/* Checks the tensor against the output's declared type, whose open dimensions may have any extent. */
static mica_status check_type(const mica_session *session, const char *call, size_t index, const mica_tensor *tensor) {
  char is[MICA__TYPE_TEXT], want[MICA__TYPE_TEXT];
  mica__type type = {mica_tensor_dtype(tensor), mica_tensor_shape(tensor)};
  mica__type wanted = mica__graph_node(session->template.graph, session->template.outputs[index])->type;
  if (type.dtype == wanted.dtype && mica__shape_fits(type.shape, wanted.shape)) return MICA_OK;
  return mica__fail(type.dtype != wanted.dtype ? MICA_E_DTYPE : MICA_E_SHAPE,
                    "%s: output %zu is %s, but the tensor to bind is %s", call, index, mica__type_format(wanted, want),
                    mica__type_format(type, is));
}

/* MICA_E_INVALID if the tensor for output `index` overlaps another bound output or a parameter. */
static mica_status check_overlaps(const mica_session *session, const char *call, size_t index,
                                  const mica_tensor *tensor) {
  for (int32_t i = 0; i < session->template.output_count; i++)
    if ((size_t)i != index && session->bound[i] && mica__tensor_overlaps(tensor, session->bound[i]))
      return mica__fail(MICA_E_INVALID, "%s: the tensor for output %zu overlaps that of output %d", call, index,
                        (int)i);
  for (int32_t i = 0; i < session->parameter_count; i++)
    if (mica__tensor_overlaps(tensor, session->tensors[i]))
      return mica__fail(MICA_E_INVALID, "%s: the tensor for output %zu overlaps the parameter '%s'", call, index,
                        session->parameters[i].name);
  return MICA_OK;
}

void mica__session_allow_in_place(mica_session *session) { session->in_place = true; }

mica_status mica__session_check_feeds(const mica_session *session) {
  for (int32_t i = 0; i < session->template.output_count; i++)
    for (int32_t k = 0; session->bound[i] && k < session->input_count; k++) {
      const mica_tensor *feed = session->feeds[k], *bound = session->bound[i];
      if (!feed || !mica__tensor_overlaps(feed, bound)) continue;
      if (!session->in_place || !mica__tensor_is_same(feed, bound))
        return mica__fail(MICA_E_INVALID, "mica_session_run: the tensor for '%s' overlaps that of output %d",
                          session->inputs[k].name, (int)i);
    }
  return MICA_OK;
}

mica_status mica__plan_check_feeds(const mica_session *session, const mica__plan *v) {
  for (int32_t k = 0; k < session->input_count; k++) {
    const mica_tensor *feed = session->feeds[k];
    for (int32_t i = 0; feed && i < v->template.output_count; i++)
      if (!goes_to_the_caller(session, i) && v->outputs[i].own && mica__tensor_overlaps(feed, v->outputs[i].own))
        return mica__fail(MICA_E_INVALID,
                          "mica_session_run: the tensor for '%s' is output %d, which the run overwrites; copy it, or "
                          "bind the output to another tensor",
                          session->inputs[k].name, (int)i);
    for (int32_t i = 0; feed && i < session->parameter_count; i++)
      if (session->parameters[i].assigned && mica__tensor_overlaps(feed, session->tensors[i]))
        return mica__fail(MICA_E_INVALID,
                          "mica_session_run: the tensor for '%s' overlaps the parameter '%s', which the run assigns",
                          session->inputs[k].name, session->parameters[i].name);
  }
  return MICA_OK;
}

mica_status mica_session_bind_output(mica_session *session, size_t index, mica_tensor *tensor) {
  static const char *const call = "mica_session_bind_output";
  mica_tensor *handle = NULL;
  if (!session) return mica__fail(MICA_E_INVALID, "%s: session is NULL", call);
  if (index >= (size_t)session->template.output_count)
    return mica__fail(MICA_E_NOT_FOUND, "%s: the session has no output %zu; it has %d, numbered from 0", call, index,
                      (int)session->template.output_count);
  if (tensor && mica_tensor_engine(tensor) != session->engine)
    return mica__fail(MICA_E_INVALID, "%s: the tensor for output %zu belongs to another engine", call, index);
  if (tensor && !mica_tensor_is_contiguous(tensor))
    return mica__fail(MICA_E_INVALID, "%s: the tensor for output %zu is not contiguous", call, index);
  if (tensor) MICA_TRY(mica__tensor_check_writable(tensor, call, "the output"));
  if (tensor) MICA_TRY(check_type(session, call, index, tensor));
  if (tensor) MICA_TRY(check_overlaps(session, call, index, tensor));
  if (tensor) MICA_TRY(mica_tensor_view(tensor, mica_tensor_shape(tensor), NULL, 0, &handle));
  mica_tensor_destroy(session->bound[index]);
  session->bound[index] = handle;
  /* Makes the next run bind the output again, because the new handle may have the same address as the old one. */
  for (mica__plan *v = session->plans; v; v = v->next)
    if (v->outputs) v->outputs[index].at = NULL;
  return MICA_OK;
}

const mica_tensor *mica_session_output(const mica_session *session, size_t index) {
  const mica__plan *v = session ? session->current : NULL;
  if (!v || !v->outputs || index >= (size_t)v->template.output_count) return NULL;
  return session->bound[index] ? session->bound[index] : v->outputs[index].own;
}
