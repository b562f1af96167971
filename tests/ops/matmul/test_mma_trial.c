/* labels: null
 *
 * A GPU whose matrix units are known by name and fail their trial product, or whose driver refuses their instructions:
 * the units are declined, and products are left to other kernels. Only the engine whose driver refused them declines.
 * The GPU is the null device under another name; its kernels do nothing, which is wrong. */
#include "ops/amd_device.h"
#include "ops/matmul/gemm.h"
#include "ops/select/mma.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <string.h>

#define SIDE 64

static mica__cl_api api;
static bool builds; /* kernels with the instructions of units */
static int trials;

static CL_API_ENTRY cl_program CL_API_CALL program_of(cl_context context, cl_uint count, const char **texts,
                                                      const size_t *sizes, cl_int *error) {
  if (strstr(texts[0], "void mma_trial(")) trials++;
  return mica__cl_null()->CreateProgramWithSource(context, count, texts, sizes, error);
}

static CL_API_ENTRY cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices,
                                             const char *options,
                                             void(CL_CALLBACK *done)(cl_program program, void *user), void *user) {
  if (strstr(options, "MMA_NATIVE=1") && !builds) return CL_BUILD_PROGRAM_FAILURE;
  return mica__cl_null()->BuildProgram(program, count, devices, options, done, user);
}

/* The null device as an NVIDIA GPU of compute capability 8.0. */
static CL_API_ENTRY cl_int CL_API_CALL nvidia_device_info(cl_device_id device, cl_device_info what, size_t size,
                                                          void *out, size_t *used) {
  if (what == CL_DEVICE_VENDOR) return amd_text("NVIDIA Corporation", size, out, used);
  if (what == CL_DEVICE_EXTENSIONS) return amd_text("cl_nv_compiler_options", size, out, used);
  if (what != 0x4000 && what != 0x4001) return amd_device_info(device, what, size, out, used);
  *(cl_uint *)out = what == 0x4000 ? 8 : 0;
  return CL_SUCCESS;
}

static mica_engine *engine;

/* Results of trials are kept for the process, by the name. */
static void open_as(const char *device, bool driver_builds) {
  const bool nvidia = strstr(device, "NVIDIA") != NULL;
  api = *mica__cl_null();
  if (!nvidia) api.GetPlatformInfo = amd_platform_info;
  api.GetDeviceInfo = nvidia ? nvidia_device_info : amd_device_info;
  api.CreateProgramWithSource = program_of;
  api.BuildProgram = build;
  amd.below = mica__cl_null();
  amd.name = device;
  builds = driver_builds;
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

static const char *missing(mica_engine *of, mica_dtype type) {
  return mica__mma_missing(&mica__gemm_mma_kernel, type, mica_engine_device(of), of);
}

static void check_declined(const char *why) {
  static const char before[] = "variant \"mfma\" is not used for bf16: ";
  const mica_device_info *device = mica_engine_device(engine);
  const mica__kernel_desc *desc = &mica__gemm_mma_kernel;
  const mica__variant *variant = mica__kernel_variant(desc, device);
  ck_assert_ptr_nonnull(variant);
  ck_assert_int_eq(mica__kernel_value(desc, variant->values, "MMA_UNIT"), MICA__MMA_MFMA);
  ck_assert_ptr_null(missing(engine, MICA_F16));
  multiply();
  ck_assert_int_eq(trials, 1);
  ck_assert_str_eq(missing(engine, MICA_F16), why);
  multiply();
  /* What is known of one type says nothing of another, of which the first call and the second answer alike. */
  ck_assert_ptr_null(missing(engine, MICA_BF16));
  for (int call = 0; call < 2; call++) {
    ck_assert_int_eq(mica__mma_check(engine, desc, variant, MICA_BF16), MICA_E_UNSUPPORTED);
    ck_assert_msg(strstr(mica_error_message(), before), "%s", mica_error_message());
  }
  ck_assert_str_eq(mica_error_message() + strlen(before), why);
  ck_assert_int_eq(trials, 2);
}

START_TEST(a_wrong_unit_is_declined) {
  open_as("gfx90a:sramecc+:xnack-", true);
  check_declined("a trial on the device's matrix units gave wrong results");
  close_engine();
}
END_TEST

START_TEST(a_unit_that_cannot_be_built_is_declined) {
  open_as("gfx942", false);
  check_declined("a trial of the device's matrix units could not be compiled");
  close_engine();
}
END_TEST

/* The engine that is there becomes the refused one, and the next one's driver builds. */
static mica_engine *open_another(void) {
  mica_engine *refused = engine;
  builds = true;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  return refused;
}

START_TEST(another_engine_tries_for_itself) {
  open_as("gfx940", false);
  multiply();
  ck_assert_int_eq(trials, 1);
  mica_engine *refused = open_another();
  ck_assert_str_eq(missing(refused, MICA_F16), "a trial of the device's matrix units could not be compiled");
  ck_assert_ptr_null(missing(engine, MICA_F16));
  multiply();
  ck_assert_int_eq(trials, 2);
  ck_assert_str_eq(missing(engine, MICA_F16), "a trial on the device's matrix units gave wrong results");
  mica_engine_destroy(refused);
  close_engine();
}
END_TEST

static const char *chosen(mica_engine *of) {
  mica_tensor *a = NULL, *d = NULL;
  mica__gemm gemm;
  ck_ok(mica_tensor_create(of, MICA_F16, MICA_SHAPE(SIDE, SIDE), &a));
  ck_ok(mica_tensor_create(of, MICA_F16, MICA_SHAPE(SIDE, SIDE), &d));
  ck_ok(mica__gemm_problem(mica_engine_queue(of), NULL, a, a, NULL, NULL, d, &gemm));
  const char *name = mica__choose(of, mica__gemm_impls, &gemm, "gemm").impl->name;
  mica_tensor_destroy(a);
  mica_tensor_destroy(d);
  return name;
}

/* Units that need no trial. */
START_TEST(another_engine_still_takes_tensor_cores) {
  open_as("NVIDIA A100", false);
  ck_assert_str_eq(chosen(engine), "gemm_mma");
  multiply();
  ck_assert_str_ne(chosen(engine), "gemm_mma");
  mica_engine *refused = open_another();
  for (int call = 0; call < 2; call++) {
    ck_assert_str_eq(chosen(engine), "gemm_mma");
    ck_assert_str_ne(chosen(refused), "gemm_mma");
    multiply();
  }
  ck_assert_int_eq(trials, 0);
  mica_engine_destroy(refused);
  close_engine();
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, a_wrong_unit_is_declined, a_unit_that_cannot_be_built_is_declined,
      another_engine_tries_for_itself, another_engine_still_takes_tensor_cores)
