/* The order of an epoch: which sample is at which position, and which positions form a batch of this shard. */
#include "data/loader/loader.h"

#include <stdlib.h>

/* How many batches are sorted by length together: enough that most batches hold one bucket, few enough that an epoch
 * stays mixed. */
#define WINDOW_BATCHES 32

/* Finds the part of a batch that belongs to this shard: its first sample, and the number of its samples. `all` is the
 * number of samples of the batch over all shards, which is smaller than usual only in the last batch of an epoch. Equal
 * shares differ by at most one sample; the first shards get the larger ones. With unequal shares, each shard gets one
 * sample and then its proportion of the rest, but never more than in a full batch. */
static void part_of(const mica_loader *loader, uint64_t all, uint64_t *first, uint64_t *count) {
  const uint64_t shard = (uint64_t)loader->config.shard, shards = (uint64_t)loader->config.shards;
  const uint64_t own = (uint64_t)loader->config.batch, more = all % shards;
  *first = loader->before;
  *count = own;
  if (all == loader->span) return;
  if (!loader->config.shares) {
    *first = shard * (all / shards) + (shard < more ? shard : more);
    *count = all / shards + (shard < more);
    return;
  }
  const uint64_t before = loader->before - shard, beyond = loader->span - shards;
  *first = shard + (all - shards) * before / beyond;
  *count = shard + 1 + (all - shards) * (before + own - 1) / beyond - *first;
}

static uint64_t size_of(const mica_loader *loader, uint64_t batch) {
  const uint64_t left = mica_dataset_count(loader->dataset) - batch * loader->span;
  return left < loader->span ? left : loader->span;
}

uint64_t mica__loader_first(const mica_loader *loader, uint64_t batch) {
  uint64_t first = 0, count = 0;
  part_of(loader, size_of(loader, batch), &first, &count);
  return batch * loader->span + first;
}

int64_t mica__loader_count(const mica_loader *loader, uint64_t batch) {
  uint64_t first = 0, count = 0;
  part_of(loader, size_of(loader, batch), &first, &count);
  return (int64_t)count;
}

/* Sets how many samples a batch has in all shards and in the shards before this one. With equal shares, the batch is
 * reduced if the data have fewer than `batch` samples per shard. */
static mica_status set_span(mica_loader *loader) {
  mica_loader_config *c = &loader->config;
  const uint64_t count = mica_dataset_count(loader->dataset), shards = (uint64_t)c->shards;
  if (!c->shares) {
    if ((uint64_t)c->batch > count / shards) c->batch = (int64_t)(count / shards);
    loader->span = (uint64_t)c->batch * shards;
    loader->before = (uint64_t)c->batch * (uint64_t)c->shard;
    return MICA_OK;
  }
  for (int32_t k = 0; k < c->shards; k++) {
    if (c->shares[k] < 1 || c->shares[k] > INT32_MAX || (k == c->shard && c->shares[k] != c->batch))
      return mica__fail(MICA_E_INVALID,
                        "mica_loader_create: the share of shard %d is %lld, but must be 1 to 2^31 - 1, and equal to "
                        "batch (%lld) for the loader's own shard (%d)",
                        k, (long long)c->shares[k], (long long)c->batch, c->shard);
    loader->span += (uint64_t)c->shares[k];
    if (k < c->shard) loader->before += (uint64_t)c->shares[k];
  }
  return MICA_OK;
}

mica_status mica__loader_set_batches(mica_loader *loader) {
  const mica_loader_config *c = &loader->config;
  const uint64_t count = mica_dataset_count(loader->dataset), shards = (uint64_t)c->shards;
  if (count < shards)
    return mica__fail(MICA_E_INVALID, "%s has %llu samples, too few for %d shards", loader->dataset->store->name,
                      (unsigned long long)count, c->shards);
  MICA_TRY(set_span(loader));
  const uint64_t rest = count % loader->span;
  loader->batches = count / loader->span;
  loader->samples = loader->batches * (uint64_t)c->batch;
  loader->stats.left_out = rest;
  /* All shards must make the same number of steps. So the last samples are left out if there are too few to give each
   * shard at least one. */
  if (rest < shards || (c->drop_last && loader->batches)) return MICA_OK;
  loader->batches++;
  loader->stats.left_out = 0;
  loader->samples += (uint64_t)mica__loader_count(loader, loader->batches - 1);
  return MICA_OK;
}

