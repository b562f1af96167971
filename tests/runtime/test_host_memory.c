/* labels: null
 *
 * Every allocation of a small run fails once: the run ends in a status, nothing leaks, and the engine does the next
 * run. On the null device, whose OpenCL objects are allocations of Mica's own too. */
#include "runtime/kernel_source.h"
#include "runtime/program_file.h"
#include "support/check_main.h"
#include "support/fault_libc.h"
#include "support/small_run.h"

#include <mica/cache.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[4096], trace[4200];

static void begin(void) {
  snprintf(folder, sizeof folder, "%s/host-memory", getenv("MICA_BUILD_DIR"));
  snprintf(trace, sizeof trace, "%s/host-memory.json", getenv("MICA_BUILD_DIR"));
}

static mica_status run_all(void *user) {
  (void)user;
  mica_engine *engine = NULL;
  mica_status status = mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = folder}, &engine);
  if (status == MICA_OK) status = small_run(engine, false, trace);
  /* E_IO is none of the statuses that are expected here. */
  if (engine && fault_libc_fired() && small_run(engine, false, trace) != MICA_OK) status = MICA_E_IO;
  mica_engine_destroy(engine);
  return status;
}

START_TEST(of_a_small_run) { fault_libc_each(FAULT_MEMORY, run_all, NULL, 30); }
END_TEST

static mica_status expand(void *user) {
  (void)user;
  mica__text text = {0};
  mica_status status = mica__kernel_source_expand("matmul/gpu/tile.cl", &text);
  mica__text_free(&text);
  return status;
}

START_TEST(of_reading_a_kernel) { fault_libc_each(FAULT_MEMORY, expand, NULL, 4); }
END_TEST

static mica_status expand_from_disk(void *user) {
  (void)user;
  char path[4096];
  snprintf(path, sizeof path, "%s/cl", getenv("MICA_SOURCE_DIR"));
  setenv("MICA_KERNEL_DIR", path, 1);
  mica_status status = expand(NULL);
  unsetenv("MICA_KERNEL_DIR");
  return status;
}

START_TEST(of_reading_a_kernel_from_disk) { fault_libc_each(FAULT_MEMORY, expand_from_disk, NULL, 8); }
END_TEST

static void count_entry(void *user, const mica_cache_entry *entry) {
  (void)entry;
  ++*(int *)user;
}

static mica_status use_cache(void *user) {
  (void)user;
  static unsigned char content[100];
  const mica__hash key = {.low = 1};
  mica__program_binary binary = {.data = content, .size = sizeof content};
  int entries = 0;
  size_t cleared;
  char *path = NULL;
  MICA_TRY(mica_cache_path(folder, &path));
  const mica__hash kernel = {.low = 3, .high = 4};
  const char *text = "program: x\nkernel 00000000000000040000000000000003: k\n";
  mica__program_found found = {0};
  mica_status status = mica__program_file_store(path, key, text, &binary, 1 << 20);
  if (status == MICA_OK) status = mica__program_file_load(path, key, text, &binary);
  if (status == MICA_OK) free(binary.data);
  if (status == MICA_OK) status = mica__program_file_load_holder(path, key, kernel, &found);
  free(found.file);
  if (status == MICA_OK) status = mica_cache_list(path, count_entry, &entries);
  if (status == MICA_OK) status = mica_cache_clear(path, &cleared);
  mica_free(path);
  return status;
}

START_TEST(of_the_cache) { fault_libc_each(FAULT_MEMORY, use_cache, NULL, 4); }
END_TEST

static mica_status choose_device(void *user) {
  (void)user;
  mica_device_info info;
  return mica_device_find("null", &info);
}

START_TEST(of_choosing_a_device) { fault_libc_each(FAULT_MEMORY, choose_device, NULL, 3); }
END_TEST

TEST_GROUPS(ANYWHERE, ONCE(begin, NULL, of_a_small_run, of_reading_a_kernel, of_reading_a_kernel_from_disk,
                           of_the_cache, of_choosing_a_device))
