/* Attention and its gradients on matrix units of GPUs (cl/attention/mma/forward.cl, cl/attention/mma/grad.cl), in f16
 * and bf16. */
#include "ops/attention/attention.h"

#include "base/error.h"
#include "cl/attention/fields.clh"
#include "ops/select/mma.h"
#include "runtime/build_list.h"
#include "runtime/fields.h"
#include "runtime/tensor.h"

#define MOST_HEAD 128
#define FEWEST_QUERIES 16
#define PIECE 8 /* 16-bit elements in 16 bytes */

#define UNIT_PARAMS                                                                                                    \
  MICA__ATTENTION_PARAMS_OF(MICA_F16, MICA_BF16),                                                                      \
      MICA__CASE("MMA_UNIT", "0 NVIDIA's mma.sync, 1 AMD's MFMA, 2 AMD's WMMA, 3 and 4 Intel's DPAS of 8 and 16", 0,   \
                 1, 2, 3, 4),                                                                                          \
      MICA__EMULATED("MMA_NATIVE", "0 an emulation, 1 the unit's instructions", 0, 1),                                 \
      MICA__INT("WARPS_M", "warps of a group", 1, 2, 4, 8), MICA__INT("WARP_M", "rows of a warp", 8, 16, 32),          \
      MICA__INT("WARP_N", "columns of a step", 16, 32, 64),                                                            \
      MICA__CASE("HEAD", "elements that a head has room for", 32, 64, 96, 128)
static const mica__kernel_param params[] = {UNIT_PARAMS};
static const mica__kernel_param grad_params[] = {
    UNIT_PARAMS, MICA__CASE("OF_KEYS", "1: the gradients of keys and values, 0: of queries", 0, 1)};

/* Ordered by unit, and for each unit from the largest tiles to the smallest; the emulations come last. On NVIDIA, 32
 * queries per warp would halve the reads of k and v from local memory, but spill registers (ptxas 13.0, heads of 64, a
 * mask). */
#define HEADS_OF MICA_F16, 0, MICA_F16, 0, 0, MICA_I32, 0
#define VARIANT(label, predicate, ...) MICA__MMA_VARIANT(label, predicate, HEADS_OF, __VA_ARGS__)
#define EMULATION(label, ...) MICA__MMA_EMULATION(label, HEADS_OF, __VA_ARGS__)
static const mica__variant variants[] = {
    VARIANT("ptx64x64", mica__mma_has_ptx, MICA__MMA_PTX, 1, 4, 16, 64, 64),
    VARIANT("ptx64x32", mica__mma_has_ptx, MICA__MMA_PTX, 1, 4, 16, 32, 64),
    VARIANT("mfma128x64", mica__gpu_has_mfma, MICA__MMA_MFMA, 1, 4, 32, 64, 64),
    VARIANT("mfma64x32", mica__gpu_has_mfma, MICA__MMA_MFMA, 1, 2, 32, 32, 64),
    VARIANT("wmma64x32", mica__gpu_has_wmma, MICA__MMA_WMMA, 1, 4, 16, 32, 64),
    VARIANT("wmma32x32", mica__gpu_has_wmma, MICA__MMA_WMMA, 1, 2, 16, 32, 64),
    VARIANT("dpas8.64x32", mica__gpu_has_dpas8, MICA__MMA_DPAS8, 1, 8, 8, 32, 32),
    VARIANT("dpas16.64x32", mica__gpu_has_dpas16, MICA__MMA_DPAS16, 1, 8, 8, 32, 64),
    EMULATION("emulated_mfma", MICA__MMA_MFMA, 0, 1, 32, 32, 64),
    EMULATION("emulated_wmma", MICA__MMA_WMMA, 0, 2, 16, 32, 64),
    EMULATION("emulated_dpas8", MICA__MMA_DPAS8, 0, 2, 8, 32, 64),
    EMULATION("emulated_dpas16", MICA__MMA_DPAS16, 0, 2, 8, 32, 64),
    EMULATION("emulation", MICA__MMA_PTX, 0, 2, 16, 32, 64),
};
/* No variants for Intel's units: the gradients read columns in two layouts, and local memory has room for only one. */
static const mica__variant grad_variants[] = {
    VARIANT("ptx64x32", mica__mma_has_ptx, MICA__MMA_PTX, 1, 4, 16, 32, 64, 1),
    VARIANT("ptx64x16", mica__mma_has_ptx, MICA__MMA_PTX, 1, 4, 16, 16, 64, 1),
    VARIANT("mfma128x32", mica__gpu_has_mfma, MICA__MMA_MFMA, 1, 4, 32, 32, 64, 1),
    VARIANT("mfma64x32", mica__gpu_has_mfma, MICA__MMA_MFMA, 1, 2, 32, 32, 64, 1),
    VARIANT("wmma64x16", mica__gpu_has_wmma, MICA__MMA_WMMA, 1, 4, 16, 16, 64, 1),
    VARIANT("wmma32x16", mica__gpu_has_wmma, MICA__MMA_WMMA, 1, 2, 16, 16, 64, 1),
    EMULATION("emulated_mfma", MICA__MMA_MFMA, 0, 1, 32, 32, 64, 1),
    EMULATION("emulated_wmma", MICA__MMA_WMMA, 0, 2, 16, 16, 64, 1),
    EMULATION("emulation", MICA__MMA_PTX, 0, 2, 16, 16, 64, 1),
};
static bool has_room(const int32_t *values, const mica_device_info *device);
static bool grad_has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__attention_mma_kernel = {
    MICA__KERNEL("attention_mma", "attention/mma/forward.cl", params, variants), .has_room = has_room};
