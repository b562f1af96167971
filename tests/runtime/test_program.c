/* labels: device single
 *
 * Compiled kernels kept on disk, as engines see them: a second start compiles nothing, and whatever happened to the
 * cache in between costs time, never a result. A start is a process of its own, since drivers remember: this program
 * again, with the cache's folder in MICA_TEST_START. */
#include "runtime/launch.h"
#include "runtime/program_file.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <dirent.h>
#include <ftw.h>
#include <mica/cache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAMS 2 /* that one start compiles */
#define N 1000

static const char source[] = "__kernel void count(__global float *y, const long y_at, const int n) {\n"
                             "  const int i = get_global_id(0);\n"
                             "  if (i < n) y[y_at + i] = (OFFSET > 1 ? y[y_at + i] : i) + OFFSET;\n"
                             "}\n";

static mica_status count(mica_engine *engine, const char *options, mica_tensor *y, size_t group) {
  mica__kernel *kernel;
  mica_status status = mica__kernel_get_source(engine, "count", source, options, &kernel);
  if (status != MICA_OK) return status;
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, y);
  mica__launch_size(&launch, N);
  mica__launch_range1(&launch, N, group);
  return mica__queue_submit(mica_engine_queue(engine), &launch);
}

/* y = i + 1 + 5. One program runs, is stored, and then runs with another group size: that code must not be lost. */
static mica_status compute(mica_engine *engine, float *host) {
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *y = NULL;
  mica_status status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(N), &y);
  if (status == MICA_OK) status = count(engine, "-DOFFSET=1", y, 16);
  if (status == MICA_OK) status = mica_queue_finish(queue);
  if (status == MICA_OK) status = count(engine, "-DOFFSET=1", y, 32);
  if (status == MICA_OK) status = count(engine, "-DOFFSET=5", y, 8);
  if (status == MICA_OK) status = mica_tensor_download(queue, y, host, N * sizeof *host);
  mica_tensor_destroy(y);
  return status;
}

/* What a start is: prints what it did, and ends with status 0 when its results are right. */
static int start(const char *cache) {
  static float host[N];
  mica_engine *engine;
  const char *limit = getenv("MICA_TEST_LIMIT");
  mica_engine_config config = {.cache_dir = cache, .cache_bytes = limit ? strtoul(limit, NULL, 10) : 0};
  mica_status status = mica_engine_create(&config, &engine);
  if (status == MICA_OK) {
    status = compute(engine, host);
    mica_stats stats = mica_engine_stats(engine);
    printf("%d %d %d\n", (int)stats.kernel_builds, (int)stats.cache_hits, (int)stats.launches);
    mica_engine_destroy(engine);
  }
  if (status != MICA_OK) fprintf(stderr, "%s\n", mica_error_message());
  int wrong = 0;
  for (int i = 0; i < N; i++) wrong += host[i] != (float)(i + 6);
  if (wrong) fprintf(stderr, "%d results are wrong\n", wrong);
  return status == MICA_OK && wrong == 0 ? 0 : 1;
}

typedef struct outcome {
  int builds, hits, launches;
} outcome;

static char folder[4096]; /* of this test: cache/ and driver/ are in it */

