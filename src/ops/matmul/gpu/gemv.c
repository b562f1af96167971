/* A matrix times a vector on a GPU (cl/matmul/gpu/gemv.cl). */
#include "base/error.h"
#include "ops/matmul/gemm.h"
#include "runtime/tensor.h"
#include "runtime/texture.h"

static const mica__kernel_param params[] = {
    MICA__GEMM_PARAMS(MICA__GEMM_ALL_TYPES),
    MICA__CASE("VECTOR_IS_A", "1: a is the vector", 0, 1),
    MICA__INT("WG_SIZE", "work-items in a group", 64, 128, 256),
    MICA__INT("K_LANES", "work-items that share a sum", 1, 4, 8, 16, 32, 64, 128),
    MICA__INT("VEC", "elements read together", 1, 2, 4, 8),
    MICA__CASE("TEXTURE", "the matrix is read from: 0 its buffer, 1 a 1-D image, 2 a 2-D image", MICA__TEXTURE_NONE,
               MICA__TEXTURE_LINE, MICA__TEXTURE_PLANE),
};

/* A variant that reads the matrix through the texture cache. It was not measured on any device, so it is used only if a
 * tuner finds it faster. */
#define TEXTURE_VARIANT(label, predicate, lanes, kind)                                                                 \
  {                                                                                                                    \
    .name = label, .classes = MICA__ON_GPU, .has_instruction = predicate, .unmeasured = true, .values = {              \
      MICA__GEMM_VALUES,                                                                                               \
      0,                                                                                                               \
      128,                                                                                                             \
      lanes,                                                                                                           \
      4,                                                                                                               \
      kind                                                                                                             \
    }                                                                                                                  \
  }

/* The variants "outer" add more of a sum per work-item, which suits a matrix that is adjacent along its outer index. */
static const mica__variant variants[] = {
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA__GEMM_VALUES, 0, 128, 32, 4, MICA__TEXTURE_NONE),
    TEXTURE_VARIANT("texture", mica__has_texture_line, 32, MICA__TEXTURE_LINE),
    TEXTURE_VARIANT("texture.outer", mica__has_texture_line, 8, MICA__TEXTURE_LINE),
    TEXTURE_VARIANT("plane", mica__has_texture_plane, 32, MICA__TEXTURE_PLANE),
    TEXTURE_VARIANT("plane.outer", mica__has_texture_plane, 8, MICA__TEXTURE_PLANE),
    MICA__VARIANT("gpu.outer", MICA__ON_GPU, MICA__GEMM_VALUES, 0, 128, 8, 4, MICA__TEXTURE_NONE),
};
#define BY_K (&variants[0])
#define BY_OUTER (&variants[sizeof variants / sizeof *variants - 1])
const mica__kernel_desc mica__gemv_gpu_kernel = {MICA__KERNEL("gemv_gpu", "matmul/gpu/gemv.cl", params, variants)};

/* The matrix, and its layout in terms of its own outer index. */
static const mica__matrix *matrix_of(const mica__gemm *gemm, int32_t *layout) {
  const bool vector_is_a = gemm->n != 1;
  *layout = vector_is_a ? mica__gemm_layout(gemm->b.col, gemm->b.row) : mica__gemm_layout(gemm->a.row, gemm->a.col);
  return vector_is_a ? &gemm->b : &gemm->a;
}

/* True if sums are f32, if vectors of `width` elements of the matrix are whole pixels of an image over its buffer, and
 * if the kernel does not write to this buffer. */
static bool has_texture(const mica__gemm *gemm, int64_t width, mica__texture kind) {
  int32_t layout = 0;
  const mica__matrix *matrix = matrix_of(gemm, &layout);
  return gemm->epilogue.acc == MICA_F32 && layout != MICA__LAYOUT_ANY && width >= MICA__TEXTURE_ELEMENTS &&
         mica__gemm_is_whole(gemm, matrix, width) && mica__texture_fits(matrix->tensor, kind) &&
         mica__tensor_buffer(matrix->tensor) != mica__tensor_buffer(gemm->epilogue.d.tensor);
}

static const char *decline(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica_device_info *device = task->device;
  const char *reason = mica__needs_gpu(device);
  if (reason) return reason;
  if (device->max_group < 128) return "its work-groups of 128 are too large for the device";
  if (gemm->m != 1 && gemm->n != 1) return "neither operand is a vector";
  if (!task->variant) return NULL;
  const int32_t *values = task->variant->values;
  const mica__texture kind = (mica__texture)mica__kernel_value(&mica__gemv_gpu_kernel, values, "TEXTURE");
  const int64_t width = mica__kernel_value(&mica__gemv_gpu_kernel, values, "VEC");
  return !kind || has_texture(gemm, width, kind) ? NULL : "an image cannot hold the matrix";
}

static mica_status launch_gemv(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica__variant *variant = task->variant;
  if (gemm->m != 1 && gemm->n != 1) return mica__fail(MICA_E_UNSUPPORTED, "gemv: neither operand is a vector");
  bool vector_is_a = gemm->n != 1;
  int64_t length = vector_is_a ? gemm->n : gemm->m;
  int32_t layout = 0;
  const mica__matrix *matrix = matrix_of(gemm, &layout);
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!variant) variant = layout == MICA__LAYOUT_K ? BY_K : BY_OUTER;
  mica__kernel_values(&mica__gemv_gpu_kernel, variant, values);
  mica__kernel_set(&mica__gemv_gpu_kernel, values, "VECTOR_IS_A", vector_is_a);
  int32_t width = mica__kernel_value(&mica__gemv_gpu_kernel, values, "VEC"),
          group = mica__kernel_value(&mica__gemv_gpu_kernel, values, "WG_SIZE");
  mica__texture texture = (mica__texture)mica__kernel_value(&mica__gemv_gpu_kernel, values, "TEXTURE");
  if (texture && !has_texture(gemm, width, texture)) texture = MICA__TEXTURE_NONE;
  mica__kernel_set(&mica__gemv_gpu_kernel, values, "TEXTURE", texture);
  MICA_TRY(mica__gemm_begin(queue, &mica__gemv_gpu_kernel, values, gemm, width, &launch));
  if (texture) mica__launch_texture(&launch, matrix->tensor, texture);
  int64_t outers =
      group / mica__kernel_value(&mica__gemv_gpu_kernel, values, "K_LANES") * (layout == MICA__LAYOUT_K ? 1 : width);
  mica__launch_range1(&launch, (length + outers - 1) / outers * gemm->batches * group, (size_t)group);
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemv_gpu = {
    .name = "gemv_gpu", .kernel = &mica__gemv_gpu_kernel, .decline = decline, .launch = launch_gemv};
