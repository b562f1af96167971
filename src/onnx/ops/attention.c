/* Scaled dot-product attention (Vaswani et al. 2017) as in ONNX 23 to 25. Heads have an axis of their own or are joined
 * in the last axis. Several query heads may share one key head. Supports caches, masks, windows and a soft cap. */
#include "onnx/ops/attention.h"

#include "onnx/ops/family.h"

#include <mica/attention.h>

#include <math.h>

typedef struct attention {
  mica_value q, k, v;        /* (batch, heads, rows, width) */
  mica_value past_k, past_v; /* null: none */
  int64_t past;              /* rows of the cache */
  int64_t heads, key_heads;
  bool flat; /* q, k and v came as (batch, rows, heads * width) */
  /* The window: query i is at position p = offset + i, and sees the keys j with p - left <= j <= p + right. If left or
   * right is -1, there is no limit on that side. */
  int64_t left, right;
  mica_value lengths; /* (batch): the number of keys of each sequence; null: all */
  mica_value offset;  /* i64, one number or (batch); null: 0 */
} attention;

static mica_value optional(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
}

mica_value mica__lower_split_heads(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t heads) {
  mica_shape s = mica_value_shape(x);
  if (!x.graph || s.rank == 4) return x;
  if (s.rank != 3 || heads < 1 || s.dim[2] % heads) {
    char text[MICA_SHAPE_TEXT];
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "an operand has the shape %s and the number of heads is %lld, but the shape must be (batch, rows, "
                     "width), the number of heads at least 1, and the width known and a multiple of that number",
                     mica_shape_format(s, text), (long long)heads);
    return (mica_value){0};
  }
  mica_value apart = mica_reshape(x, MICA_SHAPE(s.dim[0], s.dim[1], heads, s.dim[2] / heads));
  return mica_transpose(apart, MICA_AXES(0, 2, 1, 3));
}

/* Reads the window and nonpad_kv_seqlen, and sets a->offset, the position of the first query. False, with an error
 * recorded, if they are invalid.
 *
 * - is_causal replaces right_window_size by 0.
 * - With a past cache, the offset is the number of its rows.
 * - With nonpad_kv_seqlen, k and v already are the whole cache, which is padded. Then the queries are at the last valid
 *   positions of each sequence, so the offset is the sequence's length minus the number of queries. */
static bool take_window(mica__lowering *l, const mica__onnx_node *node, attention *a) {
  a->left = mica__onnx_int(node, "left_window_size", -1);
  a->right = mica__onnx_int(node, "right_window_size", -1);
  if (a->left < -1 || a->right < -1 || a->left > INT32_MAX || a->right > INT32_MAX) {
    mica__lower_fail(l, node, MICA_E_INVALID,
                     "left_window_size (%lld) and right_window_size (%lld) must be -1 (no limit) to 2^31 - 1",
                     (long long)a->left, (long long)a->right);
    return false;
  }
  if (mica__onnx_int(node, "is_causal", 0)) a->right = 0;
  a->lengths = optional(l, node, 6);
  if (a->lengths.graph && a->past_k.graph) {
    mica__lower_fail(l, node, MICA_E_INVALID, "nonpad_kv_seqlen and past_key cannot both be given");
    return false;
  }
  if (a->lengths.graph && mica_value_shape(a->lengths).rank != 1) {
    mica__lower_fail(l, node, MICA_E_INVALID, "nonpad_kv_seqlen has rank %d, but must have 1: (batch)",
                     (int)mica_value_shape(a->lengths).rank);
    return false;
  }
  if (a->past) a->offset = mica_scalar(mica__lower_graph(l), MICA_I64, (double)a->past);
  if (a->lengths.graph) {
    a->lengths = mica_cast(a->lengths, MICA_I64);
    a->offset = mica_sub(a->lengths, mica__lower_number(a->lengths, (double)mica_value_shape(a->q).dim[2]));
  }
  return true;
}

