/* labels: device single
 *
 * The caller's memory as a read-only buffer: read where it lies, given back once, never written. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <fcntl.h>
#include <mica/mica.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define COUNT 4096
#define BYTES (COUNT * sizeof(float))

static atomic_int released;
static float *pages; /* a mapped file, which cannot be written */
static size_t page_bytes;

static void release(void *owner) {
  ck_assert_ptr_eq(owner, &released);
  atomic_fetch_add(&released, 1);
}

/* The memory is given back, once. A driver may still hold the last launch for a moment after the queue has finished. */
static void given_back(void) {
  for (int i = 0; i < 5000 && !atomic_load(&released); i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  ck_assert_int_eq(atomic_load(&released), 1);
}

static void map_file(size_t count) {
  float *values = malloc(count * sizeof *values);
  for (size_t i = 0; i < count; i++) values[i] = (float)(i % 1021);
  page_bytes = count * sizeof *values;
  files_write("pages", values, page_bytes);
  free(values);
  const int file = open(files_path("pages"), O_RDONLY);
  ck_assert_int_ge(file, 0);
  pages = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE, file, 0);
  ck_assert_ptr_ne(pages, MAP_FAILED);
  close(file);
}

static void setup(void) {
  atomic_store(&released, 0);
  map_file(COUNT);
}

static void teardown(void) { munmap(pages, page_bytes); }

static bool reads_in_place(void) { return mica_engine_device(test_engine())->device_class == MICA_DEVICE_CLASS_CPU; }

static mica_tensor *wrapped(const void *memory, size_t bytes) {
  mica_buffer *buffer = NULL;
  mica_tensor *tensor = NULL;
  ck_ok(mica_buffer_wrap_memory(test_engine(), memory, bytes, release, &released, &buffer));
  ck_assert_uint_eq(mica_buffer_bytes(buffer), bytes);
  ck_ok(mica_tensor_wrap(buffer, 0, MICA_F32, MICA_SHAPE((int64_t)(bytes / sizeof(float))), &tensor));
  mica_buffer_destroy(buffer);
  return tensor;
}

/* What the tensor has, by way of a kernel. */
static void holds(const mica_tensor *tensor, const float *values) {
  const size_t bytes = mica_tensor_bytes(tensor);
  mica_tensor *copy = NULL;
  float *got = malloc(bytes);
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, mica_tensor_shape(tensor), &copy));
  ck_ok(mica_op_copy(test_queue(), tensor, copy));
  ck_ok(mica_tensor_download(test_queue(), copy, got, bytes));
  ck_assert(!memcmp(got, values, bytes));
  ck_ok(mica_tensor_download(test_queue(), tensor, got, bytes));
  ck_assert(!memcmp(got, values, bytes));
  mica_tensor_destroy(copy);
  free(got);
}

START_TEST(memory_is_read_where_it_lies) {
  ck_ok(mica_queue_finish(test_queue()));
  const uint64_t before = mica_engine_stats(test_engine()).bytes_in_use;
  mica_tensor *tensor = wrapped(pages, BYTES);
  if (reads_in_place()) ck_assert_uint_eq(mica_engine_stats(test_engine()).bytes_in_use, before);
  ck_assert_int_eq(atomic_load(&released), !reads_in_place());
  holds(tensor, pages);
  void *data = NULL;
  ck_ok(mica_tensor_map(test_queue(), tensor, MICA_MAP_MODE_READ, &data));
  if (reads_in_place()) ck_assert_ptr_eq(data, pages);
  ck_ok(mica_tensor_unmap(test_queue(), tensor, data));
  ck_ok(mica_queue_finish(test_queue()));
  mica_tensor_destroy(tensor);
  given_back();
}
END_TEST

START_TEST(memory_that_is_not_aligned_is_copied) {
  mica_tensor *tensor = wrapped(pages + 1, BYTES - sizeof(float));
  ck_assert_int_eq(atomic_load(&released), 1);
  holds(tensor, pages + 1);
  ck_assert_int_eq(mica_tensor_upload(test_queue(), tensor, pages, BYTES - sizeof(float)), MICA_E_INVALID);
  mica_tensor_destroy(tensor);
  /* Pooled memory may be written when it is handed out again. */
  mica_tensor *again = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(COUNT - 1), pages, &again));
  mica_tensor_destroy(again);
  ck_assert_int_eq(atomic_load(&released), 1);
}
END_TEST

#define ck_refused(call)                                                                                               \
  ck_assert_msg((call) == MICA_E_INVALID && strstr(mica_error_message(), "read-only memory"), "%s: %s", #call,         \
                mica_error_message())

