/* Forward and backward data on CPUs, for any phase of a pass (ops/conv/phase.h), as a matrix product. A work-group has
 * only one panel of the right operand in memory at a time (cl/conv/cpu/implicit_gemm.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/cpu/pack_weights.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("MR", "rows of a register tile", 4, 6, 8, 12),
    MICA__INT("NV", "vectors in a row of it", 1, 2, 3),
    MICA__CASE("PHASES", "phases that are computed together", 1, 2),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu.6x16", MICA__ON_CPU, MICA__CONV_VALUES, 6, 1, 1),
    MICA__VECTOR_VARIANT("long.8x32", MICA__LONG_VECTOR, MICA__CONV_VALUES, 8, 2, 1),
    MICA__VECTOR_VARIANT("long.8x48", MICA__LONG_VECTOR, MICA__CONV_VALUES, 8, 3, 1),
};
const mica__kernel_desc mica__conv_cpu_implicit_gemm_kernel = {
    MICA__KERNEL("conv_cpu_implicit_gemm", "conv/cpu/implicit_gemm.cl", params, variants)};

#define VW 16
/* The floats of a panel: three quarters of a first-level cache. */
static int64_t panel_floats(const mica_device_info *device) { return 3 * mica__core_model_of(device)->l1_floats / 4; }
/* MOST_TAPS: the most taps of a filter, because a panel has at least all taps of one channel. MOST_ROWS: the most rows
 * of sums that a work-group keeps in local memory. */
#define MOST_TAPS 8192
#define MOST_ROWS 1024
/* Work-groups per core, if there are enough panels: with fewer, some cores are idle while the last ones run. */
#define GROUPS 128

/* The phases that a launch computes. Backward with a stride, a phase is the set of the result's pixels whose positions
 * have the same remainder when they are divided by the stride (ops/conv/phase.h). A launch computes one phase, or both
 * phases of the columns if the stride of the width is 2. If the stride of the height is 2 and that of the width 1 or 2,
 * the phases of the rows in between may have no taps: zero_rows is then true, and the launch also stores zeros in these
 * rows. */
typedef struct phases {
  mica__conv_phase at[2];
  int32_t count;
  bool zero_rows;
} phases;

/* The number of phases that a launch for w covers. */
static int64_t taken(const phases *w) { return w->zero_rows ? 2 * w->count : w->count; }

/* The phases to compute together, from number `index` on. */
static phases phases_at(const mica__conv *conv, int64_t index) {
  const mica__conv_dims *d = &conv->dims;
  phases w = {.at = {mica__conv_phase_used(mica__conv_phase_at(conv, index))}, .count = 1};
  if (conv->pass == MICA__CONV_FWD) return w;
  bool both = d->stride[2] == 2 && d->in[2] >= 2;
  if (both) w.at[w.count++] = mica__conv_phase_used(mica__conv_phase_at(conv, index + 1));
  w.zero_rows = w.at[0].at[1] == 0 && d->stride[1] == 2 && d->in[1] >= 2 && (both || d->stride[2] == 1);
  for (int64_t i = 0; w.zero_rows && i < w.count; i++) {
    mica__conv_phase below = mica__conv_phase_at(conv, index + w.count + i);
    w.zero_rows = mica__product3(below.taps) == 0;
  }
  return w;
}

static int64_t packed_count(const phases *w, int64_t rows) {
  int64_t count = 0;
  for (int32_t i = 0; i < w->count; i++) count += mica__conv_packed_count(&w->at[i], rows);
  return count;
}

/* How the work is cut; the comment that opens the kernel's file explains it. */
typedef struct plan {
  int32_t values[MICA__MAX_PARAMS], mr;
  int64_t nr, taps, cb, kb, panels, columns;
} plan;

/* Rows of local memory: a panel; the sums; with two phases, a tile whose rows interleave the sums of both; and two rows
 * of zeros, stored for ZERO_ROWS. */
static int64_t rows_of(const plan *p, int32_t together) {
  return p->cb * p->taps + together * p->kb + (together > 1 ? 2 * p->mr : 0) + 2;
}
static int64_t room(const plan *p, const mica_device_info *device) {
  return (int64_t)(device->local_bytes / sizeof(float)) / p->nr;
}

static int32_t value(const int32_t *values, const char *macro) {
  return mica__kernel_value(&mica__conv_cpu_implicit_gemm_kernel, values, macro);
}

/* The variant for the device's vectors and a result of `columns` columns. Wider tiles load less per multiply-add,
 * which pays unless their last panel is much emptier. */
static const mica__variant *own_variant(const mica_device_info *device, int64_t columns) {
  const mica__variant *best = NULL;
  int64_t best_computed = 0;
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    int64_t nr = value(variants[i].values, "NV") * VW, computed = mica__ceil_div(columns, nr) * nr;
    if (!mica__variant_suits_vectors(&variants[i], device->vector_bytes)) continue;
    if (best && computed - best_computed > best_computed / 8) continue;
    best = &variants[i];
    best_computed = computed;
  }
  return best;
}