const mica__kernel_desc mica__attention_mma_grad_kernel = {
    MICA__KERNEL("attention_mma_grad", "attention/mma/grad.cl", grad_params, grad_variants), .has_room = grad_has_room};

/* The sizes of a tile, read from the values of a kernel's parameters. */
typedef struct tile {
  int32_t unit;
  bool native;
  int64_t warps, warp, columns, head; /* warps of a group, rows of a warp, columns of a step, elements of a head */
  int64_t rows;                       /* rows of a group */
  size_t threads;
} tile;
static tile tile_of(const mica__kernel_desc *desc, const int32_t *values) {
  tile t = {.unit = mica__kernel_value(desc, values, "MMA_UNIT"),
            .native = mica__kernel_value(desc, values, "MMA_NATIVE") == 1,
            .warps = mica__kernel_value(desc, values, "WARPS_M"),
            .warp = mica__kernel_value(desc, values, "WARP_M"),
            .columns = mica__kernel_value(desc, values, "WARP_N"),
            .head = mica__kernel_value(desc, values, "HEAD")};
  t.rows = t.warps * t.warp;
  t.threads = (size_t)(t.warps * mica__mma_lanes(t.unit));
  return t;
}

/* With heads above 64 elements, a work-item on AMD's WMMA units needs more than its 256 registers (clang 19). */
static bool is_too_large(const tile *t) { return t->unit == MICA__MMA_WMMA && t->native && t->head > 64; }

static bool is_dpas(const tile *t) { return t->unit == MICA__MMA_DPAS8 || t->unit == MICA__MMA_DPAS16; }

/* True if the device can run the tile. elements: how many 16-bit elements the kernel keeps in local memory. */
static bool fits(const tile *t, int64_t elements, const mica_device_info *device) {
  return !is_too_large(t) && t->columns * t->head / PIECE % (int64_t)t->threads == 0 &&
         t->threads <= device->max_group && (uint64_t)elements * sizeof(uint16_t) <= device->local_bytes;
}

/* Returns true if the tile fits the device's limits (`fits`), and if its head and columns are of a size for which
 * compilers found enough registers, with any mask and dropout. Sizes are smaller for Intel's units, whose threads have
 * few registers. Emulations need no such limit. */
static bool has_room(const int32_t *values, const mica_device_info *device) {
  const tile t = tile_of(&mica__attention_mma_kernel, values);
  const int64_t wide = t.head > t.columns ? t.head : t.columns,
                rows = t.rows * (is_dpas(&t) ? t.head + t.columns : wide);
  const bool registers = is_dpas(&t) ? t.head <= 4 * mica__mma_lanes(t.unit) : t.head <= 64 || t.columns <= 32;
  return (registers || !t.native) && fits(&t, rows + 2 * t.columns * t.head, device);
}
static bool grad_has_room(const int32_t *values, const mica_device_info *device) {
  const tile t = tile_of(&mica__attention_mma_grad_kernel, values);
  const bool ptx = t.unit == MICA__MMA_PTX;
  const int64_t tiles = ptx && t.head <= 64 ? 4 : 2, weights = ptx ? 0 : t.rows * t.columns;
  const bool registers = !ptx || t.head <= 64 || t.columns <= 16;
  return (registers || !t.native) && fits(&t, 2 * t.rows * t.head + tiles * t.columns * t.head + weights, device);
}

