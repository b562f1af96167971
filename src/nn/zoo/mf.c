/* mf: matrix factorisation with biases. */
#include "nn/zoo/recommender.h"

#define DEVIATION 0.1

mica__recommender_sides mica__zoo_mf(mica_nn *nn, const mica__recommender *r, mica__user_values user) {
  mica_value users = mica__recommender_table(nn, "users", r->users, r->width, DEVIATION);
  mica_value items = mica__recommender_table(nn, "items", r->items, r->width, DEVIATION);
  mica_value user_bias = mica__recommender_table(nn, "user_bias", r->users, 1, 0);
  mica_value item_bias = mica__recommender_table(nn, "item_bias", r->items, 1, 0);
  return (mica__recommender_sides){.query = mica__nn_narrow(nn, mica_embedding(users, user.ids)),
                                   .table = items,
                                   .bias = item_bias,
                                   .shift = mica_embedding(user_bias, user.ids)};
}
