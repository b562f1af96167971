/* labels: device
 *
 * A process that ends with work queued waits for that work, so that its exit status is its own, but not for ever. */
#include "base/clock.h"
#include "runtime/at_exit.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 120 /* after which a process that hangs is ended */
#define N 256
#define NO_DEVICE 77

/* The body in a child; a signal that ends it counts as 128 and its number. */
static int in_child(int (*body)(void)) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    exit(body());
  }
  int state = 0;
  if (child < 0 || waitpid(child, &state, 0) != child) return -1;
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

static long pause_milliseconds;

/* Kernels that no cache has, queued and not waited for. */
static int end_with_work_queued(void) {
  mica_engine *engine = NULL;
  mica_tensor *a = NULL, *d = NULL;
  setenv("POCL_CACHE_DIR", files_path("pocl"), 1);
  mica_status status = mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine);
  if (status == MICA_E_NO_DEVICE) return NO_DEVICE;
  if (status == MICA_OK) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(N, N), &a);
  if (status == MICA_OK) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(N, N), &d);
  if (status == MICA_OK) status = mica_op_fill(mica_engine_queue(engine), 1, a);
  if (status == MICA_OK) status = mica_op_gemm(mica_engine_queue(engine), NULL, a, a, NULL, NULL, d);
  if (status == MICA_OK) status = mica_queue_flush(mica_engine_queue(engine));
  /* The compiler's statics are made one after another, while it works. */
  nanosleep(&(struct timespec){.tv_nsec = pause_milliseconds * 1000000L}, NULL);
  return status == MICA_OK ? 7 : 1;
}

START_TEST(the_exit_status_is_the_programs_own) {
  for (pause_milliseconds = 0; pause_milliseconds <= 600; pause_milliseconds += 300) {
    (void)files_folder(); /* made here, so that it can be removed here */
    int got = in_child(end_with_work_queued);
    files_remove();
    if (got != NO_DEVICE) ck_assert_int_eq(got, 7);
  }
}
END_TEST

/* --- a device that takes its time --- */

static int polls_left;

static CL_API_ENTRY cl_int CL_API_CALL slow_GetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                                                         size_t *used) {
  (void)event, (void)what, (void)size, (void)used;
  *(cl_int *)value = polls_left-- > 0 ? CL_RUNNING : CL_COMPLETE;
  return CL_SUCCESS;
}

START_TEST(the_wait_ends_with_the_work_or_with_its_time) {
  mica_engine *engine = NULL;
  ck_assert(mica__at_exit_wait(0)); /* no engine, nothing to wait for */
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  ck_assert(mica__at_exit_wait(0));
  const mica__cl_api *real = engine->device.api;
  mica__cl_api slow = *real;
  slow.GetEventInfo = slow_GetEventInfo;
  engine->device.api = &slow;
  polls_left = 20;
  ck_assert(mica__at_exit_wait(SECONDS));
  ck_assert_int_lt(polls_left, 0);
  polls_left = INT32_MAX;
  double begin = mica__clock();
  ck_assert(!mica__at_exit_wait(0.1));
  ck_assert_double_ge(mica__clock() - begin, 0.1);
  ck_assert_double_lt(mica__clock() - begin, SECONDS);
  engine->device.api = real;
  mica_engine_destroy(engine);
  ck_assert(mica__at_exit_wait(0));
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, the_exit_status_is_the_programs_own, the_wait_ends_with_the_work_or_with_its_time)
