#include "data/dataset.h"

#include "ops/random/permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *mica_part_name(mica_part part) {
  static const char *const names[] = {"train", "validation", "test"};
  return (unsigned)part < 3 ? names[part] : "?";
}

int32_t mica__config_classes(const mica_dataset_config *config) {
  return config->like ? config->like->store->classes : 0;
}

mica_status mica__dataset_of(mica__store *store, mica_dataset **out) {
  mica_dataset *dataset = NULL;
  mica_status status = mica__store_number_classes(store);
  if (status == MICA_OK && !(dataset = calloc(1, sizeof *dataset))) status = mica__fail_nomem("a dataset");
  if (status != MICA_OK) {
    mica__store_release(store);
    return status;
  }
  mica__store_make_columns(store);
  *dataset = (mica_dataset){.store = store, .count = store->count};
  *out = dataset;
  return MICA_OK;
}

static mica_status fill_store(mica__store *store, const mica_samples *samples) {
  MICA_TRY(mica__store_set_shape(store, samples->count, samples->dtype, samples->shape));
  store->input = samples->inputs;
  if (samples->labels) return mica__store_convert_labels(store, MICA_I32, samples->labels, samples->classes);
  size_t bytes = (size_t)store->count * sizeof *store->targets;
  store->targets = malloc(bytes);
  if (!store->targets) return mica__fail_nomem("targets");
  memcpy(store->targets, samples->targets, bytes);
  return MICA_OK;
}

mica_status mica_dataset_create(const char *name, const mica_samples *samples, mica_dataset **dataset) {
  if (!name || !samples || !dataset || (!samples->inputs && samples->count) || !samples->labels == !samples->targets)
    return mica__fail(MICA_E_INVALID, "mica_dataset_create: a pointer is NULL, or there are labels and targets");
  if (samples->dtype != MICA_U8 && samples->dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "mica_dataset_create: inputs are u8 or f32, not %s",
                      mica_dtype_name(samples->dtype));
  mica__store *store = NULL;
  MICA_TRY(mica__store_create(name, &store));
  mica_status status = fill_store(store, samples);
  if (status == MICA_OK) return mica__dataset_of(store, dataset);
  mica__store_release(store);
  return status;
}

void mica_dataset_destroy(mica_dataset *dataset) {
  if (!dataset) return;
  mica__store_release(dataset->store);
  free(dataset->map);
  free(dataset);
}

/* A dataset of `count` samples of the store, its map allocated but not filled. */
static mica_dataset *subset(const mica_dataset *dataset, uint64_t count) {
  mica_dataset *part = calloc(1, sizeof *part);
  if (!part) return NULL;
  part->map = malloc((size_t)(count ? count : 1) * sizeof *part->map);
  part->store = dataset->store;
  part->count = count;
  atomic_fetch_add(&part->store->references, 1);
  if (part->map) return part;
  mica_dataset_destroy(part);
  return NULL;
}

mica_status mica_dataset_split(const mica_dataset *dataset, double share, uint64_t seed, mica_dataset **part,
                               mica_dataset **rest) {
  if (!dataset || !part || !rest) return mica__fail(MICA_E_INVALID, "mica_dataset_split: a pointer is NULL");
  uint64_t chosen = share >= 0 && share <= 1 ? (uint64_t)(share * (double)dataset->count) : 0;
  if (chosen == 0 || chosen == dataset->count)
    return mica__fail(MICA_E_INVALID, "mica_dataset_split: a share of %g leaves one part of %llu samples empty", share,
                      (unsigned long long)dataset->count);
  mica_dataset *a = subset(dataset, chosen), *b = subset(dataset, dataset->count - chosen);
  if (!a || !b) {
    mica_dataset_destroy(a);
    mica_dataset_destroy(b);
    return mica__fail_nomem("a part of a dataset");
  }
  mica__permutation permutation = mica__permutation_of((uint32_t)dataset->count, seed, MICA__PERMUTATION_SPLIT);
  uint64_t ia = 0, ib = 0;
  for (uint32_t i = 0; i < dataset->count; i++) {
    uint32_t stored = (uint32_t)mica__dataset_index(dataset, i);
    if (mica__permute(&permutation, i) < chosen)
      a->map[ia++] = stored;
    else
      b->map[ib++] = stored;
  }
  *part = a;
  *rest = b;
  return MICA_OK;
}

uint64_t mica_dataset_count(const mica_dataset *dataset) { return dataset->count; }
mica_dtype mica_dataset_dtype(const mica_dataset *dataset) { return dataset->store->dtype; }
mica_shape mica_dataset_shape(const mica_dataset *dataset) { return dataset->store->shape; }
int32_t mica_dataset_classes(const mica_dataset *dataset) { return dataset->store->classes; }
const char *mica_dataset_name(const mica_dataset *dataset) { return dataset->store->name; }
size_t mica_dataset_input_bytes(const mica_dataset *dataset) { return dataset->store->input_bytes; }

