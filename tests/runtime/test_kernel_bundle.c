/* labels: device single
 *
 * Bundles of generated kernels: one program of what no stored program has, and whatever happened to the cache costs a
 * compilation, never a result. */
#include "runtime/kernel_bundle.h"
#include "runtime/launch.h"
#include "runtime/program.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_api.h"

#include <dirent.h>
#include <mica/cache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char cache[4096];

static void begin(void) {
  size_t cleared;
  snprintf(cache, sizeof cache, "%s/bundles", getenv("MICA_BUILD_DIR"));
  ck_ok(mica_cache_clear(cache, &cleared));
}

static mica_engine *open_engine(void) {
  mica_engine *engine;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = cache}, &engine));
  return engine;
}

static void close_engine(mica_engine *engine) {
  ck_ok(mica_queue_finish(mica_engine_queue(engine)));
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
}

/* The text of a kernel "give", whose value is what STEP is in it. */
static const char *text_of(int value) {
  static char text[300];
  snprintf(text, sizeof text,
           "#include \"common/dtype.clh\"\n#undef STEP\n#define STEP %d\n"
           "__kernel void give(__global int *x, const long x_at) { x[x_at] = STEP; }",
           value);
  return text;
}

/* Builds kernels "give" of these values together, a 0 ends them. */
static mica_status build(mica_engine *engine, const int *values) {
  mica__kernel_bundle bundle = {0};
  mica_status status = MICA_OK;
  for (; *values && status == MICA_OK; values++) status = mica__kernel_bundle_add(&bundle, "give", text_of(*values));
  if (status == MICA_OK) status = mica__kernel_bundle_build(engine, &bundle);
  mica__kernel_bundle_free(&bundle);
  return status;
}

/* Runs each of them and looks at what it gives: MICA_E_NUMERIC when that is another's value. */
static mica_status run(mica_engine *engine, const int *values) {
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *x = NULL;
  mica_status status = mica_tensor_create(engine, MICA_I32, MICA_SHAPE(1), &x);
  for (; *values && status == MICA_OK; values++) {
    int32_t value = 0;
    mica__kernel *kernel = NULL;
    status = mica__kernel_get_generated(engine, "give", text_of(*values), &kernel);
    if (status != MICA_OK) break;
    ck_assert_str_eq(mica__kernel_name(kernel), "give");
    mica__launch launch = mica__launch_of(kernel);
    mica__launch_tensor(&launch, x);
    mica__launch_range1(&launch, 1, 1);
    status = mica__queue_submit(queue, &launch);
    if (status == MICA_OK) status = mica_tensor_download(queue, x, &value, sizeof value);
    if (status == MICA_OK && value != *values) status = MICA_E_NUMERIC;
  }
  mica_tensor_destroy(x);
  return status;
}

/* What one engine compiles for a bundle, and loads. */
static void expect(const int *values, uint64_t builds, uint64_t hits) {
  mica_engine *engine = open_engine();
  ck_ok(build(engine, values));
  ck_ok(build(engine, values));
  ck_ok(run(engine, values));
  const mica_stats stats = mica_engine_stats(engine);
  ck_assert_uint_eq(stats.kernel_builds, builds);
  ck_assert_uint_eq(stats.cache_hits, hits);
  close_engine(engine);
}

#define OF(...) ((const int[]){__VA_ARGS__, 0})

START_TEST(a_bundle_is_one_program) {
  expect(OF(7, 8, 7, 8), 1, 0);
  expect(OF(7, 8), 0, 1);
}
END_TEST

START_TEST(what_stored_programs_have_is_not_compiled) {
  expect(OF(1, 2, 3), 1, 0);
  expect(OF(2), 0, 1);
  expect(OF(2, 4), 1, 1); /* 4 alone becomes a program */
  expect(OF(4, 3, 1), 0, 2);
  expect(OF(5, 6), 1, 0);
  expect(OF(6, 5, 4, 3, 2, 1), 0, 3);
}
END_TEST

START_TEST(what_an_engine_has_is_not_compiled) {
  mica_engine *engine;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  ck_ok(build(engine, OF(1, 2)));
  ck_ok(build(engine, OF(2, 1)));
  ck_assert_uint_eq(mica_engine_stats(engine).kernel_builds, 1);
  ck_ok(build(engine, OF(3, 2)));
  ck_assert_uint_eq(mica_engine_stats(engine).kernel_builds, 2);
  ck_ok(run(engine, OF(1, 2, 3)));
  close_engine(engine);
}
END_TEST

/* Calls do with the path of every file of the cache whose name ends so; how many there are. */
static int each_file(const char *ending, void (*change)(const char *path)) {
  char path[5000];
  int count = 0;
  snprintf(path, sizeof path, "%s/programs", cache);
  DIR *stream = opendir(path);
  ck_assert_ptr_nonnull(stream);
  for (const struct dirent *entry; (entry = readdir(stream));) {
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot || strcmp(dot, ending) != 0) continue;
    snprintf(path, sizeof path, "%s/programs/%.200s", cache, entry->d_name);
    if (change) change(path);
    count++;
  }
  closedir(stream);
  return count;
}

