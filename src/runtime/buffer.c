#include "runtime/buffer.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/large.h"
#include "runtime/lost.h"
#include "runtime/queue.h"
#include "runtime/tensor.h"

#include <mica/opencl.h>
#include <stdlib.h>

#define SMALLEST_CLASS_BITS 8 /* 256 bytes */
#define FINE_CLASS_BITS 20    /* from 1 MiB on four classes per octave: powers of two would waste too much */

/* The class for blocks that hold `bytes`, and their capacity. The caller has refused sizes above SIZE_MAX / 4, which
 * could overflow here. */
static unsigned size_class(size_t bytes, size_t *capacity) {
  unsigned bits = SMALLEST_CLASS_BITS;
  while (bits < FINE_CLASS_BITS && ((size_t)1 << bits) < bytes) bits++;
  if (((size_t)1 << bits) >= bytes) {
    *capacity = (size_t)1 << bits;
    return bits - SMALLEST_CLASS_BITS;
  }
  unsigned octave = FINE_CLASS_BITS;
  while (((size_t)1 << (octave + 1)) < bytes) octave++;
  size_t quarter = (size_t)1 << (octave - 2);
  size_t quarters = mica__ceil_div_size(bytes - ((size_t)1 << octave), quarter);
  *capacity = ((size_t)1 << octave) + quarters * quarter;
  return FINE_CLASS_BITS - SMALLEST_CLASS_BITS + (octave - FINE_CLASS_BITS) * 4 + (unsigned)quarters;
}

mica_status mica__pool_init(mica__pool *pool) {
  *pool = (mica__pool){0};
  if (pthread_mutex_init(&pool->lock, NULL)) return mica__fail_nomem("a lock");
  return MICA_OK;
}

static void buffer_free(mica_buffer *buffer) {
  mica_engine *engine = buffer->engine;
  mica__textures_release(buffer);
  if (buffer->memory) engine->api->ReleaseMemObject(buffer->memory);
  atomic_fetch_sub(&engine->pool->held, buffer->capacity);
  free(buffer);
}

static void trim(mica_engine *engine) {
  mica__pool *pool = engine->pool;
  mica_buffer *all = NULL;
  pthread_mutex_lock(&pool->lock);
  for (unsigned c = 0; c < MICA__POOL_CLASSES; c++)
    while (pool->idle[c]) {
      mica_buffer *buffer = pool->idle[c];
      pool->idle[c] = buffer->next_idle;
      buffer->next_idle = all;
      all = buffer;
    }
  pthread_mutex_unlock(&pool->lock);
  while (all) {
    mica_buffer *next = all->next_idle;
    atomic_fetch_sub(&engine->stats.bytes_pooled, all->capacity);
    buffer_free(all);
    all = next;
  }
}

void mica__pool_destroy(mica_engine *engine) {
  trim(engine);
  pthread_mutex_destroy(&engine->pool->lock);
}

/* An idle block of the class that no work in flight uses, or NULL. */
static mica_buffer *take_idle(mica_engine *engine, unsigned class_index) {
  mica__pool *pool = engine->pool;
  mica_buffer *found = NULL;
  pthread_mutex_lock(&pool->lock);
  for (mica_buffer **at = &pool->idle[class_index]; *at; at = &(*at)->next_idle)
    if (mica__stamp_is_done(engine, atomic_load(&(*at)->last_use))) {
      found = *at;
      *at = found->next_idle;
      break;
    }
  pthread_mutex_unlock(&pool->lock);
  if (found) atomic_fetch_sub(&engine->stats.bytes_pooled, found->capacity);
  return found;
}

static void CL_CALLBACK free_block(cl_mem memory, void *block) {
  (void)memory;
  free(block);
}

/* Makes a buffer in memory that Mica allocates. The memory is freed when the driver's object is, which others may
 * retain too. Returns NULL after any failure: the driver may still be able to allocate. */
static cl_mem allocate_large(mica_engine *engine, size_t capacity) {
  const mica__cl_api *api = engine->api;
  cl_int error = CL_SUCCESS;
  void *block = mica__alloc_large(capacity);
  cl_mem memory =
      block ? api->CreateBuffer(engine->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, capacity, block, &error)
            : NULL;
  if (memory && api->SetMemObjectDestructorCallback(memory, free_block, block) == CL_SUCCESS) return memory;
  if (memory) api->ReleaseMemObject(memory);
  free(block);
  return NULL;
}

