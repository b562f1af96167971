/* Attention on matrix units of GPUs (cl/attention/attention_mma.cl), in f16 and bf16. */
#include "ops/attention/attention.h"

#include "base/error.h"
#include "ops/select/mma.h"
#include "runtime/tensor.h"

#define MOST_HEAD 128
#define FEWEST_QUERIES 16
#define PIECE 8 /* elements of 16 bytes */

static const mica__kernel_param params[] = {
    MICA__ATTENTION_PARAMS_OF(MICA_F16, MICA_BF16),
    MICA__CASE("MMA_UNIT", "0 NVIDIA's mma.sync, 1 AMD's MFMA, 2 AMD's WMMA, 3 and 4 Intel's DPAS of 8 and 16", 0, 1, 2,
               3, 4),
    MICA__EMULATED("MMA_NATIVE", "0 an emulation, 1 the unit's instructions", 0, 1),
    MICA__INT("WARPS_M", "warps of a group", 1, 2, 4, 8),
    MICA__INT("WARP_M", "queries of a warp", 8, 16, 32),
    MICA__INT("WARP_N", "keys of a step", 32, 64),
    MICA__CASE("HEAD", "elements that a head has room for", 32, 64, 96, 128),
};

/* From the largest tiles of a unit to the smallest; at the end the emulations. On NVIDIA's 32 queries a warp would read
 * half as much of k and v from local memory, but spill (ptxas 13.0, heads of 64, a mask). */
#define HEADS_OF MICA_F16, 0, MICA_F16, 0, 0, MICA_I32
#define VARIANT(label, predicate, ...) MICA__MMA_VARIANT(label, predicate, HEADS_OF, __VA_ARGS__, 64)
#define EMULATION(label, ...) MICA__MMA_EMULATION(label, HEADS_OF, __VA_ARGS__, 64)
static const mica__variant variants[] = {
    VARIANT("ptx64x64", mica__mma_has_ptx, MICA__MMA_PTX, 1, 4, 16, 64),
    VARIANT("ptx64x32", mica__mma_has_ptx, MICA__MMA_PTX, 1, 4, 16, 32),
    VARIANT("mfma128x64", mica__gpu_has_mfma, MICA__MMA_MFMA, 1, 4, 32, 64),
    VARIANT("mfma64x32", mica__gpu_has_mfma, MICA__MMA_MFMA, 1, 2, 32, 32),
    VARIANT("wmma64x64", mica__gpu_has_wmma, MICA__MMA_WMMA, 1, 4, 16, 64),
    VARIANT("wmma32x32", mica__gpu_has_wmma, MICA__MMA_WMMA, 1, 2, 16, 32),
    VARIANT("dpas8.64x32", mica__gpu_has_dpas8, MICA__MMA_DPAS8, 1, 8, 8, 32),
    VARIANT("dpas16.64x32", mica__gpu_has_dpas16, MICA__MMA_DPAS16, 1, 8, 8, 32),
    EMULATION("emulated_mfma", MICA__MMA_MFMA, 0, 1, 32, 32),
    EMULATION("emulated_wmma", MICA__MMA_WMMA, 0, 2, 16, 32),
    EMULATION("emulated_dpas8", MICA__MMA_DPAS8, 0, 2, 8, 32),
    EMULATION("emulated_dpas16", MICA__MMA_DPAS16, 0, 2, 8, 32),
    EMULATION("emulation", MICA__MMA_PTX, 0, 2, 16, 32),
};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__attention_mma_kernel = {
    MICA__KERNEL("attention_mma", "attention/attention_mma.cl", params, variants), .has_room = has_room};

static int64_t value(const int32_t *values, const char *macro) {
  return mica__kernel_value(&mica__attention_mma_kernel, values, macro);
}

/* Work-items of a group, and positions that it owns. */
typedef struct tile {
  size_t threads;
  int64_t rows;
} tile;
static tile tile_of(const int32_t *values) {
  const int64_t warps = value(values, "WARPS_M");
  return (tile){.threads = (size_t)(warps * mica__mma_lanes((int32_t)value(values, "MMA_UNIT"))),
                .rows = warps * value(values, "WARP_M")};
}

/* What compilers found registers for, with any mask and dropout. A thread of Intel's has 128 for scores and sums. */
static bool has_registers(const int32_t *values) {
  const int64_t rows = value(values, "WARP_M"), keys = value(values, "WARP_N"), head = value(values, "HEAD");
  const int32_t unit = (int32_t)value(values, "MMA_UNIT");
  if (unit == MICA__MMA_DPAS8 || unit == MICA__MMA_DPAS16) return rows * (keys + head) / mica__mma_lanes(unit) <= 100;
  return head <= 64 || keys <= 32;
}

static bool has_room(const int32_t *values, const mica_device_info *device) {
  const tile t = tile_of(values);
  const int64_t keys = value(values, "WARP_N"), head = value(values, "HEAD");
  const int32_t unit = (int32_t)value(values, "MMA_UNIT");
  const bool rereads = unit == MICA__MMA_DPAS8 || unit == MICA__MMA_DPAS16;
  const int64_t rows = t.rows * (rereads ? head + keys : head > keys ? head : keys);
  const bool whole = keys * head / PIECE % (int64_t)t.threads == 0;
  return whole && has_registers(values) && t.threads <= device->max_group &&
         (uint64_t)(rows + 2 * keys * head) * sizeof(uint16_t) <= device->local_bytes;
}