int32_t mica__loader_bucket(const mica_loader *loader, uint64_t sample) {
  int32_t bucket = 0;
  for (size_t k = 0; k < loader->count; k++) {
    const mica__carried *c = &loader->carried[k];
    if (c->way != MICA__WAY_RAGGED) continue;
    while (bucket + 1 < loader->buckets && c->lengths[sample] > c->bucket[bucket]) bucket++;
  }
  return bucket;
}

int32_t mica__epoch_order_bucket(const mica_loader *loader, const mica__epoch_order *order, uint64_t first,
                                 int64_t count) {
  int32_t most = 0;
  for (int64_t i = 0; loader->buckets > 1 && i < count; i++) {
    const int32_t bucket = mica__loader_bucket(loader, mica__epoch_order_at(order, first + (uint64_t)i));
    if (bucket > most) most = bucket;
  }
  return most;
}

/* Shuffles the whole batches of a window, so that an epoch does not go from short to long. */
static void shuffle_batches(const mica_loader *loader, uint64_t epoch, uint64_t window, uint32_t *at, uint64_t batches,
                            uint32_t *scratch) {
  const uint64_t span = loader->span;
  const mica__permutation order = mica__permutation_of((uint32_t)batches, loader->config.seed ^ (window + 1), epoch);
  for (uint64_t b = 0; b < batches; b++) {
    const uint64_t to = mica__permute(&order, (uint32_t)b);
    for (uint64_t i = 0; i < span; i++) scratch[to * span + i] = at[b * span + i];
  }
  for (uint64_t i = 0; i < batches * span; i++) at[i] = scratch[i];
}

/* Sorts the samples of a window by bucket with a stable counting sort. */
static void sort_window(const mica_loader *loader, uint32_t *at, uint64_t n, uint32_t *scratch) {
  uint64_t begin[MICA__MAX_BUCKETS + 1] = {0};
  for (uint64_t i = 0; i < n; i++) begin[mica__loader_bucket(loader, at[i]) + 1]++;
  for (int32_t b = 0; b < loader->buckets; b++) begin[b + 1] += begin[b];
  for (uint64_t i = 0; i < n; i++) scratch[begin[mica__loader_bucket(loader, at[i])]++] = at[i];
  for (uint64_t i = 0; i < n; i++) at[i] = scratch[i];
}

static mica_status group(const mica_loader *loader, mica__epoch_order *order) {
  const uint64_t count = mica_dataset_count(loader->dataset), span = loader->span;
  const uint64_t size = WINDOW_BATCHES * span < count ? WINDOW_BATCHES * span : count;
  if (!order->grouped) order->grouped = malloc((size_t)count * sizeof *order->grouped);
  uint32_t *scratch = malloc((size_t)size * sizeof *scratch);
  if (!order->grouped || !scratch) {
    free(scratch);
    return mica__fail_nomem("an order of samples");
  }
  for (uint64_t i = 0; i < count; i++) order->grouped[i] = mica__permute(&order->permutation, (uint32_t)i);
  for (uint64_t at = 0, window = 0; at < count; at += size, window++) {
    const uint64_t n = count - at < size ? count - at : size;
    sort_window(loader, order->grouped + at, n, scratch);
    shuffle_batches(loader, order->epoch, window, order->grouped + at, n / span, scratch);
  }
  free(scratch);
  return MICA_OK;
}

mica_status mica__epoch_order_set(const mica_loader *loader, mica__epoch_order *order, uint64_t epoch) {
  if (order->made && order->epoch == epoch) return MICA_OK;
  const uint32_t n = (uint32_t)mica_dataset_count(loader->dataset);
  order->made = false;
  order->epoch = epoch;
  order->permutation = (mica__permutation){.n = n};
  if (loader->config.shuffle) order->permutation = mica__permutation_of(n, loader->config.seed, epoch);
  if (mica__loader_groups(loader)) MICA_TRY(group(loader, order));
  order->made = true;
  return MICA_OK;
}

void mica__epoch_order_free(mica__epoch_order *order) { free(order->grouped); }
