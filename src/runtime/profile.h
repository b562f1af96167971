/* runtime/profile.h: events of launches and times of host steps, collected while a profile runs. */
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
  uint64_t queued;     /* nanoseconds of the host's clock */
  uint64_t start, end; /* nanoseconds of the device's clock */
} mica__profile_entry;

/* A host step (host_step.h), or its begin or end. It is not a launch, and appears only in the trace. */
typedef struct mica__profile_host {
  const char *part, *name;    /* "begin " or "end " or "", and the op's name */
  uint64_t queue, start, end; /* nanoseconds of the host's clock; mica_profile_stop shifts them to the device's */
} mica__profile_host;

typedef struct mica__profile {
  pthread_mutex_t lock;
  atomic_bool active;
  mica__profile_entry *entries; /* sorted by start after mica_profile_stop */
  size_t count, capacity;
  mica__profile_host *host;
  size_t host_count, host_capacity;
} mica__profile;

mica_status mica__profile_init(mica__profile *profile);
void mica__profile_destroy(mica_engine *engine);

/* Adds the event of a launch, or of a part of it, and takes it over. `share` is the fraction of the launch's work that
 * the event covers. If the profile has been stopped, or if there is no memory for an entry (which is logged), only
 * releases the event. */
void mica__profile_add(mica_engine *engine, const mica_queue *queue, const mica__launch *launch, double share,
                       cl_event event);
/* Records host work that began at `start` (mica__clock) and ends now, if a profile is running. */
void mica__profile_add_host(mica_engine *engine, const mica_queue *queue, const char *part, const char *name,
                            double start);

#endif
