/* The weights of all stages in one file, by name. */
#include "base/error.h"
#include "dist/pipeline.h"

#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

/* Nothing else is sent from stage to stage while a pipeline is saved. */
#define CHANNEL (MICA_CHANNELS / 4 - 1)

/* A tensor on its way: this, then its elements. A head without a name ends the list. */
typedef struct head {
  char name[256];
  int64_t bytes;
  mica_shape shape;
  int32_t dtype;
} head;

typedef struct part {
  head head;
  void *data;
} part;

typedef struct parts {
  part *list;
  size_t count;
} parts;

static void drop(parts *all) {
  for (size_t i = 0; i < all->count; i++) free(all->list[i].data);
  free(all->list);
}

/* Adds a tensor with room for its elements; *out is valid until the next one. */
static mica_status add(parts *all, const head *h, part **out) {
  part *grown = realloc(all->list, (all->count + 1) * sizeof *grown);
  if (grown) all->list = grown;
  void *data = grown && h->bytes >= 0 ? malloc((size_t)h->bytes + 1) : NULL;
  if (!data) return mica__fail_nomem("a pipeline's file");
  all->list[all->count] = (part){*h, data};
  *out = &all->list[all->count++];
  return MICA_OK;
}

/* The stage's own tensors. */
static mica_status take_own(mica_pipeline *p, mica_queue *queue, parts *all) {
  const mica_nn *nn = mica_pipeline_network(p);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(mica_pipeline_session(p), info->name);
    head h = {.dtype = (int32_t)mica_value_dtype(info->value), .shape = mica_value_shape(info->value)};
    part *one = NULL;
    if (info->role == MICA_NN_ROLE_OPTIMIZER || !tensor) continue;
    if (strlen(info->own_name) >= sizeof h.name)
      return mica__fail(MICA_E_UNSUPPORTED, "the name %.60s... has more than %zu bytes", info->own_name,
                        sizeof h.name - 1);
    memcpy(h.name, info->own_name, strlen(info->own_name) + 1);
    h.bytes = (int64_t)mica_tensor_bytes(tensor);
    MICA_TRY(add(all, &h, &one));
    MICA_TRY(mica_tensor_download(queue, tensor, one->data, (size_t)h.bytes));
  }
  return MICA_OK;
}

static mica_status pass(mica_communicator *c, mica_collective kind, int32_t peer, void *data, int64_t bytes) {
  const mica_transfer transfer = {
      .kind = kind, .channel = CHANNEL, .peer = peer, .dtype = MICA_U8, .data = data, .count = bytes};
  return mica_communicator_run(c, &transfer);
}

static mica_status send_all(mica_communicator *c, const parts *all) {
  head none = {.name = ""};
  for (size_t i = 0; i < all->count; i++) {
    part *one = &all->list[i];
    MICA_TRY(pass(c, MICA_COLLECTIVE_SEND, 0, &one->head, sizeof one->head));
    MICA_TRY(pass(c, MICA_COLLECTIVE_SEND, 0, one->data, one->head.bytes));
  }
  return pass(c, MICA_COLLECTIVE_SEND, 0, &none, sizeof none);
}

static mica_status receive_all(mica_communicator *c, int32_t peer, parts *all) {
  for (;;) {
    head h = {.name = ""};
    part *one = NULL;
    MICA_TRY(pass(c, MICA_COLLECTIVE_RECEIVE, peer, &h, sizeof h));
    if (!*h.name) return MICA_OK;
    MICA_TRY(add(all, &h, &one));
    MICA_TRY(pass(c, MICA_COLLECTIVE_RECEIVE, peer, one->data, h.bytes));
  }
}

static mica_status write_all(const char *path, const parts *all) {
  mica_safetensors_entry *entries = calloc(all->count + 1, sizeof *entries);
  if (!entries) return mica__fail_nomem("a pipeline's file");
  for (size_t i = 0; i < all->count; i++) {
    const part *one = &all->list[i];
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

static mica_status save(mica_pipeline *p, mica_communicator *c, mica_queue *queue, const char *path, parts *all) {
  MICA_TRY(take_own(p, queue, all));
  if (c->rank) return send_all(c, all);
  for (int32_t k = 1; k < c->ranks; k++) MICA_TRY(receive_all(c, k, all));
  return write_all(path, all);
}

mica_status mica_pipeline_save(mica_pipeline *p, const char *path) {
  parts all = {NULL, 0};
  if (!p || !path) return mica__fail(MICA_E_INVALID, "mica_pipeline_save: a pointer is NULL");
  mica_communicator *c = mica__pipeline_communicator(p);
  mica_status status = save(p, c, mica__pipeline_queue(p), path, &all);
  if (status != MICA_OK) mica_communicator_abort(c, mica_error_message());
  drop(&all);
  return status;
}

mica_status mica_pipeline_load(mica_pipeline *p, const char *path) {
  if (!p || !path) return mica__fail(MICA_E_INVALID, "mica_pipeline_load: a pointer is NULL");
  return mica_nn_load(mica_pipeline_network(p), mica_pipeline_session(p), path, NULL);
}
