/* The columns of a dataset, by name and kind. */
#include "base/checked.h"
#include "data/dataset.h"

#include <string.h>

const char *mica_column_kind_name(mica_column_kind kind) {
#define KIND_NAME(name, text) text,
  static const char *const names[] = {MICA_COLUMN_KIND_LIST(KIND_NAME)};
#undef KIND_NAME
  return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

void mica__store_make_columns(mica__store *store) {
  const bool picture = store->shape.rank == 3;
  store->columns[0] = (mica_column){.name = picture ? "image" : "x",
                                    .kind = picture ? MICA_COLUMN_KIND_IMAGE : MICA_COLUMN_KIND_NUMBER,
                                    .dtype = store->dtype,
                                    .shape = store->shape};
  store->columns[1] = (mica_column){.name = "label",
                                    .kind = store->labels ? MICA_COLUMN_KIND_CLASS : MICA_COLUMN_KIND_NUMBER,
                                    .dtype = store->labels ? MICA_I32 : MICA_F32,
                                    .classes = store->classes};
}

size_t mica_dataset_column_count(const mica_dataset *dataset) {
  return sizeof dataset->store->columns / sizeof *dataset->store->columns;
}

const mica_column *mica_dataset_column(const mica_dataset *dataset, size_t column) {
  return column < mica_dataset_column_count(dataset) ? &dataset->store->columns[column] : NULL;
}

size_t mica_dataset_column_index(const mica_dataset *dataset, const char *name) {
  size_t k = 0;
  while (k < mica_dataset_column_count(dataset) && strcmp(dataset->store->columns[k].name, name)) k++;
  return k;
}

const char *mica_dataset_column_class(const mica_dataset *dataset, size_t column, int32_t class_index) {
  const mica_column *about = mica_dataset_column(dataset, column);
  return about && about->classes > 0 ? mica_dataset_class_name(dataset, class_index) : NULL;
}

static mica_status check_sample(const mica_dataset *dataset, size_t column, uint64_t sample) {
  if (!dataset || column >= mica_dataset_column_count(dataset))
    return mica__fail(MICA_E_INVALID, "a dataset has no column of number %zu", column);
  if (sample >= dataset->count)
    return mica__fail(MICA_E_INVALID, "%s has %llu samples, none of number %llu", dataset->store->name,
                      (unsigned long long)dataset->count, (unsigned long long)sample);
  return MICA_OK;
}

mica_status mica_dataset_length(const mica_dataset *dataset, size_t column, uint64_t sample, int64_t *length) {
  if (!length) return mica__fail(MICA_E_INVALID, "mica_dataset_length: a pointer is NULL");
  MICA_TRY(check_sample(dataset, column, sample));
  const mica_shape shape = dataset->store->columns[column].shape;
  *length = shape.rank > 0 ? shape.dim[0] : 1;
  return MICA_OK;
}

mica_status mica_dataset_read(const mica_dataset *dataset, size_t column, uint64_t sample, void *data, size_t bytes) {
  MICA_TRY(check_sample(dataset, column, sample));
  if (column == 0) return mica_dataset_input(dataset, sample, data, bytes);
  if (!data || bytes != sizeof(int32_t))
    return mica__fail(MICA_E_INVALID, "%s: a label has 4 bytes, not %zu", dataset->store->name, bytes);
  const int32_t label = mica_dataset_label(dataset, sample);
  const float target = mica_dataset_target(dataset, sample);
  memcpy(data, dataset->store->labels ? (const void *)&label : (const void *)&target, bytes);
  return MICA_OK;
}
