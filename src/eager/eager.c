#include "eager/eager.h"

#include "base/hash.h"
#include "compile/plan.h"
#include "ops/common/operand.h"
#include "runtime/attachment.h"
#include "runtime/launch.h"

#include <mica/nodes.h>
#include <mica/session.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Sessions kept per engine. A network's step makes only a few dozen different calls. A session of such a small graph
 * holds little more than its launches, so 64 of them need little memory. */
#define MOST_ENTRIES 64
#define TENSORS (MICA__EAGER_OPERANDS + MICA__EAGER_RESULTS)
#define KEY_WORDS (2 + TENSORS * (2 + MICA_MAX_RANK))

/* All that a session depends on besides the call's attributes. The queue is included because a session's temporaries
 * serve only one queue. */
typedef struct key {
  size_t count;
  uint64_t words[KEY_WORDS];
} key;

typedef struct entry {
  struct entry *next; /* the next entry in order of last use */
  mica__hash hash;
  key key;
  void *attrs; /* a copy of the call's attrs */
  mica_session *session;
} entry;

typedef struct cache {
  pthread_mutex_t lock;
  entry *first; /* the most recently used one */
} cache;

static mica_status cache_make(void **object) {
  cache *c = calloc(1, sizeof *c);
  if (!c || pthread_mutex_init(&c->lock, NULL)) {
    free(c);
    return mica__fail_nomem("a cache of sessions");
  }
  *object = c;
  return MICA_OK;
}

static void entry_free(entry *e) {
  mica_session_destroy(e->session);
  free(e->attrs);
  free(e);
}

static void cache_destroy(void *object) {
  cache *c = object;
  for (entry *e = c->first, *next; e; e = next) {
    next = e->next;
    entry_free(e);
  }
  pthread_mutex_destroy(&c->lock);
  free(c);
}

/* --- keys --- */

static void add_tensors(key *k, const mica__eager_tensor *list) {
  for (; list->name; list++) {
    k->words[k->count++] = list->tensor ? 1 + (uint64_t)mica_tensor_dtype(list->tensor) : 0;
    if (!list->tensor) continue;
    mica_shape shape = mica_tensor_shape(list->tensor);
    k->words[k->count++] = (uint64_t)shape.rank;
    for (int32_t d = 0; d < shape.rank; d++) k->words[k->count++] = (uint64_t)shape.dim[d];
  }
}

static key key_of(const mica_queue *queue, const mica__eager_call *call) {
  key k = {.words = {(uint64_t)(uintptr_t)queue, (uint64_t)(uintptr_t)call->op}, .count = 2};
  add_tensors(&k, call->in);
  add_tensors(&k, call->out);
  return k;
}

/* True if the entry is for this call. The keys contain the op, and all calls of an op use the same table of attributes.
 * So if the keys are equal, e->attrs has the layout of call->attr_list. */
static bool is_entry_of(const entry *e, const key *k, const mica__eager_call *call) {
  return e->key.count == k->count && !memcmp(e->key.words, k->words, k->count * sizeof *k->words) &&
         mica__attrs_equal(call->attr_list, e->attrs, call->attrs);
}

/* The entry of a call, moved to the front; NULL if it does not exist. */
static entry *find(cache *c, const key *k, const mica__eager_call *call, mica__hash hash) {
  for (entry **at = &c->first; *at; at = &(*at)->next) {
    entry *e = *at;
    if (!mica__hash_equal(e->hash, hash) || !is_entry_of(e, k, call)) continue;
    *at = e->next;
    e->next = c->first;
    return c->first = e;
  }
  return NULL;
}

static void forget_oldest(cache *c) {
  entry **at = &c->first;
  for (int i = 0; *at && i < MOST_ENTRIES; i++) at = &(*at)->next;
  if (!*at) return;
  entry_free(*at); /* the last of the list, because entries are added one at a time */
  *at = NULL;
}

/* --- sessions --- */

