/* Splits a dataset: at random, by class, by fold, by group, by time, or by a file. */
#include "base/file.h"
#include "data/dataset.h"
#include "ops/random/permutation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

mica_status mica__dataset_pick(const mica_dataset *dataset, const uint8_t *chosen, mica_dataset **part) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < dataset->count; i++) count += chosen[i];
  mica_dataset *made = subset(dataset, count);
  if (!made) return mica__fail_nomem("a part of a dataset");
  for (uint64_t i = 0, k = 0; i < dataset->count; i++)
    if (chosen[i]) made->map[k++] = (uint32_t)mica__dataset_index(dataset, i);
  *part = made;
  return MICA_OK;
}

/* Makes both parts: the samples whose byte in `chosen` is 1, and the others. */
static mica_status part_by(const mica_dataset *dataset, const uint8_t *chosen, mica_dataset **part,
                           mica_dataset **rest) {
  uint64_t count = 0, ia = 0, ib = 0;
  for (uint64_t i = 0; i < dataset->count; i++) count += chosen[i];
  if (count == 0 || count == dataset->count)
    return mica__fail(MICA_E_INVALID,
                      "%s: the split leaves one of the two parts without samples (samples in all: %llu)",
                      dataset->store->name, (unsigned long long)dataset->count);
  mica_dataset *a = subset(dataset, count), *b = subset(dataset, dataset->count - count);
  if (!a || !b) {
    mica_dataset_destroy(a);
    mica_dataset_destroy(b);
    return mica__fail_nomem("a part of a dataset");
  }
  for (uint64_t i = 0; i < dataset->count; i++) {
    const uint32_t stored = (uint32_t)mica__dataset_index(dataset, i);
    if (chosen[i])
      a->map[ia++] = stored;
    else
      b->map[ib++] = stored;
  }
  *part = a;
  *rest = b;
  return MICA_OK;
}

/* A sample and its value in the column by which the dataset is split. */
typedef struct keyed {
  double key;
  uint32_t sample;
} keyed;

