#include "base/hash.h"
#include "compile/recorder.h"
#include "runtime/buffer.h"
#include "runtime/tensor.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A part of the prologue while its key is computed: the placeholders that its launches fill, and the buffers that they
 * read. */
typedef struct making {
  mica__recorder *r;
  const mica__step *step;
  mica_buffer **made; /* placeholders of the step's results, then those of workspaces */
  size_t made_count;
  /* sources: the parameters that the launches read, directly or through earlier parts of the prologue; scratch:
   * temporary buffers of ops, in the order of the launches. No other buffers are in either list. */
  mica_buffer **sources, **scratch;
  size_t source_count, scratch_count;
  mica__hash key;
  bool unique; /* an input cannot be identified, so no other part may have the same key */
} making;

void mica__prologue_begin(mica__recorder *r, const mica__step *step, mica__recorder_mark *from) {
  *from = mica__recorder_position(r->prologue);
  if (!step->invariant) mica__recorder_keep(r->prologue);
}

static void hash(making *p, const void *data, size_t bytes) { p->key = mica__hash_bytes(p->key, data, bytes); }

/* The index of the buffer in a list; adds it if it is missing. -1 if memory is short. */
static int64_t index_in(mica_buffer ***list, size_t *count, mica_buffer *buffer) {
  for (size_t i = 0; i < *count; i++)
    if ((*list)[i] == buffer) return (int64_t)i;
  mica_buffer **grown = realloc(*list, (*count + 1) * sizeof *grown);
  if (!grown) return -1;
  *list = grown;
  grown[*count] = buffer;
  return (int64_t)(*count)++;
}

static mica_status add_source(making *p, mica_buffer *buffer) {
  return index_in(&p->sources, &p->source_count, buffer) < 0 ? mica__fail_nomem("a session") : MICA_OK;
}

static bool is_parameter(const making *p, const mica_buffer *buffer) {
  const mica_session *session = p->r->session;
  for (int32_t i = 0; i < session->parameter_count; i++)
    if (!session->parameters[i].assigned && mica__tensor_buffer(session->tensors[i]) == buffer) return true;
  return false;
}

/* Looks among the constants that the step reads for the one that contains element *first of a constant slab. If there
 * is one, hashes its content, makes *first an index within the constant and returns true. Otherwise returns false. */
static bool hash_constant(making *p, size_t slab, int64_t *first) {
  const mica__plan *v = p->r->v;
  for (int32_t i = 0; i < p->step->read_count; i++) {
    int32_t id = p->step->reads[i];
    const mica__node *node = mica__graph_node(v->template.graph, id);
    const mica__location *location = &v->memory.locations[id - 1];
    size_t step = v->memory.constants.step;
    int64_t begin = (int64_t)(location->offset % step / mica_dtype_size(node->type.dtype));
    if (location->home != MICA__HOME_CONSTANT || location->offset / step != slab || *first < begin ||
        *first >= begin + mica__node_count(node))
      continue;
    hash(p, &node->type.dtype, sizeof node->type.dtype);
    if (node->op == &mica__op_full) {
      double value = mica__full_value(node);
      hash(p, &value, sizeof value);
    } else {
      hash(p, node->data, mica__node_bytes(node));
    }
    *first -= begin;
    return true;
  }
  return false;
}

/* Hashes a buffer of a launch, and adds it to the sources or to `scratch`. `first` is the first element that the launch
 * uses. For a buffer of constants, the content and the position within the constant are hashed, and *at_first becomes
 * true: the caller must not hash the position in the buffer. */
static mica_status hash_buffer(making *p, mica_buffer *buffer, int64_t first, bool *at_first) {
  const mica__plan *v = p->r->v;
  int64_t constants = mica__slabs_find(&v->memory.constants, v->constants, buffer);
  char kind = 0;
  for (size_t i = 0; buffer && i < p->made_count; i++)
    if (p->made[i] == buffer) {
      hash(p, "made", 4);
      hash(p, &i, sizeof i);
      return MICA_OK;
    }
  for (size_t i = p->r->given_count; buffer && i-- > 0;) {
    const mica__given *given = &p->r->given[i];
    if (given->placeholder != buffer) continue;
    const mica__derived *derived = v->parts[given->part].derived;
    mica__hash key = mica__derived_key(derived);
    size_t count = 0;
    mica_buffer *const *sources = mica__derived_sources(derived, &count);
    hash(p, &key, sizeof key);
    hash(p, &given->index, sizeof given->index);
    for (size_t s = 0; s < count; s++) MICA_TRY(add_source(p, sources[s]));
    return MICA_OK;
  }
  if (!buffer) {
    hash(p, "none", 4);
  } else if (is_parameter(p, buffer)) {
    hash(p, &buffer, sizeof buffer);
    return add_source(p, buffer);
  } else if (constants >= 0) {
    *at_first = true;
    kind = hash_constant(p, (size_t)constants, &first) ? 'c' : 0;
    if (!kind) p->unique = true;
    hash(p, &first, sizeof first);
  } else if (mica__slabs_find(&v->memory.arena, v->arena, buffer) >= 0) {
    p->unique = true;
  } else {
    int64_t index = index_in(&p->scratch, &p->scratch_count, buffer);
    if (index < 0) return mica__fail_nomem("a session");
    hash(p, "scratch", 7);
    hash(p, &index, sizeof index);
  }
  return MICA_OK;
}

