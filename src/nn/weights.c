#include "nn/weights.h"

#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>

void mica__weights_free(mica__weights *all) {
  for (size_t i = 0; i < all->count; i++) free(all->list[i].data);
  free(all->list);
}

mica_status mica__weights_add(mica__weights *all, const mica__weight_head *h, mica__weight_part **out) {
  mica__weight_part *grown = realloc(all->list, (all->count + 1) * sizeof *grown);
  if (grown) all->list = grown;
  char *data = grown && h->bytes >= 0 ? malloc((size_t)h->bytes + 1) : NULL;
  if (!data) return mica__fail_nomem("a file of weights");
  all->list[all->count] = (mica__weight_part){*h, data};
  *out = &all->list[all->count++];
  return MICA_OK;
}

mica_status mica__weights_put(mica__weights *all, const char *name, mica_dtype dtype, mica_shape shape,
                              mica__weight_part **out) {
  mica__weight_head h = {.dtype = (int32_t)dtype, .shape = shape};
  int64_t count = 0;
  if (strlen(name) >= sizeof h.name)
    return mica__fail(MICA_E_UNSUPPORTED, "the tensor's name %.60s... is longer than %zu bytes", name,
                      sizeof h.name - 1);
  MICA_TRY(mica_shape_count(shape, &count));
  memcpy(h.name, name, strlen(name) + 1);
  h.bytes = count * (int64_t)mica_dtype_size(dtype);
  return mica__weights_add(all, &h, out);
}

static mica__weight_part *find(const mica__weights *all, const char *name) {
  for (size_t i = 0; i < all->count; i++)
    if (!strcmp(all->list[i].head.name, name)) return &all->list[i];
  return NULL;
}

const mica__weight_part *mica__weights_find(const mica__weights *all, const char *name) { return find(all, name); }

/* Copies a part into the whole tensor. */
static mica_status put_part(mica__weights *to, const mica__weight_part *one, int32_t ranks, int32_t rank) {
  const mica__weight_head *h = &one->head;
  const size_t size = mica_dtype_size((mica_dtype)h->dtype);
  mica__weight_part *whole = find(to, h->name);
  MICA_TRY(mica__division_check(&h->division, h->shape, ranks));
  const mica_shape shape = mica__division_whole(&h->division, h->shape);
  if (!whole) MICA_TRY(mica__weights_put(to, h->name, (mica_dtype)h->dtype, shape, &whole));
  if (whole->head.dtype != h->dtype || !mica_shape_equal(whole->head.shape, shape))
    return mica__fail(MICA_E_FORMAT,
                      "the parts of %s on the ranks have different types or shapes, so they do not form one tensor",
                      h->name);
  mica__division_copy(&h->division, h->shape, size, ranks, rank, whole->data, one->data, true);
  return MICA_OK;
}

mica_status mica__weights_join(mica__weights *to, mica__weights *from, int32_t ranks, int32_t rank) {
  for (size_t i = 0; i < from->count; i++) {
    mica__weight_part *one = &from->list[i];
    if (mica__is_divided(&one->head.division)) {
      MICA_TRY(put_part(to, one, ranks, rank));
      continue;
    }
    if (find(to, one->head.name)) continue;
    mica__weight_part *grown = realloc(to->list, (to->count + 1) * sizeof *grown);
    if (!grown) return mica__fail_nomem("a file of weights");
    to->list = grown;
    to->list[to->count++] = *one;
    one->data = NULL;
  }
  return MICA_OK;
}

mica_status mica__weights_write(const mica__weights *all, const char *path, const mica_safetensors_pair *metadata,
                                size_t metadata_count) {
  mica_safetensors_entry *entries = calloc(all->count + 1, sizeof *entries);
  if (!entries) return mica__fail_nomem("a file of weights");
  for (size_t i = 0; i < all->count; i++) {
    const mica__weight_part *one = &all->list[i];
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
