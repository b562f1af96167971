/* Multi-head attention with its projections and its cache of keys and values. */
#include "base/arith.h"
#include "nn/divided.h"
#include "nn/sequence_cache.h"
#include "ops/attention/decode.h"
#include "ops/blocks/blocks.h"

#include <mica/index.h>
#include <string.h>

static const mica_value null_value = {0};
static const mica_init_config xavier = {.kind = MICA_INIT_XAVIER_UNIFORM};

mica_value mica__split_heads(mica_value x, int64_t n, int64_t size) {
  x = mica_reshape(x, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), n, size));
  return mica__graph_mark(x, MICA__MARK_HEADS, NULL, 0, NULL, 0);
}

mica_value mica__section(mica_value x, int32_t axis, int64_t from, int64_t count) {
  x = mica_slice(x, axis, from, from + count, 1);
  return mica__graph_mark(x, MICA__MARK_SECTION, NULL, 0, NULL, 0);
}

mica_value mica__join_heads(mica_value x, int64_t width) {
  return mica_reshape(x, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), width));
}

/* Swaps the axes (B, T, H, D) and (B, H, T, D). */
static mica_value heads_first(mica_value x) { return mica_transpose(x, MICA_AXES(0, 2, 1, 3)); }

/* True if the layers whose bits are set have no bias. */
static bool lacks_bias(const mica_nn_attention_config *c, uint32_t layers) {
  return c->no_bias || (c->without_bias & layers) != 0;
}

/* Projects x, which comes from mica__nn_fan_out, to heads: `first` heads and, unless they are 0, `second` and `third`
 * heads of other kinds, such as keys and values. All of them come from one dense layer. `layers` has the bits of these
 * projections. */
static mica_value project(mica_nn *nn, const char *name, uint32_t layers, mica_value x,
                          const mica_nn_attention_config *c, int64_t first, int64_t second, int64_t third) {
  const mica_dense_config config = {.no_bias = lacks_bias(c, layers), .weight = mica__init_or(c->weight, xavier)};
  const int64_t size = c->head_size * mica__nn_ranks(nn);
  const int64_t sections[MICA__DIVISION_SECTIONS] = {first * size, second * size, third * size};
  return mica__nn_columns(nn, name, x, sections, &config);
}

/* Queries, keys and values, (B, T, heads, D). */
typedef struct projected {
  mica_value q, k, v;
} projected;

/* The length of the open scope's name, without the dot at its end. */
static int scope_length(const mica_nn *nn) { return *nn->prefix ? (int)strlen(nn->prefix) - 1 : 0; }

/* Splits the columns y (B, T, n D) of a projection into heads (B, T, n, D).
 *
 * A group is one head of keys and values, together with the query heads that share it. of_q and of_kv say what the
 * columns contain for each group: of_q is 1 if they contain its query heads, and of_kv is the number of its key and
 * value heads (0, 1 or 2). A pruned network has columns for fewer groups; c->groups and c->heads receive the actual
 * numbers. */
static mica_value split(mica_nn *nn, mica_value y, int64_t of_q, int64_t of_kv, mica_nn_attention_config *c) {
  if (mica_value_is_null(y)) return y;
  const int64_t shared = c->heads / c->groups, heads = of_q * shared + of_kv;
  const int64_t columns = mica_value_shape(y).dim[2], groups = columns / (heads * c->head_size);
  if (groups < 1 || columns != groups * heads * c->head_size)
    return mica__graph_fail(
        nn->graph, MICA_E_FORMAT,
        "%.*s: the weights file has %lld columns, but their number must be a multiple of %lld, the width of %lld heads "
        "of size %lld",
        scope_length(nn), nn->prefix, (long long)columns, (long long)(heads * c->head_size), (long long)heads,
        (long long)c->head_size);
  c->heads = groups * shared;
  c->groups = groups;
  return mica__split_heads(y, groups * heads, c->head_size);
}

