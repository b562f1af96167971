/* Adds the sums of the parts of a weight gradient, as the last step on CPUs (cl/conv/wgrad_reduce.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/wgrad.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of w", MICA__CONV_TYPES),
    MICA__INT("PANEL", "lanes: 1 channels, 2 filters, 3 filters while rows are pairs of channel and tap", 1, 2, 3),
    MICA__INT("MR", "rows of a register tile", 6, 8, 9),
    MICA__INT("NV", "vectors in a row of it", 1, 2, 3),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu.x32", MICA__ON_CPU, MICA_F32, MICA__PANEL_X, 8, 2),
    MICA__VARIANT("cpu.y32", MICA__ON_CPU, MICA_F32, MICA__PANEL_Y, 8, 2),
    MICA__VARIANT("cpu.taps32", MICA__ON_CPU, MICA_F32, MICA__PANEL_Y_TAPS, 9, 2),
};
const mica__kernel_desc mica__conv_wgrad_reduce_kernel = {
    MICA__KERNEL("conv_wgrad_reduce", "conv/wgrad_reduce.cl", params, variants)};

#define VW 16

/* The numbers of panels of lanes, of tiles of rows, of the filter's taps (all) and of summed taps (taps). With
 * MICA__PANEL_Y_TAPS a pair of channel and tap is a channel with one tap. */
typedef struct extent {
  int64_t panels, tiles, all, taps;
} extent;

static extent extent_of(const mica__conv *conv, const mica__conv_sums *s) {
  const mica__conv_dims *d = &conv->dims;
  bool paired = s->panel == MICA__PANEL_Y_TAPS;
  int64_t all = mica__product3(d->filter), channels = paired ? d->c * all : d->c;
  extent e = {.all = paired ? 1 : all, .taps = paired ? 1 : mica__product3(s->taps)};
  e.panels = mica__ceil_div(s->panel == MICA__PANEL_X ? channels : d->k, (int64_t)s->nv * VW);
  e.tiles = mica__ceil_div(s->panel == MICA__PANEL_X ? d->k : channels, s->mr);
  return e;
}

bool mica__conv_knows_filter(const mica__kernel_desc *kernel, const mica__conv_dims *d) {
  return mica__kernel_choice(kernel, "FR", (int32_t)mica__min(d->filter[1], INT32_MAX)) >= 0 &&
         mica__kernel_choice(kernel, "FS", (int32_t)mica__min(d->filter[2], INT32_MAX)) >= 0;
}

mica__conv_sums mica__conv_depthwise_sums(mica__conv *conv, int64_t parts) {
  const mica__conv_sums sums = {.panel = MICA__PANEL_Y_TAPS,
                                .mr = 9,
                                .nv = 1,
                                .parts = parts,
                                .taps = {conv->dims.filter[0], conv->dims.filter[1], conv->dims.filter[2]}};
  conv->dims.k *= conv->dims.groups;
  conv->dims.groups = 1;
  return sums;
}

int64_t mica__conv_sums_count(const mica__conv *conv, const mica__conv_sums *s) {
  extent e = extent_of(conv, s);
  return s->parts * conv->dims.groups * e.panels * e.tiles * e.taps * s->mr * s->nv * VW;
}

MICA__FIELDS(size_fields, REDUCE_SIZE);
MICA__FIELDS(used_fields, REDUCE_TAPS);
static mica_status reduce(mica_queue *queue, const mica__conv *conv, const mica__conv_sums *s, mica_buffer *partial) {
  const mica__kernel_desc *desc = &mica__conv_wgrad_reduce_kernel;
  const mica__conv_dims *d = &conv->dims;
  extent e = extent_of(conv, s);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(desc, values, "PANEL", s->panel);
  mica__kernel_set(desc, values, "MR", s->mr);
  mica__kernel_set(desc, values, "NV", s->nv);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  const int64_t *r = d->filter, *first = s->first, *taps = s->taps;
  const size_fields of = {
      .G = d->groups, .CG = d->c, .KG = d->k, .PARTS = s->parts, .R0 = r[0], .R1 = r[1], .R2 = r[2]};
  const used_fields u = {
      .FIRST0 = first[0], .FIRST1 = first[1], .FIRST2 = first[2], .TAPS0 = taps[0], .TAPS1 = taps[1], .TAPS2 = taps[2]};
  mica__launch_sizes(&launch, of.values);
  mica__launch_sizes(&launch, u.values);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_tensor(&launch, conv->w);
  mica__launch_local(&launch, (size_t)mica__conv_reduce_floats(e.all, s->mr, (int64_t)s->nv * VW) * sizeof(float));
  const int64_t groups[] = {d->groups * e.panels, e.tiles, 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  double count = (double)mica_tensor_count(conv->w), sums = (double)mica__conv_sums_count(conv, s);
  mica__launch_cost(&launch, sums, sums * sizeof(float) + count * (double)mica_dtype_size(conv->dtype));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__conv_wgrad_run(mica_queue *queue, const mica__task *task, int64_t floats,
                                 mica__conv_sums_launch *launch, const mica__conv *conv, const mica__conv_sums *sums) {
  mica_buffer *workspace = NULL;
  MICA_TRY(mica__workspace_create(queue, (size_t)floats * sizeof(float), &workspace));
  mica_status status = launch(queue, task, workspace);
  if (status == MICA_OK && sums) status = reduce(queue, conv, sums, workspace);
  mica_buffer_destroy(workspace);
  return status;
}
