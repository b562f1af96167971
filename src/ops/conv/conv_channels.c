/* Forward and backward data from some channels to many, on CPUs (cl/conv/conv_channels.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/band.h"
#include "ops/conv/winograd.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("MANY", "places of a register tile, in each of two rows", 3, 8),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu.3", MICA__ON_CPU, MICA__CONV_VALUES, 3),
    MICA__VECTOR_VARIANT("long.8", MICA__LONG_VECTOR, MICA__CONV_VALUES, 8),
};
const mica__kernel_desc mica__conv_channels_kernel = {
    MICA__KERNEL("conv_channels", "conv/conv_channels.cl", params, variants)};

#define VW 16
#define MOST_PLACES 8
/* Floats of what a work-item has in hand, and the most where a row takes more. */
#define ROOM (16 << 10)
#define MOST_ROOM (128 << 10)
#define GROUPS 64
/* More channels are for kernels that cut them into blocks, and fewer than these where Winograd's convolution cannot be
 * had. */
#define MOST_CHANNELS 128
#define WINOGRAD_CHANNELS 8
/* Shorter sums take less time than to turn them. */
#define SHORTEST_SUM 48

/* Floats beside the copy. */
static int64_t results_of(const mica__conv_band *b) { return VW * mica__conv_band_places(b); }
static int64_t floats_of(const mica__conv_band *b) { return mica__conv_band_copied(b) + results_of(b); }

/* Rows in pairs. */
static mica__conv_band make_band(const mica__conv *conv) {
  mica__conv_band b = mica__conv_band_of(conv, MOST_PLACES);
  int64_t rows = mica__conv_band_most_rows(&b, GROUPS);
  rows = mica__least(b.grid[1], (rows + 1) / 2 * 2);
  do mica__conv_band_set_rows(&b, rows);
  while (floats_of(&b) > ROOM && rows > 2 && (rows = (rows - 1) / 2 * 2) > 0);
  return b;
}

static const char *unable(const void *problem) {
  const char *reason = mica__conv_band_unable(problem);
  if (reason) return reason;
  mica__conv_band b = make_band(problem);
  return floats_of(&b) > MOST_ROOM ? "a row of an image is too long" : NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  mica__conv_band b = make_band(problem);
  const mica__conv_dims *d = &b.dims;
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  if (d->c > MOST_CHANNELS) return "there are many channels";
  if (4 * d->k < 3 * mica__ceil_div(d->k, VW) * VW) return "lanes are empty";
  if (b.grid[2] < MOST_PLACES) return "rows are short";
  if (d->c * mica__conv_volume(d->filter) < SHORTEST_SUM) return "sums are short";
  if (d->c >= WINOGRAD_CHANNELS && !mica__winograd_unable(problem)) return "Winograd's convolution is faster";
  if (mica__conv_volume(d->filter) == 1) return "it is a matrix product";
  size_t scratch = mica__conv_band_scratch(&b, results_of(&b));
  return scratch > device->local_bytes ? "local memory does not take a row" : NULL;
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  (void)device;
  return mica__conv_band_packed(problem, VW);
}

static mica_status launch_channels(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__kernel_desc *desc = &mica__conv_channels_kernel;
  mica__conv_band b = make_band(problem);
  int32_t values[MICA__MAX_PARAMS];
  uint32_t vector_bytes = mica_engine_device(mica__queue_engine(queue))->vector_bytes;
  mica__kernel_values(desc, variant ? variant : mica__kernel_suited(desc, vector_bytes), values);
  size_t scratch = mica__conv_band_scratch(&b, results_of(&b));
  return mica__conv_band_launch(queue, problem, &b, desc, values, VW, scratch);
}

const mica__impl mica__conv_channels = {.name = "conv_channels",
                                        .kernel = &mica__conv_channels_kernel,
                                        .unable = unable,
                                        .decline = decline,
                                        .workspace = workspace,
                                        .launch = launch_channels};