static char *in_folder(const char *name) {
  static char path[4400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static FILE *begin_start(const char *cache) {
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  ck_assert_int_gt(n, 0);
  self[n] = '\0';
  setenv("MICA_TEST_START", cache, 1);
  FILE *pipe = popen(self, "r");
  unsetenv("MICA_TEST_START");
  ck_assert_ptr_nonnull(pipe);
  return pipe;
}

static outcome end_start(FILE *pipe) {
  outcome seen = {-1, -1, -1};
  int fields = fscanf(pipe, "%d %d %d", &seen.builds, &seen.hits, &seen.launches);
  ck_assert_int_eq(pclose(pipe), 0);
  ck_assert_int_eq(fields, 3);
  test_count_launches((uint64_t)seen.launches);
  return seen;
}

static outcome start_in(const char *cache) { return end_start(begin_start(cache)); }

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *level) {
  (void)about, (void)type, (void)level;
  return remove(path);
}

static void remove_all(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

/* From here on the driver knows nothing, where its cache is one that we can move. */
static void forget_driver(void) {
  remove_all(in_folder("driver"));
  ck_assert_int_eq(mkdir(in_folder("driver"), 0777), 0);
}

static char *kept_driver_cache;

static void begin(void) {
  snprintf(folder, sizeof folder, "%s/programs-XXXXXX", getenv("MICA_CACHE_DIR"));
  ck_assert_ptr_nonnull(mkdtemp(folder));
  const char *driver_cache = getenv("POCL_CACHE_DIR");
  ck_assert_ptr_nonnull(driver_cache);
  kept_driver_cache = strdup(driver_cache);
  setenv("POCL_CACHE_DIR", in_folder("driver"), 1);
  /* As PoCL is by itself: its binaries get more code as kernels run. */
  setenv("POCL_WORK_GROUP_SPECIALIZATION", "1", 1);
  forget_driver();
}

static void end(void) {
  remove_all(folder);
  setenv("POCL_CACHE_DIR", kept_driver_cache, 1);
  free(kept_driver_cache);
}

/* The paths of the programs of the test's cache, into at most `capacity`; how many there are, temporary files too. */
static size_t list_programs(char paths[][4400], size_t capacity) {
  size_t n = 0;
  DIR *stream = opendir(in_folder("cache/programs"));
  if (!stream) return 0;
  for (const struct dirent *entry; (entry = readdir(stream));) {
    if (entry->d_name[0] == '.') continue;
    if (n < capacity) snprintf(paths[n], sizeof paths[n], "%s/cache/programs/%.64s", folder, entry->d_name);
    n++;
  }
  closedir(stream);
  return n;
}

static size_t read_program(const char *path, unsigned char *data, size_t capacity) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(data, 1, capacity, file);
  ck_assert_uint_lt(n, capacity);
  fclose(file);
  return n;
}

static bool holds(const unsigned char *data, size_t size, const char *text) {
  size_t n = strlen(text);
  for (size_t i = 0; i + n <= size; i++)
    if (memcmp(data + i, text, n) == 0) return true;
  return false;
}

#define CACHE in_folder("cache")

START_TEST(the_second_start_compiles_nothing) {
  outcome seen = start_in(CACHE);
  ck_assert_int_eq(seen.builds, PROGRAMS);
  ck_assert_int_eq(seen.hits, 0);
  forget_driver();
  seen = start_in(CACHE);
  ck_assert_int_eq(seen.builds, 0);
  ck_assert_int_eq(seen.hits, PROGRAMS);
}
END_TEST

/* PoCL names its pieces of machine code by kernel and group size, and they can be seen in its binaries. */
START_TEST(code_that_comes_late_is_kept) {
  static unsigned char data[16 << 20];
  static char paths[8][4400];
  if (!strstr(mica_engine_device(test_engine())->platform, "Portable Computing Language")) return;
  start_in(CACHE);
  size_t n = list_programs(paths, 8), early = 0, late = 0;
  ck_assert_uint_eq(n, PROGRAMS);
  for (size_t i = 0; i < n; i++) {
    size_t size = read_program(paths[i], data, sizeof data);
    early += holds(data, size, "count/16-1-1");
    late += holds(data, size, "count/32-1-1");
  }
  ck_assert_uint_eq(early, 1);
  ck_assert_uint_eq(late, 1);
}
END_TEST

static void damage_all(void (*damage)(const char *path)) {
  static char paths[8][4400];
  size_t n = list_programs(paths, 8);
  ck_assert_uint_eq(n, PROGRAMS);
  for (size_t i = 0; i < n; i++) damage(paths[i]);
}

static void halve(const char *path) {
  struct stat about;
  ck_assert_int_eq(stat(path, &about), 0);
  ck_assert_int_eq(truncate(path, about.st_size / 2), 0);
}

static void empty(const char *path) { ck_assert_int_eq(truncate(path, 0), 0); }

static void flip(const char *path) {
  FILE *file = fopen(path, "r+b");
  ck_assert_ptr_nonnull(file);
  fseek(file, 5000, SEEK_SET);
  int byte = fgetc(file);
  fseek(file, 5000, SEEK_SET);
  fputc(byte ^ 16, file);
  fclose(file);
}

/* A sound file of ours for this very program, whose content the driver does not know. */
static void replace_binary(const char *path) {
  static unsigned char data[16 << 20], garbage[5000];
  mica__hash key;
  char name[MICA__HASH_TEXT];
  size_t size = read_program(path, data, sizeof data);
  ck_assert_uint_gt(size, 100);
  memcpy(&key, data + 8, sizeof key);
  const char *key_text = (const char *)data + 72;
  ck_assert_ptr_nonnull(strstr(path, mica__hash_format(key, name)));
  memset(garbage, 'g', sizeof garbage);
  mica__program_binary binary = {.data = garbage, .size = sizeof garbage, .used = 1};
  ck_ok(mica__program_file_store(CACHE, key, key_text, &binary, 1 << 20));
}

/* The content of the other program, whole, under this one's name. */
static void swap_all(void) {
  static char paths[8][4400];
  ck_assert_uint_eq(list_programs(paths, 8), PROGRAMS);
  ck_assert_int_eq(rename(paths[0], in_folder("aside")), 0);
  ck_assert_int_eq(rename(paths[1], paths[0]), 0);
  ck_assert_int_eq(rename(in_folder("aside"), paths[1]), 0);
}

static void expect_repair(void) {
  outcome seen = start_in(CACHE);
  ck_assert_int_eq(seen.builds, PROGRAMS);
  ck_assert_int_eq(seen.hits, 0);
  seen = start_in(CACHE);
  ck_assert_int_eq(seen.builds, 0);
}

START_TEST(damage_is_repaired) {
  start_in(CACHE);
  damage_all(halve);
  expect_repair();
  damage_all(empty);
  expect_repair();
  damage_all(flip);
  expect_repair();
  damage_all(replace_binary);
  expect_repair();
  swap_all();
  expect_repair();
}
END_TEST

static void put_folder(const char *path) {
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(mkdir(path, 0777), 0);
}

START_TEST(a_cache_that_cannot_be_written) {
  static const char *const impossible[] = {"/dev/null/x", "/dev/null", ""};
  for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
    outcome seen = start_in(impossible[i]);
    ck_assert_int_eq(seen.builds, PROGRAMS);
    seen = start_in(impossible[i]);
    ck_assert_int_eq(seen.builds, PROGRAMS);
  }
  /* Folders where files should be cannot be replaced. */
  start_in(CACHE);
  damage_all(put_folder);
  ck_assert_int_eq(start_in(CACHE).builds, PROGRAMS);
  ck_assert_int_eq(start_in(CACHE).builds, PROGRAMS);
}
END_TEST

