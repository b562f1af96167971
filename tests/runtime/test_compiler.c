/* labels: null single
 *
 * What compilers of platforms take: the macros that a platform's programs are built with. */
#include "runtime/compiler.h"
#include "runtime/host_cpu.h"
#include "support/check_main.h"

#include <string.h>

static bool has(const char *platform, mica_device_class class, const char *macro) {
  mica_device_info device = {.device_class = class};
  strncpy(device.platform, platform, sizeof device.platform - 1);
  return strstr(mica__compiler_options(&device), macro) != NULL;
}

START_TEST(platforms_have_their_macros) {
  ck_assert(has("Portable Computing Language", MICA_DEVICE_CLASS_CPU, " -DMICA_HAS_PREFETCH"));
  ck_assert(has("Portable Computing Language", MICA_DEVICE_CLASS_GPU, " -DMICA_HAS_HALF_VECTOR_BITS"));
  ck_assert(has("Intel(R) OpenCL", MICA_DEVICE_CLASS_CPU, " -DMICA_HAS_SHUFFLEVECTOR"));
  ck_assert(!has("Intel(R) OpenCL", MICA_DEVICE_CLASS_CPU, "HALF_VECTOR_BITS"));
  ck_assert(!has("Intel(R) OpenCL", MICA_DEVICE_CLASS_GPU, "MICA_HAS_"));
  ck_assert(has("AMD Accelerated Parallel Processing", MICA_DEVICE_CLASS_GPU, " -DMICA_HAS_SCHED_BARRIER"));
  ck_assert(!has("AMD Accelerated Parallel Processing", MICA_DEVICE_CLASS_GPU, "PREFETCH"));
}
END_TEST

START_TEST(unknown_platforms_have_opencl_c_alone) {
  static const char *const platforms[] = {"", "rusticl", "Clover", "Oclgrind", "NVIDIA CUDA", "Apple"};
  for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
    ck_assert(!has(platforms[i], MICA_DEVICE_CLASS_CPU, "MICA_HAS_"));
    ck_assert(!has(platforms[i], MICA_DEVICE_CLASS_GPU, "MICA_HAS_"));
  }
}
END_TEST

START_TEST(new_versions_of_pocl_optimise_always) {
  static const struct {
    const char *platform, *driver;
    bool takes;
  } cases[] = {
      {"Portable Computing Language", "3.1+debian", true},
      {"Portable Computing Language", "6.0+debian", false},
      {"Portable Computing Language", "7.0", false},
      {"Intel(R) OpenCL", "2024.17.3.0.08_160000", true},
      {"NVIDIA CUDA", "550.54", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_device_info device = {.device_class = MICA_DEVICE_CLASS_CPU};
    strncpy(device.platform, cases[i].platform, sizeof device.platform - 1);
    strncpy(device.driver, cases[i].driver, sizeof device.driver - 1);
    ck_assert_int_eq(mica__compiler_takes_unoptimised(&device), cases[i].takes);
  }
}
END_TEST

START_TEST(a_platform_that_joins_items_gets_the_kernels_of_gpus) {
  static const mica__variant variants[] = {{.name = "cpu", .classes = MICA__ON_CPU},
                                           {.name = "any", .classes = MICA__ON_ANY},
                                           {.name = "gpu", .classes = MICA__ON_GPU},
                                           {.name = "emulation"}};
  static const mica__variant tile_variants[] = {{.name = "cpu", .classes = MICA__ON_CPU}, {.name = "emulation"}};
  const mica__kernel_desc tiles = {.name = "tiles", .variants = tile_variants, .variant_count = 2},
                          both = {.name = "both", .variants = variants, .variant_count = 4},
                          unit = {.name = "unit", .variants = &variants[2], .variant_count = 2};
  const mica_device_info llvmpipe = {.platform = "rusticl", .driver = "22.3.6", .device_class = MICA_DEVICE_CLASS_CPU},
                         iris = {.platform = "rusticl", .driver = "22.3.6", .device_class = MICA_DEVICE_CLASS_GPU},
                         pocl = {.platform = "Portable Computing Language", .device_class = MICA_DEVICE_CLASS_CPU};
  ck_assert_ptr_nonnull(mica__compiler_fault(&llvmpipe, &tiles, &tile_variants[0]));
  ck_assert_ptr_nonnull(mica__compiler_fault(&llvmpipe, &tiles, &tile_variants[1]));
  ck_assert_ptr_nonnull(mica__compiler_fault(&llvmpipe, &tiles, NULL));
  ck_assert_ptr_null(mica__compiler_fault(&llvmpipe, &both, NULL));
  ck_assert_ptr_null(mica__compiler_fault(&llvmpipe, &both, &variants[1]));
  ck_assert_ptr_null(mica__compiler_fault(&llvmpipe, &both, &variants[3]));
  ck_assert_ptr_null(mica__compiler_fault(&llvmpipe, &unit, &variants[3]));
  ck_assert_ptr_null(mica__compiler_fault(&iris, &tiles, &tile_variants[0]));
  ck_assert_ptr_null(mica__compiler_fault(&pocl, &tiles, &tile_variants[0]));
  ck_assert_int_eq(mica__kernel_class(&llvmpipe), MICA__ON_GPU);
  ck_assert_int_eq(mica__kernel_class(&pocl), MICA__ON_CPU);
  ck_assert_str_eq(mica__kernel_variant(&both, &llvmpipe)->name, "any");
  ck_assert_ptr_null(mica__kernel_variant(&tiles, &llvmpipe));
  ck_assert_str_eq(mica__kernel_variant(&tiles, &pocl)->name, "cpu");
}
END_TEST

START_TEST(vectors_are_named_where_a_compiler_uses_none) {
  const mica_device_info i686 = {.platform = "Portable Computing Language",
                                 .device_class = MICA_DEVICE_CLASS_CPU,
                                 .name = "pthread-i686-Intel(R) Xeon(R) Processor"},
                         known = {.platform = "Portable Computing Language",
                                  .device_class = MICA_DEVICE_CLASS_CPU,
                                  .name = "pthread-sapphirerapids-Intel(R) Xeon(R) Processor"};
  ck_assert_int_eq(mica__host_vectors_of(&known), MICA__VECTORS_KNOWN);
  ck_assert_ptr_null(strstr(mica__compiler_options(&known), "AVX"));
#if defined __i386__
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  ck_assert_int_eq(strstr(mica__compiler_options(&i686), "MICA_HAS_AVX") != NULL, avx2);
#else
  ck_assert_ptr_null(strstr(mica__compiler_options(&i686), "AVX"));
#endif
  ck_assert_ptr_nonnull(strstr(mica__compiler_options(&i686), "MICA_HAS_PREFETCH"));
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, platforms_have_their_macros, a_platform_that_joins_items_gets_the_kernels_of_gpus,
      vectors_are_named_where_a_compiler_uses_none, unknown_platforms_have_opencl_c_alone,
      new_versions_of_pocl_optimise_always)
