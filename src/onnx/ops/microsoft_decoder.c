/* Operators of com.microsoft for decoders, as onnxruntime-genai writes them: grouped-query attention (Ainslie et al.
 * 2023) with a cache of keys and values, and rotary position embedding (Su et al. 2021). */
#include "onnx/ops/attention.h"
#include "onnx/ops/microsoft.h"

#include <mica/attention.h>
#include <mica/norm.h>

/* Operands of GroupQueryAttention. */
enum {
  QUERY,
  KEY,
  VALUE,
  PAST_KEY,
  PAST_VALUE,
  LENGTHS,
  TOTAL,
  COSINE,
  SINE,
  POSITIONS,
  BIAS,
  SINKS,
  KEY_SCALE,
  VALUE_SCALE,
  QUERY_NORM,
  KEY_NORM,
  NEW_ROWS,
};

typedef struct grouped {
  mica_value q, k, v;        /* (batch, heads, rows, width) */
  mica_value past_k, past_v; /* (batch, key heads, past, width); null: none */
  int64_t heads, key_heads, batch, rows, width, past;
  /* Rows of past and new keys together, with padding: past + rows if there is a window, else max(total_sequence_length,
   * past). */
  int64_t total;
  mica_value lengths; /* how many positions each sequence has after this call, (batch) i32 */
  mica_value first;   /* how many positions each sequence had before this call, (batch) i32; null: 0 */
  bool plain;         /* every sequence is known to fill the past cache, so the new rows are just appended */
  /* For a cache that holds only the last positions (sliding_window_cache). If the cache holds all positions, the fields
   * are 0 and null.
   *
   * - window: how many positions a query sees
   * - resident: how many rows of the past cache are in use, (batch) i32
   * - stays: the first row that stays in the cache after this call, (batch) i32. It is an index into the past rows in
   *   use followed by the new rows. */
  int64_t window;
  mica_value resident, stays;
} grouped;

static mica_value heads_of(mica__lowering *l, const mica__onnx_node *node, const grouped *g, const char *name,
                           mica_value x, int64_t heads) {
  mica_shape s = mica_value_shape(x);
  if (!x.graph) return x;
  if (s.rank == 3 && s.dim[0] == g->batch && s.dim[1] == g->rows) return mica__lower_split_heads(l, node, x, heads);
  char is[MICA_SHAPE_TEXT], query[MICA_SHAPE_TEXT];
  mica__lower_fail(
      l, node, MICA_E_SHAPE, "%s is %s, but must be (batch, rows, width) with the batch and rows of query, which is %s",
      name, mica_shape_format(s, is), mica_shape_format(MICA_SHAPE(g->batch, g->rows, g->heads * g->width), query));
  return (mica_value){0};
}

/* Splits queries, keys and values into heads. All three may come in one tensor. */
static bool take_heads(mica__lowering *l, const mica__onnx_node *node, grouped *g) {
  mica_value x = x_of(l, node), part[3] = {x, given(l, node, KEY), given(l, node, VALUE)};
  g->heads = mica__onnx_int(node, "num_heads", 0);
  g->key_heads = mica__onnx_int(node, "kv_num_heads", 0);
  if (!x.graph) return false;
  mica_shape s = mica_value_shape(x);
  bool packed = !part[1].graph && !part[2].graph;
  if (g->key_heads < 1 || g->heads < g->key_heads || g->heads > INT32_MAX || g->heads % g->key_heads) {
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "num_heads (%lld) must be a multiple of kv_num_heads (%lld), and both must be 1 to 2^31 - 1",
                     (long long)g->heads, (long long)g->key_heads);
    return false;
  }
  if (s.rank != 3) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "query has rank %d, but must have 3: (batch, rows, heads times width)",
                     (int)s.rank);
    return false;
  }
  if (packed == (part[1].graph && part[2].graph)) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "%s is given, but %s is not; give both or neither",
                     part[1].graph ? "key" : "value", part[1].graph ? "value" : "key");
    return false;
  }
  int64_t all = g->heads + (packed ? 2 * g->key_heads : 0);
  if (s.dim[2] < all || s.dim[2] % all) {
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "the width of query is %lld (-1: not known), but must be a positive multiple of %lld, the number "
                     "of heads in it",
                     (long long)s.dim[2], (long long)all);
    return false;
  }
  g->batch = s.dim[0], g->rows = s.dim[1], g->width = s.dim[2] / all;
  const int64_t kv = g->key_heads * g->width, sizes[3] = {g->heads * g->width, kv, kv};
  if (packed) mica_split(x, 2, sizes, 3, part);
  g->q = heads_of(l, node, g, "query", part[0], g->heads);
  g->k = heads_of(l, node, g, "key", part[1], g->key_heads);
  g->v = heads_of(l, node, g, "value", part[2], g->key_heads);
  return g->q.graph && g->k.graph && g->v.graph;
}