static int by_key(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* The values of a column of scalars: numbers, classes, ids, times. As doubles, different integers above 2^53 may become
 * equal. */
static mica_status read_keys(const mica_dataset *dataset, const char *name, keyed *keys) {
  const size_t k = mica_dataset_column_index(dataset, name);
  const mica_column *about = mica_dataset_column(dataset, k);
  if (!about) return mica__fail(MICA_E_NOT_FOUND, "%s has no column \"%s\" to split by", dataset->store->name, name);
  if (about->shape.rank != 0)
    return mica__fail(MICA_E_INVALID, "%s: the column \"%s\" to split by must hold one value per sample",
                      dataset->store->name, name);
  for (uint64_t i = 0; i < dataset->count; i++) {
    union {
      float f32;
      int32_t i32;
      int64_t i64;
      uint8_t u8;
    } value;
    MICA_TRY(mica_dataset_read(dataset, k, i, &value, mica_dtype_size(about->dtype)));
    keys[i].sample = (uint32_t)i;
    switch (about->dtype) {
    case MICA_F32: keys[i].key = (double)value.f32; break;
    case MICA_I32: keys[i].key = value.i32; break;
    case MICA_I64: keys[i].key = (double)value.i64; break;
    default: keys[i].key = value.u8;
    }
  }
  return MICA_OK;
}

/* True if a unit (a sample or a group, by number) is at positions first to last - 1 of the seed's permutation. */
static bool is_chosen(const mica__permutation *order, uint32_t unit, uint64_t first, uint64_t last) {
  const uint32_t position = mica__permute(order, unit);
  return position >= first && position < last;
}

/* The positions of a fold or share among this many units. */
static void range_of(const mica_split_config *config, uint64_t units, uint64_t *first, uint64_t *last) {
  *first = 0;
  *last = (uint64_t)(config->share * (double)units);
  if (config->folds == 0) return;
  *first = units * (uint64_t)config->fold / (uint64_t)config->folds;
  *last = units * (uint64_t)(config->fold + 1) / (uint64_t)config->folds;
}

/* The part is a share of the groups or, for folds, a range of them, in random order. Samples with the same value in
 * the column are one group. */
static mica_status choose_groups(const mica_dataset *dataset, const mica_split_config *config, keyed *keys,
                                 uint8_t *chosen) {
  MICA_TRY(read_keys(dataset, config->group, keys));
  qsort(keys, (size_t)dataset->count, sizeof *keys, by_key);
  uint64_t groups = 0, first = 0, last = 0;
  for (uint64_t i = 0; i < dataset->count; i++) groups += i == 0 || keys[i].key != keys[i - 1].key;
  range_of(config, groups, &first, &last);
  const mica__permutation order = mica__permutation_of((uint32_t)groups, config->seed, MICA__PERMUTATION_SPLIT);
  uint64_t group = 0;
  for (uint64_t i = 0; i < dataset->count; i++) {
    if (i > 0 && keys[i].key != keys[i - 1].key) group++;
    chosen[keys[i].sample] = is_chosen(&order, (uint32_t)group, first, last);
  }
  return MICA_OK;
}

/* The part is the latest share of the samples or, for folds, a range of them in order of time. Samples with the same
 * time stay together, on the side where the first of them is. */
static mica_status choose_times(const mica_dataset *dataset, const mica_split_config *config, keyed *keys,
                                uint8_t *chosen) {
  MICA_TRY(read_keys(dataset, config->time, keys));
  qsort(keys, (size_t)dataset->count, sizeof *keys, by_key);
  uint64_t first = 0, last = 0;
  range_of(config, dataset->count, &first, &last);
  if (config->folds == 0) first = dataset->count - last, last = dataset->count;
  while (first > 0 && first < dataset->count && keys[first].key == keys[first - 1].key) first++;
  while (last > 0 && last < dataset->count && keys[last].key == keys[last - 1].key) last++;
  for (uint64_t i = first; i < last; i++) chosen[keys[i].sample] = 1;
  return MICA_OK;
}

/* A class, and the fraction by which its share exceeds a whole number of samples. */
typedef struct leftover {
  double rest;
  int32_t class_;
} leftover;

static int by_rest(const void *a, const void *b) {
  const leftover *x = a, *y = b;
  if (x->rest != y->rest) return x->rest > y->rest ? -1 : 1;
  return x->class_ < y->class_ ? -1 : x->class_ > y->class_;
}

/* From this many samples on, a class has at least one in the part, however small the share. */
#define ALWAYS_HELD 4

/* Replaces the number of samples of each class by the number to choose: `share` times it, rounded so that the sum is
 * `total` (largest remainders). A class of ALWAYS_HELD samples or more gets at least one, even if the sum then
 * exceeds `total`. */
static void share_out(uint64_t *counts, leftover *rests, int32_t classes, double share, uint64_t total) {
  uint64_t given = 0;
  for (int32_t k = 0; k < classes; k++) {
    const uint64_t own = counts[k];
    const double wanted = share * (double)own;
    counts[k] = (uint64_t)wanted;
    /* A class with a single sample is the last to give it to validation, so that it is trained on if possible. */
    const double behind = own > 1 ? 0 : own ? 1 : 2;
    rests[k] = (leftover){wanted - (double)counts[k] - behind, k};
    if (own >= ALWAYS_HELD && counts[k] == 0) counts[k] = 1, rests[k].rest = -1;
    given += counts[k];
  }
  qsort(rests, (size_t)classes, sizeof *rests, by_rest);
  for (int32_t k = 0; k < classes && given < total; k++, given++) counts[rests[k].class_]++;
}

/* Chooses the first samples of each class in the order of the seed's permutation. */
static mica_status choose_classes(const mica_dataset *dataset, const mica_split_config *config, uint8_t *chosen) {
  const uint64_t count = dataset->count;
  const int32_t classes = mica_dataset_classes(dataset);
  if (classes < 1 || mica_dataset_label(dataset, 0) < 0)
    return mica__fail(MICA_E_INVALID, "%s: the samples do not have one class each, so by_class cannot split them",
                      dataset->store->name);
  uint64_t *left = calloc((size_t)classes, sizeof *left);
  leftover *rests = calloc((size_t)classes, sizeof *rests);
  uint32_t *order = malloc((size_t)count * sizeof *order);
  mica_status status = left && rests && order ? MICA_OK : mica__fail_nomem("a part of a dataset");
  const mica__permutation mix = mica__permutation_of((uint32_t)count, config->seed, MICA__PERMUTATION_SPLIT);
  for (uint32_t i = 0; status == MICA_OK && i < count; i++) {
    const int32_t label = mica_dataset_label(dataset, i);
    if (label < 0 || label >= classes)
      status = mica__fail(MICA_E_INVALID, "%s: sample %u has no class to split by", dataset->store->name, (unsigned)i);
    else
      left[label]++, order[mica__permute(&mix, i)] = i;
  }
  if (status == MICA_OK) {
    share_out(left, rests, classes, config->share, (uint64_t)(config->share * (double)count));
    for (uint64_t i = 0; i < count; i++) {
      uint64_t *of_class = &left[mica_dataset_label(dataset, order[i])];
      if (*of_class) chosen[order[i]] = 1, --*of_class;
    }
  }
  free(left);
  free(rests);
  free(order);
  return status;
}

mica_status mica__split_parse(const char *name, char *content, size_t size, uint64_t count, uint8_t *chosen) {
  size_t line = 0;
  for (char *at = content; at < content + size;) {
    char *newline = memchr(at, '\n', (size_t)(content + size - at)), *end = NULL;
    if (!newline) newline = content + size;
    *newline = '\0';
    line++;
    errno = 0;
    at += strspn(at, " \t\r");
    const unsigned long long index = strtoull(at, &end, 10);
    const bool empty = *at == '\0' || *at == '#';
    if (!empty && (*at < '0' || *at > '9' || end[strspn(end, " \t\r")] || errno || index >= count))
      return mica__fail(MICA_E_FORMAT, "%s line %zu: \"%.40s\" is not the number of a sample, 0 to %llu", name, line,
                        at, (unsigned long long)count - 1);
    if (!empty) chosen[index] = 1;
    at = newline + 1;
  }
  return MICA_OK;
}

static mica_status choose_file(const mica_dataset *dataset, const char *path, uint8_t *chosen) {
  unsigned char *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__file_read(path, &content, &size));
  mica_status status = mica__split_parse(path, (char *)content, size, dataset->count, chosen);
  free(content);
  return status;
}

