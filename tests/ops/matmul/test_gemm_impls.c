/* labels: device single
 *
 * Which implementation a device gets for which product, and why the others decline: on descriptions of devices that
 * need not be there, since declining looks at nothing else. */
#include "ops/matmul/gemm.h"
#include "runtime/clblast.h"
#include "runtime/recording.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <string.h>

static const mica_device_info gpu = {.device_class = MICA_DEVICE_CLASS_GPU,
                                     .compute_units = 32,
                                     .local_bytes = 49152,
                                     .local_is_fast = true,
                                     .max_group = 1024};

static mica_device_info nvidia(uint32_t compute_capability) {
  mica_device_info device = gpu;
  device.vendor = MICA_VENDOR_NVIDIA;
  device.features = MICA_FEATURE_INLINE_PTX | MICA_FEATURE_FP64;
  device.compute_capability = compute_capability;
  return device;
}

static mica_device_info amd(const char *name) {
  mica_device_info device = gpu;
  device.vendor = MICA_VENDOR_AMD;
  strcpy(device.platform, "AMD Accelerated Parallel Processing");
  strcpy(device.name, name);
  device.local_bytes = 65536;
  return device;
}

static mica_device_info intel(uint32_t subgroup_min) {
  mica_device_info device = gpu;
  device.vendor = MICA_VENDOR_INTEL;
  device.features = MICA_FEATURE_INTEL_SUBGROUPS;
  device.subgroup_min = subgroup_min;
  return device;
}

/* rows x cols, or a view of its transpose. */
static mica_tensor *matrix(mica_dtype type, int64_t rows, int64_t cols, bool transposed) {
  mica_tensor *stored = NULL, *view = NULL;
  if (!transposed) {
    ck_ok(mica_tensor_create(test_engine(), type, MICA_SHAPE(rows, cols), &stored));
    return stored;
  }
  ck_ok(mica_tensor_create(test_engine(), type, MICA_SHAPE(cols, rows), &stored));
  ck_ok(mica_tensor_transpose(stored, &view));
  mica_tensor_destroy(stored);
  return view;
}

/* The first implementation that takes a product of this type on the device; layout: "nn", "tn", "nt" or "tt". */
static const char *choice_of(const mica_device_info *device, mica_dtype type, const char *layout, int64_t m, int64_t n,
                             int64_t k, bool allow_tf32) {
  mica_tensor *a = matrix(type, m, k, layout[0] == 't'), *b = matrix(type, k, n, layout[1] == 't');
  mica_tensor *d = matrix(type == MICA_I8 ? MICA_I32 : type, m, n, false);
  mica__gemm gemm;
  mica_gemm_config config = mica_gemm_config_default();
  config.allow_tf32 = allow_tf32;
  ck_ok(mica__gemm_problem(test_queue(), &config, a, b, NULL, NULL, d, &gemm));
  const mica__impl *impl = mica__route(mica__gemm_impls, &gemm, device);
  mica_tensor_destroy(a);
  mica_tensor_destroy(b);
  mica_tensor_destroy(d);
  return impl->name;
}

static const char *choice(const mica_device_info *device, mica_dtype type, int64_t m, int64_t n, int64_t k,
                          bool allow_tf32) {
  return choice_of(device, type, "nn", m, n, k, allow_tf32);
}

START_TEST(any_gpu_by_size) {
  mica_device_info device = gpu;
  ck_assert_str_eq(choice(&device, MICA_F32, 2048, 2048, 512, false), "gemm_gpu");
  ck_assert_str_eq(choice(&device, MICA_F32, 64, 64, 8192, false), "gemm_splitk");
  ck_assert_str_eq(choice(&device, MICA_F32, 4, 700, 64, false), "gemm_direct");
  ck_assert_str_eq(choice(&device, MICA_F32, 1, 700, 64, false), "gemv_gpu");
  ck_assert_str_eq(choice(&device, MICA_I8, 512, 512, 64, false), "gemm_gpu");
}
END_TEST

START_TEST(a_gpu_without_room) {
  mica_device_info device = gpu;
  device.max_group = 32;
  ck_assert_str_eq(choice(&device, MICA_F32, 512, 512, 64, false), "gemm_naive");
  device = gpu;
  device.local_bytes = 4096;
  ck_assert_str_eq(choice(&device, MICA_F32, 512, 512, 64, false), "gemm_naive");
  device = gpu;
  device.local_is_fast = false;
  ck_assert_str_eq(choice(&device, MICA_F32, 512, 512, 64, false), "gemm_naive");
}
END_TEST

