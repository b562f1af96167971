/* Attention by the formula written out, for tests/ops/cases/attention.def. */
#include "ir/graph.h"
#include "ops/common/build.h"
#include "support/op_case_helpers.h"

#include <math.h>
#include <mica/attention.h>
#include <mica/nodes.h>
#include <string.h>

const test_attention_kind test_attention_plain = {.with = ""}, test_attention_causal = {.causal = true, .with = ""},
                          test_attention_window = {.window = 3, .scale = 0.4, .with = "o"},
                          test_attention_masked = {.with = "m"},
                          test_attention_mask_of_lengths = {.causal = true, .with = "ml"},
                          test_attention_capped = {.soft_cap = 0.75, .scale = 0.5, .with = "m"},
                          test_attention_cached = {.causal = true, .window = 9, .with = "lo"},
                          test_attention_dropped = {.dropout = 0.3, .with = "s"},
                          test_attention_documents = {.causal = true, .with = "t"},
                          test_attention_with_sinks = {.scale = 0.7, .with = "lk"},
                          test_attention_started = {.causal = true, .soft_cap = 0.75, .with = "mtok"};

/* The operand of that letter; null where the kind is without. */
static mica_value with(const test_attention_kind *kind, const mica_value *x, char letter) {
  const char *at = strchr(kind->with, letter);
  return at ? x[3 + (at - kind->with)] : (mica_value){0};
}

mica_value test_attention(const test_attention_kind *kind, const mica_value *x) {
  const mica_attention_config config = {.causal = kind->causal,
                                        .window = kind->window,
                                        .scale = kind->scale,
                                        .soft_cap = kind->soft_cap,
                                        .dropout = kind->dropout,
                                        .seed = 11,
                                        .mask = with(kind, x, 'm'),
                                        .key_lengths = with(kind, x, 'l'),
                                        .offset = with(kind, x, 'o'),
                                        .starts = with(kind, x, 't'),
                                        .sinks = with(kind, x, 'k'),
                                        .step = with(kind, x, 's')};
  return mica_attention(x[0], x[1], x[2], &config);
}

/* (B, G, T, D) as (B, H, T, D): a head for each of the queries'. */
static mica_value share_heads(mica_value k, int64_t heads) {
  const int64_t *n = mica_value_shape(k).dim;
  const mica_shape apart = MICA_SHAPE(n[0], n[1], heads / n[1], n[2], n[3]),
                   whole = MICA_SHAPE(n[0], heads, n[2], n[3]);
  return mica_reshape(mica_expand(mica__insert_axis(k, 2), apart), whole);
}

/* One number a sequence, over (B, 1, 1, 1). */
static mica_value per_sequence(mica_value x) {
  return mica_reshape(x, MICA_SHAPE(mica_value_shape(x).rank ? mica_value_shape(x).dim[0] : 1, 1, 1, 1));
}

/* Which keys are seen, as b8; null for all. */
static mica_value seen_keys(const test_attention_kind *kind, const mica_value *x) {
  mica_graph *graph = x[0].graph;
  int64_t tq = mica_value_shape(x[0]).dim[2], tk = mica_value_shape(x[1]).dim[2];
  mica_value seen = {0}, offset = with(kind, x, 'o'), lengths = with(kind, x, 'l'), mask = with(kind, x, 'm');
  mica_value starts = with(kind, x, 't');
  mica_value i = mica_reshape(mica_range(graph, MICA_I32, tq), MICA_SHAPE(1, 1, tq, 1));
  mica_value j = mica_reshape(mica_range(graph, MICA_I32, tk), MICA_SHAPE(1, 1, 1, tk)), parts[5] = {{0}};
  if (offset.graph) i = mica_add(i, per_sequence(offset));
  mica_value ahead = mica_sub(j, i);
  if (kind->causal) parts[0] = mica_less_equal(ahead, mica_scalar(graph, MICA_I32, 0));
  if (kind->window) parts[1] = mica_less(mica_abs(ahead), mica_scalar(graph, MICA_I32, (double)kind->window));
  if (lengths.graph) parts[2] = mica_less(j, per_sequence(lengths));
  if (mask.graph && mica_value_dtype(mask) == MICA_BOOL) parts[3] = mask;
  if (starts.graph) parts[4] = mica_less_equal(mica_reshape(starts, MICA_SHAPE(MICA__COPY_DIM(0), 1, tq, 1)), j);
  for (int k = 0; k < 5; k++)
    if (parts[k].graph) seen = seen.graph ? mica_logical_and(seen, parts[k]) : parts[k];
  return seen;
}

