/* runtime/profile.h: events of launches, collected while a profile runs. */
#ifndef MICA_RUNTIME_PROFILE_H
#define MICA_RUNTIME_PROFILE_H

#include "runtime/launch.h"
#include "runtime/opencl_api.h"

#include <mica/profile.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct mica__profile_entry {
  const char *kernel; /* the kernel's own name, which lives as long as the engine */
  uint64_t queue;
  double flops, bytes;
  cl_event event;      /* NULL once resolved */
  uint64_t start, end; /* nanoseconds of the device's clock */
} mica__profile_entry;

typedef struct mica__profile {
  pthread_mutex_t lock;
  atomic_bool active;
  mica__profile_entry *entries; /* once stopped: by their start */
  size_t count, capacity;
} mica__profile;

mica_status mica__profile_init(mica__profile *profile);
void mica__profile_destroy(mica_engine *engine);

/* Takes over the event of a launch. A launch that cannot be noted for want of memory is left out, with a log line. */
void mica__profile_add(mica_engine *engine, const mica_queue *queue, const mica__launch *launch, cl_event event);

#endif
