/* Operators of com.microsoft that onnxruntime's optimiser writes: fusions of common sequences of operators. */
#include "onnx/ops/microsoft.h"

#include "onnx/lowering.h"
#include "onnx/ops/attention.h"
#include "onnx/ops/table.h"

#include <math.h>
#include <mica/attention.h>
#include <stdio.h>
#include <string.h>

mica_value mica__lower_as(mica__lowering *l, const mica__onnx_node *node, const char *op, int64_t version,
                          const mica_value *operands, int32_t count) {
  if (node->output_count < 1) {
    mica__lower_fail(l, node, MICA_E_FORMAT, "the node has no outputs, but needs at least 1");
    return (mica_value){0};
  }
  size_t room = strlen(node->outputs[0]) + 32;
  char **names = mica__lower_room(l, (size_t)count + 1, sizeof *names);
  for (int32_t i = 0; names && i <= count; i++) {
    names[i] = mica__lower_room(l, room, 1);
    if (!names[i]) return (mica_value){0};
    snprintf(names[i], room, "%s#%d", node->outputs[0], (int)i);
    if (i == count || !operands[i].graph) continue;
    if (mica__scope_put(l, names[i], (mica__lower_value){.value = operands[i]}) != MICA_OK) return (mica_value){0};
  }
  if (!names) return (mica_value){0};
  mica__onnx_node as = *node;
  as.op = op;
  as.domain = "";
  as.version = version;
  as.inputs = names;
  as.input_count = count;
  as.outputs = &names[count];
  as.output_count = 1;
  for (int32_t i = 0; i < count; i++)
    if (!operands[i].graph) names[i][0] = '\0';
  const mica__onnx_op *found = mica__onnx_op_find("", op, version);
  if (!found || found->lower(l, &as) != MICA_OK || l->status != MICA_OK || l->demands) return (mica_value){0};
  return mica__scope_value(l, node, names[count]);
}

/* --- products and activations --- */

MICA__LOWER(fused_matmul) {
  mica_value v[2] = {x_of(l, node), mica__lower_operand(l, node, 1)};
  if (!v[0].graph || !v[1].graph) return MICA_OK;
  const char *const flips[] = {"transA", "transB"};
  if (mica__onnx_int(node, "transBatchA", 0) || mica__onnx_int(node, "transBatchB", 0))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "transBatchA and transBatchB are not supported");
  for (int k = 0; k < 2; k++) {
    int32_t rank = mica_value_shape(v[k]).rank;
    mica_axes order = {.count = rank};
    if (!mica__onnx_int(node, flips[k], 0) || rank < 2) continue;
    for (int32_t i = 0; i < rank; i++) order.axis[i] = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    v[k] = mica_transpose(v[k], order);
  }
  double alpha = mica__onnx_real(node, "alpha", 1);
  mica_value y = mica_matmul(v[0], v[1]);
  return give(l, node, alpha == 1 ? y : mica_affine(y, alpha, 0));
}

/* Applies the activation that the node names, with the parameters a and b; returns y if the node names none. */
static mica_value activated(mica__lowering *l, const mica__onnx_node *node, mica_value y, double a, double b) {
  switch (mica__lower_choice(l, node, "activation", "Relu Sigmoid Tanh LeakyRelu Clip HardSigmoid", -1)) {
  case 0: return mica_relu(y);
  case 1: return mica_sigmoid(y);
  case 2: return mica_tanh(y);
  case 3: return mica_leaky_relu(y, a);
  case 4: return mica_clip(y, a, b);
  case 5: return mica_hard_sigmoid(y, a, b);
  default: return y;
  }
}

/* activation(conv(x, w) + bias + z), where bias and z are optional. */
MICA__LOWER(fused_conv) {
  const mica_value operands[] = {x_of(l, node), mica__lower_operand(l, node, 1), given(l, node, 2)};
  const Onnx__AttributeProto *list = mica__onnx_attr(node, "activation_params");
  double a = list && list->n_floats > 0 ? (double)list->floats[0] : 0;
  double b = list && list->n_floats > 1 ? (double)list->floats[1] : 0;
  if (!operands[0].graph || !operands[1].graph) return MICA_OK;
  mica_value y = mica__lower_as(l, node, "Conv", 11, operands, 3), z = given(l, node, 3);
  if (!y.graph) return MICA_OK;
  return give(l, node, activated(l, node, z.graph ? mica_add(y, z) : y, a, b));
}

MICA__LOWER(fused_gemm) {
  const mica_value operands[] = {x_of(l, node), mica__lower_operand(l, node, 1), given(l, node, 2)};
  if (!operands[0].graph || !operands[1].graph) return MICA_OK;
  mica_value y = mica__lower_as(l, node, "Gemm", 13, operands, 3);
  double a = mica__onnx_real(node, "activation_alpha", 0), b = mica__onnx_real(node, "activation_beta", 0);
  return y.graph ? give(l, node, activated(l, node, y, a, b)) : MICA_OK;
}