static cl_mem driver_allocate(mica_engine *engine, size_t capacity, cl_int *error) {
  /* A CPU driver computes directly in memory given to it; memory that it allocates itself has small pages. */
  if (engine->device.info.device_class == MICA_DEVICE_CLASS_CPU && capacity >= MICA__LARGE_BYTES) {
    cl_mem memory = allocate_large(engine, capacity);
    if (memory) return memory;
  }
  /* If the device shares the host's memory, asks for host-visible memory, so that mapping it copies nothing. */
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  if (engine->device.info.unified_memory) flags |= CL_MEM_ALLOC_HOST_PTR;
  return engine->api->CreateBuffer(engine->context, flags, capacity, NULL, error);
}

/* Counts bytes as held if the engine's limit allows it. */
static bool hold(mica_engine *engine, size_t bytes) {
  const uint64_t most = engine->device.info.global_bytes;
  uint64_t held = atomic_load(&engine->pool->held);
  while (held <= most && bytes <= most - held)
    if (atomic_compare_exchange_weak(&engine->pool->held, &held, held + bytes)) return true;
  return false;
}

/* Reserves *capacity bytes for a buffer. If these exceed the limit even after idle buffers are freed, reserves only
 * `bytes` and sets *capacity to `bytes`. Returns false if these exceed the limit, too. */
static bool reserve(mica_engine *engine, size_t bytes, size_t *capacity) {
  if (hold(engine, *capacity)) return true;
  trim(engine);
  if (hold(engine, *capacity)) return true;
  if (bytes) *capacity = bytes;
  return hold(engine, *capacity);
}

static mica_status fail_memory(const mica_engine *engine, size_t capacity) {
  return mica__fail(MICA_E_DEVICE_MEMORY,
                    "%s cannot allocate a buffer of %zu bytes; this engine uses %llu of its %llu bytes",
                    engine->device.info.name, capacity, (unsigned long long)atomic_load(&engine->stats.bytes_in_use),
                    (unsigned long long)engine->device.info.global_bytes);
}

static mica_status allocate(mica_engine *engine, mica_buffer *buffer, size_t bytes, size_t capacity) {
  if (capacity > engine->device.info.max_buffer_bytes)
    return mica__fail(MICA_E_DEVICE_MEMORY, "a buffer of %zu bytes exceeds the %llu bytes that %s allows in one piece",
                      capacity, (unsigned long long)engine->device.info.max_buffer_bytes, engine->device.info.name);
  if (!reserve(engine, bytes, &capacity)) return fail_memory(engine, capacity);
  buffer->capacity = capacity; /* buffer_free gives it back */
  cl_int error = CL_SUCCESS;
  buffer->memory = driver_allocate(engine, capacity, &error);
  if (!buffer->memory && mica__cl_is_memory_error(error) && atomic_load(&engine->stats.bytes_pooled) > 0) {
    trim(engine);
    buffer->memory = driver_allocate(engine, capacity, &error);
  }
  if (!buffer->memory) MICA_TRY(mica__engine_ask(engine, error, "making a buffer"));
  if (!buffer->memory && mica__cl_is_memory_error(error)) return fail_memory(engine, capacity);
  if (!buffer->memory) return mica__cl_check(error ? error : CL_OUT_OF_RESOURCES, "making a buffer");
  atomic_fetch_add(&engine->stats.allocations, 1);
  return MICA_OK;
}

static void count_in_use(mica_engine *engine, size_t capacity) {
  uint64_t now = atomic_fetch_add(&engine->stats.bytes_in_use, capacity) + capacity;
  uint64_t peak = atomic_load(&engine->stats.bytes_peak);
  while (now > peak && !atomic_compare_exchange_weak(&engine->stats.bytes_peak, &peak, now)) continue;
}

