/* labels: device
 *
 * Files larger than what may be kept of them: every sample comes, and the memory of the process stays below the bound,
 * which is a third of the file. */
#include "data/dataset.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <fcntl.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOUND ((size_t)24 << 20)

/* A field of /proc/self/status in bytes; 0 where there is none. */
static size_t memory_of(const char *field) {
  char line[256];
  size_t kib = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, field, strlen(field))) kib = strtoul(line + strlen(field) + 1, NULL, 10);
  if (file) fclose(file);
  return kib << 10;
}

/* Takes an epoch of the dataset; *sum gets the sum of all numbers of the tensor `name`, which must have f32. */
static uint64_t take_epoch(const mica_dataset *dataset, const char *name, double *sum) {
  mica_loader *loader = NULL;
  const mica_loader_config config = {.batch = 64,
                                     .shuffle = true,
                                     .threads = 2,
                                     .mean = (const float[16]){0},
                                     .deviation = (const float[16]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
  uint64_t samples = 0;
  *sum = 0;
  ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
  ck_assert(!mica_loader_describe(loader).resident);
  mica_batch_source source = mica_loader_source(loader);
  for (;;) {
    mica_batch batch;
    ck_ok(source.next(source.user, test_queue(), &batch));
    if (batch.count == 0) break;
    samples += (uint64_t)batch.count;
    for (size_t k = 0; k < batch.tensor_count; k++) {
      if (strcmp(batch.tensors[k].name, name) != 0) continue;
      const size_t count = (size_t)mica_tensor_count(batch.tensors[k].tensor);
      float *values = malloc(count * sizeof *values);
      ck_assert_ptr_nonnull(values);
      ck_ok(mica_tensor_download(test_queue(), batch.tensors[k].tensor, values, count * sizeof *values));
      for (size_t i = 0; i < count; i++) *sum += (double)values[i];
      free(values);
    }
  }
  mica_loader_destroy(loader);
  return samples;
}

/* Opens what lies there, takes an epoch of it, and sees what memory that took. */
static void check_bound(const char *path, uint64_t samples, const char *name, double want) {
  mica_dataset *dataset = NULL;
  double sum = 0;
  const size_t before = memory_of("VmRSS:");
  ck_ok(mica_dataset_open(path, &(mica_dataset_config){.memory = BOUND, .regression = true}, &dataset));
  ck_assert_uint_eq(mica_dataset_count(dataset), samples);
  ck_assert_uint_eq(take_epoch(dataset, name, &sum), samples);
  ck_assert_double_eq_tol(sum, want, 1e-6 * want);
  mica_dataset_destroy(dataset);
  const size_t most = memory_of("VmHWM:");
  printf("%s: %.1f MB more at most, bound %.1f MB\n", name, (double)(most - before) / 1e6, (double)BOUND / 1e6);
  if (most > 0) ck_assert_uint_lt(most - before, BOUND);
}

START_TEST(arrays_stay_in_their_file) {
  enum { N = 12000, SIDE = 80 };
  char header[128] = "\x93NUMPY\1\0\x76";
  memset(header + 10, ' ', 117);
  const int used =
      snprintf(header + 10, 117, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d), }", N, SIDE, SIDE);
  header[10 + used] = ' ', header[9] = 0, header[127] = '\n';
  static float targets[N];
  files_write("large/x_train.npy", header, sizeof header);
  const int file = open(files_path("large/x_train.npy"), O_RDWR);
  ck_assert_int_ge(file, 0);
  double want = 0;
  for (int i = 0; i < N; i++) {
    const uint8_t first = (uint8_t)(i % 251);
    ck_assert_int_eq(pwrite(file, &first, 1, 128 + (off_t)i * SIDE * SIDE), 1);
    want += first / 255.0;
  }
  ck_assert_int_eq(ftruncate(file, 128 + (off_t)N * SIDE * SIDE), 0);
  close(file);
  memset(header + 10, ' ', 117);
  header[10 + snprintf(header + 10, 117, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", N)] = ' ';
  uint8_t *labels = malloc(128 + sizeof targets);
  ck_assert_ptr_nonnull(labels);
  memcpy(labels, header, 128);
  memcpy(labels + 128, targets, sizeof targets);
  files_write("large/y_train.npy", labels, 128 + sizeof targets);
  free(labels);
  check_bound(files_path("large"), N, "image", want);
}
END_TEST

START_TEST(tables_stay_in_their_file) {
  enum { N = 470000 };
  FILE *file = fopen(files_path("large.csv"), "w");
  ck_assert_ptr_nonnull(file);
  double want = 0;
  fprintf(file, "a,b,c,filling,label\n");
  for (int i = 0; i < N; i++) {
    fprintf(file,
            "%d.25,%d,1e2,"
            "                                                                                             "
            "                                                        3,%d\n",
            i % 100, i % 7, i % 2);
    want += i % 100 + 0.25 + i % 7 + 100 + 3;
  }
  ck_assert_int_eq(fclose(file), 0);
  struct stat about;
  ck_assert_int_eq(stat(files_path("large.csv"), &about), 0);
  ck_assert_uint_ge((size_t)about.st_size, 3 * BOUND);
  check_bound(files_path("large.csv"), N, "x", want);
}
END_TEST

/* A file that is too long is refused before it is read: this one has no memory that would hold it. */
START_TEST(long_files_are_not_read) {
  uint8_t *data = NULL;
  size_t size = 0;
  files_write_text("long.txt", "a");
  ck_assert_int_eq(truncate(files_path("long.txt"), (off_t)1 << 42), 0);
  ck_assert_int_eq(mica__content_read(files_path("long.txt"), &data, &size), MICA_E_IO);
  ck_assert_ptr_null(data);
}
END_TEST

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define MEASURED "the sanitizer's own memory would be measured"
#else
#define MEASURED test_lacks_device()
#endif

TEST_GROUPS(MEASURED,
            ONCE(NULL, files_remove, arrays_stay_in_their_file, tables_stay_in_their_file, long_files_are_not_read))
