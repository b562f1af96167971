/* runtime/engine.h: what an engine and its queues are made of. Seen by the runtime only; ops and above use the
 * functions of kernel.h and launch.h. */
#ifndef MICA_RUNTIME_ENGINE_H
#define MICA_RUNTIME_ENGINE_H

#include "runtime/device.h"
#include "runtime/launch.h"
#include "runtime/profile.h"
#include "runtime/program.h"
#include "runtime/tuning.h"

#include <mica/tensor.h>
#include <pthread.h>
#include <stdatomic.h>

/* mica_stats as counters that several threads may raise. */
typedef struct mica__counters {
#define MICA__COUNTER(name, text) _Atomic uint64_t name;
  MICA_STATS_LIST(MICA__COUNTER)
#undef MICA__COUNTER
} mica__counters;

/* Blocks of up to 2^20 bytes have a class a power of two; larger ones four classes an octave. */
#define MICA__POOL_CLASSES 256

typedef struct mica__pool {
  pthread_mutex_t lock;
  mica_buffer *idle[MICA__POOL_CLASSES]; /* lists through mica_buffer.next_idle */
} mica__pool;

struct mica_engine {
  const mica__cl_api *api;
  mica__device device;
  cl_context context;
  mica_queue *queue;    /* the engine's own */
  pthread_mutex_t lock; /* guards queues and next_queue_id */
  mica_queue *queues;   /* all of them, through mica_queue.next */
  uint64_t next_queue_id;
  mica__pool pool;
  mica__programs programs;
  mica__profile profile;
  mica__tuning tuning;
  bool tunes; /* mica_engine_config.tune */
  atomic_bool has_run_clblast;
  mica__counters stats;
  uint64_t cache_bytes;
  char *cache_dir; /* "" for none */
  char *builder;   /* the same */
};

struct mica_buffer {
  mica_engine *engine;
  cl_mem memory;
  size_t bytes;    /* asked for */
  size_t capacity; /* had; 0 for memory of the caller's, which never enters the pool */
  atomic_int references;
  /* The last work that uses the block, as mica__queue_stamp; 0 for none. A block is handed out again only when that is
   * done or will be done before anything else (the engine has but one queue). Two queues at once make it `shared`, and
   * it goes back to the driver, which knows when it is idle. */
  _Atomic uint64_t last_use;
  atomic_bool shared;
  _Atomic uint64_t changes; /* see mica__tensor_changes */
  atomic_bool foreign;      /* the caller has the memory in hand and may change it unseen */
  bool placeholder;         /* has no memory: see mica__placeholder_create */
  mica_buffer *next_idle;
};

struct mica_tensor {
  mica_buffer *buffer;
  mica_dtype dtype;
  mica_shape shape;
  int64_t strides[MICA_MAX_RANK]; /* elements */
  int64_t first;                  /* elements from the buffer's start */
  int64_t count;
  bool contiguous;
};

/* One piece of pinned memory through which an upload passes; busy while `pending` is. */
typedef struct mica__staging {
  cl_mem memory;
  void *host;
  cl_event pending;
} mica__staging;

#define MICA__STAGING_COUNT 4
#define MICA__STAGING_BYTES ((size_t)4 << 20)

struct mica_queue {
  mica_engine *engine;
  cl_command_queue handle; /* NULL in a recorder */
  uint64_t id;
  _Atomic uint64_t submitted; /* submissions so far */
  _Atomic uint64_t finished;  /* submissions known to be done */
  bool can_profile;
  mica__recording *recording; /* where launches go instead of the device; NULL in an ordinary queue */
  mica__staging staging[MICA__STAGING_COUNT];
  unsigned next_staging;
  mica_queue *next;
};

struct mica_event {
  mica_engine *engine;
  cl_event handle;
};

/* A submission of a queue as one word, so that it can be exchanged in one step: the queue's id above, the submission's
 * number below. At a million submissions a second the number lasts half a year, and a late wrap-around costs reuse. */
#define MICA__STAMP_BITS 44
#define MICA__MAX_QUEUE_ID (((uint64_t)1 << (64 - MICA__STAMP_BITS)) - 1)

/* Marks the buffer as used by the queue's next submission. Several queues in several threads may use one buffer. */
void mica__buffer_use(mica_buffer *buffer, const mica_queue *queue);

mica_status mica__pool_init(mica__pool *pool);
/* Gives idle blocks back to the driver. */
void mica__pool_trim(mica_engine *engine);
void mica__pool_destroy(mica_engine *engine);

/* Whether the stamped work is known to be done, or must run before anything queued from now on. */
bool mica__engine_is_finished(mica_engine *engine, uint64_t stamp);

/* handle may be NULL: then a queue is made. */
mica_status mica__queue_create(mica_engine *engine, cl_command_queue handle, mica_queue **queue);

#endif
