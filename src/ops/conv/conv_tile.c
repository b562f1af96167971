/* A convolution as a product with a matrix that is made in passing (cl/conv/conv_tile.cl): any window, on CPUs. */
#include "base/error.h"
#include "ops/conv/window.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("MR", "rows of a register tile", 4, 8, 12),
    MICA__INT("NV", "vectors in a row of it", 1, 2, 3),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu.8x32", MICA__ON_CPU, MICA__CONV_VALUES, 8, 2)};
const mica__kernel_desc mica__conv_tile_kernel = {MICA__KERNEL("conv_tile", "conv/conv_tile.cl", params, variants)};

#define VW 16
/* A panel of so many rows of two vectors takes 24 KiB of a first level cache. */
#define PANEL_ROWS 192
/* Panels have at least all taps of one channel. */
#define MOST_TAPS 8192
#define MOST_ROWS 1024
/* Groups for each core, where there are so many panels: few leave one core waiting for the other. */
#define GROUPS 128

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

/* How the work of a window is cut; see the kernel's contract. */
typedef struct plan {
  int32_t values[MICA__MAX_PARAMS], mr;
  int64_t nr, cb, kb, panels, columns;
} plan;

static plan make_plan(const mica__conv_window *w, const mica__variant *variant, const mica_device_info *device) {
  plan p;
  mica__kernel_values(&mica__conv_tile_kernel, variant ? variant : &variants[0], p.values);
  p.mr = mica__gemm_value(&mica__conv_tile_kernel, p.values, "MR");
  p.nr = mica__gemm_value(&mica__conv_tile_kernel, p.values, "NV") * VW;
  int64_t taps = mica__conv_volume(w->taps), tiles = ceil_div(w->k, p.mr);
  int64_t wanted = GROUPS * (int64_t)device->compute_units;
  /* A window without taps has nothing to add up, and needs no second block to know it. */
  int64_t channels = taps == 0 ? w->c + 1 : PANEL_ROWS / taps, blocks = ceil_div(w->c, channels > 0 ? channels : 1);
  p.cb = blocks > 0 ? ceil_div(w->c, blocks) : 1;
  p.columns = w->n * mica__conv_volume(w->out);
  p.kb = least(tiles, MOST_ROWS / p.mr) * p.mr;
  int64_t panels = ceil_div(p.columns, p.nr);
  p.panels = panels * w->groups * ceil_div(w->k, p.kb) / wanted;
  p.panels = p.panels < 1 ? 1 : least(p.panels, 32);
  return p;
}

/* Whether the grid is the result, place for place. */
static bool is_flat(const mica__conv_window *w) {
  bool flat = true;
  for (int i = 0; i < 3; i++) flat = flat && w->spread[i] == 1 && w->out[i] == w->full[i];
  return flat;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (conv->dtype == MICA_F64) return "its sums are float";
  return mica__conv_volume(conv->dims.filter) > MOST_TAPS ? "the filter is too large" : NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  (void)problem;
  return mica__kernel_class(device) == MICA__ON_CPU ? NULL : "it is for CPUs";
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  (void)device;
  int64_t count = 0;
  for (int64_t i = 0; i < mica__conv_windows(problem); i++) {
    mica__conv_window w = mica__conv_window_used(mica__conv_window_at(problem, i));
    count += mica__conv_packed_count(&w, variants[0].values[4]);
  }
  return (size_t)count * sizeof(float);
}

static mica_status launch_window(mica_queue *queue, const mica__conv *conv, const mica__conv_window *w, plan *p,
                                 mica_buffer *packed) {
  mica__launch launch;
  mica__gemm result = conv->result;
  MICA_TRY(mica__gemm_begin_epilogue(queue, &mica__conv_tile_kernel, p->values, &result, &launch));
  mica__conv_push_window(&launch, w);
  mica__launch_int8(&launch, (int32_t[]){(int32_t)p->cb, (int32_t)p->kb, (int32_t)p->panels, is_flat(w), 0, 0, 0, 0});
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, (size_t)((p->cb * mica__conv_volume(w->taps) + p->kb) * p->nr) * sizeof(float));
  const int64_t groups[] = {ceil_div(p->columns, p->nr * p->panels), ceil_div(w->k, p->kb), w->groups};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  result.n = mica__conv_volume(w->out);
  result.k = w->c * mica__conv_volume(w->taps);
  return mica__gemm_end(queue, &launch, &result);
}

static mica_status launch_tile(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__conv *conv = problem;
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica_status status = MICA_OK;
  for (int64_t i = 0; status == MICA_OK && i < mica__conv_windows(conv); i++) {
    mica__conv_window w = mica__conv_window_used(mica__conv_window_at(conv, i));
    plan p = make_plan(&w, variant, mica_engine_device(mica__queue_engine(queue)));
    int64_t count = mica__conv_packed_count(&w, p.mr);
    mica_buffer *packed = NULL;
    status = mica__workspace_create(packer, (size_t)(count + 1) * sizeof(float), &packed);
    if (status == MICA_OK && count > 0) status = mica__conv_pack(packer, conv, &w, p.mr, p.cb, packed, 0);
    if (status == MICA_OK) status = launch_window(queue, conv, &w, &p, packed);
    mica_buffer_destroy(packed);
  }
  return status;
}

const mica__impl mica__conv_tile = {.name = "conv_tile",
                                    .kernel = &mica__conv_tile_kernel,
                                    .unable = unable,
                                    .decline = decline,
                                    .workspace = workspace,
                                    .launch = launch_tile};