static projected project_apart(mica_nn *nn, mica_value x, mica_value memory, mica_nn_attention_config *c) {
  x = mica__nn_fan_out(nn, x);
  memory = mica_value_is_null(memory) ? x : mica__nn_fan_out(nn, memory);
  projected p = {.q = split(nn, project(nn, "q_proj", MICA_ATTENTION_Q, x, c, c->heads, 0, 0), 1, 0, c)};
  if (c->recall) return p;
  const int64_t groups = c->groups;
  p.k = split(nn, project(nn, "k_proj", MICA_ATTENTION_K, memory, c, groups, 0, 0), 0, 1, c);
  p.v = split(nn, project(nn, "v_proj", MICA_ATTENTION_V, memory, c, groups, 0, 0), 0, 1, c);
  mica__block_join((mica_value *[]){&p.q, &p.k, &p.v});
  if (mica_value_is_null(p.v) || (mica_value_shape(p.k).dim[2] == groups && mica_value_shape(p.v).dim[2] == groups))
    return p;
  mica__graph_fail(nn->graph, MICA_E_FORMAT,
                   "%.*s: the weights file must have the same number of groups of heads for q_proj, k_proj and v_proj",
                   scope_length(nn), nn->prefix);
  return (projected){0};
}

static projected project_all(mica_nn *nn, mica_value x, mica_value memory, mica_nn_attention_config *c) {
  const int64_t h = c->heads, g = c->groups;
  if (c->apart) return project_apart(nn, x, memory, c);
  x = mica__nn_fan_out(nn, x);
  if (mica_value_is_null(memory) && !c->recall) {
    mica_value y = split(nn, project(nn, "in_proj", MICA_ATTENTION_Q, x, c, h, g, g), 1, 2, c);
    return (projected){mica__section(y, 2, 0, c->heads), mica__section(y, 2, c->heads, c->groups),
                       mica__section(y, 2, c->heads + c->groups, c->groups)};
  }
  projected p = {.q = split(nn, project(nn, "q_proj", MICA_ATTENTION_Q, x, c, h, 0, 0), 1, 0, c)};
  if (c->recall) return p;
  memory = mica__nn_fan_out(nn, memory);
  mica_value y = split(nn, project(nn, "kv_proj", MICA_ATTENTION_K, memory, c, g, g, 0), 0, 2, c);
  p.k = mica__section(y, 2, 0, c->groups);
  p.v = mica__section(y, 2, c->groups, c->groups);
  return p;
}

/* Enters the scope of an RMS norm of heads, and returns its scale, (D). The caller leaves the scope. */
static mica_value enter_norm(mica_nn *nn, const char *name, const mica_nn_attention_config *c) {
  const mica_init_config ones = {.kind = MICA_INIT_CONSTANT, .value = 1};
  mica__nn_enter(nn, name, "rms_norm");
  return mica_nn_parameter(nn, "weight", MICA_SHAPE(c->head_size), &ones);
}

/* RMS norm of each head of x (B, T, heads, D). All ranks have the same scale; each computes the gradient of its own
 * heads. */
static mica_value norm_heads(mica_nn *nn, const char *name, mica_value x, const mica_nn_attention_config *c) {
  if (mica_value_is_null(x)) return x;
  mica_value scale = enter_norm(nn, name, c);
  scale = mica__nn_narrow(nn, mica__nn_fan_out(nn, scale));
  mica_value y = mica_rms_norm(mica__nn_narrow(nn, x), -1, scale, mica__or_default(c->qk_epsilon, 1e-5));
  return mica__nn_leave(nn, mica__nn_hooked(nn, MICA_NN_POINT_RESULT, y));
}

/* --- the cache --- */

/* With beam search, the number of hypotheses (sequences of x) that attend to the same sequence of the memory; otherwise
 * 1. `alone` is true if x attends only to itself. */
static int64_t sharers(const mica_kv_cache *cache, bool alone) {
  return !alone && cache && cache->beams > 1 ? cache->beams : 1;
}

/* Writes p's keys and values into the caches, except with recall. If x continues a sequence, or with recall, p receives
 * all cached ones. */
static void use_cache(mica_nn *nn, const mica_nn_attention_config *c, mica_value positions, bool alone, bool goes_on,
                      projected *p) {
  mica__cache_update by = {.batch = c->cache->batch / sharers(c->cache, alone)};
  if (!c->recall) by.rows = mica__cache_rows(c->cache, by.batch, positions);
  if (goes_on) by.parents = c->cache->parents;
  mica_value k = mica__cache_keep(nn, "cache_k", c, p->k, &by), v = mica__cache_keep(nn, "cache_v", c, p->v, &by);
  if (goes_on || c->recall) p->k = k, p->v = v;
}

/* --- a stream --- */

