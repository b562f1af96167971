/* All three passes on GPUs (cl/conv/gpu/implicit_gemm.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/conv.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES, MICA_F64),
    MICA__CASE("PASS", "0 forward, 1 backward data, 2 backward filter", 0, 1, 2),
    MICA__CASE("TAPS", "height and width of the filter, if both are this; 0 any", 0, 1, 3),
    MICA__INT("WG_M", "work-items along the rows of a tile", 8, 16),
    MICA__INT("WG_N", "work-items along its columns", 8, 16, 32),
    MICA__INT("MICRO", "rows and columns that a work-item computes", 2, 4, 8),
    MICA__INT("TILE_K", "depth of a tile", 8, 16),
    MICA__INT("REQD_SUBGROUP", "work-items of an Intel thread, 0 for the compiler's choice", 0, 8, 16),
};
/* Large tiles first: the first that gives every unit two groups is taken, else the last. */
#define TILE(label, reqd_subgroup, vendor_bits, ...)                                                                   \
  {                                                                                                                    \
    .name = label, .classes = MICA__ON_GPU, .vendors = vendor_bits,                                                    \
    .features = reqd_subgroup ? MICA_FEATURE_INTEL_SUBGROUPS : 0,                                                      \
    .values = {MICA__CONV_VALUES, 0, 0, __VA_ARGS__, reqd_subgroup},                                                   \
  }
static const mica__variant variants[] = {
    TILE("intel.64x64", 16, 1u << MICA_VENDOR_INTEL, 16, 16, 4, 16),
    TILE("gpu.64x64", 0, ~(1u << MICA_VENDOR_INTEL), 16, 16, 4, 16),
    TILE("intel.32x32", 16, 1u << MICA_VENDOR_INTEL, 8, 8, 4, 8),
    TILE("gpu.32x32", 0, ~(1u << MICA_VENDOR_INTEL), 8, 8, 4, 8),
};
const mica__kernel_desc mica__conv_gpu_implicit_gemm_kernel = {
    MICA__KERNEL("conv_gpu_implicit_gemm", "conv/gpu/implicit_gemm.cl", params, variants)};

/* The largest number of output positions and of products in a sum: a tile that begins below it still ends within an
 * int. */
#define MOST_POSITIONS (INT32_MAX - 65536)

/* Rows and columns of the product of a group. */
typedef struct product {
  int64_t rows, columns, depth;
} product;

static product product_of(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  int64_t taps = mica__product3(d->filter), outputs = d->n * mica__product3(d->out);
  int64_t inputs = d->n * mica__product3(d->in);
  switch (conv->pass) {
  case MICA__CONV_FWD: return (product){d->k, outputs, d->c * taps};
  case MICA__CONV_BWD_DATA: return (product){d->c, inputs, d->k * taps};
  default: return (product){d->k, d->c * taps, outputs};
  }
}

static const char *unable(const void *problem) {
  product p = product_of(problem);
  bool large = p.columns > MOST_POSITIONS || p.depth > MOST_POSITIONS;
  return large ? "its positions are not numbered by an int" : NULL;
}

static const char *decline(const mica__task *task) { return mica__needs_gpu(task->device); }

static int32_t value(const mica__variant *variant, const char *macro) {
  return mica__kernel_value(&mica__conv_gpu_implicit_gemm_kernel, variant->values, macro);
}

static int64_t tiles_of(const product *p, const mica__variant *variant) {
  int64_t micro = value(variant, "MICRO");
  return mica__ceil_div(p->rows, value(variant, "WG_M") * micro) *
         mica__ceil_div(p->columns, value(variant, "WG_N") * micro);
}

static const mica__variant *choose_variant(const mica__conv *conv, const product *p, const mica_device_info *device) {
  const mica__variant *found = &variants[mica__conv_gpu_implicit_gemm_kernel.variant_count - 1];
  int64_t wanted = 2 * (int64_t)device->compute_units;
  for (int at = 0; at < mica__conv_gpu_implicit_gemm_kernel.variant_count; at++) {
    if (!mica__variant_fits(&mica__conv_gpu_implicit_gemm_kernel, &variants[at], device)) continue;
    found = &variants[at];
    if (tiles_of(p, found) * conv->dims.groups >= wanted) break;
  }
  return found;
}

static mica_status launch_gpu(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__variant *variant = task->variant;
  const mica__kernel_desc *desc = &mica__conv_gpu_implicit_gemm_kernel;
  const int64_t *filter = conv->dims.filter;
  product p = product_of(conv);
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!variant) variant = choose_variant(conv, &p, task->device);
  bool known = filter[0] == 1 && filter[1] == filter[2] && (filter[1] == 1 || filter[1] == 3);
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "PASS", (int32_t)conv->pass);
  mica__kernel_set(desc, values, "TAPS", known ? (int32_t)filter[1] : 0);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_dims(&launch, &conv->dims);
  mica__launch_tensor(&launch, conv->pass == MICA__CONV_BWD_FILTER ? conv->y : conv->w);
  mica__launch_tensor(&launch, conv->pass == MICA__CONV_BWD_DATA ? conv->y : conv->x);
  size_t threads = (size_t)value(variant, "WG_M") * (size_t)value(variant, "WG_N");
  const int64_t items[] = {tiles_of(&p, variant) * (int64_t)threads, conv->dims.groups, 1};
  mica__launch_range3(&launch, items, (size_t[]){threads, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

const mica__impl mica__conv_gpu_implicit_gemm = {.name = "conv_gpu_implicit_gemm",
                                                 .kernel = &mica__conv_gpu_implicit_gemm_kernel,
                                                 .unable = unable,
                                                 .decline = decline,
                                                 .launch = launch_gpu};
