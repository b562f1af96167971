/* labels: device
 *
 * The choice of attention's kernel on a GPU with matrix units: PoCL under another name, whose driver takes the unit's
 * instructions for their emulation. The kernel is tried first, then taken where it can be, and never again where the
 * trial was wrong. */
#include "base/element.h"
#include "ops/attention/attention.h"
#include "ops/select/mma.h"
#include "runtime/opencl_api.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, LENGTH = 70, COUNT = HEADS * LENGTH * 64 };

static mica__cl_api api, below;
static const char *name;
static bool wrong;                 /* the kernel, though not the unit */
static int products, units, tiles; /* programs made of each kernel */

static cl_int text(const char *is, size_t size, void *out, size_t *used) {
  if (used) *used = strlen(is) + 1;
  if (out && size > strlen(is)) strcpy(out, is);
  return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info what, size_t size,
                                                     void *out, size_t *used) {
  if (what == CL_PLATFORM_NAME) return text("AMD Accelerated Parallel Processing", size, out, used);
  return below.GetPlatformInfo(platform, what, size, out, used);
}

static CL_API_ENTRY cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void *out,
                                                   size_t *used) {
  if (what == CL_DEVICE_NAME) return text(name, size, out, used);
  if (what == CL_DEVICE_VENDOR) return text("Advanced Micro Devices, Inc.", size, out, used);
  const cl_int error = below.GetDeviceInfo(device, what, size, out, used);
  if (out && what == CL_DEVICE_TYPE) *(cl_device_type *)out = CL_DEVICE_TYPE_GPU;
  if (out && what == CL_DEVICE_LOCAL_MEM_TYPE) *(cl_device_local_mem_type *)out = CL_LOCAL;
  if (out && what == CL_DEVICE_VENDOR_ID) *(cl_uint *)out = 0x1002;
  return error;
}

static CL_API_ENTRY cl_program CL_API_CALL program_of(cl_context context, cl_uint count, const char **texts,
                                                      const size_t *sizes, cl_int *error) {
  products += strstr(texts[0], "void mma_trial(") != NULL;
  tiles += strstr(texts[0], "attention_gpu(") != NULL;
  if (!strstr(texts[0], "void attention_mma("))
    return below.CreateProgramWithSource(context, count, texts, sizes, error);
  units++;
  char *copy = malloc(strlen(texts[0]) + 1), *at = NULL;
  ck_assert_uint_eq(count, 1);
  ck_assert_ptr_nonnull(copy);
  strcpy(copy, texts[0]);
  ck_assert_ptr_nonnull((at = strstr(copy, "/ sum[i][r]")));
  if (wrong) *at = '*';
  const cl_program made = below.CreateProgramWithSource(context, 1, (const char **)&copy, NULL, error);
  free(copy);
  return made;
}

static CL_API_ENTRY cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices,
                                             const char *options,
                                             void(CL_CALLBACK *done)(cl_program program, void *user), void *user) {
  static const char native[] = "-DMMA_NATIVE=1";
  char own[4096], *at = NULL;
  /* As the platform is called, PoCL's own macros are not there. */
  snprintf(own, sizeof own, "%s -DMICA_HAS_UNALIGNED_VECTORS -DMICA_HAS_HALF_VECTOR_BITS -cl-opt-disable", options);
  ck_assert_uint_lt(strlen(own), sizeof own - 1);
  if ((at = strstr(own, native))) at[strlen(native) - 1] = '0';
  return below.BuildProgram(program, count, devices, own, done, user);
}

static mica_engine *engine;

/* Verdicts are kept for the process, by the name. */
static void open_as(const char *device, bool is_wrong) {
  if (!below.GetDeviceInfo) below = *mica__cl_loader();
  api = below;
  api.GetPlatformInfo = platform_info;
  api.GetDeviceInfo = device_info;
  api.CreateProgramWithSource = program_of;
  api.BuildProgram = build;
  name = device;
  wrong = is_wrong;
  products = units = tiles = 0;
  mica__cl_install(&api);
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
}

static void close_engine(void) {
  mica_engine_destroy(engine);
  mica__cl_install(NULL);
}

/* Causal attention of heads of that size, as a session of the engine has it. */
static void attend(mica_engine *on, int64_t size, uint16_t *y_data) {
  const mica_shape shape = MICA_SHAPE(1, HEADS, LENGTH, size);
  static uint16_t data[COUNT];
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_feed feeds[3];
  mica_tensor *fed[3];
  mica_value in[3];
  ck_ok(mica_graph_create(&graph));
  for (int k = 0; k < 3; k++) {
    const char *const names[] = {"q", "k", "v"};
    /* From -1 to 1 in steps of 1/8, in f16. */
    for (int i = 0; i < COUNT; i++)
      mica__element_set(MICA_F16, data, i, (double)((i * (k + 3) + i / 64 * 5) % 17 - 8) / 8);
    in[k] = mica_input(graph, names[k], MICA_F16, shape);
    ck_ok(mica_tensor_create_from(on, MICA_F16, shape, data, &fed[k]));
    feeds[k] = (mica_feed){names[k], fed[k]};
  }
  mica_value y = mica_attention(in[0], in[1], in[2], &(mica_attention_config){.causal = true});
  ck_ok(mica_session_create(on, graph, &y, 1, NULL, &session));
  ck_ok(mica_session_run(session, mica_engine_queue(on), feeds, 3));
  const mica_tensor *got = mica_session_output(session, 0);
  ck_ok(mica_tensor_download(mica_engine_queue(on), got, y_data, mica_tensor_bytes(got)));
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  for (int k = 0; k < 3; k++) mica_tensor_destroy(fed[k]);
}

/* Within the rounding of weights and result: values are at most 1. */
static void expect_right(int64_t size) {
  static uint16_t want[COUNT], got[COUNT];
  attend(engine, size, got);
  attend(test_engine(), size, want);
  for (int64_t i = 0; i < HEADS * LENGTH * size; i++)
    ck_assert_double_eq_tol(mica__element_get(MICA_F16, got, i), mica__element_get(MICA_F16, want, i), 0x1p-9);
}

START_TEST(a_right_kernel_is_taken) {
  open_as("gfx1100", false);
  expect_right(64);
  ck_assert_int_eq(products, 1);
  ck_assert_int_eq(units, 1);
  ck_assert_int_eq(tiles, 0);
  /* Heads that are no pieces of 16 bytes are left to the other kernel. */
  expect_right(60);
  ck_assert_int_eq(units, 1);
  ck_assert_int_eq(tiles, 1);
  close_engine();
}
END_TEST

START_TEST(a_wrong_kernel_is_left) {
  open_as("gfx1101", true);
  expect_right(64);
  ck_assert_int_eq(products, 1);
  ck_assert_int_eq(units, 1);
  ck_assert_int_eq(tiles, 1);
  /* The verdict stays: nothing is tried twice. */
  expect_right(32);
  ck_assert_int_eq(units, 1);
  close_engine();
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("attention_units");
  TCase *choice = tcase_create("choice");
  tcase_set_timeout(choice, 0);
  tcase_add_test(choice, a_right_kernel_is_taken);
  tcase_add_test(choice, a_wrong_kernel_is_left);
  suite_add_tcase(suite, choice);
  return suite;
}
