/* dlrm: all numbers together give one vector. Each id, each column of categories and each set give one vector too.
 * Dense layers then read the vector of the numbers, and the dot products of all pairs of vectors. */
#include "nn/zoo/recommender.h"

#include <mica/sparse.h>

#define DEVIATION 0.1
/* The vectors of numbers, user and item come before categories and sets. */
#define FIRST 3

/* Rows (N, D) as one vector per sample, (N, 1, D). */
static mica_value vector(mica_nn *nn, mica_value rows) {
  return mica__nn_narrow(nn, mica_unsqueeze(rows, MICA_AXES(1)));
}

/* The bottom layers: turn all numbers of a sample into one vector, (N, D). If there are no numbers, the vector is the
 * same for all samples, and its products with the other vectors act as biases. */
static mica_value bottom(mica_nn *nn, const mica__recommender *r, mica_value numbers, mica_value users) {
  if (mica_value_is_null(numbers))
    numbers = mica_full_like(mica_cast(mica_unsqueeze(users, MICA_AXES(1)), MICA_F32), 1);
  mica_value h = mica_relu(mica_nn_dense(nn, "bottom1", mica__nn_narrow(nn, numbers), 2 * r->width, NULL));
  return mica_nn_dense(nn, "bottom2", h, r->width, NULL);
}

/* Adds a vector per set: the mean of its values' rows. */
static size_t add_sets(mica_nn *nn, const mica__recommender *r, mica_value table, const mica__feature_values *x,
                       mica_value *list) {
  int64_t at = 0;
  for (int64_t s = 0; s < r->sets; s++) {
    mica_value ids = mica_slice(x->sets, 1, at, at + r->set_width[s], 1);
    mica_value length = mica_squeeze(mica_slice(x->lengths, 1, s, s + 1, 1), MICA_AXES(1));
    list[s] = vector(nn, mica_embedding_bag(table, ids, length, (mica_value){0}, MICA_BAG_MEAN));
    at += r->set_width[s];
  }
  return (size_t)r->sets;
}

mica_value mica__zoo_dlrm(mica_nn *nn, const mica__recommender *r, mica_value users, mica_value items,
                          const mica__feature_values *x, mica_value *vectors) {
  mica_value list[FIRST + 1 + MICA__RECOMMENDER_SETS];
  size_t count = FIRST;
  const int64_t width = r->width;
  mica_value dense = bottom(nn, r, x->numbers, users);
  list[0] = mica_unsqueeze(dense, MICA_AXES(1));
  list[1] = vector(nn, mica_embedding(mica__recommender_table(nn, "users", r->users, width, DEVIATION), users));
  list[2] = vector(nn, mica_embedding(mica__recommender_table(nn, "items", r->items, width, DEVIATION), items));
  if (r->categories + r->sets > 0) {
    mica_value table = mica__recommender_table(nn, "values", r->values, width, DEVIATION);
    if (r->categories) list[count++] = mica__nn_narrow(nn, mica_embedding(table, x->categories));
    count += add_sets(nn, r, table, x, list + count);
  }
  *vectors = mica_concat(list, count, 1);
  mica_value h = mica_concat((mica_value[]){dense, mica_dot_interaction(*vectors)}, 2, 1);
  h = mica_nn_dropout(nn, mica_relu(mica_nn_dense(nn, "top1", h, 4 * width, NULL)), r->dropout);
  h = mica_relu(mica_nn_dense(nn, "top2", h, 2 * width, NULL));
  h = mica_nn_dense(nn, "top3", h, 1, NULL);
  return mica_cast(mica_squeeze(h, MICA_AXES(1)), MICA_F32);
}