static bool check_past(mica__lowering *l, const mica__onnx_node *node, const grouped *g, const char *name,
                       mica_value past) {
  mica_shape s = mica_value_shape(past);
  if (s.rank == 4 && s.dim[0] == g->batch && s.dim[1] == g->key_heads && s.dim[3] == g->width &&
      mica_value_dtype(past) == mica_value_dtype(g->q))
    return true;
  char is[MICA_SHAPE_TEXT];
  mica__lower_fail(l, node, MICA_E_SHAPE, "%s is %s %s, but must be %s (%lld, %lld, rows, %lld); -1 means not known",
                   name, mica_dtype_name(mica_value_dtype(past)), mica_shape_format(s, is),
                   mica_dtype_name(mica_value_dtype(g->q)), (long long)g->batch, (long long)g->key_heads,
                   (long long)g->width);
  return false;
}

/* Reads one number per sequence as i32 (batch); null, with an error recorded, if there are not `batch` numbers. */
static mica_value counts_of(mica__lowering *l, const mica__onnx_node *node, const grouped *g, int32_t k) {
  int64_t count = 0;
  mica_value x = mica__lower_operand(l, node, k);
  if (!x.graph) return x;
  if (mica_shape_count(mica_value_shape(x), &count) == MICA_OK && count == g->batch)
    return mica_reshape(mica_cast(x, MICA_I32), MICA_SHAPE(g->batch));
  char is[MICA_SHAPE_TEXT];
  mica__lower_fail(l, node, MICA_E_SHAPE,
                   "%s is %s, but must have one number per sequence; the batch has %lld sequences (-1: not known)",
                   k == LENGTHS ? "seqlens_k" : "query_seqlens", mica_shape_format(mica_value_shape(x), is),
                   (long long)g->batch);
  return (mica_value){0};
}

/* Computes g->lengths, g->first and g->plain. If a sequence has n keys after this call and m of them are new, it had n
 * - m before, so its new rows begin at position n - m. Without a past, g->first stays null unless there is a window or
 * query_seqlens.
 *
 * - n is seqlens_k + 1.
 * - m is query_seqlens. If this operand is absent, m is the smaller of n and the number of new rows. */
static bool take_first(mica__lowering *l, const mica__onnx_node *node, grouped *g, int64_t total) {
  double last = 0;
  g->lengths = counts_of(l, node, g, LENGTHS);
  if (!g->lengths.graph) return false;
  g->lengths = mica_add(g->lengths, mica__lower_number(g->lengths, 1));
  const bool padded = mica__lower_has(l, node, NEW_ROWS);
  if (!padded && !g->window && total == g->rows) return true;
  mica_value rows = padded ? counts_of(l, node, g, NEW_ROWS) : mica__lower_number(g->lengths, (double)g->rows);
  g->first = mica_maximum(mica_sub(g->lengths, rows), mica__lower_number(g->lengths, 0));
  g->plain = !padded && !g->window && mica__lower_known_number(l, node, LENGTHS, &last) &&
             last + 1 == (double)g->total && g->total == g->past + g->rows;
  return g->first.graph;
}

/* How many of n positions are in a cache of `capacity` rows: all if they fit, else the last ones. When a new position
 * finds the cache full, the oldest capacity - window + 1 positions are dropped. Then `window` positions remain, the new
 * one included. */
