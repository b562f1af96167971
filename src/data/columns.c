/* The columns of a dataset, by name and kind, and their samples. */
#include "base/checked.h"
#include "data/table/table.h"

#include <string.h>

const char *mica_column_kind_name(mica_column_kind kind) {
#define KIND_NAME(name, text) text,
  static const char *const names[] = {MICA_COLUMN_KIND_LIST(KIND_NAME)};
#undef KIND_NAME
  return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

size_t mica_dataset_column_count(const mica_dataset *dataset) { return dataset->store->column_count; }

const mica_column *mica_dataset_column(const mica_dataset *dataset, size_t column) {
  return column < dataset->store->column_count ? &dataset->store->columns[column].about : NULL;
}

const mica_column *mica__dataset_find(const mica_dataset *dataset, mica_column_kind kind) {
  for (size_t i = 0; i < dataset->store->column_count; i++)
    if (dataset->store->columns[i].about.kind == kind) return &dataset->store->columns[i].about;
  return NULL;
}

size_t mica_dataset_column_index(const mica_dataset *dataset, const char *name) {
  const mica__column *found = name ? mica__store_find(dataset->store, name) : NULL;
  return found ? (size_t)(found - dataset->store->columns) : dataset->store->column_count;
}

const char *mica_dataset_column_class(const mica_dataset *dataset, size_t column, int32_t class_index) {
  if (column >= dataset->store->column_count) return NULL;
  const mica__column *from = &dataset->store->columns[column];
  return from->class_names && class_index >= 0 && class_index < from->about.classes ? from->class_names[class_index]
                                                                                    : NULL;
}

const char *mica_dataset_number_name(const mica_dataset *dataset, size_t column, int64_t index) {
  if (column >= dataset->store->column_count) return NULL;
  const mica__column *from = &dataset->store->columns[column];
  return from->part_names && index >= 0 && index < from->about.shape.dim[0] ? from->part_names[index] : NULL;
}

double mica_dataset_base(const mica_dataset *dataset, size_t column, int64_t index) {
  const mica__schema *schema = dataset->store->schema;
  const mica_column *about = mica_dataset_column(dataset, column);
  const mica__extent *extents = about ? dataset->store->columns[column].extents : NULL;
  if (extents && index >= 0 && (uint64_t)index < dataset->store->columns[column].extent_count)
    return extents[index].base;
  for (size_t i = 0; schema && about && i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->kind != MICA_COLUMN_KIND_NUMBER || strcmp(mica__field_column(field), about->name) != 0) continue;
    if (field->label ? index == 0 : field->slot == index) return field->base;
  }
  return 0;
}

const char *mica_dataset_file(const mica_dataset *dataset, uint64_t sample) {
  const mica__store *store = dataset->store;
  if (sample >= dataset->count) return NULL;
  const uint64_t stored = mica__dataset_index(dataset, sample);
  for (size_t k = 0; k < store->column_count; k++) {
    const mica__column *from = &store->columns[k];
    if (from->files) return from->files[from->map ? from->map[stored] : stored];
  }
  return NULL;
}

uint64_t mica_dataset_line(const mica_dataset *dataset, uint64_t sample) {
  const mica__store *store = dataset->store;
  if (sample >= dataset->count) return 0;
  const uint64_t stored = mica__dataset_index(dataset, sample);
  for (size_t k = 0; k < store->column_count; k++) {
    const mica__column *from = &store->columns[k];
    if (from->lines) return from->lines[from->map ? from->map[stored] : stored];
  }
  return 0;
}

static mica_status check_sample(const mica_dataset *dataset, size_t column, uint64_t sample) {
  if (!dataset || column >= dataset->store->column_count)
    return mica__fail(MICA_E_INVALID, "the dataset is NULL, or has no column number %zu, counted from 0", column);
  if (sample >= dataset->count)
    return mica__fail(MICA_E_INVALID, "%s has no sample %llu; it has %llu, numbered from 0", dataset->store->name,
                      (unsigned long long)sample, (unsigned long long)dataset->count);
  return MICA_OK;
}

/* The index of a sample of the dataset within the column's data. */
static uint64_t stored_index(const mica_dataset *dataset, const mica__column *column, uint64_t sample) {
  const uint64_t stored = mica__dataset_index(dataset, sample);
  return column->map ? column->map[stored] : stored;
}

const uint8_t *mica__dataset_at(const mica_dataset *dataset, size_t column, uint64_t sample) {
  const mica__column *from = &dataset->store->columns[column];
  const uint64_t stored = stored_index(dataset, from, sample);
  if (!from->data) return NULL;
  return from->data + (from->offsets ? (uint64_t)from->offsets[stored] : stored) * from->stride;
}