START_TEST(nothing_writes_to_it) {
  mica_tensor *tensor = wrapped(pages, BYTES), *other = NULL;
  mica_event *event = NULL;
  void *data = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(COUNT), pages, &other));
  ck_refused(mica_tensor_upload(test_queue(), tensor, pages, BYTES));
  ck_refused(mica_tensor_upload_async(test_queue(), tensor, pages, BYTES, &event));
  ck_refused(mica_tensor_map(test_queue(), tensor, MICA_MAP_MODE_WRITE, &data));
  ck_refused(mica_tensor_map(test_queue(), tensor, MICA_MAP_MODE_READ_WRITE, &data));
  ck_refused(mica_op_fill(test_queue(), 1, tensor));
  ck_refused(mica_op_copy(test_queue(), other, tensor));
  ck_refused(mica_op_cast(test_queue(), other, tensor));

  mica_graph *graph = NULL;
  mica_session *session = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value read = mica_parameter(graph, "read", MICA_F32, MICA_SHAPE(COUNT));
  mica_value written = mica_parameter(graph, "written", MICA_F32, MICA_SHAPE(COUNT));
  mica_value sum = mica_add(read, written);
  mica_assign(written, sum);
  mica_session_config config = {.parameters = &(mica_binding){"written", tensor}, .parameter_count = 1};
  ck_refused(mica_session_create(test_engine(), graph, &sum, 1, &config, &session));
  config.parameters = &(mica_binding){"read", tensor};
  ck_ok(mica_session_create(test_engine(), graph, &sum, 1, &config, &session));
  ck_refused(mica_session_share(session, "written", tensor));
  ck_refused(mica_session_bind_output(session, 0, tensor));
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  holds(mica_session_output(session, 0), pages);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(other);
  mica_tensor_destroy(tensor);
  ck_ok(mica_queue_finish(test_queue()));
  given_back();
}
END_TEST

START_TEST(what_cannot_be_is_refused) {
  mica_buffer *buffer = NULL;
  ck_assert_int_eq(mica_buffer_wrap_memory(NULL, pages, 64, release, &released, &buffer), MICA_E_INVALID);
  ck_assert_int_eq(mica_buffer_wrap_memory(test_engine(), NULL, 64, release, &released, &buffer), MICA_E_INVALID);
  ck_assert_int_eq(mica_buffer_wrap_memory(test_engine(), pages, 64, release, &released, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_buffer_wrap_memory(test_engine(), pages, SIZE_MAX / 2, release, &released, &buffer),
                   MICA_E_OVERFLOW);
  ck_assert_int_eq(mica_buffer_wrap_memory(test_engine(), pages, SIZE_MAX / 8, release, &released, &buffer),
                   MICA_E_DEVICE_MEMORY);
  ck_assert_int_eq(atomic_load(&released), 0);
  ck_ok(mica_buffer_wrap_memory(test_engine(), NULL, 0, release, &released, &buffer));
  ck_assert_int_eq(atomic_load(&released), 1);
  mica_buffer_destroy(buffer);
  ck_ok(mica_buffer_wrap_memory(test_engine(), pages, 64, NULL, NULL, &buffer));
  mica_buffer_destroy(buffer);
}
END_TEST

/* The kB that a mapping has of its own, written or copied; -1 when the system does not say. */
static long dirty_kb(const void *start) {
  FILE *file = fopen("/proc/self/smaps", "r");
  char line[512];
  long found = -1, kb = 0;
  bool inside = false;
  while (file && fgets(line, sizeof line, file)) {
    unsigned long from = 0, to = 0;
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) inside = from == (unsigned long)(uintptr_t)start;
    if (inside && sscanf(line, "Private_Dirty: %ld", &kb) == 1) found = kb;
  }
  if (file) fclose(file);
  return found;
}

/* All memory of the process that no file has, in kB; -1 likewise. */
static long anonymous_kb(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[512];
  long kb = -1;
  while (file && fgets(line, sizeof line, file)) sscanf(line, "RssAnon: %ld", &kb);
  if (file) fclose(file);
  return kb;
}

/* 64 MiB are read by kernels and stay the file's. */
START_TEST(pages_stay_those_of_the_file) {
  const size_t bytes = (size_t)64 << 20;
  teardown();
  map_file(bytes / sizeof(float));
  mica_tensor *tensor = wrapped(pages, bytes), *sums = NULL;
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE((int64_t)(bytes / sizeof(float))));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SCALAR), sum = mica_sum(mica_mul(w, x), MICA_ALL_AXES, false);
  mica_session_config config = {.parameters = &(mica_binding){"w", tensor}, .parameter_count = 1};
  ck_ok(mica_session_create(test_engine(), graph, &sum, 1, &config, &session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &(float){2}, &sums));
  const long before = anonymous_kb();
  float got = 0;
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", sums}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), &got, sizeof got));
  ck_assert(got > 1.6e10F && got < 1.8e10F);
  if (reads_in_place() && before >= 0) {
    ck_assert_int_eq(dirty_kb(pages), 0);
    ck_assert_int_lt(anonymous_kb() - before, 32 << 10);
  }
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(sums);
  mica_tensor_destroy(tensor);
  ck_ok(mica_queue_finish(test_queue()));
  given_back();
}
END_TEST

TESTS(DEVICE, setup, teardown, memory_is_read_where_it_lies, memory_that_is_not_aligned_is_copied, nothing_writes_to_it,
      what_cannot_be_is_refused, pages_stay_those_of_the_file)
