#define _DEFAULT_SOURCE /* syscall */
#include "runtime/at_exit.h"

#include "base/clock.h"
#include "runtime/opencl_api.h"

#include <stdlib.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define POLL_NANOSECONDS 1000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mica_engine *engines; /* a list, linked through mica_engine.next */
static pthread_once_t first_engine = PTHREAD_ONCE_INIT, first_of_main_thread = PTHREAD_ONCE_INIT;
static atomic_flag waited = ATOMIC_FLAG_INIT; /* one handler has waited; later ones must not wait again */

static void wait_at_exit(void) {
  if (!atomic_flag_test_and_set(&waited)) (void)mica__at_exit_wait(MICA__EXIT_SECONDS);
}

/* If no handler can be registered, the process ends as it would without one. */
void mica__at_exit_renew(void) { (void)atexit(wait_at_exit); }

#if defined(__linux__)
/* C++ compilers call this for a thread_local object. Weak, because not every C library has it. */
extern int __cxa_thread_atexit_impl(void (*destroy)(void *object), void *object, void *library) __attribute__((weak));
extern char __dso_handle __attribute__((visibility("hidden")));

static void destroy_of_main_thread(void *object) {
  (void)object;
  wait_at_exit();
}

static void register_with_main_thread(void) {
  if (__cxa_thread_atexit_impl) (void)__cxa_thread_atexit_impl(destroy_of_main_thread, NULL, &__dso_handle);
}

static bool is_main_thread(void) { return syscall(SYS_gettid) == getpid(); }
#else
static void register_with_main_thread(void) {}
static bool is_main_thread(void) { return false; }
#endif

void mica__at_exit_add(mica_engine *engine) {
  pthread_once(&first_engine, mica__at_exit_renew);
  if (is_main_thread()) pthread_once(&first_of_main_thread, register_with_main_thread);
  pthread_mutex_lock(&lock);
  engine->next = engines;
  engines = engine;
  pthread_mutex_unlock(&lock);
}

void mica__at_exit_forget(mica_engine *engine) {
  pthread_mutex_lock(&lock);
  for (mica_engine **at = &engines; *at; at = &(*at)->next)
    if (*at == engine) {
      *at = engine->next;
      break;
    }
  pthread_mutex_unlock(&lock);
}

/* Polls, because waiting in OpenCL never ends if a queue waits for something that will not come. A queue whose state
 * cannot be read is not waited for. The driver's own table is used even for a device that was declared lost: if its
 * threads still work, they must not run into the end of the process. */
static bool wait_for(const mica_queue *queue, double deadline) {
  const mica__cl_api *api = queue->engine->device.api;
  cl_event end = NULL;
  if (!queue->handle || api->EnqueueMarkerWithWaitList(queue->handle, 0, NULL, &end) != CL_SUCCESS) return true;
  cl_int state = CL_QUEUED;
  bool asked = api->Flush(queue->handle) == CL_SUCCESS, late = false;
  while (asked && !late) {
    asked = api->GetEventInfo(end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) == CL_SUCCESS;
    if (!asked || state <= CL_COMPLETE) break;
    nanosleep(&(struct timespec){.tv_nsec = POLL_NANOSECONDS}, NULL);
    late = mica__clock() > deadline;
  }
  api->ReleaseEvent(end);
  return !late;
}

bool mica__at_exit_wait(double seconds) {
  if (mica__cl_is_forked()) return true;
  const double deadline = mica__clock() + seconds;
  bool done = true;
  pthread_mutex_lock(&lock);
  for (mica_engine *engine = engines; engine && done; engine = engine->next) {
    pthread_mutex_lock(&engine->lock);
    for (const mica_queue *queue = engine->queues; queue && done; queue = queue->next) done = wait_for(queue, deadline);
    pthread_mutex_unlock(&engine->lock);
  }
  pthread_mutex_unlock(&lock);
  return done;
}
