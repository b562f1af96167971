/* The plans that a session keeps: a list within limits, the most recently used plan first. */
#include "compile/plan.h"

#define MOST_PLANS 64
#define SHARE_OF_MEMORY 2 /* plans take at most 1 / SHARE_OF_MEMORY of the device's memory */

static bool has_shapes(const mica_session *session, const mica__plan *v) {
  for (int32_t i = 0; i < session->input_count; i++)
    if (!mica_shape_equal(v->shapes[i], session->shapes[i])) return false;
  return true;
}

/* Bytes of the plan's arena, without slabs that it shares with an earlier plan of the list. Slabs that are not
 * allocated yet count with their planned size. */
static uint64_t arena_bytes(const mica_session *session, const mica__plan *v) {
  uint64_t bytes = 0;
  if (!v->arena) return mica__slabs_total(&v->memory.arena);
  for (size_t i = 0; i < v->memory.arena.count; i++) {
    const mica__plan *other = session->plans;
    while (other != v && mica__slabs_find(&other->memory.arena, other->arena, v->arena[i]) < 0) other = other->next;
    if (other == v) bytes += v->arena[i] ? mica_buffer_bytes(v->arena[i]) : v->memory.arena.bytes[i];
  }
  return bytes;
}

/* Bytes that the plan holds, without those that its prologue fills. */
static uint64_t bytes_of(const mica_session *session, const mica__plan *v) {
  uint64_t bytes = (uint64_t)mica__slabs_total(&v->memory.constants) + mica__slabs_total(&v->memory.outputs);
  bytes += arena_bytes(session, v);
  for (int32_t i = 0; i < session->input_count; i++)
    if (v->inputs[i].aligned) bytes += mica_tensor_bytes(v->inputs[i].aligned);
  if (v->recording) bytes += mica__recording_workspace(v->recording) + mica__recording_workspace(v->prologue);
  return bytes;
}

/* Bytes that the plan's prologue fills, without those already counted for an earlier plan. */
static uint64_t count_derived(const mica__plan *v) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < v->part_count; i++) bytes += mica__derived_count(v->parts[i].derived);
  return bytes;
}

uint64_t mica__plan_derived_bytes(const mica_session *session, const mica__plan *v) {
  mica__derived_count_begin(session->engine);
  return count_derived(v);
}

uint64_t mica__session_plan_bytes(const mica_session *session) {
  uint64_t bytes = 0;
  mica__derived_count_begin(session->engine);
  for (const mica__plan *v = session->plans; v; v = v->next) bytes += bytes_of(session, v) + count_derived(v);
  return bytes;
}

/* True if there are too many plans, or if they hold too many bytes. Bytes that the first plan's prologue fills do not
 * count, because dropping other plans cannot free them. */
static bool is_too_much(const mica_session *session) {
  uint64_t most = session->config.most_plan_bytes, count = 0;
  if (!most) most = mica_engine_device(session->engine)->global_bytes / SHARE_OF_MEMORY;
  for (const mica__plan *v = session->plans; v; v = v->next) count++;
  bool many = count > (session->config.most_plans ? session->config.most_plans : MOST_PLANS);
  /* The first plan is never dropped, so what its prologue fills is never freed. */
  uint64_t stays = session->plans ? mica__plan_derived_bytes(session, session->plans) : 0;
  return many || mica__session_plan_bytes(session) - stays > most;
}

void mica__session_trim(mica_session *session, const mica__plan *keep) {
  session->grown = false;
  while (session->plans && is_too_much(session)) {
    mica__plan **last = NULL;
    for (mica__plan **at = &session->plans->next; *at; at = &(*at)->next)
      if (*at != keep) last = at;
    if (!last) return;
    mica__plan *v = *last;
    *last = v->next;
    /* Launches in flight retain their kernels, and the memory they use is not reused before they are done. */
    mica__plan_destroy(session, v);
  }
}

mica_status mica__session_find_plan(mica_session *session, mica_queue *queue, mica__plan **out) {
  mica__plan **at = &session->plans, *v = NULL;
  while (*at && !has_shapes(session, *at)) at = &(*at)->next;
  if (*at) {
    v = *at;
    *at = v->next;
  } else {
    MICA_TRY(mica__plan_create(session, session->shapes, &v));
  }
  v->next = session->plans;
  session->plans = v;
  if (!v->recording) {
    mica__session_trim(session, session->current);
    session->grown = true;
    MICA_TRY(mica__plan_record(session, v, queue));
  }
  *out = v;
  return MICA_OK;
}
