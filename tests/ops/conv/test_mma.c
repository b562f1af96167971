/* labels: device single
 *
 * Convolutions on matrix units: the emulation of NVIDIA's in every type over the whole grid of the check, and which
 * devices, types and shapes they are chosen for. */
#include "ops/conv/mma_passes.h"
#include "ops/emulation.h"
#include "ops/select/mma.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

START_TEST(emulation_is_right) { expect_all_types_right(&mma_passes[_i], last_variant(mma_passes[_i].impl), false); }
END_TEST

static const mica_device_info hopper = {.device_class = MICA_DEVICE_CLASS_GPU,
                                        .compute_units = 132,
                                        .local_bytes = 48 << 10,
                                        .local_is_fast = true,
                                        .max_group = 1024,
                                        .features = MICA_FEATURE_INLINE_PTX,
                                        .compute_capability = 90,
                                        .vendor = MICA_VENDOR_NVIDIA};

/* The route of a pass of a layer: images, channels, height and width, filters, their height and width, stride, padding,
 * groups. */
static const char *route(mica_dtype dtype, bool tf32, const mica_device_info *device, mica__conv_pass pass,
                         const int64_t l[8]) {
  const mica_conv_config config = {.stride = {l[5], l[5]}, .pad = {l[6], l[6]}, .groups = l[7], .allow_tf32 = tf32};
  const int64_t p = (l[2] + 2 * l[6] - l[4]) / l[5] + 1;
  mica_tensor *x = NULL, *w = NULL, *y = NULL;
  mica_engine *null = NULL;
  mica__conv conv;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &null));
  ck_ok(mica_tensor_create(null, dtype, MICA_SHAPE(l[0], l[1], l[2], l[2]), &x));
  ck_ok(mica_tensor_create(null, dtype, MICA_SHAPE(l[3], l[1] / l[7], l[4], l[4]), &w));
  ck_ok(mica_tensor_create(null, dtype, MICA_SHAPE(l[0], l[3], p, p), &y));
  ck_ok(mica__conv_problem(mica_engine_queue(null), pass, &config, x, w, y, NULL, &conv));
  const char *name = mica__route(mica__conv_impls[pass], &conv, device)->name;
  mica_tensor_destroy(x);
  mica_tensor_destroy(w);
  mica_tensor_destroy(y);
  mica_engine_destroy(null);
  return name;
}
#define ROUTE(dtype, device, pass, ...) route(dtype, false, device, pass, (const int64_t[8]){__VA_ARGS__})
#define TF32_ROUTE(device, pass, ...) route(MICA_F32, true, device, pass, (const int64_t[8]){__VA_ARGS__})

START_TEST(tensor_cores_are_chosen) {
  mica_device_info turing = hopper;
  turing.compute_capability = 75;
  for (int pass = MICA__CONV_FWD; pass <= MICA__CONV_BWD_DATA; pass++) {
    const mica__conv_pass p = (mica__conv_pass)pass;
    ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, p, 32, 64, 56, 64, 3, 1, 1, 1), "conv_gpu_mma");
    ck_assert_str_eq(ROUTE(MICA_F16, &hopper, p, 32, 128, 56, 128, 3, 2, 1, 1), "conv_gpu_mma");
    ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, p, 32, 1024, 14, 256, 1, 1, 0, 1), "conv_gpu_mma");
    ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, p, 32, 256, 56, 64, 1, 1, 0, 1), "conv_gemm");
    /* Products whose rows are no whole pieces. */
    ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, p, 32, 256, 17, 64, 1, 1, 0, 1), "conv_gpu_mma");
    ck_assert_str_eq(ROUTE(MICA_BF16, &turing, p, 32, 256, 17, 64, 1, 1, 0, 1), "conv_gemm");
    ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, p, 32, 96, 56, 96, 3, 1, 1, 96), "conv_gpu_depthwise");
    ck_assert_str_eq(ROUTE(MICA_BF16, &turing, p, 32, 128, 56, 128, 3, 2, 1, 1), "conv_gpu_implicit_gemm");
    ck_assert_str_eq(ROUTE(MICA_F32, &hopper, p, 32, 128, 56, 128, 3, 2, 1, 1), "conv_gpu_implicit_gemm");
    ck_assert_str_eq(TF32_ROUTE(&hopper, p, 32, 128, 56, 128, 3, 2, 1, 1), "conv_gpu_mma");
    ck_assert_str_eq(TF32_ROUTE(&turing, p, 32, 128, 56, 128, 3, 2, 1, 1), "conv_gpu_implicit_gemm");
    /* Groups whose results are narrower than an instruction. */
    ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, p, 32, 128, 56, 128, 3, 1, 1, 32), "conv_gpu_implicit_gemm");
  }
  const mica__conv_pass filter = MICA__CONV_BWD_FILTER;
  ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, filter, 32, 256, 56, 64, 1, 1, 0, 1), "conv_gpu_wgrad_mma");
  ck_assert_str_eq(ROUTE(MICA_F16, &hopper, filter, 32, 3, 224, 64, 7, 2, 3, 1), "conv_gpu_wgrad_mma");
  ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, filter, 32, 96, 56, 96, 3, 1, 1, 96), "conv_gpu_depthwise_wgrad");
  ck_assert_str_eq(ROUTE(MICA_F32, &hopper, filter, 32, 256, 56, 64, 1, 1, 0, 1), "conv_gpu_wgrad_implicit_gemm");
  ck_assert_str_eq(TF32_ROUTE(&hopper, filter, 32, 256, 56, 64, 1, 1, 0, 1), "conv_gpu_wgrad_mma");
  /* The first layer: three channels fill a piece well enough, three rows no instruction. */
  ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, MICA__CONV_FWD, 32, 3, 224, 64, 7, 2, 3, 1), "conv_gpu_mma");
  ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, MICA__CONV_FWD, 32, 1, 28, 64, 3, 1, 1, 1), "conv_gpu_implicit_gemm");
  ck_assert_str_eq(ROUTE(MICA_BF16, &hopper, MICA__CONV_BWD_DATA, 32, 3, 224, 64, 7, 2, 3, 1),
                   "conv_gpu_implicit_gemm");
}
END_TEST

