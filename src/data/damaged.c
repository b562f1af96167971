/* If a picture cannot be read, all are tried once more, so that the message tells how many must be repaired and names
 * the first of them. */
#include "data/damaged.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define NAMED 10

typedef struct listing {
  size_t count;
  mica__text names;
  bool no_memory;
} listing;

static void read_all(const mica__store *store, const mica__column *column, listing *l) {
  uint8_t *data = malloc(column->bytes);
  l->no_memory = !data;
  for (uint64_t i = 0; data && !l->no_memory && i < store->count; i++) {
    const uint64_t sample = column->map ? column->map[i] : i;
    mica__attempt_begin();
    const mica_status status = column->read(column->user, sample, data, column->bytes);
    mica__attempt_end();
    l->no_memory = status == MICA_E_NOMEM;
    if (status == MICA_OK) continue;
    if (l->count++ < NAMED) mica__text_addf(&l->names, l->count > 1 ? ", %s" : "%s", column->files[sample]);
  }
  free(data);
}

mica_status mica__damaged_list(const mica__store *store, mica_status status) {
  listing l = {0};
  if (status != MICA_E_FORMAT && status != MICA_E_IO && status != MICA_E_NOT_FOUND && status != MICA_E_UNSUPPORTED)
    return status;
  const mica__column *column = NULL;
  for (size_t k = 0; k < store->column_count; k++)
    if (store->columns[k].about.kind == MICA_COLUMN_KIND_IMAGE && store->columns[k].files && store->columns[k].read)
      column = &store->columns[k];
  if (!column) return status;
  char *first = mica__strdup(mica_error_message());
  read_all(store, column, &l);
  if (first && !l.no_memory && l.count > 1 && !l.names.failed)
    mica__fail(status, "%s; of %llu pictures %zu cannot be read: %s%s", first, (unsigned long long)store->count,
               l.count, l.names.data, l.count > NAMED ? ", ..." : "");
  free(first);
  mica__text_free(&l.names);
  return status;
}
