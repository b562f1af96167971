/* runtime/derived.h: memory whose content is computed only from parameters and constants, and stays until these change:
 * weights in the order in which a kernel reads them, weights times the factors of a norm. Plans and sessions that would
 * compute the same content from the same sources share it. */
#ifndef MICA_RUNTIME_DERIVED_H
#define MICA_RUNTIME_DERIVED_H

#include "base/hash.h"

#include <mica/tensor.h>
#include <pthread.h>
#include <stdbool.h>

typedef struct mica__derived mica__derived;

/* All derived memory of an engine. */
typedef struct mica__derivations {
  pthread_mutex_t lock; /* recursive: the work that fills derived memory may itself run a session */
  mica__derived *first;
  uint64_t counted;
} mica__derivations;

mica_status mica__derivations_init(mica__derivations *derivations);
void mica__derivations_destroy(mica__derivations *derivations);

typedef struct mica__derived_desc {
  mica__hash key; /* hash of the computation and its sources: equal keys mean equal contents */
  const size_t *bytes;
  size_t count; /* of buffers */
  /* The objects that it is made from, besides constants. They are retained, because their addresses may be part of the
   * key. */
  mica_buffer *const *sources;
  size_t source_count;
} mica__derived_desc;

/* Finds the object with this key, or makes it, and adds a reference. The memory of a new object is not filled yet. */
mica_status mica__derived_get(mica_engine *engine, const mica__derived_desc *desc, mica__derived **derived);
/* Drops a reference; the last one frees the object. NULL is a no-op. */
void mica__derived_release(mica__derived *derived);

mica__hash mica__derived_key(const mica__derived *derived);
mica_buffer *mica__derived_buffer(const mica__derived *derived, size_t i);
mica_buffer *const *mica__derived_sources(const mica__derived *derived, size_t *count);

/* These two sum the memory of several objects, so that memory that they share counts only once.
 * mica__derived_count_begin begins a sum. mica__derived_count returns the bytes of the object, or 0 if the sum already
 * has them. */
void mica__derived_count_begin(mica_engine *engine);
uint64_t mica__derived_count(mica__derived *derived);

/* Between lock and unlock, a single thread checks which memory is stale and queues the work that fills it again. */
void mica__derived_lock(mica_engine *engine);
void mica__derived_unlock(mica_engine *engine);
/* True if the memory was never filled, or if the sources have changed since. */
bool mica__derived_is_stale(mica__derived *derived);
/* Call this after queueing the work that fills the memory. Records that the memory then has the content for the
 * sources' state at the last call of mica__derived_is_stale. */
mica_status mica__derived_made(mica__derived *derived, mica_queue *queue);
/* Makes the queue's later work wait until the memory is made, if another queue makes it. Does not block. */
mica_status mica__derived_wait(mica__derived *derived, mica_queue *queue);

#endif