static bool take_operands(mica__lowering *l, const mica__onnx_node *node, attention *a) {
  mica_value q = x_of(l, node), k = mica__lower_operand(l, node, 1), v = mica__lower_operand(l, node, 2);
  if (!q.graph || !k.graph || !v.graph) return false;
  a->flat = mica_value_shape(q).rank == 3;
  a->heads = a->flat ? mica__onnx_int(node, "q_num_heads", 0) : mica_value_shape(q).dim[1];
  a->key_heads = a->flat ? mica__onnx_int(node, "kv_num_heads", 0) : mica_value_shape(k).dim[1];
  a->q = mica__lower_split_heads(l, node, q, a->heads);
  a->k = mica__lower_split_heads(l, node, k, a->key_heads);
  a->v = mica__lower_split_heads(l, node, v, a->key_heads);
  a->past_k = optional(l, node, 4);
  a->past_v = optional(l, node, 5);
  a->past = a->past_k.graph ? mica_value_shape(a->past_k).dim[2] : 0;
  if (a->past_k.graph) a->k = mica_concat((mica_value[]){a->past_k, a->k}, 2, 2);
  if (a->past_v.graph) a->v = mica_concat((mica_value[]){a->past_v, a->v}, 2, 2);
  if (!a->q.graph || !a->k.graph || !a->v.graph) return false;
  if (a->key_heads >= 1 && a->heads % a->key_heads == 0 && mica_value_shape(a->k).rank == 4)
    return take_window(l, node, a);
  mica__lower_fail(
      l, node, MICA_E_SHAPE,
      "the number of query heads (%lld) must be a multiple of the number of key heads (%lld), and both must be known "
      "(-1: not known) and at least 1",
      (long long)a->heads, (long long)a->key_heads);
  return false;
}

mica_value mica__lower_share_heads(mica_value x, int64_t heads) {
  mica_shape s = mica_value_shape(x);
  if (!x.graph || s.dim[1] == heads) return x;
  if (s.rank != 4 || s.dim[1] < 1)
    return mica_graph_fail(x.graph, MICA_E_SHAPE,
                           "heads can be shared only in operands of rank 4 with a known number of heads");
  mica_value apart = mica_reshape(x, MICA_SHAPE(s.dim[0], s.dim[1], 1, s.dim[2], s.dim[3]));
  mica_value wide = mica_expand(apart, MICA_SHAPE(s.dim[0], s.dim[1], heads / s.dim[1], s.dim[2], s.dim[3]));
  return mica_reshape(wide, MICA_SHAPE(s.dim[0], heads, s.dim[2], s.dim[3]));
}

/* Converts a boolean mask to a bias of the dtype of `like`: 0 where `seen` is true, minus infinity where it is
 * false. */
static mica_value as_bias(mica_value seen, mica_value like) {
  return mica_where(seen, mica__lower_number(like, 0), mica__lower_number(like, -(double)INFINITY));
}

/* Converts the node's mask to a bias of the scores. If its last axis is shorter than `rows`, the number of keys, minus
 * infinity is appended to that axis; but a last axis of length 1 broadcasts. */
static mica_value mask_bias(mica_value mask, mica_value scores, int64_t rows) {
  int64_t before[MICA_MAX_RANK] = {0}, after[MICA_MAX_RANK] = {0};
  if (mica_value_dtype(mask) == MICA_BOOL) mask = as_bias(mask, scores);
  int32_t last = mica_value_shape(mask).rank - 1;
  if (!mask.graph || last < 0) return mica_cast(mask, mica_value_dtype(scores));
  after[last] = rows - mica_value_shape(mask).dim[last];
  if (after[last] > 0 && mica_value_shape(mask).dim[last] != 1)
    mask = mica_pad(mask, before, after, MICA_PAD_MODE_CONSTANT, -(double)INFINITY);
  return mica_cast(mask, mica_value_dtype(scores));
}

static mica_value add_bias(mica_value sum, mica_value bias) { return sum.graph ? mica_add(sum, bias) : bias; }

/* Reshapes (batch), one number per sequence, to broadcast with (batch, heads, rows, keys); returns a scalar
 * unchanged. */