static mica_status hash_launch(making *p, const mica__launch *launch) {
  bool skip[MICA__MAX_ARGS > MICA__MAX_PACKED ? MICA__MAX_ARGS : MICA__MAX_PACKED] = {false};
  hash(p, &launch->kernel, sizeof launch->kernel);
  hash(p, launch->global, launch->dims * sizeof *launch->global);
  hash(p, launch->local, launch->dims * sizeof *launch->local);
  for (uint32_t a = 0; a < launch->arg_count; a++) {
    const mica__arg *arg = &launch->args[a];
    if (arg->kind != MICA__ARG_BUFFER) continue;
    int64_t first = launch->is_packed ? launch->packed[arg->first] : launch->args[arg->first].value.i64;
    MICA_TRY(hash_buffer(p, arg->value.buffer, first, &skip[arg->first]));
  }
  for (uint32_t a = 0; a < launch->arg_count; a++) {
    const mica__arg *arg = &launch->args[a];
    if (arg->kind == MICA__ARG_LOCAL) hash(p, &arg->size, sizeof arg->size);
    if (arg->kind == MICA__ARG_BYTES && !(skip[a] && !launch->is_packed)) hash(p, &arg->value, arg->size);
  }
  for (uint32_t i = 0; launch->is_packed && i < launch->packed_count; i++)
    if (!skip[i]) hash(p, &launch->packed[i], sizeof launch->packed[i]);
  return MICA_OK;
}

/* Computes the key. It is unique if the part contains host steps, or something that cannot be identified. */
static mica_status find_key(making *p, mica__recorder_mark from, mica__recorder_mark to) {
  static _Atomic uint64_t unique;
  p->unique = to.host_entries > from.host_entries;
  for (size_t i = from.launches; i < to.launches; i++)
    MICA_TRY(hash_launch(p, mica__recorder_launch(p->r->prologue, i)));
  for (size_t i = 0; i < p->made_count; i++) {
    size_t bytes = mica_buffer_bytes(p->made[i]);
    hash(p, &bytes, sizeof bytes);
  }
  uint64_t number = p->unique ? atomic_fetch_add(&unique, 1) + 1 : 0;
  hash(p, &number, sizeof number);
  return MICA_OK;
}

/* Adds the parameters that the step reads, directly or through earlier parts of the prologue, to the sources. A host
 * step needs this because its operands are in no launch. */
static mica_status add_sources_of_reads(making *p) {
  const mica__plan *v = p->r->v;
  for (int32_t i = 0; i < p->step->read_count; i++) {
    int32_t id = p->step->reads[i];
    const mica__location *location = &v->memory.locations[id - 1];
    bool at_first = false;
    mica_buffer *buffer = NULL;
    if (location->home == MICA__HOME_PARAMETER)
      buffer = mica__tensor_buffer(p->r->session->tensors[v->parameters[location->node - 1]]);
    if (location->home == MICA__HOME_DERIVED) buffer = p->r->derived[id - 1];
    if (buffer) MICA_TRY(hash_buffer(p, buffer, 0, &at_first));
  }
  return MICA_OK;
}

