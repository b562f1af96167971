/* Ids by their names. */
#include "data/interactions/features.h"

#include <stdlib.h>

void mica__id_names_free(mica__id_names *ids) {
  for (int32_t i = 0; i < ids->count; i++) free(ids->names[i]);
  free(ids->names);
  mica__name_table_free(&ids->table);
  *ids = (mica__id_names){0};
}

mica_status mica__id_names_add(mica__id_names *ids, const char *name, int32_t *id) {
  *id = mica__id_names_find(ids, name);
  if (*id) return MICA_OK;
  if (ids->count == INT32_MAX - 1) return mica__fail(MICA_E_OVERFLOW, "there are more than 2^31 - 2 ids");
  if (ids->count == ids->capacity) {
    const int32_t capacity = ids->capacity ? ids->capacity + ids->capacity / 2 : 1024;
    char **grown = realloc(ids->names, (size_t)capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("ids");
    ids->names = grown;
    ids->capacity = capacity;
  }
  char *copy = mica__strdup(name);
  mica_status status = copy ? mica__name_table_add(&ids->table, copy, ids->count) : mica__fail_nomem("ids");
  if (status != MICA_OK) {
    free(copy);
    return status;
  }
  ids->names[ids->count++] = copy;
  *id = ids->count;
  return MICA_OK;
}

mica_status mica__id_names_renumber(mica__id_names *ids, const int32_t *map, int32_t count) {
  mica__id_names kept = {.names = calloc((size_t)count + 1, sizeof(char *)), .count = count, .capacity = count};
  mica_status status = kept.names ? MICA_OK : mica__fail_nomem("ids");
  for (int32_t i = 0; status == MICA_OK && i < ids->count; i++)
    if (map[i + 1]) kept.names[map[i + 1] - 1] = ids->names[i], ids->names[i] = NULL;
  for (int32_t i = 0; status == MICA_OK && i < count; i++) status = mica__name_table_add(&kept.table, kept.names[i], i);
  mica__id_names_free(ids);
  *ids = kept;
  return status;
}
