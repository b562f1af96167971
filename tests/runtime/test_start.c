/* labels: device
 *
 * The drivers' own start: first engines made by several threads at once, before and after a fork, and with a driver's
 * cache that cannot be written. Each case runs in a process that has not called OpenCL yet. MICA_TEST_STARTS says how
 * many processes the first case takes; 10 by default. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/ops.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define SECONDS 60 /* after which a process that hangs is ended; the slowest takes 2 */

enum { RIGHT, WRONG, NO_DEVICE = 77 };

/* Runs the function in a child; a signal that ends the child counts as 128 and its number, a child that cannot be
 * made as -1. */
static int in_child(int (*body)(void *), void *context) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    exit(body(context));
  }
  int state = 0;
  if (child < 0 || waitpid(child, &state, 0) != child) return -1;
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

static int complain(const char *where) {
  fprintf(stderr, "%s: %s\n", where, mica_error_message());
  return WRONG;
}

/* Fills 1000 elements on the device and reads them back. */
static int compute(mica_engine *engine) {
  float values[1000] = {0};
  mica_tensor *tensor = NULL;
  mica_queue *queue = mica_engine_queue(engine);
  if (mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1000), &tensor) != MICA_OK) return complain("tensor");
  mica_status status = mica_op_fill(queue, 3, tensor);
  if (status == MICA_OK) status = mica_tensor_download(queue, tensor, values, sizeof values);
  mica_tensor_destroy(tensor);
  if (status != MICA_OK) return complain("computing");
  for (int i = 0; i < 1000; i++)
    if (values[i] != 3) return WRONG;
  return RIGHT;
}

static int make_and_compute(void *context) {
  (void)context;
  mica_engine *engine = NULL;
  mica_status status = mica_engine_create(NULL, &engine);
  if (status != MICA_OK) return status == MICA_E_NO_DEVICE ? NO_DEVICE : complain("making an engine");
  int result = compute(engine);
  mica_engine_destroy(engine);
  return result;
}

static void *first_engine(void *arg) {
  pthread_barrier_t *start = arg;
  size_t count = 0;
  pthread_barrier_wait(start);
  if (mica_device_list(NULL, 0, &count) != MICA_OK || count == 0) return "no device is listed";
  return make_and_compute(NULL) == RIGHT ? NULL : "an engine failed";
}

static int eight_first_engines(void *context) {
  (void)context;
  pthread_barrier_t start;
  pthread_t threads[THREADS];
  int result = RIGHT;
  pthread_barrier_init(&start, NULL, THREADS);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, first_engine, &start)) return WRONG;
  for (int i = 0; i < THREADS; i++) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    if (wrong) fprintf(stderr, "thread %d: %s\n", i, (const char *)wrong), result = WRONG;
  }
  return result;
}

START_TEST(any_thread_may_make_the_first_engine) {
  const char *wanted = getenv("MICA_TEST_STARTS");
  int processes = wanted ? atoi(wanted) : 10, right = 0;
  for (int i = 0; i < processes; i++) right += in_child(eight_first_engines, NULL) == RIGHT;
  ck_assert_msg(right == processes, "%d of %d processes were right", right, processes);
}
END_TEST

#define FORKED(call) (status = (call), status == MICA_E_STATE && strstr(mica_error_message(), "fork"))

/* In a child of the process that made the engine: calls that would wait for threads which are not there answer. */
static int use_after_fork(void *context) {
  mica_engine *engine = context, *another = NULL;
  mica_queue *queue = mica_engine_queue(engine), *second = NULL;
  mica_tensor *tensor = NULL;
  mica_status status = MICA_OK;
  size_t count = 0;
  float one = 1;
  if (!FORKED(mica_engine_create(NULL, &another))) return complain("a second engine");
  if (!FORKED(mica_device_list(NULL, 0, &count))) return complain("listing devices");
  if (!FORKED(mica_queue_create(engine, &second))) return complain("a second queue");
  if (!FORKED(mica_queue_finish(queue))) return complain("waiting");
  if (!FORKED(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(1), &one, &tensor))) return complain("an upload");
  /* Memory comes from the pool, if there is some, and else not. */
  status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1000), &tensor);
  if (status == MICA_OK && !FORKED(mica_op_fill(queue, 3, tensor))) return complain("a launch");
  mica_tensor_destroy(tensor);
  const mica_engine_config without_device = {.device = "null"};
  if (mica_engine_create(&without_device, &another) != MICA_OK) return complain("the null device");
  mica_engine_destroy(another);
  mica_engine_destroy(engine);
  return RIGHT;
}

static int fork_with_an_engine(void *context) {
  (void)context;
  mica_engine *engine = NULL;
  if (mica_engine_create(NULL, &engine) != MICA_OK) return complain("making an engine");
  int before = compute(engine), in_fork = in_child(use_after_fork, engine), after = compute(engine);
  mica_engine_destroy(engine);
  if (before || in_fork || after) fprintf(stderr, "before %d, in the fork %d, after %d\n", before, in_fork, after);
  return before || in_fork || after ? WRONG : RIGHT;
}

START_TEST(an_engine_does_not_survive_a_fork) { ck_assert_int_eq(in_child(fork_with_an_engine, NULL), RIGHT); }
END_TEST

static int fork_without_an_engine(void *context) {
  int in_fork = in_child(make_and_compute, context), here = make_and_compute(context);
  return in_fork || here ? WRONG : RIGHT;
}

