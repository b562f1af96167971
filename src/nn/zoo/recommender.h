/* nn/zoo/recommender.h: networks that score pairs of user and item. Ids are rows of tables; 0 stands for every id that
 * training has not seen. N users in a batch, V items (including 0), D features per row (`width`). */
#ifndef MICA_NN_ZOO_RECOMMENDER_H
#define MICA_NN_ZOO_RECOMMENDER_H

#include "base/shared.h"
#include "nn/nn.h"

#include <mica/nodes.h>
#include <string.h>

/* Maximum number of set columns of a network. */
#define MICA__RECOMMENDER_SETS 8

typedef struct mica__recommender {
  const char *name;     /* mf, neumf, towers, sasrec, dlrm */
  int64_t users, items; /* rows of their tables, including 0 */
  int64_t width, layers, heads, context;
  double dropout;
  /* Only for dlrm: the numbers of columns with numbers, with categories and with sets. `values` is the number of rows
   * in the table of all categories and set elements, including row 0 for unknown ones. set_width[s] is the maximum
   * number of elements of set s. */
  int64_t numbers, categories, sets, values, set_width[MICA__RECOMMENDER_SETS];
} mica__recommender;

/* Further inputs of dlrm. A member is null if there are no such columns.
 *
 *   numbers     (N, numbers) f32
 *   categories  (N, categories)
 *   sets        the elements of all sets, one set after another: (N, sum of set_width)
 *   lengths     the number of elements of each set: (N, sets) */
typedef struct mica__feature_values {
  mica_value numbers, categories, sets, lengths;
} mica__feature_values;

/* Inputs about users. ids is (N). history (N, context) has the user's previous items; the first lengths[n] of row n are
 * valid; all are if lengths is null. Members that the network does not use are null. */
typedef struct mica__user_values {
  mica_value ids, history, lengths;
} mica__user_values;

/* A network whose scores are products: query[n] table[v] + bias[v] + shift[n]. bias (V, 1) and shift (N, 1) may be
 * null. If sasrec gets a history without lengths, as in training, query covers all positions: (N, context, D). */
typedef struct mica__recommender_sides {
  mica_value query, table, bias, shift;
} mica__recommender_sides;

static inline bool mica__recommender_is(const mica__recommender *r, const char *name) {
  return strcmp(r->name, name) == 0;
}

/* Number of previous items that the network uses; 0: none. */
static inline int64_t mica__recommender_context(const mica__recommender *r) {
  return mica__recommender_is(r, "sasrec") || mica__recommender_is(r, "towers") ? r->context : 0;
}

/* True if a training sample is a sequence of items; each item is then predicted from those before it. */
static inline bool mica__recommender_is_sequential(const mica__recommender *r) {
  return mica__recommender_is(r, "sasrec");
}

/* True for dlrm, which scores one pair at a time with further features. */
static inline bool mica__recommender_has_features(const mica__recommender *r) {
  return mica__recommender_is(r, "dlrm");
}

/* False for networks whose scores are not products: neumf, dlrm. */
static inline bool mica__recommender_has_sides(const mica__recommender *r) {
  return !mica__recommender_is(r, "neumf") && !mica__recommender_is(r, "dlrm");
}

MICA__SHARED mica__recommender_sides mica__recommender_build(mica_nn *nn, const mica__recommender *r,
                                                             mica__user_values user);
/* pairs and pairs_of compute the scores of pairs, (N, K) for items (N, K). all and all_of compute the scores of all
 * items, (N, V). The functions that end in _of use the sides that mica__recommender_build has returned; the others
 * build the network themselves. */
MICA__SHARED mica_value mica__recommender_pairs_of(mica_nn *nn, const mica__recommender_sides *sides, mica_value items);
MICA__SHARED mica_value mica__recommender_all_of(mica_nn *nn, const mica__recommender_sides *sides);
MICA__SHARED mica_value mica__recommender_pairs(mica_nn *nn, const mica__recommender *r, mica__user_values user,
                                                mica_value items);
MICA__SHARED mica_value mica__recommender_all(mica_nn *nn, const mica__recommender *r, mica__user_values user);

/* Makes a table of `count` rows, "name.weight", initialised as N(0, deviation). Returns the weight in f32, as the
 * network's hook leaves it. */
mica_value mica__recommender_table(mica_nn *nn, const char *name, int64_t count, int64_t width, double deviation);

/* The networks whose scores are products. mf: Koren et al. 2009; towers: Covington et al. 2016, Yi et al. 2019; sasrec:
 * Kang and McAuley 2018. */
mica__recommender_sides mica__zoo_mf(mica_nn *nn, const mica__recommender *r, mica__user_values user);
mica__recommender_sides mica__zoo_towers(mica_nn *nn, const mica__recommender *r, mica__user_values user);
mica__recommender_sides mica__zoo_sasrec(mica_nn *nn, const mica__recommender *r, mica__user_values user);
/* Scores of items (N, K); items null: all, (N, V). He et al. 2017. */
mica_value mica__zoo_neumf(mica_nn *nn, const mica__recommender *r, mica__user_values user, mica_value items);
/* Scores of pairs with their features, (N). *vectors (N, F, D) receives the F vectors whose dot products the network
 * uses. Naumov et al. 2019. */
MICA__SHARED mica_value mica__zoo_dlrm(mica_nn *nn, const mica__recommender *r, mica_value users, mica_value items,
                                       const mica__feature_values *x, mica_value *vectors);

#endif
