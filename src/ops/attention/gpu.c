/* Attention and its gradients by tiles in local memory (cl/attention/gpu/forward.cl, cl/attention/gpu/grad.cl). */
#include "ops/attention/attention.h"

#include "base/error.h"
#include "cl/attention/fields.clh"
#include "ops/select/tile.h"
#include "runtime/fields.h"

#define TILE_PARAMS                                                                                                    \
  MICA__ATTENTION_PARAMS_OF(MICA__ATTENTION_TILE_TYPES),                                                               \
      MICA__INT("WG_M", "work-items along the rows of a tile", 4, 8, 16),                                              \
      MICA__INT("WG_N", "work-items along its columns", 4, 8, 16),                                                     \
      MICA__INT("DEPTH", "of the tiles that are read at once", 8, 16, 32),                                             \
      MICA__INT("REQD_SUBGROUP", "work-items of an Intel thread, 0 for the compiler's choice", 0, 8, 16),              \
      MICA__CASE("CHUNKS", "tiles of columns of the result that a group sums up", 1, 2)
static const mica__kernel_param params[] = {TILE_PARAMS};
static const mica__kernel_param grad_params[] = {
    TILE_PARAMS, MICA__CASE("OF_KEYS", "1: the gradients of keys and values, 0: of queries", 0, 1)};

#define VALUES(...) .classes = MICA__ON_GPU, .values = {MICA__ATTENTION_VALUES, __VA_ARGS__}
#define INTEL .vendors = 1u << MICA_VENDOR_INTEL
#define NOT_INTEL .vendors = ~(1u << MICA_VENDOR_INTEL)
static const mica__variant variants[] = {
    {.name = "gpu.64x64", NOT_INTEL, VALUES(16, 16, 16, 0, 1)},
    {.name = "intel.64x64", INTEL, VALUES(16, 16, 16, 8, 1)},
    {.name = "gpu.32x32", NOT_INTEL, VALUES(8, 8, 16, 0, 1)},
    {.name = "intel.32x32", INTEL, VALUES(8, 8, 16, 8, 1)},
};
static const mica__variant grad_variants[] = {
    {.name = "gpu.64x64", NOT_INTEL, VALUES(16, 16, 16, 0, 1, 1)},
    {.name = "intel.64x64", INTEL, VALUES(16, 16, 16, 8, 1, 1)},
    {.name = "gpu.32x32", NOT_INTEL, VALUES(8, 8, 16, 0, 1, 1)},
    {.name = "intel.32x32", INTEL, VALUES(8, 8, 16, 8, 1, 1)},
};

static int64_t side(const mica__kernel_desc *desc, const int32_t *values, const char *macro) {
  return 4 * (int64_t)mica__kernel_value(desc, values, macro);
}

static bool tiles_have_room(const mica__kernel_desc *desc, const int32_t *values, const mica_device_info *device) {
  int64_t m = side(desc, values, "WG_M"), n = side(desc, values, "WG_N"),
          depth = mica__kernel_value(desc, values, "DEPTH");
  int64_t elements = depth * (m + 4) + depth * (n + 4) + n * (m + 4) + n / 4 * m;
  return (uint64_t)elements * sizeof(float) <= device->local_bytes && (size_t)(m * n / 16) <= device->max_group;
}
static bool has_room(const int32_t *values, const mica_device_info *device) {
  return tiles_have_room(&mica__attention_gpu_kernel, values, device);
}
static bool grad_has_room(const int32_t *values, const mica_device_info *device) {
  return tiles_have_room(&mica__attention_gpu_grad_kernel, values, device);
}

const mica__kernel_desc mica__attention_gpu_kernel = {
    MICA__KERNEL("attention_gpu", "attention/gpu/forward.cl", params, variants), .has_room = has_room};
const mica__kernel_desc mica__attention_gpu_grad_kernel = {
    MICA__KERNEL("attention_gpu_grad", "attention/gpu/grad.cl", grad_params, grad_variants), .has_room = grad_has_room};

/* Chooses the largest tiles that the device has room for and that the rows fill by more than half. If there are none,
 * chooses the smallest tiles that it has room for. Returns false if it has room for no tiles. */
static bool choose(const mica__task *task, const mica__kernel_desc *desc, int64_t rows, int64_t columns,
                   int32_t *values) {
  const mica__attention *a = task->problem;
  const mica_device_info *device = task->device;
  bool found = false, is_checked = mica__kernel_class(device) != MICA__ON_GPU;
  for (int v = 0; v < desc->variant_count; v++) {
    int32_t tried[MICA__MAX_PARAMS];
    const mica__variant *variant = &desc->variants[v];
    if (task->variant && task->variant != variant) continue;
    mica__kernel_values(desc, variant, tried);
    mica__attention_set(desc, tried, a);
    /* On CPUs, where these kernels are only checked, every variant fits. */
    bool fits = mica__variant_fits(desc, variant, device) || is_checked;
    if (!fits || !desc->has_room(tried, device)) continue;
    mica__kernel_values(desc, variant, values);
    found = true;
    if (rows > side(desc, tried, "WG_M") / 2) break;
  }
  if (!found) return false;
  mica__attention_set(desc, values, a);
  /* Two chunks of sums take too many registers per thread on Intel's GPUs. */
  bool two = columns > side(desc, values, "WG_N") && !mica__kernel_value(desc, values, "REQD_SUBGROUP");
  mica__kernel_set(desc, values, "CHUNKS", two ? 2 : 1);
  mica__tile_set_subgroup(desc, values, device);
  return true;
}

