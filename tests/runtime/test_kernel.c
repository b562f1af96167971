/* labels: device
 *
 * Kernels from the compiler to the launch: what a failure says, and what is refused before the driver sees it. */
#include "base/text.h"
#include "runtime/compiler.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "runtime/recording.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char count_source[] = "__kernel void count(__global int *out, const long out_at, const int n) {\n"
                                   "  const int i = get_global_id(0);\n"
                                   "  if (i < n) out[out_at + i] = STEP * (int)get_global_size(0) + i;\n"
                                   "}\n";

static mica__kernel *count_kernel(const char *options) {
  mica__kernel *kernel;
  ck_ok(mica__kernel_get_source(test_engine(), "count", count_source, options, &kernel));
  return kernel;
}

static mica_tensor *make_ints(int64_t n) {
  mica_tensor *tensor;
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(n), &tensor));
  return tensor;
}

static void says(const char *part) {
  ck_assert_msg(strstr(mica_error_message(), part) != NULL, "\"%s\" is not in \"%s\"", part, mica_error_message());
}

START_TEST(a_build_error_carries_kernel_options_and_log) {
  mica__kernel *kernel = NULL;
  static const char broken[] = "__kernel void broken(__global int *x) { x[0] = no_such_thing; }\n";
  ck_assert_int_eq(mica__kernel_get_source(test_engine(), "broken", broken, "-DODD=3", &kernel), MICA_E_BUILD);
  ck_assert_ptr_null(kernel);
  says("kernel broken");
  says("-DODD=3");
  says(mica_engine_device(test_engine())->name);
  says("no_such_thing"); /* from the driver's log */
  /* It is no better the second time, and the engine is none the worse. */
  ck_assert_int_eq(mica__kernel_get_source(test_engine(), "broken", broken, "-DODD=3", &kernel), MICA_E_BUILD);
  count_kernel("-DSTEP=1");
}
END_TEST

START_TEST(a_kernel_that_is_not_in_its_program) {
  mica__kernel *kernel;
  ck_assert_int_eq(mica__kernel_get_source(test_engine(), "absent", count_source, "-DSTEP=1", &kernel), MICA_E_BUILD);
  says("absent");
}
END_TEST

START_TEST(a_name_too_long) {
  char name[200], source[400];
  mica__kernel *kernel;
  memset(name, 'k', sizeof name);
  name[MICA__MAX_KERNEL_NAME + 1] = '\0';
  snprintf(source, sizeof source, "__kernel void %s(__global int *x) { x[0] = 1; }", name);
  ck_assert_int_eq(mica__kernel_get_source(test_engine(), name, source, NULL, &kernel), MICA_E_INVALID);
  says(name);
  name[MICA__MAX_KERNEL_NAME] = '\0';
  snprintf(source, sizeof source, "__kernel void %s(__global int *x) { x[0] = 1; }", name);
  ck_ok(mica__kernel_get_source(test_engine(), name, source, NULL, &kernel));
  ck_assert_str_eq(mica__kernel_name(kernel), name);
}
END_TEST

START_TEST(a_kernel_is_made_once) {
  uint64_t builds = mica_engine_stats(test_engine()).kernel_builds, hits = mica_engine_stats(test_engine()).cache_hits;
  mica__kernel *first = count_kernel("-DSTEP=100"), *again = count_kernel("-DSTEP=100"),
               *other = count_kernel("-DSTEP=101");
  ck_assert_ptr_eq(first, again);
  ck_assert_ptr_ne(first, other);
  ck_assert_uint_gt(mica__kernel_max_group(first), 0);
  mica_stats stats = mica_engine_stats(test_engine());
  ck_assert_uint_eq(stats.kernel_builds - builds + stats.cache_hits - hits, 2);
}
END_TEST

