/* Forward and backward data with few channels, on CPUs (cl/conv/conv_direct.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/winograd.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("MR", "channels of the result of a register tile", 4, 6, 8),
    MICA__INT("NV", "vectors of it", 2, 4),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu.8x32", MICA__ON_CPU, MICA__CONV_VALUES, 8, 2)};
const mica__kernel_desc mica__conv_direct_kernel = {
    MICA__KERNEL("conv_direct", "conv/conv_direct.cl", params, variants)};

#define VW 16
/* Floats of what a work-item has in hand: they stay in a first level cache where several tiles read them, and in half
 * of a second level cache where one does. */
#define ROOM (8 << 10)
#define ROOM_OF_ONE (64 << 10)
/* Groups of work that a problem is cut into where it is large enough. */
#define GROUPS 64
/* More channels on both sides are for kernels that cut them into blocks, and where Winograd's convolution can be had,
 * fewer than these are for it. Few of many groups leave a tile empty. */
#define MOST_CHANNELS 16
#define WINOGRAD_CHANNELS 8
#define WINOGRAD_RESULTS 7
#define FEWEST_OF_A_GROUP 4
#define MOST_TAPS 4096

/* How the work is cut; see the kernel's contract. d: c, k, in and out are those of the source and of the result. */
typedef struct plan {
  mica__conv_dims d;
  bool back;
  int64_t mr, nv, grid[3], low[3], high[3], rows, lines, pitch;
} plan;

static int64_t step_of(const plan *p, int i) { return p->back ? 1 : p->d.stride[i]; }
static int64_t spread_of(const plan *p, int i) { return p->back ? p->d.stride[i] : 1; }

static int64_t floats(const plan *p) {
  int64_t results = p->rows * spread_of(p, 1) * p->d.out[2] + VW;
  return p->d.c * p->lines * step_of(p, 2) * p->pitch + p->mr * results;
}

static size_t scratch_bytes(const plan *p) {
  return (size_t)floats(p) * sizeof(float) + (size_t)(p->d.filter[1] * (p->d.filter[2] + 1)) * sizeof(int32_t);
}

static void set_rows(int64_t rows, plan *p) {
  p->rows = rows;
  p->lines = (rows - 1) * step_of(p, 1) + p->high[1] - p->low[1] + 1;
}

/* What taps reach beyond their place: from low, which is no more than 0, to high. */
static void set_reach(int i, plan *p) {
  const mica__conv_dims *d = &p->d;
  int64_t extent = (d->filter[i] - 1) * d->dilation[i];
  p->grid[i] = mica__ceil_div(d->out[i], spread_of(p, i));
  p->low[i] = p->back ? mica__least(0, (d->pad[i] - extent) / d->stride[i]) : -d->pad[i];
  p->high[i] = p->back ? (d->stride[i] - 1 + d->pad[i]) / d->stride[i] : extent - d->pad[i];
}

static plan make_plan(const mica__conv *conv) {
  plan p = {.d = conv->dims, .back = conv->pass == MICA__CONV_BWD_DATA};
  if (p.back) {
    p.d.c = conv->dims.k;
    p.d.k = conv->dims.c;
    for (int i = 0; i < 3; i++) p.d.in[i] = conv->dims.out[i], p.d.out[i] = conv->dims.in[i];
  }
  p.mr = p.d.k <= 4 ? 4 : p.d.k <= 6 ? 6 : 8;
  p.nv = p.mr == 4 ? 4 : 2;
  for (int i = 1; i < 3; i++) set_reach(i, &p);
  p.pitch = mica__most(p.grid[2], VW) + (p.high[2] - p.low[2]) / step_of(&p, 2);
  p.pitch = mica__ceil_div(p.pitch, VW) * VW;
  int64_t room = p.d.k <= p.mr ? ROOM_OF_ONE : ROOM;
  int64_t bands = mica__least(p.grid[1], mica__ceil_div(GROUPS, mica__most(1, p.d.n * p.d.groups)));
  do set_rows(mica__ceil_div(p.grid[1], bands++), &p);
  while (floats(&p) > room && p.rows > 1);
  return p;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "its sums are float";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "there are three dimensions";
  if (mica__conv_volume(d->filter) > MOST_TAPS) return "a filter is too large";
  plan p = make_plan(conv);
  return floats(&p) > 2 * ROOM_OF_ONE ? "a row of an image is too long" : NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  plan p = make_plan(problem);
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  if (p.d.c > MOST_CHANNELS && p.d.k > MOST_CHANNELS) return "there are many channels";
  if (p.d.c >= WINOGRAD_CHANNELS && p.d.k >= WINOGRAD_RESULTS && !mica__winograd_unable(problem))
    return "Winograd's convolution is faster";
  if (mica__conv_volume(p.d.filter) == 1) return "it is a matrix product";
  if (p.d.k < FEWEST_OF_A_GROUP && p.d.groups > 1) return "groups have few channels";
  return scratch_bytes(&p) > device->local_bytes ? "local memory does not take a row" : NULL;
}

