#include "dist/parts.h"

#include <mica/tensor.h>

mica_status mica__parts_take(mica__parts *all, const mica_nn *nn, mica_session *session, mica_queue *queue) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    mica__part *one = NULL;
    if (info->role == MICA_NN_ROLE_OPTIMIZER || !tensor) continue;
    MICA_TRY(mica__parts_put(all, info->own_name, mica_value_dtype(info->value), mica_value_shape(info->value), &one));
    MICA_TRY(mica_tensor_download(queue, tensor, one->data, (size_t)one->head.bytes));
  }
  return MICA_OK;
}