/* The range is padded to whole groups, and the kernel guards its bounds. */
START_TEST(ranges_are_padded) {
  mica_tensor *tensor = make_ints(16);
  int32_t back[16];
  mica__launch launch = mica__launch_of(count_kernel("-DSTEP=1000"));
  mica__launch_tensor(&launch, tensor);
  mica__launch_size(&launch, 13);
  mica__launch_range1(&launch, 13, 8);
  uint64_t launches = mica_engine_stats(test_engine()).launches;
  ck_ok(mica__queue_submit(test_queue(), &launch));
  ck_ok(mica_tensor_download(test_queue(), tensor, back, sizeof back));
  for (int i = 0; i < 13; i++) ck_assert_int_eq(back[i], 16000 + i);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).launches, launches + 1);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(an_empty_range_does_nothing) {
  mica_tensor *tensor = make_ints(1);
  mica__launch launch = mica__launch_of(count_kernel("-DSTEP=1"));
  mica__launch_tensor(&launch, tensor);
  mica__launch_size(&launch, 0);
  mica__launch_range3(&launch, (int64_t[3]){5, 0, 5}, (size_t[3]){1, 1, 1});
  uint64_t launches = mica_engine_stats(test_engine()).launches;
  ck_ok(mica__queue_submit(test_queue(), &launch));
  ck_assert_uint_eq(mica_engine_stats(test_engine()).launches, launches);
  mica_tensor_destroy(tensor);
}
END_TEST

/* Each of them on a queue and on a recorder. */
static void refuses(const mica__launch *launch, mica_status status, const char *why) {
  mica_queue *recorder;
  ck_assert_int_eq(mica__queue_submit(test_queue(), launch), status);
  says(why);
  ck_ok(mica__recorder_create(test_engine(), &recorder));
  ck_assert_int_eq(mica__queue_submit(recorder, launch), status);
  mica__recording *recording = mica__recorder_end(recorder);
  ck_assert_uint_eq(mica__recording_count(recording), 0);
  mica__recording_destroy(recording);
}

