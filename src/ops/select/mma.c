#include "ops/select/mma.h"

#include "base/arith.h"
#include "base/error.h"

#include <math.h>

#define MIN_COMPUTE_CAPABILITY 80

#define TYPE(name) (1u << MICA_##name)

/* The types that a matrix unit multiplies, as bits 1u << mica_dtype. */
static const unsigned types_of[] = {
    [MICA__MMA_PTX] = TYPE(F32) | TYPE(F16) | TYPE(BF16) | TYPE(I8),
    [MICA__MMA_MFMA] = TYPE(F32) | TYPE(F16) | TYPE(BF16) | TYPE(I8),
    [MICA__MMA_WMMA] = TYPE(F16) | TYPE(BF16) | TYPE(I8),
    [MICA__MMA_DPAS8] = TYPE(F16) | TYPE(BF16) | TYPE(I8),
    [MICA__MMA_DPAS16] = TYPE(F16) | TYPE(BF16) | TYPE(I8),
};

bool mica__mma_has_ptx(const mica_device_info *device) {
  return device->features & MICA_FEATURE_INLINE_PTX && device->compute_capability >= MIN_COMPUTE_CAPABILITY;
}

static int32_t unit_of(const mica__kernel_desc *desc, const int32_t *values) {
  return mica__kernel_value(desc, values, "MMA_UNIT");
}

bool mica__mma_takes(const mica__kernel_desc *desc, const mica__variant *variant, mica_dtype type) {
  return mica__kernel_param_index(desc, "MMA_UNIT") < 0 || types_of[unit_of(desc, variant->values)] & 1u << type;
}

bool mica__mma_rounds(const mica__kernel_desc *desc, const mica__variant *variant) {
  return unit_of(desc, variant->values) == MICA__MMA_PTX;
}

const char *mica__mma_missing(const mica__kernel_desc *desc, mica_dtype type, const mica_device_info *device,
                              mica_engine *engine) {
  const char *reason = mica__needs_gpu(device);
  if (reason) return reason;
  const mica__variant *variant = mica__kernel_variant(desc, device);
  if (!variant) return "the device has no matrix units that Mica knows";
  if (!mica__mma_takes(desc, variant, type)) return "the device's matrix units do not multiply this type";
  return mica__mma_disproved(device, engine, unit_of(desc, variant->values), type);
}

mica_status mica__mma_check(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant,
                            mica_dtype type) {
  const int32_t unit = unit_of(desc, variant->values);
  if (!mica__mma_takes(desc, variant, type))
    return mica__fail(MICA_E_UNSUPPORTED, "%s: the variant \"%s\" does not multiply %s", desc->name, variant->name,
                      mica_dtype_name(type));
  if (!variant->has_instruction) return MICA_OK;
  if (!variant->has_instruction(mica_engine_device(engine)))
    return mica__fail(MICA_E_UNSUPPORTED, "%s: the device has no matrix units with the instructions of \"%s\"",
                      desc->name, variant->name);
  return mica__mma_prove(engine, unit, type);
}

/* Bytes per cycle that a compute unit of an H200 copies into local memory: 14.6 to 16, measured with four layouts,
 * three types and tiles of 128 x 128 and 64 x 64. Older GPUs were never measured. */
#define COPIED_BYTES 15.5
#define COPIES_MEASURED_ON 90
#define STEP_BYTES (MICA__MMA_STEP * 16)

/* Cycles of a step in the main loop if copies were free, from a model of a compute unit's schedulers.
 *
 * For a tile of 128 x 128 it is 484, if two groups share a unit. For a part of this size in a tile of 256 x 128 it is
 * 827, because such a tile has half the depth and its eight warps wait at one barrier. */
static double loop_cycles(mica__mma_tile tile) {
  return (double)(tile.m * tile.n) / (128 * 128) * (tile.depth < MICA__MMA_STEP ? 827 : 484);
}

static double copy_cycles(int64_t m, int64_t n) { return (double)((m + n) * STEP_BYTES) / COPIED_BYTES; }

/* The speed of a tile in elements per time, relative to 128 x 128.
 *
 * On an H200, copies and the main loop overlap, and the slower of the two sets the speed: with 128 x 128 it is the
 * copies. On other GPUs a tile of 64 x 64 is limited by local memory: a step of 16-bit numbers reads and writes 24 KB
 * of it in 192 cycles, while its instructions take 102. For 128 x 128 this takes 384 cycles, and the instructions
 * 410. */
static double busy(mica__mma_tile tile, const mica_device_info *device) {
  const double area = (double)(tile.m * tile.n) / (128 * 128);
  if (tile.copies && device->compute_capability >= COPIES_MEASURED_ON)
    return area * copy_cycles(128, 128) / fmax(copy_cycles(tile.m, tile.n), loop_cycles(tile));
  return area >= 1 ? 1 : tile.n >= 128 ? 0.77 : 0.57;
}

/* The steps that a group loses while it waits for its first tiles and writes its result. */
#define FILL 6.0
/* The cost of writing one partial sum and reading it again, in elements of a step: 8 bytes at 18 per cycle, where a
 * unit computes 20 elements per cycle. */
#define PARTIAL 9.0

double mica__mma_cost(mica__mma_tile tile, const mica__tiled *p, int64_t splits, const mica_device_info *device) {
  const double units = fmax(1, (double)device->compute_units);
  const double tiles = (double)mica__ceil_div(p->m, tile.m) * (double)mica__ceil_div(p->n, tile.n);
  const double groups = tiles * (double)p->batches * (double)splits, area = (double)(tile.m * tile.n);
  /* A compute unit with only one group of four warps has one warp per scheduler, so no other warp fills its waits. For
   * vendors other than NVIDIA, this is assumed of a group of any size. */
  const bool alone = groups <= units && (!tile.copies || tile.threads <= 4 * 32);
  const double share = area / busy(tile, device) * (alone ? 4.0 / 3 : 1);
  const double steps = (double)mica__ceil_div(p->k, splits) + FILL, sums = (double)(p->m * p->n) * (double)p->batches;
  return ceil(groups / units) * steps * share + (splits > 1 ? PARTIAL * (double)splits * sums / units : 0);
}

static bool takes_unmeasured;

void mica__mma_take_unmeasured(bool take) { takes_unmeasured = take; }

mica__mma_plan mica__mma_choose(const mica__kernel_desc *desc, const mica__task *task, const mica__tiled *product,
                                int64_t most) {
  mica__mma_plan best = {&desc->variants[desc->variant_count - 1], 1, INFINITY};
  double best_cost = INFINITY;
  for (int i = 0; i < desc->variant_count; i++) {
    const mica__variant *variant = task->variant ? task->variant : &desc->variants[i];
    if (!task->variant && !mica__variant_fits(desc, variant, task->device)) continue;
    if (!task->variant && variant->unmeasured && !takes_unmeasured) continue;
    const mica__mma_tile tile = mica__mma_tile_of(desc, variant->values);
    for (int64_t splits = 1; splits == 1 || (splits <= most && splits <= product->k);
         splits += splits < 8 ? 1 : splits / 4) {
      const double cost = mica__mma_cost(tile, product, splits, task->device);
      if (cost < best_cost) best_cost = cost, best = (mica__mma_plan){variant, splits, cost};
    }
    if (task->variant) break;
  }
  return best;
}
