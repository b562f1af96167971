/* labels: null single
 *
 * Tiles of GPU kernels: whether a device has room for them, and what a product with them costs. */
#include "ops/conv/conv.h"
#include "ops/matmul/gemm.h"
#include "ops/select/tile.h"
#include "support/check_main.h"

static const mica_device_info gpu = {.device_class = MICA_DEVICE_CLASS_GPU,
                                     .compute_units = 108,
                                     .local_bytes = 48 << 10,
                                     .local_is_fast = true,
                                     .max_group = 1024,
                                     .compute_capability = 80,
                                     .vendor = MICA_VENDOR_NVIDIA};

/* Bytes of a variant's two tiles of each operand. */
static uint64_t tile_bytes(const mica__kernel_desc *desc, const int32_t *values) {
  const mica__tile t = mica__tile_of(desc, values);
  return (uint64_t)((t.m + t.n + 2 * t.pad) * t.k * 2) * sizeof(float);
}

START_TEST(room_for_tiles_and_what_lies_beside_them) {
  const mica__kernel_desc *const kernels[] = {&mica__gemm_gpu_kernel, &mica__conv_gpu_implicit_gemm_kernel,
                                              &mica__conv_gpu_wgrad_implicit_gemm_kernel};
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
    for (int v = 0; v < kernels[k]->variant_count; v++) {
      const int32_t *values = kernels[k]->variants[v].values;
      const uint64_t tiles = tile_bytes(kernels[k], values);
      const uint64_t table =
          k == 1 ? 2 * (uint64_t)mica__kernel_value(kernels[k], values, "TILE_K") * 4 * sizeof(int32_t) : 0;
      mica_device_info device = gpu;
      device.local_bytes = tiles + table;
      ck_assert(kernels[k]->has_room(values, &device));
      device.local_bytes--;
      ck_assert(!kernels[k]->has_room(values, &device));
    }
}
END_TEST

static const mica__tile tile = {.m = 128, .n = 64, .k = 8, .micro_m = 8, .micro_n = 8, .threads = 128};
static const mica__tile_speed speed = {.resident = 2, .busy = 80, .busy_90 = 60};

/* As many groups for each unit. */
static double cost_of(int64_t groups, const mica__tile_speed *known, const mica_device_info *device) {
  const mica__tiled product = {128, 64 * groups * 108, 1 << 14, 1};
  return mica__tile_cost(&tile, known, &product, 1, device);
}

/* A unit that holds two groups computes the third after them, as long as it takes alone. */
START_TEST(groups_that_do_not_fit_come_later) {
  mica_device_info other = gpu;
  other.vendor = MICA_VENDOR_AMD;
  ck_assert_double_lt(cost_of(2, &speed, &gpu), 1.6 * cost_of(1, &speed, &gpu));
  ck_assert_double_gt(cost_of(3, &speed, &gpu), 1.6 * cost_of(2, &speed, &gpu));
  ck_assert_double_lt(cost_of(3, &speed, &other), 1.55 * cost_of(2, &speed, &other));
  ck_assert_double_gt(cost_of(4, &speed, &gpu), 1.9 * cost_of(2, &speed, &gpu));
}
END_TEST

START_TEST(newer_devices_have_speeds_of_their_own) {
  mica_device_info newer = gpu;
  newer.compute_capability = 90;
  ck_assert_double_gt(cost_of(2, &speed, &newer), 1.25 * cost_of(2, &speed, &gpu));
  ck_assert_double_eq(cost_of(2, NULL, &newer), cost_of(2, NULL, &gpu));
}
END_TEST

/* Parts fill a device that one tile leaves idle, and cost what they write. */
START_TEST(parts_are_worth_their_writing) {
  const mica__tiled deep = {128, 64, 1 << 18, 1}, shallow = {128, 64, 16, 1};
  ck_assert_double_lt(mica__tile_cost(&tile, &speed, &deep, 64, &gpu), mica__tile_cost(&tile, &speed, &deep, 1, &gpu));
  ck_assert_double_gt(mica__tile_cost(&tile, &speed, &shallow, 2, &gpu),
                      mica__tile_cost(&tile, &speed, &shallow, 1, &gpu));
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, room_for_tiles_and_what_lies_beside_them, groups_that_do_not_fit_come_later,
      newer_devices_have_speeds_of_their_own, parts_are_worth_their_writing)
