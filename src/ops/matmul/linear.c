#include "ops/matmul/linear.h"

#include "ops/elementwise/elementwise.h"
#include "ops/matmul/gemm.h"
#include "ops/select/registry.h"

#include <mica/ops.h>

static MICA__ATTR_TABLE(linear, MICA__LINEAR_ATTRS);

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

/* True if the other operand holds one number for each index of the last axis: its strides along all other axes are
 * 0. */
static bool is_bias(const mica__epilogue_fusion *fusion, mica_shape shape) {
  int32_t last = shape.rank - 1;
  for (int32_t i = 0; i < last; i++)
    if (shape.dim[i] != 1 && fusion->access.stride[i] != 0) return false;
  return count_of(fusion->other->shape) == shape.dim[last];
}

bool mica__linear_takes(const mica__epilogue_fusion *fusion, mica__linear_attrs *attrs) {
  const mica__node *node = fusion->node, *user = fusion->user;
  mica_shape shape = user->type.shape;
  mica_activation activation = MICA_ACTIVATION_NONE;
  if (attrs->activation != MICA_ACTIVATION_NONE || user->type.dtype != node->type.dtype) return false;
  if (mica__activation_of(user, &activation, &attrs->activation_argument)) {
    attrs->activation = (int32_t)activation;
    return true;
  }
  if (user->op != &mica__op_add || !fusion->other || fusion->other->dtype != node->type.dtype) return false;
  /* If there is a single row, the first addend of the result's size is taken for a bias. */
  bool bias = attrs->bias == 0 && is_bias(fusion, shape);
  int64_t *which = bias ? &attrs->bias : &attrs->addend;
  if (*which != 0 || (!bias && count_of(fusion->other->shape) != count_of(shape))) return false;
  *which = node->input_count;
  return true;
}

bool mica__linear_fuse_epilogue(mica__epilogue_fusion *fusion) {
  const mica__node *node = fusion->node, *user = fusion->user;
  bool plain = node->op != &mica__op_linear; /* matmul; the only other op with this rule is linear */
  mica__linear_attrs *attrs = fusion->attrs;
  if (plain)
    mica__attrs_set_defaults(&mica__linear_attr_list, attrs);
  else
    *attrs = *(const mica__linear_attrs *)node->attrs;
  fusion->op = &mica__op_linear;
  if (mica_dtype_kind_of(node->type.dtype) != MICA_DTYPE_KIND_FLOAT || user->type.dtype != node->type.dtype)
    return false;
  /* Batches of matrices may take several launches, each with its own bias and c, so they are not fused. */
  if (plain && node->type.shape.rank != 2) return false;
  const mica__affine_attrs *affine = user->op == &mica__op_affine ? user->attrs : NULL;
  if (affine && affine->offset == 0 && plain && attrs->activation == MICA_ACTIVATION_NONE) {
    attrs->scale = affine->scale;
    return true;
  }
  return mica__linear_takes(fusion, attrs);
}

/* Makes *tensor a view of operand `at` in another shape. If `at` is 0, there is no operand, and *tensor stays NULL. */
static mica_status operand(const mica__exec *exec, int64_t at, mica_shape shape, mica_tensor **tensor) {
  return at ? mica_tensor_view(exec->inputs[at], shape, NULL, 0, tensor) : MICA_OK;
}

static mica_status launch_linear(const mica__exec *exec) {
  mica_tensor *bias = NULL, *c = NULL, *d = NULL;
  const mica__linear_attrs *attrs = exec->attrs;
  mica_gemm_config config = mica_gemm_config_default();
  int64_t m = mica_tensor_shape(exec->inputs[0]).dim[0], n = mica_tensor_shape(exec->inputs[1]).dim[1];
  config.activation = (mica_activation)attrs->activation;
  config.activation_arg = (float)attrs->activation_argument;
  config.alpha = attrs->scale == 0 ? MICA_ZERO : attrs->scale;
  config.beta = attrs->addend ? 1 : 0;
  mica_status status = operand(exec, attrs->bias, MICA_SHAPE(n), &bias);
  if (status == MICA_OK) status = operand(exec, attrs->addend, MICA_SHAPE(m, n), &c);
  if (status == MICA_OK) status = mica_tensor_view(exec->output, MICA_SHAPE(m, n), NULL, 0, &d);
  if (status == MICA_OK) status = mica__gemm_run(exec, &config, exec->inputs[0], exec->inputs[1], c, bias, d);
  mica_tensor_destroy(bias);
  mica_tensor_destroy(c);
  mica_tensor_destroy(d);
  return status;
}

const mica__op mica__op_linear = {.name = "linear",
                                  .kind = MICA__OP_LAUNCH,
                                  .narrows = MICA__NARROWS_FIRST,
                                  .min_inputs = 2,
                                  .max_inputs = 4,
                                  .attrs = &mica__linear_attr_list,
                                  .launch = launch_linear,
                                  .fuse_epilogue = mica__linear_fuse_epilogue,
                                  .takes_strides = 3,
                                  .takes_halves = 3};
