/* labels: null
 *
 * Every allocation of a small run fails once: the run ends in a status, nothing leaks, and the engine does the next
 * run. On the null device, whose OpenCL objects are allocations of Mica's own too. The linker puts the functions below
 * in the place of the C library's (see tests/CMakeLists.txt), in this program's own code and Mica's alone. */
#include "runtime/kernel_source.h"
#include "runtime/program_file.h"
#include "support/check_main.h"
#include "support/small_run.h"

#include <mica/cache.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned remaining; /* allocations until the one that fails; 0 for none */
static bool failed;
static long live;

static bool fails(void) {
  if (remaining == 0 || --remaining > 0) return false;
  failed = true;
  return true;
}

#define WRAP(name, parameters, arguments)                                                                              \
  void *__real_##name parameters;                                                                                      \
  void *__wrap_##name parameters;                                                                                      \
  void *__wrap_##name parameters {                                                                                     \
    void *made = fails() ? NULL : __real_##name arguments;                                                             \
    live += made != NULL;                                                                                              \
    return made;                                                                                                       \
  }
WRAP(malloc, (size_t n), (n))
WRAP(calloc, (size_t n, size_t size), (n, size))
WRAP(aligned_alloc, (size_t alignment, size_t n), (alignment, n))

void *__real_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n) {
  void *made = fails() ? NULL : __real_realloc(old, n);
  live += made != NULL && old == NULL;
  return made;
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  live -= memory != NULL;
  __real_free(memory);
}

static char folder[4096], trace[4200];

static void begin(void) {
  snprintf(folder, sizeof folder, "%s/host-memory", getenv("MICA_CACHE_DIR"));
  snprintf(trace, sizeof trace, "%s/host-memory.json", getenv("MICA_CACHE_DIR"));
}

static void arm(unsigned n) {
  failed = false;
  remaining = n;
}

/* It allocates with Mica alone: Check, which is linked statically, would be counted with it. */
typedef mica_status operation(void);

/* Runs it with the n-th allocation failing, for every n. It may do without, as the cache does, but then wholly. */
static void fail_each(operation *run, unsigned at_least) {
  unsigned n = 1;
  for (;; n++) {
    long before = live;
    arm(n);
    mica_status status = run();
    bool one_failed = failed;
    arm(0);
    ck_assert_msg(live == before, "allocation %u: %ld pieces leak", n, live - before);
    if (!one_failed) {
      ck_assert_msg(status == MICA_OK, "%s", mica_error_message());
      break;
    }
    ck_assert_msg(status == MICA_OK || status == MICA_E_NOMEM || status == MICA_E_DEVICE_MEMORY, "allocation %u: %s", n,
                  mica_error_message());
    if (status != MICA_OK) ck_assert_uint_gt(strlen(mica_error_message()), 10);
  }
  ck_assert_uint_gt(n, at_least);
}

static mica_status run_all(void) {
  mica_engine *engine = NULL;
  mica_status status = mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = folder}, &engine);
  if (status == MICA_OK) status = small_run(engine, false, trace);
  /* E_IO is none of the statuses that are expected here. */
  if (engine && failed && small_run(engine, false, trace) != MICA_OK) status = MICA_E_IO;
  mica_engine_destroy(engine);
  return status;
}

START_TEST(of_a_small_run) { fail_each(run_all, 30); }
END_TEST

static mica_status expand(void) {
  mica__text text = {0};
  mica_status status = mica__kernel_source_expand("matmul/gemm_gpu.cl", &text);
  mica__text_free(&text);
  return status;
}

START_TEST(of_reading_a_kernel) { fail_each(expand, 4); }
END_TEST

static mica_status expand_from_disk(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/cl", getenv("MICA_SOURCE_DIR"));
  setenv("MICA_KERNEL_DIR", path, 1);
  mica_status status = expand();
  unsetenv("MICA_KERNEL_DIR");
  return status;
}

START_TEST(of_reading_a_kernel_from_disk) { fail_each(expand_from_disk, 8); }
END_TEST

static void count_entry(void *user, const mica_cache_entry *entry) {
  (void)entry;
  ++*(int *)user;
}

static mica_status use_cache(void) {
  static unsigned char content[100];
  const mica__hash key = {.low = 1};
  mica__program_binary binary = {.data = content, .size = sizeof content};
  int entries = 0;
  size_t cleared;
  char *path = NULL;
  MICA_TRY(mica_cache_path(folder, &path));
  mica_status status = mica__program_file_store(path, key, "program: x\n", &binary, 1 << 20);
  if (status == MICA_OK) status = mica__program_file_load(path, key, "program: x\n", &binary);
  if (status == MICA_OK) free(binary.data);
  if (status == MICA_OK) status = mica_cache_list(path, count_entry, &entries);
  if (status == MICA_OK) status = mica_cache_clear(path, &cleared);
  mica_free(path);
  return status;
}

START_TEST(of_the_cache) { fail_each(use_cache, 4); }
END_TEST

static mica_status choose_device(void) {
  mica_device_info info;
  return mica_device_find("null", &info);
}

START_TEST(of_choosing_a_device) { fail_each(choose_device, 3); }
END_TEST

Suite *test_suite(void) {
  begin();
  Suite *suite = suite_create("host memory");
  TCase *cases = tcase_create("fails");
  tcase_add_test(cases, of_a_small_run);
  tcase_add_test(cases, of_reading_a_kernel);
  tcase_add_test(cases, of_reading_a_kernel_from_disk);
  tcase_add_test(cases, of_the_cache);
  tcase_add_test(cases, of_choosing_a_device);
  suite_add_tcase(suite, cases);
  return suite;
}
