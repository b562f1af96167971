#include "onnx/ops/attention.h"
#include "onnx/ops/family.h"

#include <math.h>

/* The most time steps that are unrolled. */
#define MOST_STEPS 1000

static mica_value optional(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
}

/* Convolves each channel of x (batch, channels, steps) with its own filter. The state is the steps before x that the
 * filter needs, one fewer than the filter has elements. Operand 3 is the state before x (zeros if absent), and result 1
 * the state after x. */
MICA__LOWER(causal_conv) {
  mica_value x = x_of(l, node), w = mica__lower_operand(l, node, 1), past = optional(l, node, 3);
  int32_t activation = mica__lower_choice(l, node, "activation", "none silu swish", 0);
  if (!x.graph || !w.graph) return MICA_OK;
  mica_shape s = mica_value_shape(x);
  if (s.rank != 3 || mica_value_shape(w).rank != 3)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "the input has rank %d and the weight rank %d, but both must have rank 3", (int)s.rank,
                            (int)mica_value_shape(w).rank);
  int64_t state = mica_value_shape(w).dim[2] - 1;
  if (!past.graph)
    past = mica_full(mica__lower_graph(l), mica_value_dtype(x), MICA_SHAPE(s.dim[0], s.dim[1], state), 0);
  mica_value whole = state ? mica_concat((mica_value[]){past, x}, 2, 2) : x;
  mica_value y = mica_conv(whole, w, optional(l, node, 2), &(mica_conv_config){.groups = s.dim[1]});
  mica__lower_result(l, node, 0, activation ? mica_silu(y) : y);
  if (mica__lower_wants(node, 1)) mica__lower_result(l, node, 1, mica_slice(whole, 2, s.dim[2], s.dim[2] + state, 1));
  return MICA_OK;
}

typedef struct linear {
  bool decays, corrects;           /* decays: the update rule includes "gated"; corrects: it includes "delta" */
  mica_value q, k, v, decay, beta; /* (batch, steps, heads, width), f32 */
  mica_value state;                /* (batch, heads, width of keys, width of values) */
  int64_t steps, heads, query_heads;
} linear;

/* Reshapes (batch, steps, heads * width) to (batch, steps, heads, width), in f32. */
static mica_value apart(mica_value x, int64_t heads) {
  mica_shape s = mica_value_shape(x);
  return mica_cast(mica_reshape(x, MICA_SHAPE(s.dim[0], s.dim[1], heads, MICA_DYNAMIC)), MICA_F32);
}

/* Step t, as (batch, heads, width). */
static mica_value at(mica_value x, int64_t t) { return mica_squeeze(mica_slice(x, 1, t, t + 1, 1), MICA_AXES(1)); }
static mica_value row(mica_value x) { return mica_unsqueeze(x, MICA_AXES(2)); }
static mica_value column(mica_value x) { return mica_unsqueeze(x, MICA_AXES(3)); }

/* Updates the state S for step t and returns q S. If the rule includes "gated", S is first multiplied by e^decay. If it
 * includes "delta", v is replaced by beta (v - S^T k). Then k v^T is added to S. */
static mica_value step(linear *a, int64_t t) {
  mica_value k = column(at(a->k, t)), v = at(a->v, t);
  if (a->decays) a->state = mica_mul(a->state, column(mica_exp(at(a->decay, t))));
  if (a->corrects) {
    mica_value known = mica_squeeze(mica_matmul(mica_transpose(a->state, MICA_AXES(0, 1, 3, 2)), k), MICA_AXES(3));
    v = mica_mul(at(a->beta, t), mica_sub(v, known));
  }
  a->state = mica_add(a->state, mica_mul(k, row(v)));
  return mica_matmul(row(at(a->q, t)), mica__lower_share_heads(a->state, a->query_heads));
}

static bool take_operands(mica__lowering *l, const mica__onnx_node *node, linear *a) {
  int32_t rule = mica__lower_choice(l, node, "update_rule", "linear gated delta gated_delta", 3);
  mica_value q = x_of(l, node), k = mica__lower_operand(l, node, 1), v = mica__lower_operand(l, node, 2);
  a->decays = rule & 1;
  a->corrects = rule & 2;
  a->query_heads = mica__onnx_int(node, "q_num_heads", 0);
  a->heads = mica__onnx_int(node, "kv_num_heads", 0);
  if (!q.graph || !k.graph || !v.graph) return false;
  const int32_t ranks[] = {mica_value_shape(q).rank, mica_value_shape(k).rank, mica_value_shape(v).rank};
  a->steps = ranks[0] == 3 ? mica_value_shape(q).dim[1] : -1;
  if (a->heads < 1 || a->query_heads < 1 || a->query_heads % a->heads) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "q_num_heads (%lld) must be a multiple of kv_num_heads (%lld), and both must be at least 1",
                     (long long)a->query_heads, (long long)a->heads);
    return false;
  }
  if (ranks[0] != 3 || ranks[1] != 3 || ranks[2] != 3) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "query, key and value have the ranks %d, %d and %d, but each must have 3: (batch, steps, width)",
                     (int)ranks[0], (int)ranks[1], (int)ranks[2]);
    return false;
  }
  if (a->steps < 1 || a->steps > MOST_STEPS) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "the number of steps is %lld (-1: not known), but must be known and 1 to %d", (long long)a->steps,
                     MOST_STEPS);
    return false;
  }
  a->q = apart(q, a->query_heads);
  a->k = apart(k, a->heads);
  a->v = apart(v, a->heads);
  if (a->decays) a->decay = apart(mica__lower_operand(l, node, 4), a->heads);
  if (a->corrects) {
    mica_value beta = mica__lower_operand(l, node, 5);
    a->beta = beta.graph ? apart(beta, mica_value_shape(beta).dim[2]) : beta;
  }
  mica_value past = optional(l, node, 3);
  mica_shape keys = mica_value_shape(a->k), values = mica_value_shape(a->v);
  a->state = past.graph ? mica_cast(past, MICA_F32)
                        : mica_full(mica__lower_graph(l), MICA_F32,
                                    MICA_SHAPE(keys.dim[0], a->heads, keys.dim[3], values.dim[3]), 0);
  return a->q.graph && a->k.graph && a->v.graph;
}

/* Attention without a softmax: a recurrence over a state matrix, step by step (Katharopoulos et al. 2020, Yang et al.
 * 2024). */
MICA__LOWER(linear_attention) {
  linear a = {0};
  if (!take_operands(l, node, &a)) return MICA_OK;
  mica_value *steps = mica__lower_room(l, (size_t)a.steps, sizeof *steps);
  if (!steps) return MICA_E_NOMEM;
  double scale = mica__onnx_real(node, "scale", 0);
  if (scale == 0) scale = 1 / sqrt((double)mica_value_shape(a.q).dim[3]);
  for (int64_t t = 0; t < a.steps; t++) {
    mica_value y = step(&a, t);
    mica_shape s = mica_value_shape(y);
    if (!y.graph) return MICA_OK;
    steps[t] = mica_reshape(y, MICA_SHAPE(s.dim[0], 1, s.dim[1] * s.dim[3]));
  }
  mica_dtype dtype = mica_value_dtype(x_of(l, node));
  mica_value y = a.steps == 1 ? steps[0] : mica_concat(steps, (size_t)a.steps, 1);
  mica__lower_result(l, node, 0, mica_cast(mica_affine(y, scale, 0), dtype));
  mica__lower_result(l, node, 1, mica_cast(a.state, dtype));
  return MICA_OK;
}