static int64_t packed_count(const mica__conv *conv, const plan *p) {
  int64_t count = 0;
  for (int64_t i = 0; i < mica__conv_windows(conv); i++) {
    mica__conv_window window = mica__conv_window_at(conv, i);
    count += mica__conv_packed_count(&window, p->mr);
  }
  return count;
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  plan p = make_plan(problem);
  (void)device;
  return (size_t)packed_count(problem, &p) * sizeof(float);
}

static mica_status pack(mica_queue *packer, const mica__conv *conv, const plan *p, mica_buffer *packed) {
  int64_t at = 0;
  for (int64_t i = 0; i < mica__conv_windows(conv); i++) {
    mica__conv_window window = mica__conv_window_at(conv, i);
    int64_t count = mica__conv_packed_count(&window, p->mr);
    if (count > 0) MICA_TRY(mica__conv_pack(packer, conv, &window, (int32_t)p->mr, window.c, packed, at));
    at += count;
  }
  return MICA_OK;
}

static mica_status launch_rows(mica_queue *queue, const mica__conv *conv, const mica__variant *variant, const plan *p,
                               mica_buffer *packed) {
  const mica__conv_dims *d = &p->d;
  const mica__kernel_desc *desc = &mica__conv_direct_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__gemm result = conv->result;
  int64_t columns = mica__most(0, mica__least(d->in[2], (p->grid[2] - 1) * step_of(p, 2) + p->high[2] + 1));
  bool stream = mica__conv_streams(conv);
  mica__kernel_values(desc, variant ? variant : &variants[0], values);
  mica__kernel_set(desc, values, "MR", (int32_t)p->mr);
  mica__kernel_set(desc, values, "NV", (int32_t)p->nv);
  MICA_TRY(mica__gemm_begin_epilogue(queue, desc, values, &conv->result, &launch));
  mica__conv_push_dims(&launch, d);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)p->rows, (int32_t)p->lines, (int32_t)p->pitch, (int32_t)columns,
                                          (int32_t)-p->low[1], (int32_t)-p->low[2], p->back, stream});
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, scratch_bytes(p));
  mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(p->grid[1], p->rows), d->n, d->groups}, (size_t[]){1, 1, 1});
  /* Backward each place meets but the taps of its residue. */
  result.k = mica__ceil_div(result.k, spread_of(p, 1) * spread_of(p, 2));
  return mica__gemm_end(queue, &launch, &result);
}

static mica_status launch_direct(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__conv *conv = problem;
  mica_queue *packer = mica__conv_packer(conv, queue);
  plan p = make_plan(conv);
  mica_buffer *packed = NULL;
  MICA_TRY(mica__workspace_create(packer, (size_t)packed_count(conv, &p) * sizeof(float), &packed));
  mica_status status = pack(packer, conv, &p, packed);
  if (status == MICA_OK) status = launch_rows(queue, conv, variant, &p, packed);
  mica_buffer_destroy(packed);
  return status;
}

const mica__impl mica__conv_direct = {.name = "conv_direct",
                                      .kernel = &mica__conv_direct_kernel,
                                      .unable = unable,
                                      .decline = decline,
                                      .workspace = workspace,
                                      .launch = launch_direct};
