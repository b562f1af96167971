/* Dot products for the CPU class (cl/matmul/gemm_dot.cl): a large operand adjacent along k times a few lines. */
#include "base/error.h"
#include "ops/matmul/gemm.h"

static const mica__kernel_param params[] = {
    MICA__GEMM_EPILOGUE_PARAMS,
    MICA__DTYPE("A_T", "type of a", MICA_F32, MICA_F16, MICA_BF16),
    MICA__DTYPE("B_T", "type of b", MICA_F32, MICA_F16, MICA_BF16),
    MICA__CASE("SWAP", "1: the large operand is b", 0, 1),
    MICA__INT("XR", "lines of the large operand at a time", 1, 2, 4, 8),
    MICA__INT("YR", "lines of the small operand at a time", 1, 2, 4),
    MICA__INT("VW", "elements of a vector", 4, 8, 16),
};

/* One line of the small operand: memory is the limit, and 8 lines are 8 streams for the prefetcher. More: what is read
 * once is used four times. */
#define DOTS(label, xr, yr)                                                                                            \
  MICA__VARIANT(label, MICA__ON_CPU, MICA__GEMM_EPILOGUE_VALUES, MICA_F32, MICA_F32, 0, xr, yr, 16)
static const mica__variant variants[] = {DOTS("cpu.8x1", 8, 1), DOTS("cpu.4x4", 4, 4)};
const mica__kernel_desc mica__gemm_dot_kernel = {MICA__KERNEL("gemm_dot", "matmul/gemm_dot.cl", params, variants)};

/* More lines of the small operand are a matrix, for which gemm_tile is better. */
#define MOST_LINES 8
#define SCRATCH_BYTES (256 * 1024)
/* Multiply-adds that are worth a work-group. */
#define GROUP_WORK 128.0e3

/* The problem as lines: which operand is large, and how both are walked. */
typedef struct lines {
  bool swap, fits;
  int64_t outer, inner;
  int64_t x_line, x_k, x_batch, y_line, y_k, y_batch;
} lines;

static lines lines_of(const mica__gemm *gemm) {
  const mica__gemm_operand *a = &gemm->a, *b = &gemm->b;
  bool a_along = a->col == 1 || gemm->k == 1, b_along = b->row == 1 || gemm->k == 1;
  lines l = {.swap = !(a_along && gemm->n <= MOST_LINES && gemm->n <= gemm->m)};
  l.fits = l.swap ? b_along && gemm->m <= MOST_LINES : true;
  l.outer = l.swap ? gemm->n : gemm->m;
  l.inner = l.swap ? gemm->m : gemm->n;
  l.x_line = l.swap ? b->col : a->row;
  l.x_k = gemm->k == 1 ? 1 : l.swap ? b->row : a->col;
  l.x_batch = l.swap ? b->batch : a->batch;
  l.y_line = l.swap ? a->row : b->col;
  l.y_k = l.swap ? a->col : b->row;
  l.y_batch = l.swap ? a->batch : b->batch;
  return l;
}

static size_t scratch_bytes(const mica__gemm *gemm, const lines *l) {
  return (size_t)(l->y_k == 1 ? 1 : l->inner * gemm->k + 1) * sizeof(float);
}

static const char *decline(const void *problem, const mica_device_info *device) {
  const mica__gemm *gemm = problem;
  lines l = lines_of(gemm);
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  if (gemm->acc != MICA_F32) return "its sums are float";
  if (!l.fits) return "no operand is small beside one that is adjacent along k";
  if (gemm->k < 16) return "k is short";
  return scratch_bytes(gemm, &l) > SCRATCH_BYTES ? "the small operand is long and not adjacent along k" : NULL;
}

static const mica__variant *choose_variant(const lines *l) { return &variants[l->inner == 1 ? 0 : 1]; }

static mica_status launch_gemm_dot(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__gemm *gemm = problem;
  lines l = lines_of(gemm);
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__gemm_dot_kernel, variant ? variant : choose_variant(&l), values);
  mica__kernel_set(&mica__gemm_dot_kernel, values, "SWAP", l.swap);
  mica__kernel_set(&mica__gemm_dot_kernel, values, "A_T", (int32_t)mica_tensor_dtype(gemm->a.tensor));
  mica__kernel_set(&mica__gemm_dot_kernel, values, "B_T", (int32_t)mica_tensor_dtype(gemm->b.tensor));
  int64_t at_a_time = mica__gemm_value(&mica__gemm_dot_kernel, values, "XR");
  double line = (double)l.inner * (double)gemm->k;
  int64_t block = line < GROUP_WORK ? (int64_t)(GROUP_WORK / (line + 1)) : 1;
  block = (block + at_a_time - 1) / at_a_time * at_a_time;
  MICA_TRY(mica__gemm_begin_epilogue(queue, &mica__gemm_dot_kernel, values, gemm, &launch));
  mica__launch_tensor(&launch, gemm->a.tensor);
  mica__launch_tensor(&launch, gemm->b.tensor);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)l.outer, (int32_t)l.inner, (int32_t)gemm->k, (int32_t)block});
  mica__launch_long8(&launch, (int64_t[8]){l.x_line, l.x_k, l.x_batch, l.y_line, l.y_k, l.y_batch});
  mica__launch_local(&launch, scratch_bytes(gemm, &l));
  mica__launch_range3(&launch, (int64_t[]){(l.outer + block - 1) / block, gemm->batches, 1}, (size_t[]){1, 1, 1});
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemm_dot = {
    .name = "gemm_dot", .kernel = &mica__gemm_dot_kernel, .decline = decline, .launch = launch_gemm_dot};