MICA__LOWER(erf_gelu) { return give(l, node, mica_gelu(x_of(l, node))); }

MICA__LOWER(bias_gelu) { return give(l, node, mica_gelu(mica_add(x_of(l, node), mica__lower_operand(l, node, 1)))); }

MICA__LOWER(fast_gelu) {
  mica_value x = x_of(l, node), bias = given(l, node, 1);
  return give(l, node, mica_gelu_tanh(bias.graph ? mica_add(x, bias) : x));
}

MICA__LOWER(quick_gelu) {
  mica_value x = x_of(l, node);
  return give(l, node, mica_mul(x, mica_sigmoid(mica_affine(x, mica__onnx_real(node, "alpha", 1.702), 0))));
}

/* --- norms --- */

/* Adds the value of the skip connection, and a bias if any, to x. Callers also store this sum as result 3. */
static mica_value skipped(mica__lowering *l, const mica__onnx_node *node, int32_t bias_at) {
  mica_value x = x_of(l, node), bias = given(l, node, bias_at);
  mica_value sum = mica_add(x, mica__lower_operand(l, node, 1));
  return bias.graph ? mica_add(sum, bias) : sum;
}

MICA__LOWER(skip_layer_norm) {
  mica_value sum = skipped(l, node, 4), scale = mica__lower_operand(l, node, 2), bias = given(l, node, 3);
  double epsilon = mica__onnx_real(node, "epsilon", 1e-12);
  if (!sum.graph || !scale.graph) return MICA_OK;
  mica__lower_result(l, node, 0, mica_layer_norm(sum, mica_value_shape(sum).rank - 1, scale, bias, epsilon));
  mica__lower_result(l, node, 3, sum);
  return MICA_OK;
}

MICA__LOWER(skip_rms_norm) {
  mica_value sum = skipped(l, node, 3), scale = mica__lower_operand(l, node, 2);
  double epsilon = mica__onnx_real(node, "epsilon", 1e-12);
  if (!sum.graph || !scale.graph) return MICA_OK;
  mica__lower_result(l, node, 0, mica_rms_norm(sum, mica_value_shape(sum).rank - 1, scale, epsilon));
  mica__lower_result(l, node, 3, sum);
  return MICA_OK;
}

MICA__LOWER(simplified_layer_norm) {
  int64_t axis = mica__onnx_int(node, "axis", -1);
  double epsilon = mica__onnx_real(node, "epsilon", 1e-5);
  mica_value x = x_of(l, node), scale = mica__lower_operand(l, node, 1);
  if (!x.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  mica__lower_result(l, node, 0, mica_rms_norm(x, (int32_t)axis, scale, epsilon));
  if (!mica__lower_wants(node, 1)) return MICA_OK;
  mica_axes axes = {0};
  for (int64_t i = axis; i < mica_value_shape(x).rank; i++) axes.axis[axes.count++] = (int32_t)i;
  mica_value square = mica_mean(mica_square(mica_cast(x, MICA_F32)), axes, true);
  mica__lower_result(l, node, 1, mica_rsqrt(mica_affine(square, 1, epsilon)));
  return MICA_OK;
}

/* Adds and normalises the embeddings of words, positions and segments. Result 1 is the number of unmasked words of each
 * sequence; 0 if there is no mask. */
MICA__LOWER(embed_layer_norm) {
  mica_value ids = x_of(l, node), segments = given(l, node, 1), words = mica__lower_operand(l, node, 2);
  mica_value rows = mica__lower_operand(l, node, 3), kinds = given(l, node, 4), mask = given(l, node, 7);
  mica_value scale = mica__lower_operand(l, node, 5), bias = mica__lower_operand(l, node, 6);
  mica_value at = given(l, node, 8);
  if (!ids.graph || !words.graph || !rows.graph || !scale.graph || !bias.graph) return MICA_OK;
  if (mica_value_shape(ids).rank != 2)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "input_ids has rank %d, but must have 2: (batch, length)",
                            (int)mica_value_shape(ids).rank);
  int64_t batch = mica_value_shape(ids).dim[0], length = mica_value_shape(ids).dim[1];
  if (!at.graph) at = mica_range(mica__lower_graph(l), MICA_I32, length);
  mica_value sum = mica_add(mica_gather(words, ids, 0), mica_gather(rows, at, 0));
  if (segments.graph && kinds.graph) sum = mica_add(sum, mica_gather(kinds, segments, 0));
  double epsilon = mica__onnx_real(node, "epsilon", 1e-12);
  mica__lower_result(l, node, 0, mica_layer_norm(sum, 2, scale, bias, epsilon));
  if (mica__lower_wants(node, 1))
    mica__lower_result(l, node, 1,
                       mask.graph ? mica_sum(mica_cast(mask, MICA_I32), MICA_AXES(1), false)
                                  : mica_full(mica__lower_graph(l), MICA_I32, MICA_SHAPE(batch), 0));
  mica__lower_result(l, node, 2, sum);
  return MICA_OK;
}

