/* base/name_table.h: maps names to numbers: a hash table that borrows the names. */
#ifndef MICA_BASE_NAME_TABLE_H
#define MICA_BASE_NAME_TABLE_H

#include "base/error.h"
#include "base/shared.h"

#include <stddef.h>
#include <stdint.h>

typedef struct mica__name_entry {
  const char *name; /* NULL in a free entry */
  int32_t number;
} mica__name_entry;

/* Zero-initialise; free with mica__name_table_free. Open addressing with linear probing, at most half full. */
typedef struct mica__name_table {
  mica__name_entry *entries;
  size_t size, count; /* size: a power of two, or 0 */
} mica__name_table;

/* Stores number (0 or more) under a name that the table does not have yet. The text is borrowed and must outlive the
 * table. */
MICA__SHARED mica_status mica__name_table_add(mica__name_table *names, const char *name, int32_t number);
/* Returns the number stored under the name; -1 if the name is unknown. */
MICA__SHARED int32_t mica__name_table_find(const mica__name_table *names, const char *name);
MICA__SHARED void mica__name_table_free(mica__name_table *names);

#endif
