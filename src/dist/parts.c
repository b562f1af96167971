#include "dist/parts.h"

#include <mica/safetensors.h>
#include <mica/tensor.h>
#include <stdlib.h>
#include <string.h>

void mica__parts_free(mica__parts *all) {
  for (size_t i = 0; i < all->count; i++) free(all->list[i].data);
  free(all->list);
}

mica_status mica__parts_add(mica__parts *all, const mica__part_head *h, mica__part **out) {
  mica__part *grown = realloc(all->list, (all->count + 1) * sizeof *grown);
  if (grown) all->list = grown;
  char *data = grown && h->bytes >= 0 ? malloc((size_t)h->bytes + 1) : NULL;
  if (!data) return mica__fail_nomem("a file of weights");
  all->list[all->count] = (mica__part){*h, data};
  *out = &all->list[all->count++];
  return MICA_OK;
}

const mica__part *mica__parts_find(const mica__parts *all, const char *name) {
  for (size_t i = 0; i < all->count; i++)
    if (!strcmp(all->list[i].head.name, name)) return &all->list[i];
  return NULL;
}

mica_status mica__parts_take(mica__parts *all, const mica_nn *nn, mica_session *session, mica_queue *queue) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    mica__part_head h = {.dtype = (int32_t)mica_value_dtype(info->value), .shape = mica_value_shape(info->value)};
    mica__part *one = NULL;
    if (info->role == MICA_NN_ROLE_OPTIMIZER || !tensor) continue;
    if (strlen(info->own_name) >= sizeof h.name)
      return mica__fail(MICA_E_UNSUPPORTED, "the name %.60s... has more than %zu bytes", info->own_name,
                        sizeof h.name - 1);
    memcpy(h.name, info->own_name, strlen(info->own_name) + 1);
    h.bytes = (int64_t)mica_tensor_bytes(tensor);
    MICA_TRY(mica__parts_add(all, &h, &one));
    MICA_TRY(mica_tensor_download(queue, tensor, one->data, (size_t)h.bytes));
  }
  return MICA_OK;
}

static mica_status pass(mica_communicator *c, mica_collective kind, int32_t channel, int32_t peer, void *data,
                        int64_t bytes) {
  const mica_transfer transfer = {
      .kind = kind, .channel = channel, .peer = peer, .dtype = MICA_U8, .data = data, .count = bytes};
  return mica_communicator_run(c, &transfer);
}

mica_status mica__parts_send(const mica__parts *all, mica_communicator *c, int32_t channel, int32_t to) {
  mica__part_head none = {.name = ""};
  for (size_t i = 0; i < all->count; i++) {
    mica__part *one = &all->list[i];
    MICA_TRY(pass(c, MICA_COLLECTIVE_SEND, channel, to, &one->head, sizeof one->head));
    MICA_TRY(pass(c, MICA_COLLECTIVE_SEND, channel, to, one->data, one->head.bytes));
  }
  return pass(c, MICA_COLLECTIVE_SEND, channel, to, &none, sizeof none);
}

mica_status mica__parts_receive(mica__parts *all, mica_communicator *c, int32_t channel, int32_t from) {
  for (;;) {
    mica__part_head h = {.name = ""};
    mica__part *one = NULL;
    MICA_TRY(pass(c, MICA_COLLECTIVE_RECEIVE, channel, from, &h, sizeof h));
    if (!*h.name) return MICA_OK;
    MICA_TRY(mica__parts_add(all, &h, &one));
    MICA_TRY(pass(c, MICA_COLLECTIVE_RECEIVE, channel, from, one->data, h.bytes));
  }
}

mica_status mica__parts_write(const mica__parts *all, const char *path) {
  mica_safetensors_entry *entries = calloc(all->count + 1, sizeof *entries);
  if (!entries) return mica__fail_nomem("a file of weights");
  for (size_t i = 0; i < all->count; i++) {
    const mica__part *one = &all->list[i];
    entries[i] = (mica_safetensors_entry){.name = one->head.name,
                                          .dtype = (mica_dtype)one->head.dtype,
                                          .shape = one->head.shape,
                                          .data = one->data,
                                          .bytes = (size_t)one->head.bytes};
  }
  mica_status status = mica_safetensors_write(path, entries, all->count, NULL, 0);
  free(entries);
  return status;
}
