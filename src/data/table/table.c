/* The format of tables as text. */
#include "data/table/table.h"
#include "data/source.h"

#include <stdlib.h>

static bool is_part(mica_part part, const char *name, const char *rest) {
  (void)part, (void)name;
  return rest && (mica__name_ends(rest, ".csv") || mica__name_ends(rest, ".tsv"));
}

static bool is_file(const char *path, const uint8_t *begin, size_t size) {
  (void)path, (void)begin, (void)size;
  return true;
}

static mica_status open_table(const char *const *paths, size_t count, const mica_dataset_config *config,
                              mica__store *store) {
  uint8_t *content = NULL;
  size_t size = 0;
  (void)count;
  if (mica__stays_in_file(paths[0], config)) return mica__table_open(paths[0], config, store);
  MICA_TRY(mica__content_read(paths[0], &content, &size));
  mica_status status = mica__table_parse(paths[0], (char *)content, size, config, store);
  free(content);
  return status;
}

const mica__source mica__source_table = {.is_part = is_part, .is_file = is_file, .open = open_table};

mica_status mica__table_read(const char *name, char *content, size_t size, const mica_dataset_config *config,
                             mica_dataset **dataset) {
  mica__store *store = NULL;
  MICA_TRY(mica__store_create(name, &store));
  mica_status status = mica__table_parse(name, content, size, config, store);
  if (status == MICA_OK) status = mica__store_finish(name, store, config);
  if (status == MICA_OK) return mica__dataset_of(store, dataset);
  mica__store_release(store);
  return status;
}
