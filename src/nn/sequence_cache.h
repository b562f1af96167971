/* nn/sequence_cache.h: a layer's caches of keys and values, in the forms of mica/sequence.h. */
#ifndef MICA_NN_SEQUENCE_CACHE_H
#define MICA_NN_SEQUENCE_CACHE_H

#include "nn/sequence.h"

/* Update of a cache in one run: x (B, T, G, D) at rows (B, T), after copying the parent sequences. null: no rows; own
 * sequences. */
typedef struct mica__cache_update {
  int64_t batch;
  mica_value rows, parents;
} mica__cache_update;

/* A cache's states, and what is in them before the update: (batch length, G D), and the scales of a cache of Q8,
 * (batch length, G D / mica__decode_block), else null. */
typedef struct mica__cached {
  mica_value state, all;
  mica_value steps_state, steps;
} mica__cached;

/* Rows of the cache of `batch` sequences for positions (T) or (B, T). Positions beyond the cache get a row after the
 * last one, which a scatter skips. */
mica_value mica__cache_rows(const mica_kv_cache *cache, int64_t batch, mica_value positions);
/* Makes the states of the cache `name`. */
mica__cached mica__cache_find(mica_nn *nn, const char *name, const mica_nn_attention_config *c,
                              const mica__cache_update *by);
/* Gives the states new values. */
void mica__cache_assign(const mica__cached *cached, mica_value all, mica_value steps);
/* Updates the cache `name`, and returns its numbers (batch, length, G, D), of x's slots alone if it has slots. */
mica_value mica__cache_keep(mica_nn *nn, const char *name, const mica_nn_attention_config *c, mica_value x,
                            const mica__cache_update *by);

#endif