const char *mica_dataset_class_name(const mica_dataset *dataset, int32_t class_index) {
  const mica__store *store = dataset->store;
  return class_index >= 0 && class_index < store->classes && store->class_names ? store->class_names[class_index]
                                                                                : NULL;
}

int32_t mica_dataset_label(const mica_dataset *dataset, uint64_t index) {
  return dataset->store->labels ? dataset->store->labels[mica__dataset_index(dataset, index)] : -1;
}

float mica_dataset_target(const mica_dataset *dataset, uint64_t index) {
  const mica__store *store = dataset->store;
  uint64_t stored = mica__dataset_index(dataset, index);
  return store->targets ? store->targets[stored] : (float)store->labels[stored];
}

/* An input in memory; NULL where inputs are files. */
static const uint8_t *in_memory(const mica_dataset *dataset, uint64_t index) {
  const mica__store *store = dataset->store;
  return store->input ? store->input + mica__dataset_index(dataset, index) * store->stride : NULL;
}

mica_status mica_dataset_input(const mica_dataset *dataset, uint64_t index, void *input, size_t bytes) {
  if (!dataset || !input || index >= dataset->count || bytes != dataset->store->input_bytes)
    return mica__fail(MICA_E_INVALID, "mica_dataset_input: sample %llu into %zu bytes", (unsigned long long)index,
                      bytes);
  const uint8_t *there = in_memory(dataset, index);
  if (!there) return mica__folder_input(dataset->store, mica__dataset_index(dataset, index), input);
  memcpy(input, there, bytes);
  return MICA_OK;
}

/* Pictures that are decoded for a measurement, at most. They are drawn at random, since evenly spaced ones could follow
 * a period of their order. */
#define MEASURED_PICTURES 10000

/* Elements summed in 32 bits before they are added to 64, so that the loop vectorises. */
#define BLOCK 256

/* Adds a channel's elements and their squares to its sums; sums of u8 are exact, in integers. */
static void add_channel(const mica__store *store, const uint8_t *input, int64_t channel, int64_t plane,
                        double sums[2]) {
  if (store->dtype == MICA_U8) {
    uint64_t sum = 0, squares = 0;
    const uint8_t *at = input + channel * plane, *end = at + plane;
    for (; end - at >= BLOCK; at += BLOCK) {
      uint32_t part = 0, part_squares = 0;
      for (int i = 0; i < BLOCK; i++) {
        part += at[i];
        part_squares += (uint32_t)at[i] * at[i];
      }
      sum += part;
      squares += part_squares;
    }
    for (; at < end; at++) {
      sum += *at;
      squares += (uint32_t)*at * *at;
    }
    sums[0] += (double)sum / 255;
    sums[1] += (double)squares / (255 * 255);
    return;
  }
  for (int64_t i = channel * plane; i < (channel + 1) * plane; i++) {
    float value;
    memcpy(&value, input + (size_t)i * sizeof value, sizeof value);
    sums[0] += value;
    sums[1] += (double)value * value;
  }
}

mica_status mica_dataset_measure(const mica_dataset *dataset, float *mean, float *deviation) {
  if (!dataset || !mean || !deviation) return mica__fail(MICA_E_INVALID, "mica_dataset_measure: a pointer is NULL");
  const mica__store *store = dataset->store;
  int64_t channels = store->shape.dim[0], plane = 1;
  for (int32_t i = 1; i < store->shape.rank; i++) plane *= store->shape.dim[i];
  uint64_t samples = store->input || dataset->count < MEASURED_PICTURES ? dataset->count : MEASURED_PICTURES;
  mica__permutation order = {.n = (uint32_t)dataset->count};
  if (samples < dataset->count) order = mica__permutation_of(order.n, 0, MICA__PERMUTATION_SPLIT);
  double(*sums)[2] = calloc((size_t)channels, sizeof *sums);
  uint8_t *copy = malloc(store->input_bytes);
  mica_status status = sums && copy ? MICA_OK : mica__fail_nomem("a measurement");
  for (uint64_t i = 0; status == MICA_OK && i < samples; i++) {
    const uint32_t index = mica__permute(&order, (uint32_t)i);
    const uint8_t *input = in_memory(dataset, index);
    if (!input) status = mica_dataset_input(dataset, index, copy, store->input_bytes);
    for (int64_t c = 0; status == MICA_OK && c < channels; c++)
      add_channel(store, input ? input : copy, c, plane, sums[c]);
  }
  double n = (double)samples * (double)plane;
  for (int64_t c = 0; status == MICA_OK && c < channels; c++) {
    double m = sums[c][0] / n;
    mean[c] = (float)m;
    deviation[c] = (float)fmax(sqrt(fmax(sums[c][1] / n - m * m, 0)), 1e-6);
  }
  free(sums);
  free(copy);
  return status;
}