/* True if the rows of the tensor are whole, aligned pieces of 16 bytes. */
static bool is_aligned(const mica_tensor *tensor, int64_t size) {
  const mica_shape shape = mica_tensor_shape(tensor);
  const int64_t *stride = mica_tensor_strides(tensor);
  bool aligned = size % PIECE == 0 && stride[3] == 1 && mica__tensor_first(tensor) % PIECE == 0;
  for (int k = 0; k < 3; k++) aligned = aligned && (shape.dim[k] <= 1 || stride[k] % PIECE == 0);
  return aligned;
}

static bool are_aligned(const mica__attention *a) {
  const int results = a->of_gradient ? MICA__ATTENTION_GRAD_RESULTS : 1; /* logsum is f32 and needs no alignment */
  bool aligned = is_aligned(a->in[MICA__ATTENTION_OF_Q], a->size.d) &&
                 is_aligned(a->in[MICA__ATTENTION_OF_K], a->size.d) &&
                 is_aligned(a->in[MICA__ATTENTION_OF_V], a->size.e);
  if (a->of_gradient) aligned = aligned && is_aligned(a->in[MICA__ATTENTION_OF_DY], a->size.e);
  for (int k = 0; k < results; k++) {
    const mica_tensor *result = a->exec->outputs[k];
    aligned = aligned && (!result || mica__tensor_first(result) % PIECE == 0);
  }
  return aligned;
}

static const char *unsuited(const mica__attention *a) {
  const mica__attention_sizes s = a->size;
  if (a->dtype != MICA_F16 && a->dtype != MICA_BF16) return "the heads must be f16 or bf16 for matrix units";
  if (s.d > MOST_HEAD || s.e > MOST_HEAD) return "the heads are larger than 128";
  if (s.d == 0 || s.e == 0 || s.tq == 0 || s.tk == 0) return "heads or positions have size 0";
  if (!(mica__attention_scale(a->attrs, s.d) > 0)) return "the scale is not positive";
  return are_aligned(a) ? NULL : "the rows of heads must be multiples of 16 bytes";
}

static const mica__kernel_desc *kernel_of(const mica__attention *a) {
  return a->of_gradient ? &mica__attention_mma_grad_kernel : &mica__attention_mma_kernel;
}

static void set_values(const mica__attention *a, const mica__variant *variant, int32_t *values) {
  const int64_t size = a->size.d > a->size.e ? a->size.d : a->size.e;
  mica__kernel_values(kernel_of(a), variant, values);
  mica__attention_set(kernel_of(a), values, a);
  /* In the gradients each work-item copies the same number of pieces of a step's tile. Heads of 96 cannot be divided
   * like that, so they use the tiles for 128. */
  const int64_t head = a->of_gradient && size > 64 ? MOST_HEAD : (size + 31) / 32 * 32;
  mica__kernel_set(kernel_of(a), values, "HEAD", (int32_t)head);
}

/* Chooses the largest tiles that fit, that the queries fill by more than half, and that give each compute unit at least
 * one tile. If no tiles do all of this, chooses the smallest that fit. If the task has a variant, no other is
 * considered. Returns NULL if none fits. */
static const mica__variant *choose(const mica__task *task, int32_t *values) {
  const mica__attention *a = task->problem;
  const mica__kernel_desc *desc = kernel_of(a);
  const mica__variant *chosen = task->variant;
  for (int v = 0; v < desc->variant_count && !task->variant; v++) {
    set_values(a, &desc->variants[v], values);
    if (!mica__variant_fits(desc, &desc->variants[v], task->device) || !desc->has_room(values, task->device)) continue;
    chosen = &desc->variants[v];
    const int64_t rows = tile_of(desc, values).rows, tiles = (a->size.tq + rows - 1) / rows;
    if (a->size.tq > rows / 2 && tiles * a->size.h * a->size.b >= (int64_t)task->device->compute_units) break;
  }
  if (chosen) set_values(a, chosen, values);
  return chosen && desc->has_room(values, task->device) ? chosen : NULL;
}