/* Returns the past positions followed by x. *past receives the last `kept` positions of the result. */
static mica_value go_on(mica_value *past, mica_value x, int64_t kept) {
  x = mica_concat((mica_value[]){mica_cast(*past, mica_value_dtype(x)), x}, 2, 1);
  *past = mica_cast(mica_slice(x, 1, -kept, MICA_END, 1), mica_value_dtype(*past));
  return x;
}

/* Puts the stream's past keys and values before the new ones. Each query sees up to window - 1 past positions;
 * positions before the stream's beginning are masked. */
static void use_past(mica_nn *nn, mica_nn_attention_config *c, projected *p, mica_value *offset) {
  const int64_t kept = c->window - 1;
  p->k = go_on(&c->past->k, p->k, kept);
  p->v = go_on(&c->past->v, p->v, kept);
  mica_value missing = mica_sub(mica_scalar(nn->graph, MICA_I32, (double)kept), c->past->count);
  mica_value at = mica_positions(p->k, null_value);
  c->mask = mica_greater_equal(at, mica_unsqueeze(missing, MICA_AXES(1, 2, 3)));
  *offset = mica_scalar(nn->graph, MICA_I32, (double)kept);
}

/* --- parts of this rank --- */

/* This rank's heads of a mask (..., H, Tq, Tk) for all heads. */
static mica_value own_heads(mica_nn *nn, mica_value mask, int64_t own) {
  if (mica__nn_ranks(nn) == 1) return mask;
  const int64_t from = own * nn->config.tensor_ranks->rank;
  return mica_slice(mask, -3, from, from + own, 1);
}

/* Makes the attention sinks of this rank's `own` heads, out of `all` heads of the layer. */
static mica_value add_sinks(mica_nn *nn, int64_t own, int64_t all) {
  mica_value sinks = mica_nn_parameter(nn, "sinks", MICA_SHAPE(own), NULL);
  if (mica__nn_ranks(nn) > 1) mica__nn_divide_as(nn, &(mica__division){.count = 1, .sections = {all}});
  return sinks;
}

/* --- one new position --- */

/* True if norms, rotary positions, the cache and attention run as one op (ops/attention/decode.h). Then x has one new
 * position per sequence, and the cache has the earlier ones. False if queries and keys have norms, and the network has
 * a hook or is divided among ranks: each norm must then be a layer of its own. */
static bool is_one_op(const mica_nn *nn, mica_value x, mica_value memory, const mica_nn_attention_config *c) {
  if (!mica_value_is_null(memory) || c->recall || !c->cache || mica_value_is_null(c->cache->offset)) return false;
  if (!mica_value_is_null(c->mask) || !mica_value_is_null(c->starts) || !mica_value_is_null(c->position_ids) ||
      !mica_value_is_null(c->key_lengths))
    return false;
  if (c->qk_norm && (nn->config.hook || mica__nn_ranks(nn) > 1)) return false;
  return mica_value_shape(x).dim[1] == 1 && mica_value_dtype(x) == MICA_F32 && nn->config.dtype == MICA_F32 &&
         !nn->config.training && c->causal && c->positions != MICA_POSITIONS_KIND_ALIBI && !c->past &&
         c->head_size <= MICA__DECODE_MOST_SIZE;
}

/* Attention of one new position per sequence, as one op: (B, 1, H D). */
static mica_value decode(mica_nn *nn, const mica_nn_attention_config *c, const projected *p, int64_t heads) {
  mica_rotary_config rotary = c->rotary;
  const mica__cache_update by = {.batch = c->cache->batch, .parents = c->cache->parents};
  mica__decode d = {.q = p->q,
                    .k = p->k,
                    .v = p->v,
                    .offset = c->cache->offset,
                    .slots = c->cache->slots,
                    .length = c->cache->length,
                    .window = c->window,
                    .scale = c->scale,
                    .soft_cap = c->soft_cap,
                    .epsilon = mica__or_default(c->qk_epsilon, 1e-5),
                    .rotary_scale = 1};
  if (c->qk_norm) {
    d.q_scale = mica__nn_leave(nn, enter_norm(nn, "q_norm", c));
    d.k_scale = mica__nn_leave(nn, enter_norm(nn, "k_norm", c));
  }
  if (c->positions == MICA_POSITIONS_KIND_ROTARY) {
    d.frequencies = mica__rotary_frequencies(p->q, &rotary);
    d.rotary_scale = rotary.scale;
    d.interleave = rotary.interleave;
    if (mica_value_is_null(d.frequencies)) return d.frequencies;
  }
  if (c->sinks) d.sinks = add_sinks(nn, c->heads, heads);
  const mica__cached k = mica__cache_find(nn, "cache_k", c, &by), v = mica__cache_find(nn, "cache_v", c, &by);
  d.k_cache = k.all;
  d.v_cache = v.all;
  d.k_step = k.steps;
  d.v_step = v.steps;
  mica__nn_record(nn, "attention", "attention");
  mica_value y = mica__attention_decode(&d);
  mica__cache_assign(&k, d.k_cache, d.k_step);
  mica__cache_assign(&v, d.v_cache, d.v_step);
  return mica__nn_recorded(nn, mica__join_heads(y, c->heads * c->head_size));
}

