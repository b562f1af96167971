/* Products of matrices by the library CLBlast: an implementation that is used only where a tuner has found it the
 * fastest. */
#include "runtime/clblast.h"
#include "base/error.h"
#include "ops/matmul/gemm.h"
#include "runtime/tensor.h"

/* Describes an operand to CLBlast. False if CLBlast cannot take it: the elements of each row or of each column must
 * be adjacent, and these rows or columns must not overlap. */
static bool store_operand(const mica__matrix *x, int64_t rows, int64_t cols, mica__clblast_operand *out) {
  *out = (mica__clblast_operand){.tensor = x->tensor, .batch = x->batch};
  out->transposed = x->col != 1 && cols > 1;
  out->ld = out->transposed ? x->col : x->row;
  int64_t lines = out->transposed ? cols : rows, length = out->transposed ? rows : cols;
  /* The step between lines does not matter if there is only one. */
  if (lines == 1) out->ld = length;
  return out->ld >= length && (!out->transposed || x->row == 1 || rows == 1);
}

/* True if the indices of all elements of the operand, counted from the start of its buffer, are sure to fit an int:
 * CLBlast's kernels compute them in int. */
static bool counts_in_int(const mica__clblast_operand *x, int64_t lines, int64_t batches) {
  double last =
      (double)mica__tensor_first(x->tensor) + (double)x->ld * (double)lines + (double)x->batch * (double)(batches - 1);
  return last < (double)INT32_MAX;
}

static bool describe(const mica__gemm *gemm, mica__clblast_gemm *out) {
  *out = (mica__clblast_gemm){.m = gemm->m,
                              .n = gemm->n,
                              .k = gemm->k,
                              .batches = gemm->batches,
                              .alpha = gemm->epilogue.alpha,
                              .beta = gemm->epilogue.beta};
  return store_operand(&gemm->a, gemm->m, gemm->k, &out->a) && store_operand(&gemm->b, gemm->k, gemm->n, &out->b) &&
         store_operand(&gemm->epilogue.d, gemm->m, gemm->n, &out->d) && !out->d.transposed;
}

static const char *unable(const void *problem) {
  const mica__gemm *gemm = problem;
  mica__clblast_gemm g;
  mica_dtype type = mica_tensor_dtype(gemm->epilogue.d.tensor);
  if (!mica__clblast_is_built()) return "Mica was built without CLBlast";
  if (gemm->recorded) return "CLBlast's launches cannot be recorded for a session";
  if (type != MICA_F32 && type != MICA_F64) return "d is not f32 or f64, the types in which CLBlast sums";
  if (mica_tensor_dtype(gemm->a.tensor) != type || mica_tensor_dtype(gemm->b.tensor) != type)
    return "a and b do not have d's type";
  if (gemm->epilogue.bias || gemm->epilogue.activation != MICA_ACTIVATION_NONE)
    return "CLBlast cannot add a bias or compute an activation";
  if (gemm->k < 2) return "k is below 2, where CLBlast 1.5.3 computes wrong results";
  if (gemm->epilogue.c.tensor != gemm->epilogue.d.tensor)
    return "c and d are different tensors, but CLBlast overwrites c";
  if (!describe(gemm, &g)) return "an operand has neither adjacent rows nor adjacent columns, or they overlap";
  bool narrow = counts_in_int(&g.a, g.a.transposed ? g.k : g.m, g.batches) &&
                counts_in_int(&g.b, g.b.transposed ? g.n : g.k, g.batches) && counts_in_int(&g.d, g.m, g.batches);
  return narrow ? NULL : "an operand has too many elements for CLBlast's 32 bits";
}

static const char *decline(const mica__task *task) { return mica__needs_gpu(task->device); }

static mica_status launch_clblast(mica_queue *queue, const mica__task *task) {
  mica__clblast_gemm g;
  const char *reason = unable(task->problem);
  if (reason) return mica__fail(MICA_E_UNSUPPORTED, "clblast: %s", reason);
  describe(task->problem, &g);
  return mica__clblast_run(queue, &g);
}

const mica__impl mica__gemm_clblast = {
    .name = "clblast", .only_tuned = true, .unable = unable, .decline = decline, .launch = launch_clblast};
