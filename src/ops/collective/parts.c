#include "ops/collective/parts.h"

#include <mica/safetensors.h>
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

mica_status mica__parts_put(mica__parts *all, const char *name, mica_dtype dtype, mica_shape shape, mica__part **out) {
  mica__part_head h = {.dtype = (int32_t)dtype, .shape = shape};
  int64_t count = 0;
  if (strlen(name) >= sizeof h.name)
    return mica__fail(MICA_E_UNSUPPORTED, "the name %.60s... has more than %zu bytes", name, sizeof h.name - 1);
  MICA_TRY(mica_shape_count(shape, &count));
  memcpy(h.name, name, strlen(name) + 1);
  h.bytes = count * (int64_t)mica_dtype_size(dtype);
  return mica__parts_add(all, &h, out);
}

static mica__part *find(const mica__parts *all, const char *name) {
  for (size_t i = 0; i < all->count; i++)
    if (!strcmp(all->list[i].head.name, name)) return &all->list[i];
  return NULL;
}

const mica__part *mica__parts_find(const mica__parts *all, const char *name) { return find(all, name); }

/* Copies a part to where it stands in the whole. */
static mica_status put_part(mica__parts *to, const mica__part *one, int32_t ranks, int32_t rank) {
  const mica__part_head *h = &one->head;
  const size_t size = mica_dtype_size((mica_dtype)h->dtype);
  mica__part *whole = find(to, h->name);
  MICA_TRY(mica__division_check(&h->division, h->shape, ranks));
  const mica_shape shape = mica__division_whole(&h->division, h->shape);
  if (!whole) MICA_TRY(mica__parts_put(to, h->name, (mica_dtype)h->dtype, shape, &whole));
  if (whole->head.dtype != h->dtype || !mica_shape_equal(whole->head.shape, shape))
    return mica__fail(MICA_E_FORMAT, "the ranks' parts of %s do not belong together", h->name);
  mica__division_copy(&h->division, h->shape, size, ranks, rank, whole->data, one->data, true);
  return MICA_OK;
}

mica_status mica__parts_join(mica__parts *to, mica__parts *from, int32_t ranks, int32_t rank) {
  for (size_t i = 0; i < from->count; i++) {
    mica__part *one = &from->list[i];
    if (mica__is_divided(&one->head.division)) {
      MICA_TRY(put_part(to, one, ranks, rank));
      continue;
    }
    if (find(to, one->head.name)) continue;
    mica__part *grown = realloc(to->list, (to->count + 1) * sizeof *grown);
    if (!grown) return mica__fail_nomem("a file of weights");
    to->list = grown;
    to->list[to->count++] = *one;
    one->data = NULL;
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

/* What came from another process is not trusted: a name without an end, bytes that the shape has not. */
static mica_status check_head(const mica__part_head *h, int32_t from) {
  int64_t count = 0;
  const bool named = memchr(h->name, '\0', sizeof h->name) != NULL;
  const bool typed =
      named && mica_dtype_is_valid((mica_dtype)h->dtype) && mica_shape_count(h->shape, &count) == MICA_OK;
  if (typed && h->bytes >= 0 && h->bytes / (int64_t)mica_dtype_size((mica_dtype)h->dtype) == count) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "rank %d sends no tensor: a name of %zu bytes or more, or a size that its shape has not", (int)from,
                    sizeof h->name);
}

mica_status mica__parts_receive(mica__parts *all, mica_communicator *c, int32_t channel, int32_t from) {
  for (;;) {
    mica__part_head h = {.name = ""};
    mica__part *one = NULL;
    MICA_TRY(pass(c, MICA_COLLECTIVE_RECEIVE, channel, from, &h, sizeof h));
    if (!*h.name) return MICA_OK;
    MICA_TRY(check_head(&h, from));
    MICA_TRY(mica__parts_add(all, &h, &one));
    MICA_TRY(pass(c, MICA_COLLECTIVE_RECEIVE, channel, from, one->data, h.bytes));
  }
}

mica_status mica__parts_write(const mica__parts *all, const char *path, const mica_safetensors_pair *metadata,
                              size_t metadata_count) {
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
  mica_status status = mica_safetensors_write(path, entries, all->count, metadata, metadata_count);
  free(entries);
  return status;
}