/* Makes a message for a column that the caller's function failed to read: it returned only a status. */
static mica_status fail_foreign(const mica_dataset *dataset, const mica__column *from, uint64_t sample,
                                mica_status status) {
  if (status == MICA_OK || !from->foreign) return status;
  return mica__fail(status, "%s: the column \"%s\" of sample %llu cannot be read", dataset->store->name,
                    from->about.name, (unsigned long long)sample);
}

mica_status mica_dataset_length(const mica_dataset *dataset, size_t column, uint64_t sample, int64_t *length) {
  if (!length) return mica__fail(MICA_E_INVALID, "mica_dataset_length: a pointer is NULL");
  MICA_TRY(check_sample(dataset, column, sample));
  const mica__column *from = &dataset->store->columns[column];
  const mica_shape shape = from->about.shape;
  const uint64_t stored = stored_index(dataset, from, sample);
  int64_t found = shape.rank > 0 ? shape.dim[0] : 1;
  if (from->offsets)
    found = from->offsets[stored + 1] - from->offsets[stored];
  else if (mica__column_is_ragged(from))
    MICA_TRY(fail_foreign(dataset, from, sample, from->length(from->user, stored, &found)));
  if (found < 0 || found > INT32_MAX)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the length of column \"%s\" of sample %llu is %lld, but must be 0 to 2^31 - 1",
                      dataset->store->name, from->about.name, (unsigned long long)sample, (long long)found);
  *length = found;
  return MICA_OK;
}

/* Checks that the classes returned by the caller's function are in range. */
static mica_status check_classes(const mica_dataset *dataset, const mica__column *from, uint64_t sample,
                                 const void *data, size_t bytes) {
  const int32_t *classes = data;
  if (from->about.kind != MICA_COLUMN_KIND_CLASS || !from->foreign) return MICA_OK;
  for (size_t i = 0; i < bytes / sizeof *classes; i++)
    if (classes[i] < -1 || classes[i] >= from->about.classes)
      return mica__fail(
          MICA_E_FORMAT, "%s: the class %d in column \"%s\" of sample %llu is out of range, -1 (unknown) to %d",
          dataset->store->name, classes[i], from->about.name, (unsigned long long)sample, from->about.classes - 1);
  return MICA_OK;
}

mica_status mica_dataset_read(const mica_dataset *dataset, size_t column, uint64_t sample, void *data, size_t bytes) {
  MICA_TRY(check_sample(dataset, column, sample));
  const mica__column *from = &dataset->store->columns[column];
  size_t have = from->bytes;
  if (mica__column_is_ragged(from)) {
    int64_t length = 0;
    MICA_TRY(mica_dataset_length(dataset, column, sample, &length));
    if (!mica__mul_size(from->bytes, (uint64_t)length, &have)) have = SIZE_MAX;
  }
  if (bytes == have && !data && bytes > 0) return mica__fail(MICA_E_INVALID, "mica_dataset_read: data is NULL");
  if (bytes != have)
    return mica__fail(MICA_E_INVALID, "%s: the column \"%s\" of sample %llu has %zu bytes, but %zu were asked for",
                      dataset->store->name, from->about.name, (unsigned long long)sample, have, bytes);
  const uint8_t *there = mica__dataset_at(dataset, column, sample);
  if (bytes == 0) return MICA_OK;
  if (there) {
    memcpy(data, there, bytes);
    return MICA_OK;
  }
  const uint64_t stored = stored_index(dataset, from, sample);
  MICA_TRY(fail_foreign(dataset, from, sample, from->read(from->user, stored, data, bytes)));
  return check_classes(dataset, from, sample, data, bytes);
}

void mica__dataset_sides(const mica_dataset *dataset, uint64_t sample, int64_t *height, int64_t *width) {
  const mica__store *store = dataset->store;
  const mica_shape shape = mica_dataset_shape(dataset);
  const int32_t *own = store->sides ? store->sides[mica__dataset_index(dataset, sample)] : NULL;
  *height = own ? own[0] : shape.dim[1];
  *width = own ? own[1] : shape.dim[2];
}

size_t mica__dataset_most_pixels(const mica_dataset *dataset) {
  size_t most = 0;
  for (uint64_t i = 0; i < mica_dataset_count(dataset); i++) {
    int64_t height = 0, width = 0;
    mica__dataset_sides(dataset, i, &height, &width);
    if ((size_t)(height * width) > most) most = (size_t)(height * width);
    if (!dataset->store->sides) break;
  }
  return most;
}

mica_status mica__dataset_read_own(const mica_dataset *dataset, size_t column, uint64_t sample, void *data,
                                   size_t bytes) {
  MICA_TRY(check_sample(dataset, column, sample));
  const mica__column *from = &dataset->store->columns[column];
  if (!dataset->store->sides || !from->read_own) return mica_dataset_read(dataset, column, sample, data, bytes);
  return from->read_own(from->user, mica__dataset_index(dataset, sample), data, bytes);
}
