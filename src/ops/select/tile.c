#include "ops/select/tile.h"

#include "base/arith.h"
#include "runtime/core_model.h"
#include "runtime/tuning.h"

#include <math.h>

mica__tile mica__tile_of(const mica__kernel_desc *desc, const int32_t *values) {
  int64_t wg_m = mica__kernel_value(desc, values, "WG_M"), wg_n = mica__kernel_value(desc, values, "WG_N");
  mica__tile t = {.k = mica__kernel_value(desc, values, "TILE_K"),
                  .micro_m = mica__kernel_value(desc, values, "MICRO_M"),
                  .micro_n = mica__kernel_value(desc, values, "MICRO_N"),
                  .vec = mica__kernel_value(desc, values, "VEC"),
                  .pad = mica__kernel_value(desc, values, "PAD"),
                  .threads = (size_t)(wg_m * wg_n)};
  t.m = wg_m * t.micro_m;
  t.n = wg_n * t.micro_n;
  return t;
}

bool mica__tile_has_room(const mica__tile *t, uint64_t more, const mica_device_info *device) {
  uint64_t local = (uint64_t)((t->m + t->n + 2 * t->pad) * t->k * 2) * sizeof(float) + more;
  return t->threads <= device->max_group && local <= device->local_bytes;
}

void mica__tile_set_subgroup(const mica__kernel_desc *desc, int32_t *values, const mica_device_info *device) {
  if (mica__kernel_value(desc, values, "REQD_SUBGROUP") == 0) return;
  bool known = mica__kernel_choice(desc, "REQD_SUBGROUP", (int32_t)device->subgroup_min) >= 0;
  mica__kernel_set(desc, values, "REQD_SUBGROUP", known ? (int32_t)device->subgroup_min : 0);
}

/* The work-items that keep a compute unit busy: between one and two warps for each of NVIDIA's four schedulers. With
 * fewer it waits (in the weight gradient, 1.3 groups of 128 or 2.9 of 64 take as long as one). */
#define BUSY_THREADS 170.0
/* The multiply-adds lost while a unit's groups wait for their first tiles: about 1,200 cycles of 64 multiply-adds. */
#define FILL 77e3
/* The multiply-adds lost before the launch that adds up the parts begins: 2 us. */
#define LAUNCH 180e3
/* The cost of writing an element, in multiply-adds: 6 instructions of one of four schedulers. */
#define WRITE 3.0
/* The cost of writing a partial sum and reading it again, in multiply-adds: 8 bytes at 10 per cycle. */
#define PARTIAL 50.0

/* The share of multiply-adds in a work-item's instructions if nothing better is known. Fitted to the machine code of
 * 2026-11-24 for sm_80 and sm_90: 98 and 85 % with 8 x 16 elements per work-item, 94 and 80 % with 8 x 8, 80 and 44 %
 * with 4 x 4. */
static double fitted(const mica__tile *t) {
  return 1 / (1 + 1.2 * (1.0 / (double)t->micro_m + 1.0 / (double)t->micro_n));
}

double mica__tile_cost(const mica__tile *t, const mica__tile_speed *speed, const mica__tiled *p, int64_t splits,
                       const mica_device_info *device) {
  int64_t steps = mica__ceil_div(mica__max(p->k, 1), t->k);
  double tiles = (double)mica__ceil_div(p->m, t->m) * (double)mica__ceil_div(p->n, t->n) * (double)p->batches;
  double units = (double)mica__max(1, (int64_t)device->compute_units), area = (double)(t->m * t->n);
  const mica__gpu_model model = mica__gpu_model_of(device);
  double busy = speed ? (model == MICA__GPU_SM_90 ? speed->busy_90 : speed->busy) / 100.0 : fitted(t);
  double work = area * (double)(t->k * mica__ceil_div(steps, splits)) / busy;
  /* A unit runs its groups in waves; a wave is the groups that fit at once. With too few work-items to keep the unit
   * busy, a wave takes as long as one with BUSY_THREADS. */
  double groups = (double)mica__ceil_div((int64_t)(tiles * (double)splits), (int64_t)units), most = groups;
  if (speed && model != MICA__GPU_OTHER && most > speed->resident) most = speed->resident;
  double waves = floor(groups / most), rest = groups - waves * most, alone = BUSY_THREADS / (double)t->threads;
  double cost = waves * (work * fmax(most, alone) + FILL) + WRITE * area * groups;
  if (rest > 0) cost += work * fmax(rest, alone) + FILL;
  if (splits > 1) cost += LAUNCH + PARTIAL * (double)splits * (double)(p->m * p->n) * (double)p->batches / units;
  return cost;
}

/* Returns the number of parts, at most `most`, that costs least, and sets *cost to its cost. */
static int64_t best_splits(const mica__tile *t, const mica__tile_speed *speed, const mica__tiled *p, int64_t most,
                           const mica_device_info *device, double *cost) {
  int64_t best = 1, steps = mica__ceil_div(mica__max(p->k, 1), t->k);
  *cost = mica__tile_cost(t, speed, p, 1, device);
  for (int64_t splits = 2; splits <= most && splits <= steps; splits += splits < 8 ? 1 : splits / 4) {
    double c = mica__tile_cost(t, speed, p, splits, device);
    if (c < *cost) *cost = c, best = splits;
  }
  return best;
}

/* Returns the speed of a variant; NULL for a variant that is not in the table, such as a tuner's. */
static const mica__tile_speed *speed_of(const mica__tile_kernel *kernel, const mica__variant *variant) {
  for (int i = 0; i < kernel->desc->variant_count; i++)
    if (variant == &kernel->desc->variants[i]) return &kernel->speeds[i];
  return NULL;
}

mica__tile_plan mica__tile_choose(const mica__tile_kernel *kernel, const mica__task *task, const mica__tiled *product,
                                  int64_t most) {
  const mica__kernel_desc *desc = kernel->desc;
  mica__tile_plan best = {.splits = 1};
  double cost = 0;
  for (int i = 0; i < desc->variant_count; i++) {
    const mica__variant *variant = task->variant ? task->variant : &desc->variants[i];
    if (!task->variant) {
      if (!mica__variant_fits(desc, variant, task->device)) continue;
      /* Without an engine it is not known which variants are in quarantine. */
      if (task->engine && mica__variant_is_bad(task->engine, desc, variant)) continue;
    }
    mica__tile tile = mica__tile_of(desc, variant->values);
    int64_t splits = best_splits(&tile, speed_of(kernel, variant), product, most, task->device, &cost);
    if (!best.variant || cost < best.cost) best = (mica__tile_plan){variant, splits, cost};
    if (task->variant) break;
  }
  return best;
}
