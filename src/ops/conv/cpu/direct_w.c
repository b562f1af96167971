/* Direct convolution on CPUs, vectorised over the width, to or from few channels (cl/conv/cpu/direct_w.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/cpu/pack_weights.h"
#include "ops/conv/winograd/winograd.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("MR", "channels of the result of a register tile", 4, 6, 8),
    MICA__INT("NV", "vectors of it", 1, 2, 4),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu.8x32", MICA__ON_CPU, MICA__CONV_VALUES, 8, 2)};
const mica__kernel_desc mica__conv_cpu_direct_w_kernel = {
    MICA__KERNEL("conv_cpu_direct_w", "conv/cpu/direct_w.cl", params, variants)};

#define VW 16
#define MOST_TAPS 4096
/* The fewest work-groups that a large enough problem is cut into. */
#define GROUPS 64
/* Lanes are neighbours in a row, so short rows are slow: a spectrum by convolution, 258 filters of 256 taps at 4
 * positions, took 320 us here and 83 us with filters as lanes (conv_depthwise_cpu_c). */
#define SHORTEST_ROW 8
/* MOST_CHANNELS: more channels on both sides would need blocks of channels. FEWEST_OF_A_GROUP: groups with fewer
 * channels of the result leave much of a tile empty. From FILTERING_CHANNELS channels and FILTERING_RESULTS channels
 * of the result on, Winograd's fewer products pay for its transforms. */
#define MOST_CHANNELS 16
#define FEWEST_OF_A_GROUP 4
#define FILTERING_CHANNELS 8
#define FILTERING_RESULTS 7

/* How the work is cut: into strips of an image's rows, with an input tile each; see cl/conv/input_tile.clh. */
typedef struct plan {
  mica__conv_dims dims; /* c, in: of the source; k, out: of the result */
  bool back;
  /* grid: results per phase of the stride. If p is the position in the source that belongs to a result, the result's
   * taps read the elements p + low to p + high; low is at most 0. */
  int64_t grid[3], low[3], high[3];
  /* rows: rows of a strip. tile_rows: rows of its input tile. A row of the tile holds the phases of the stride
   * (step_of(p, 2) of them) one after another, with `pitch` floats each. */
  int64_t rows, tile_rows, pitch;
  int64_t mr, nv;
} plan;
MICA__TASK_PLAN(plan)

static int64_t step_of(const plan *p, int i) { return p->back ? 1 : p->dims.stride[i]; }
static int64_t out_stride_of(const plan *p, int i) { return p->back ? p->dims.stride[i] : 1; }

/* tile_floats: the floats of the input tile. floats_of: the floats of the input tile and of the strip's results. */
static int64_t tile_floats(const plan *p) { return p->dims.c * p->tile_rows * step_of(p, 2) * p->pitch; }
static int64_t floats_of(const plan *p) {
  return tile_floats(p) + p->mr * (p->rows * out_stride_of(p, 1) * p->dims.out[2] + VW);
}
static size_t scratch_bytes(const plan *p) {
  return (size_t)floats_of(p) * sizeof(float) +
         (size_t)(p->dims.filter[1] * (p->dims.c * p->dims.filter[2] + 1)) * sizeof(int32_t);
}

static void set_halo(int i, plan *p) {
  const mica__conv_dims *d = &p->dims;
  int64_t extent = (d->filter[i] - 1) * d->dilation[i];
  p->grid[i] = mica__ceil_div(d->out[i], out_stride_of(p, i));
  p->low[i] = p->back ? mica__min(0, (d->pad[i] - extent) / d->stride[i]) : -d->pad[i];
  p->high[i] = p->back ? (d->stride[i] - 1 + d->pad[i]) / d->stride[i] : extent - d->pad[i];
}

/* Chooses the rows and vectors of a register tile. With short vectors, registers hold only 4 or 6 rows. */
static void choose_tile(plan *p, bool long_vectors) {
  int64_t k = p->dims.k;
  bool four = mica__ceil_div(k, 4) * 4 < mica__ceil_div(k, 6) * 6;
  p->mr = long_vectors ? (k <= 4 ? 4 : k <= 6 ? 6 : 8) : four ? 4 : 6;
  p->nv = !long_vectors ? 1 : p->mr == 4 ? 4 : 2;
}

/* Chooses the fewest strips that make GROUPS work-groups (if there are enough rows) and whose data fit the cache: the
 * first level if several register tiles read them, else a quarter of the second. If no strip fits, a strip has one
 * row. */
static void choose_rows(plan *p, const mica__core_model *core) {
  int64_t strips = mica__ceil_div(GROUPS, mica__max(1, p->dims.n * p->dims.groups));
  int64_t room = p->dims.k <= p->mr ? core->l2_floats / 4 : core->l1_floats;
  int64_t rows = mica__ceil_div(p->grid[1], mica__max(1, mica__min(p->grid[1], strips)));
  do {
    p->rows = rows;
    p->tile_rows = (rows - 1) * step_of(p, 1) + p->high[1] - p->low[1] + 1;
  } while (floats_of(p) > room && --rows > 0);
}