START_TEST(a_deep_folder_is_made) {
  ck_assert_int_eq(start_in(in_folder("a/b/c")).builds, PROGRAMS);
  ck_assert_int_eq(start_in(in_folder("a/b/c")).builds, 0);
}
END_TEST

START_TEST(the_bound_holds) {
  setenv("MICA_TEST_LIMIT", "1000", 1);
  ck_assert_int_eq(start_in(CACHE).builds, PROGRAMS);
  ck_assert_int_eq(start_in(CACHE).builds, PROGRAMS);
  unsetenv("MICA_TEST_LIMIT");
  ck_assert_uint_eq(list_programs(NULL, 0), 0);
}
END_TEST

/* Both find nothing, both compile and store, and each of them may read what the other one writes. */
START_TEST(two_starts_at_once) {
  static char paths[8][4400];
  FILE *one = begin_start(CACHE), *two = begin_start(CACHE);
  outcome first = end_start(one), second = end_start(two);
  ck_assert_int_eq(first.builds + first.hits, PROGRAMS);
  ck_assert_int_eq(second.builds + second.hits, PROGRAMS);
  size_t n = list_programs(paths, 8);
  ck_assert_uint_eq(n, PROGRAMS);
  for (size_t i = 0; i < n; i++) ck_assert_str_eq(strrchr(paths[i], '.'), ".bin");
  ck_assert_int_eq(start_in(CACHE).builds, 0);
}
END_TEST

/* What the cache tried and could not do is nobody else's failure. */
START_TEST(the_cache_leaves_no_sentence) {
  static float host[N];
  mica_engine *engine;
  char kept[200];
  ck_assert_int_eq(mica_queue_finish(NULL), MICA_E_INVALID);
  snprintf(kept, sizeof kept, "%s", mica_error_message());
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = "/dev/null/x"}, &engine));
  ck_ok(compute(engine, host));
  ck_assert_str_eq(mica_engine_cache_dir(engine), "/dev/null/x");
  ck_assert_uint_eq(mica_engine_stats(engine).cache_stores, 0);
  mica_engine_destroy(engine);
  ck_assert_str_eq(mica_error_message(), kept);
}
END_TEST

/* NULL, or what is missing. As a second process, which MICA_TEST_START says, the program does not return. */
static const char *lacks(void) {
  const char *cache = getenv("MICA_TEST_START");
  if (cache) exit(start(cache));
  return test_lacks_device();
}

TESTS(lacks(), begin, end, the_second_start_compiles_nothing, code_that_comes_late_is_kept, damage_is_repaired,
      a_cache_that_cannot_be_written, a_deep_folder_is_made, the_bound_holds, two_starts_at_once,
      the_cache_leaves_no_sentence)
