/* labels: device single
 *
 * A device that is lost: whichever call notices, by whichever code, it ends in MICA_E_DEVICE_LOST, later calls answer
 * without the driver, and objects are released. The same codes of a device that goes on mean what they did. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_api.h"
#include "support/small_run.h"

#include <mica/cache.h>
#include <mica/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char cache[4096], trace[4200];
static mica_engine *engine;

/* What a driver answers, and what that means while the device goes on. */
static const struct noticed {
  fault_call call;
  cl_int error;
  const char *name;
  mica_status alive;
} noticed[] = {
    {FAULT_EnqueueReadBuffer, CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", MICA_E_DEVICE_MEMORY},
    {FAULT_EnqueueWriteBuffer, -9999, "error -9999", MICA_E_DEVICE},
    {FAULT_Finish, CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE", MICA_E_DEVICE},
    {FAULT_Finish, CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", MICA_E_DEVICE_MEMORY},
    {FAULT_WaitForEvents, CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE", MICA_E_DEVICE},
    {FAULT_EnqueueNDRangeKernel, CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", MICA_E_DEVICE_MEMORY},
    {FAULT_CreateBuffer, CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", MICA_E_DEVICE_MEMORY},
    {FAULT_CreateKernel, CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", MICA_E_DEVICE_MEMORY},
    {FAULT_BuildProgram, CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", MICA_E_BUILD},
};
#define NOTICED (int)(sizeof noticed / sizeof *noticed)

static void begin(void) {
  size_t count;
  snprintf(cache, sizeof cache, "%s/lost", getenv("MICA_BUILD_DIR"));
  snprintf(trace, sizeof trace, "%s/lost.json", getenv("MICA_BUILD_DIR"));
  ck_ok(mica_cache_clear(cache, &count));
  fault_install(mica__cl_loader());
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = cache}, &engine));
}

static void end(void) {
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
  fault_remove();
}

static unsigned long calls_but_releases(void) {
  static const fault_call releases[] = {FAULT_ReleaseContext, FAULT_ReleaseCommandQueue, FAULT_ReleaseMemObject,
                                        FAULT_ReleaseProgram, FAULT_ReleaseKernel,       FAULT_ReleaseEvent};
  unsigned long calls = fault_calls(FAULT_ANY);
  for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) calls -= fault_calls(releases[i]);
  return calls;
}

static void is_lost(mica_status status) {
  ck_assert_msg(status == MICA_E_DEVICE_LOST, "%s: %s", mica_status_name(status), mica_error_message());
  ck_assert_ptr_nonnull(strstr(mica_error_message(), mica_engine_device(engine)->name));
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "is lost"));
}

START_TEST(whichever_call_notices) {
  const struct noticed *with = &noticed[_i];
  mica_tensor *kept = NULL, *none = NULL;
  mica_event *mark = NULL;
  mica_queue *queue = NULL;
  float values[8] = {0};
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(8), values, &kept));
  ck_ok(mica_queue_mark(mica_engine_queue(engine), &mark));
  fault_lose(with->call, 1, with->error);
  is_lost(small_run(engine, true, trace));
  ck_assert_str_eq(fault_call_name(fault_fired()), fault_call_name(with->call));
  ck_assert_msg(strstr(mica_error_message(), with->name) != NULL, "%s", mica_error_message());

  /* The driver is not asked again. */
  const unsigned long before = calls_but_releases();
  is_lost(mica_queue_finish(mica_engine_queue(engine)));
  is_lost(mica_queue_flush(mica_engine_queue(engine)));
  is_lost(mica_event_wait(mark));
  is_lost(mica_tensor_upload(mica_engine_queue(engine), kept, values, sizeof values));
  is_lost(mica_tensor_download(mica_engine_queue(engine), kept, values, sizeof values));
  is_lost(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(8), &none));
  is_lost(mica_queue_create(engine, &queue));
  is_lost(small_run(engine, true, trace));
  mica_event_destroy(mark);
  mica_tensor_destroy(kept);
  mica_engine_destroy(engine);
  engine = NULL;
  ck_assert_uint_eq(calls_but_releases(), before);
  /* A mapping ends with its memory. */
  ck_assert_msg(fault_live() == 0 || strstr(fault_live_text(), " mapping") == fault_live_text() + 1, "leaks %s",
                fault_live_text());

  /* Another engine is another beginning. */
  for (int call = 0; call < FAULT_CALL_COUNT; call++) fault_always((fault_call)call, CL_SUCCESS);
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = cache}, &engine));
  ck_ok(small_run(engine, true, trace));
}
END_TEST

START_TEST(a_device_that_goes_on_is_not_lost) {
  const struct noticed *with = &noticed[_i];
  fault_arm(with->call, 1, with->error);
  const mica_status status = small_run(engine, true, trace);
  ck_assert_str_eq(fault_call_name(fault_fired()), fault_call_name(with->call));
  ck_assert_msg(status == with->alive, "%s: %s", mica_status_name(status), mica_error_message());
  ck_ok(small_run(engine, true, trace));
}
END_TEST

START_TEST(a_device_that_is_not_available_is_lost_unasked) {
  fault_arm(FAULT_EnqueueNDRangeKernel, 1, CL_DEVICE_NOT_AVAILABLE);
  is_lost(small_run(engine, true, trace));
  is_lost(small_run(engine, true, trace));
}
END_TEST

/* A kernel that takes too much, while no memory is left to ask with. */
START_TEST(a_full_device_is_not_lost) {
  mica_tensor *y = NULL;
  const float zero[4] = {0};
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(4), &y));
  fault_always(FAULT_CreateBuffer, CL_OUT_OF_RESOURCES);
  fault_arm(FAULT_Finish, 1, CL_OUT_OF_RESOURCES);
  ck_assert_int_eq(mica_queue_finish(mica_engine_queue(engine)), MICA_E_DEVICE_MEMORY);
  fault_always(FAULT_CreateBuffer, CL_SUCCESS);
  ck_ok(mica_tensor_upload(mica_engine_queue(engine), y, zero, sizeof zero));
  mica_tensor_destroy(y);
  ck_ok(small_run(engine, true, trace));
}
END_TEST

START_TEST(a_full_device_can_be_lost) {
  fault_always(FAULT_CreateBuffer, CL_OUT_OF_RESOURCES);
  fault_always(FAULT_Finish, CL_OUT_OF_RESOURCES);
  is_lost(mica_queue_finish(mica_engine_queue(engine)));
}
END_TEST

TESTS(DEVICE, begin, end, LOOP(whichever_call_notices, 0, NOTICED), LOOP(a_device_that_goes_on_is_not_lost, 0, NOTICED),
      a_device_that_is_not_available_is_lost_unasked, a_full_device_is_not_lost, a_full_device_can_be_lost)