static mica_value a_sequence(mica_value x) {
  mica_shape s = mica_value_shape(x);
  return s.rank == 1 ? mica_reshape(x, MICA_SHAPE(s.dim[0], 1, 1, 1)) : x;
}

/* Returns a mask that is true where the key is inside the query's window; null if the window has no limits. The shape
 * is (rows, keys), or (batch, 1, rows, keys) if a->offset has one number per sequence. */
static mica_value inside_window(mica__lowering *l, const attention *a) {
  if (a->left < 0 && a->right < 0) return (mica_value){0};
  int64_t rows = mica_value_shape(a->q).dim[2], keys = mica_value_shape(a->k).dim[2];
  mica_graph *graph = mica__lower_graph(l);
  mica_value key = mica_range(graph, MICA_I64, keys), seen = {0};
  mica_value at = mica_reshape(mica_range(graph, MICA_I64, rows), MICA_SHAPE(rows, 1));
  if (a->offset.graph) at = mica_add(at, a_sequence(a->offset));
  mica_value ahead = mica_sub(key, at);
  if (a->right >= 0) seen = mica_less_equal(ahead, mica__lower_number(ahead, (double)a->right));
  if (a->left < 0) return seen;
  mica_value near = mica_greater_equal(ahead, mica__lower_number(ahead, -(double)a->left));
  return seen.graph ? mica_logical_and(seen, near) : near;
}

/* The sum of all biases of the scores; null if there is no bias. */
static mica_value biases(mica__lowering *l, const mica__onnx_node *node, const attention *a, mica_value scores) {
  int64_t keys = mica_value_shape(a->k).dim[2];
  mica_value sum = {0}, inside = {0};
  if (!mica__lower_positions(l, node, keys) || !mica__lower_positions(l, node, mica_value_shape(a->q).dim[2]))
    return sum;
  inside = inside_window(l, a);
  if (inside.graph) sum = as_bias(inside, scores);
  if (mica__lower_has(l, node, 3)) sum = add_bias(sum, mask_bias(mica__lower_operand(l, node, 3), scores, keys));
  if (a->lengths.graph) {
    mica_value key = mica_range(mica__lower_graph(l), MICA_I64, keys);
    sum = add_bias(sum, as_bias(mica_less(key, a_sequence(a->lengths)), scores));
  }
  return sum;
}

/* Sets the weights of a query to 0 if it sees no key, that is, if its biases are all minus infinity. */
static mica_value zero_where_blind(mica_value weights, mica_value bias) {
  if (!weights.graph || !mica_value_shape(bias).rank) return weights;
  mica_value most = mica_max(bias, MICA_AXES(mica_value_shape(bias).rank - 1), true);
  mica_value blind = mica_equal(most, mica__lower_number(most, -(double)INFINITY));
  return mica_where(blind, mica__lower_number(weights, 0), weights);
}

/* Values of qk_matmul_output_mode, which chooses what result 3 holds.
 *
 * - SHOW_SCORES: the scaled products of queries and keys
 * - SHOW_CAPPED: the scores after the soft cap
 * - SHOW_BIASED: the capped scores plus the bias
 * - SHOW_SOFTMAX: the softmax of the biased scores; 0 for a query that sees no key */
enum { SHOW_SCORES, SHOW_CAPPED, SHOW_BIASED, SHOW_SOFTMAX };

static mica_value weights_of(mica__lowering *l, const mica__onnx_node *node, const attention *a, mica_value *shown) {
  double scale = mica__onnx_real(node, "scale", 0), cap = mica__onnx_real(node, "softcap", 0);
  int64_t show = mica__onnx_int(node, "qk_matmul_output_mode", 0);
  if (scale == 0) scale = 1 / sqrt((double)mica_value_shape(a->q).dim[3]);
  mica_value q = mica_affine(a->q, sqrt(scale), 0),
             k = mica_affine(mica__lower_share_heads(a->k, a->heads), sqrt(scale), 0);
  mica_value scores = mica_matmul(q, mica_transpose(k, MICA_AXES(0, 1, 3, 2)));
  if (!scores.graph) return scores;
  if (show == SHOW_SCORES) *shown = scores;
  if (cap != 0) scores = mica_affine(mica_tanh(mica_affine(scores, 1 / cap, 0)), cap, 0);
  if (show == SHOW_CAPPED) *shown = scores;
  mica_value bias = biases(l, node, a, scores);
  if (bias.graph) scores = mica_add(scores, bias);
  if (show == SHOW_BIASED) *shown = scores;
  mica_value weights = mica_softmax(scores, -1);
  if (bias.graph) weights = zero_where_blind(weights, bias);
  if (show == SHOW_SOFTMAX) *shown = weights;
  return weights;
}

