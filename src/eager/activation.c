/* Activations of tensors: the functions of mica_activation and their derivatives. */
#include "ops/common/activation.h"
#include "eager/eager.h"
#include "ops/common/operand.h"
#include "runtime/tensor.h"

#include <mica/nodes.h>
#include <mica/ops.h>

static mica_value apply(mica_activation activation, double p, mica_value x) {
  switch (activation) {
  case MICA_ACTIVATION_NONE: return x;
  case MICA_ACTIVATION_RELU: return mica_relu(x);
  case MICA_ACTIVATION_CLIPPED_RELU: return mica_clip(x, 0, p);
  case MICA_ACTIVATION_LEAKY_RELU: return mica_leaky_relu(x, p);
  case MICA_ACTIVATION_ELU: return mica_elu(x, p);
  case MICA_ACTIVATION_GELU: return mica_gelu(x);
  case MICA_ACTIVATION_GELU_TANH: return mica_gelu_tanh(x);
  case MICA_ACTIVATION_SIGMOID: return mica_sigmoid(x);
  case MICA_ACTIVATION_TANH: return mica_tanh(x);
  case MICA_ACTIVATION_SILU: return mica_silu(x);
  case MICA_ACTIVATION_SOFTPLUS: return mica_softplus(x);
  case MICA_ACTIVATION_HARD_SIGMOID: return mica_hard_sigmoid(x, 1.0 / 6, 0.5);
  case MICA_ACTIVATION_HARD_SWISH: return mica_hard_swish(x);
  }
  return (mica_value){0};
}

#define ACTIVATION_ATTRS(X, S)                                                                                         \
  X(S, ENUM, activation, MICA_ACTIVATION_NONE, "the function", mica__activation_names)                                 \
  X(S, REAL, argument, 0, "its p")
MICA__ATTR_STRUCT(activation_call, ACTIVATION_ATTRS);
static MICA__ATTR_TABLE(activation_call, ACTIVATION_ATTRS);

static void build(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  const mica__activation_call_attrs *attrs = call->attrs;
  out[0] = apply((mica_activation)attrs->activation, attrs->argument, in[0]);
}

static mica_status check(mica_activation activation) {
  if ((size_t)activation <= MICA_ACTIVATION_HARD_SWISH) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "activation: %d is not an activation", (int)activation);
}

/* y = x; y may be the same tensor as x. */
static mica_status copy(mica_queue *queue, const mica_tensor *x, mica_tensor *y) {
  return x && y && mica__tensor_is_same(x, y) ? mica__operand_check(queue, "activation", "x", x)
                                              : mica_op_copy(queue, x, y);
}

mica_status mica_op_activation_fwd(mica_queue *queue, mica_activation activation, double argument, const mica_tensor *x,
                                   mica_tensor *y) {
  MICA_TRY(check(activation));
  if (activation == MICA_ACTIVATION_NONE) return copy(queue, x, y);
  mica__eager_call call = {.op = "activation_fwd",
                           .build = build,
                           .in_place = true,
                           .attr_list = &mica__activation_call_attr_list,
                           .attrs = &(mica__activation_call_attrs){(int32_t)activation, argument},
                           .in = {MICA__TENSOR(x)},
                           .out = {MICA__TENSOR(y)}};
  return mica__eager_run(queue, &call);
}

mica_status mica_op_activation_bwd(mica_queue *queue, mica_activation activation, double argument, const mica_tensor *x,
                                   const mica_tensor *dy, mica_tensor *dx) {
  MICA_TRY(check(activation));
  if (activation == MICA_ACTIVATION_NONE) return copy(queue, dy, dx);
  mica__eager_call call = {.op = "activation_bwd",
                           .build = build,
                           .backward = true,
                           .in_place = true,
                           .attr_list = &mica__activation_call_attr_list,
                           .attrs = &(mica__activation_call_attrs){(int32_t)activation, argument},
                           .in = {MICA__TENSOR(x), MICA__TENSOR(dy)},
                           .out = {MICA__TENSOR(dx)}};
  return mica__eager_run(queue, &call);
}
