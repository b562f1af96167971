#include "dist/parts.h"

#include "base/checked.h"

#include <mica/tensor.h>
#include <string.h>

mica_status mica__weights_take(mica__weights *all, const mica_nn *nn, mica_session *session, mica_queue *queue) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    mica__weight_part *one = NULL;
    if (info->role == MICA_NN_ROLE_OPTIMIZER || !tensor) continue;
    MICA_TRY(
        mica__weights_put(all, info->own_name, mica_value_dtype(info->value), mica_value_shape(info->value), &one));
    MICA_TRY(mica_tensor_download(queue, tensor, one->data, (size_t)one->head.bytes));
  }
  return MICA_OK;
}

static mica_status pass(mica_communicator *c, mica_collective kind, int32_t channel, int32_t peer, void *data,
                        int64_t bytes) {
  const mica_transfer transfer = {
      .kind = kind, .channel = channel, .peer = peer, .dtype = MICA_U8, .data = data, .count = bytes};
  return mica_communicator_run(c, &transfer);
}

mica_status mica__weights_send(const mica__weights *all, mica_communicator *c, int32_t channel, int32_t to) {
  mica__weight_head none = {.name = ""};
  for (size_t i = 0; i < all->count; i++) {
    mica__weight_part *one = &all->list[i];
    MICA_TRY(pass(c, MICA_COLLECTIVE_SEND, channel, to, &one->head, sizeof one->head));
    MICA_TRY(pass(c, MICA_COLLECTIVE_SEND, channel, to, one->data, one->head.bytes));
  }
  return pass(c, MICA_COLLECTIVE_SEND, channel, to, &none, sizeof none);
}

/* Data from another process may be wrong: a name without a NUL, or bytes that do not match the shape. */
static mica_status check_head(const mica__weight_head *h, int32_t from) {
  int64_t count = 0, bytes = -1;
  const bool named = memchr(h->name, '\0', sizeof h->name) != NULL;
  const bool typed =
      named && mica_dtype_is_valid((mica_dtype)h->dtype) && mica_shape_count(h->shape, &count) == MICA_OK;
  if (typed && mica__mul_i64(count, (int64_t)mica_dtype_size((mica_dtype)h->dtype), &bytes) && h->bytes == bytes)
    return MICA_OK;
  return mica__fail(
      MICA_E_FORMAT,
      "rank %d sent a damaged tensor: its name has %zu bytes or more, its type or shape is invalid, or its size "
      "does not match them",
      (int)from, sizeof h->name);
}

mica_status mica__weights_receive(mica__weights *all, mica_communicator *c, int32_t channel, int32_t from) {
  for (;;) {
    mica__weight_head h = {.name = ""};
    mica__weight_part *one = NULL;
    MICA_TRY(pass(c, MICA_COLLECTIVE_RECEIVE, channel, from, &h, sizeof h));
    if (!*h.name) return MICA_OK;
    MICA_TRY(check_head(&h, from));
    MICA_TRY(mica__weights_add(all, &h, &one));
    MICA_TRY(pass(c, MICA_COLLECTIVE_RECEIVE, channel, from, one->data, h.bytes));
  }
}