START_TEST(a_fork_before_the_first_engine_changes_nothing) {
  ck_assert_int_eq(in_child(fork_without_an_engine, NULL), RIGHT);
}
END_TEST

static char warnings[4096];

static void keep_warning(void *user, mica_log_level level, const char *message) {
  (void)user, (void)level;
  strncat(warnings, message, sizeof warnings - strlen(warnings) - 1);
}

typedef struct cache_case {
  const char *own, *xdg, *home, *temporary; /* POCL_CACHE_DIR, XDG_CACHE_HOME, HOME, TMPDIR; NULL: not set */
  const char *named;                        /* by the warning */
  const char *instead;                      /* POCL_CACHE_DIR afterwards begins so */
} cache_case;

static void set(const char *name, const char *value) { value ? setenv(name, value, 1) : unsetenv(name); }

/* Makes an engine and a kernel that no cache holds, with the driver's cache where nothing can be written. */
static int without_driver_cache(void *context) {
  const cache_case *c = context;
  mica_engine *engine = NULL;
  set("POCL_CACHE_DIR", c->own);
  set("XDG_CACHE_HOME", c->xdg);
  set("HOME", c->home);
  set("TMPDIR", c->temporary);
  mica_log_set(MICA_LOG_LEVEL_WARNING, keep_warning, NULL);
  const mica_engine_config config = {.cache_dir = ""};
  if (mica_engine_create(&config, &engine) != MICA_OK) return complain("making an engine");
  int result = compute(engine);
  bool is_pocl = strstr(mica_engine_device(engine)->platform, "Portable Computing Language") != NULL;
  mica_engine_destroy(engine);
  const char *now = getenv("POCL_CACHE_DIR");
  if (is_pocl && (!strstr(warnings, c->named) || !now || strncmp(now, c->instead, strlen(c->instead)) != 0)) {
    fprintf(stderr, "POCL_CACHE_DIR is %s; the log says: %s\n", now ? now : "not set", warnings);
    return WRONG;
  }
  return result;
}

/* A folder of the system's, paths below a file, and a name that PoCL aborts at. */
static const cache_case cache_cases[] = {
    {.own = "/proc", .named = "\"/proc\"", .instead = "/tmp/mica-pocl-"},
    {.own = "/dev/null/pocl", .named = "\"/dev/null/pocl\"", .instead = "/tmp/mica-pocl-"},
    {.own = "", .named = "\"\"", .instead = "/tmp/mica-pocl-"},
    {.xdg = "/dev/null", .home = "/", .named = "\"/dev/null/pocl/kcache\"", .instead = "/tmp/mica-pocl-"},
    {.xdg = "", .home = "/dev/null", .named = "\"/dev/null/.cache/pocl/kcache\"", .instead = "/tmp/mica-pocl-"},
};

START_TEST(a_driver_cache_that_cannot_be_written_costs_time_alone) {
  ck_assert_int_eq(in_child(without_driver_cache, (void *)&cache_cases[_i]), RIGHT);
}
END_TEST

/* Where the folder of temporary files cannot be written either, the warning says that PoCL will fail, and the
 * environment is as it was. */
static int without_any_cache(void *context) {
  (void)context;
  size_t count = 0;
  set("POCL_CACHE_DIR", "/dev/null/pocl");
  set("TMPDIR", "/proc");
  mica_log_set(MICA_LOG_LEVEL_WARNING, keep_warning, NULL);
  if (mica_device_list(NULL, 0, &count) != MICA_OK) return complain("listing devices");
  if (strcmp(getenv("POCL_CACHE_DIR"), "/dev/null/pocl") != 0) return WRONG;
  return !*warnings || strstr(warnings, "expect it to fail") ? RIGHT : WRONG;
}

START_TEST(where_nothing_can_be_written_the_log_says_so) { ck_assert_int_eq(in_child(without_any_cache, NULL), RIGHT); }
END_TEST

/* What is left of an engine must not be used; the log tells of it. */
static int leave_a_tensor(void *context) {
  (void)context;
  mica_engine *engine = NULL;
  mica_tensor *tensor = NULL;
  mica_log_set(MICA_LOG_LEVEL_WARNING, keep_warning, NULL);
  if (mica_engine_create(&(mica_engine_config){.device = "null"}, &engine) != MICA_OK ||
      mica_tensor_create(engine, MICA_F32, MICA_SHAPE(100), &tensor) != MICA_OK)
    return complain("making a tensor");
  mica_engine_destroy(engine);
  return strstr(warnings, "bytes of buffers are left") ? RIGHT : WRONG;
}

START_TEST(what_outlives_its_engine_is_told) { ck_assert_int_eq(in_child(leave_a_tensor, NULL), RIGHT); }
END_TEST

/* Asked in a child, so that the first engine of a process is left to the tests. */
static const char *lacks_device(void) {
  if (in_child(make_and_compute, NULL) == NO_DEVICE) return "no device";
  test_count_launches(1);
  return NULL;
}

TESTS(lacks_device(), NULL, NULL, any_thread_may_make_the_first_engine, an_engine_does_not_survive_a_fork,
      a_fork_before_the_first_engine_changes_nothing,
      LOOP(a_driver_cache_that_cannot_be_written_costs_time_alone, 0, sizeof cache_cases / sizeof *cache_cases),
      where_nothing_can_be_written_the_log_says_so, what_outlives_its_engine_is_told)
