/* towers: a user, by id and previous items, and an item, both as vectors; the score is their product plus the item's
 * bias. */
#include "nn/zoo/recommender.h"

#include <mica/sparse.h>

#define DEVIATION 0.05
/* The share of training samples whose user id is hidden. */
#define UNKNOWN 0.2

/* Sets some user ids to 0 in training, so row 0 learns to represent users that were never seen. */
static mica_value hide(mica_nn *nn, mica_value ids) {
  if (!mica_nn_is_training(nn)) return ids;
  mica_value like = mica_cast(ids, MICA_F32);
  mica_value hidden = mica_random_bernoulli(mica_nn_step(nn), like, nn->config.seed + 0x746f77, UNKNOWN);
  return mica_where(hidden, mica_full_like(ids, 0), ids);
}

mica__recommender_sides mica__zoo_towers(mica_nn *nn, const mica__recommender *r, mica__user_values user) {
  mica_value users = mica__recommender_table(nn, "users", r->users, r->width, DEVIATION);
  mica_value items = mica__recommender_table(nn, "items", r->items, r->width, DEVIATION);
  mica_value bias = mica__recommender_table(nn, "item_bias", r->items, 1, 0);
  mica_value known = mica_embedding(users, hide(nn, user.ids));
  mica_value before = mica_embedding_bag(items, user.history, user.lengths, (mica_value){0}, MICA_BAG_MEAN);
  mica_value x = mica__nn_narrow(nn, mica_concat((mica_value[]){known, before}, 2, 1));
  mica_value h = mica_relu(mica_nn_dense(nn, "fc1", mica_nn_dropout(nn, x, r->dropout), 2 * r->width, NULL));
  h = mica_nn_dense(nn, "fc2", mica_nn_dropout(nn, h, r->dropout), r->width, NULL);
  return (mica__recommender_sides){.query = mica_add(h, mica__nn_narrow(nn, before)), .table = items, .bias = bias};
}