static mica_value resident_of(const grouped *g, mica_value n, int64_t capacity) {
  const double gap = (double)(capacity - g->window + 1);
  mica_value over = mica_maximum(mica_sub(n, mica__lower_number(n, (double)capacity)), mica__lower_number(n, 0));
  over = mica_div(mica_add(over, mica__lower_number(n, gap - 1)), mica__lower_number(n, gap));
  return mica_sub(n, mica_mul(over, mica__lower_number(n, gap)));
}

/* Computes g->resident and g->stays if there is a window. The keys are the past rows in use, then the new rows. The
 * cache after this call holds the last keys; resident_of computes how many. */
static bool take_window(mica__lowering *l, const mica__onnx_node *node, grouped *g) {
  if (!g->window) return true;
  if (g->window < 0 || g->past < g->window) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "local_window_size is %lld, but with sliding_window_cache it must be from 1 to the number of rows "
                     "of past_key, %lld (-1: not known)",
                     (long long)g->window, (long long)g->past);
    return false;
  }
  if (mica__lower_has(l, node, BIAS)) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "attention_bias is not supported with sliding_window_cache");
    return false;
  }
  g->resident = resident_of(g, g->first, g->past);
  mica_value all = mica_add(mica_sub(g->lengths, g->first), g->resident);
  g->stays = mica_sub(all, resident_of(g, g->lengths, g->past));
  return mica__lower_positions(l, node, g->past + g->rows) && g->stays.graph;
}

/* Reads the caches and the lengths of sequences. total_sequence_length is the largest length after this call. If it
 * equals the number of new rows, there is no past. */
static bool take_lengths(mica__lowering *l, const mica__onnx_node *node, grouped *g) {
  mica__integers total;
  g->past_k = given(l, node, PAST_KEY);
  g->past_v = given(l, node, PAST_VALUE);
  if (mica__onnx_int(node, "sliding_window_cache", 0)) g->window = mica__onnx_int(node, "local_window_size", -1);
  if (!mica__lower_integers(l, node, TOTAL, &total)) return false;
  if (g->past_k.graph ? !g->past_v.graph : g->past_v.graph != NULL) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "%s is given, but %s is not; give both or neither",
                     g->past_k.graph ? "past_key" : "past_value", g->past_k.graph ? "past_value" : "past_key");
    return false;
  }
  if (g->past_k.graph) {
    if (!check_past(l, node, g, "past_key", g->past_k) || !check_past(l, node, g, "past_value", g->past_v))
      return false;
    g->past = mica_value_shape(g->past_k).dim[2];
  }
  const int64_t most = total.count == 1 ? total.values[0] : -1;
  const bool any = g->window || mica__lower_has(l, node, NEW_ROWS);
  if (most < g->rows || (!any && most > g->past && most != g->past + g->rows)) {
    if (total.count != 1)
      mica__lower_fail(l, node, MICA_E_SHAPE, "total_sequence_length has %lld numbers, but must have 1",
                       (long long)total.count);
    else if (most < g->rows)
      mica__lower_fail(l, node, MICA_E_SHAPE,
                       "total_sequence_length is %lld, but must be at least %lld, the number of rows of query",
                       (long long)most, (long long)g->rows);
    else
      mica__lower_fail(l, node, MICA_E_SHAPE,
                       "total_sequence_length is %lld, but past_key has %lld rows and query %lld (-1: not known); it "
                       "must be at most the rows of past_key, or the sum of both",
                       (long long)most, (long long)g->past, (long long)g->rows);
    return false;
  }
  if (g->past && mica_value_shape(g->past_v).dim[2] != g->past) {
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "past_value has %lld rows, but must have as many as past_key, %lld (-1: not known)",
                     (long long)mica_value_shape(g->past_v).dim[2], (long long)g->past);
    return false;
  }
  g->total = most > g->past ? most : g->past;
  if (g->window) g->total = g->past + g->rows;
  return mica__lower_positions(l, node, g->total) && take_first(l, node, g, most) && take_window(l, node, g);
}

