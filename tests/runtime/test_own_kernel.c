/* labels: device
 *
 * Kernels of the user's own: built once, run with every kind of argument, refused with a sentence. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/kernel.h>
#include <string.h>

#define N 100

static const char source[] =
    "__kernel void own_fill(__global float *y, long y_at, int n, long add, float scale, __local float *shared) {\n"
    "  int i = get_global_id(0);\n"
    "  shared[get_local_id(0)] = scale * (i + add) + STEP;\n"
    "  if (i < n) y[y_at + i] = shared[get_local_id(0)];\n"
    "}\n";

static mica_kernel *build(void) {
  mica_kernel *kernel = NULL;
  ck_ok(mica_kernel_build(test_engine(), "own_fill", source, "-DSTEP=0.5f", &kernel));
  return kernel;
}

static mica_status run(const mica_arg *args, size_t count, size_t local) {
  return mica_kernel_run(test_queue(), build(), args, count, (size_t[]){N, 1, 1}, (size_t[]){local, 1, 1});
}

START_TEST(every_kind_of_argument) {
  mica_tensor *all = NULL, *tail = NULL;
  float got[N + 10], before[N + 10];
  for (int i = 0; i < N + 10; i++) before[i] = -1;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N + 10), before, &all));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(N), NULL, 10, &tail));
  const mica_arg args[] = {MICA_ARG_TENSOR(tail), MICA_ARG_INT(N - 1), MICA_ARG_LONG(1000), MICA_ARG_FLOAT(2),
                           MICA_ARG_LOCAL(32 * sizeof(float))};
  ck_ok(run(args, 5, 32));
  ck_ok(mica_tensor_download(test_queue(), all, got, sizeof got));
  for (int i = 0; i < 10; i++) ck_assert_float_eq(got[i], -1);
  for (int i = 0; i < N - 1; i++) ck_assert_float_eq(got[10 + i], 2 * (float)(i + 1000) + 0.5f);
  ck_assert_float_eq(got[N + 9], -1);
  mica_tensor_destroy(tail);
  mica_tensor_destroy(all);
}
END_TEST

START_TEST(it_is_built_once) {
  mica_kernel *first = build();
  uint64_t builds = mica_engine_stats(test_engine()).kernel_builds;
  ck_assert_ptr_eq(build(), first);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).kernel_builds, builds);
}
END_TEST

START_TEST(what_is_wrong_is_said) {
  mica_tensor *y = NULL, *foreign = NULL;
  mica_engine *other = NULL;
  mica_kernel *kernel = NULL;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(N), &y));
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &other));
  ck_ok(mica_tensor_create(other, MICA_F32, MICA_SHAPE(N), &foreign));
  mica_arg args[] = {MICA_ARG_TENSOR(y), MICA_ARG_INT(N), MICA_ARG_LONG(0), MICA_ARG_FLOAT(1), MICA_ARG_LOCAL(256)};

  ck_assert_int_eq(run(args, 4, 32), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "own_fill takes 6 arguments, but was given 5"));
  ck_assert_int_eq(run(args, 5, 0), MICA_E_INVALID);
  ck_assert_int_eq(run(args, 5, 1 << 20), MICA_E_UNSUPPORTED);
  args[0] = MICA_ARG_TENSOR(foreign);
  ck_assert_int_eq(run(args, 5, 32), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "another engine"));
  args[0] = MICA_ARG_TENSOR(NULL);
  ck_assert_int_eq(run(args, 5, 32), MICA_E_INVALID);
  args[0] = MICA_ARG_TENSOR(y);
  args[1] = MICA_ARG_INT((int64_t)1 << 40);
  ck_assert_int_eq(run(args, 5, 32), MICA_E_OVERFLOW);
  args[1] = MICA_ARG_LOCAL(0);
  ck_assert_int_eq(run(args, 5, 32), MICA_E_INVALID);
  ck_assert_int_eq(run(NULL, 5, 32), MICA_E_INVALID);
  ck_assert_int_eq(mica_kernel_build(test_engine(), "own", "__kernel void own(", NULL, &kernel), MICA_E_BUILD);
  ck_assert_int_eq(mica_kernel_build(test_engine(), "other", source, "-DSTEP=1", &kernel), MICA_E_BUILD);
  ck_assert_int_eq(mica_kernel_build(test_engine(), NULL, source, NULL, &kernel), MICA_E_INVALID);
  ck_assert_ptr_null(kernel);
  mica_tensor_destroy(foreign);
  mica_tensor_destroy(y);
  mica_engine_destroy(other);
}
END_TEST

TESTS(DEVICE, NULL, NULL, every_kind_of_argument, it_is_built_once, what_is_wrong_is_said)
