/* labels: device
 *
 * A session whose kernels are built by several processes. The builder is this program again, started by a script that
 * names the cache in MICA_TEST_BUILDER, as the command `mica` would be. */
#include "runtime/builder.h"
#include "runtime/serve_builds.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 24, PROGRAMS = 4 }; /* a generated one and three of cl/ */

static const char *script(const char *name, const char *text) {
  files_write_text(name, text);
  ck_assert_int_eq(chmod(files_path(name), 0700), 0);
  return files_path(name);
}

static const char *working_builder(void) {
  static char text[8192];
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  ck_assert_int_gt(n, 0);
  self[n] = '\0';
  snprintf(text, sizeof text,
           "#!/bin/sh\necho \"$@\" >>%s\n[ \"$1 $2 $3 $5\" = 'cache build --device --directory' ] || exit 1\n"
           "MICA_DEVICE=$4 MICA_TEST_BUILDER=$6 exec '%s'\n",
           files_path("started"), self);
  return script("builder", text);
}

/* What the script starts. */
static void serve(const char *cache) {
  mica_engine *engine;
  mica_status status = mica_engine_create(&(mica_engine_config){.cache_dir = cache}, &engine);
  if (status == MICA_OK) {
    status = mica__engine_serve_builds(engine, STDIN_FILENO);
    mica_engine_destroy(engine);
  }
  if (status != MICA_OK) fprintf(stderr, "%s\n", mica_error_message());
  exit(status == MICA_OK ? 0 : 1);
}

static atomic_int left, told; /* programs, by mica_engine_config.compiling: those not compiled yet, and all */

static void count_programs(void *user, int programs) {
  ck_assert_ptr_eq(user, &left);
  atomic_fetch_add(&left, programs);
  if (programs > 0) atomic_fetch_add(&told, programs);
}

/* A session of several programs on an engine of its own, begun in an empty cache. */
static mica_stats compute(const char *builder, const char *cache, float result[N * N]) {
  mica_engine *engine;
  mica_graph *graph;
  mica_session *session;
  mica_tensor *x;
  static float values[N * N];
  for (int i = 0; i < N * N; i++) values[i] = (float)(i * 7919 % 1009) / 500.0f - 1.0f;
  const mica_engine_config config = {
      .cache_dir = cache, .builder = builder, .compiling = count_programs, .compiling_user = &left};
  atomic_store(&told, 0);
  ck_ok(mica_engine_create(&config, &engine));
  ck_ok(mica_graph_create(&graph));
  mica_value a = mica_input(graph, "a", MICA_F32, MICA_SHAPE(N, N));
  mica_value image = mica_reshape(mica_matmul(a, mica_exp(a)), MICA_SHAPE(1, 1, N, N));
  mica_value pooled = mica_max_pool(image, &(mica_pool_config){.size = {3, 3}, .pad = {1, 1}, .stride = {1, 1}});
  mica_value y = mica_softmax(mica_top_k(pooled, N, -1, false).values, -1);
  ck_ok(mica_session_create(engine, graph, &y, 1, NULL, &session));
  mica_graph_destroy(graph);
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(N, N), values, &x));
  ck_ok(mica_session_run(session, mica_engine_queue(engine), &(mica_feed){"a", x}, 1));
  ck_ok(
      mica_tensor_download(mica_engine_queue(engine), mica_session_output(session, 0), result, N * N * sizeof *result));
  mica_stats stats = mica_engine_stats(engine);
  test_count_launches(stats.launches);
  mica_tensor_destroy(x);
  mica_session_destroy(session);
  mica_engine_destroy(engine);
  ck_assert_int_eq(atomic_load(&left), 0);
  return stats;
}

static float wanted[N * N];
static uint64_t all_builds;

static void compute_alone(void) {
  all_builds = compute(NULL, files_path("plain"), wanted).kernel_builds;
  ck_assert_uint_ge(all_builds, PROGRAMS);
  ck_assert_uint_eq((unsigned)atomic_load(&told), all_builds);
}

static void check_same(const char *builder, const char *cache, mica_stats *stats) {
  float result[N * N];
  memset(result, 0xff, sizeof result);
  *stats = compute(builder, files_path(cache), result);
  ck_assert_mem_eq(result, wanted, sizeof wanted);
}

