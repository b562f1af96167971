#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

const char *mica_part_name(mica_part part) {
  static const char *const names[] = {"train", "validation", "test"};
  return (unsigned)part < 3 ? names[part] : "?";
}

int32_t mica__config_classes(const mica_dataset_config *config) {
  const mica__column *label = config->like ? mica__store_label(config->like->store) : NULL;
  return label ? label->about.classes : 0;
}

int32_t mica__config_class_of(const mica_dataset_config *config, const char *name) {
  const mica__column *label = config->like ? mica__store_label(config->like->store) : NULL;
  for (int32_t i = 0; label && label->class_names && i < label->about.classes; i++)
    if (!strcmp(label->class_names[i], name)) return i;
  return -1;
}

void mica_dataset_destroy(mica_dataset *dataset) {
  if (!dataset) return;
  mica__store_release(dataset->store);
  free(dataset->map);
  free(dataset);
}

uint64_t mica_dataset_count(const mica_dataset *dataset) { return dataset->count; }
const char *mica_dataset_name(const mica_dataset *dataset) { return dataset->store->name; }
const char *mica_dataset_mask_values(const mica_dataset *dataset) { return dataset->store->mask_values; }

const char *mica_dataset_summary(const mica_dataset *dataset) {
  return dataset->store->summary ? dataset->store->summary : "";
}

mica_dtype mica_dataset_dtype(const mica_dataset *dataset) {
  const mica__column *input = mica__store_input(dataset->store);
  return input ? input->about.dtype : MICA_F32;
}

mica_shape mica_dataset_shape(const mica_dataset *dataset) {
  const mica__column *input = mica__store_input(dataset->store);
  return input ? input->about.shape : MICA_SCALAR;
}

int32_t mica_dataset_rate(const mica_dataset *dataset) { return dataset ? dataset->store->rate : 0; }

size_t mica_dataset_input_bytes(const mica_dataset *dataset) {
  const mica__column *input = mica__store_input(dataset->store);
  return input ? input->bytes : 0;
}

int32_t mica_dataset_classes(const mica_dataset *dataset) {
  const mica__column *label = mica__store_label(dataset->store);
  return label ? label->about.classes : 0;
}

const char *mica_dataset_class_name(const mica_dataset *dataset, int32_t class_index) {
  return mica_dataset_column_class(dataset, dataset->store->label, class_index);
}

int32_t mica_dataset_label(const mica_dataset *dataset, uint64_t index) {
  const mica__column *label = mica__store_label(dataset->store);
  int32_t class_index = -1;
  if (!label || label->about.kind != MICA_COLUMN_KIND_CLASS ||
      mica_dataset_read(dataset, dataset->store->label, index, &class_index, sizeof class_index) != MICA_OK)
    return -1;
  return class_index;
}

float mica_dataset_target(const mica_dataset *dataset, uint64_t index) {
  const mica__column *label = mica__store_label(dataset->store);
  float target = 0;
  uint8_t byte = 0;
  if (!label) return 0;
  if (label->about.kind == MICA_COLUMN_KIND_CLASS) return (float)mica_dataset_label(dataset, index);
  if (label->about.dtype == MICA_U8)
    return mica_dataset_read(dataset, dataset->store->label, index, &byte, 1) == MICA_OK ? (float)byte / 255 : 0;
  return mica_dataset_read(dataset, dataset->store->label, index, &target, sizeof target) == MICA_OK ? target : 0;
}

mica_status mica_dataset_input(const mica_dataset *dataset, uint64_t index, void *input, size_t bytes) {
  if (!dataset) return mica__fail(MICA_E_INVALID, "mica_dataset_input: a pointer is NULL");
  return mica_dataset_read(dataset, dataset->store->input, index, input, bytes);
}