START_TEST(units_of_others_are_chosen) {
  mica_device_info devices[] = {hopper, hopper, hopper, hopper};
  for (int d = 0; d < 4; d++) {
    mica_device_info *device = &devices[d];
    device->local_bytes = 64 << 10;
    device->max_group = 256;
    device->compute_capability = 0;
    device->vendor = d < 2 ? MICA_VENDOR_AMD : MICA_VENDOR_INTEL;
    device->features = d < 2 ? 0 : MICA_FEATURE_INTEL_MATRIX | MICA_FEATURE_INTEL_SUBGROUPS;
    device->subgroup_min = d < 2 ? 0 : d == 2 ? 8 : 16;
    strcpy(device->platform, d < 2 ? "AMD Accelerated Parallel Processing" : "Intel(R) OpenCL Graphics");
    strcpy(device->name, d == 0 ? "gfx942:sramecc+:xnack-" : d == 1 ? "gfx1101" : "Intel(R) Arc(TM) A770 Graphics");
    for (int pass = MICA__CONV_FWD; pass <= MICA__CONV_BWD_DATA; pass++) {
      const mica__conv_pass p = (mica__conv_pass)pass;
      ck_assert_str_eq(ROUTE(MICA_BF16, device, p, 32, 64, 56, 64, 3, 1, 1, 1), "conv_gpu_mma");
      ck_assert_str_eq(ROUTE(MICA_F16, device, p, 32, 128, 56, 128, 3, 2, 1, 1), "conv_gpu_mma");
      ck_assert_str_eq(TF32_ROUTE(device, p, 32, 128, 56, 128, 3, 2, 1, 1),
                       d == 0 ? "conv_gpu_mma" : "conv_gpu_implicit_gemm");
    }
    ck_assert_str_eq(ROUTE(MICA_F16, device, MICA__CONV_BWD_FILTER, 32, 3, 224, 64, 7, 2, 3, 1), "conv_gpu_wgrad_mma");
  }
}
END_TEST

/* What a tuner may try is compiled: a driver that rejects it for its local memory has not rejected the PTX. */
START_TEST(tiles_have_room) {
  const mica__kernel_desc *const kernels[] = {&mica__conv_gpu_mma_kernel, &mica__conv_gpu_wgrad_mma_kernel};
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
    mica__variant tried = kernels[k]->variants[0];
    ck_assert(mica__variant_fits(kernels[k], &tried, &hopper));
    mica__kernel_set(kernels[k], tried.values, "STAGES", 4); /* 64 KB */
    ck_assert(!mica__variant_fits(kernels[k], &tried, &hopper));
    mica__kernel_set(kernels[k], tried.values, "STAGES", 2);
    mica__kernel_set(kernels[k], tried.values, "WARPS_M", 4);
    mica__kernel_set(kernels[k], tried.values, "WARPS_N", 4);
    mica__kernel_set(kernels[k], tried.values, "WARP_M", 16); /* 64 rows of 4 pieces among 512 work-items */
    ck_assert(!mica__variant_fits(kernels[k], &tried, &hopper));
  }
}
END_TEST

/* Emulations are compiled without optimisation. */
static const char *lacks(void) {
  test_emulate_unoptimised();
  return DEVICE;
}

TESTS(lacks(), NULL, NULL, tensor_cores_are_chosen, units_of_others_are_chosen, tiles_have_room,
      LOOP(emulation_is_right, 0, MMA_PASSES))
