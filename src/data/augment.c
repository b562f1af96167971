#include "data/augment.h"

#include "ir/op.h"
#include "runtime/launch.h"

#define GPU_GROUP 64

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of samples", MICA_U8, MICA_F32),
    MICA__DTYPE("Y_T", "type of the batch", MICA_F32, MICA_F16, MICA_BF16),
    MICA__CASE("AUGMENT", "0 none; 1 moved, mirrored, brightness; 2 also rotated and scaled", 0, 1, 2),
    MICA__CASE("MIX", "1: blended with the opposite sample", 0, 1),
    MICA__CASE("TARGETS", "0 labels, 1 probabilities", 0, 1),
    MICA__INT("SPAN", "elements of a plane a work-item makes", 4, 16, 64, 256, 1024, 4096),
    MICA__INT("VW", "elements taken at once", 1, 2, 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_U8, MICA_F32, 0, 0, 0, 1024, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_U8, MICA_F32, 0, 0, 0, 4, 4),
};
const mica__kernel_desc mica__augment_kernel = {MICA__KERNEL("augment", "data/augment.cl", params, variants)};

bool mica__augment_is_active(const mica__augment *a) {
  return a->crop || a->flip || a->cutout || a->angle > 0 || a->zoom > 0 || a->brightness > 0 || a->contrast > 0;
}

static int32_t augment_case(const mica__augment *a) {
  if (a->angle > 0 || a->zoom > 0) return 2;
  return mica__augment_is_active(a);
}

mica_status mica__augment_launch_as(mica_queue *queue, const mica__variant *variant, const mica__augment *a,
                                    const mica_tensor *x, const mica_tensor *labels, const mica_tensor *affine,
                                    mica_tensor *y, mica_tensor *targets) {
  const mica__kernel_desc *desc = &mica__augment_kernel;
  mica_engine *engine = mica__queue_engine(queue);
  mica_shape shape = mica_tensor_shape(y), target_shape = mica_tensor_shape(targets);
  bool picture = shape.rank == 4;
  int64_t C = picture ? shape.dim[1] : 1, H = picture ? shape.dim[2] : 1, W = shape.dim[shape.rank - 1];
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  if (!variant) MICA_TRY(mica__kernel_choose(engine, desc, &variant));
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(desc, values, "Y_T", (int32_t)mica_tensor_dtype(y));
  mica__kernel_set(desc, values, "AUGMENT", augment_case(a));
  mica__kernel_set(desc, values, "MIX", a->blend < 1);
  mica__kernel_set(desc, values, "TARGETS", target_shape.rank == 2);
  MICA_TRY(mica__kernel_get(engine, desc, values, NULL, &kernel));
  int64_t span = values[mica__kernel_param_index(desc, "SPAN")], spans = (H * W + span - 1) / span;
  float one = mica_tensor_dtype(x) == MICA_U8 ? 255.0f : 1.0f;
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, labels);
  mica__launch_tensor(&launch, affine);
  mica__launch_tensor(&launch, y);
  mica__launch_tensor(&launch, targets);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)shape.dim[0], (int32_t)C, (int32_t)H, (int32_t)W, a->crop, a->flip,
                                          a->cutout, target_shape.rank == 2 ? (int32_t)target_shape.dim[1] : 0});
  const uint32_t *keys = a->permutation.keys;
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)keys[0], (int32_t)keys[1], (int32_t)keys[2], (int32_t)keys[3],
                                          (int32_t)keys[4], (int32_t)keys[5], (int32_t)(uint32_t)a->seed,
                                          (int32_t)(uint32_t)(a->seed >> 32)});
  mica__launch_float8(&launch, (float[8]){a->angle, a->zoom, a->brightness * one, a->contrast, a->blend});
  mica__launch_int(&launch, (int32_t)a->permutation.n);
  mica__launch_int(&launch, (int32_t)a->permutation.bits);
  mica__launch_int(&launch, (int32_t)a->first);
  mica__launch_int(&launch, (int32_t)a->position);
  mica__launch_int(&launch, (int32_t)a->epoch);
  /* A CPU core takes a work-group at a time, and a work-item of its variant is up to 1024 elements of a plane. */
  mica__launch_range1(&launch, shape.dim[0] * C * spans, variant->classes & MICA__ON_CPU ? 1 : GPU_GROUP);
  mica__launch_cost(&launch, 2.0 * (double)mica_tensor_count(y),
                    (double)mica_tensor_count(y) * (double)mica_dtype_size(mica_tensor_dtype(x)) +
                        (double)mica_tensor_bytes(y));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__augment_launch(mica_queue *queue, const mica__augment *augment, const mica_tensor *x,
                                 const mica_tensor *labels, const mica_tensor *affine, mica_tensor *y,
                                 mica_tensor *targets) {
  return mica__augment_launch_as(queue, NULL, augment, x, labels, affine, y, targets);
}