static mica_status check_result(const mica__eager_call *call, const mica__eager_tensor *result, mica_value value) {
  char want[MICA_SHAPE_TEXT], is[MICA_SHAPE_TEXT];
  mica_dtype dtype = mica_tensor_dtype(result->tensor), wanted = mica_value_dtype(value);
  mica_shape shape = mica_tensor_shape(result->tensor);
  bool same_shape = mica_shape_equal(shape, mica_value_shape(value));
  if (dtype == wanted && same_shape) return MICA_OK;
  return mica__fail(same_shape ? MICA_E_DTYPE : MICA_E_SHAPE, "%s: %s is %s %s, but must be %s %s", call->op,
                    result->name, mica_dtype_name(dtype), mica_shape_format(shape, is), mica_dtype_name(wanted),
                    mica_shape_format(mica_value_shape(value), want));
}

/* Computes the results of a backward pass, as described at mica__eager_call. */
static mica_status differentiate(const mica__eager_call *call, mica_graph *graph, mica_value *in, mica_value *out) {
  mica_value y[MICA__EAGER_RESULTS] = {{0}}, wrt[MICA__EAGER_RESULTS], grads[MICA__EAGER_RESULTS];
  size_t count = 0, last = 0;
  while (call->in[last + 1].name) last++;
  for (size_t i = 0; call->out[i].name; i++) {
    const mica_tensor *t = call->out[i].tensor;
    if (t && !in[i].graph) in[i] = mica_full(graph, mica_tensor_dtype(t), mica_tensor_shape(t), 1);
    if (t) wrt[count++] = in[i];
  }
  mica_value dy = in[last];
  in[last] = (mica_value){0};
  call->build(call, in, y);
  mica_value loss = mica_sum(mica_mul(y[0], dy), MICA_ALL_AXES, false);
  if (mica_graph_status(graph) != MICA_OK) return MICA_OK; /* the caller checks the graph's status */
  if (!mica_shape_equal(mica_value_shape(y[0]), mica_value_shape(dy))) {
    char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
    return mica__fail(MICA_E_SHAPE, "%s: dy is %s, but must be %s", call->op,
                      mica_shape_format(mica_value_shape(dy), is), mica_shape_format(mica_value_shape(y[0]), want));
  }
  MICA_TRY(mica_gradients(loss, wrt, count, grads));
  count = 0;
  for (size_t i = 0; call->out[i].name; i++)
    if (call->out[i].tensor) out[i] = grads[count++];
  return MICA_OK;
}

static mica_status build(mica_engine *engine, mica_graph *graph, const mica__eager_call *call, mica_session **session) {
  mica_value in[MICA__EAGER_OPERANDS] = {{0}}, out[MICA__EAGER_RESULTS] = {{0}}, wanted[MICA__EAGER_RESULTS];
  size_t count = 0;
  for (size_t i = 0; call->in[i].name; i++) {
    const mica_tensor *t = call->in[i].tensor;
    if (t) in[i] = mica_input(graph, call->in[i].name, mica_tensor_dtype(t), mica_tensor_shape(t));
  }
  mica_status status = MICA_OK;
  if (call->backward)
    status = differentiate(call, graph, in, out);
  else
    call->build(call, in, out);
  if (mica_graph_status(graph) != MICA_OK)
    return mica__fail(mica_graph_status(graph), "%s: %s", call->op, mica_graph_message(graph));
  if (status != MICA_OK) return mica__fail_in(status, call->op);
  for (size_t i = 0; call->out[i].name; i++) {
    if (!call->out[i].tensor) continue;
    MICA_TRY(check_result(call, &call->out[i], out[i]));
    wanted[count++] = out[i];
  }
  MICA_TRY(mica_session_create(engine, graph, wanted, count, NULL, session));
  if (call->in_place) mica__session_allow_in_place(*session);
  return MICA_OK;
}

