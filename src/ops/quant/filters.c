/* Convolutions of bytes whose filters are the lanes of vectors (cl/quant/cpu/filters.cl). */
#include "base/arith.h"
#include "cl/quant/fields.clh"
#include "ops/quant/int8.h"
#include "runtime/device.h"
#include "runtime/fields.h"
#include "runtime/host_cpu.h"

static const mica__kernel_param params[] = {
    MICA__DTYPE("Y_T", "type of results, u8 for i8 too", MICA_U8),
    MICA__CASE("MICA_HAS_VPDPBUSD", "1: vpdpbusd", 1),
    MICA__CASE("OTHER", "1: others are added to results", 0, 1),
    MICA__INT("NR", "filters of a tile", 32),
    MICA__INT("PX", "pixels of a tile", 14, 8, 7),
};
static const mica__variant variants[] = {
    {.name = "filters512",
     .classes = MICA__ON_CPU,
     .vector_bytes = MICA__LONG_VECTOR,
     .has_instruction = mica__host_has_vnni,
     .values = {MICA_U8, 1, 0, 32, 14}},
};
const mica__kernel_desc mica__int8_filters_kernel = {
    MICA__KERNEL("int8_filters", "quant/cpu/filters.cl", params, variants)};

MICA__PACKED(operand_fields, FILTERS_OPERANDS);
MICA__PACKED(size_fields, FILTERS_SIZES);

#define FILTERS 32

/* Returns the number of pixels of a tile with which a line of q pixels takes the least work. Sets *cost to that work,
 * in pixels. Tiles of fewer pixels cost more per pixel, because they use each load of the filters less. */
static int32_t pixels_of_tile(int64_t q, double *cost) {
  static const struct {
    int32_t pixels;
    double cost;
  } tiles[] = {{14, 1}, {8, 1.05}, {7, 1.05}};
  int32_t best = 0;
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    const double now = (double)(mica__ceil_div(q, tiles[i].pixels) * tiles[i].pixels) * tiles[i].cost;
    if (best && now >= *cost) continue;
    *cost = now;
    best = tiles[i].pixels;
  }
  return best;
}

static const mica__int8 *problem_of(const mica__task *task) { return task->problem; }

static const char *unable(const void *problem) {
  const mica__int8 *p = problem;
  if (!p->conv) return "the product is one of matrices";
  if (p->attrs->to != MICA_I8 && p->attrs->to != MICA_U8) return "results are not bytes";
  if (mica_tensor_dtype(p->in[MICA__INT8_SECOND]) != MICA_I8 || p->in[MICA__INT8_SECOND_ZERO])
    return "filters are unsigned or have a zero point";
  return NULL;
}

/* Declines unless this kernel computes fewer than 1.1 times as many results as the other kernels would. Results that
 * are computed and dropped count, too. The other kernels take tiles of 32 pixels of an image's joined lines by 8
 * filters, and their inner loop is as fast. */
static const char *decline(const mica__task *task) {
  const mica__int8 *p = problem_of(task);
  const char *reason = mica__exec_declines(p->exec, task, &mica__int8_filters_kernel);
  if (!reason) reason = unable(p);
  if (reason) return reason;
  if (!mica__kernel_variant(&mica__int8_filters_kernel, task->device))
    return "the processor lacks the instruction vpdpbusd (VNNI) on vectors of 64 bytes";
  const mica__conv_dims *d = &p->dims;
  if (d->out[1] == 1 && mica__product3(d->filter) == 1) return "images need not be packed for the other kernels";
  const int64_t wide = d->out[2] + (d->filter[2] - 1) * d->dilation[2] / d->stride[2];
  const int64_t joined = mica__ceil_div((d->out[1] - 1) * wide + d->out[2], 32) * 32;
  double line = 0;
  pixels_of_tile(d->out[2], &line);
  const double mine = line * (double)(d->out[1] * mica__ceil_div(p->m, FILTERS) * FILTERS);
  const double others = 1.1 * (double)(joined * mica__ceil_div(p->m, 8) * 8);
  return mine < others ? NULL : "most of a tile would be empty";
}

static mica_status submit(const mica__int8 *p, const mica__int8_form *form, int32_t *values,
                          const mica__int8_packed *packed) {
  const mica__conv_dims *d = &p->dims;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(p->exec->queue));
  mica__launch launch;
  MICA_TRY(mica__int8_begin(p, &mica__int8_filters_kernel, values, &launch));
  const int64_t pixels = mica__kernel_value(&mica__int8_filters_kernel, values, "PX");
  const int64_t in_line = mica__ceil_div(d->out[2], pixels), tiles = in_line * d->out[1];
  /* A group computes all tiles for its panel of filters, so that the panel stays in the cache. If that would give fewer
   * than 4 groups per core, several groups share the tiles. */
  const int64_t panels = mica__ceil_div(p->m, FILTERS), wanted = 4 * (int64_t)device->compute_units;
  const int64_t parts = mica__ceil_div(wanted, panels * p->batches),
                block = mica__ceil_div(tiles, mica__min(parts, tiles));
  const size_fields sizes = {
      .m = p->m,
      .tiles = tiles,
      .in_line = in_line,
      .steps = mica__int8_steps(p, form),
      .block = block,
      .a_count = p->row_batches,
      .b_batch = packed->b_batch,
      .step_step = packed->step_step,
      .plane = packed->plane,
      MICA__INT8_WINDOW(d),
      .wq = packed->wide,
      .q = d->out[2],
      .row_batch = p->m,
      .columns_are_offset = packed->sums != NULL,
      .pixels = d->out[1] * d->out[2],
  };
  operand_fields_push(&launch, &(operand_fields){.A = packed->rows, .B = packed->columns, .row_sums = packed->sums});
  mica__int8_push_finish(p, form, &launch);
  size_fields_push(&launch, &sizes);
  if (p->in[MICA__INT8_OTHER]) mica__int8_push_sum(p, &launch);
  mica__launch_range3(&launch, (int64_t[]){panels, mica__ceil_div(tiles, block), p->batches}, (size_t[]){1, 1, 1});
  return mica__int8_end(p, &launch);
}

static mica_status launch(mica_queue *queue, const mica__task *task) {
  const mica__kernel_desc *desc = &mica__int8_filters_kernel;
  const mica__int8 *p = task->problem;
  const mica__int8_form form = {
      .rows = MICA_I8, .columns = MICA_U8, .per = 4, .row_width = FILTERS, .column_width = 1, .run = 1};
  const bool offset = mica_tensor_dtype(p->in[MICA__INT8_FIRST]) != MICA_U8 || p->in[MICA__INT8_FIRST_ZERO];
  int32_t values[MICA__MAX_PARAMS];
  mica__int8_packed packed = {0};
  double cost = 0;
  (void)queue;
  if (task->variant)
    MICA_TRY(mica__exec_variant(p->exec, desc, task->variant, values));
  else
    MICA_TRY(mica__exec_values(p->exec, desc, values));
  mica__kernel_set(desc, values, "OTHER", p->in[MICA__INT8_OTHER] != NULL);
  mica__kernel_set(desc, values, "PX", pixels_of_tile(p->dims.out[2], &cost));
  mica_status status = mica__int8_pack(p, &form, offset, &packed);
  if (status == MICA_OK) status = submit(p, &form, values, &packed);
  mica__int8_packed_free(&packed);
  return status;
}

const mica__impl mica__int8_filters = {.name = "int8_filters",
                                       .kernel = &mica__int8_filters_kernel,
                                       .unable = unable,
                                       .decline = decline,
                                       .launch = launch};