/* --- the layer --- */

static bool check(mica_nn *nn, mica_value x, mica_value memory, mica_nn_attention_config *c) {
  const uint32_t in_proj = MICA_ATTENTION_Q | MICA_ATTENTION_K | MICA_ATTENTION_V;
  const char *wrong = NULL;
  mica_shape shape = mica_value_shape(x);
  if (mica__nn_missing(nn, "attention", x) || mica_value_is_null(x)) return false;
  if (c->heads == 0) c->heads = 1;
  if (c->groups == 0) c->groups = c->heads;
  if (shape.rank != 3 || shape.dim[2] < 1)
    wrong = "sequences must be (B, T, C), with C known";
  else if (c->heads < 1 || c->groups < 1 || c->heads % c->groups != 0)
    wrong = "heads must be a multiple of groups, and both at least 1";
  else if (c->head_size == 0 && shape.dim[2] % c->heads != 0)
    wrong = "C must be a multiple of heads";
  else if (c->positions < MICA_POSITIONS_KIND_LEARNED || c->positions > MICA_POSITIONS_KIND_NONE)
    wrong = "positions must be a mica_positions_kind";
  else if (c->recall && (!c->cache || !mica_value_is_null(memory)))
    wrong = "recall needs a cache, and cannot be combined with a memory";
  else if (c->cache && (c->cache->batch < 1 || c->cache->length < 1))
    wrong = "batch and length of a cache must be at least 1";
  else if (c->cache && !mica_value_is_null(c->cache->slots) &&
           (c->cache->beams > 1 || c->recall || !mica_value_is_null(memory) || !mica_value_is_null(c->cache->parents)))
    wrong = "slots of a cache cannot be combined with beams, parents, recall or a memory";
  else if (c->cache && (unsigned)c->cache->form > MICA_CACHE_FORM_Q8)
    wrong = "the form of a cache must be a mica_cache_form";
  else if (c->cache && (c->cache->beams < 0 || (c->cache->beams && c->cache->batch % c->cache->beams)))
    wrong = "beams of a cache must be 0 or above, and its batch a multiple of them";
  else if (c->positions == MICA_POSITIONS_KIND_ALIBI && !mica_value_is_null(c->mask))
    wrong = "ALiBi cannot be combined with a mask";
  else if (c->past && (!c->causal || c->window < 2 || c->cache || !mica_value_is_null(memory)))
    wrong = "a stream must be causal, with a window of at least 2 and without a cache or a memory";
  else if (c->past && (c->positions == MICA_POSITIONS_KIND_ALIBI || !mica_value_is_null(c->mask)))
    wrong = "a stream cannot have a mask or ALiBi";
  else if (!c->apart && (c->without_bias & in_proj) != 0 && (c->without_bias & in_proj) != in_proj)
    wrong = "without 'apart', queries, keys and values share a layer: all have a bias or none has";
  else if ((c->past || c->recall || !mica_value_is_null(memory)) && !mica_value_is_null(c->starts))
    wrong = "starts cannot be combined with a stream, recall or a memory";
  else if (c->past && !mica_value_is_null(c->position_ids))
    wrong = "a stream counts positions itself, so position_ids must be null";
  if (wrong)
    mica__graph_fail(nn->graph, MICA_E_INVALID, "attention with %lld heads and %lld groups: %s", (long long)c->heads,
                     (long long)c->groups, wrong);
  else if (c->head_size == 0)
    c->head_size = shape.dim[2] / c->heads;
  return !wrong;
}

