#include "nn/zoo/recommender.h"

mica__recommender_sides mica__recommender_build(mica_nn *nn, const mica__recommender *r, mica__user_values user) {
  if (mica__recommender_is(r, "sasrec")) return mica__zoo_sasrec(nn, r, user);
  return mica__recommender_is(r, "towers") ? mica__zoo_towers(nn, r, user) : mica__zoo_mf(nn, r, user);
}

mica_value mica__recommender_pairs_of(mica_nn *nn, const mica__recommender_sides *s, mica_value items) {
  mica_value x = mica_mul(mica_unsqueeze(s->query, MICA_AXES(1)), mica__nn_narrow(nn, mica_embedding(s->table, items)));
  mica_value score = mica_sum(mica_cast(x, MICA_F32), MICA_AXES(2), false);
  if (!mica_value_is_null(s->bias)) score = mica_add(score, mica_squeeze(mica_embedding(s->bias, items), MICA_AXES(2)));
  return mica_value_is_null(s->shift) ? score : mica_add(score, s->shift);
}

mica_value mica__recommender_all_of(mica_nn *nn, const mica__recommender_sides *s) {
  mica_value score =
      mica_cast(mica_matmul(s->query, mica_transpose(mica__nn_narrow(nn, s->table), MICA_ALL_AXES)), MICA_F32);
  if (!mica_value_is_null(s->bias)) score = mica_add(score, mica_reshape(s->bias, MICA_SHAPE(1, MICA_DYNAMIC)));
  return mica_value_is_null(s->shift) ? score : mica_add(score, s->shift);
}

mica_value mica__recommender_pairs(mica_nn *nn, const mica__recommender *r, mica__user_values user, mica_value items) {
  if (!mica__recommender_has_sides(r)) return mica__zoo_neumf(nn, r, user, items);
  const mica__recommender_sides s = mica__recommender_build(nn, r, user);
  return mica__recommender_pairs_of(nn, &s, items);
}

mica_value mica__recommender_all(mica_nn *nn, const mica__recommender *r, mica__user_values user) {
  if (!mica__recommender_has_sides(r)) return mica__zoo_neumf(nn, r, user, (mica_value){0});
  const mica__recommender_sides s = mica__recommender_build(nn, r, user);
  return mica__recommender_all_of(nn, &s);
}
