/* labels: null
 *
 * A GPU whose matrix units are known by name and fail their trial product: the units are declined, and products are
 * left to other kernels. The GPU is the null device under another name; its kernels do nothing, which is wrong. */
#include "ops/amd_device.h"
#include "ops/matmul/gemm.h"
#include "ops/select/mma.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <string.h>

#define SIDE 64

static mica__cl_api api;
static bool builds; /* the trial's kernel */
static int trials;
static cl_program trial;

static CL_API_ENTRY cl_program CL_API_CALL program_of(cl_context context, cl_uint count, const char **texts,
                                                      const size_t *sizes, cl_int *error) {
  const cl_program made = mica__cl_null()->CreateProgramWithSource(context, count, texts, sizes, error);
  if (strstr(texts[0], "void mma_trial(")) trial = made, trials++;
  return made;
}

static CL_API_ENTRY cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices,
                                             const char *options,
                                             void(CL_CALLBACK *done)(cl_program program, void *user), void *user) {
  if (program == trial && !builds) return CL_BUILD_PROGRAM_FAILURE;
  return mica__cl_null()->BuildProgram(program, count, devices, options, done, user);
}

static mica_engine *engine;

/* Verdicts are kept for the process, by the name. */
static void open_as(const char *device, bool trial_builds) {
  api = *mica__cl_null();
  api.GetPlatformInfo = amd_platform_info;
  api.GetDeviceInfo = amd_device_info;
  api.CreateProgramWithSource = program_of;
  api.BuildProgram = build;
  amd.below = mica__cl_null();
  amd.name = device;
  builds = trial_builds;
  trials = 0;
  mica__cl_install(&api);
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
}

static void close_engine(void) {
  mica_engine_destroy(engine);
  mica__cl_install(NULL);
}

static void multiply(void) {
  mica_tensor *a = NULL, *d = NULL;
  ck_ok(mica_tensor_create(engine, MICA_F16, MICA_SHAPE(SIDE, SIDE), &a));
  ck_ok(mica_tensor_create(engine, MICA_F16, MICA_SHAPE(SIDE, SIDE), &d));
  ck_ok(mica_op_gemm(mica_engine_queue(engine), NULL, a, a, NULL, NULL, d));
  mica_tensor_destroy(a);
  mica_tensor_destroy(d);
}

static void check_declined(const char *why) {
  const mica_device_info *device = mica_engine_device(engine);
  const mica__kernel_desc *desc = &mica__gemm_mma_kernel;
  const mica__variant *variant = mica__kernel_variant(desc, device);
  ck_assert_ptr_nonnull(variant);
  ck_assert_int_eq(mica__kernel_value(desc, variant->values, "MMA_UNIT"), MICA__MMA_MFMA);
  ck_assert_ptr_null(mica__mma_missing(desc, MICA_F16, device));
  multiply();
  ck_assert_int_eq(trials, 1);
  ck_assert_str_eq(mica__mma_missing(desc, MICA_F16, device), why);
  multiply();
  /* What is known of one type says nothing of another, of which the first call and the second answer alike. */
  ck_assert_ptr_null(mica__mma_missing(desc, MICA_BF16, device));
  for (int call = 0; call < 2; call++) {
    ck_assert_int_eq(mica__mma_check(engine, desc, variant, MICA_BF16), MICA_E_UNSUPPORTED);
    ck_assert_msg(strstr(mica_error_message(), "bf16 mfma: "), "%s", mica_error_message());
  }
  ck_assert_str_eq(mica_error_message() + strlen("bf16 mfma: "), why);
  ck_assert_int_eq(trials, 2);
}

START_TEST(a_wrong_unit_is_declined) {
  open_as("gfx90a:sramecc+:xnack-", true);
  check_declined("a trial on its matrix units was wrong");
  close_engine();
}
END_TEST

START_TEST(a_unit_that_cannot_be_built_is_declined) {
  open_as("gfx942", false);
  check_declined("a trial on its matrix units could not be built");
  close_engine();
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, a_wrong_unit_is_declined, a_unit_that_cannot_be_built_is_declined)