static mica_status add_part(making *p, mica__recorder_mark from, mica__recorder_mark to) {
  mica__plan *v = p->r->v;
  size_t *bytes = calloc(p->made_count + 1, sizeof *bytes);
  mica__plan_part *parts = realloc(v->parts, (v->part_count + 1) * sizeof *parts);
  if (parts) v->parts = parts;
  mica__given *given = realloc(p->r->given, (p->r->given_count + p->made_count + 1) * sizeof *given);
  if (given) p->r->given = given;
  mica_status status = bytes && parts && given ? MICA_OK : mica__fail_nomem("a session");
  for (size_t i = 0; bytes && i < p->made_count; i++) bytes[i] = mica_buffer_bytes(p->made[i]);
  mica__derived *derived = NULL;
  if (status == MICA_OK)
    status = mica__derived_get(p->r->session->engine,
                               &(mica__derived_desc){.key = p->key,
                                                     .bytes = bytes,
                                                     .count = p->made_count,
                                                     .sources = p->sources,
                                                     .source_count = p->source_count},
                               &derived);
  if (status == MICA_OK) {
    for (size_t i = 0; i < p->made_count; i++) {
      mica__buffer_retain(p->made[i]);
      p->r->given[p->r->given_count++] = (mica__given){p->made[i], v->part_count, i};
    }
    v->parts[v->part_count++] = (mica__plan_part){from, to, derived};
  }
  free(bytes);
  return status;
}

/* Lists the placeholders of an invariant step's results. */
static mica_status list_results(making *p) {
  int32_t count = p->step->fused ? p->step->fused->operand_count : p->step->count;
  for (int32_t k = 0; p->step->invariant && k < count; k++) {
    int32_t id = (p->step->fused ? p->step->operands : p->step->members)[k];
    if (!(p->step->stores >> k & 1) || !p->r->derived[id - 1]) continue;
    if (index_in(&p->made, &p->made_count, p->r->derived[id - 1]) < 0) return mica__fail_nomem("a session");
  }
  return MICA_OK;
}

mica_status mica__prologue_end(mica__recorder *r, const mica__step *step, mica__recorder_mark from) {
  making p = {.r = r, .step = step};
  mica_buffer **kept = NULL;
  size_t kept_count = 0;
  mica__recorder_kept(r->prologue, &kept, &kept_count);
  mica__recorder_mark to = mica__recorder_position(r->prologue);
  bool any = to.launches > from.launches || to.host_entries > from.host_entries;
  mica_status status = any ? list_results(&p) : MICA_OK;
  for (size_t i = 0; status == MICA_OK && any && i < kept_count; i++)
    if (index_in(&p.made, &p.made_count, kept[i]) < 0) status = mica__fail_nomem("a session");
  if (status == MICA_OK && any) status = find_key(&p, from, to);
  if (status == MICA_OK && any && p.unique) status = add_sources_of_reads(&p);
  if (status == MICA_OK && any) status = add_part(&p, from, to);
  for (size_t i = 0; i < kept_count; i++) mica_buffer_destroy(kept[i]);
  free(kept);
  free(p.made);
  free(p.sources);
  free(p.scratch);
  return status;
}

mica_status mica__prologue_give(mica__recorder *r) {
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < r->given_count; i++) {
    const mica__given *given = &r->given[i];
    mica_buffer *buffer = mica__derived_buffer(r->v->parts[given->part].derived, given->index);
    status = mica__recording_give(r->v->prologue, given->placeholder, buffer);
    if (status == MICA_OK) status = mica__recording_give(r->v->recording, given->placeholder, buffer);
  }
  return status;
}

/* --- running --- */

/* The sum of the change counts of all parameters that no run assigns. Counts only grow, so an unchanged sum means that
 * none of these parameters has changed. */
static uint64_t parameter_changes(const mica_session *session) {
  uint64_t changes = 0;
  for (int32_t i = 0; i < session->parameter_count; i++)
    if (!session->parameters[i].assigned) changes += mica__tensor_changes(session->tensors[i]);
  return changes;
}

static mica_status run_part(mica__plan *v, const mica__plan_part *part, mica_queue *queue) {
  if (!mica__derived_is_stale(part->derived)) return mica__derived_wait(part->derived, queue);
  MICA_TRY(mica__recording_replay_part(v->prologue, queue, part->from, part->to));
  return mica__derived_made(part->derived, queue);
}

mica_status mica__plan_run_prologue(mica_session *session, mica__plan *v, mica_queue *queue) {
  if (v->part_count == 0) return MICA_OK;
  uint64_t changes = parameter_changes(session);
  if (changes == v->changes && v->prologue_queue == mica__queue_id(queue)) return MICA_OK;
  mica_status status = MICA_OK;
  mica__derived_lock(session->engine);
  for (size_t i = 0; status == MICA_OK && i < v->part_count; i++) status = run_part(v, &v->parts[i], queue);
  mica__derived_unlock(session->engine);
  if (status != MICA_OK) return status;
  v->changes = changes;
  v->prologue_queue = mica__queue_id(queue);
  return MICA_OK;
}