START_TEST(tensor_cores_where_they_are_and_may_be_used) {
  mica_device_info ampere = nvidia(80), turing = nvidia(75);
  ck_assert_str_eq(choice(&ampere, MICA_F16, 512, 512, 64, false), "gemm_mma");
  ck_assert_str_eq(choice(&ampere, MICA_I8, 512, 512, 64, false), "gemm_mma");
  ck_assert_str_eq(choice(&ampere, MICA_F32, 512, 512, 64, true), "gemm_mma");
  ck_assert_str_eq(choice(&ampere, MICA_F32, 512, 512, 64, false), "gemm_gpu");
  ck_assert_str_eq(choice(&turing, MICA_F16, 512, 512, 64, false), "gemm_gpu");
}
END_TEST

START_TEST(matrix_units_of_amd) {
  static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
  mica_device_info cdna = amd("gfx90a:sramecc+:xnack-"), rdna = amd("gfx1030"), mesa = amd("gfx90a");
  strcpy(mesa.platform, "rusticl");
  for (int l = 0; l < 4; l++) {
    ck_assert_str_eq(choice_of(&cdna, MICA_F16, layouts[l], 512, 512, 64, false), "gemm_mma");
    ck_assert_str_eq(choice_of(&cdna, MICA_BF16, layouts[l], 512, 512, 64, false), "gemm_mma");
    ck_assert_str_eq(choice_of(&rdna, MICA_BF16, layouts[l], 512, 512, 64, false), "gemm_gpu");
    ck_assert_str_eq(choice_of(&mesa, MICA_BF16, layouts[l], 512, 512, 64, false), "gemm_gpu");
  }
  ck_assert_str_eq(choice(&cdna, MICA_I8, 512, 512, 64, false), "gemm_mma");
  /* Its f32 is not rounded, so that nobody has to allow it. */
  ck_assert_str_eq(choice(&cdna, MICA_F32, 512, 512, 64, false), "gemm_mma");
}
END_TEST

/* f32 is none of their types, whether rounding is allowed or not. */
START_TEST(matrix_units_of_rdna_3_and_intel) {
  static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
  mica_device_info devices[] = {amd("gfx1100"), intel(8), intel(16)};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    mica_device_info *device = &devices[d];
    device->local_bytes = 65536;
    if (device->vendor == MICA_VENDOR_INTEL) device->features |= MICA_FEATURE_INTEL_MATRIX;
    for (int l = 0; l < 4; l++) {
      ck_assert_str_eq(choice_of(device, MICA_F16, layouts[l], 512, 512, 64, false), "gemm_mma");
      ck_assert_str_eq(choice_of(device, MICA_BF16, layouts[l], 512, 512, 64, false), "gemm_mma");
    }
    ck_assert_str_eq(choice(device, MICA_I8, 512, 512, 64, false), "gemm_mma");
    ck_assert_str_eq(choice(device, MICA_F32, 512, 512, 64, true), "gemm_gpu");
  }
  /* Subgroups of a size that no kernel is written for. */
  mica_device_info later = intel(32);
  later.features |= MICA_FEATURE_INTEL_MATRIX;
  ck_assert_str_eq(choice(&later, MICA_F16, 512, 512, 64, false), "gemm_gpu");
}
END_TEST

/* Elements that are not made of pieces of 16 bytes would be read one by one. */
START_TEST(tensor_cores_where_pieces_lie_together) {
  static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
  mica_device_info ampere = nvidia(80), hopper = nvidia(90);
  for (int l = 0; l < 4; l++) {
    ck_assert_str_eq(choice_of(&ampere, MICA_F16, layouts[l], 512, 512, 64, false), "gemm_mma");
    ck_assert_str_eq(choice_of(&hopper, MICA_BF16, layouts[l], 512, 512, 64, false), "gemm_mma");
    ck_assert_str_eq(choice_of(&ampere, MICA_F32, layouts[l], 512, 512, 64, true), "gemm_mma");
  }
  ck_assert_str_eq(choice_of(&ampere, MICA_F16, "nn", 512, 508, 64, false), "gemm_gpu");
  ck_assert_str_eq(choice_of(&hopper, MICA_BF16, "tn", 510, 512, 64, false), "gemm_gpu");
  ck_assert_str_eq(choice_of(&hopper, MICA_F32, "nn", 512, 508, 64, true), "gemm_mma");
  ck_assert_str_eq(choice_of(&hopper, MICA_F32, "nn", 512, 510, 64, true), "gemm_gpu");
  ck_assert_str_eq(choice_of(&hopper, MICA_I8, "nn", 512, 510, 64, false), "gemm_mma");
}
END_TEST

/* Without room for tiles in local memory, that is: those are faster. */
START_TEST(subgroups_of_a_known_size) {
  mica_device_info old = intel(8), new = intel(16), unknown = intel(0);
  ck_assert_str_eq(choice(&old, MICA_F32, 512, 512, 64, false), "gemm_gpu");
  old.local_bytes = new.local_bytes = unknown.local_bytes = 4096;
  ck_assert_str_eq(choice(&old, MICA_F32, 512, 512, 64, false), "gemm_subgroup");
  ck_assert_str_eq(choice(&new, MICA_BF16, 512, 512, 64, false), "gemm_subgroup");
  ck_assert_str_eq(choice(&new, MICA_I8, 512, 512, 64, false), "gemm_naive");
  ck_assert_str_eq(choice(&unknown, MICA_F32, 512, 512, 64, false), "gemm_naive");
}
END_TEST