/* --- in tiles --- */

/* True if mica_attention, which stores no matrix of all scores, can compute the node: result 3, which would be that
 * matrix, is not wanted, v has rank 4, and q, k and v have the same floating-point dtype. */
static bool is_tiled(const mica__onnx_node *node, const attention *a) {
  mica_dtype dtype = mica_value_dtype(a->q);
  return !mica__lower_wants(node, 3) && is_floating(a->q) && mica_value_dtype(a->k) == dtype &&
         mica_value_dtype(a->v) == dtype && mica_value_shape(a->v).rank == 4;
}

/* Expresses the window by the settings of mica_attention if the window ends at the query or is equally wide on both
 * sides. A window of any other shape is stored as a mask in *inside. */
static void tile_window(mica__lowering *l, const attention *a, mica_attention_config *config, mica_value *inside) {
  config->causal = a->right == 0;
  if (a->left >= 0 && (config->causal || a->left == a->right))
    config->window = a->left + 1;
  else if (!config->causal)
    *inside = inside_window(l, a);
  if (a->offset.graph && (config->causal || config->window)) config->offset = mica_cast(a->offset, MICA_I32);
}

static mica_value in_tiles(mica__lowering *l, const mica__onnx_node *node, const attention *a) {
  int64_t keys = mica_value_shape(a->k).dim[2];
  mica_value inside = {0};
  mica_attention_config config = {.scale = mica__onnx_real(node, "scale", 0),
                                  .soft_cap = mica__onnx_real(node, "softcap", 0)};
  tile_window(l, a, &config, &inside);
  config.mask = inside;
  if (a->lengths.graph) config.key_lengths = mica_cast(a->lengths, MICA_I32);
  if (mica__lower_has(l, node, 3)) {
    mica_value mask = mica__lower_operand(l, node, 3);
    mica_shape s = mica_value_shape(mask);
    bool seen = mica_value_dtype(mask) == MICA_BOOL && s.rank && (s.dim[s.rank - 1] == keys || s.dim[s.rank - 1] == 1);
    if (!mask.graph) return mask;
    if (!seen) mask = mask_bias(mask, a->q, keys);
    config.mask = !inside.graph ? mask : seen ? mica_logical_and(mask, inside) : mica_add(mask, as_bias(inside, a->q));
  }
  return mica_attention(a->q, a->k, a->v, &config);
}

MICA__LOWER(attention) {
  attention a = {0};
  mica_value shown = {0}, y;
  if (!take_operands(l, node, &a)) return MICA_OK;
  if (is_tiled(node, &a)) {
    y = in_tiles(l, node, &a);
  } else {
    mica_value weights = weights_of(l, node, &a, &shown);
    y = mica_matmul(weights, mica__lower_share_heads(a.v, a.heads));
  }
  mica_shape s = mica_value_shape(y);
  if (a.flat && y.graph)
    y = mica_reshape(mica_transpose(y, MICA_AXES(0, 2, 1, 3)), MICA_SHAPE(s.dim[0], s.dim[2], s.dim[1] * s.dim[3]));
  mica__lower_result(l, node, 0, y);
  mica__lower_result(l, node, 1, a.k);
  mica__lower_result(l, node, 2, a.v);
  if (mica__lower_wants(node, 3)) mica__lower_result(l, node, 3, shown);
  return MICA_OK;
}

/* --- positions --- */