/* Pieces of 16 bytes from the first element to the last. */
static bool is_aligned(const mica_tensor *tensor, int64_t size) {
  const mica_shape shape = mica_tensor_shape(tensor);
  const int64_t *stride = mica_tensor_strides(tensor);
  bool aligned = size % PIECE == 0 && stride[3] == 1 && mica__tensor_first(tensor) % PIECE == 0;
  for (int k = 0; k < 3; k++) aligned = aligned && (shape.dim[k] <= 1 || stride[k] % PIECE == 0);
  return aligned;
}

static const char *unsuited(const mica__attention *a) {
  const mica__attention_sizes s = a->size;
  const mica_tensor *y = a->exec->outputs[MICA__ATTENTION_Y];
  if (a->dtype != MICA_F16 && a->dtype != MICA_BF16) return "matrix units take heads of 16 bits";
  if (s.d > MOST_HEAD || s.e > MOST_HEAD) return "the heads are larger than 128";
  if (s.d == 0 || s.e == 0 || s.tk == 0) return "there is nothing to multiply";
  if (!(mica__attention_scale(a->attrs, s.d) > 0)) return "the scale is not positive";
  const bool aligned = is_aligned(a->in[MICA__ATTENTION_OF_Q], s.d) && is_aligned(a->in[MICA__ATTENTION_OF_K], s.d) &&
                       is_aligned(a->in[MICA__ATTENTION_OF_V], s.e) && mica__tensor_first(y) % PIECE == 0;
  return aligned ? NULL : "the heads are not made of pieces of 16 bytes";
}

static const char *unable(const mica__attention *a) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(a->exec->queue));
  const char *reason = unsuited(a);
  if (!reason) reason = mica__mma_missing(&mica__attention_mma_kernel, a->dtype, device);
  return reason || a->size.tq >= FEWEST_QUERIES ? reason : "the queries are fewer than an instruction's";
}

static void set_values(const mica__attention *a, const mica__variant *variant, int32_t *values) {
  const int64_t size = a->size.d > a->size.e ? a->size.d : a->size.e;
  mica__kernel_values(&mica__attention_mma_kernel, variant, values);
  mica__attention_set(&mica__attention_mma_kernel, values, a);
  mica__kernel_set(&mica__attention_mma_kernel, values, "HEAD", (int32_t)((size + 31) / 32 * 32));
}

/* The largest tiles that there is room for, unless they are mostly outside or too few for the device's units. */
static const mica__variant *choose(const mica__attention *a, int32_t *values) {
  const mica__kernel_desc *desc = &mica__attention_mma_kernel;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(a->exec->queue));
  const mica__variant *chosen = a->variant;
  for (int v = 0; v < desc->variant_count && !a->variant; v++) {
    set_values(a, &desc->variants[v], values);
    if (!mica__variant_fits(desc, &desc->variants[v], device) || !has_room(values, device)) continue;
    chosen = &desc->variants[v];
    const int64_t rows = tile_of(values).rows, tiles = (a->size.tq + rows - 1) / rows;
    if (a->size.tq > rows / 2 && tiles * a->size.h * a->size.b >= (int64_t)device->compute_units) break;
  }
  if (chosen) set_values(a, chosen, values);
  return chosen && has_room(values, device) ? chosen : NULL;
}

static mica_status launch(const mica__attention *a, const int32_t *values) {
  const mica__attention_sizes s = a->size;
  const tile t = tile_of(values);
  const size_t group[] = {t.threads, 1, 1};
  const int64_t range[] = {(s.tq + t.rows - 1) / t.rows * (int64_t)t.threads, s.h, s.b};
  mica__launch launch;
  MICA_TRY(mica__attention_begin(a, &mica__attention_mma_kernel, values, &launch));
  for (int k = MICA__ATTENTION_OF_Q; k <= MICA__ATTENTION_OF_V; k++) mica__attention_tensor(&launch, a->in[k]);
  mica__launch_tensor(&launch, a->exec->outputs[MICA__ATTENTION_Y]);
  mica__launch_optional(&launch, a->exec->outputs[MICA__ATTENTION_LOGSUM]);
  mica__launch_range3(&launch, range, group);
  mica__launch_cost(&launch, mica__attention_cost(a, 1, 1), 0);
  return mica__queue_submit(a->exec->queue, &launch);
}

static const mica__variant *untried(const mica__attention *a) {
  int32_t values[MICA__MAX_PARAMS];
  const mica__variant *variant = unsuited(a) ? NULL : choose(a, values);
  return variant && variant->has_instruction ? variant : NULL;
}

static mica_status forward(const mica__attention *a) {
  int32_t values[MICA__MAX_PARAMS];
  if (unsuited(a)) return mica__fail(MICA_E_UNSUPPORTED, "attention_mma: %s", unsuited(a));
  const mica__variant *variant = choose(a, values);
  if (!variant) return mica__fail(MICA_E_UNSUPPORTED, "attention_mma: no variant has room for the heads");
  MICA_TRY(mica__mma_check(mica__queue_engine(a->exec->queue), &mica__attention_mma_kernel, variant, a->dtype));
  return launch(a, values);
}

const mica__attention_way mica__attention_mma = {.name = "mma",
                                                 .classes = MICA__ON_GPU,
                                                 .rounds_weights = true,
                                                 .unable = unable,
                                                 .untried = untried,
                                                 .forward = forward};
