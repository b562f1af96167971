/* networks/ranker.h: a trained recommender (networks/recommender.h) is asked for the values of pairs, and for the best
 * items of a user. */
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
  double mean, l2; /* of ratings in training; weight of the squares that a new user is fitted with */
} mica__ranker;

/* The user of a query: an id, or 0 with the items and ratings of a new user. */
typedef struct mica__ranker_query {
  int32_t user;
  int32_t *items;
  float *ratings;
  int64_t count;
  bool excludes; /* items that the user had are not recommended */
} mica__ranker_query;

/* Computes the values of n pairs, as one batch. Its size is part of the plan, so callers pad to MICA__PAIRS. f: the
 * features, for networks that read some. */
#define MICA__PAIRS 256
mica_status mica__ranker_values(const mica__ranker *r, const mica__features *f, const mica__interaction *pairs,
                                size_t n, float *values);
/* Three functions that add the best items for a user. ask: in the order in which the network ranks them. ask_pairs: by
 * the values of the user, who must be known, with each item. fit: for a new user of mf, whose embedding is fitted to
 * the ratings. */
mica_status mica__ranker_ask(const mica__ranker *r, const mica__ranker_query *a, mica__ranked *out);
mica_status mica__ranker_ask_pairs(const mica__ranker *r, const mica__features *f, const mica__ranker_query *a,
                                   mica__ranked *out);
mica_status mica__ranker_fit(const mica__ranker *r, const mica__ranker_query *a, mica__ranked *out);
/* Adds the other items by the cosines between their features and the item's. */
mica_status mica__ranker_like(const mica__ranker *r, int32_t item, mica__ranked *out);

/* Sets row 0 of each table to 0: it stands for unknown users or items, and stays 0 unless a sample refers to it. */
mica_status mica__ranker_begin(mica_engine *engine, mica_trainer *trainer);

#endif
