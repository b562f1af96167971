/* io/weight_table.h: entries of weight files, with lookup by name. */
#ifndef MICA_IO_WEIGHT_TABLE_H
#define MICA_IO_WEIGHT_TABLE_H

#include "base/error.h"

#include <mica/weights.h>

/* Zero-initialise; free with mica__weight_table_free. */
typedef struct mica__weight_table {
  mica_weight_entry *entries;
  const mica_weight_entry **by_name;
  size_t count;
} mica__weight_table;

/* Allocates `count` zeroed entries. MICA_E_NOMEM. */
mica_status mica__weight_table_make(mica__weight_table *table, size_t count);
/* Sorts the names; call it after all entries are filled in. Fails with `status` and names the tensor if two share a
 * name. path: the file or folder, for the message. */
mica_status mica__weight_table_sort(mica_status status, mica__weight_table *table, const char *path);
/* Returns the entry; NULL if no entry has this name. */
const mica_weight_entry *mica__weight_table_find(const mica__weight_table *table, const char *name);
void mica__weight_table_free(mica__weight_table *table);

#endif
