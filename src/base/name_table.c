#include "base/name_table.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* The entry of the name, or the free entry where it belongs; the table must have a free one. */
static mica__name_entry *entry_of(const mica__name_table *names, const char *name) {
  size_t mask = names->size - 1, at = (size_t)mica__hash_text((mica__hash){0}, name).low & mask;
  while (names->entries[at].name && strcmp(names->entries[at].name, name) != 0) at = (at + 1) & mask;
  return &names->entries[at];
}

static mica_status grow(mica__name_table *names) {
  mica__name_table grown = {.size = names->size ? 2 * names->size : 16, .count = names->count};
  grown.entries = calloc(grown.size, sizeof *grown.entries);
  if (!grown.entries) return mica__fail_nomem("a table of names");
  for (size_t i = 0; i < names->size; i++)
    if (names->entries[i].name) *entry_of(&grown, names->entries[i].name) = names->entries[i];
  free(names->entries);
  *names = grown;
  return MICA_OK;
}

mica_status mica__name_table_add(mica__name_table *names, const char *name, int32_t number) {
  if (2 * (names->count + 1) > names->size) MICA_TRY(grow(names));
  *entry_of(names, name) = (mica__name_entry){name, number};
  names->count++;
  return MICA_OK;
}

int32_t mica__name_table_find(const mica__name_table *names, const char *name) {
  if (!names->count) return -1;
  const mica__name_entry *entry = entry_of(names, name);
  return entry->name ? entry->number : -1;
}

void mica__name_table_free(mica__name_table *names) {
  free(names->entries);
  *names = (mica__name_table){0};
}