static mica_status add(cache *c, mica_engine *engine, const mica__eager_call *call, const key *k, mica__hash hash,
                       entry **added) {
  mica_graph *graph = NULL;
  entry *e = calloc(1, sizeof *e);
  if (!e) return mica__fail_nomem("a session's key");
  e->key = *k;
  e->hash = hash;
  mica_status status = mica__attrs_copy(call->attr_list, call->attrs, &e->attrs);
  if (status == MICA_OK) status = mica_graph_create(&graph);
  if (status == MICA_OK) status = build(engine, graph, call, &e->session);
  mica_graph_destroy(graph);
  if (status != MICA_OK) {
    entry_free(e);
    return status;
  }
  e->next = c->first;
  c->first = *added = e;
  forget_oldest(c);
  return MICA_OK;
}

/* --- a call --- */

static mica_status check(const mica_queue *queue, const mica__eager_call *call, const mica__eager_tensor *list) {
  for (; list->name; list++)
    if (list->tensor || !list->optional) MICA_TRY(mica__operand_check(queue, call->op, list->name, list->tensor));
  return MICA_OK;
}

static mica_status check_overlaps(const mica__eager_call *call) {
  for (const mica__eager_tensor *out = call->out; out->name; out++) {
    if (!out->tensor) continue;
    for (const mica__eager_tensor *in = call->in; in->name; in++)
      MICA_TRY((call->in_place ? mica__operand_apart_or_same : mica__operand_apart)(call->op, out->name, out->tensor,
                                                                                    in->name, in->tensor));
    for (const mica__eager_tensor *other = call->out; other != out; other++)
      MICA_TRY(mica__operand_apart(call->op, out->name, out->tensor, other->name, other->tensor));
  }
  return MICA_OK;
}

/* Binds the tensors of the call's results as outputs of the session, if `bound` is true. Otherwise unbinds them, so
 * that the session does not keep the caller's memory. */
static mica_status bind_results(mica_session *session, const mica__eager_call *call, bool bound) {
  size_t count = 0;
  for (size_t i = 0; call->out[i].name; i++) {
    mica_tensor *tensor = (mica_tensor *)call->out[i].tensor; /* the caller's tensor is not const: see MICA__TENSOR */
    if (tensor) MICA_TRY(mica_session_bind_output(session, count++, bound ? tensor : NULL));
  }
  return MICA_OK;
}

static mica_status run(cache *c, mica_queue *queue, const mica__eager_call *call) {
  mica_feed feeds[MICA__EAGER_OPERANDS];
  size_t count = 0;
  key k = key_of(queue, call);
  mica__hash hash = mica__hash_bytes((mica__hash){0}, k.words, k.count * sizeof *k.words);
  hash = mica__attrs_hash(hash, call->attr_list, call->attrs);
  entry *e = find(c, &k, call, hash);
  if (!e) MICA_TRY(add(c, mica__queue_engine(queue), call, &k, hash, &e));
  for (size_t i = 0; call->in[i].name; i++)
    if (call->in[i].tensor) feeds[count++] = (mica_feed){call->in[i].name, call->in[i].tensor};
  mica_status status = bind_results(e->session, call, true);
  if (status == MICA_OK) status = mica_session_run(e->session, queue, feeds, count);
  mica_status unbound = bind_results(e->session, call, false);
  return status == MICA_OK ? unbound : status;
}

mica_status mica__eager_run(mica_queue *queue, const mica__eager_call *call) {
  void *object = NULL;
  bool any = false;
  if (!queue) return mica__fail(MICA_E_INVALID, "%s: queue is NULL", call->op);
  MICA_TRY(check(queue, call, call->in));
  MICA_TRY(check(queue, call, call->out));
  MICA_TRY(check_overlaps(call));
  for (size_t i = 0; call->out[i].name; i++) any = any || call->out[i].tensor;
  if (!any) return MICA_OK;
  MICA_TRY(mica__engine_attachment(mica__queue_engine(queue), cache_make, cache_destroy, &object));
  cache *c = object;
  pthread_mutex_lock(&c->lock);
  mica_status status = run(c, queue, call);
  pthread_mutex_unlock(&c->lock);
  return status;
}
