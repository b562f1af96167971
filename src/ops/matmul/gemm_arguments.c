/* What the kernels of matrix products have in common: the arguments of cl/matmul/operands.clh, the parameters that
 * follow from the problem, and the cost of a launch. */
#include "base/error.h"
#include "ops/matmul/gemm.h"
#include "runtime/tensor.h"

int32_t mica__gemm_layout(int64_t outer, int64_t k) {
  if (k == 1) return MICA__LAYOUT_K;
  return outer == 1 ? MICA__LAYOUT_OUTER : MICA__LAYOUT_ANY;
}

int64_t mica__gemm_tiles(const mica__gemm *gemm, int64_t m, int64_t n) {
  return ((gemm->m + m - 1) / m) * ((gemm->n + n - 1) / n) * gemm->batches;
}

/* True if the matrix consists of whole vectors of `vector` elements along its unit stride, each beginning at a multiple
 * of `vector`. */
static bool is_aligned(const mica__matrix *operand, int64_t rows, int64_t cols, int64_t vector) {
  int64_t along = operand->col == 1 ? cols : rows, across = operand->col == 1 ? operand->row : operand->col;
  return along % vector == 0 && across % vector == 0 && operand->batch % vector == 0 &&
         mica__tensor_first(operand->tensor) % vector == 0;
}

bool mica__gemm_is_aligned(const mica__gemm *gemm, int64_t vector) {
  return mica__gemm_layout(gemm->a.row, gemm->a.col) != MICA__LAYOUT_ANY &&
         mica__gemm_layout(gemm->b.col, gemm->b.row) != MICA__LAYOUT_ANY &&
         is_aligned(&gemm->a, gemm->m, gemm->k, vector) && is_aligned(&gemm->b, gemm->k, gemm->n, vector);
}

bool mica__gemm_is_whole(const mica__gemm *gemm, const mica__matrix *operand, int64_t vector) {
  const bool is_a = operand == &gemm->a;
  return is_aligned(operand, is_a ? gemm->m : gemm->k, is_a ? gemm->k : gemm->n, vector);
}

static void push_operand(mica__launch *launch, const mica__matrix *operand) {
  mica__launch_tensor(launch, operand->tensor);
  mica__launch_long(launch, operand->row);
  mica__launch_long(launch, operand->col);
  mica__launch_long(launch, operand->batch);
}

mica_status mica__gemm_begin(mica_queue *queue, const mica__kernel_desc *desc, int32_t *values, const mica__gemm *gemm,
                             int64_t vector, mica__launch *launch) {
  mica__kernel_set(desc, values, "A_T", (int32_t)mica_tensor_dtype(gemm->a.tensor));
  mica__kernel_set(desc, values, "B_T", (int32_t)mica_tensor_dtype(gemm->b.tensor));
  mica__kernel_set(desc, values, "A_LAYOUT", mica__gemm_layout(gemm->a.row, gemm->a.col));
  mica__kernel_set(desc, values, "B_LAYOUT", mica__gemm_layout(gemm->b.col, gemm->b.row));
  mica__kernel_set(desc, values, "A_ALIGNED", is_aligned(&gemm->a, gemm->m, gemm->k, vector));
  mica__kernel_set(desc, values, "B_ALIGNED", is_aligned(&gemm->b, gemm->k, gemm->n, vector));
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &gemm->epilogue, launch));
  mica__launch_size(launch, gemm->batches);
  mica__launch_size(launch, gemm->m);
  mica__launch_size(launch, gemm->n);
  mica__launch_size(launch, gemm->k);
  push_operand(launch, &gemm->a);
  push_operand(launch, &gemm->b);
  return MICA_OK;
}

static double matrix_bytes(const mica__matrix *operand, double elements, int64_t batches) {
  return elements * (operand->batch == 0 ? 1.0 : (double)batches) *
         (double)mica_dtype_size(mica_tensor_dtype(operand->tensor));
}

void mica__gemm_cost(mica__launch *launch, const mica__gemm *gemm) {
  double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k, batches = (double)gemm->batches;
  const double b =
      gemm->block ? (double)mica_tensor_bytes(gemm->b.tensor) : matrix_bytes(&gemm->b, k * n, gemm->batches);
  mica__launch_cost(launch, 2 * m * n * k * batches,
                    matrix_bytes(&gemm->a, m * k, gemm->batches) + b +
                        (gemm->epilogue.beta == 0 ? 1 : 2) * matrix_bytes(&gemm->epilogue.d, m * n, gemm->batches));
}

mica_status mica__gemm_end(mica_queue *queue, mica__launch *launch, const mica__gemm *gemm) {
  mica__epilogue_push(launch, &gemm->epilogue);
  mica__gemm_cost(launch, gemm);
  return mica__queue_submit(queue, launch);
}
