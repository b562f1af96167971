#include "runtime/derived.h"

#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/objects.h"

#include <stdlib.h>

#define NEVER UINT64_MAX /* never a count of changes */

struct mica__derived {
  mica__derived *next;
  mica_engine *engine;
  mica__hash key;
  int references;
  mica_buffer **buffers, **sources;
  size_t count, source_count;
  uint64_t made_of, seen; /* counts of the sources' changes: made_of when made, seen when last read */
  mica_event *made;       /* the work that makes it */
  uint64_t queue;         /* id of that work's queue */
  uint64_t counted;
};

mica_status mica__derivations_init(mica__derivations *derivations) {
  pthread_mutexattr_t recursive;
  *derivations = (mica__derivations){.first = NULL};
  if (pthread_mutexattr_init(&recursive)) return mica__fail_nomem("a lock");
  int error = pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  if (!error) error = pthread_mutex_init(&derivations->lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
  return error ? mica__fail_nomem("a lock") : MICA_OK;
}

void mica__derivations_destroy(mica__derivations *derivations) { pthread_mutex_destroy(&derivations->lock); }

void mica__derived_lock(mica_engine *engine) { pthread_mutex_lock(&engine->derivations->lock); }
void mica__derived_unlock(mica_engine *engine) { pthread_mutex_unlock(&engine->derivations->lock); }

static void destroy(mica__derived *d) {
  for (size_t i = 0; d->buffers && i < d->count; i++) mica_buffer_destroy(d->buffers[i]);
  for (size_t i = 0; d->sources && i < d->source_count; i++) mica_buffer_destroy(d->sources[i]);
  mica_event_destroy(d->made);
  free(d->buffers);
  free(d->sources);
  free(d);
}

static mica_status create(mica_engine *engine, const mica__derived_desc *desc, mica__derived **out) {
  mica__derived *d = calloc(1, sizeof *d);
  if (!d) return mica__fail_nomem("a session");
  *d = (mica__derived){.engine = engine,
                       .key = desc->key,
                       .references = 1,
                       .buffers = calloc(desc->count + 1, sizeof *d->buffers),
                       .sources = calloc(desc->source_count + 1, sizeof *d->sources),
                       .count = desc->count,
                       .source_count = desc->source_count,
                       .made_of = NEVER};
  mica_status status = d->buffers && d->sources ? MICA_OK : mica__fail_nomem("a session");
  for (size_t i = 0; status == MICA_OK && i < desc->source_count; i++) {
    d->sources[i] = desc->sources[i];
    mica__buffer_retain(d->sources[i]);
  }
  for (size_t i = 0; status == MICA_OK && i < desc->count; i++)
    status = mica_buffer_create(engine, desc->bytes[i], &d->buffers[i]);
  if (status == MICA_OK)
    *out = d;
  else
    destroy(d);
  return status;
}

mica_status mica__derived_get(mica_engine *engine, const mica__derived_desc *desc, mica__derived **out) {
  mica_status status = MICA_OK;
  mica__derived_lock(engine);
  mica__derived *d = engine->derivations->first;
  while (d && !mica__hash_equal(d->key, desc->key)) d = d->next;
  if (d) {
    d->references++;
  } else {
    status = create(engine, desc, &d);
    if (status == MICA_OK) {
      d->next = engine->derivations->first;
      engine->derivations->first = d;
    }
  }
  mica__derived_unlock(engine);
  if (status == MICA_OK) *out = d;
  return status;
}

void mica__derived_release(mica__derived *derived) {
  if (!derived) return;
  mica_engine *engine = derived->engine;
  mica__derived_lock(engine);
  bool last = --derived->references == 0;
  mica__derived **at = &engine->derivations->first;
  while (last && *at != derived) at = &(*at)->next;
  if (last) *at = derived->next;
  mica__derived_unlock(engine);
  if (last) destroy(derived);
}

mica__hash mica__derived_key(const mica__derived *derived) { return derived->key; }

mica_buffer *mica__derived_buffer(const mica__derived *derived, size_t i) { return derived->buffers[i]; }

mica_buffer *const *mica__derived_sources(const mica__derived *derived, size_t *count) {
  *count = derived->source_count;
  return derived->sources;
}

void mica__derived_count_begin(mica_engine *engine) {
  mica__derived_lock(engine);
  engine->derivations->counted++;
  mica__derived_unlock(engine);
}

uint64_t mica__derived_count(mica__derived *derived) {
  uint64_t bytes = 0;
  mica__derived_lock(derived->engine);
  for (size_t i = 0; derived->counted != derived->engine->derivations->counted && i < derived->count; i++)
    bytes += mica_buffer_bytes(derived->buffers[i]);
  derived->counted = derived->engine->derivations->counted;
  mica__derived_unlock(derived->engine);
  return bytes;
}

bool mica__derived_is_stale(mica__derived *derived) {
  derived->seen = 0;
  for (size_t i = 0; i < derived->source_count; i++) derived->seen += mica__buffer_changes(derived->sources[i]);
  return derived->seen != derived->made_of;
}

mica_status mica__derived_made(mica__derived *derived, mica_queue *queue) {
  mica_event_destroy(derived->made);
  derived->made = NULL;
  MICA_TRY(mica_queue_mark(queue, &derived->made));
  derived->queue = queue->id;
  derived->made_of = derived->seen;
  return MICA_OK;
}

mica_status mica__derived_wait(mica__derived *derived, mica_queue *queue) {
  if (!derived->made || derived->queue == queue->id) return MICA_OK;
  return mica_queue_wait(queue, derived->made);
}