mica_status mica_buffer_create(mica_engine *engine, size_t bytes, mica_buffer **out) {
  if (!engine || !out) return mica__fail(MICA_E_INVALID, "mica_buffer_create: a pointer is NULL");
  if (bytes > SIZE_MAX / 4)
    return mica__fail(MICA_E_OVERFLOW, "a buffer of %zu bytes is too large; the limit is %zu bytes", bytes,
                      (size_t)(SIZE_MAX / 4));
  MICA_TRY(mica__engine_alive(engine));
  size_t capacity = 0;
  unsigned class_index = size_class(bytes, &capacity);
  mica_buffer *buffer = take_idle(engine, class_index);
  if (!buffer) {
    buffer = calloc(1, sizeof *buffer);
    if (!buffer) return mica__fail_nomem("a buffer");
    buffer->engine = engine;
    /* If the class's capacity exceeds the device's largest allocation, the exact size may still fit. */
    if (capacity > engine->device.info.max_buffer_bytes && bytes <= engine->device.info.max_buffer_bytes)
      capacity = bytes;
    mica_status status = allocate(engine, buffer, bytes, capacity);
    if (status != MICA_OK) {
      buffer_free(buffer);
      return status;
    }
  }
  buffer->bytes = bytes;
  atomic_store(&buffer->foreign, false);
  buffer->read_only = false;
  atomic_store(&buffer->references, 1);
  count_in_use(engine, buffer->capacity);
  *out = buffer;
  return MICA_OK;
}

void mica__buffer_retain(mica_buffer *buffer) { atomic_fetch_add(&buffer->references, 1); }

void mica_buffer_destroy(mica_buffer *buffer) {
  if (!buffer || atomic_fetch_sub(&buffer->references, 1) != 1) return;
  mica_engine *engine = buffer->engine;
  atomic_fetch_sub(&engine->stats.bytes_in_use, buffer->capacity);
  size_t capacity = 0;
  unsigned class_index = size_class(buffer->capacity, &capacity);
  if (atomic_load(&buffer->shared) || capacity != buffer->capacity) {
    buffer_free(buffer);
    return;
  }
  atomic_fetch_add(&engine->stats.bytes_pooled, buffer->capacity);
  pthread_mutex_lock(&engine->pool->lock);
  buffer->next_idle = engine->pool->idle[class_index];
  engine->pool->idle[class_index] = buffer;
  pthread_mutex_unlock(&engine->pool->lock);
}

size_t mica_buffer_bytes(const mica_buffer *buffer) { return buffer->bytes; }

void mica__buffer_use(mica_buffer *buffer, const mica_queue *queue) {
  uint64_t before = atomic_exchange(&buffer->last_use, mica__queue_stamp(queue));
  if (before >> MICA__STAMP_BITS != queue->id && !mica__stamp_is_done(queue->engine, before))
    atomic_store(&buffer->shared, true);
}

mica_status mica__placeholder_create(mica_engine *engine, size_t bytes, mica_buffer **out) {
  mica_buffer *placeholder = calloc(1, sizeof *placeholder);
  if (!placeholder) return mica__fail_nomem("a buffer");
  placeholder->engine = engine;
  placeholder->bytes = bytes;
  placeholder->placeholder = true;
  atomic_store(&placeholder->references, 1);
  *out = placeholder;
  return MICA_OK;
}