static mica_status check_split(const mica_dataset *dataset, const mica_split_config *config) {
  const int ways = (config->group != NULL) + (config->time != NULL) + (config->file != NULL);
  const char *name = dataset->store->name;
  if (ways > 1) return mica__fail(MICA_E_INVALID, "%s can be split by only one of group, time and file", name);
  if (config->folds < 0 || config->folds == 1 || config->fold < 0 ||
      (config->folds > 0 && config->fold >= config->folds) || (config->folds == 0 && config->fold > 0))
    return mica__fail(
        MICA_E_INVALID,
        "%s: fold is %d and folds is %d, but folds must be 0 or at least 2, and fold at least 0 and less than folds "
        "(0 if folds is 0)",
        name, config->fold, config->folds);
  if (config->folds > 0 && config->share > 0)
    return mica__fail(MICA_E_INVALID, "%s: give folds or a share (%g), not both", name, config->share);
  if (config->by_class && (ways || config->folds))
    return mica__fail(MICA_E_INVALID,
                      "%s: by_class needs a share, and cannot be combined with folds, group, time or file", name);
  if (config->file) return MICA_OK;
  if (config->folds == 0 && !(config->share > 0 && config->share < 1))
    return mica__fail(
        MICA_E_INVALID,
        "%s: the share is %g, but must be above 0 and below 1, so that no part of the %llu samples is empty", name,
        config->share, (unsigned long long)dataset->count);
  return MICA_OK;
}

static mica_status choose(const mica_dataset *dataset, const mica_split_config *config, uint8_t *chosen) {
  if (config->file) return choose_file(dataset, config->file, chosen);
  if (config->group || config->time) {
    keyed *keys = malloc((size_t)dataset->count * sizeof *keys);
    if (!keys) return mica__fail_nomem("a part of a dataset");
    mica_status status =
        config->group ? choose_groups(dataset, config, keys, chosen) : choose_times(dataset, config, keys, chosen);
    free(keys);
    return status;
  }
  if (config->by_class) return choose_classes(dataset, config, chosen);
  uint64_t first = 0, last = 0;
  range_of(config, dataset->count, &first, &last);
  const mica__permutation order = mica__permutation_of((uint32_t)dataset->count, config->seed, MICA__PERMUTATION_SPLIT);
  for (uint32_t i = 0; i < dataset->count; i++) chosen[i] = is_chosen(&order, i, first, last);
  return MICA_OK;
}

mica_status mica_dataset_split_by(const mica_dataset *dataset, const mica_split_config *config, mica_dataset **part,
                                  mica_dataset **rest) {
  if (!dataset || !config || !part || !rest)
    return mica__fail(MICA_E_INVALID, "mica_dataset_split_by: a pointer is NULL");
  MICA_TRY(check_split(dataset, config));
  uint8_t *chosen = calloc((size_t)dataset->count, 1);
  if (!chosen) return mica__fail_nomem("a part of a dataset");
  mica_status status = choose(dataset, config, chosen);
  if (status == MICA_OK) status = part_by(dataset, chosen, part, rest);
  free(chosen);
  return status;
}

mica_status mica_dataset_split(const mica_dataset *dataset, double share, uint64_t seed, mica_dataset **part,
                               mica_dataset **rest) {
  return mica_dataset_split_by(dataset, &(mica_split_config){.share = share, .seed = seed}, part, rest);
}
