#include "io/weight_table.h"

#include <stdlib.h>
#include <string.h>

mica_status mica__weight_table_make(mica__weight_table *table, size_t count) {
  /* Allocate one more, because an allocation of 0 bytes may return NULL. */
  table->entries = count < SIZE_MAX ? calloc(count + 1, sizeof *table->entries) : NULL;
  table->by_name = table->entries ? calloc(count + 1, sizeof *table->by_name) : NULL;
  if (!table->by_name) return mica__fail_nomem("a table of weights");
  table->count = count;
  return MICA_OK;
}

static int by_name(const void *a, const void *b) {
  const mica_weight_entry *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

mica_status mica__weight_table_sort(mica_status status, mica__weight_table *table, const char *path) {
  for (size_t i = 0; i < table->count; i++) table->by_name[i] = &table->entries[i];
  qsort(table->by_name, table->count, sizeof *table->by_name, by_name);
  for (size_t i = 1; i < table->count; i++)
    if (!strcmp(table->by_name[i - 1]->name, table->by_name[i]->name))
      return mica__fail(status, "%s: the tensor \"%.200s\" is there twice", path, table->by_name[i]->name);
  return MICA_OK;
}

const mica_weight_entry *mica__weight_table_find(const mica__weight_table *table, const char *name) {
  size_t low = 0, high = table->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = strcmp(name, table->by_name[middle]->name);
    if (order == 0) return table->by_name[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

void mica__weight_table_free(mica__weight_table *table) {
  free(table->entries);
  free(table->by_name);
  *table = (mica__weight_table){0};
}
