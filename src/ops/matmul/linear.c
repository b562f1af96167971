#include "ops/matmul/linear.h"

#include "ops/common/activation.h"
#include "ops/matmul/gemm.h"
#include "ops/select/registry.h"

#include <mica/ops.h>

enum { BIAS, ADDEND, ACTIVATION, SCALED };

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

/* One number a column: all strides but the last are 0. */
static bool is_bias(const mica__epilogue_fusion *fusion, mica_shape shape) {
  int32_t last = shape.rank - 1;
  for (int32_t i = 0; i < last; i++)
    if (shape.dim[i] != 1 && fusion->access.stride[i] != 0) return false;
  return count_of(fusion->other->shape) == shape.dim[last];
}

bool mica__linear_fuse_epilogue(mica__epilogue_fusion *fusion) {
  const mica__node *node = fusion->node, *user = fusion->user;
  mica_shape shape = user->type.shape;
  bool plain = node->op == &mica__op_matmul;
  mica_activation activation = MICA_ACTIVATION_NONE;
  *fusion->attrs = plain ? (mica__attrs){0} : node->attrs;
  fusion->op = &mica__op_linear;
  if (mica_dtype_kind_of(node->type.dtype) != MICA_DTYPE_KIND_FLOAT || user->type.dtype != node->type.dtype)
    return false;
  /* Batches of matrices take several launches, each with a bias and a c of its own. */
  if (plain && node->type.shape.rank != 2) return false;
  if (fusion->attrs->ints[ACTIVATION] != MICA_ACTIVATION_NONE) return false;
  if (user->op == &mica__op_affine && user->attrs.reals[1] == 0 && plain) {
    fusion->attrs->ints[SCALED] = 1;
    fusion->attrs->reals[1] = user->attrs.reals[0];
    return true;
  }
  if (mica__activation_of(user, &activation, &fusion->attrs->reals[0])) {
    fusion->attrs->ints[ACTIVATION] = activation;
    return true;
  }
  if (user->op != &mica__op_add || !fusion->other || fusion->other->dtype != node->type.dtype) return false;
  int which = is_bias(fusion, shape) ? BIAS : ADDEND;
  if (fusion->attrs->ints[which] != 0) return false;
  if (which == ADDEND && count_of(fusion->other->shape) != count_of(shape)) return false;
  fusion->attrs->ints[which] = node->input_count;
  return true;
}

/* The operand at that place of attrs, in another shape of its elements; NULL when there is none. */
static mica_status operand(const mica__exec *exec, int which, mica_shape shape, mica_tensor **tensor) {
  int64_t at = exec->attrs->ints[which];
  return at ? mica_tensor_view(exec->inputs[at], shape, NULL, 0, tensor) : MICA_OK;
}

static mica_status launch_linear(const mica__exec *exec) {
  mica_tensor *bias = NULL, *c = NULL, *d = NULL;
  mica_gemm_config config = mica_gemm_config_default();
  int64_t m = mica_tensor_shape(exec->inputs[0]).dim[0], n = mica_tensor_shape(exec->inputs[1]).dim[1];
  config.activation = (mica_activation)exec->attrs->ints[ACTIVATION];
  config.activation_arg = (float)exec->attrs->reals[0];
  if (exec->attrs->ints[SCALED]) config.alpha = exec->attrs->reals[1];
  config.beta = exec->attrs->ints[ADDEND] ? 1 : 0;
  mica_status status = operand(exec, BIAS, MICA_SHAPE(n), &bias);
  if (status == MICA_OK) status = operand(exec, ADDEND, MICA_SHAPE(m, n), &c);
  if (status == MICA_OK) status = mica_tensor_view(exec->output, MICA_SHAPE(m, n), NULL, 0, &d);
  if (status == MICA_OK) status = mica__gemm_run(exec, &config, exec->inputs[0], exec->inputs[1], c, bias, d);
  mica_tensor_destroy(bias);
  mica_tensor_destroy(c);
  mica_tensor_destroy(d);
  return status;
}

const mica__op mica__op_linear = {.name = "linear",
                                  .kind = MICA__OP_LAUNCH,
                                  .min_inputs = 2,
                                  .max_inputs = 4,
                                  .launch = launch_linear,
                                  .fuse_epilogue = mica__linear_fuse_epilogue,
                                  .takes_strides = 3,
                                  .takes_halves = 3};