/* What dropout keeps of the last attention of the graph. */
static mica_value kept_by_dropout(double rate, mica_value step, mica_value weights) {
  const mica_graph *graph = weights.graph;
  const mica__node *node = mica__graph_node(graph, graph->count);
  while (strcmp(node->op->name, "attention")) node--;
  const mica__attr *key = mica__attr_find(node->op->attrs, "key", 3);
  char attrs[MICA__ATTRS_MOST];
  const mica__attr_list *list = mica__op_random.attrs;
  mica__attrs_set_defaults(list, attrs);
  *(mica_dtype *)(attrs + mica__attr_find(list, "dtype", 5)->offset) = MICA_BOOL;
  *(int32_t *)(attrs + mica__attr_find(list, "kind", 4)->offset) = 2; /* below a */
  *(int64_t *)(attrs + mica__attr_find(list, "key", 3)->offset) =
      *(const int64_t *)((const char *)node->attrs + key->offset);
  *(double *)(attrs + mica__attr_find(list, "a", 1)->offset) = 1 - rate;
  return mica__graph_add(&mica__op_random, (mica_value[]){step, weights}, 2, attrs);
}

/* Softmax over keys, and over the sink of each head if there are sinks. */
static mica_value softmax_of(mica_value s, mica_value sinks) {
  if (!sinks.graph) return mica_softmax(s, -1);
  const int64_t *n = mica_value_shape(s).dim;
  mica_value each = mica_reshape(mica_cast(sinks, mica_value_dtype(s)), MICA_SHAPE(1, n[1], 1, 1));
  s = mica_concat((mica_value[]){s, mica_expand(each, MICA_SHAPE(n[0], n[1], n[2], 1))}, 2, -1);
  return mica_slice(mica_softmax(s, -1), -1, 0, n[3], 1);
}

mica_value test_attention_written(const test_attention_kind *kind, const mica_value *x) {
  int64_t heads = mica_value_shape(x[0]).dim[1], d = mica_value_shape(x[0]).dim[3];
  mica_value k = share_heads(x[1], heads), v = share_heads(x[2], heads), mask = with(kind, x, 'm');
  mica_value s = mica_matmul(x[0], mica_transpose(k, MICA_AXES(0, 1, 3, 2)));
  s = mica_affine(s, kind->scale != 0 ? kind->scale : 1 / sqrt((double)d), 0);
  if (kind->soft_cap > 0) s = mica_affine(mica_tanh(mica_affine(s, 1 / kind->soft_cap, 0)), kind->soft_cap, 0);
  if (mask.graph && mica_value_dtype(mask) != MICA_BOOL) s = mica_add(s, mask);
  mica_value seen = seen_keys(kind, x), none = mica_scalar(s.graph, mica_value_dtype(s), 0);
  if (seen.graph) s = mica_where(seen, s, mica_scalar(s.graph, mica_value_dtype(s), -3e4));
  mica_value weights = softmax_of(s, with(kind, x, 'k'));
  if (seen.graph) weights = mica_where(seen, weights, none); /* rows that see nothing */
  if (kind->dropout > 0)
    weights = mica_where(kept_by_dropout(kind->dropout, with(kind, x, 's'), weights),
                         mica_affine(weights, 1 / (1 - kind->dropout), 0), none);
  return mica_matmul(weights, v);
}
