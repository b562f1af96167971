/* Caches of keys and values, in f32, 16 bits or Q8. */
#include "nn/sequence_cache.h"

#include "ops/attention/decode.h"

#include <mica/index.h>

#include <stdio.h>

const char *mica_cache_form_name(mica_cache_form form) {
  static const char *const texts[] = {
#define FORM_TEXT(name, text) text,
      MICA_CACHE_FORM_LIST(FORM_TEXT)
#undef FORM_TEXT
  };
  return (unsigned)form < sizeof texts / sizeof *texts ? texts[form] : "?";
}

mica_value mica__cache_rows(const mica_kv_cache *cache, int64_t batch, mica_value positions) {
  mica_graph *graph = positions.graph;
  mica_value slots = mica_value_is_null(cache->slots) ? mica_range(graph, MICA_I32, batch) : cache->slots;
  mica_value first = mica_mul(slots, mica_scalar(graph, MICA_I32, (double)cache->length));
  mica_value inside = mica_less(positions, mica_scalar(graph, MICA_I32, (double)cache->length));
  mica_value row = mica_add(mica_unsqueeze(first, MICA_AXES(1)), positions);
  return mica_where(inside, row, mica_scalar(graph, MICA_I32, (double)(batch * cache->length)));
}

static mica_dtype type_of(const mica_nn *nn, mica_cache_form form) {
  switch (form) {
  case MICA_CACHE_FORM_F16: return MICA_F16;
  case MICA_CACHE_FORM_BF16: return MICA_BF16;
  case MICA_CACHE_FORM_Q8: return MICA_I8;
  default: return nn->config.dtype;
  }
}

/* Adds a state (batch length, width). *state receives the state itself. Returns its contents, in which each sequence
 * has been replaced by its parent if by->parents is not null. */
static mica_value find_rows(mica_nn *nn, const char *name, mica_dtype dtype, int64_t width,
                            const mica_nn_attention_config *c, const mica__cache_update *by, mica_value *state) {
  const int64_t length = c->cache->length;
  const mica_shape shape = MICA_SHAPE(by->batch * length, width);
  *state = mica_nn_state_of(nn, name, dtype, shape, 0);
  if (mica_value_is_null(by->parents)) return *state;
  mica_value sequences = mica_reshape(*state, MICA_SHAPE(by->batch, length * width));
  return mica_reshape(mica_gather(sequences, by->parents, 0), shape);
}

mica__cached mica__cache_find(mica_nn *nn, const char *name, const mica_nn_attention_config *c,
                              const mica__cache_update *by) {
  mica__cached found = {0};
  char scale[32];
  found.all = find_rows(nn, name, type_of(nn, c->cache->form), c->groups * c->head_size, c, by, &found.state);
  if (c->cache->form != MICA_CACHE_FORM_Q8) return found;
  snprintf(scale, sizeof scale, "%s_scale", name);
  const int64_t blocks = c->groups * (c->head_size / mica__decode_block(c->head_size));
  found.steps = find_rows(nn, scale, MICA_F16, blocks, c, by, &found.steps_state);
  return found;
}

void mica__cache_assign(const mica__cached *cached, mica_value all, mica_value steps) {
  mica_assign(cached->state, all);
  if (!mica_value_is_null(cached->steps)) mica_assign(cached->steps_state, steps);
}

/* Rounds x (B, T, G, D) to i8 (B, T, G D) with scales (B, T, G blocks). The result has the same bits as
 * cl/attention/decode.clh, which does this for a single position.
 *
 * The scales must really be rounded to f16. In a generated kernel, a cast to f16 takes effect only when its result is
 * stored, and the kernel's further ops would use the f32 number. A bitcast is a launch of its own and reads the stored
 * value, so the scales pass through one. */
static mica_value round_blocks(mica_value x, const mica_nn_attention_config *c, mica_value *steps) {
  const int64_t block = mica__decode_block(c->head_size), blocks = c->groups * (c->head_size / block);
  mica_value zero = mica_scalar(x.graph, MICA_F32, 0), one = mica_scalar(x.graph, MICA_F32, 1);
  x = mica_reshape(mica_cast(x, MICA_F32), MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), blocks, block));
  mica_value most = mica_div(mica_max(mica_abs(x), MICA_AXES(3), true), mica_scalar(x.graph, MICA_F32, 127));
  mica_value half = mica_bitcast(mica_cast(mica_clip(most, 0, 65504), MICA_F16), MICA_F16);
  mica_value step = mica_cast(half, MICA_F32), there = mica_greater(step, zero);
  mica_value y = mica_where(there, mica_div(x, mica_where(there, step, one)), zero);
  y = mica_cast(mica_clip(mica_round(y), -127, 127), MICA_I8);
  *steps = mica_reshape(half, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), blocks));
  return mica_reshape(y, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), blocks * block));
}

/* Writes the new `rows` into all (batch length, width), and assigns the result to the state; does neither if by->rows
 * is null. Returns the cached rows of this run's sequences, (sequences, length, width). */
static mica_value replace_rows(const mica_nn_attention_config *c, const mica__cache_update *by, mica_value all,
                               mica_value state, mica_value rows) {
  const int64_t width = mica_value_shape(all).dim[1], length = c->cache->length;
  if (!mica_value_is_null(by->rows)) {
    all = mica_scatter_rows_unique(all, by->rows, rows, 0, MICA_SCATTER_SET);
    mica_assign(state, all);
  }
  if (mica_value_is_null(c->cache->slots)) return mica_reshape(all, MICA_SHAPE(by->batch, length, width));
  all = mica_gather(mica_reshape(all, MICA_SHAPE(by->batch, length * width)), c->cache->slots, 0);
  return mica_reshape(all, MICA_SHAPE(MICA__COPY_DIM(0), length, width));
}

mica_value mica__cache_keep(mica_nn *nn, const char *name, const mica_nn_attention_config *c, mica_value x,
                            const mica__cache_update *by) {
  const int64_t length = c->cache->length, d = c->head_size, block = mica__decode_block(d);
  const mica__cached before = mica__cache_find(nn, name, c, by);
  const bool q8 = c->cache->form == MICA_CACHE_FORM_Q8, writes = !mica_value_is_null(by->rows);
  if (mica_value_is_null(before.all)) return before.all;
  mica_value rows = {0}, new_steps = {0};
  if (writes && q8) rows = round_blocks(x, c, &new_steps);
  if (writes && !q8)
    rows = mica_cast(mica_reshape(x, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), c->groups * d)),
                     mica_value_dtype(before.all));
  mica_value all = mica_cast(replace_rows(c, by, before.all, before.state, rows), nn->config.dtype);
  if (!q8) return mica_reshape(all, MICA_SHAPE(MICA__COPY_DIM(0), length, c->groups, d));
  mica_value steps = replace_rows(c, by, before.steps, before.steps_state, new_steps);
  steps = mica_unsqueeze(mica_cast(steps, nn->config.dtype), MICA_AXES(3));
  all = mica_mul(mica_reshape(all, MICA_SHAPE(MICA__COPY_DIM(0), length, c->groups * (d / block), block)), steps);
  return mica_reshape(all, MICA_SHAPE(MICA__COPY_DIM(0), length, c->groups, d));
}