/* Rotates pairs of elements of each row of x. Pair i, for i < width / 2, is elements 2 i and 2 i + 1 if `neighbours` is
 * set, else elements i and i + width / 2. It is rotated by the angle whose cosine and sine are element i of `cosine`
 * and `sine`, (batch, 1, rows, width / 2). */
static mica_value rotated(mica_value x, mica_value cosine, mica_value sine, bool neighbours) {
  mica_shape s = mica_value_shape(x);
  int64_t half = s.dim[3] / 2;
  mica_value a = neighbours ? mica_slice(x, 3, 0, s.dim[3], 2) : mica_slice(x, 3, 0, half, 1);
  mica_value b = neighbours ? mica_slice(x, 3, 1, s.dim[3], 2) : mica_slice(x, 3, half, s.dim[3], 1);
  mica_value real = mica_sub(mica_mul(cosine, a), mica_mul(sine, b));
  mica_value imaginary = mica_add(mica_mul(sine, a), mica_mul(cosine, b));
  if (!neighbours) return mica_concat((mica_value[]){real, imaginary}, 2, 3);
  mica_value pair[] = {mica_unsqueeze(real, MICA_AXES(4)), mica_unsqueeze(imaginary, MICA_AXES(4))};
  return mica_reshape(mica_concat(pair, 2, 4), s);
}

mica_value mica__lower_rotate(mica__lowering *l, const mica__onnx_node *node, mica_value x,
                              const mica__rotation *rotation) {
  const mica_value none = {0};
  mica_value cosine = rotation->cosine, sine = rotation->sine;
  int64_t width = rotation->width;
  if (!x.graph || !cosine.graph || !sine.graph) return none;
  mica_shape s = mica_value_shape(x);
  if (width == 0) width = s.dim[3];
  if (width < 2 || width % 2 || width > s.dim[3]) {
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "the number of rotated elements is %lld, but must be even and from 2 to %lld, the width of a head "
                     "(-1: not known)",
                     (long long)width, (long long)s.dim[3]);
    return none;
  }
  if (rotation->positions.graph) {
    cosine = mica_gather(cosine, rotation->positions, 0);
    sine = mica_gather(sine, rotation->positions, 0);
  }
  if (!cosine.graph || !sine.graph) return none;
  mica_shape angles = mica_value_shape(cosine);
  if (angles.rank != 3 || angles.dim[2] < width / 2 || mica_value_shape(sine).rank != 3) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "cosines and sines must have the shape %s, with a known n of at least %lld",
                     rotation->positions.graph ? "(positions, n) and position_ids (batch, rows)" : "(batch, rows, n)",
                     (long long)(width / 2));
    return none;
  }
  cosine = mica_unsqueeze(mica_slice(cosine, 2, 0, width / 2, 1), MICA_AXES(1));
  sine = mica_unsqueeze(mica_slice(sine, 2, 0, width / 2, 1), MICA_AXES(1));
  mica_value y = rotated(mica_slice(x, 3, 0, width, 1), cosine, sine, rotation->neighbours);
  if (width == s.dim[3]) return y;
  return mica_concat((mica_value[]){y, mica_slice(x, 3, width, s.dim[3], 1)}, 2, 3);
}

/* Rotary position embedding (Su et al. 2021). */
MICA__LOWER(rotary_embedding) {
  mica_value x = x_of(l, node);
  const mica__rotation rotation = {.cosine = mica__lower_operand(l, node, 1),
                                   .sine = mica__lower_operand(l, node, 2),
                                   .positions = optional(l, node, 3),
                                   .width = mica__onnx_int(node, "rotary_embedding_dim", 0),
                                   .neighbours = mica__onnx_int(node, "interleaved", 0)};
  if (!x.graph) return MICA_OK;
  mica_value y = mica__lower_split_heads(l, node, x, mica__onnx_int(node, "num_heads", 0));
  y = mica__lower_rotate(l, node, y, &rotation);
  if (!y.graph) return MICA_OK;
  if (mica_value_shape(x).rank == 3) y = mica_reshape(mica_transpose(y, MICA_AXES(0, 2, 1, 3)), mica_value_shape(x));
  return give(l, node, y);
}
