#include "ops/select/mma.h"

#include "base/arith.h"
#include "base/error.h"

#include <stdatomic.h>

/* mma.sync for tf32 and bf16 came with compute capability 8.0. */
#define MIN_COMPUTE_CAPABILITY 80

/* Set when a driver that should take the PTX does not, so that it is not asked again for every product. One for the
 * process: drivers do not differ within one. */
static atomic_bool ptx_rejected;

mica__mma_tile mica__mma_tile_of(const mica__kernel_desc *desc, const int32_t *values) {
  const int64_t warps_m = mica__kernel_value(desc, values, "WARPS_M"),
                warps_n = mica__kernel_value(desc, values, "WARPS_N");
  return (mica__mma_tile){.m = warps_m * mica__kernel_value(desc, values, "WARP_M"),
                          .n = warps_n * mica__kernel_value(desc, values, "WARP_N"),
                          .threads = (size_t)(warps_m * warps_n * 32)};
}

const char *mica__mma_missing(const mica__kernel_desc *desc, const mica_device_info *device) {
  const char *reason = mica__needs_gpu(device);
  if (reason) return reason;
  if (!mica__kernel_variant(desc, device)) return "it is for NVIDIA";
  if (device->compute_capability < MIN_COMPUTE_CAPABILITY) return "the compute capability is below 8.0";
  return atomic_load(&ptx_rejected) ? "the driver has rejected its PTX" : NULL;
}

mica_status mica__mma_check(const mica__kernel_desc *desc, const mica__variant *variant,
                            const mica_device_info *device) {
  const bool taken = !variant->features || device->compute_capability >= MIN_COMPUTE_CAPABILITY;
  if (taken && !(variant->features & ~device->features)) return MICA_OK;
  return mica__fail(MICA_E_UNSUPPORTED, "%s: the device has no tensor cores that take this PTX", desc->name);
}

mica_status mica__mma_built(const mica__variant *variant, mica_status status) {
  if (status == MICA_E_BUILD && variant->features) atomic_store(&ptx_rejected, true);
  return status;
}

/* Elements that a group of the tiles computes for each that one of 128 x 128 does meanwhile, in percent: warps of 32 x
 * 32 read twice as much local memory for an instruction as those of 64 x 64. */
static int64_t busy(mica__mma_tile tile) { return tile.m * tile.n >= 128 * 128 ? 100 : tile.n >= 128 ? 85 : 70; }

const mica__variant *mica__mma_suited(const mica__kernel_desc *desc, int64_t rows, int64_t columns, int64_t batches,
                                      const mica_device_info *device) {
  const mica__variant *best = NULL;
  const int64_t units = mica__max(1, (int64_t)device->compute_units);
  int64_t best_cost = 0;
  for (int i = 0; i < desc->variant_count; i++) {
    const mica__variant *variant = &desc->variants[i];
    if (!mica__variant_fits(desc, variant, device)) continue;
    const mica__mma_tile tile = mica__mma_tile_of(desc, variant->values);
    const int64_t groups = mica__ceil_div(rows, tile.m) * mica__ceil_div(columns, tile.n) * batches;
    /* A unit with one group has a warp for each of its schedulers, which waits alone. */
    const int64_t alone = groups <= units ? 4 : 3;
    const int64_t cost = mica__ceil_div(groups, units) * tile.m * tile.n * alone * 100 / busy(tile);
    if (!best || cost < best_cost) best = variant, best_cost = cost;
  }
  return best ? best : &desc->variants[desc->variant_count - 1];
}