static plan make_plan(const mica__conv *conv, const mica_device_info *device) {
  plan p = {.dims = conv->dims, .back = conv->pass == MICA__CONV_BWD_DATA};
  if (p.back) {
    p.dims.c = conv->dims.k;
    p.dims.k = conv->dims.c;
    for (int i = 0; i < 3; i++) p.dims.in[i] = conv->dims.out[i], p.dims.out[i] = conv->dims.in[i];
  }
  for (int i = 1; i < 3; i++) set_halo(i, &p);
  p.pitch = mica__max(p.grid[2], VW) + (p.high[2] - p.low[2]) / step_of(&p, 2);
  p.pitch = mica__ceil_div(p.pitch, VW) * VW;
  choose_tile(&p, device->vector_bytes >= MICA__LONG_VECTOR);
  choose_rows(&p, mica__core_model_of(device));
  return p;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  const mica_device_info any = {.vector_bytes = MICA__LONG_VECTOR};
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have three dimensions";
  if (mica__product3(d->filter) > MOST_TAPS) return "a filter is too large";
  plan p = make_plan(conv, &any);
  return floats_of(&p) > mica__core_model_of(&any)->l2_floats / 2 ? "a row of an image is too long" : NULL;
}

static void plan_task(mica__task *task) { keep_plan(task, make_plan(task->problem, task->device)); }

static const char *decline(const mica__task *task) {
  const plan *p = plan_of(task);
  const mica__conv_dims *d = &p->dims;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (d->c > MOST_CHANNELS && d->k > MOST_CHANNELS) return "there are too many channels and filters";
  if (d->c >= FILTERING_CHANNELS && d->k >= FILTERING_RESULTS && !mica__winograd_unable(task->problem))
    return "for 3 x 3 filters of stride 1 over several channels, Winograd's transforms are faster";
  if (mica__product3(d->filter) == 1) return "the filter is 1 x 1";
  if (d->out[2] < SHORTEST_ROW) return "rows of the result are too short for vectors";
  if (d->k < FEWEST_OF_A_GROUP && d->groups > 1) return "groups have too few channels";
  return scratch_bytes(p) > task->device->local_bytes ? "a row does not fit in local memory" : NULL;
}

/* The floats of all phases' packed weights. The phases are packed one after the other; a phase may have no taps. */
static int64_t packed_floats(const mica__conv *conv, int64_t mr) {
  int64_t count = 0;
  for (int64_t i = 0; i < mica__conv_phase_count(conv); i++) {
    mica__conv_phase phase = mica__conv_phase_at(conv, i);
    count += mica__conv_packed_count(&phase, mr);
  }
  return mica__max(1, count);
}

static mica_status pack(mica_queue *packer, const mica__conv *conv, int64_t mr, mica_buffer *packed) {
  int64_t at = 0;
  for (int64_t i = 0; i < mica__conv_phase_count(conv); i++) {
    mica__conv_phase phase = mica__conv_phase_at(conv, i);
    int64_t count = mica__conv_packed_count(&phase, mr);
    if (count > 0) MICA_TRY(mica__conv_cpu_pack_weights(packer, conv, &phase, (int32_t)mr, phase.c, packed, at));
    at += count;
  }
  return MICA_OK;
}

MICA__FIELDS(tile_fields, DIRECT_W_TILE);
static mica_status launch_strips(mica_queue *queue, const mica__task *task, mica_buffer *packed) {
  const mica__kernel_desc *desc = &mica__conv_cpu_direct_w_kernel;
  const mica__conv *conv = task->problem;
  const plan *p = plan_of(task);
  const mica__conv_dims *d = &p->dims;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  int64_t columns = mica__max(0, mica__min(d->in[2], (p->grid[2] - 1) * step_of(p, 2) + p->high[2] + 1));
  mica__kernel_values(desc, task->variant ? task->variant : &variants[0], values);
  mica__kernel_set(desc, values, "MR", (int32_t)p->mr);
  mica__kernel_set(desc, values, "NV", (int32_t)p->nv);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_dims(&launch, d);
  const tile_fields t = {.rows = p->rows,
                         .tile_rows = p->tile_rows,
                         .pitch = p->pitch,
                         .columns = columns,
                         .above = -p->low[1],
                         .before = -p->low[2],
                         .BACK = p->back,
                         .STREAM = conv->nontemporal};
  mica__launch_sizes(&launch, t.values);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, scratch_bytes(p));
  mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(p->grid[1], p->rows), d->n, d->groups}, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

static mica_status launch_direct(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  int64_t mr = plan_of(task)->mr;
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica_buffer *packed = NULL;
  MICA_TRY(mica__workspace_create(packer, (size_t)packed_floats(conv, mr) * sizeof(float), &packed));
  mica_status status = pack(packer, conv, mr, packed);
  if (status == MICA_OK) status = launch_strips(queue, task, packed);
  mica_buffer_destroy(packed);
  return status;
}

const mica__impl mica__conv_cpu_direct_w = {.name = "conv_cpu_direct_w",
                                            .kernel = &mica__conv_cpu_direct_w_kernel,
                                            .helper = &mica__conv_cpu_pack_weights_kernel,
                                            .unable = unable,
                                            .plan = plan_task,
                                            .decline = decline,
                                            .launch = launch_direct};