static const char *why_not_clblast(mica_queue *queue, const mica_gemm_config *config, const mica_tensor *a,
                                   const mica_tensor *b, const mica_tensor *bias, mica_tensor *d) {
  mica__gemm gemm;
  ck_ok(mica__gemm_problem(queue, config, a, b, NULL, bias, d, &gemm));
  return mica__gemm_clblast.unable(&gemm);
}

/* What CLBlast cannot do, or does wrongly, it is not asked for. */
START_TEST(clblast_says_what_it_cannot_do) {
  mica_tensor *x = NULL, *strided = NULL, *bias = NULL, *d = NULL, *column = NULL, *row = NULL, *halves = NULL;
  mica_tensor *a = NULL, *half = NULL;
  mica_queue *recorder = NULL, *queue = test_queue();
  mica_gemm_config relu = {.alpha = 1, .activation = MICA_ACTIVATION_RELU};
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(16, 16), &x));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(8, 8), &d));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(8, 8), &a));
  ck_ok(mica_tensor_create(test_engine(), MICA_F16, MICA_SHAPE(8, 8), &half));
  ck_ok(mica_tensor_create(test_engine(), MICA_F16, MICA_SHAPE(8, 8), &halves));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(8), &bias));
  ck_ok(mica_tensor_view(x, MICA_SHAPE(8, 8), (int64_t[]){32, 2}, 0, &strided));
  ck_ok(mica_tensor_view(x, MICA_SHAPE(8, 1), (int64_t[]){16, 1}, 0, &column));
  ck_ok(mica_tensor_view(x, MICA_SHAPE(1, 8), (int64_t[]){16, 1}, 0, &row));
  ck_ok(mica__recorder_create(test_engine(), &recorder));
  ck_assert_ptr_nonnull(why_not_clblast(recorder, NULL, a, a, NULL, d));
  ck_assert_ptr_nonnull(why_not_clblast(queue, &relu, a, a, NULL, d));
  ck_assert_ptr_nonnull(why_not_clblast(queue, NULL, a, a, bias, d));
  ck_assert_ptr_nonnull(why_not_clblast(queue, NULL, column, row, NULL, d));
  ck_assert_ptr_nonnull(why_not_clblast(queue, NULL, strided, a, NULL, d));
  ck_assert_ptr_nonnull(why_not_clblast(queue, NULL, half, half, NULL, halves));
  if (mica__clblast_is_built()) ck_assert_ptr_null(why_not_clblast(queue, NULL, a, a, NULL, d));
  mica__recording_destroy(mica__recorder_end(recorder));
  mica_tensor *const all[] = {row, column, strided, bias, half, halves, a, d, x};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica_tensor_destroy(all[i]);
}
END_TEST

START_TEST(no_gpu_kernel_on_a_cpu) {
  const mica_device_info cpu = {.device_class = MICA_DEVICE_CLASS_CPU, .local_bytes = 1 << 20, .max_group = 4096};
  const char *name = choice(&cpu, MICA_F32, 512, 512, 64, false);
  ck_assert_str_ne(name, "gemm_gpu");
  ck_assert_str_ne(name, "gemm_direct");
}
END_TEST

/* The library may be shown to work only where one of its kernels ran. */
START_TEST(the_product_is_computed) {
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 0, 3}, bias[] = {10, -100};
  const float want[] = {15, 0, 24, 0};
  float got[4] = {0};
  mica_tensor *ta = NULL, *tb = NULL, *tbias = NULL, *td = NULL;
  mica_gemm_config config = mica_gemm_config_default();
  config.activation = MICA_ACTIVATION_RELU;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, 3), a, &ta));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(3, 2), b, &tb));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2), bias, &tbias));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, 2), &td));
  ck_ok(mica_op_gemm(test_queue(), &config, ta, tb, NULL, tbias, td));
  ck_ok(mica_tensor_download(test_queue(), td, got, sizeof got));
  for (int i = 0; i < 4; i++) ck_assert_float_eq(got[i], want[i]);
  mica_tensor_destroy(ta);
  mica_tensor_destroy(tb);
  mica_tensor_destroy(tbias);
  mica_tensor_destroy(td);
}
END_TEST

TESTS(DEVICE, NULL, NULL, any_gpu_by_size, a_gpu_without_room, tensor_cores_where_they_are_and_may_be_used,
      tensor_cores_where_pieces_lie_together, matrix_units_of_amd, matrix_units_of_rdna_3_and_intel,
      subgroups_of_a_known_size, clblast_says_what_it_cannot_do, no_gpu_kernel_on_a_cpu, the_product_is_computed)
