/* labels: device
 *
 * The profiler: what it counts, when it refuses, and the trace it writes. */
#include "runtime/launch.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <mica/opencl.h>
#include <mica/profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 4096

static mica_tensor *tensor;

static const char source[] = "__kernel void quick(__global float *x, const long x_at) { x[x_at] += 1; }\n"
                             "__kernel void slow(__global float *x, const long x_at) {\n"
                             "  const size_t i = x_at + get_global_id(0);\n"
                             "  float sum = x[i];\n"
                             "  for (int k = 0; k < 2000; k++) sum = sqrt(sum + k);\n"
                             "  x[i] = sum;\n"
                             "}\n";

static void launch(mica_queue *queue, const char *name, int64_t items, double flops) {
  mica__kernel *kernel;
  ck_ok(mica__kernel_get_source(test_engine(), name, source, NULL, &kernel));
  mica__launch l = mica__launch_of(kernel);
  mica__launch_tensor(&l, tensor);
  mica__launch_range1(&l, items, 1);
  mica__launch_cost(&l, flops, 8);
  ck_ok(mica__queue_submit(queue, &l));
}

static void begin(void) {
  static const float zero[N];
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N), zero, &tensor));
}

static void end(void) { mica_tensor_destroy(tensor); }

START_TEST(rows_add_up) {
  mica_profile_row rows[4];
  size_t count;
  launch(test_queue(), "quick", 1, 1); /* before it starts, and so not in it */
  ck_ok(mica_profile_start(test_engine()));
  launch(test_queue(), "quick", 1, 5);
  launch(test_queue(), "slow", N, 2000.0 * N);
  launch(test_queue(), "quick", 1, 7);
  ck_ok(mica_profile_stop(test_engine()));
  launch(test_queue(), "quick", 1, 1);
  ck_ok(mica_profile_rows(test_engine(), rows, 4, &count));
  ck_assert_uint_eq(count, 2);
  ck_assert_str_eq(rows[0].kernel, "slow"); /* the dearest first */
  ck_assert_str_eq(rows[1].kernel, "quick");
  ck_assert_uint_eq(rows[1].count, 2);
  ck_assert_double_eq(rows[1].flops, 12);
  ck_assert_double_eq(rows[1].bytes, 16);
  ck_assert_double_ge(rows[0].seconds, rows[1].seconds);
  ck_assert_double_gt(rows[0].seconds, 0);
  ck_assert_double_lt(rows[0].seconds, 60);
  mica_profile_total total;
  ck_ok(mica_profile_sum(test_engine(), &total));
  ck_assert_uint_eq(total.launches, 3);
  ck_assert_double_eq(total.flops, 12 + 2000.0 * N);
  ck_assert_double_eq_tol(total.seconds, rows[0].seconds + rows[1].seconds, 1e-9);
  ck_assert_double_ge(total.idle_seconds, 0);
  ck_assert_double_eq_tol(total.span_seconds, total.seconds + total.idle_seconds, 1e-9);
  ck_assert_int_eq(mica_profile_sum(test_engine(), NULL), MICA_E_INVALID);
  /* Fewer than there are. */
  ck_ok(mica_profile_rows(test_engine(), rows, 1, &count));
  ck_assert_uint_eq(count, 2);
  ck_ok(mica_profile_rows(test_engine(), NULL, 0, &count));
  ck_assert_uint_eq(count, 2);
  /* A new start forgets. */
  ck_ok(mica_profile_start(test_engine()));
  ck_ok(mica_profile_stop(test_engine()));
  ck_ok(mica_profile_rows(test_engine(), rows, 4, &count));
  ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(a_running_profile_is_not_read) {
  size_t count;
  char *text = NULL;
  ck_ok(mica_profile_start(test_engine()));
  ck_assert_int_eq(mica_profile_rows(test_engine(), NULL, 0, &count), MICA_E_STATE);
  ck_assert_int_eq(mica_profile_write_trace(test_engine(), "/dev/null"), MICA_E_STATE);
  ck_assert_int_eq(mica_profile_text(test_engine(), &text), MICA_E_STATE);
  ck_ok(mica_profile_stop(test_engine()));
  ck_ok(mica_profile_stop(test_engine()));
}
END_TEST

static cJSON *read_trace(void) {
  static char text[1 << 20];
  char path[4200];
  snprintf(path, sizeof path, "%s/trace.json", getenv("MICA_BUILD_DIR"));
  ck_ok(mica_profile_write_trace(test_engine(), path));
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(text, 1, sizeof text - 1, file);
  text[n] = '\0';
  fclose(file);
  cJSON *trace = cJSON_ParseWithOpts(text, NULL, 1);
  ck_assert_msg(trace != NULL, "no JSON: %s", text);
  return trace;
}

static double number(const cJSON *object, const char *name) {
  const cJSON *value = cJSON_GetObjectItem(object, name);
  ck_assert_msg(cJSON_IsNumber(value), "%s", name);
  return value->valuedouble;
}

/* Two queues, since their launches need not begin in the order in which they were noted. */
START_TEST(the_trace_is_json) {
  mica_queue *second;
  mica_profile_row rows[2];
  size_t count;
  ck_ok(mica_queue_create(test_engine(), &second));
  ck_ok(mica_profile_start(test_engine()));
  for (int i = 0; i < 20; i++) launch(i % 3 ? second : test_queue(), i % 2 ? "slow" : "quick", 1, 3);
  ck_ok(mica_profile_stop(test_engine()));
  ck_ok(mica_profile_rows(test_engine(), rows, 2, &count));
  cJSON *trace = read_trace();
  const cJSON *events = cJSON_GetObjectItem(trace, "traceEvents"), *event;
  ck_assert_int_eq(cJSON_GetArraySize(events), 20);
  double total = 0, first = 1e30;
  cJSON_ArrayForEach(event, events) {
    ck_assert_str_eq(cJSON_GetObjectItem(event, "ph")->valuestring, "X");
    ck_assert_double_ge(number(event, "ts"), 0);
    ck_assert_double_ge(number(event, "dur"), 0);
    ck_assert_double_eq(number(cJSON_GetObjectItem(event, "args"), "flops"), 3);
    if (number(event, "ts") < first) first = number(event, "ts");
    total += number(event, "dur");
  }
  ck_assert_double_eq(first, 0);
  ck_assert_double_eq_tol(total, 1e6 * (rows[0].seconds + rows[1].seconds), 0.1);
  const cJSON *other = cJSON_GetObjectItem(trace, "otherData");
  ck_assert_double_eq(number(other, "launches"), 20);
  ck_assert_double_eq(number(other, "flops"), 60);
  ck_assert_double_eq_tol(number(other, "microseconds"), total, 0.1);
  /* What overlaps counts twice in the sum, and once in the span. */
  double span = number(other, "span_microseconds"), idle = number(other, "idle_microseconds");
  ck_assert(span > 0 && idle >= 0 && total + idle >= span - 0.1);
  cJSON_Delete(trace);
  mica_queue_destroy(second);
}
END_TEST

START_TEST(an_empty_trace_is_json_too) {
  ck_ok(mica_profile_start(test_engine()));
  ck_ok(mica_profile_stop(test_engine()));
  cJSON *trace = read_trace();
  ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "traceEvents")), 0);
  ck_assert_double_eq(number(cJSON_GetObjectItem(trace, "otherData"), "span_microseconds"), 0);
  cJSON_Delete(trace);
}
END_TEST

