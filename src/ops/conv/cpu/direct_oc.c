/* Direct convolution vectorised over the output channels, from some to many, on CPUs (cl/conv/cpu/direct_oc.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/band.h"
#include "ops/conv/winograd/winograd.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("MANY", "pixels of a register tile, in each of two rows", 3, 4, 7, 8),
    MICA__CASE("NV", "vectors of channels of a register tile", 1, 2),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu.3", MICA__ON_CPU, MICA__CONV_VALUES, 3, 1),
    MICA__VECTOR_VARIANT("long.8", MICA__LONG_VECTOR, MICA__CONV_VALUES, 8, 1),
    MICA__VECTOR_VARIANT("long.7x2", MICA__LONG_VECTOR, MICA__CONV_VALUES, 7, 2),
    MICA__VECTOR_VARIANT("long.4x2", MICA__LONG_VECTOR, MICA__CONV_VALUES, 4, 2),
};
const mica__kernel_desc mica__conv_cpu_direct_oc_kernel = {
    MICA__KERNEL("conv_cpu_direct_oc", "conv/cpu/direct_oc.cl", params, variants)};

#define VW 16
#define MOST_PLACES 8
/* Floats of a work-item's local memory, and the most where a row takes more. */
#define ROOM (16 << 10)
#define MOST_ROOM (128 << 10)
#define GROUPS 64
/* From this many channels on Winograd, where applicable, is faster. */
#define WINOGRAD_CHANNELS 8
/* Below this many products per output the transpose costs more than it saves. */
#define SHORTEST_SUM 48

static int32_t value(const int32_t *values, const char *macro) {
  return mica__kernel_value(&mica__conv_cpu_direct_oc_kernel, values, macro);
}

/* Vectors of channels that a register tile may have. */
static int32_t most_vectors(const mica__conv_band *b) { return mica__ceil_div(b->dims.k, VW) % 2 == 0 ? 2 : 1; }

/* The cost of a row's tiles, in pixels: a last one that lacks a pixel is moved back, and those of FEW pixels wait for
 * their sums. */
#define FEW 2
#define COST_OF_FEW 4
static int64_t row_cost(int64_t width, int64_t many) {
  int64_t left = width % many == many - 1 ? 0 : width % many;
  return mica__ceil_div(width - left, many) * many + mica__ceil_div(left, FEW) * COST_OF_FEW;
}

/* With more vectors less is loaded for each multiply-add. */
static const mica__variant *own_variant(const mica__conv_band *b, uint32_t vector_bytes) {
  const mica__variant *best = NULL;
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    const int32_t *values = variants[i].values, nv = value(values, "NV");
    if (!mica__variant_suits_vectors(&variants[i], vector_bytes) || nv > most_vectors(b)) continue;
    if (!best || nv > value(best->values, "NV") ||
        row_cost(b->grid[2], value(values, "MANY")) < row_cost(b->grid[2], value(best->values, "MANY")))
      best = &variants[i];
  }
  return best;
}

/* More are for kernels that cut them into blocks. Intel's cores, which multiply twice as fast as others, wait sooner
 * for weights that no near cache holds. */
static int64_t most_channels(const mica_device_info *device) { return device->vendor == MICA_VENDOR_INTEL ? 48 : 128; }

/* Floats beside the input tile. */
static int64_t results_of(const mica__conv_band *b) { return VW * most_vectors(b) * mica__conv_band_places(b); }
static int64_t floats_of(const mica__conv_band *b) { return mica__conv_band_copied(b) + results_of(b); }

/* Rows in pairs. */
static mica__conv_band make_band(const mica__conv *conv) {
  mica__conv_band b = mica__conv_band_of(conv, MOST_PLACES);
  int64_t rows = mica__conv_band_most_rows(&b, GROUPS);
  rows = mica__min(b.grid[1], (rows + 1) / 2 * 2);
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
  if (d->c > most_channels(device)) return "there are many channels";
  if (4 * d->k < 3 * mica__ceil_div(d->k, VW) * VW) return "lanes are empty";
  if (b.grid[2] < MOST_PLACES) return "rows are short";
  if (d->c * mica__product3(d->filter) < SHORTEST_SUM) return "sums are short";
  if (d->c >= WINOGRAD_CHANNELS && !mica__winograd_unable(problem)) return "Winograd's convolution is faster";
  if (mica__product3(d->filter) == 1) return "it is a matrix product";
  size_t scratch = mica__conv_band_scratch(&b, results_of(&b));
  return scratch > device->local_bytes ? "local memory does not take a row" : NULL;
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  (void)device;
  return mica__conv_band_packed(problem, VW);
}

static mica_status launch_channels(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__kernel_desc *desc = &mica__conv_cpu_direct_oc_kernel;
  mica__conv_band b = make_band(problem);
  int32_t values[MICA__MAX_PARAMS];
  uint32_t vector_bytes = mica_engine_device(mica__queue_engine(queue))->vector_bytes;
  mica__kernel_values(desc, variant ? variant : own_variant(&b, vector_bytes), values);
  mica__kernel_set(desc, values, "NV", (int32_t)mica__min(value(values, "NV"), most_vectors(&b)));
  size_t scratch = mica__conv_band_scratch(&b, results_of(&b));
  return mica__conv_band_launch(queue, problem, &b, desc, values, VW, scratch);
}

const mica__impl mica__conv_cpu_direct_oc = {.name = "conv_cpu_direct_oc",
                                             .kernel = &mica__conv_cpu_direct_oc_kernel,
                                             .unable = unable,
                                             .decline = decline,
                                             .workspace = workspace,
                                             .launch = launch_channels};