static const mica__kernel_desc *kernel_of(const mica__attention *a) {
  return a->of_gradient ? &mica__attention_gpu_grad_kernel : &mica__attention_gpu_kernel;
}

static const char *decline(const mica__task *task) {
  const mica__attention *a = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  const char *reason = mica__attention_declines(task, MICA__ON_GPU, "gpu");
  if (reason) return reason;
  if (a->dtype == MICA_F64) return "f64 needs too many registers";
  return choose(task, kernel_of(a), 1, 1, values)
             ? NULL
             : "its tiles need more local memory or larger work-groups than the device has";
}

static mica_status no_variant(const mica__kernel_desc *desc) {
  return mica__fail(MICA_E_UNSUPPORTED,
                    "%s: the kernel's tiles need more local memory or larger work-groups than the device has",
                    desc->name);
}

static int64_t parts(int64_t n, int64_t size) { return n / size + (n % size != 0); }

/* Sets a range of groups (tiles of rows, heads, batch times parts of the columns). */
static void set_range(const mica__attention *a, const mica__kernel_desc *desc, const int32_t *values, int64_t rows,
                      int64_t heads, int64_t splits, mica__launch *launch) {
  int64_t m = side(desc, values, "WG_M"), n = side(desc, values, "WG_N");
  const size_t group[] = {(size_t)(m * n / 16), 1, 1};
  const int64_t range[] = {parts(rows, m) * (int64_t)group[0], heads, a->size.b * splits};
  mica__launch_range3(launch, range, group);
}

static int64_t splits_of(const mica__kernel_desc *desc, const int32_t *values, int64_t columns) {
  int64_t splits = parts(columns, side(desc, values, "WG_N") * mica__kernel_value(desc, values, "CHUNKS"));
  return splits > 0 ? splits : 1;
}

MICA__PACKED(split_fields, SPLIT_FIELDS);
MICA__PACKED(grad_results, GRAD_RESULTS);

static mica_status forward(mica_queue *queue, const mica__task *task) {
  const mica__attention *a = task->problem;
  const mica__kernel_desc *desc = &mica__attention_gpu_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  (void)queue;
  if (!choose(task, desc, a->size.tq, a->size.e, values)) return no_variant(desc);
  MICA_TRY(mica__attention_begin(a, desc, values, &launch));
  int64_t splits = splits_of(desc, values, a->size.e);
  mica__attention_push_forward(a, &launch);
  split_fields_push(&launch, &(split_fields){.splits = splits});
  set_range(a, desc, values, a->size.tq, a->size.h, splits, &launch);
  mica__launch_cost(&launch, mica__attention_cost(a, 1, 1), 0);
  return mica__queue_submit(a->exec->queue, &launch);
}

static mica_status launch_grad(const mica__task *task, const mica_tensor *delta, bool of_keys) {
  const mica__kernel_desc *desc = &mica__attention_gpu_grad_kernel;
  const mica__attention *a = task->problem;
  const mica__attention_sizes s = a->size;
  mica_tensor *const *out = a->exec->outputs, *dx = of_keys ? out[MICA__ATTENTION_DK] : out[MICA__ATTENTION_DQ],
                     *dv = of_keys ? out[MICA__ATTENTION_DV] : NULL;
  int64_t rows = of_keys ? s.tk : s.tq, columns = of_keys && s.e > s.d ? s.e : s.d;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if ((!dx && !dv) || rows * s.b * s.g == 0) return MICA_OK;
  if (!choose(task, desc, rows, columns, values)) return no_variant(desc);
  mica__kernel_set(desc, values, "OF_KEYS", of_keys);
  MICA_TRY(mica__attention_begin(a, desc, values, &launch));
  int64_t splits = splits_of(desc, values, columns);
  mica__attention_push_grad(a, delta, &launch);
  grad_results_push(&launch, &(grad_results){.DX = dx, .DV = dv});
  split_fields_push(&launch, &(split_fields){.splits = splits});
  set_range(a, desc, values, rows, of_keys ? s.g : s.h, splits, &launch);
  mica__launch_cost(&launch, of_keys ? mica__attention_cost(a, 2, 2) : mica__attention_cost(a, 2, 1), 0);
  return mica__queue_submit(a->exec->queue, &launch);
}

static mica_status backward(mica_queue *queue, const mica__task *task) {
  mica_tensor *delta = NULL;
  (void)queue;
  MICA_TRY(mica__attention_delta(task->problem, &delta));
  mica_status status = launch_grad(task, delta, true);
  if (status == MICA_OK) status = launch_grad(task, delta, false);
  mica_tensor_destroy(delta);
  return status;
}

const mica__impl mica__attention_gpu = {
    .name = "attention_gpu", .kernel = &mica__attention_gpu_kernel, .decline = decline, .launch = forward};
const mica__impl mica__attention_gpu_grad = {
    .name = "attention_gpu_grad", .kernel = &mica__attention_gpu_grad_kernel, .decline = decline, .launch = backward};
