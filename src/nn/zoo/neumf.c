/* neumf: the products of features, and dense layers on the features of user and item. */
#include "nn/zoo/recommender.h"

#define DEVIATION 0.1

/* Rows of a table: for users (N, 1, D), for items (N, K, D), or all items (1, V, D). */
static mica_value rows(mica_nn *nn, mica_value table, mica_value ids) {
  mica_value x = mica_value_is_null(ids) ? table : mica_embedding(table, ids);
  if (mica_value_shape(x).rank == 2) x = mica_unsqueeze(x, MICA_AXES(mica_value_is_null(ids) ? 0 : 1));
  return mica__nn_narrow(nn, x);
}

mica_value mica__zoo_neumf(mica_nn *nn, const mica__recommender *r, mica__user_values user, mica_value items) {
  static const mica_dense_config plain = {.no_bias = true};
  const int64_t width = r->width;
  mica_value p = rows(nn, mica__recommender_table(nn, "users", r->users, width, DEVIATION), user.ids);
  mica_value q = rows(nn, mica__recommender_table(nn, "items", r->items, width, DEVIATION), items);
  mica_value a = rows(nn, mica__recommender_table(nn, "deep_users", r->users, width, DEVIATION), user.ids);
  mica_value b = rows(nn, mica__recommender_table(nn, "deep_items", r->items, width, DEVIATION), items);
  /* A dense layer on both, concatenated, is the sum of a dense layer on each. */
  mica_value h =
      mica_add(mica_nn_dense(nn, "users_fc1", a, width, &plain), mica_nn_dense(nn, "items_fc1", b, width, NULL));
  h = mica_nn_dropout(nn, mica_relu(h), r->dropout);
  h = mica_relu(mica_nn_dense(nn, "fc2", h, width / 2 > 0 ? width / 2 : 1, NULL));
  mica_value products = mica_nn_dense(nn, "products", mica_mul(p, q), 1, &plain);
  mica_value score = mica_add(products, mica_nn_dense(nn, "fc3", h, 1, NULL));
  return mica_cast(mica_squeeze(score, MICA_AXES(2)), MICA_F32);
}
