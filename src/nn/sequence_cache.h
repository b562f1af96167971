/* nn/sequence_cache.h: caches of a layer's keys and values, in the formats of mica/sequence.h. */
#ifndef MICA_NN_SEQUENCE_CACHE_H
#define MICA_NN_SEQUENCE_CACHE_H

#include "nn/sequence.h"

/* How one run updates a cache of `batch` sequences. First each sequence is replaced by its parent; if `parents` is
 * null, nothing is replaced. Then x (B, T, G, D) is written to the rows in `rows` (B, T); if `rows` is null, nothing is
 * written. */
typedef struct mica__cache_update {
  int64_t batch;
  mica_value rows, parents;
} mica__cache_update;

/* A cache before new rows are written: the states, and their contents `all` (batch length, G D), in which parents have
 * already replaced sequences. A Q8 cache also has scales, `steps` (batch length, G D / mica__decode_block); for other
 * caches both values of steps are null. */
typedef struct mica__cached {
  mica_value state, all;
  mica_value steps_state, steps;
} mica__cached;

/* Rows of the cache of `batch` sequences for positions (T) or (B, T). Positions beyond the cache get the row after the
 * last one, which a scatter skips. */
mica_value mica__cache_rows(const mica_kv_cache *cache, int64_t batch, mica_value positions);
/* Makes the states of the cache `name`. */
mica__cached mica__cache_find(mica_nn *nn, const char *name, const mica_nn_attention_config *c,
                              const mica__cache_update *by);
/* Assigns new contents to the states. `steps` is ignored unless the cache is Q8. */
void mica__cache_assign(const mica__cached *cached, mica_value all, mica_value steps);
/* Updates the cache `name`. Returns its numbers (batch, length, G, D), or the numbers of x's slots if the cache has
 * slots. */
mica_value mica__cache_keep(mica_nn *nn, const char *name, const mica_nn_attention_config *c, mica_value x,
                            const mica__cache_update *by);

#endif
