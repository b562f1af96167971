#include "nn/held.h"

bool mica__nn_ask_held(mica_graph *graph, const mica_nn_config *config, const char *own, mica_shape shape,
                       mica_nn_held *held) {
  *held = (mica_nn_held){0};
  if (!config->hold || shape.rank < 2) return true;
  if (!config->hold(config->hold_user, own, shape, held)) *held = (mica_nn_held){0};
  const bool block = held->block != MICA_BLOCK_NONE;
  const bool known = held->dtype == MICA_F32 || held->dtype == MICA_F16 || held->dtype == MICA_BF16;
  if (block)
    mica__graph_fail(graph, MICA_E_UNSUPPORTED, "%s: weights in blocks (%s) cannot be computed with yet", own,
                     mica_block_name(held->block));
  else if (!known)
    mica__graph_fail(graph, MICA_E_DTYPE, "%s: a weight is held as f32, f16 or bf16, not %s", own,
                     mica_dtype_name(held->dtype));
  return known && !block;
}
