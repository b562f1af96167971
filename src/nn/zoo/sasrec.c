/* sasrec: causal attention over the previous items; the features of the last position represent the user. */
#include "nn/zoo/recommender.h"

#include <math.h>
#include <mica/sequence.h>
#include <stdio.h>

#define DEVIATION 0.02

mica__recommender_sides mica__zoo_sasrec(mica_nn *nn, const mica__recommender *r, mica__user_values user) {
  mica_value items = mica__recommender_table(nn, "items", r->items, r->width, DEVIATION);
  const mica_init_config in = {.kind = MICA_INIT_NORMAL, .value = DEVIATION};
  const mica_transformer_config block = {
      .self = {.heads = r->heads, .causal = true, .dropout = r->dropout, .weight = in, .out_weight = in},
      .hidden = r->width,
      .feed_forward = MICA_FEED_FORWARD_RELU,
      .dropout = r->dropout,
      .weight = in,
      .out_weight = in};
  mica_value x = mica_affine(mica__nn_narrow(nn, mica_embedding(items, user.history)), sqrt((double)r->width), 0);
  mica_value positions = mica_positions(x, (mica_value){0});
  x = mica_nn_positions(nn, "positions", x, positions, r->context, MICA_POSITIONS_KIND_LEARNED);
  x = mica_nn_dropout(nn, x, r->dropout);
  for (int64_t i = 0; i < r->layers; i++) {
    char name[32];
    snprintf(name, sizeof name, "layers.%lld", (long long)i);
    x = mica_nn_transformer(nn, name, x, (mica_value){0}, &block);
  }
  if (!mica_value_is_null(user.lengths)) x = mica_last_rows(x, user.lengths);
  return (mica__recommender_sides){.query = mica_nn_layer_norm(nn, "norm", x, NULL), .table = items};
}
