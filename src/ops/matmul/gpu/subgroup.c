/* Products whose operands are shared in the registers of subgroups (cl/matmul/gpu/subgroup.cl), for Intel GPUs. */
#include "base/error.h"
#include "ops/matmul/gemm.h"

static const mica__kernel_param params[] = {
    MICA__GEMM_PARAMS(MICA_F32, MICA_F16, MICA_BF16),
    MICA__CASE("MICA_SUBGROUPS", "0 an emulation, 2 cl_intel_subgroups", 0, 2),
    MICA__INT("SUBGROUP", "work-items of a subgroup", 8, 16, 32, 64),
    MICA__INT("SUBGROUPS", "subgroups of a work-group", 1, 2, 4, 8),
    MICA__INT("MICRO_M", "rows a subgroup computes", 4, 8, 16),
    MICA__INT("MICRO_N", "columns a work-item computes", 1, 2, 4),
};
/* One variant for each smallest subgroup size. 8 work-items share the 4 KiB of a thread's registers, and each has 32
 * sums; 16 share 8 KiB, and each has 16 sums. No device chooses the emulation; only checks run it. */
static const mica__variant variants[] = {
    {.name = "intel.8",
     .classes = MICA__ON_GPU,
     .features = MICA_FEATURE_INTEL_SUBGROUPS,
     .values = {MICA__GEMM_VALUES, 2, 8, 4, 8, 4}},
    {.name = "intel.16",
     .classes = MICA__ON_GPU,
     .features = MICA_FEATURE_INTEL_SUBGROUPS,
     .values = {MICA__GEMM_VALUES, 2, 16, 4, 8, 2}},
    {.name = "emulation", .values = {MICA__GEMM_VALUES, 0, 8, 2, 8, 2}},
};
const mica__kernel_desc mica__gemm_subgroup_kernel = {
    MICA__KERNEL("gemm_subgroup", "matmul/gpu/subgroup.cl", params, variants)};

static int32_t value(const int32_t *values, const char *macro) {
  return mica__kernel_value(&mica__gemm_subgroup_kernel, values, macro);
}

/* True if the device has the variant's features and its smallest subgroups have the variant's size, for which the
 * registers of a work-item suffice. The emulation suits every device. */
static bool suits(const mica__variant *variant, const mica_device_info *device) {
  if (value(variant->values, "MICA_SUBGROUPS") == 0) return true;
  return (variant->features & ~device->features) == 0 &&
         value(variant->values, "SUBGROUP") == (int32_t)device->subgroup_min;
}

/* Returns the first variant that suits the device; the emulation if no other does. */
static const mica__variant *choose_variant(const mica_device_info *device) {
  const mica__variant *variant = variants;
  while (!suits(variant, device)) variant++;
  return variant;
}

static const char *decline(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica_device_info *device = task->device;
  const char *reason = mica__needs_gpu(device);
  if (reason) return reason;
  if (!mica__variant_fits(&mica__gemm_subgroup_kernel, choose_variant(device), device))
    return "it is for devices whose smallest subgroups have 8 or 16 items and can be chosen by a kernel";
  if (gemm->epilogue.acc != MICA_F32) return "it sums in f32 only";
  if (mica__gemm_layout(gemm->a.row, gemm->a.col) != MICA__LAYOUT_K) return "rows of a are not adjacent";
  return mica__gemm_layout(gemm->b.col, gemm->b.row) == MICA__LAYOUT_OUTER ? NULL : "rows of b are not adjacent";
}

static mica_status launch_subgroup(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica__variant *variant = task->variant;
  const mica_device_info *device = task->device;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!variant) variant = choose_variant(device);
  if (!suits(variant, device))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "gemm_subgroup: this variant is for devices whose smallest subgroups have %d items and can be "
                      "chosen by a kernel",
                      (int)value(variant->values, "SUBGROUP"));
  mica__kernel_values(&mica__gemm_subgroup_kernel, variant, values);
  int64_t rows = (int64_t)value(values, "SUBGROUPS") * value(values, "MICRO_M");
  int64_t columns = (int64_t)value(values, "SUBGROUP") * value(values, "MICRO_N");
  int64_t group = (int64_t)value(values, "SUBGROUP") * value(values, "SUBGROUPS");
  MICA_TRY(mica__gemm_begin(queue, &mica__gemm_subgroup_kernel, values, gemm, 1, &launch));
  mica__launch_range1(&launch, mica__gemm_tiles(gemm, rows, columns) * group, (size_t)group);
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemm_subgroup = {
    .name = "gemm_subgroup", .kernel = &mica__gemm_subgroup_kernel, .decline = decline, .launch = launch_subgroup};
