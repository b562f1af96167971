/* labels: null
 *
 * The buffer pool when the driver has no memory left, and when several queues share blocks. */
#include "runtime/launch.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_api.h"

#include <string.h>

static mica_engine *engine;

static void begin(void) {
  fault_install(mica__cl_null());
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
}

static void end(void) {
  mica_engine_destroy(engine);
  ck_assert_msg(fault_live() == 0, "leaks %s", fault_live_text());
  fault_remove();
}

static mica_buffer *make(size_t bytes) {
  mica_buffer *buffer;
  ck_ok(mica_buffer_create(engine, bytes, &buffer));
  return buffer;
}

/* Every code that drivers answer when memory is short. */
START_TEST(pressure_empties_the_pool_and_tries_again) {
  static const cl_int errors[] = {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    mica_buffer_destroy(make(5000));
    mica_buffer_destroy(make(50000));
    ck_assert_uint_eq(mica_engine_stats(engine).bytes_pooled, 8192 + 65536);
    fault_arm(FAULT_CreateBuffer, 1, errors[i]);
    mica_buffer *buffer = make(1000);
    ck_assert_int_eq(fault_fired(), FAULT_CreateBuffer);
    mica_stats stats = mica_engine_stats(engine);
    ck_assert_uint_eq(stats.bytes_pooled, 0);
    ck_assert_uint_eq(stats.bytes_in_use, 1024);
    mica_buffer_destroy(buffer);
    mica_engine_trim(engine);
  }
}
END_TEST

/* Live and idle blocks count; idle ones give way. */
START_TEST(an_engine_keeps_within_its_memory) {
  mica_engine *small = NULL;
  mica_buffer *first = NULL, *second = NULL, *third = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = "", .memory_bytes = 65536}, &small));
  ck_assert_uint_eq(mica_engine_device(small)->global_bytes, 65536);
  ck_assert_int_eq(mica_buffer_create(small, 65537, &first), MICA_E_DEVICE_MEMORY);
  ck_assert_msg(strstr(mica_error_message(), "exceeds the 65536") != NULL, "%s", mica_error_message());
  ck_ok(mica_buffer_create(small, 32768, &first));
  ck_ok(mica_buffer_create(small, 30000, &second));
  ck_assert_int_eq(mica_buffer_create(small, 100, &third), MICA_E_DEVICE_MEMORY);
  ck_assert_msg(strstr(mica_error_message(), "65536 of its 65536 bytes") != NULL, "%s", mica_error_message());
  mica_buffer_destroy(second);
  ck_assert_uint_eq(mica_engine_stats(small).bytes_pooled, 32768);
  ck_ok(mica_buffer_create(small, 100, &third));
  ck_assert_uint_eq(mica_engine_stats(small).bytes_pooled, 0);
  mica_buffer_destroy(first);
  mica_buffer_destroy(third);
  for (int i = 0; i < 20; i++) {
    ck_ok(mica_buffer_create(small, 1000 * (size_t)(i + 1), &first));
    mica_buffer_destroy(first);
  }
  mica_engine_trim(small);
  ck_ok(mica_buffer_create(small, 65536, &first));
  mica_buffer_destroy(first);
  mica_engine_destroy(small);

  /* A buffer whose rounded size does not fit has its exact size. */
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = "", .memory_bytes = 90000}, &small));
  ck_ok(mica_buffer_create(small, 40000, &first));
  ck_assert_uint_eq(mica_engine_stats(small).bytes_in_use, 65536);
  ck_ok(mica_buffer_create(small, 20000, &second));
  ck_assert_uint_eq(mica_engine_stats(small).bytes_in_use, 65536 + 20000);
  ck_assert_int_eq(mica_buffer_create(small, 5000, &third), MICA_E_DEVICE_MEMORY);
  mica_buffer_destroy(second);
  ck_ok(mica_buffer_create(small, 20000, &second));
  mica_buffer_destroy(second);
  mica_buffer_destroy(first);
  mica_engine_destroy(small);
}
END_TEST