/* --- attention --- */

typedef struct heads {
  mica_value q, k, v; /* (batch, heads, rows, width) */
  int64_t count;
} heads;

/* Converts a mask of keys to a bias that is 0 for visible keys and mask_filter_value for hidden ones; null stays null.
 * Records an error and returns null for other ranks than these:
 *
 * - (batch): the number of visible keys of each sequence
 * - (batch, keys) or (batch, rows, keys): 0 for hidden keys, another number for visible ones */
static mica_value key_mask(mica__lowering *l, const mica__onnx_node *node, mica_value mask, int64_t keys) {
  if (!mask.graph) return mask;
  mica_shape s = mica_value_shape(mask);
  double least = mica__onnx_real(node, "mask_filter_value", -10000);
  mica_value seen = {0};
  if (s.rank == 1)
    seen = mica_less(mica_range(mica__lower_graph(l), MICA_I32, keys),
                     mica_reshape(mica_cast(mask, MICA_I32), MICA_SHAPE(s.dim[0], 1, 1, 1)));
  else if (s.rank == 2)
    seen = mica_not_equal(mica_reshape(mask, MICA_SHAPE(s.dim[0], 1, 1, s.dim[1])), mica__lower_number(mask, 0));
  else if (s.rank == 3)
    seen = mica_not_equal(mica_reshape(mask, MICA_SHAPE(s.dim[0], 1, s.dim[1], s.dim[2])), mica__lower_number(mask, 0));
  if (s.rank < 1 || s.rank > 3) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "the mask has rank %d, but must have 1, 2 or 3: (batch), (batch, keys) or (batch, rows, keys)",
                     (int)s.rank);
    return seen;
  }
  mica_graph *graph = mica__lower_graph(l);
  return mica_where(seen, mica_scalar(graph, MICA_F32, 0), mica_scalar(graph, MICA_F32, least));
}

/* Computes the attention, reshapes it to (batch, rows, heads * width) and stores it as result 0. `past` is the number
 * of keys before the first query. */
static mica_status attend(mica__lowering *l, const mica__onnx_node *node, const heads *h, mica_value mask,
                          mica_value bias, int64_t past) {
  if (!h->q.graph || !h->k.graph || !h->v.graph) return MICA_OK;
  mica_shape s = mica_value_shape(h->q);
  int64_t width = mica_value_shape(h->v).dim[3], keys = mica_value_shape(h->k).dim[2];
  mask = key_mask(l, node, mask, keys);
  if (bias.graph) bias = mica_cast(bias, MICA_F32);
  mica_attention_config config = {.causal = mica__onnx_int(node, "unidirectional", 0) != 0,
                                  .scale = mica__onnx_real(node, "scale", 0),
                                  .mask = mask.graph && bias.graph ? mica_add(mask, bias)
                                          : bias.graph             ? bias
                                                                   : mask};
  if (past) config.offset = mica_full(mica__lower_graph(l), MICA_I32, MICA_SHAPE(1), (double)past);
  mica_value y = mica_transpose(mica_attention(h->q, h->k, h->v, &config), MICA_AXES(0, 2, 1, 3));
  int64_t row = 0;
  if (!mica__lower_product(l, node, h->count, width, INT64_MAX, &row)) return MICA_OK;
  return give(l, node, mica_reshape(y, MICA_SHAPE(s.dim[0], s.dim[2], row)));
}

/* Computes x w + b, splits it into queries, keys and values, and computes their attention. The keys and values of
 * operand 4, if given, come before the new ones. */