static void cut(const char *path) { ck_assert_int_eq(truncate(path, 1000), 0); }
static void delete (const char *path) { ck_assert_int_eq(unlink(path), 0); }

static void flip(const char *path) {
  FILE *file = fopen(path, "r+b");
  ck_assert_ptr_nonnull(file);
  fseek(file, -100, SEEK_END);
  int byte = fgetc(file);
  fseek(file, -1, SEEK_CUR);
  fputc(byte ^ 16, file);
  fclose(file);
}

static void mislead(const char *path) {
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(symlink("/etc/passwd", path), 0);
}

START_TEST(damage_costs_a_compilation) {
  void (*const changes[])(const char *path) = {cut, flip, delete};
  expect(OF(1, 2), 1, 0);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    ck_assert_int_eq(each_file(".bin", changes[i]), 1);
    expect(OF(1, 2), 1, 0);
    expect(OF(2), 0, 1);
  }
  ck_assert_int_eq(each_file(".kernel", mislead), 2);
  expect(OF(2, 1), 1, 0); /* in another order they are another program */
  expect(OF(1, 2), 0, 1);
  ck_assert_int_eq(each_file(".kernel", delete), 2);
  expect(OF(1, 2), 0, 1); /* by its key */
}
END_TEST

static char linked[2][5000];
static int links;
static void note(const char *path) { snprintf(linked[links++ % 2], sizeof linked[0], "%s", path); }

/* Links that were swapped: each names a sound program which does not offer the kernel. */
START_TEST(a_link_is_confirmed_by_its_program) {
  char targets[2][64] = {{0}};
  expect(OF(1), 1, 0);
  expect(OF(2), 1, 0);
  ck_assert_int_eq(each_file(".kernel", note), 2);
  for (int i = 0; i < 2; i++) ck_assert_int_gt(readlink(linked[i], targets[i], sizeof targets[i] - 1), 0);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(unlink(linked[i]), 0);
    ck_assert_int_eq(symlink(targets[1 - i], linked[i]), 0);
  }
  expect(OF(1, 2), 1, 0);
  expect(OF(2, 1), 0, 1);
}
END_TEST

/* Every OpenCL call fails in turn while kernels come from two stored programs and a new one. */
START_TEST(each_call_fails) {
  static const cl_int errors[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_INVALID_BINARY};
  size_t cleared;
  fault_install(mica__cl_loader());
  for (unsigned n = 1;; n++) {
    ck_ok(mica_cache_clear(cache, &cleared));
    mica_engine *engine = open_engine();
    ck_ok(build(engine, OF(1, 2)));
    ck_ok(run(engine, OF(1, 2)));
    close_engine(engine);
    engine = open_engine();
    fault_arm(FAULT_ANY, n, errors[n % 3]);
    mica_status status = build(engine, OF(2, 3));
    if (status == MICA_OK) status = run(engine, OF(2, 3));
    const fault_call failed = fault_fired();
    ck_assert_msg(status == MICA_OK || (failed != FAULT_CALL_COUNT && status != MICA_E_NUMERIC), "%s (call %u): %s",
                  fault_call_name(failed), n, mica_error_message());
    fault_arm(FAULT_ANY, 0, 0);
    ck_ok(build(engine, OF(1, 2, 3)));
    ck_ok(run(engine, OF(1, 2, 3)));
    close_engine(engine);
    ck_assert_msg(fault_live() == 0, "call %u leaks %s", n, fault_live_text());
    if (failed == FAULT_CALL_COUNT) {
      ck_assert_uint_gt(n, 20);
      break;
    }
  }
  fault_remove();
}
END_TEST

/* A bound of a kilobyte deletes what was stored, and its links with it. */
START_TEST(links_go_with_their_program) {
  mica_engine *engine;
  size_t cleared;
  expect(OF(1, 2), 1, 0);
  ck_assert_int_eq(each_file(".kernel", NULL), 2);
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = cache, .cache_bytes = 1000}, &engine));
  ck_ok(build(engine, OF(3)));
  ck_ok(run(engine, OF(3)));
  close_engine(engine);
  ck_assert_int_eq(each_file(".bin", NULL), 0);
  ck_assert_int_eq(each_file(".kernel", NULL), 0);
  expect(OF(1, 2), 1, 0);
  ck_ok(mica_cache_clear(cache, &cleared));
  ck_assert_uint_eq(cleared, 1);
  ck_assert_int_eq(each_file(".kernel", NULL), 0);
}
END_TEST

TESTS(DEVICE, begin, NULL, a_bundle_is_one_program, what_stored_programs_have_is_not_compiled,
      what_an_engine_has_is_not_compiled, damage_costs_a_compilation, a_link_is_confirmed_by_its_program,
      links_go_with_their_program, each_call_fails)
