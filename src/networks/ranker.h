/* networks/ranker.h: queries to a trained recommender (networks/recommender.h): its values for pairs of a user and an
 * item, the best items for a user, and the items most similar to an item. */
#ifndef MICA_NETWORKS_RANKER_H
#define MICA_NETWORKS_RANKER_H

#include "data/interactions/interactions.h"
#include "networks/tables.h"
#include "nn/zoo/recommender.h"

#include <mica/train.h>

typedef struct mica__ranker {
  mica_engine *engine;
  mica_trainer *trainer;
  mica__recommender network;
  /* mean: of the ratings in training. l2: weight of the squared embedding when a new user's embedding is fitted; less
   * than 0.001 counts as 0.001. */
  double mean, l2;
} mica__ranker;

/* The user of a query: an id, or 0 for a new user. items: what the user had before. ratings: the ratings of these
 * items; only a new user needs them. */
typedef struct mica__ranker_query {
  int32_t user;
  int32_t *items;
  float *ratings;
  int64_t count;
  bool excludes; /* items that the user had are not recommended */
} mica__ranker_query;

/* Computes the network's values for n pairs of a user and an item, as one batch. The batch size is part of the plan, so
 * callers pad to MICA__PAIRS. f: the features, for networks that read some. */
#define MICA__PAIRS 256
mica_status mica__ranker_values(const mica__ranker *r, const mica__features *f, const mica__interaction *pairs,
                                size_t n, float *values);
/* Add the best items for a user to `out`, which must be empty.
 *
 *   ask        in the order in which the network ranks them
 *   ask_pairs  by the network's value for the user, who must be known, with each item
 *   fit        for a new user of matrix factorisation (mf): fits the user's embedding to the ratings first */
mica_status mica__ranker_ask(const mica__ranker *r, const mica__ranker_query *a, mica__ranked *out);
mica_status mica__ranker_ask_pairs(const mica__ranker *r, const mica__features *f, const mica__ranker_query *a,
                                   mica__ranked *out);
mica_status mica__ranker_fit(const mica__ranker *r, const mica__ranker_query *a, mica__ranked *out);
/* Adds the items that are most similar to `item`, by the cosine between the embeddings. */
mica_status mica__ranker_like(const mica__ranker *r, int32_t item, mica__ranked *out);

/* Sets row 0 of each table to 0: it stands for unknown users or items, and stays 0 unless a sample refers to it. */
mica_status mica__ranker_begin(mica_engine *engine, mica_trainer *trainer);

#endif
