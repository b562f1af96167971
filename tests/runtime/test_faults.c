/* labels: device single
 *
 * Every OpenCL call of a small run fails once: the run ends in a status and a sentence, nothing leaks, and the engine
 * (where there is one by then) does the next run right. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_api.h"
#include "support/small_run.h"

#include <mica/cache.h>
#include <mica/opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char cache[4096], trace[4200];
static cl_context own_context;
static cl_device_id own_device;
static cl_command_queue own_queue;
static mica_tensor *own_tensor;
static cl_mem own_memory;

static void begin(void) {
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(4), &own_tensor));
  own_memory = mica_tensor_opencl(own_tensor, NULL);
  own_context = mica_engine_opencl_context(test_engine());
  own_device = mica_engine_opencl_device(test_engine());
  own_queue = mica_queue_opencl(test_queue());
  snprintf(cache, sizeof cache, "%s/faults", getenv("MICA_BUILD_DIR"));
  snprintf(trace, sizeof trace, "%s/faults.json", getenv("MICA_BUILD_DIR"));
  setenv("MICA_TEXTURES", "1", 1);
  fault_install(mica__cl_loader());
}

static void end(void) {
  fault_remove();
  unsetenv("MICA_TEXTURES");
  mica_tensor_destroy(own_tensor);
}

static void empty_cache(void) {
  size_t count;
  ck_ok(mica_cache_clear(cache, &count));
}

static mica_status create(mica_engine **engine) {
  return mica_engine_create(&(mica_engine_config){.cache_dir = cache}, engine);
}

/* On objects of the caller's: those of the engine that tests share. */
static mica_status create_from_own(mica_engine **engine) {
  return mica_engine_create_from_opencl(own_context, own_device, own_queue, &(mica_engine_config){.cache_dir = cache},
                                        engine);
}

/* Memory of the caller's as a tensor, where the engine is on the caller's context too. */
static mica_status wrap_memory(mica_engine *engine) {
  if (mica_engine_opencl_context(engine) != own_context) return MICA_OK;
  mica_tensor *tensor = NULL;
  mica_buffer *buffer = NULL;
  mica_status status = mica_buffer_wrap_opencl(engine, own_memory, &buffer);
  if (status == MICA_OK) status = mica_tensor_wrap(buffer, 0, MICA_F32, MICA_SHAPE(4), &tensor);
  if (status == MICA_OK && mica_tensor_opencl(tensor, NULL) != own_memory) status = MICA_E_NUMERIC;
  mica_buffer_destroy(buffer);
  mica_tensor_destroy(tensor);
  return status;
}

/* One run in which the n-th call fails. false when it makes fewer calls. */
static bool run_with_fault(unsigned n, mica_status (*create_engine)(mica_engine **)) {
  static const cl_int errors[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_MEM_OBJECT_ALLOCATION_FAILURE};
  mica_engine *engine = NULL;
  fault_arm(FAULT_ANY, n, errors[n % 3]);
  mica_status status = create_engine(&engine);
  bool made = status == MICA_OK;
  if (made) status = wrap_memory(engine);
  if (status == MICA_OK) status = small_run(engine, true, trace);
  fault_call failed = fault_fired();
  const char *name = fault_call_name(failed);
  if (status != MICA_OK) {
    ck_assert_msg(failed != FAULT_CALL_COUNT, "nothing failed on purpose, but: %s", mica_error_message());
    ck_assert_msg(strlen(mica_error_message()) > 10, "%s (call %u): no sentence", name, n);
    ck_assert_msg(status != MICA_E_NUMERIC, "%s (call %u): a wrong result", name, n);
  }
  if (made && failed != FAULT_CALL_COUNT) {
    status = small_run(engine, true, trace);
    ck_assert_msg(status == MICA_OK, "the run after one whose %s (call %u) failed: %s", name, n, mica_error_message());
  }
  if (made) test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
  name = fault_call_name(fault_fired());
  ck_assert_msg(fault_live() == 0, "%s (call %u): leaks %s", name, n, fault_live_text());
  return fault_fired() != FAULT_CALL_COUNT;
}

/* Cuts the device in halves once each call of it has failed; false where it cannot be cut. */
static bool cut_in_halves(void) {
  mica_device_info whole, half;
  char name[64];
  ck_ok(mica_device_find(NULL, &whole));
  snprintf(name, sizeof name, "%s/2:1", whole.id);
  if (whole.compute_units < 2) return false;
  for (unsigned n = 1; n <= 2; n++) {
    fault_arm(FAULT_CreateSubDevices, n, CL_OUT_OF_HOST_MEMORY);
    mica_status status = mica_device_find(name, &half);
    ck_assert_msg(status != MICA_OK && strlen(mica_error_message()) > 10, "call %u of cutting a device", n);
  }
  fault_arm(FAULT_ANY, 0, 0);
  mica_status status = mica_device_find(name, &half);
  ck_assert_msg(status == MICA_OK || status == MICA_E_UNSUPPORTED, "%s", mica_error_message());
  return status == MICA_OK;
}

START_TEST(nothing_fails) {
  const bool cuts = cut_in_halves();
  empty_cache();
  ck_assert(!run_with_fault(0, create));
  ck_assert(!run_with_fault(0, create));
  ck_assert(!run_with_fault(0, create_from_own));
  /* The run is small, but it leaves nothing out: else no failure of it would be seen below. */
  const bool lends = mica_engine_device(test_engine())->device_class == MICA_DEVICE_CLASS_CPU;
  mica_device_info device = {0};
  ck_ok(mica_device_find(NULL, &device));
  for (int call = 0; call < FAULT_CALL_COUNT; call++)
    ck_assert_msg(fault_calls((fault_call)call) > 0 || call == FAULT_GetProgramBuildInfo ||
                      (call == FAULT_CreateSubDevices && !cuts) ||
                      (call == FAULT_CreateImage && !device.texture_length) ||
                      (call == FAULT_SetMemObjectDestructorCallback && !lends),
                  "%s is never called", fault_call_name((fault_call)call));
}
END_TEST

static void fail_each(mica_status (*create_engine)(mica_engine **), bool empty) {
  unsigned n = 1;
  do
    if (empty) empty_cache();
  while (run_with_fault(n++, create_engine));
  ck_assert_uint_gt(n, 100);
  printf("%u calls failed in turn\n", n - 2);
}

START_TEST(each_call_fails_while_compiling) { fail_each(create, true); }
END_TEST

START_TEST(each_call_fails_with_a_full_cache) {
  run_with_fault(0, create);
  fail_each(create, false);
}
END_TEST

START_TEST(each_call_fails_on_the_callers_objects) { fail_each(create_from_own, false); }
END_TEST

TESTS(DEVICE, begin, end, nothing_fails, each_call_fails_while_compiling, each_call_fails_with_a_full_cache,
      each_call_fails_on_the_callers_objects)