/* Gathers rows of x (batch, key heads, rows, width) by indices (batch, count) i64; zeros for indices out of range. */
static mica_value rows_of(mica__lowering *l, const mica__onnx_node *node, const grouped *g, mica_value x,
                          mica_value index) {
  int64_t lines = 0, rows = 0;
  if (!x.graph || !index.graph) return (mica_value){0};
  const int64_t count = mica_value_shape(index).dim[1], all = mica_value_shape(x).dim[2];
  if (!mica__lower_product(l, node, g->batch, g->key_heads, MICA__LOWER_POSITIONS, &lines) ||
      !mica__lower_product(l, node, lines, all, INT64_MAX, &rows))
    return (mica_value){0};
  mica_value outside = mica_logical_or(mica_less(index, mica__lower_number(index, 0)),
                                       mica_greater_equal(index, mica__lower_number(index, (double)all)));
  index = mica_where(outside, mica__lower_number(index, (double)rows), index);
  mica_value line = mica_range(mica__lower_graph(l), MICA_I64, lines);
  line = mica_mul(line, mica__lower_number(line, (double)all));
  index = mica_add(mica_reshape(index, MICA_SHAPE(g->batch, 1, count)),
                   mica_reshape(line, MICA_SHAPE(g->batch, g->key_heads, 1)));
  return mica_gather(mica_reshape(x, MICA_SHAPE(rows, g->width)), index, 0);
}

/* Joins the past and the new rows, and pads them with zeros to g->total rows. In sequences of different lengths the new
 * rows begin at different positions, so each row is gathered from the past and the new rows together. */
static mica_value joined(mica__lowering *l, const mica__onnx_node *node, const grouped *g, mica_value past,
                         mica_value fresh) {
  const int64_t none[MICA_MAX_RANK] = {0}, after[MICA_MAX_RANK] = {0, 0, g->total - g->rows};
  if (!g->first.graph) return after[2] ? mica_pad(fresh, none, after, MICA_PAD_MODE_CONSTANT, 0) : fresh;
  mica_value both = g->past ? mica_concat((mica_value[]){past, fresh}, 2, 2) : fresh;
  if (g->plain) return both;
  mica_value first = mica_reshape(mica_cast(g->window ? g->resident : g->first, MICA_I64), MICA_SHAPE(g->batch, 1));
  first = mica_minimum(first, mica__lower_number(first, (double)g->past));
  mica_value at = mica_range(mica__lower_graph(l), MICA_I64, g->total), ahead = mica_sub(at, first);
  mica_value new_row = mica_add(ahead, mica__lower_number(at, (double)g->past));
  return rows_of(l, node, g, both, mica_where(mica_less(ahead, mica__lower_number(at, 0)), at, new_row));
}

/* The cache of keys, or of values, after this call. */
static mica_value present(mica__lowering *l, const mica__onnx_node *node, const grouped *g, mica_value keys) {
  if (!g->window) return keys;
  mica_value stays = mica_reshape(mica_cast(g->stays, MICA_I64), MICA_SHAPE(g->batch, 1));
  return rows_of(l, node, g, keys, mica_add(stays, mica_range(mica__lower_graph(l), MICA_I64, g->past)));
}

/* Returns the positions of the new rows, (batch or 1, rows). They are position_ids if given, else the positions after
 * the past. If there is no past, only the first number of position_ids is used, and the positions count up from it. */
static mica_value positions_of(mica__lowering *l, const mica__onnx_node *node, const grouped *g) {
  mica_value given_at = given(l, node, POSITIONS), row = mica_range(mica__lower_graph(l), MICA_I32, g->rows);
  if (!given_at.graph && !g->first.graph) return mica_reshape(row, MICA_SHAPE(1, g->rows));
  if (!given_at.graph) return mica_add(mica_reshape(g->first, MICA_SHAPE(g->batch, 1)), row);
  mica_shape s = mica_value_shape(given_at);
  if (s.rank != 2 || s.dim[0] != g->batch || s.dim[1] != g->rows || g->batch * g->rows == 0) {
    char is[MICA_SHAPE_TEXT], wants[MICA_SHAPE_TEXT];
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "position_ids is %s, but must be %s, the batch and rows of query, and must not be empty",
                     mica_shape_format(s, is), mica_shape_format(MICA_SHAPE(g->batch, g->rows), wants));
    return (mica_value){0};
  }
  if (g->first.graph) return given_at;
  mica_value start = mica_cast(mica_slice(mica_slice(given_at, 0, 0, 1, 1), 1, 0, 1, 1), MICA_I32);
  return mica_add(start, row);
}

