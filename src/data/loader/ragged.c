/* Ragged columns: their lengths, the few lengths that batches are padded to, and the launch that pads. */
#include "data/loader/loader.h"

#include "base/text.h"

#include <stdlib.h>

#define DEFAULT_BUCKETS 4
/* Bucket lengths, except the last, are multiples of this, so that kernels can use whole vectors. */
#define LENGTH_STEP 8
#define BINS 4096

static mica_status read_lengths(const mica_loader *loader, mica__carried *c) {
  const uint64_t count = mica_dataset_count(loader->dataset);
  mica__text name = {0};
  mica__text_addf(&name, "%s.length", c->from->about.name);
  c->length_name = name.data;
  MICA_TRY(mica__text_status(&name));
  if (mica__store_find(loader->dataset->store, c->length_name))
    return mica__fail(MICA_E_INVALID,
                      "%s has a column \"%s\", but that name is reserved for the lengths of \"%s\"; rename the column",
                      loader->dataset->store->name, c->length_name, c->from->about.name);
  c->lengths = malloc((size_t)count * sizeof *c->lengths);
  if (!c->lengths) return mica__fail_nomem("lengths");
  for (uint64_t i = 0; i < count; i++) {
    int64_t length = 0;
    MICA_TRY(mica_dataset_length(loader->dataset, c->column, i, &length));
    c->lengths[i] = (int32_t)(c->most > 0 && length > c->most ? c->most : length);
  }
  return MICA_OK;
}

static int64_t longest(const mica__carried *c, uint64_t count) {
  int64_t most = 1; /* a tensor needs at least one element, even if all samples are empty */
  for (uint64_t i = 0; i < count; i++)
    if (c->lengths[i] > most) most = c->lengths[i];
  return most;
}

/* Sets the length of each bucket to a quantile of the samples' lengths, rounded up, and that of the last bucket to the
 * longest one. */
static mica_status set_quantiles(mica__carried *c, uint64_t count, int32_t buckets) {
  const int64_t most = longest(c, count), width = (most + BINS) / BINS;
  uint64_t *bins = calloc(BINS + 1, sizeof *bins), seen = 0;
  if (!bins) return mica__fail_nomem("lengths");
  for (uint64_t i = 0; i < count; i++) bins[(c->lengths[i] + width - 1) / width]++;
  int32_t b = 0;
  for (int64_t bin = 0; bin <= BINS && b < buckets; bin++) {
    seen += bins[bin];
    while (b < buckets && seen * (uint64_t)buckets >= count * (uint64_t)(b + 1)) {
      const int64_t length = (bin * width + LENGTH_STEP - 1) / LENGTH_STEP * LENGTH_STEP;
      c->bucket[b++] = length < most && length > 0 ? length
                       : length > 0                ? most
                       : most < LENGTH_STEP        ? most
                                                   : LENGTH_STEP;
    }
  }
  c->bucket[buckets - 1] = most;
  free(bins);
  return MICA_OK;
}

/* True if buckets b and b + 1 have the same length in all columns. */
static bool is_double(const mica_loader *loader, int32_t b) {
  for (size_t k = 0; k < loader->count; k++)
    if (loader->carried[k].way == MICA__WAY_RAGGED && loader->carried[k].bucket[b] != loader->carried[k].bucket[b + 1])
      return false;
  return true;
}

static void drop_bucket(mica_loader *loader, int32_t b) {
  for (size_t k = 0; k < loader->count; k++)
    for (int32_t i = b; i + 1 < loader->buckets; i++) loader->carried[k].bucket[i] = loader->carried[k].bucket[i + 1];
  loader->buckets--;
}

mica_status mica__loader_make_buckets(mica_loader *loader) {
  const uint64_t count = mica_dataset_count(loader->dataset);
  bool ragged = false;
  for (size_t k = 0; k < loader->count; k++) ragged = ragged || loader->carried[k].way == MICA__WAY_RAGGED;
  loader->buckets = !ragged ? 1 : loader->config.buckets ? loader->config.buckets : DEFAULT_BUCKETS;
  for (size_t k = 0; k < loader->count; k++) {
    mica__carried *c = &loader->carried[k];
    if (c->way != MICA__WAY_RAGGED) continue;
    MICA_TRY(read_lengths(loader, c));
    MICA_TRY(set_quantiles(c, count, loader->buckets));
  }
  for (int32_t b = loader->buckets - 2; b >= 0; b--)
    if (is_double(loader, b)) drop_bucket(loader, b);
  return MICA_OK;
}
