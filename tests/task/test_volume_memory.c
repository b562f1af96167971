/* labels: device
 *
 * Volumes are predicted in windows. With the same window, a volume of twice the depth or of twice the sides takes the
 * same memory of the device. On the host it takes three bytes per voxel, and the sums of a slab as deep as a window. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/run.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { HEADER = 352, WINDOW = 16, CLASSES = 4 };

/* --- volumes --- */

static void put(uint8_t *at, int value) { at[0] = (uint8_t)value, at[1] = (uint8_t)(value >> 8); }

static void put_real(uint8_t *at, float value) { memcpy(at, &value, sizeof value); }

/* The class of a voxel: blocks of 8 x 8 x 8. */
static int class_of(int64_t z, int64_t y, int64_t x) { return (int)((x / 8 + 2 * (y / 8) + 3 * (z / 8)) % CLASSES); }

/* Writes a file of u8: the classes, or values that tell the classes apart. */
static void write_file(const char *name, const int64_t sides[3], bool mask) {
  const int64_t voxels = sides[0] * sides[1] * sides[2];
  uint8_t *file = calloc(HEADER + (size_t)voxels, 1);
  ck_assert_ptr_nonnull(file);
  put(file, 348);
  put(file + 40, 3);
  for (int k = 1; k < 8; k++) put(file + 40 + 2 * k, k <= 3 ? (int)sides[3 - k] : 1);
  put(file + 70, 2);
  put(file + 72, 8);
  for (int k = 1; k < 4; k++) put_real(file + 76 + 4 * k, 1);
  put_real(file + 108, HEADER);
  memcpy(file + 344, "n+1", 4);
  for (int64_t i = 0; i < voxels; i++) {
    const int class = class_of(i / (sides[1] * sides[2]), i / sides[2] % sides[1], i % sides[2]);
    file[HEADER + i] = (uint8_t)(mask ? class : 50 * class + (int)(i * 7 % 20));
  }
  files_write(name, file, HEADER + (size_t)voxels);
  free(file);
}

static void train(const char *folder) {
  const mica_setting settings[] = {{"epochs", "1"},  {"batch", "2"},   {"width", "4"},      {"depth", "2"},
                                   {"window", "16"}, {"windows", "2"}, {"validation", "0"}, {"overlap", "0"}};
  const int64_t sides[3] = {WINDOW, WINDOW, WINDOW};
  mica_run *run = NULL;
  write_file("data/images/one.nii", sides, false);
  write_file("data/masks/one.nii", sides, true);
  const mica_run_config config = {.data = files_path("data"),
                                  .task = "segment_volumes",
                                  .folder = folder,
                                  .settings = settings,
                                  .setting_count = sizeof settings / sizeof *settings};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_ok(mica_run_fit(run));
  mica_run_destroy(run);
}

/* --- memory --- */

/* The peak of the process's memory in bytes, since forget_peak; 0 if it cannot be measured. */
static size_t peak_of_host(void) {
  char line[256];
  size_t kib = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, "VmHWM:", 6)) kib = strtoul(line + 6, NULL, 10);
  if (file) fclose(file);
  return kib << 10;
}

/* Begins a new peak; false if this system or a sanitizer does not let it be measured. */
static bool forget_peak(void) {
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
  malloc_trim(0);
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (!file) return false;
  const bool written = fputs("5", file) >= 0;
  return fclose(file) == 0 && written;
#else
  return false;
#endif
}

typedef struct taken {
  uint64_t device, launches; /* the peak of the device's memory in bytes, and kernels started */
  size_t host;               /* how far the process's memory grew; 0: not measured */
} taken;

static mica_status count_section(void *user, const mica_report *sections) {
  const mica_item *mask = mica_report_find(sections, 0, "mask");
  *(size_t *)user = mask ? (size_t)mask->shape.dim[0] : 0;
  return MICA_OK;
}

