/* The samples of a batch, and their form on the device. */
#include "data/loader.h"

#include <string.h>

mica_shape mica__loader_shape(const mica_loader *loader, int64_t n) {
  const mica_shape one = loader->dataset->store->shape;
  mica_shape shape = {.rank = one.rank + 1, .dim = {n}};
  memcpy(shape.dim + 1, one.dim, sizeof(int64_t) * (size_t)one.rank);
  return shape;
}

int64_t mica__loader_count(const mica_loader *loader, uint64_t batch) {
  uint64_t size = (uint64_t)loader->config.batch, rest = loader->samples - batch * size;
  return (int64_t)(rest < size ? rest : size);
}

mica__permutation mica__loader_order(const mica_loader *loader, uint64_t epoch) {
  uint32_t n = (uint32_t)mica_dataset_count(loader->dataset);
  if (!loader->config.shuffle) return (mica__permutation){.n = n};
  return mica__permutation_of(n, loader->config.seed, epoch);
}

mica_status mica__loader_sample(const mica_loader *loader, uint64_t index, void *out) {
  const mica_dataset *dataset = loader->dataset;
  if (!loader->rows) return mica_dataset_input(dataset, index, out, loader->sample_bytes);
  const mica__store *store = dataset->store;
  const uint8_t *from = store->input + mica__dataset_index(dataset, index) * store->stride;
  float *row = out;
  for (int64_t i = 0; i < store->shape.dim[0]; i++) {
    float value = from[i];
    if (store->dtype == MICA_U8)
      value /= 255;
    else
      memcpy(&value, from + (size_t)i * sizeof value, sizeof value);
    row[i] = (value - loader->mean[i]) / loader->deviation[i];
  }
  return MICA_OK;
}

int32_t mica__loader_label(const mica_loader *loader, uint64_t index) {
  if (loader->dataset->store->labels) return mica_dataset_label(loader->dataset, index);
  float target = mica_dataset_target(loader->dataset, index);
  int32_t word;
  memcpy(&word, &target, sizeof word);
  return word;
}
