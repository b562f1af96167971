#include "ops/select/mma.h"

#include "base/arith.h"
#include "base/error.h"

#include <math.h>
#include <stdatomic.h>

/* mma.sync for tf32 and bf16 came with compute capability 8.0. */
#define MIN_COMPUTE_CAPABILITY 80

#define PIECE_BYTES 16

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

bool mica__mma_has_room(const mica__kernel_desc *desc, const int32_t *values, const mica_device_info *device) {
  const mica__mma_tile tile = mica__mma_tile_of(desc, values);
  const int64_t pieces = MICA__MMA_STEP * (tile.m + tile.n), threads = (int64_t)tile.threads;
  const uint64_t local = (uint64_t)(pieces * mica__kernel_value(desc, values, "STAGES")) * PIECE_BYTES;
  return tile.m * MICA__MMA_STEP % threads == 0 && tile.n * MICA__MMA_STEP % threads == 0 &&
         tile.threads <= device->max_group && local <= device->local_bytes;
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

mica_status mica__mma_built(const mica__kernel_desc *desc, const mica__variant *variant, mica_status status) {
  bool shipped = false;
  for (int i = 0; i < desc->variant_count; i++) shipped = shipped || variant == &desc->variants[i];
  if (status == MICA_E_BUILD && variant->features && shipped) atomic_store(&ptx_rejected, true);
  return status;
}

/* Elements that a group of the tiles computes for each that one of 128 x 128 does meanwhile. Of 64 x 64 local memory is
 * the limit: a step of 16 bits reads and writes 24 KB of it, 192 cycles, beside instructions of 102, of 128 x 128 384
 * beside 410. */
static double busy(mica__mma_tile tile) { return tile.m * tile.n >= 128 * 128 ? 1 : tile.n >= 128 ? 0.77 : 0.57; }

/* Steps lost while a group waits for its first tiles and writes its last. */
#define FILL 6.0
/* Elements of a step that a unit computes in the time of one that is written and read again as a partial sum: 8 bytes
 * at 18 a cycle, beside 20 elements a cycle. */
#define PARTIAL 9.0

/* In elements of a step that a unit computes meanwhile. */
static double cost_of(mica__mma_tile tile, const mica__tiled *p, int64_t splits, double units) {
  const double tiles = (double)mica__ceil_div(p->m, tile.m) * (double)mica__ceil_div(p->n, tile.n);
  const double groups = tiles * (double)p->batches * (double)splits, area = (double)(tile.m * tile.n);
  /* A unit with one group has a warp for each of its schedulers, which waits alone. */
  const double share = area / busy(tile) * (groups <= units ? 4.0 / 3 : 1);
  const double steps = (double)mica__ceil_div(p->k, splits) + FILL, sums = (double)(p->m * p->n) * (double)p->batches;
  return ceil(groups / units) * steps * share + (splits > 1 ? PARTIAL * (double)splits * sums / units : 0);
}

mica__mma_plan mica__mma_choose(const mica__kernel_desc *desc, const mica__task *task, const mica__tiled *product,
                                int64_t most) {
  mica__mma_plan best = {&desc->variants[desc->variant_count - 1], 1, INFINITY};
  const double units = fmax(1, (double)task->device->compute_units);
  double best_cost = INFINITY;
  for (int i = 0; i < desc->variant_count; i++) {
    const mica__variant *variant = task->variant ? task->variant : &desc->variants[i];
    if (!task->variant && !mica__variant_fits(desc, variant, task->device)) continue;
    const mica__mma_tile tile = mica__mma_tile_of(desc, variant->values);
    for (int64_t splits = 1; splits == 1 || (splits <= most && splits <= product->k);
         splits += splits < 8 ? 1 : splits / 4) {
      const double cost = cost_of(tile, product, splits, units);
      if (cost < best_cost) best_cost = cost, best = (mica__mma_plan){variant, splits, cost};
    }
    if (task->variant) break;
  }
  return best;
}
