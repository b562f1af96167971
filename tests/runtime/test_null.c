/* labels: null
 *
 * The runtime on the null device, which needs no OpenCL: engines, memory, windows, transfers, queues, recordings. */
#include "runtime/launch.h"
#include "runtime/recording.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <mica/opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_engine *engine;
static mica_queue *queue;

static mica_engine *create(void) {
  mica_engine *made = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &made));
  return made;
}

static void begin(void) {
  engine = create();
  queue = mica_engine_queue(engine);
}

static void end(void) {
  mica_stats stats = mica_engine_stats(engine);
  ck_assert_uint_eq(stats.bytes_in_use, 0);
  mica_engine_destroy(engine);
}

static void says(const char *part) {
  ck_assert_msg(strstr(mica_error_message(), part) != NULL, "\"%s\" is not in \"%s\"", part, mica_error_message());
}

static mica_stats stats(void) { return mica_engine_stats(engine); }

START_TEST(describes_itself) {
  const mica_device_info *device = mica_engine_device(engine);
  mica_device_info found;
  ck_assert_str_eq(device->id, "null");
  ck_assert_int_eq(device->device_class, MICA_DEVICE_CLASS_NULL);
  ck_assert_str_eq(mica_device_class_name(device->device_class), "null");
  ck_assert_str_eq(mica_device_class_name((mica_device_class)99), "?");
  ck_assert_str_eq(mica_vendor_name(device->vendor), "other");
  ck_assert_str_eq(mica_vendor_name((mica_vendor)99), "?");
  ck_assert(device->unified_memory);
  ck_assert_str_eq(mica_engine_cache_dir(engine), "");
  ck_ok(mica_device_find("Null", &found));
  ck_assert_int_eq(found.device_class, MICA_DEVICE_CLASS_NULL);
  ck_assert_int_eq(mica_device_find("null", NULL), MICA_E_INVALID);
  ck_assert_ptr_nonnull(mica_engine_opencl_context(engine));
  ck_assert_ptr_nonnull(mica_queue_opencl(queue));
}
END_TEST

START_TEST(the_cache_directory_is_chosen) {
  static const struct {
    const char *config, *mica, *xdg, *home, *expected;
  } cases[] = {
      {"/a", "/b", "/c", "/d", "/a"},
      {"", "/b", "/c", "/d", ""},
      {NULL, "/b", "/c", "/d", "/b"},
      {NULL, "", "/c", "/d", ""},
      {NULL, NULL, "/c", "/d", "/c/mica"},
      {NULL, NULL, "", "/d", "/d/.cache/mica"},
      {NULL, NULL, NULL, "/d", "/d/.cache/mica"},
      {NULL, NULL, NULL, NULL, ""},
  };
  const char *names[] = {"MICA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  char *kept[3], *path;
  for (int i = 0; i < 3; i++) {
    const char *value = getenv(names[i]);
    kept[i] = value ? strdup(value) : NULL;
  }
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *values[] = {cases[i].mica, cases[i].xdg, cases[i].home};
#ifdef _WIN32 /* A variable cannot be empty there, and without HOME the folder is %LOCALAPPDATA%. */
    if ((cases[i].mica && !*cases[i].mica) || !cases[i].home) continue;
#endif
    for (int v = 0; v < 3; v++) values[v] ? setenv(names[v], values[v], 1) : unsetenv(names[v]);
    ck_ok(mica_cache_path(cases[i].config, &path));
    ck_assert_str_eq(path, cases[i].expected);
    mica_free(path);
  }
  for (int i = 0; i < 3; i++) {
    kept[i] ? setenv(names[i], kept[i], 1) : unsetenv(names[i]);
    free(kept[i]);
  }
  ck_assert_int_eq(mica_cache_path(NULL, NULL), MICA_E_INVALID);
}
END_TEST

