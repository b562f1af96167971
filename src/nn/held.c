#include "nn/held.h"

#include <mica/dist.h>
#include <mica/nodes.h>

bool mica__nn_ask_held(mica_graph *graph, const mica_nn_config *config, const char *name, mica_shape shape,
                       mica_nn_held *held) {
  *held = (mica_nn_held){0};
  if (!config->hold || shape.rank < 2) return true;
  if (!config->hold(config->hold_user, name, shape, held)) *held = (mica_nn_held){0};
  if (held->block == MICA_BLOCK_NONE) {
    if (held->dtype == MICA_F32 || held->dtype == MICA_F16 || held->dtype == MICA_BF16) return true;
    mica__graph_fail(graph, MICA_E_DTYPE, "%s: a weight must be held as f32, f16, bf16 or in blocks, not as %s", name,
                     mica_dtype_name(held->dtype));
    return false;
  }
  held->dtype = MICA_U8;
  const int64_t columns = shape.dim[shape.rank - 1], elements = mica_block_elements(held->block);
  if (!elements)
    mica__graph_fail(graph, MICA_E_INVALID, "%s: %d is not a block type", name, (int)held->block);
  else if (columns % elements != 0)
    mica__graph_fail(graph, MICA_E_SHAPE,
                     "%s: the length of a row is %lld, but must be a multiple of %lld, the length of a %s block", name,
                     (long long)columns, (long long)elements, mica_block_name(held->block));
  else if (config->tensor_ranks)
    mica__graph_fail(graph, MICA_E_UNSUPPORTED, "%s: weights in blocks cannot be divided between ranks", name);
  else
    return true;
  return false;
}

mica__type mica__nn_held_type(const mica_nn_held *held, mica_shape shape) {
  if (held->block != MICA_BLOCK_NONE) {
    int64_t *columns = &shape.dim[shape.rank - 1];
    *columns = *columns / mica_block_elements(held->block) * (int64_t)mica_block_bytes(held->block);
  }
  return (mica__type){held->dtype, shape};
}

mica_shape mica__nn_held_shape(const mica_nn_held *held, mica_shape parameter) {
  if (held->block != MICA_BLOCK_NONE) {
    int64_t *bytes = &parameter.dim[parameter.rank - 1];
    *bytes = *bytes / (int64_t)mica_block_bytes(held->block) * mica_block_elements(held->block);
  }
  return parameter;
}

static int64_t columns_of(const mica_nn_held *held, mica_value parameter) {
  const mica_shape shape = mica__nn_held_shape(held, mica_value_shape(parameter));
  return shape.dim[shape.rank - 1];
}

mica_value mica__nn_held_value(const mica_nn_held *held, mica_value parameter, mica_dtype dtype) {
  if (held->block != MICA_BLOCK_NONE && !mica_value_is_null(parameter))
    return mica_unblock(parameter, held->block, columns_of(held, parameter), dtype);
  return mica_value_dtype(parameter) == dtype ? parameter : mica_cast(parameter, dtype);
}

mica_value mica__nn_held_rows(const mica_nn_held *held, mica_value parameter, mica_value ids, mica_dtype dtype) {
  if (held->block != MICA_BLOCK_NONE && !mica_value_is_null(parameter))
    return mica_block_rows(parameter, ids, held->block, columns_of(held, parameter), dtype);
  return mica_embedding(parameter, ids);
}