mica_status mica_buffer_wrap_opencl(mica_engine *engine, cl_mem memory, mica_buffer **out) {
  if (!engine || !memory || !out)
    return mica__fail(MICA_E_INVALID, "mica_buffer_wrap_opencl: engine, memory or buffer is NULL");
  const mica__cl_api *api = engine->api;
  size_t bytes = 0;
  cl_context context = NULL;
  if (api->GetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
      api->GetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
    return mica__fail(MICA_E_INVALID, "mica_buffer_wrap_opencl: the driver does not accept the memory as a buffer");
  if (context != engine->context)
    return mica__fail(MICA_E_INVALID, "mica_buffer_wrap_opencl: the memory does not belong to the engine's context");
  mica_buffer *buffer = calloc(1, sizeof *buffer);
  if (!buffer) return mica__fail_nomem("a buffer");
  if (api->RetainMemObject(memory) != CL_SUCCESS) {
    free(buffer);
    return mica__fail(MICA_E_DEVICE,
                      "mica_buffer_wrap_opencl: the driver cannot retain the memory (clRetainMemObject failed)");
  }
  buffer->engine = engine;
  buffer->memory = memory;
  buffer->bytes = bytes;
  atomic_store(&buffer->foreign, true);
  atomic_store(&buffer->references, 1);
  *out = buffer;
  return MICA_OK;
}

/* --- memory that the caller provides --- */

/* The function to call when the driver no longer needs the memory, and its argument. */
typedef struct lent {
  void (*release)(void *owner);
  void *owner;
} lent;

static void CL_CALLBACK give_back(cl_mem memory, void *user) {
  lent *l = user;
  (void)memory;
  if (l->release) l->release(l->owner);
  free(l);
}

/* Wraps the memory without a copy; NULL if the driver refuses it. */
static cl_mem wrap_in_place(mica_engine *engine, const void *memory, size_t bytes, lent of) {
  const mica__cl_api *api = engine->api;
  cl_int error = CL_SUCCESS;
  lent *l = malloc(sizeof *l);
  if (!l) return NULL;
  *l = of;
  cl_mem made = api->CreateBuffer(engine->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes,
                                  (void *)(uintptr_t)memory, &error);
  if (made && api->SetMemObjectDestructorCallback(made, give_back, l) == CL_SUCCESS) return made;
  if (made) api->ReleaseMemObject(made);
  free(l);
  return NULL;
}

static mica_status wrap_copy(mica_engine *engine, const void *memory, size_t bytes, mica_buffer **out) {
  mica_buffer *buffer = NULL;
  mica_tensor *all = NULL;
  MICA_TRY(mica_buffer_create(engine, bytes, &buffer));
  mica_status status = mica_tensor_wrap(buffer, 0, MICA_U8, MICA_SHAPE((int64_t)bytes), &all);
  if (status == MICA_OK) status = mica_tensor_upload(engine->queue, all, memory, bytes);
  if (status == MICA_OK) status = mica_queue_finish(engine->queue);
  mica_tensor_destroy(all);
  if (status == MICA_OK)
    *out = buffer;
  else
    mica_buffer_destroy(buffer);
  return status;
}

mica_status mica_buffer_wrap_memory(mica_engine *engine, const void *memory, size_t bytes, void (*release)(void *),
                                    void *owner, mica_buffer **out) {
  if (!engine || !out || (!memory && bytes))
    return mica__fail(MICA_E_INVALID, "mica_buffer_wrap_memory: a pointer is NULL");
  if (bytes > SIZE_MAX / 4)
    return mica__fail(MICA_E_OVERFLOW, "a buffer of %zu bytes is too large; the limit is %zu bytes", bytes,
                      (size_t)(SIZE_MAX / 4));
  MICA_TRY(mica__engine_alive(engine));
  const mica_device_info *device = &engine->device.info;
  if (bytes > device->max_buffer_bytes)
    return mica__fail(MICA_E_DEVICE_MEMORY, "a buffer of %zu bytes exceeds the %llu bytes that %s allows in one piece",
                      bytes, (unsigned long long)device->max_buffer_bytes, device->name);
  const bool here =
      bytes && device->device_class == MICA_DEVICE_CLASS_CPU && (uintptr_t)memory % MICA__TENSOR_ALIGNMENT == 0;
  mica_buffer *buffer = here ? calloc(1, sizeof *buffer) : NULL;
  if (here && !buffer) return mica__fail_nomem("a buffer");
  if (here) buffer->memory = wrap_in_place(engine, memory, bytes, (lent){release, owner});
  if (here && buffer->memory) {
    buffer->engine = engine;
    buffer->bytes = bytes;
    atomic_store(&buffer->references, 1);
  } else {
    free(buffer);
    MICA_TRY(wrap_copy(engine, memory, bytes, &buffer));
    if (release) release(owner);
  }
  buffer->read_only = true;
  *out = buffer;
  return MICA_OK;
}

void mica_engine_trim(mica_engine *engine) { trim(engine); }

bool mica__buffer_is_placeholder(const mica_buffer *buffer) { return buffer->placeholder; }