/* Sizes are rounded to classes, and a block that was given up is given out again. */
START_TEST(blocks_are_reused_by_class) {
  static const struct {
    size_t bytes, capacity;
  } cases[] = {{0, 256},
               {1, 256},
               {257, 512},
               {1 << 20, 1 << 20},
               {(1 << 20) + 1, (1 << 20) + (1 << 18)},
               {(1 << 21) - 1, 1 << 21},
               {3 << 20, 3 << 20}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_buffer *buffer;
    ck_ok(mica_buffer_create(engine, cases[i].bytes, &buffer));
    ck_assert_uint_eq(mica_buffer_bytes(buffer), cases[i].bytes);
    ck_assert_uint_eq(stats().bytes_in_use, cases[i].capacity);
    mica_buffer_destroy(buffer);
    ck_assert_uint_eq(stats().bytes_in_use, 0);
  }
  uint64_t allocations = stats().allocations;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_buffer *buffer;
    ck_ok(mica_buffer_create(engine, cases[i].bytes, &buffer));
    mica_buffer_destroy(buffer);
  }
  ck_assert_uint_eq(stats().allocations, allocations);
  ck_assert_uint_eq(stats().bytes_peak, 3 << 20);
  ck_assert_uint_gt(stats().bytes_pooled, 6 << 20);
  mica_engine_trim(engine);
  ck_assert_uint_eq(stats().bytes_pooled, 0);
}
END_TEST

START_TEST(blocks_in_use_are_not_given_out_twice) {
  mica_buffer *buffers[20];
  for (int i = 0; i < 20; i++) ck_ok(mica_buffer_create(engine, 1000, &buffers[i]));
  ck_assert_uint_eq(stats().allocations, 20);
  for (int i = 0; i < 20; i++) mica_buffer_destroy(buffers[i]);
  ck_assert_uint_eq(stats().bytes_pooled, 20 * 1024);
}
END_TEST

START_TEST(sizes_beyond_the_device) {
  const mica_device_info *device = mica_engine_device(engine);
  mica_buffer *buffer = NULL;
  mica_tensor *tensor = NULL;
  ck_assert_int_eq(mica_buffer_create(engine, SIZE_MAX, &buffer), MICA_E_OVERFLOW);
  if (device->max_buffer_bytes < SIZE_MAX / 4) { /* not on 32 bits */
    ck_assert_int_eq(mica_buffer_create(engine, SIZE_MAX / 4, &buffer), MICA_E_DEVICE_MEMORY);
    ck_assert_int_eq(mica_buffer_create(engine, (size_t)(device->max_buffer_bytes + 1), &buffer), MICA_E_DEVICE_MEMORY);
    says(device->name);
  }
  ck_assert_int_eq(mica_tensor_create(engine, MICA_F64, MICA_SHAPE(INT64_C(1) << 61), &tensor), MICA_E_OVERFLOW);
  ck_assert_int_eq(mica_tensor_create(engine, (mica_dtype)77, MICA_SHAPE(1), &tensor), MICA_E_DTYPE);
  ck_assert_int_eq(mica_tensor_create(engine, MICA_F32, (mica_shape){.rank = 9}, &tensor), MICA_E_INVALID);
  ck_assert_ptr_null(buffer);
  ck_assert_ptr_null(tensor);
  ck_assert_uint_eq(stats().allocations, 0);
}
END_TEST

START_TEST(tensors_keep_their_buffer) {
  mica_buffer *buffer;
  mica_tensor *first, *view, *transposed;
  ck_ok(mica_buffer_create(engine, 4096, &buffer));
  ck_ok(mica_tensor_wrap(buffer, 16, MICA_F16, MICA_SHAPE(4, 6), &first));
  mica_buffer_destroy(buffer);
  ck_assert_ptr_eq(mica_tensor_engine(first), engine);
  ck_ok(mica_tensor_view(first, MICA_SHAPE(2, 5, 6), (int64_t[]){6, 0, 1}, 6, &view));
  mica_tensor_destroy(first);
  ck_assert_int_eq(mica_tensor_count(view), 60);
  ck_assert(!mica_tensor_is_contiguous(view));
  ck_ok(mica_tensor_transpose(view, &transposed));
  mica_tensor_destroy(view);
  ck_assert_int_eq(mica_tensor_shape(transposed).dim[1], 6);
  ck_assert_int_eq(mica_tensor_strides(transposed)[1], 1);
  ck_assert_int_eq(mica_tensor_strides(transposed)[2], 0);
  size_t offset = 0;
  ck_assert_ptr_nonnull(mica_tensor_opencl(transposed, &offset));
  ck_assert_uint_eq(offset, 16 + 12);
  ck_assert_uint_eq(stats().bytes_in_use, 4096);
  mica_tensor_destroy(transposed);
  ck_assert_uint_eq(stats().bytes_in_use, 0);
}
END_TEST

