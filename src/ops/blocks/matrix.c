/* Products of matrices with weights in blocks: by gemm kernels that read blocks, else by f32 weights that are converted
 * for the launch. */
#include "base/error.h"
#include "ops/blocks/blocks.h"
#include "ops/matmul/gemm.h"
#include "ops/select/choice.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

/* The elements of a stored row of b. */
static int64_t columns_of(const mica__gemm *gemm) { return gemm->b.row == 1 ? gemm->k : gemm->n; }

static mica_status run_as_floats(mica_queue *queue, const mica__gemm *gemm, mica_tensor *floats) {
  const mica__epilogue *e = &gemm->epilogue;
  const mica_gemm_config config = {.alpha = e->alpha,
                                   .beta = e->beta,
                                   .bias_axis = e->bias_axis,
                                   .activation = e->activation,
                                   .activation_arg = e->activation_arg};
  const mica__unblock_attrs attrs = {(int32_t)gemm->block, columns_of(gemm), MICA_F32};
  const mica__exec unblock = {
      .queue = queue, .attrs = &attrs, .inputs = &gemm->b.tensor, .input_count = 1, .output = floats};
  mica_tensor *b = NULL, *d = NULL;
  MICA_TRY(mica__op_unblock.launch(&unblock));
  mica_status status =
      mica_tensor_view(floats, MICA_SHAPE(gemm->k, gemm->n), (int64_t[]){gemm->b.row, gemm->b.col}, 0, &b);
  if (status == MICA_OK) status = mica_tensor_view(e->d.tensor, MICA_SHAPE(gemm->m, gemm->n), NULL, 0, &d);
  if (status == MICA_OK)
    status = mica__gemm_run(&(mica__exec){.queue = queue}, &config, gemm->a.tensor, b,
                            e->beta != 0 ? e->c.tensor : NULL, e->bias, d);
  mica_tensor_destroy(b);
  mica_tensor_destroy(d);
  return status;
}

static mica_status launch_as_floats(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const int64_t columns = columns_of(gemm);
  mica_tensor *floats = NULL;
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(gemm->n * gemm->k / columns, columns), &floats));
  const mica_status status = run_as_floats(queue, gemm, floats);
  mica_tensor_destroy(floats);
  return status;
}

static const mica__impl as_floats = {.name = "gemm_unblock", .launch = launch_as_floats};
static const mica__impl *const impls[] = {&mica__gemm_tile, &as_floats, NULL};

mica_status mica__gemm_run_blocks(const mica__exec *exec, const mica_gemm_config *config, const mica_tensor *a,
                                  const mica_tensor *b, mica_block block, bool by_k, const mica_tensor *c,
                                  const mica_tensor *bias, mica_tensor *d) {
  const int64_t m = mica_tensor_shape(d).dim[0], n = mica_tensor_shape(d).dim[1], k = mica_tensor_shape(a).dim[1];
  char key[MICA__TUNING_TEXT];
  if (m > MICA__GEMM_MAX_SIZE || n > MICA__GEMM_MAX_SIZE || k > MICA__GEMM_MAX_SIZE)
    return mica__fail(MICA_E_OVERFLOW,
                      "a product of %lld x %lld x %lld with weights in blocks is too large; no size may exceed %lld",
                      (long long)m, (long long)n, (long long)k, (long long)MICA__GEMM_MAX_SIZE);
  const mica__gemm gemm = {.m = m,
                           .n = n,
                           .k = k,
                           .batches = 1,
                           .a = {a, mica_tensor_strides(a)[0], mica_tensor_strides(a)[1], 0},
                           .b = {b, by_k ? n : 1, by_k ? 1 : k, 0},
                           .block = block,
                           .epilogue = {.c = {c ? c : d, n, 1, 0},
                                        .d = {d, n, 1, 0},
                                        .acc = MICA_F32,
                                        .bias = bias,
                                        .bias_axis = MICA_BIAS_AXIS_COLUMN,
                                        .alpha = config->alpha,
                                        .beta = config->beta,
                                        .activation = config->activation,
                                        .activation_arg = config->activation_arg},
                           .recorded = mica__queue_records(exec->queue),
                           .held = exec->held};
  if (k == 0)
    return mica__fail(MICA_E_SHAPE,
                      "the rows of a product with weights in blocks have 0 elements, but must have at least 1");
  mica__gemm_key(&gemm, key);
  return mica__choose_and_launch(exec->queue, impls, &gemm, key);
}