START_TEST(a_trace_that_cannot_be_written) {
  ck_assert_int_eq(mica_profile_write_trace(test_engine(), "/dev/null/trace.json"), MICA_E_IO);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "/dev/null/trace.json"));
  ck_assert_int_eq(mica_profile_write_trace(test_engine(), NULL), MICA_E_INVALID);
  if (access("/dev/full", W_OK) == 0) {
    ck_assert_int_eq(mica_profile_write_trace(test_engine(), "/dev/full"), MICA_E_IO);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), strerror(ENOSPC)));
  }
}
END_TEST

/* The caller's own queue, made without CL_QUEUE_PROFILING_ENABLE, or for another context. */
START_TEST(the_callers_queue) {
  cl_int error;
  cl_device_id device = mica_engine_opencl_device(test_engine());
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue plain = clCreateCommandQueue(context, device, 0, &error);
  mica_engine *engine = NULL;
  ck_ok(mica_engine_create_from_opencl(context, device, plain, &(mica_engine_config){.cache_dir = ""}, &engine));
  ck_assert_ptr_eq(mica_queue_opencl(mica_engine_queue(engine)), plain);
  ck_assert_int_eq(mica_profile_start(engine), MICA_E_UNSUPPORTED);
  mica_engine_destroy(engine);
  engine = NULL;
  ck_assert_int_eq(
      mica_engine_create_from_opencl(mica_engine_opencl_context(test_engine()), device, plain, NULL, &engine),
      MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "another context"));
  ck_assert_ptr_null(engine);
  clReleaseCommandQueue(plain);
  clReleaseContext(context);
}
END_TEST

TESTS(DEVICE, begin, end, rows_add_up, a_running_profile_is_not_read, the_trace_is_json, an_empty_trace_is_json_too,
      a_trace_that_cannot_be_written, the_callers_queue)