START_TEST(a_vector_has_no_transpose) {
  mica_tensor *vector, *transposed = NULL;
  ck_ok(mica_tensor_create(engine, MICA_I8, MICA_SHAPE(4), &vector));
  ck_assert_int_eq(mica_tensor_transpose(vector, &transposed), MICA_E_SHAPE);
  ck_assert_ptr_null(transposed);
  mica_tensor_destroy(vector);
}
END_TEST

START_TEST(null_pointers_are_refused) {
  mica_tensor *tensor;
  mica_buffer *buffer;
  mica_event *event;
  float data[2];
  ck_ok(mica_buffer_create(engine, 8, &buffer));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(2), &tensor));
  ck_assert_int_eq(mica_engine_create(NULL, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_queue_create(NULL, &queue), MICA_E_INVALID);
  ck_assert_int_eq(mica_queue_create(engine, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_queue_flush(NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_queue_finish(NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_buffer_create(NULL, 1, &buffer), MICA_E_INVALID);
  ck_assert_int_eq(mica_buffer_create(engine, 1, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_create(NULL, MICA_F32, MICA_SHAPE(1), &tensor), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(1), NULL, &tensor), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_wrap(NULL, 0, MICA_F32, MICA_SHAPE(1), &tensor), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_view(NULL, MICA_SHAPE(1), NULL, 0, &tensor), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_upload(NULL, tensor, data, 8), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_upload(queue, NULL, data, 8), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_upload(queue, tensor, NULL, 8), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_download(queue, tensor, NULL, 8), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_download_async(queue, tensor, data, 8, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_map(queue, tensor, MICA_MAP_MODE_READ, NULL), MICA_E_INVALID);
  void *anywhere = NULL;
  ck_assert_int_eq(mica_tensor_map(queue, tensor, (mica_map_mode)9, &anywhere), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "mode is 9, but must be from 0 to 2"));
  ck_assert_int_eq(mica_tensor_unmap(queue, tensor, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_event_wait(NULL), MICA_E_INVALID);
  ck_ok(mica_tensor_download_async(queue, tensor, data, 8, &event));
  ck_assert_int_eq(mica_event_is_done(event, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_buffer_wrap_opencl(engine, NULL, &buffer), MICA_E_INVALID);
  ck_assert_int_eq(mica_profile_start(NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_cache_list(NULL, NULL, NULL), MICA_E_INVALID);
  mica_event_destroy(event);
  mica_event_destroy(NULL);
  mica_tensor_destroy(tensor);
  mica_tensor_destroy(NULL);
  mica_buffer_destroy(buffer);
  mica_buffer_destroy(NULL);
}
END_TEST

START_TEST(another_engines_tensor_is_refused) {
  mica_engine *other = create();
  mica_tensor *foreign;
  float data[2] = {0}, *mapped;
  mica_event *event;
  ck_ok(mica_tensor_create(other, MICA_F32, MICA_SHAPE(2), &foreign));
  ck_assert_int_eq(mica_tensor_upload(queue, foreign, data, 8), MICA_E_INVALID);
  says("the queue's engine");
  ck_assert_int_eq(mica_tensor_download(queue, foreign, data, 8), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_download_async(queue, foreign, data, 8, &event), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_map(queue, foreign, MICA_MAP_MODE_READ, (void **)&mapped), MICA_E_INVALID);
  mica_tensor_destroy(foreign);
  mica_engine_destroy(other);
}
END_TEST

START_TEST(only_whole_tensors_are_moved) {
  mica_tensor *tensor, *transposed;
  float data[6] = {0};
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(2, 3), &tensor));
  ck_ok(mica_tensor_transpose(tensor, &transposed));
  ck_assert_int_eq(mica_tensor_upload(queue, transposed, data, sizeof data), MICA_E_INVALID);
  says("(3, 2) is not contiguous");
  ck_assert_int_eq(mica_tensor_upload(queue, tensor, data, sizeof data - 1), MICA_E_INVALID);
  says("23 bytes were given for a tensor (2, 3) of 24");
  mica_tensor_destroy(transposed);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(transfers_are_counted) {
  mica_tensor *tensor;
  float data[100] = {0};
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(100), data, &tensor));
  ck_assert_uint_eq(stats().bytes_uploaded, 400);
  ck_ok(mica_tensor_download(queue, tensor, data, sizeof data));
  ck_assert_uint_eq(stats().bytes_downloaded, 400);
  ck_assert_uint_ge(stats().host_waits, 2);
  mica_tensor_destroy(tensor);
}
END_TEST

static mica__kernel *kernel_of(const char *name) {
  mica__kernel *kernel;
  ck_ok(mica__kernel_get_source(engine, name, "", NULL, &kernel));
  return kernel;
}

START_TEST(a_recording_keeps_what_it_uses) {
  mica_queue *recorder;
  mica_buffer *workspace;
  float data[4] = {0};
  mica_tensor *tensor;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(4), &tensor));
  ck_ok(mica__recorder_create(engine, &recorder));
  ck_assert_int_eq(mica_queue_finish(recorder), MICA_E_STATE);
  ck_assert_int_eq(mica_queue_flush(recorder), MICA_E_STATE);
  ck_assert_int_eq(mica_tensor_upload(recorder, tensor, data, sizeof data), MICA_E_STATE);
  for (int i = 0; i < 100; i++) {
    mica__launch launch = mica__launch_of(kernel_of("step"));
    ck_ok(mica_buffer_create(engine, 256, &workspace));
    mica__launch_buffer(&launch, workspace, 0);
    mica__launch_optional(&launch, i % 2 ? tensor : NULL);
    mica__launch_local(&launch, 64);
    mica__launch_range1(&launch, 10, 0);
    ck_ok(mica__queue_submit(recorder, &launch));
    mica_buffer_destroy(workspace);
  }
  mica__recording *recording = mica__recorder_end(recorder);
  mica_tensor_destroy(tensor);
  ck_assert_uint_eq(mica__recording_count(recording), 100);
  ck_assert_uint_eq(mica__recording_at(recording, 99)->arg_count, 5);
  ck_assert_uint_eq(stats().bytes_in_use, 101 * 256);
  ck_assert_uint_eq(stats().launches, 0);
  uint64_t allocations = stats().allocations;
  for (int i = 0; i < 3; i++) ck_ok(mica__recording_replay(recording, queue));
  ck_assert_uint_eq(stats().launches, 300);
  ck_assert_uint_eq(stats().allocations, allocations);
  ck_ok(mica__recorder_create(engine, &recorder));
  ck_assert_int_eq(mica__recording_replay(recording, recorder), MICA_E_STATE);
  mica__recording_destroy(mica__recorder_end(recorder));
  mica__recording_destroy(recording);
  mica__recording_destroy(NULL);
  ck_assert_uint_eq(stats().bytes_in_use, 0);
  ck_assert_uint_eq(mica__launch_total(), 0);
}
END_TEST

/* With two queues a block waits until the queue that used it is known to be idle. */
START_TEST(blocks_of_a_busy_queue_wait) {
  mica_queue *second;
  mica_tensor *tensor;
  float data[64] = {0};
  ck_ok(mica_queue_create(engine, &second));
  mica__launch launch = mica__launch_of(kernel_of("k"));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(64), &tensor));
  mica__launch_tensor(&launch, tensor);
  mica__launch_range1(&launch, 64, 1);
  ck_ok(mica__queue_submit(queue, &launch));
  mica_tensor_destroy(tensor);
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(64), &tensor));
  ck_assert_uint_eq(stats().allocations, 2);
  mica_tensor_destroy(tensor);
  ck_ok(mica_queue_finish(queue));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(64), &tensor));
  ck_assert_uint_eq(stats().allocations, 2);
  /* Used by two queues at once, it goes back to the driver. */
  launch = mica__launch_of(kernel_of("k"));
  mica__launch_tensor(&launch, tensor);
  mica__launch_range1(&launch, 64, 1);
  ck_ok(mica__queue_submit(queue, &launch));
  ck_ok(mica__queue_submit(second, &launch));
  uint64_t pooled = stats().bytes_pooled;
  mica_tensor_destroy(tensor);
  ck_assert_uint_eq(stats().bytes_pooled, pooled);
  /* Blocks that the queue left behind are idle when it is gone. */
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(64), &tensor));
  ck_ok(mica_tensor_upload(second, tensor, data, sizeof data));
  mica_tensor_destroy(tensor);
  mica_queue_destroy(second);
  uint64_t allocations = stats().allocations;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(64), &tensor));
  ck_assert_uint_eq(stats().allocations, allocations);
  mica_tensor_destroy(tensor);
}
END_TEST