START_TEST(with_nothing_to_give_back_it_fails_with_figures) {
  mica_buffer *kept = make(3000), *buffer = NULL;
  fault_arm(FAULT_CreateBuffer, 1, CL_OUT_OF_RESOURCES);
  ck_assert_int_eq(mica_buffer_create(engine, 20000, &buffer), MICA_E_DEVICE_MEMORY);
  ck_assert_ptr_null(buffer);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "32768 bytes"));
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "4096 of its"));
  ck_assert_uint_eq(mica_engine_stats(engine).bytes_in_use, 4096);
  mica_buffer_destroy(kept);
}
END_TEST

START_TEST(another_error_is_no_pressure) {
  mica_buffer *buffer = NULL;
  mica_buffer_destroy(make(5000));
  fault_arm(FAULT_CreateBuffer, 1, CL_INVALID_CONTEXT);
  ck_assert_int_eq(mica_buffer_create(engine, 100, &buffer), MICA_E_DEVICE);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "CL_INVALID_CONTEXT"));
  ck_assert_uint_eq(mica_engine_stats(engine).bytes_pooled, 8192);
}
END_TEST

/* While there is one queue, a block of work in flight is given out again at once. A second queue could overtake that
 * work, so its making waits. */
START_TEST(a_second_queue_waits_for_the_first) {
  mica_queue *second;
  mica__kernel *kernel;
  mica_buffer *buffer = make(100);
  ck_ok(mica__kernel_get_source(engine, "k", "", NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_buffer(&launch, buffer, 0);
  mica__launch_range1(&launch, 1, 1);
  ck_ok(mica__queue_submit(mica_engine_queue(engine), &launch));
  mica_buffer_destroy(buffer);
  buffer = make(100);
  ck_assert_uint_eq(mica_engine_stats(engine).allocations, 1);
  unsigned long waits = fault_calls(FAULT_Finish);
  ck_ok(mica_queue_create(engine, &second));
  ck_assert_uint_gt(fault_calls(FAULT_Finish), waits);
  /* When even that fails, there is no second queue. */
  mica_queue *third = NULL;
  fault_arm(FAULT_Finish, 1, CL_OUT_OF_RESOURCES);
  ck_assert_int_ne(mica_queue_create(engine, &third), MICA_OK);
  ck_assert_ptr_null(third);
  mica_buffer_destroy(buffer);
  mica_queue_destroy(second);
}
END_TEST

/* An upload that fails on the device is reported once, and its staging memory is used again. */
START_TEST(staging_survives_failures) {
  mica_queue *queue = mica_engine_queue(engine);
  mica__kernel *kernel;
  mica_tensor *tensor;
  float data[4] = {1, 2, 3, 4}, back[4];
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(4), &tensor));
  ck_ok(mica__kernel_get_source(engine, "k", "", NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, tensor);
  mica__launch_range1(&launch, 4, 1);
  for (int round = 0; round < 12; round++) {
    static const fault_call calls[] = {FAULT_EnqueueWriteBuffer, FAULT_GetEventInfo, FAULT_EnqueueMapBuffer};
    ck_ok(mica__queue_submit(queue, &launch));
    fault_arm(calls[round % 3], 1, CL_OUT_OF_RESOURCES);
    mica_status status = mica_tensor_upload(queue, tensor, data, sizeof data);
    ck_assert_int_eq(status, fault_fired() == FAULT_CALL_COUNT ? MICA_OK : MICA_E_DEVICE_MEMORY);
    fault_arm(FAULT_ANY, 0, CL_SUCCESS);
    ck_ok(mica_tensor_upload(queue, tensor, data, sizeof data));
  }
  ck_ok(mica_tensor_download(queue, tensor, back, sizeof back));
  ck_assert_mem_eq(back, data, sizeof back);
  mica_tensor_destroy(tensor);
}
END_TEST

TESTS(ANYWHERE, begin, end, pressure_empties_the_pool_and_tries_again, with_nothing_to_give_back_it_fails_with_figures,
      an_engine_keeps_within_its_memory, another_error_is_no_pressure, a_second_queue_waits_for_the_first,
      staging_survives_failures)