/* Attention to the memory, or to x and the cache, as separate ops: (B, T, H D). */
static mica_value attend(mica_nn *nn, mica_nn_attention_config *c, mica_value x, mica_value memory, projected p,
                         int64_t heads) {
  const bool alone = mica_value_is_null(memory) && !c->recall;
  /* A sequence that starts sees only its own keys, whatever the cache holds. */
  const bool goes_on = alone && c->cache && !mica_value_is_null(c->cache->offset);
  mica_value offset = goes_on ? c->cache->offset : null_value;
  mica_value positions = mica_positions(x, offset);
  if (c->qk_norm) p.q = norm_heads(nn, "q_norm", p.q, c);
  if (c->qk_norm && !c->recall) p.k = norm_heads(nn, "k_norm", p.k, c);
  mica_value key_positions = positions;
  if (c->past) {
    use_past(nn, c, &p, &offset);
    positions = mica_add(positions, offset);
    key_positions = mica_positions(p.k, null_value);
  }
  if (alone && c->positions == MICA_POSITIONS_KIND_ROTARY) {
    const bool given = !mica_value_is_null(c->position_ids);
    p.q = mica_rotary(p.q, given ? c->position_ids : positions, &c->rotary);
    p.k = mica_rotary(p.k, given ? c->position_ids : key_positions, &c->rotary);
  }
  if (c->cache) {
    use_cache(nn, c, alone || c->recall ? positions : mica_positions(memory, null_value), alone, goes_on, &p);
    if (goes_on && !c->causal)
      c->key_lengths = mica_add(offset, mica__number(offset, (double)mica_value_shape(x).dim[1]));
  }
  if (c->positions == MICA_POSITIONS_KIND_ALIBI && alone) {
    mica_value keys = goes_on ? mica_range(nn->graph, MICA_I32, c->cache->length) : positions;
    c->mask = own_heads(nn, mica__alibi(positions, keys, heads), c->heads);
  }
  mica_attention_config how = {.causal = c->causal && alone,
                               .window = c->window,
                               .scale = c->scale,
                               .soft_cap = c->soft_cap,
                               .mask = c->mask,
                               .key_lengths = c->key_lengths,
                               .starts = c->starts,
                               .offset = offset};
  if (c->sinks) how.sinks = add_sinks(nn, c->heads, heads);
  if (nn->config.training && c->dropout > 0) {
    how.dropout = c->dropout;
    how.seed = mica__nn_draw_own(nn);
    how.step = mica_nn_step(nn);
  }
  const int64_t shared = sharers(c->cache, alone);
  /* If several sequences share a memory, their queries are treated as positions of one sequence. That changes nothing,
   * because attention to a memory does not depend on the order of the queries. */
  if (shared > 1) p.q = mica_reshape(p.q, MICA_SHAPE(c->cache->batch / shared, MICA_DYNAMIC, c->heads, c->head_size));
  mica__nn_record(nn, "attention", "attention");
  mica_value y = mica_attention(heads_first(p.q), heads_first(p.k), heads_first(p.v), &how);
  y = mica__nn_recorded(nn, mica__join_heads(heads_first(y), c->heads * c->head_size));
  return shared > 1 ? mica_reshape(y, MICA_SHAPE(c->cache->batch, MICA_DYNAMIC, c->heads * c->head_size)) : y;
}

mica_value mica_nn_attention(mica_nn *nn, const char *name, mica_value x, mica_value memory,
                             const mica_nn_attention_config *config) {
  mica_nn_attention_config c = config ? *config : (mica_nn_attention_config){0};
  if (!check(nn, x, memory, &c)) return null_value;
  const int64_t width = mica_value_shape(x).dim[2];
  mica_nn_push(nn, name);
  const int64_t heads = c.heads;
  c.heads = mica__nn_share_of(nn, "heads", c.heads);
  c.groups = mica__nn_share_of(nn, "groups of heads", c.groups);
  projected p = project_all(nn, x, memory, &c);
  mica_value y = is_one_op(nn, p.q, memory, &c) ? decode(nn, &c, &p, heads) : attend(nn, &c, x, memory, p, heads);
  const mica_dense_config out = {.no_bias = lacks_bias(&c, MICA_ATTENTION_OUT),
                                 .weight = mica__init_or(c.out_weight, xavier)};
  y = mica__nn_rows(nn, "out_proj", y, heads * c.head_size, width, &out);
  mica_nn_pop(nn);
  return y;
}