/* Applies the node's norms, if any, to the heads of q and k, then rotary positions if do_rotary is set. */
static bool position_heads(mica__lowering *l, const mica__onnx_node *node, grouped *g) {
  mica_value norms[2] = {given(l, node, QUERY_NORM), given(l, node, KEY_NORM)};
  const double epsilon = mica__onnx_real(node, "qk_norm_epsilon", 1e-6);
  if (norms[0].graph) g->q = mica_rms_norm(g->q, 3, norms[0], mica__onnx_real(node, "q_norm_epsilon", epsilon));
  if (norms[1].graph) g->k = mica_rms_norm(g->k, 3, norms[1], mica__onnx_real(node, "k_norm_epsilon", epsilon));
  if (!mica__onnx_int(node, "do_rotary", 0)) return g->q.graph && g->k.graph;
  mica__rotation rotation = {.cosine = mica__lower_operand(l, node, COSINE),
                             .sine = mica__lower_operand(l, node, SINE),
                             .neighbours = mica__onnx_int(node, "rotary_interleaved", 0)};
  if (!rotation.cosine.graph || !mica__lower_positions(l, node, g->rows)) return false;
  mica_shape s = mica_value_shape(rotation.cosine);
  if (s.rank != 2 || s.dim[1] < 1 || s.dim[1] > INT32_MAX) {
    char is[MICA_SHAPE_TEXT];
    mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "cos_cache is %s, but must be (positions, n) with a known n of at least 1; n is half the number of rotated "
        "elements per head",
        mica_shape_format(s, is));
    return false;
  }
  rotation.width = 2 * s.dim[1];
  rotation.positions = positions_of(l, node, g);
  if (!rotation.positions.graph) return false;
  g->q = mica__lower_rotate(l, node, g->q, &rotation);
  g->k = mica__lower_rotate(l, node, g->k, &rotation);
  return g->q.graph && g->k.graph;
}

/* Rejects integer caches, local windows without causality, and scores as a result. */
static bool is_supported(mica__lowering *l, const mica__onnx_node *node) {
  if (mica__lower_choice(l, node, "k_quant_type", "NONE PER_TENSOR PER_CHANNEL", 0) ||
      mica__lower_choice(l, node, "v_quant_type", "NONE PER_TENSOR PER_CHANNEL", 0) ||
      mica__lower_has(l, node, KEY_SCALE) || mica__lower_has(l, node, VALUE_SCALE))
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "a quantised cache is not supported; export the model with a floating-point cache");
  else if (!mica__onnx_int(node, "causal", 1) && mica__onnx_int(node, "local_window_size", -1) > 0)
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "local_window_size is given, but is only supported with causal attention (causal = 1)");
  else if (mica__lower_wants(node, 3))
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the output output_qk is not supported");
  else
    return true;
  return false;
}

/* Returns the bias of the scores, padded with 0 to g->total keys. Returns null if the node has no bias, and on failure,
 * with an error recorded. */
static mica_value bias_of(mica__lowering *l, const mica__onnx_node *node, const grouped *g) {
  mica_value bias = given(l, node, BIAS);
  if (!bias.graph) return bias;
  mica_shape s = mica_value_shape(bias);
  const int64_t none[MICA_MAX_RANK] = {0}, after[MICA_MAX_RANK] = {0, 0, 0, g->total - s.dim[3]};
  if (s.rank != 4 || s.dim[3] > g->total) {
    char is[MICA_SHAPE_TEXT];
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "attention_bias is %s, but must be (batch, heads, rows, keys), with at most %lld keys",
                     mica_shape_format(s, is), (long long)g->total);
    return (mica_value){0};
  }
  return after[3] ? mica_pad(bias, none, after, MICA_PAD_MODE_CONSTANT, 0) : bias;
}

