/* Forward with few channels, on CPUs (cl/conv/conv_direct.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/window.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("MR", "filters of a register tile", 6, 8),
    MICA__INT("NV", "vectors of it", 2, 3),
    MICA__INT("STREAM", "1: results are written past the caches", 0, 1),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu.8x32", MICA__ON_CPU, MICA__CONV_VALUES, 8, 2, 0),
    MICA__VARIANT("cpu.8x32.stream", MICA__ON_CPU, MICA__CONV_VALUES, 8, 2, 1),
};
const mica__kernel_desc mica__conv_direct_kernel = {
    MICA__KERNEL("conv_direct", "conv/conv_direct.cl", params, variants)};

#define VW 16
/* Floats of what a work-item has in hand: they stay in a first level cache. */
#define ROOM (8 << 10)
/* Groups of work that a problem is cut into where it is large enough. */
#define GROUPS 64
/* More channels are for kernels that cut them into blocks; fewer filters leave a tile empty. */
#define MOST_CHANNELS 8
#define FEWEST_FILTERS 4
#define MOST_DEPTH 4096
/* Bytes of a result of which a cache would keep little until somebody reads it. */
#define STREAM_BYTES (16 << 20)

/* How the work is cut; see the kernel's contract. */
typedef struct plan {
  int64_t mr, rows, lines, pitch, results;
} plan;

static int64_t depth_of(const mica__conv_dims *d) { return d->c * mica__conv_volume(d->filter); }

static void set_rows(const mica__conv_dims *d, int64_t rows, plan *p) {
  p->rows = rows;
  p->lines = (rows - 1) * d->stride[1] + (d->filter[1] - 1) * d->dilation[1] + 1;
  p->results = rows * d->out[2] + VW;
}

static int64_t floats(const mica__conv_dims *d, const plan *p) {
  return d->c * p->lines * d->stride[2] * p->pitch + p->mr * p->results;
}

static plan make_plan(const mica__conv_dims *d) {
  plan p = {.mr = d->k <= 6 ? 6 : 8};
  p.pitch = mica__most(d->out[2], VW) + (d->filter[2] - 1) * d->dilation[2] / d->stride[2];
  p.pitch = mica__ceil_div(p.pitch, VW) * VW;
  int64_t bands = mica__least(d->out[1], mica__ceil_div(GROUPS, mica__most(1, d->n * d->groups)));
  do set_rows(d, mica__ceil_div(d->out[1], bands++), &p);
  while (floats(d, &p) > ROOM && p.rows > 1);
  return p;
}

static size_t scratch_bytes(const mica__conv_dims *d, const plan *p) {
  return (size_t)floats(d, p) * sizeof(float) + (size_t)depth_of(d) * sizeof(int32_t);
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "its sums are float";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "there are three dimensions";
  if (depth_of(d) > MOST_DEPTH) return "a filter is too large";
  plan p = make_plan(d);
  return floats(d, &p) > 8 * ROOM ? "a row of an image is too long" : NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  const mica__conv_dims *d = &((const mica__conv *)problem)->dims;
  plan p = make_plan(d);
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  if (d->c > MOST_CHANNELS) return "there are many channels";
  if (d->k < FEWEST_FILTERS) return "there are few filters";
  return scratch_bytes(d, &p) > device->local_bytes ? "local memory does not take a row" : NULL;
}

static size_t packed_bytes(const mica__conv_window *window, const plan *p) {
  return (size_t)mica__conv_packed_count(window, p->mr) * sizeof(float);
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  plan p = make_plan(&((const mica__conv *)problem)->dims);
  mica__conv_window window = mica__conv_window_at(problem, 0);
  (void)device;
  return packed_bytes(&window, &p);
}

static mica_status launch_rows(mica_queue *queue, const mica__conv *conv, const mica__variant *variant, const plan *p,
                               mica_buffer *packed) {
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *desc = &mica__conv_direct_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!variant) variant = &variants[mica_tensor_bytes(conv->y) >= STREAM_BYTES];
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "MR", (int32_t)p->mr);
  MICA_TRY(mica__gemm_begin_epilogue(queue, desc, values, &conv->result, &launch));
  mica__conv_push_dims(&launch, d);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)p->rows, (int32_t)p->lines, (int32_t)p->pitch, (int32_t)p->results});
  mica__launch_tensor(&launch, conv->x);
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, scratch_bytes(d, p));
  mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(d->out[1], p->rows), d->n, d->groups}, (size_t[]){1, 1, 1});
  return mica__gemm_end(queue, &launch, &conv->result);
}

static mica_status launch_direct(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__conv *conv = problem;
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica__conv_window window = mica__conv_window_at(conv, 0);
  plan p = make_plan(&conv->dims);
  mica_buffer *packed = NULL;
  MICA_TRY(mica__workspace_create(packer, packed_bytes(&window, &p), &packed));
  mica_status status = mica__conv_pack(packer, conv, &window, (int32_t)p.mr, mica__most(1, window.c), packed, 0);
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