static const char *decline(const mica__task *task) {
  const mica__attention *a = task->problem;
  const mica__kernel_desc *desc = kernel_of(a);
  int32_t values[MICA__MAX_PARAMS];
  const char *reason = mica__attention_declines(task, MICA__ON_GPU, "mma");
  if (!reason) reason = unsuited(a);
  if (!reason) reason = mica__mma_missing(desc, a->dtype, task->device, task->engine);
  if (reason) return reason;
  if (a->size.tq < FEWEST_QUERIES) return "there are fewer queries than an instruction has rows";
  const mica__variant *variant = choose(task, values);
  return variant ? mica__mma_failed(task->device, task->engine, desc, variant, a->dtype)
                 : "none of its tile sizes has room for the heads in local memory";
}

/* Chooses a variant and sets its values. Fails if none suits the problem, or if the variant's trial on this device
 * gave a wrong result. A dry run has no kernels, so its trial comes later, when launches are recorded. */
static mica_status prepare(const mica__task *task, int32_t *values) {
  const mica__attention *a = task->problem;
  const mica__kernel_desc *desc = kernel_of(a);
  if (unsuited(a)) return mica__fail(MICA_E_UNSUPPORTED, "%s: %s", desc->name, unsuited(a));
  const mica__variant *variant = choose(task, values);
  if (!variant)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: none of the kernel's tile sizes has room for the heads in local memory",
                      desc->name);
  if (variant->has_instruction && a->trial && !mica__build_list_open())
    MICA_TRY(mica__mma_prove_by(task->engine, desc, variant, a->dtype, a->trial));
  return mica__mma_check(task->engine, desc, variant, a->dtype);
}

/* Sets a range of groups (tiles of rows, heads, batch). */
static void set_range(const mica__attention *a, const int32_t *values, int64_t rows, int64_t heads,
                      mica__launch *launch) {
  const tile t = tile_of(kernel_of(a), values);
  const size_t group[] = {t.threads, 1, 1};
  const int64_t range[] = {(rows + t.rows - 1) / t.rows * (int64_t)t.threads, heads, a->size.b};
  mica__launch_range3(launch, range, group);
}

static mica_status forward(mica_queue *queue, const mica__task *task) {
  const mica__attention *a = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  (void)queue;
  MICA_TRY(prepare(task, values));
  MICA_TRY(mica__attention_begin(a, kernel_of(a), values, &launch));
  mica__attention_push_forward(a, &launch);
  set_range(a, values, a->size.tq, a->size.h, &launch);
  mica__launch_cost(&launch, mica__attention_cost(a, 1, 1), 0);
  return mica__queue_submit(a->exec->queue, &launch);
}

MICA__PACKED(grad_results, GRAD_RESULTS);

static mica_status launch_grad(const mica__attention *a, int32_t *values, const mica_tensor *delta, bool of_keys) {
  const mica__attention_sizes s = a->size;
  mica_tensor *const *out = a->exec->outputs, *dx = out[of_keys ? MICA__ATTENTION_DK : MICA__ATTENTION_DQ],
                     *dv = of_keys ? out[MICA__ATTENTION_DV] : NULL;
  mica__launch launch;
  if (!dx && !dv) return MICA_OK;
  mica__kernel_set(kernel_of(a), values, "OF_KEYS", of_keys);
  MICA_TRY(mica__attention_begin(a, kernel_of(a), values, &launch));
  mica__attention_push_grad(a, delta, &launch);
  grad_results_push(&launch, &(grad_results){.DX = dx, .DV = dv});
  set_range(a, values, of_keys ? s.tk : s.tq, of_keys ? s.g : s.h, &launch);
  mica__launch_cost(&launch, of_keys ? mica__attention_cost(a, 2, 2) : mica__attention_cost(a, 2, 1), 0);
  return mica__queue_submit(a->exec->queue, &launch);
}

static mica_status backward(mica_queue *queue, const mica__task *task) {
  const mica__attention *a = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  mica_tensor *delta = NULL;
  (void)queue;
  MICA_TRY(prepare(task, values));
  MICA_TRY(mica__attention_delta(a, &delta));
  mica_status status = launch_grad(a, values, delta, true);
  if (status == MICA_OK) status = launch_grad(a, values, delta, false);
  mica_tensor_destroy(delta);
  return status;
}

const mica__impl mica__attention_mma = {
    .name = "attention_mma", .kernel = &mica__attention_mma_kernel, .decline = decline, .launch = forward};
const mica__impl mica__attention_mma_grad = {
    .name = "attention_mma_grad", .kernel = &mica__attention_mma_grad_kernel, .decline = decline, .launch = backward};
