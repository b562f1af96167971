/* A model's weights in the tensors of a session. */
#include "foundation/model.h"

/* States, such as caches of keys, are in no file. */
static size_t count_states(const mica_nn *nn) {
  size_t count = 0;
  for (size_t p = 0; p < mica_nn_parameter_count(nn); p++)
    count += mica_nn_parameter_at(nn, p)->role == MICA_NN_ROLE_STATE;
  return count;
}

mica_status mica_foundation_load(const mica_foundation *model, const mica_nn *nn, mica_session *session) {
  mica__name_rows rows;
  if (!model || !nn || !session) return mica__fail(MICA_E_INVALID, "mica_foundation_load: a pointer is NULL");
  MICA_TRY(mica_foundation_check(model));
  MICA_TRY(mica__names_rows(model, &rows));
  const mica_name_map map = {.rows = rows.rows, .count = rows.count};
  size_t missing = 0;
  mica_status status = mica_nn_load_from(nn, session, model->weights, &map, &missing);
  mica__name_rows_free(&rows);
  if (status == MICA_OK && missing > count_states(nn))
    status = mica__fail(MICA_E_INVALID, "%s lacks %zu weights of the network: it was not built from this model",
                        model->path, missing - count_states(nn));
  return status;
}