/* Predicts with an engine of its own, so that its peak belongs to the prediction. */
static taken predict(const char *folder, const char *name, const int64_t sides[3]) {
  const char *path = files_path(name);
  const mica_engine_config config = {.device = getenv("MICA_DEVICE")};
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  size_t bytes = 0;
  taken t = {0};
  write_file(name, sides, false);
  ck_ok(mica_engine_create(&config, &engine));
  ck_ok(mica_run_open(engine, folder, &run));
  const bool measured = forget_peak();
  const size_t before = peak_of_host();
  const mica_run_input input = {
      .files = &path, .file_count = 1, .plain_masks = true, .take = count_section, .user = &bytes};
  mica_report *none = NULL;
  ck_ok(mica_run_predict(run, &input, &none));
  mica_report_destroy(none);
  if (measured) t.host = peak_of_host() - before;
  t.device = mica_engine_stats(engine).bytes_peak;
  t.launches = mica_engine_stats(engine).launches;
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  ck_assert_uint_eq(bytes, (size_t)(HEADER + sides[0] * sides[1] * sides[2]));
  printf("%-10s %3lld x %3lld x %3lld: device %.2f MB, host %.2f MB more, %llu launches\n", name, (long long)sides[0],
         (long long)sides[1], (long long)sides[2], (double)t.device / 1e6, (double)t.host / 1e6,
         (unsigned long long)t.launches);
  return t;
}

/* Classes and masks that the report holds (decided, mapped, encoded), and a slab's sums. */
static double bytes_of(const int64_t sides[3]) {
  return (double)(3 * sides[0] + 4 * CLASSES * WINDOW) * (double)(sides[1] * sides[2]);
}

#define CHILD "MICA_TEST_VOLUME_RUN"

/* Trains and predicts in a process of its own, so that the kernels are compiled there: a process that has run a
 * compiler has a heap in pieces, which its peak shows. */
static void prepare(const char *folder) {
  char program[512];
  int state = -1;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) { /* not Linux, where no peak is measured */
    train(folder);
    return;
  }
  program[length] = '\0';
  setenv(CHILD, folder, 1);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    execl(program, program, "memory_is_bounded_by_the_window", (char *)NULL);
    _exit(127);
  }
  unsetenv(CHILD);
  ck_assert_int_eq(waitpid(child, &state, 0), child);
  ck_assert_int_eq(state, 0);
}

START_TEST(memory_is_bounded_by_the_window) {
  static const int64_t sizes[][3] = {{48, 48, 48}, {96, 48, 48}, {48, 96, 96}, {192, 96, 96}};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  char folder[512];
  taken t[COUNT];
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 16); /* large blocks return to the system when they are freed */
#endif
  if (getenv(CHILD)) {
    train(getenv(CHILD));
    predict(getenv(CHILD), "first.nii", sizes[0]);
    return;
  }
  snprintf(folder, sizeof folder, "%s", files_path("run"));
  prepare(folder);
  for (int i = 0; i < COUNT; i++) {
    char name[32];
    snprintf(name, sizeof name, "%d.nii", i);
    t[i] = predict(folder, name, sizes[i]);
    ck_assert_uint_eq(t[i].device, t[0].device);
  }
  ck_assert_uint_gt(t[1].launches, t[0].launches + t[0].launches / 2);
  if (!t[0].host) {
    printf("the host's memory: SKIP: it cannot be measured here\n");
    return;
  }
  /* Far less than the sums of all voxels: 16 bytes for each. */
  const double more = (double)t[3].host - (double)t[2].host, most = 1.25 * (bytes_of(sizes[3]) - bytes_of(sizes[2]));
  printf("144 more planes: host %.2f MB more, bound %.2f MB\n", more / 1e6, most / 1e6);
  ck_assert_double_lt(more, most);
}
END_TEST

TESTS(DEVICE, NULL, NULL, memory_is_bounded_by_the_window)
