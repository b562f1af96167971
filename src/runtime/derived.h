/* runtime/derived.h: memory whose content is made of parameters and constants alone, and stays until these change:
 * weights in the order in which a kernel reads them, weights times the factors of a norm. Plans and sessions that would
 * make the same of the same have it once. */
#ifndef MICA_RUNTIME_DERIVED_H
#define MICA_RUNTIME_DERIVED_H

#include "base/hash.h"

#include <mica/tensor.h>
#include <pthread.h>
#include <stdbool.h>

typedef struct mica__derived mica__derived;

/* All of an engine. */
typedef struct mica__derivations {
  pthread_mutex_t lock; /* recursive: what runs in a prologue may be a session itself */
  mica__derived *first;
  uint64_t counted;
} mica__derivations;

mica_status mica__derivations_init(mica__derivations *derivations);
void mica__derivations_destroy(mica__derivations *derivations);

typedef struct mica__derived_desc {
  mica__hash key; /* of how it is made and of what: where keys are equal, contents are */
  const size_t *bytes;
  size_t count; /* of buffers */
  /* What it is made of, beside constants. Their addresses may be part of the key: they are retained. */
  mica_buffer *const *sources;
  size_t source_count;
} mica__derived_desc;

/* The one of this key, made if there is none, and a reference to it. Its memory is not filled yet. */
mica_status mica__derived_get(mica_engine *engine, const mica__derived_desc *desc, mica__derived **derived);
/* Drops a reference; the last frees. NULL is a no-op. */
void mica__derived_release(mica__derived *derived);

mica__hash mica__derived_key(const mica__derived *derived);
mica_buffer *mica__derived_buffer(const mica__derived *derived, size_t i);
mica_buffer *const *mica__derived_sources(const mica__derived *derived, size_t *count);

/* Bytes of those that were not counted since mica__derived_count_begin. */
void mica__derived_count_begin(mica_engine *engine);
uint64_t mica__derived_count(mica__derived *derived);

/* From lock to unlock one thread looks at what is stale and queues what makes it. */
void mica__derived_lock(mica_engine *engine);
void mica__derived_unlock(mica_engine *engine);
/* True if the sources have changed since it was made. */
bool mica__derived_is_stale(mica__derived *derived);
/* What makes it of the sources as mica__derived_is_stale saw them is queued. */
mica_status mica__derived_made(mica__derived *derived, mica_queue *queue);
/* Lets the queue's work wait for what makes it, where that is another queue's. Waits for nothing itself. */
mica_status mica__derived_wait(mica__derived *derived, mica_queue *queue);

#endif
