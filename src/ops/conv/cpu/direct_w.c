/* Direct convolution vectorised over the width, to few channels or from few, on CPUs (cl/conv/cpu/direct_w.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/band.h"
#include "ops/conv/winograd/winograd.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("MR", "channels of the result of a register tile", 4, 6, 8),
    MICA__INT("NV", "vectors of it", 1, 2, 4),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu.8x32", MICA__ON_CPU, MICA__CONV_VALUES, 8, 2)};
const mica__kernel_desc mica__conv_cpu_direct_w_kernel = {
    MICA__KERNEL("conv_cpu_direct_w", "conv/cpu/direct_w.cl", params, variants)};

#define VW 16
/* Floats of a work-item's local memory: a first level cache where several tiles read them, half of a second level cache
 * where one does. */
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

typedef struct plan {
  mica__conv_band band;
  int64_t mr, nv;
} plan;

/* Floats beside the input tile. */
static int64_t results_of(const plan *p) { return p->mr * (mica__conv_band_places(&p->band) + VW); }
static int64_t floats_of(const plan *p) { return mica__conv_band_copied(&p->band) + results_of(p); }

/* Short registers have room for tiles of 4 or 6 rows. */
static void choose_tile(plan *p, bool long_vectors) {
  int64_t k = p->band.dims.k;
  bool four = mica__ceil_div(k, 4) * 4 < mica__ceil_div(k, 6) * 6;
  p->mr = long_vectors ? (k <= 4 ? 4 : k <= 6 ? 6 : 8) : four ? 4 : 6;
  p->nv = !long_vectors ? 1 : p->mr == 4 ? 4 : 2;
}

static plan make_plan(const mica__conv *conv, const mica_device_info *device) {
  plan p = {.band = mica__conv_band_of(conv, VW)};
  int64_t k = p.band.dims.k;
  choose_tile(&p, device->vector_bytes >= MICA__LONG_VECTOR);
  int64_t room = k <= p.mr ? ROOM_OF_ONE : ROOM;
  int64_t rows = mica__conv_band_most_rows(&p.band, GROUPS);
  do mica__conv_band_set_rows(&p.band, rows);
  while (floats_of(&p) > room && --rows > 0);
  return p;
}

static const char *unable(const void *problem) {
  const char *reason = mica__conv_band_unable(problem);
  if (reason) return reason;
  plan p = make_plan(problem, &(mica_device_info){.vector_bytes = MICA__LONG_VECTOR});
  return floats_of(&p) > 2 * ROOM_OF_ONE ? "a row of an image is too long" : NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  plan p = make_plan(problem, device);
  const mica__conv_dims *d = &p.band.dims;
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  if (d->c > MOST_CHANNELS && d->k > MOST_CHANNELS) return "there are many channels";
  if (d->c >= WINOGRAD_CHANNELS && d->k >= WINOGRAD_RESULTS && !mica__winograd_unable(problem))
    return "Winograd's convolution is faster";
  if (mica__product3(d->filter) == 1) return "it is a matrix product";
  if (d->k < FEWEST_OF_A_GROUP && d->groups > 1) return "groups have few channels";
  size_t scratch = mica__conv_band_scratch(&p.band, results_of(&p));
  return scratch > device->local_bytes ? "local memory does not take a row" : NULL;
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  plan p = make_plan(problem, device);
  return mica__conv_band_packed(problem, p.mr);
}

static mica_status launch_direct(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__kernel_desc *desc = &mica__conv_cpu_direct_w_kernel;
  plan p = make_plan(problem, mica_engine_device(mica__queue_engine(queue)));
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel_values(desc, variant ? variant : &variants[0], values);
  mica__kernel_set(desc, values, "MR", (int32_t)p.mr);
  mica__kernel_set(desc, values, "NV", (int32_t)p.nv);
  size_t scratch = mica__conv_band_scratch(&p.band, results_of(&p));
  return mica__conv_band_launch(queue, problem, &p.band, desc, values, p.mr, scratch);
}

const mica__impl mica__conv_cpu_direct_w = {.name = "conv_cpu_direct_w",
                                            .kernel = &mica__conv_cpu_direct_w_kernel,
                                            .unable = unable,
                                            .decline = decline,
                                            .workspace = workspace,
                                            .launch = launch_direct};