/* What succeeds leaves the sentence of the last failure, though it tried things that failed on the way. */
START_TEST(success_keeps_the_sentence) {
  mica_tensor *tensor;
  char path[] = "/dev/null/x";
  mica_engine *other;
  ck_assert_int_eq(mica_queue_finish(NULL), MICA_E_INVALID);
  char kept[200];
  snprintf(kept, sizeof kept, "%s", mica_error_message());
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = path}, &other));
  ck_ok(mica_tensor_create(other, MICA_F32, MICA_SHAPE(2), &tensor));
  kernel_of("some");
  mica_tensor_destroy(tensor);
  mica_engine_destroy(other);
  ck_assert_str_eq(mica_error_message(), kept);
}
END_TEST

/* Programs that were compiled with structures of another size. */
START_TEST(structures_of_another_size) {
  struct {
    mica_device_info info;
    unsigned char more[16];
  } given;
  const unsigned char *bytes = (const unsigned char *)&given;
  mica_stats stats[2];
  const size_t part = offsetof(mica_device_info, platform) + 4;
  memset(&given, 0x5a, sizeof given);
  ck_ok(mica_device_find_sized("null", &given.info, part));
  ck_assert_str_eq(given.info.id, "null");
  for (size_t i = part; i < sizeof given; i++) ck_assert_uint_eq(bytes[i], 0x5a);
  ck_ok(mica_device_find_sized("null", &given.info, sizeof given));
  ck_assert_int_eq(given.info.device_class, MICA_DEVICE_CLASS_NULL);
  for (size_t i = sizeof given.info; i < sizeof given; i++) ck_assert_uint_eq(bytes[i], 0);
  memset(stats, 0x5a, sizeof stats);
  mica_engine_stats_sized(engine, stats, sizeof stats->kernel_builds);
  ck_assert_uint_eq(stats->kernel_builds, 0);
  ck_assert_uint_eq(stats->cache_hits, UINT64_C(0x5a5a5a5a5a5a5a5a));
  mica_engine_stats_sized(engine, stats, sizeof stats);
  ck_assert_uint_eq(stats[1].kernel_builds, 0);
}
END_TEST

