/* nn/zoo/recommender.h: networks that tell how a user and an item go together. Ids are rows of tables, 0 those that
 * training has not seen. N users, V items (with 0), D features. */
#ifndef MICA_NN_ZOO_RECOMMENDER_H
#define MICA_NN_ZOO_RECOMMENDER_H

#include "nn/nn.h"

#include <mica/nodes.h>

/* Columns of sets that a network takes at most. */
#define MICA__RECOMMENDER_SETS 8

typedef struct mica__recommender {
  const char *name;     /* mf, neumf, towers, sasrec, dlrm */
  int64_t users, items; /* rows of their tables, 0 among them */
  int64_t width, layers, heads, context;
  double dropout;
  /* dlrm: columns of numbers, of categories and of sets, a set's values at most, and the rows of the table of all
   * values, with 0 for those not known. */
  int64_t numbers, categories, sets, values, set_width[MICA__RECOMMENDER_SETS];
} mica__recommender;

/* What dlrm is given beside users and items; null where there are no such columns: numbers (N, numbers) f32, categories
 * (N, categories), the sets behind each other (N, sum of set_width), and how many values each has (N, sets). */
typedef struct mica__feature_values {
  mica_value numbers, categories, sets, lengths;
} mica__feature_values;

/* What a network may be given of users; null where it is not needed: ids (N), the items before, (N, context), of which
 * the first lengths[n] count. */
typedef struct mica__user_values {
  mica_value ids, history, lengths;
} mica__user_values;

/* A network whose scores are products: query[n] table[v] + bias[v] + shift[n]; bias (V, 1) and shift (N, 1) may be
 * null. Of sasrec in training query is that of all positions, (N, context, D). */
typedef struct mica__recommender_sides {
  mica_value query, table, bias, shift;
} mica__recommender_sides;

/* Items before the one to be told that the network sees; 0: none. */
int64_t mica__recommender_context(const mica__recommender *r);
/* True if a sample of training is a sequence of items, each of which is told from those before it. */
bool mica__recommender_is_sequential(const mica__recommender *r);
/* True for dlrm, which takes one pair at a time, with what else is known of it. */
bool mica__recommender_has_features(const mica__recommender *r);
/* False for a network whose scores are no products: neumf, dlrm. */
bool mica__recommender_has_sides(const mica__recommender *r);
mica__recommender_sides mica__recommender_build(mica_nn *nn, const mica__recommender *r, mica__user_values user);
/* Scores of pairs, (N, K) of items (N, K); and of all items, (N, V); of a network that was built, or as one. */
mica_value mica__recommender_pairs_of(mica_nn *nn, const mica__recommender_sides *sides, mica_value items);
mica_value mica__recommender_all_of(mica_nn *nn, const mica__recommender_sides *sides);
mica_value mica__recommender_pairs(mica_nn *nn, const mica__recommender *r, mica__user_values user, mica_value items);
mica_value mica__recommender_all(mica_nn *nn, const mica__recommender *r, mica__user_values user);

/* A table of `count` rows, "name.weight", N(0, deviation); the weight itself, f32. */
mica_value mica__recommender_table(mica_nn *nn, const char *name, int64_t count, int64_t width, double deviation);

/* Each network by its name. Koren et al. 2009; Covington et al. 2016, Yi et al. 2019; Kang and McAuley 2018. */
mica__recommender_sides mica__zoo_mf(mica_nn *nn, const mica__recommender *r, mica__user_values user);
mica__recommender_sides mica__zoo_towers(mica_nn *nn, const mica__recommender *r, mica__user_values user);
mica__recommender_sides mica__zoo_sasrec(mica_nn *nn, const mica__recommender *r, mica__user_values user);
/* Scores of items: (N, K), or null for all, of which the result is (N, V). He et al. 2017. */
mica_value mica__zoo_neumf(mica_nn *nn, const mica__recommender *r, mica__user_values user, mica_value items);
/* Scores of pairs, (N), with columns of either; *vectors (N, F, D) is what products are made of. Naumov et al. 2019. */
mica_value mica__zoo_dlrm(mica_nn *nn, const mica__recommender *r, mica_value users, mica_value items,
                          const mica__feature_values *x, mica_value *vectors);

#endif
