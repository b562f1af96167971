#include "nn/zoo/recommender.h"

mica_value mica__recommender_table(mica_nn *nn, const char *name, int64_t count, int64_t width, double deviation) {
  const mica_init_config init = {.kind = MICA_INIT_NORMAL, .value = deviation};
  mica_shape like;
  mica__nn_enter(nn, name, "embedding");
  /* A pruned network has fewer features. */
  if (mica__nn_like(nn, 2, 1, &like)) width = like.dim[1];
  mica_value table = mica__nn_add(nn, "weight", MICA_F32, MICA_SHAPE(count, width), &init, MICA_NN_ROLE_WEIGHT);
  return mica__nn_leave(nn, mica__nn_hooked(nn, MICA_NN_POINT_WEIGHT, table));
}