/* Hosts read what kernels would have computed, such as shapes. New memory must not have what was freed before. */
START_TEST(new_memory_is_zero) {
  static const size_t sizes[] = {1, 255, 1000, 3000, 20000, 100000};
  static unsigned char read[100000];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *dirty[64];
    mica_tensor *tensor = NULL;
    mica_buffer *buffer = NULL;
    for (size_t k = 0; k < 64; k++) {
      dirty[k] = malloc(2 * sizes[i] + 256);
      ck_assert_ptr_nonnull(dirty[k]);
      memset(dirty[k], 0x5a, 2 * sizes[i] + 256);
    }
    for (size_t k = 0; k < 64; k++) free(dirty[k]);
    mica_engine_trim(engine);
    ck_ok(mica_buffer_create(engine, sizes[i], &buffer));
    ck_ok(mica_tensor_wrap(buffer, 0, MICA_U8, MICA_SHAPE((int64_t)sizes[i]), &tensor));
    memset(read, 1, sizeof read);
    ck_ok(mica_tensor_download(queue, tensor, read, sizes[i]));
    for (size_t k = 0; k < sizes[i]; k++) ck_assert_uint_eq(read[k], 0);
    mica_tensor_destroy(tensor);
    mica_buffer_destroy(buffer);
  }
}
END_TEST

TESTS(ANYWHERE, begin, end, describes_itself, the_cache_directory_is_chosen, success_keeps_the_sentence,
      structures_of_another_size, blocks_are_reused_by_class, blocks_in_use_are_not_given_out_twice,
      sizes_beyond_the_device, blocks_of_a_busy_queue_wait, tensors_keep_their_buffer, a_vector_has_no_transpose,
      null_pointers_are_refused, another_engines_tensor_is_refused, only_whole_tensors_are_moved, transfers_are_counted,
      a_recording_keeps_what_it_uses, new_memory_is_zero)