static mica_value attended(mica__lowering *l, const mica__onnx_node *node, const grouped *g) {
  int64_t window = mica__onnx_int(node, "local_window_size", -1);
  mica_attention_config config = {.causal = mica__onnx_int(node, "causal", 1) != 0,
                                  .scale = mica__onnx_real(node, "scale", 0),
                                  .soft_cap = mica__onnx_real(node, "softcap", 0),
                                  .window = window > 0 && window < INT32_MAX ? window : 0,
                                  .offset = g->window ? g->resident : g->first,
                                  .sinks = given(l, node, SINKS),
                                  .mask = bias_of(l, node, g)};
  if (!config.causal) config.key_lengths = g->lengths;
  if (!config.sinks.graph && mica__onnx_int(node, "smooth_softmax", 0))
    config.sinks = mica_full(mica__lower_graph(l), mica_value_dtype(g->q), MICA_SHAPE(g->heads), 0);
  return mica_attention(g->q, g->k, g->v, &config);
}

MICA__LOWER(group_query_attention) {
  grouped g = {0};
  if (!is_supported(l, node) || !take_heads(l, node, &g) || !take_lengths(l, node, &g) || !position_heads(l, node, &g))
    return MICA_OK;
  g.k = joined(l, node, &g, g.past_k, g.k);
  g.v = joined(l, node, &g, g.past_v, g.v);
  if (!g.k.graph || !g.v.graph) return MICA_OK;
  mica_value y = mica_transpose(attended(l, node, &g), MICA_AXES(0, 2, 1, 3));
  mica__lower_result(l, node, 0, mica_reshape(y, MICA_SHAPE(g.batch, g.rows, g.heads * g.width)));
  mica__lower_result(l, node, 1, present(l, node, &g, g.k));
  mica__lower_result(l, node, 2, present(l, node, &g, g.v));
  return MICA_OK;
}

/* Operand 1, the positions of the rows, is (batch, rows) or holds only the position of the first row. */
MICA__LOWER(microsoft_rotary_embedding) {
  mica_value x = x_of(l, node), positions = mica__lower_operand(l, node, 1);
  mica__rotation rotation = {.cosine = mica__lower_operand(l, node, 2),
                             .sine = mica__lower_operand(l, node, 3),
                             .width = mica__onnx_int(node, "rotary_embedding_dim", 0),
                             .neighbours = mica__onnx_int(node, "interleaved", 0)};
  int64_t heads = mica__onnx_int(node, "num_heads", 0), count = 0;
  if (!x.graph || !positions.graph || !rotation.cosine.graph) return MICA_OK;
  mica_shape s = mica_value_shape(x), angles = mica_value_shape(rotation.cosine);
  char text[MICA_SHAPE_TEXT];
  if (s.rank != 3 && s.rank != 4)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the input has rank %d, but must have 3 or 4", (int)s.rank);
  if (angles.rank != 2 || angles.dim[1] < 1 || angles.dim[1] > INT32_MAX)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "cos_cache is %s, but must have rank 2 and a known number of columns, at least 1",
                            mica_shape_format(angles, text));
  if (mica__onnx_real(node, "scale", 1) != 1)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "scale is %g, but only 1 is supported",
                            mica__onnx_real(node, "scale", 1));
  if (!rotation.width) rotation.width = 2 * angles.dim[1];
  if (s.rank == 3 && !heads) heads = s.dim[2] / (2 * angles.dim[1]);
  mica_value y = mica__lower_split_heads(l, node, x, heads);
  if (!y.graph) return MICA_OK;
  if (mica_shape_count(mica_value_shape(positions), &count) != MICA_OK)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "position_ids is %s, but its dimensions must be known",
                            mica_shape_format(mica_value_shape(positions), text));
  int64_t rows = mica_value_shape(y).dim[2];
  if (!mica__lower_positions(l, node, rows)) return MICA_OK;
  if (mica_value_shape(positions).rank < 2) {
    if (count != 1)
      return mica__lower_fail(l, node, MICA_E_SHAPE, "position_ids is %s, but must be (1) or (batch, rows)",
                              mica_shape_format(mica_value_shape(positions), text));
    positions = mica_reshape(positions, MICA_SHAPE(1, 1));
    positions = mica_add(positions, mica_range(mica__lower_graph(l), mica_value_dtype(positions), rows));
  }
  rotation.positions = positions;
  y = mica__lower_rotate(l, node, y, &rotation);
  if (!y.graph) return MICA_OK;
  if (s.rank == 3) y = mica_reshape(mica_transpose(y, MICA_AXES(0, 2, 1, 3)), s);
  return give(l, node, y);
}