START_TEST(arguments_are_checked) {
  mica_tensor *tensor = make_ints(4);
  mica__launch good = mica__launch_of(count_kernel("-DSTEP=1"));
  mica__launch_range1(&good, 4, 1);
  mica__launch_tensor(&good, tensor);
  mica__launch bad = good;
  refuses(&bad, MICA_E_INVALID, "takes 3 arguments, but was given 2");
  mica__launch_size(&bad, INT64_C(1) << 31);
  refuses(&bad, MICA_E_OVERFLOW, "kernel count: a size or an integer argument does not fit");
  bad = good;
  mica__launch_sizes(&bad, (int64_t[8]){[7] = -(INT64_C(1) << 31) - 1});
  refuses(&bad, MICA_E_OVERFLOW, "kernel count: a size or an integer argument does not fit");
  bad = good;
  for (int i = 0; i < 2 * MICA__MAX_ARGS; i++) mica__launch_float(&bad, 1);
  refuses(&bad, MICA_E_INVALID, "kernel count: there are more arguments than a kernel can have");
  bad = good;
  mica__launch_double(&bad, 1);
  refuses(&bad, MICA_E_DEVICE, "kernel count, argument 2 of 8 bytes");
  bad = good;
  mica__launch_size(&bad, 4);
  bad.dims = 0;
  refuses(&bad, MICA_E_INVALID, "the number of work-items was not set");
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(groups_are_checked) {
  const mica_device_info *device = mica_engine_device(test_engine());
  mica_tensor *tensor = make_ints(4);
  mica__launch launch = mica__launch_of(count_kernel("-DSTEP=1"));
  mica__launch_tensor(&launch, tensor);
  mica__launch_size(&launch, 4);
  /* It declares no group, so that a range takes what the compiled kernel allows. */
  mica__launch_range1(&launch, 4, 2 * mica__kernel_max_group(launch.kernel));
  ck_assert_uint_eq(launch.local[0], mica__kernel_max_group(launch.kernel));
  ck_ok(mica__queue_submit(test_queue(), &launch));
  launch.local[0]++;
  refuses(&launch, MICA_E_UNSUPPORTED, "kernel count needs groups of");
  mica__launch_range3(&launch, (int64_t[3]){1, 1, 1}, (size_t[3]){1, 1, device->max_group_dim[2] + 1});
  refuses(&launch, MICA_E_UNSUPPORTED, device->name);
  mica__launch_range3(&launch, (int64_t[3]){1, 1, 1}, (size_t[3]){SIZE_MAX / 2, SIZE_MAX / 2, 4});
  refuses(&launch, MICA_E_UNSUPPORTED, "needs groups of");
  mica__launch_range3(&launch, (int64_t[3]){1, 1, 1}, (size_t[3]){1, 0, 1});
  refuses(&launch, MICA_E_INVALID, "only some sizes of the work-group are 0; all or none must be 0");
  mica__launch_range1(&launch, -1, 1);
  refuses(&launch, MICA_E_OVERFLOW, "the number of work-items is negative or too large");
  mica_tensor_destroy(tensor);
}
END_TEST

static const mica__kernel_param params[] = {MICA__INT("STEP", "how far apart", 1, 2, 4),
                                            MICA__DTYPE("X_T", "what is counted", MICA_I32, MICA_F32)};
static const mica__variant variants[] = {{.name = "other", .classes = MICA__ON_ANY, .vendors = 1u << MICA_VENDOR_APPLE},
                                         {.name = "half", .classes = MICA__ON_ANY, .features = 1u << 31},
                                         {.name = "cpu", .classes = MICA__ON_CPU, .values = {2, MICA_I32}},
                                         {.name = "gpu", .classes = MICA__ON_GPU, .values = {4, MICA_I32}}};
static const mica__kernel_desc count_desc = {.options = "-cl-mad-enable",
                                             MICA__KERNEL("count", "test/count.cl", params, variants)};

START_TEST(parameters_are_checked) {
  mica__kernel *kernel;
  ck_assert_int_eq(mica__kernel_get(test_engine(), &count_desc, (int32_t[]){3, MICA_I32}, NULL, &kernel),
                   MICA_E_INVALID);
  says("kernel count: 3 is not a possible value of the parameter STEP (how far apart)");
  ck_assert_int_eq(mica__kernel_get(test_engine(), &count_desc, (int32_t[]){4, MICA_F16}, NULL, &kernel),
                   MICA_E_INVALID);
  says("X_T");
  char *options = mica__kernel_options(&count_desc, (int32_t[]){4, MICA_F32}, false);
  ck_assert_str_eq(options, "-cl-mad-enable -DSTEP=4 -DX_T=f32");
  free(options);
  ck_assert_int_eq(mica__kernel_param_index(&count_desc, "X_T"), 1);
  ck_assert_int_eq(mica__kernel_param_index(&count_desc, "X"), -1);
}
END_TEST

START_TEST(a_device_takes_the_first_variant_that_fits) {
  mica_device_info device = {.device_class = MICA_DEVICE_CLASS_CPU, .vendor = MICA_VENDOR_OTHER};
  ck_assert_str_eq(mica__kernel_variant(&count_desc, &device)->name, "cpu");
  device.device_class = MICA_DEVICE_CLASS_NULL;
  ck_assert_str_eq(mica__kernel_variant(&count_desc, &device)->name, "cpu");
  device.device_class = MICA_DEVICE_CLASS_ACCELERATOR;
  ck_assert_str_eq(mica__kernel_variant(&count_desc, &device)->name, "gpu");
  device.vendor = MICA_VENDOR_APPLE;
  ck_assert_str_eq(mica__kernel_variant(&count_desc, &device)->name, "other");
  mica__kernel_desc few = count_desc;
  few.variant_count = 2;
  device.vendor = MICA_VENDOR_AMD;
  ck_assert_ptr_null(mica__kernel_variant(&few, &device));
}
END_TEST

static bool is_optimised(const mica__kernel_desc *desc, const int32_t *values, bool imitating) {
  mica__kernel *kernel;
  mica__text text = {0};
  mica__kernels_imitate_gpu(test_engine(), imitating);
  mica_status status = mica__kernel_get(test_engine(), desc, values,
                                        "__kernel void imitated(__global int *x) { x[0] = STEP; }", &kernel);
  mica__kernels_imitate_gpu(test_engine(), false);
  ck_ok(status);
  ck_ok(mica__kernel_text(kernel, &text));
  bool optimised = !strstr(text.data, MICA__UNOPTIMISED);
  mica__text_free(&text);
  return optimised;
}

START_TEST(a_gpu_that_is_imitated_is_not_optimised_for) {
  static const mica__kernel_desc desc = {MICA__KERNEL("imitated", "common/dtype.clh", params, variants)};
  const int32_t for_cpus[] = {2, MICA_I32}, for_gpus[] = {4, MICA_I32}, for_any[] = {1, MICA_I32};
  const mica_device_info *device = mica_engine_device(test_engine());
  const bool plain = mica__kernel_class(device) == MICA__ON_CPU && mica__compiler_takes_unoptimised(device);
  ck_assert_int_eq(is_optimised(&desc, for_gpus, true), !plain);
  ck_assert(is_optimised(&desc, for_gpus, false));
  ck_assert(is_optimised(&desc, for_cpus, true));
  ck_assert(is_optimised(&desc, for_any, true)); /* no variant's */
}
END_TEST

static void write_kernel(const char *folder, const char *text) {
  char path[4200];
  snprintf(path, sizeof path, "%s/test", folder);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/test/count.cl", folder);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  fclose(file);
}

START_TEST(a_kernel_directory_hides_what_is_embedded) {
  char folder[] = "/tmp/mica-kernels-XXXXXX", path[100];
  mica__kernel *kernel;
  const int32_t values[] = {2, MICA_I32};
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(mica__kernel_get(test_engine(), &count_desc, values, NULL, &kernel), MICA_E_NOT_FOUND);
  says("test/count.cl");
  write_kernel(folder, "not OpenCL C at all\n");
  setenv("MICA_KERNEL_DIR", folder, 1);
  ck_assert_int_eq(mica__kernel_get(test_engine(), &count_desc, values, NULL, &kernel), MICA_E_BUILD);
  says("test/count.cl:1"); /* the log speaks of the file and its line */
  says("-cl-mad-enable -DSTEP=2 -DX_T=i32");
  write_kernel(folder, count_source);
  ck_ok(mica__kernel_get(test_engine(), &count_desc, values, NULL, &kernel));
  unsetenv("MICA_KERNEL_DIR");
  snprintf(path, sizeof path, "%s/test/count.cl", folder);
  unlink(path);
  snprintf(path, sizeof path, "%s/test", folder);
  rmdir(path);
  rmdir(folder);
}
END_TEST

/* A prelude is a part of the program, so two of them are two kernels. */
START_TEST(a_prelude_stands_before_the_file) {
  static const mica__kernel_desc desc = {.name = "prelude_test", .file = "common/dtype.clh"};
  mica__kernel *one, *two;
  ck_ok(
      mica__kernel_get(test_engine(), &desc, NULL, "__kernel void prelude_test(__global int *x) { x[0] = 1; }", &one));
  ck_ok(
      mica__kernel_get(test_engine(), &desc, NULL, "__kernel void prelude_test(__global int *x) { x[0] = 2; }", &two));
  ck_assert_ptr_ne(one, two);
}
END_TEST

/* Where not even the log can be had, the failure is still one to build. */
START_TEST(a_build_error_without_its_log) {
  mica_engine *engine;
  mica__kernel *kernel;
  fault_install(mica__cl_loader());
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  for (unsigned n = 1; n <= 2; n++) {
    fault_arm(FAULT_GetProgramBuildInfo, n, CL_OUT_OF_HOST_MEMORY);
    ck_assert_int_eq(mica__kernel_get_source(engine, "k", "__kernel void k() { x", "-DK", &kernel), MICA_E_BUILD);
    ck_assert_int_eq(fault_fired(), FAULT_GetProgramBuildInfo);
    says("-DK");
  }
  mica_engine_destroy(engine);
  ck_assert_msg(fault_live() == 0, "leaks %s", fault_live_text());
  fault_remove();
}
END_TEST

TESTS(DEVICE, NULL, NULL, a_build_error_carries_kernel_options_and_log, a_build_error_without_its_log,
      a_kernel_that_is_not_in_its_program, a_name_too_long, a_kernel_is_made_once,
      a_kernel_directory_hides_what_is_embedded, a_prelude_stands_before_the_file, ranges_are_padded,
      an_empty_range_does_nothing, arguments_are_checked, groups_are_checked, parameters_are_checked,
      a_gpu_that_is_imitated_is_not_optimised_for, a_device_takes_the_first_variant_that_fits)