MICA__LOWER(fused_attention) {
  mica_value x = x_of(l, node), w = mica__lower_operand(l, node, 1), b = given(l, node, 2), past = given(l, node, 4);
  mica__integers sizes;
  heads h = {.count = mica__onnx_int(node, "num_heads", 0)};
  if (!x.graph || !w.graph) return MICA_OK;
  int64_t all = mica_value_shape(w).rank == 2 ? mica_value_shape(w).dim[1] : 0, own[3] = {all / 3, all / 3, all / 3};
  (void)mica__onnx_ints(node, "qkv_hidden_sizes", &sizes);
  if (sizes.count && sizes.count != 3)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "qkv_hidden_sizes has %lld numbers, but must have 3",
                            (long long)sizes.count);
  if (sizes.count) memcpy(own, sizes.values, sizeof own);
  int64_t sum = 0;
  const bool fit = mica_value_shape(w).rank == 2 && !__builtin_add_overflow(own[0], own[1], &sum) &&
                   !__builtin_add_overflow(sum, own[2], &sum) && sum == all;
  if (mica__onnx_int(node, "do_rotary", 0))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "do_rotary is not supported");
  if (mica_value_shape(x).rank != 3)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the input has rank %d, but must have 3: (batch, rows, width)",
                            (int)mica_value_shape(x).rank);
  if (h.count < 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "num_heads is %lld, but must be at least 1", (long long)h.count);
  char text[MICA_SHAPE_TEXT];
  if (!fit)
    return mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "the weight is %s, but must be a matrix with a known number of columns: the sum of the three qkv_hidden_sizes, "
        "or a multiple of 3 if they are absent",
        mica_shape_format(mica_value_shape(w), text));
  mica_value y = mica_matmul(x, w), part[3];
  if (b.graph) y = mica_add(y, b);
  mica_split(y, 2, own, 3, part);
  h.q = mica__lower_split_heads(l, node, part[0], h.count);
  h.k = mica__lower_split_heads(l, node, part[1], h.count);
  h.v = mica__lower_split_heads(l, node, part[2], h.count);
  int64_t before = 0;
  if (past.graph && h.k.graph && h.v.graph) { /* past keys, then past values: (2, batch, heads, rows, width) */
    mica_value of[2];
    mica_split(past, 0, (int64_t[]){1, 1}, 2, of);
    before = mica_value_shape(past).dim[3];
    h.k = mica_concat((mica_value[]){mica_squeeze(of[0], MICA_AXES(0)), h.k}, 2, 2);
    h.v = mica_concat((mica_value[]){mica_squeeze(of[1], MICA_AXES(0)), h.v}, 2, 2);
  }
  if (mica__lower_wants(node, 1) && h.k.graph && h.v.graph)
    mica__lower_result(
        l, node, 1,
        mica_concat((mica_value[]){mica_unsqueeze(h.k, MICA_AXES(0)), mica_unsqueeze(h.v, MICA_AXES(0))}, 2, 0));
  return attend(l, node, &h, given(l, node, 3), given(l, node, 5), before);
}

MICA__LOWER(multi_head_attention) {
  mica_value v[3] = {x_of(l, node), given(l, node, 1), given(l, node, 2)}, b = given(l, node, 3);
  heads h = {.count = mica__onnx_int(node, "num_heads", 0)};
  if (!v[0].graph) return MICA_OK;
  if (!v[1].graph || !v[2].graph)
    return mica__lower_fail(
        l, node, MICA_E_UNSUPPORTED,
        "key and value must both be given; one input that packs query, key or value together is not supported");
  if (mica_value_shape(v[0]).rank != 3)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "query has rank %d, but must have 3: (batch, rows, width)",
                            (int)mica_value_shape(v[0]).rank);
  int64_t own[3];
  for (int k = 0; k < 3; k++) {
    mica_shape s = mica_value_shape(v[k]);
    if (s.rank != 3 && s.rank != 4)
      return mica__lower_fail(l, node, MICA_E_SHAPE, "%s has rank %d, but must have 3 or 4", k == 1 ? "key" : "value",
                              (int)s.rank);
    own[k] = s.rank == 4 ? s.dim[1] * s.dim[3] : s.dim[s.rank - 1];
  }
  mica_value part[3] = {{0}};
  if (b.graph) mica_split(b, 0, own, 3, part);
  for (int k = 0; k < 3; k++) {
    if (b.graph && mica_value_shape(v[k]).rank == 3) v[k] = mica_add(v[k], part[k]);
    v[k] = mica__lower_split_heads(l, node, v[k], h.count);
  }
  h.q = v[0], h.k = v[1], h.v = v[2];
  mica_value past_k = given(l, node, 6), past_v = given(l, node, 7);
  if (past_k.graph ? !past_v.graph : past_v.graph != NULL)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "%s is given, but %s is not; give both or neither",
                            past_k.graph ? "past_key" : "past_value", past_k.graph ? "past_value" : "past_key");
  int64_t before = past_k.graph ? mica_value_shape(past_k).dim[2] : 0;
  if (past_k.graph && past_v.graph && h.k.graph && h.v.graph) {
    h.k = mica_concat((mica_value[]){past_k, h.k}, 2, 2);
    h.v = mica_concat((mica_value[]){past_v, h.v}, 2, 2);
  }
  if (h.k.graph) mica__lower_result(l, node, 1, h.k);
  if (h.v.graph) mica__lower_result(l, node, 2, h.v);
  return attend(l, node, &h, given(l, node, 4), given(l, node, 5), before);
}