START_TEST(several_processes_build) {
  mica_stats stats = {0};
  char cache[16];
  /* On a busy machine everything may be built here before another process gets its turn. With one core nobody is
   * asked. */
  for (int i = 0; i < 10 && stats.cache_hits == 0; i++) {
    snprintf(cache, sizeof cache, "shared-%d", i);
    check_same(working_builder(), cache, &stats);
    ck_assert_uint_gt(stats.kernel_builds, 0);
    ck_assert_uint_eq(stats.kernel_builds + stats.cache_hits, all_builds);
    ck_assert_uint_ge((unsigned)atomic_load(&told), all_builds);
    if (access(files_path("started"), R_OK)) break;
  }
  ck_assert(stats.cache_hits > 0 || access(files_path("started"), R_OK));
  /* All of it is on disk now. */
  check_same(working_builder(), cache, &stats);
  ck_assert_uint_eq(stats.kernel_builds, 0);
  ck_assert_int_eq(atomic_load(&told), 0);
}
END_TEST

START_TEST(builders_that_fail_cost_time_only) {
  static const char *const texts[] = {
      "#!/bin/sh\nexit 1\n", "#!/bin/sh\nhead -c 8 >/dev/null\n", /* dies in the middle of a request */
      "#!/bin/sh\nprintf nonsense >&0\nexit\n",                   /* and one that answers with less than a key */
  };
  char cache[16];
  mica_stats stats;
  for (int i = 0; i < 3; i++) {
    snprintf(cache, sizeof cache, "alone-%d", i);
    check_same(script("bad", texts[i]), cache, &stats);
    ck_assert_uint_eq(stats.kernel_builds, all_builds);
  }
  check_same("/nowhere/mica", "alone-3", &stats);
  ck_assert_uint_eq(stats.kernel_builds, all_builds);
}
END_TEST

START_TEST(requests_are_checked) {
  int ends[2];
  uint64_t message[7] = {1, 2, 4, 4, 4, 1, UINT64_MAX}; /* a key, and how long the texts are */
  ck_assert_int_eq(mica__engine_serve_builds(NULL, 0), MICA_E_INVALID);
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(mica__engine_serve_builds(test_engine(), ends[0]), MICA_E_INVALID);
  close(ends[0]);
  close(ends[1]);
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ck_assert_int_eq(write(ends[0], message, sizeof message), sizeof message);
  ck_assert_int_eq(write(ends[0], "abc", 4), 4);
  ck_assert_int_eq(write(ends[0], "abcd", 4), 4); /* not terminated */
  shutdown(ends[0], SHUT_WR);
  ck_assert_int_eq(mica__engine_serve_builds(test_engine(), ends[1]), MICA_E_FORMAT);
  close(ends[0]);
  close(ends[1]);
}
END_TEST

START_TEST(what_does_not_build_is_answered) {
  static const char texts[] = "k\0k\0__kernel void k(__global int *y) { y[0] = nonsense; }\0\0";
  int ends[2];
  uint64_t message[7] = {1, 2, 2, 2, sizeof texts - 6, 1, 1};
  mica__hash made = {1, 1};
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ck_assert_int_eq(write(ends[0], message, sizeof message), sizeof message);
  ck_assert_int_eq(write(ends[0], texts, sizeof texts), sizeof texts);
  shutdown(ends[0], SHUT_WR);
  ck_ok(mica__engine_serve_builds(test_engine(), ends[1]));
  ck_assert_int_eq(recv(ends[0], &made, sizeof made, MSG_DONTWAIT), sizeof made);
  ck_assert(mica__hash_equal(made, (mica__hash){0}));
  close(ends[0]);
  close(ends[1]);
}
END_TEST

/* NULL, or what is missing. As a builder, which MICA_TEST_BUILDER says, the program does not return. */
static const char *lacks(void) {
  const char *cache = getenv("MICA_TEST_BUILDER");
  if (cache) serve(cache);
  return test_lacks_device();
}

TEST_GROUPS(lacks(), ONCE(compute_alone, files_remove, several_processes_build, builders_that_fail_cost_time_only,
                          requests_are_checked, what_does_not_build_is_answered))
