/* runtime/objects.h: the structs of engines, queues, events, buffers and tensors. The file holds only data, and only
 * files of runtime/ may include it. Other folders use the functions of launch.h, tensor.h, buffer.h and recording.h,
 * and see no OpenCL type. */
#ifndef MICA_RUNTIME_OBJECTS_H
#define MICA_RUNTIME_OBJECTS_H

#include "runtime/device.h"
#include "runtime/split.h"
#include "runtime/texture.h"

#include <mica/tensor.h>
#include <pthread.h>
#include <stdatomic.h>

/* mica_stats as counters that several threads may increase. */
typedef struct mica__counters {
#define MICA__COUNTER(name, text) _Atomic uint64_t name;
  MICA_STATS_LIST(MICA__COUNTER)
#undef MICA__COUNTER
} mica__counters;

struct mica_engine {
  const mica__cl_api *_Atomic api; /* replaced once the device is lost (lost.h) */
  mica__device device;
  cl_context context;
  mica_queue *queue;    /* the engine's own queue */
  pthread_mutex_t lock; /* guards the queues and the attachment */
  mica_queue *queues;   /* all queues, through mica_queue.next */
  size_t queue_count;
  uint64_t next_queue_id;
  /* Each of these is defined in a file of its own, and lives as long as the engine. */
  struct mica__pool *pool;
  struct mica__programs *programs;
  struct mica__kernels *kernels;
  struct mica__profile *profile;
  struct mica__tuning *tuning;
  struct mica__derivations *derivations;
  struct mica__loss *loss;
  struct mica__program_bundle *bundle; /* mica_engine_config.bundle; NULL for none */
  mica__split_limits split_limits;
  bool tunes;        /* mica_engine_config.tune */
  bool imitates_gpu; /* see mica__kernels_imitate_gpu */
  atomic_bool has_run_clblast;
  mica__counters stats;
  uint64_t cache_bytes;
  char *cache_dir; /* "" for none */
  char *builder;   /* mica_engine_config.builder; "" for none */
  void (*compiling)(void *user, int programs);
  void *compiling_user;
  void (*not_kept)(void *user, const char *reason); /* mica_engine_config.not_kept */
  void *not_kept_user;
  void *attached; /* see attachment.h */
  void (*detach)(void *attached);
  mica_engine *next; /* see at_exit.h */
};

struct mica_buffer {
  mica_engine *engine;
  cl_mem memory;
  size_t bytes;    /* the bytes that were requested */
  size_t capacity; /* the bytes allocated; 0 if the memory is the caller's, which never enters the pool */
  atomic_int references;
  /* A stamp (queue.h) of the last work that uses the block, or 0 if no work has used it. The pool reuses a block only
   * if that work is done, or if the engine has only one queue, which runs that work before any later work. If two
   * queues use the block at once, it becomes `shared`. It is then never reused but returned to the driver, which knows
   * when it is idle. */
  _Atomic uint64_t last_use;
  atomic_bool shared;
  _Atomic uint64_t changes;                      /* see mica__tensor_changes */
  atomic_bool foreign;                           /* the caller can reach the memory and may change it unnoticed */
  bool read_only;                                /* nothing may write to it */
  bool placeholder;                              /* has no memory; see mica__placeholder_create */
  _Atomic(cl_mem) textures[MICA__TEXTURE_SLOTS]; /* images over the block, made when they are first used (texture.h) */
  mica_buffer *next_idle;
};

struct mica_tensor {
  mica_buffer *buffer;
  mica_dtype dtype;
  mica_shape shape;
  int64_t strides[MICA_MAX_RANK]; /* elements */
  int64_t first;                  /* index of the first element in the buffer */
  int64_t count;
  bool contiguous;
};

/* One chunk of pinned memory that uploads pass through; busy while `pending` is not done. */
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
  /* Held while a command is queued and counted, and while staging memory is used. Several threads may use one queue:
   * all threads that make sessions, tensors and trainers use the engine's own. Locked after a kernel's lock and before
   * the engine's. */
  pthread_mutex_t lock;
  _Atomic uint64_t submitted; /* submissions so far */
  _Atomic uint64_t finished;  /* submissions known to be done */
  bool can_profile;
  struct mica__recording *recording; /* receives launches instead of the device; NULL in an ordinary queue */
  struct mica__loan *loans;          /* what a recorder lends (loans.h) */
  mica__staging staging[MICA__STAGING_COUNT];
  unsigned next_staging;
  mica_queue *next;
};

struct mica_event {
  mica_engine *engine;
  cl_event handle;
};

#endif