static plan make_plan(const phases *together, const mica__variant *variant, const mica_device_info *device) {
  const mica__conv_phase *w = &together->at[0];
  plan p = {.taps = mica__product3(w->taps), .columns = w->n * mica__product3(w->out)};
  if (together->count > 1) p.taps = mica__max(p.taps, mica__product3(together->at[1].taps));
  mica__kernel_values(&mica__conv_cpu_implicit_gemm_kernel, variant ? variant : own_variant(device, p.columns),
                      p.values);
  mica__kernel_set(&mica__conv_cpu_implicit_gemm_kernel, p.values, "PHASES", together->count);
  p.mr = value(p.values, "MR");
  p.nr = value(p.values, "NV") * VW;
  int64_t tiles = mica__ceil_div(w->k, p.mr), wanted = GROUPS * (int64_t)device->compute_units;
  /* A phase without taps adds nothing, so one block is enough. */
  int64_t channels = p.taps == 0 ? w->c + 1 : panel_floats(device) / p.nr / p.taps,
          blocks = mica__ceil_div(w->c, mica__max(channels, 1));
  p.cb = blocks > 0 ? mica__ceil_div(w->c, blocks) : 1;
  p.kb = 0;
  int64_t rows = mica__min(MOST_ROWS, room(&p, device) - rows_of(&p, together->count)) / together->count;
  /* The parts of K (the result's channels) have about equal size. A core takes consecutive work-groups (of two cores,
   * one takes the first half), so with unequal parts one core would work longer than the other. */
  int64_t parts = mica__ceil_div(tiles, mica__max(1, rows / p.mr));
  p.kb = mica__max(1, mica__ceil_div(tiles, mica__max(1, parts))) * p.mr;
  int64_t panels = mica__ceil_div(p.columns, p.nr);
  p.panels = panels * w->groups * mica__ceil_div(w->k, p.kb) / wanted;
  p.panels = p.panels < 1 ? 1 : mica__min(p.panels, 32);
  return p;
}

/* True if the phase's grid is the whole result, pixel by pixel. */
static bool is_flat(const mica__conv_phase *w) {
  bool flat = true;
  for (int i = 0; i < 3; i++) flat = flat && w->out_stride[i] == 1 && w->out[i] == w->full[i];
  return flat;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  return mica__product3(conv->dims.filter) > MOST_TAPS ? "the filter is too large" : NULL;
}

/* Makes the plan of each phase only to see if it fits local memory. The launches make the plans again, because a task
 * stores one plan, but a pass may have any number of phases. */
static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  for (int64_t i = 0; i < mica__conv_phase_count(conv); i++) {
    phases w = phases_at(conv, i);
    plan p = make_plan(&w, task->variant, task->device);
    if (rows_of(&p, w.count) > room(&p, task->device)) return "a panel of the source does not fit in local memory";
    i += taken(&w) - 1;
  }
  return NULL;
}

MICA__FIELDS(blocking_fields, IMPLICIT_GEMM_BLOCKING);
static mica_status launch_phases(mica_queue *queue, const mica__conv *conv, const phases *together, plan *p,
                                 mica_buffer *packed) {
  const mica__conv_phase *w = &together->at[0], *second = &together->at[together->count - 1];
  mica__launch launch;
  MICA_TRY(mica__epilogue_begin(queue, &mica__conv_cpu_implicit_gemm_kernel, p->values, &conv->epilogue, &launch));
  mica__conv_push_phase(&launch, w);
  mica__conv_push_own(&launch, second);
  const blocking_fields b = {.CB = p->cb,
                             .KB = p->kb,
                             .PANELS = p->panels,
                             .FLAT = is_flat(w),
                             .STREAM = conv->nontemporal,
                             .ZERO_ROWS = together->zero_rows};
  mica__launch_sizes(&launch, b.values);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, (size_t)(rows_of(p, together->count) * p->nr) * sizeof(float));
  const int64_t groups[] = {mica__ceil_div(p->columns, p->nr * p->panels), mica__ceil_div(w->k, p->kb), w->groups};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  int64_t taps = mica__product3(w->taps) + (together->count > 1 ? mica__product3(second->taps) : 0);
  double all = (double)(mica__product3(conv->dims.filter) * mica__product3(conv->dims.out));
  mica__epilogue_push(&launch, &conv->epilogue);
  mica__conv_cost(&launch, conv, all > 0 ? (double)(taps * mica__product3(w->out)) / all : 0);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_tile(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica_status status = MICA_OK;
  int64_t count = mica__conv_phase_count(conv);
  for (int64_t i = 0; status == MICA_OK && i < count;) {
    phases w = phases_at(conv, i);
    plan p = make_plan(&w, task->variant, task->device);
    mica_buffer *packed = NULL;
    int64_t at = 0;
    status = mica__workspace_create(packer, (size_t)(packed_count(&w, p.mr) + 1) * sizeof(float), &packed);
    for (int32_t k = 0; status == MICA_OK && k < w.count; k++) {
      int64_t weights = mica__conv_packed_count(&w.at[k], p.mr);
      if (weights > 0) status = mica__conv_cpu_pack_weights(packer, conv, &w.at[k], p.mr, p.cb, packed, at);
      at += weights;
    }
    if (status == MICA_OK) status = launch_phases(queue, conv, &w, &p, packed);
    mica_buffer_destroy(packed);
    i += taken(&w);
  }
  return status;
}

const mica__impl mica__conv_cpu_implicit_gemm = {.name = "conv_cpu_implicit_gemm",
                                                 .kernel = &mica__conv_cpu_implicit_gemm_kernel,
                                                 .helper = &mica__conv_cpu_pack_weights_kernel,
                                                 .unable = unable,
                                                 .decline = decline,
                                                 .launch = launch_tile};
