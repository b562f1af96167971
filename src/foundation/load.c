/* Loads a model's weights into a session, or lets a network use them as they are stored. */
#include "foundation/model.h"
#include "nn/name_map.h"

#include <mica/adapter.h>

/* The number of parameters that a model's files do not have: states, such as key caches, and parameters of adapters. */
static size_t count_own(const mica_nn *nn) {
  size_t count = 0;
  for (size_t p = 0; p < mica_nn_parameter_count(nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, p);
    count += info->role == MICA_NN_ROLE_STATE || mica_adapter_is_parameter(info->own_name);
  }
  return count;
}

static mica_name_map map_of(const mica_foundation *model) {
  return (mica_name_map){.rows = model->rows.rows, .count = model->rows.count};
}

/* Tells a network if it can use the matrix `name` as it is stored in the file. If so, returns true and fills *held with
 * the stored type. */
static bool hold(void *user, const char *name, mica_shape shape, mica_nn_held *held) {
  const mica_foundation *model = user;
  const mica_name_map map = map_of(model);
  mica__named_tensor from;
  int32_t at = 0;
  mica__attempt_begin();
  const mica_status status = mica__name_map_find(&map, model->weights, name, &from);
  mica__attempt_end();
  if (status != MICA_OK || !from.entry || from.row.add != 0) return false;
  /* The matrices of experts keep the file's type even if their order has to change, because they are the largest share
   * of a model's memory. */
  const bool joint = shape.rank == 3 && (from.row.every || from.row.scales || from.row.transposed);
  if (!joint && (from.row.transposed || from.row.every)) return false;
  if (from.row.stacked)
    for (shape.rank--; at < shape.rank; at++) shape.dim[at] = shape.dim[at + 1];
  if (!joint && !mica_shape_equal(from.form.shape, shape)) return false;
  const mica_dtype dtype = from.form.dtype;
  const bool floating = dtype == MICA_F32 || dtype == MICA_F16 || dtype == MICA_BF16;
  if (from.form.block == MICA_BLOCK_NONE && !floating) return false;
  *held = (mica_nn_held){.block = from.form.block, .frozen = true};
  if (from.form.block == MICA_BLOCK_NONE) held->dtype = dtype;
  return true;
}

void mica_foundation_hold(const mica_foundation *model, mica_nn_config *config) {
  config->hold = hold;
  config->hold_user = (void *)model;
}

mica_status mica_foundation_bind(const mica_foundation *model, const mica_nn *nn, mica_engine *engine,
                                 mica_bindings **bindings) {
  if (!model || !nn || !engine || !bindings)
    return mica__fail(MICA_E_INVALID, "mica_foundation_bind: a pointer is NULL");
  const mica_name_map map = map_of(model);
  MICA_TRY(mica_foundation_check(model));
  return mica_nn_bind(nn, engine, model->weights, &map, bindings);
}

mica_status mica__foundation_load_part(const mica_foundation *model, const mica_nn *nn, mica_session *session,
                                       size_t *missing) {
  const mica_name_map map = map_of(model);
  MICA_TRY(mica_foundation_check(model));
  return mica_nn_load_from(nn, session, model->weights, &map, missing);
}

mica_status mica_foundation_load(const mica_foundation *model, const mica_nn *nn, mica_session *session) {
  size_t missing = 0;
  if (!model || !nn || !session) return mica__fail(MICA_E_INVALID, "mica_foundation_load: a pointer is NULL");
  MICA_TRY(mica__foundation_load_part(model, nn, session, &missing));
  if (missing <= count_own(nn)) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s lacks weights of the network (missing: %zu); build the network from this model",
                    model->path, missing - count_own(nn));
}
