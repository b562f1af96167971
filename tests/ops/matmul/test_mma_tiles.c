/* labels: null
 *
 * Which tiles products on an NVIDIA GPU's matrix units take: by the ledger of bytes that are copied into local memory,
 * and of those that were measured unless a bench or a tuner asks for others. */
#include "ops/matmul/gemm.h"
#include "ops/quant/int8.h"
#include "ops/select/mma.h"
#include "support/check_main.h"

#include <string.h>

#define UNITS 132

static mica_device_info h100(void) {
  return (mica_device_info){.device_class = MICA_DEVICE_CLASS_GPU,
                            .vendor = MICA_VENDOR_NVIDIA,
                            .features = MICA_FEATURE_INLINE_PTX,
                            .compute_capability = 90,
                            .compute_units = UNITS,
                            .max_group = 1024,
                            .local_bytes = 48 << 10};
}

/* The tiles for products of side x side x side in 16 bits. */
static const char *tiles_for(const mica_device_info *device, int64_t side) {
  const mica__task task = {.device = device};
  const mica__tiled product = {side, side, side / (MICA__MMA_STEP * 8), 1};
  return mica__mma_choose(&mica__gemm_mma_kernel, &task, &product, 1).variant->name;
}

START_TEST(large_products_take_measured_tiles) {
  const mica_device_info device = h100();
  ck_assert_str_eq(tiles_for(&device, 4096), "ptx128x128");
  ck_assert_str_eq(tiles_for(&device, 512), "ptx64x64");
}
END_TEST

START_TEST(unmeasured_tiles_are_asked_for) {
  const mica_device_info device = h100();
  mica__mma_take_unmeasured(true);
  const char *large = tiles_for(&device, 4096), *small = tiles_for(&device, 512);
  mica__mma_take_unmeasured(false);
  ck_assert_str_eq(large, "ptx256x128");
  ck_assert_str_eq(small, "ptx64x64");
}
END_TEST

/* 85 operations for each byte that is copied, where 64 x 64 has 64. */
START_TEST(bytes_take_tall_tiles) {
  const mica_device_info device = h100();
  const mica__task task = {.device = &device};
  const mica__tiled large = {4096, 4096, 64, 1}, small = {256, 256, 4, 1};
  ck_assert_str_eq(mica__mma_choose(&mica__int8_mma_kernel, &task, &large, 1).variant->name, "ptx128x64");
  ck_assert_str_eq(mica__mma_choose(&mica__int8_mma_kernel, &task, &small, 1).variant->name, "ptx64x64");
}
END_TEST

static const mica__variant *named(const char *name) {
  const mica__kernel_desc *desc = &mica__gemm_mma_kernel;
  for (int v = 0; v < desc->variant_count; v++)
    if (!strcmp(desc->variants[v].name, name)) return &desc->variants[v];
  return NULL;
}

static double cost_of(const char *name, uint32_t capability) {
  mica_device_info device = h100();
  device.compute_capability = capability;
  const mica__kernel_desc *desc = &mica__gemm_mma_kernel;
  const mica__tiled product = {UNITS * 256, 256, 1024, 1};
  return mica__mma_cost(mica__mma_tile_of(desc, named(name)->values), &product, 1, &device);
}

/* The bytes of a step decide: 64 x 64 copies twice as many for each multiply-add as 128 x 128. 256 x 128 copies three
 * quarters, but its loop takes 1,655 of the 2,114 cycles. Nothing is known of A100s: there it gains nothing. */
START_TEST(copies_decide) {
  ck_assert_double_eq_tol(cost_of("ptx64x64", 90) / cost_of("ptx128x128", 90), 2, 0.001);
  ck_assert_double_eq_tol(cost_of("ptx256x128", 90) / cost_of("ptx128x128", 90), 1654.0 / 2114, 0.001);
  ck_assert_double_ge(cost_of("ptx256x128", 80), cost_of("ptx128x128", 80));
}
END_TEST

static bool has_room(const char *name, const char *macro, int32_t value) {
  const mica__kernel_desc *desc = &mica__gemm_mma_kernel;
  const mica_device_info device = h100();
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel_values(desc, named(name), values);
  if (macro) mica__kernel_set(desc, values, macro, value);
  return desc->has_room(values, &device);
}

/* What a tuner tries beside the shipped tiles: results of 256 rows leave through the memory of B's tiles, and only
 * NVIDIA's units have tiles of half the depth. */
START_TEST(tiles_have_room_for_results) {
  ck_assert(has_room("ptx256x128", NULL, 0));
  ck_assert(!has_room("ptx256x128", "STAGES", 3));
  ck_assert(!has_room("ptx256x128", "STAGES", 2));
  ck_assert(has_room("ptx128x128", "MMA_DEPTH", 2));
  ck_assert(!has_room("mfma64x64", "MMA_DEPTH", 2));
}
END_TEST

TESTS(NULL, NULL, NULL, large_products_take_measured_tiles, unmeasured_tiles_are_asked_for, bytes_take_tall_tiles,
      copies_decide, tiles_have_room_for_results)
