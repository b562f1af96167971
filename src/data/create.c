/* Datasets of the caller's arrays and functions, alone or beside the columns of another dataset. */
#include "base/checked.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

/* Checks that offsets do not decrease, that no sample has 2^31 rows or more, and that classes are in range. */
static mica_status check_data(const mica__store *store, const mica__column *column) {
  const char *name = column->about.name;
  uint64_t rows = store->count;
  for (uint64_t i = 0; column->offsets && i < store->count; i++)
    if (column->offsets[i] < 0 || column->offsets[i + 1] < column->offsets[i] ||
        column->offsets[i + 1] - column->offsets[i] > INT32_MAX)
      return mica__fail(
          MICA_E_FORMAT,
          "%s: sample %llu of column \"%s\" goes from offset %lld to %lld, but offsets must be at least 0, and rise "
          "by 0 to 2^31 - 1 per sample",
          store->name, (unsigned long long)i, name, (long long)column->offsets[i], (long long)column->offsets[i + 1]);
  if (column->about.kind != MICA_COLUMN_KIND_CLASS || !column->data) return MICA_OK;
  if (column->offsets) rows = (uint64_t)column->offsets[store->count];
  const int32_t *classes = (const int32_t *)(const void *)column->data;
  const uint64_t each = column->bytes / sizeof *classes;
  for (uint64_t i = column->offsets ? (uint64_t)column->offsets[0] * each : 0; i < rows * each; i++)
    if (classes[i] < -1 || classes[i] >= column->about.classes)
      return mica__fail(MICA_E_FORMAT,
                        "%s: element %llu of column \"%s\" is the class %d, but classes must be -1 to %d", store->name,
                        (unsigned long long)i, name, classes[i], column->about.classes - 1);
  return MICA_OK;
}

/* If a column of classes does not state their number, sets it to one more than the largest class. MICA_E_INVALID if
 * `data` does not hold one class per sample. */
static mica_status count_classes(const mica__store *store, mica_column_data *from) {
  const bool ragged = from->column.shape.rank > 0 && from->column.shape.dim[0] == MICA_DYNAMIC;
  if (from->column.kind != MICA_COLUMN_KIND_CLASS || from->column.classes != 0) return MICA_OK;
  if (!from->data || ragged || from->column.shape.rank > 0)
    return mica__fail(
        MICA_E_INVALID,
        "%s: set the number of classes of column \"%s\"; Mica counts them only if data holds one class per sample",
        store->name, from->column.name ? from->column.name : "");
  const int32_t *classes = from->data;
  for (uint64_t i = 0; i < store->count; i++)
    if (classes[i] < MICA__MAX_CLASSES && classes[i] >= from->column.classes) from->column.classes = classes[i] + 1;
  return MICA_OK;
}

static mica_status add_column(mica__store *store, mica_column_data from) {
  mica__column *column = NULL;
  const bool ragged = from.column.shape.rank > 0 && from.column.shape.dim[0] == MICA_DYNAMIC;
  const char *wrong = !from.data && !from.read               ? "needs either data or read, but both are NULL"
                      : from.data && from.read               ? "has both data and read; set one of them"
                      : from.data && ragged && !from.offsets ? "is ragged and has data, so it needs offsets"
                      : from.read && ragged && !from.length  ? "is ragged and has read, so it needs length"
                      : from.offsets && !from.data           ? "has offsets, but offsets are only for data"
                      : from.offsets && !ragged              ? "has offsets, but only a ragged column may have them"
                                                             : NULL;
  if (wrong)
    return mica__fail(MICA_E_INVALID, "%s: column \"%s\" %s", store->name, from.column.name ? from.column.name : "",
                      wrong);
  MICA_TRY(count_classes(store, &from));
  MICA_TRY(mica__store_add(store, &from.column, &column));
  column->data = from.data;
  column->offsets = from.offsets;
  column->user = from.user;
  column->read = from.read;
  column->length = from.length;
  column->foreign = true;
  if (from.class_names) MICA_TRY(mica__column_name_classes(column, from.class_names, column->about.classes));
  return check_data(store, column);
}

static mica_status add_columns(mica__store *store, const mica_column_data *columns, size_t n) {
  for (size_t k = 0; k < n; k++) MICA_TRY(add_column(store, columns[k]));
  return MICA_OK;
}

mica_status mica_dataset_create(const char *name, uint64_t count, const mica_column_data *columns, size_t n,
                                mica_dataset **dataset) {
  if (!name || !columns || n == 0 || !dataset)
    return mica__fail(MICA_E_INVALID, "mica_dataset_create: a pointer is NULL, or the number of columns is 0");
  mica__store *store = NULL;
  MICA_TRY(mica__store_create(name, &store));
  mica_status status = mica__store_set_count(store, count);
  if (status == MICA_OK) status = add_columns(store, columns, n);
  if (status == MICA_OK) return mica__dataset_of(store, dataset);
  mica__store_release(store);
  return status;
}

static void release_store(void *store) { mica__store_release(store); }

/* True if one of the added columns replaces this one. */
static bool is_replaced(const char *name, const mica_column_data *added, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (added[k].column.name && !strcmp(added[k].column.name, name)) return true;
  return false;
}

/* Sets *map to the column's own map applied after the map of the dataset's view. The store owns the result. If there is
 * neither map, *map stays as it is. */
static mica_status compose_maps(mica__store *store, const mica_dataset *dataset, const mica__column *from,
                                const uint32_t **map) {
  if (!dataset->map && !from->map) return MICA_OK;
  uint32_t *made = malloc((size_t)dataset->count * sizeof *made);
  if (!made) return mica__fail_nomem("a dataset");
  for (uint64_t i = 0; i < dataset->count; i++) {
    const uint64_t stored = mica__dataset_index(dataset, i);
    made[i] = from->map ? from->map[stored] : (uint32_t)stored;
  }
  *map = made;
  return mica__store_own(store, made, free);
}

/* Copies the descriptions of the dataset's columns, except those that are replaced. */
static mica_status inherit(mica__store *store, const mica_dataset *dataset, const mica_column_data *added, size_t n) {
  const mica__store *from = dataset->store;
  atomic_fetch_add(&dataset->store->references, 1);
  MICA_TRY(mica__store_own(store, dataset->store, release_store));
  for (size_t k = 0; k < from->column_count; k++) {
    mica__column *column = NULL;
    const mica__column *old = &from->columns[k];
    if (is_replaced(old->about.name, added, n)) continue;
    MICA_TRY(mica__store_add(store, &old->about, &column));
    const char *name = column->about.name;
    *column = *old;
    column->about.name = name;
    column->class_names = NULL;
    column->map = NULL;
    MICA_TRY(compose_maps(store, dataset, old, &column->map));
    if (old->class_names)
      MICA_TRY(mica__column_name_classes(column, (const char *const *)old->class_names, old->about.classes));
  }
  return MICA_OK;
}

mica_status mica_dataset_derive(const mica_dataset *dataset, const mica_column_data *added, size_t n,
                                mica_dataset **out) {
  if (!dataset || (!added && n > 0) || !out)
    return mica__fail(MICA_E_INVALID, "mica_dataset_derive: a pointer is NULL");
  mica__store *store = NULL;
  MICA_TRY(mica__store_create(dataset->store->name, &store));
  store->rate = dataset->store->rate;
  mica_status status = mica__store_set_count(store, dataset->count);
  if (status == MICA_OK) status = inherit(store, dataset, added, n);
  if (status == MICA_OK) status = add_columns(store, added, n);
  if (status == MICA_OK) return mica__dataset_of(store, out);
  mica__store_release(store);
  return status;
}
