/* Products shared in the registers of subgroups (cl/matmul/gemm_subgroup.cl), for Intel GPUs. */
#include "base/error.h"
#include "ops/matmul/gemm.h"

static const mica__kernel_param params[] = {
    MICA__GEMM_PARAMS,
    MICA__INT("MICA_SUBGROUPS", "0 a stand-in, 1 cl_khr_subgroups, 2 cl_intel_subgroups", 0, 1, 2),
    MICA__INT("SUBGROUP", "work-items of a subgroup", 8, 16, 32, 64),
    MICA__INT("SUBGROUPS", "subgroups of a work-group", 1, 2, 4, 8),
    MICA__INT("MICRO_M", "rows a subgroup computes", 4, 8, 16),
    MICA__INT("MICRO_N", "columns a work-item computes", 1, 2, 4),
};
/* The stand-in is no device's choice; it is there to be checked. */
static const mica__variant variants[] = {
    {.name = "intel",
     .classes = MICA__ON_GPU,
     .features = MICA_FEATURE_INTEL_SUBGROUPS,
     .values = {MICA__GEMM_VALUES, 2, 16, 4, 8, 2}},
    {.name = "stand-in", .values = {MICA__GEMM_VALUES, 0, 8, 2, 8, 2}},
};
const mica__kernel_desc mica__gemm_subgroup_kernel = {
    MICA__KERNEL("gemm_subgroup", "matmul/gemm_subgroup.cl", params, variants)};

static const char *decline(const void *problem, const mica_device_info *device) {
  const mica__gemm *gemm = problem;
  const char *reason = mica__gemm_needs_gpu(device);
  if (reason) return reason;
  if (!mica__kernel_variant(&mica__gemm_subgroup_kernel, device)) return "the device has no cl_intel_subgroups";
  if (device->subgroup_min == 0 || device->subgroup_min > 16) return "subgroups of 16 cannot be demanded";
  if (gemm->acc == MICA_F64) return "sums in f64 are not shuffled";
  if (mica__gemm_layout(gemm->a.row, gemm->a.col) != MICA__LAYOUT_K) return "rows of a are not adjacent";
  return mica__gemm_layout(gemm->b.col, gemm->b.row) == MICA__LAYOUT_OUTER ? NULL : "rows of b are not adjacent";
}

static mica_status launch_subgroup(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__gemm *gemm = problem;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(queue));
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!variant) variant = mica__kernel_variant(&mica__gemm_subgroup_kernel, device);
  if (!variant) variant = &variants[1];
  if (variant->features & ~device->features)
    return mica__fail(MICA_E_UNSUPPORTED, "gemm_subgroup: the device has no cl_intel_subgroups");
  if (gemm->acc == MICA_F64) return mica__fail(MICA_E_UNSUPPORTED, "gemm_subgroup: sums in f64 are not shuffled");
  mica__kernel_values(&mica__gemm_subgroup_kernel, variant, values);
  int64_t rows = (int64_t)mica__gemm_value(&mica__gemm_subgroup_kernel, values, "SUBGROUPS") *
                 mica__gemm_value(&mica__gemm_subgroup_kernel, values, "MICRO_M");
  int64_t columns = (int64_t)mica__gemm_value(&mica__gemm_subgroup_kernel, values, "SUBGROUP") *
                    mica__gemm_value(&mica__gemm_subgroup_kernel, values, "MICRO_N");
  int64_t group = (int64_t)mica__gemm_value(&mica__gemm_subgroup_kernel, values, "SUBGROUP") *
                  mica__gemm_value(&mica__gemm_subgroup_kernel, values, "SUBGROUPS");
  MICA_TRY(mica__gemm_begin(queue, &mica__gemm_subgroup_kernel, values, gemm, 1, &launch));
  mica__launch_range1(&launch, mica__gemm_tiles(gemm, rows, columns) * group, (size_t)group);
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemm_subgroup = {
    .name = "gemm_subgroup", .kernel = &mica__gemm_subgroup_kernel, .decline = decline, .launch = launch_subgroup};
