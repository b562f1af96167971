/* runtime/buffer.h: device memory, and the pool that keeps it.
 *
 * A driver's allocations are slow, and some drivers wait for all queued work in them. So the pool keeps released
 * blocks, in one list per class of sizes, and gives them to later buffers. */
#ifndef MICA_RUNTIME_BUFFER_H
#define MICA_RUNTIME_BUFFER_H

#include <mica/device.h>
#include <mica/tensor.h>
#include <pthread.h>

/* Blocks of up to 2^20 bytes have one class per power of two, larger ones four classes per octave. */
#define MICA__POOL_CLASSES 256

typedef struct mica__pool {
  pthread_mutex_t lock;
  mica_buffer *idle[MICA__POOL_CLASSES]; /* lists through mica_buffer.next_idle */
  _Atomic uint64_t held;                 /* bytes of live and idle blocks */
} mica__pool;

mica_status mica__pool_init(mica__pool *pool);
/* Returns idle blocks to the driver, then ends the engine's pool. */
void mica__pool_destroy(mica_engine *engine);

/* Adds a reference to the buffer; mica_buffer_destroy drops it. */
void mica__buffer_retain(mica_buffer *buffer);

/* Marks the buffer as used by the queue's next submission. Several queues in several threads may use one buffer. */
void mica__buffer_use(mica_buffer *buffer, const mica_queue *queue);

/* See mica__tensor_changes. */
uint64_t mica__buffer_changes(mica_buffer *buffer);

/* Makes a buffer of this size without memory. It represents memory that is known only when a recording is replayed
 * (mica__recording_bind). A tensor that wraps it may only be an operand of recorded launches. */
mica_status mica__placeholder_create(mica_engine *engine, size_t bytes, mica_buffer **placeholder);
bool mica__buffer_is_placeholder(const mica_buffer *buffer);

#endif
