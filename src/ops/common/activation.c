#include "ops/common/activation.h"

#include "ops/elementwise/elementwise.h"
#include "ops/select/registry.h"

#include <math.h>

/* Activations that have no attributes, or whose argument is their only attribute. */
static const struct {
  const mica__op *op;
  mica_activation activation;
} plain[] = {
    {&mica__op_relu, MICA_ACTIVATION_RELU},
    {&mica__op_leaky_relu, MICA_ACTIVATION_LEAKY_RELU},
    {&mica__op_elu, MICA_ACTIVATION_ELU},
    {&mica__op_gelu, MICA_ACTIVATION_GELU},
    {&mica__op_gelu_tanh, MICA_ACTIVATION_GELU_TANH},
    {&mica__op_sigmoid, MICA_ACTIVATION_SIGMOID},
    {&mica__op_tanh, MICA_ACTIVATION_TANH},
    {&mica__op_silu, MICA_ACTIVATION_SILU},
    {&mica__op_softplus, MICA_ACTIVATION_SOFTPLUS},
    {&mica__op_hard_swish, MICA_ACTIVATION_HARD_SWISH},
};

static bool find(const mica__node *node, mica_activation *activation, double *argument) {
  *argument = node->op->attrs ? mica__attr_number(&node->op->attrs->rows[0], node->attrs) : 0;
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (node->op != plain[i].op) continue;
    *activation = plain[i].activation;
    return true;
  }
  /* relu6 and similar: min(max(x, 0), high). */
  if (node->op != &mica__op_clip) return false;
  const mica__clip_attrs *clip = node->attrs;
  *activation = MICA_ACTIVATION_CLIPPED_RELU;
  *argument = clip->high;
  return clip->low == 0;
}

bool mica__activation_of(const mica__node *node, mica_activation *activation, double *argument) {
  if (!find(node, activation, argument)) return false;
  /* The epilogue computes in f32, so f64 nodes are refused if their argument, or a constant of the activation, is not
   * exact in f32. */
  bool rounded = (double)(float)*argument != *argument || *activation == MICA_ACTIVATION_GELU_TANH ||
                 *activation == MICA_ACTIVATION_HARD_SWISH;
  return node->type.dtype != MICA_F64 || !rounded;
}

const mica__op *mica__activation_op(mica_activation activation) {
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (plain[i].activation == activation && !plain[i].op->attrs) return plain[i].op;
  return NULL;
}

#define ACTIVATION_NAME(name, text) text,
const char *const mica__activation_names[] = {MICA_ACTIVATION_LIST(ACTIVATION_NAME)};
#undef ACTIVATION_NAME

const char *mica__activation_prelude(mica_activation activation, mica_dtype dtype) {
#define ACTIVATION_PRELUDE(name, text) "#define ACTIVATION mica_act_" text "\n",
  static const char *const preludes[] = {MICA_ACTIVATION_LIST(ACTIVATION_PRELUDE)};
#undef ACTIVATION_PRELUDE
  bool bounds = activation == MICA_ACTIVATION_NONE || activation == MICA_ACTIVATION_RELU;
  if (bounds && mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT) return "#define ACTIVATION mica_act_at_least\n";
  return activation == MICA_ACTIVATION_NONE ? NULL : preludes[activation];
}

float mica__activation_argument(mica_activation activation, float argument) {
  if (activation == MICA_ACTIVATION_NONE) return -INFINITY;
  return activation == MICA_ACTIVATION_RELU ? 0 : argument;
}
