#include "data/loader.h"

#include "base/checked.h"
#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_BATCH 64
#define DEFAULT_PREFETCH 3
#define PI 3.14159265358979323846

/* --- creation --- */

static mica_status check_config(const mica_dataset *dataset, const mica_loader_config *c) {
  const mica_augment_config *a = &c->augment;
  bool rows = dataset->store->shape.rank == 1, classes = dataset->store->classes > 0;
  const float shares[] = {a->rotate, a->scale, a->brightness, a->contrast, a->mixup};
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
    if (!(shares[i] >= 0 && shares[i] <= 360)) return mica__fail(MICA_E_INVALID, "augmentation: %g", shares[i]);
  if (c->batch < 0 || c->batch > INT32_MAX || c->threads < 0 || c->prefetch < 0 || c->prefetch > 64)
    return mica__fail(MICA_E_INVALID, "mica_loader_create: no batch, thread or prefetch count may be negative");
  if (c->dtype != MICA_F32 && c->dtype != MICA_F16 && c->dtype != MICA_BF16)
    return mica__fail(MICA_E_DTYPE, "mica_loader_create: batches are f32, f16 or bf16, not %s",
                      mica_dtype_name(c->dtype));
  if (a->crop < 0 || a->crop > 16384 || a->cutout < 0 || a->cutout > 32768 || a->scale >= 1 || a->mixup > 4)
    return mica__fail(MICA_E_INVALID, "augmentation: crop, scale, cutout or mixup is beyond what it may be");
  if (rows &&
      (a->crop || a->flip || a->cutout || a->rotate > 0 || a->scale > 0 || a->brightness > 0 || a->contrast > 0))
    return mica__fail(MICA_E_INVALID, "%s holds rows of numbers; only pictures are augmented", dataset->store->name);
  if ((a->mixup > 0 || c->probabilities) && !classes)
    return mica__fail(MICA_E_INVALID, "%s has no classes, whose probabilities mixup needs", dataset->store->name);
  if (!c->mean != !c->deviation)
    return mica__fail(MICA_E_INVALID, "mica_loader_create: mean and deviation come together");
  return MICA_OK;
}

static void fill_defaults(mica_loader *loader) {
  mica_loader_config *c = &loader->config;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (c->batch == 0) c->batch = DEFAULT_BATCH;
  if (c->prefetch == 0) c->prefetch = DEFAULT_PREFETCH;
  if (c->prefetch < 2) c->prefetch = 2; /* one is computed on while the next is filled */
  if (c->threads == 0) c->threads = cores > 2 ? (int32_t)(cores < 33 ? cores - 1 : 32) : 1;
  if (c->augment.mixup > 0) c->probabilities = true;
  loader->samples = mica_dataset_count(loader->dataset);
  if (c->batch > (int64_t)loader->samples) c->batch = (int64_t)loader->samples;
  if (c->drop_last) loader->samples -= loader->samples % (uint64_t)c->batch;
  loader->batches = (loader->samples + (uint64_t)c->batch - 1) / (uint64_t)c->batch;
  loader->rows = loader->dataset->store->shape.rank == 1;
  loader->sample_dtype = loader->rows ? MICA_F32 : loader->dataset->store->dtype;
  loader->sample_bytes =
      loader->rows ? (size_t)loader->dataset->store->shape.dim[0] * sizeof(float) : loader->dataset->store->input_bytes;
}

/* Sets mean and deviation, and from them the kernel's scale and shift. */
static mica_status make_affine(mica_loader *loader) {
  const mica_loader_config *c = &loader->config;
  const int64_t channels = loader->dataset->store->shape.dim[0];
  float *numbers = malloc(4 * (size_t)channels * sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a loader");
  float *affine = numbers + 2 * channels;
  loader->mean = numbers;
  loader->deviation = numbers + channels;
  if (c->mean) {
    memcpy(loader->mean, c->mean, (size_t)channels * sizeof *numbers);
    memcpy(loader->deviation, c->deviation, (size_t)channels * sizeof *numbers);
  } else {
    MICA_TRY(mica_dataset_measure(loader->dataset, loader->mean, loader->deviation));
  }
  const float one = loader->sample_dtype == MICA_U8 ? 255.0f : 1.0f;
  for (int64_t i = 0; i < channels; i++) {
    if (!(loader->deviation[i] > 0) || !isfinite(loader->mean[i]))
      return mica__fail(MICA_E_INVALID, "mica_loader_create: a deviation of %g", loader->deviation[i]);
    affine[2 * i] = loader->rows ? 1.0f : 1.0f / (one * loader->deviation[i]);
    affine[2 * i + 1] = loader->rows ? 0.0f : -loader->mean[i] / loader->deviation[i];
  }
  return mica_tensor_create_from(loader->engine, MICA_F32, MICA_SHAPE(loader->rows ? 1 : channels, 2), affine,
                                 &loader->affine);
}

/* The tensors that batches are made in; the last, smaller one is a part of the others. */
static mica_status make_batches(mica_loader *loader) {
  const mica_loader_config *c = &loader->config;
  const int64_t rest = mica__loader_count(loader, loader->batches - 1);
  const mica_dtype type = loader->dataset->store->labels && !c->probabilities ? MICA_I32 : MICA_F32;
  mica_shape targets = {.rank = c->probabilities ? 2 : 1, .dim = {c->batch, 0}};
  if (c->probabilities) targets.dim[1] = loader->dataset->store->classes;
  MICA_TRY(mica_tensor_create(loader->engine, c->dtype, mica__loader_shape(loader, c->batch), &loader->inputs[0]));
  MICA_TRY(mica_tensor_create(loader->engine, type, targets, &loader->targets[0]));
  targets.dim[0] = rest;
  MICA_TRY(mica_tensor_view(loader->inputs[0], mica__loader_shape(loader, rest), NULL, 0, &loader->inputs[1]));
  MICA_TRY(mica_tensor_view(loader->targets[0], targets, NULL, 0, &loader->targets[1]));
  for (int k = 0; k < 2; k++) {
    const mica_tensor *full = k == 0 ? loader->inputs[0] : loader->targets[0];
    const char *name = loader->dataset->store->columns[k].name;
    loader->columns[k] = (mica_batch_column){name, mica_tensor_dtype(full), mica_tensor_shape(full)};
    loader->columns[k].shape.dim[0] = MICA_DYNAMIC;
    for (int small = 0; small < 2; small++)
      loader->feeds[small][k] = (mica_feed){name, k == 0 ? loader->inputs[small] : loader->targets[small]};
  }
  return MICA_OK;
}

/* True if all samples are kept on the device. */
static bool is_resident(const mica_loader *loader, uint64_t bytes) {
  const mica_device_info *device = mica_engine_device(loader->engine);
  switch (loader->config.residence) {
  case MICA_RESIDENCE_DEVICE: return true;
  case MICA_RESIDENCE_STREAM: return false;
  default:
    return loader->dataset->store->input && bytes <= device->max_buffer_bytes && bytes <= device->global_bytes / 4;
  }
}

static mica_status fill_loader(mica_loader *loader) {
  const uint64_t count = mica_dataset_count(loader->dataset), before = mica_engine_stats(loader->engine).bytes_in_use;
  size_t bytes = 0;
  if (!mica__mul_size((size_t)count, loader->sample_bytes, &bytes))
    return mica__fail(MICA_E_OVERFLOW, "%s is too large", loader->dataset->store->name);
  MICA_TRY(make_affine(loader));
  MICA_TRY(make_batches(loader));
  loader->stats.resident = is_resident(loader, bytes);
  MICA_TRY(loader->stats.resident ? mica__resident_create(loader, &loader->resident)
                                  : mica__stream_create(loader, &loader->stream));
  loader->stats.device_bytes = mica_engine_stats(loader->engine).bytes_in_use - before;
  return MICA_OK;
}

mica_status mica_loader_create(mica_engine *engine, const mica_dataset *dataset, const mica_loader_config *config,
                               mica_loader **out) {
  static const mica_loader_config none;
  if (!engine || !dataset || !out) return mica__fail(MICA_E_INVALID, "mica_loader_create: a pointer is NULL");
  if (!config) config = &none;
  MICA_TRY(check_config(dataset, config));
  mica_loader *loader = calloc(1, sizeof *loader);
  if (!loader) return mica__fail_nomem("a loader");
  *loader = (mica_loader){.engine = engine, .dataset = dataset, .config = *config};
  fill_defaults(loader);
  mica_status status = fill_loader(loader);
  if (status == MICA_OK)
    *out = loader;
  else
    mica_loader_destroy(loader);
  return status;
}

void mica_loader_destroy(mica_loader *loader) {
  if (!loader) return;
  mica__stream_destroy(loader->stream);
  mica__resident_destroy(loader->resident);
  for (int i = 0; i < 2; i++) {
    mica_tensor_destroy(loader->inputs[i]);
    mica_tensor_destroy(loader->targets[i]);
  }
  mica_tensor_destroy(loader->affine);
  free(loader->mean);
  free(loader);
}

/* --- batches --- */

static double unit(uint32_t word) { return ((double)word + 0.5) * 0x1p-32; }

/* Draws a weight from Beta(a, a) by Joehnk's method (1964): the first pair u^(1/a), v^(1/a) whose sum is at most 1. */
static float mixup_share(const mica_loader *loader) {
  const double power = 1 / (double)loader->config.augment.mixup;
  const uint64_t seed = loader->config.seed;
  for (uint32_t attempt = 0;; attempt++) {
    /* The second word, "mixu", keeps these numbers apart from those of other uses of the seed. */
    uint32_t words[4] = {attempt, UINT32_C(0x6d697875), (uint32_t)loader->epoch, (uint32_t)loader->batch};
    mica__philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
    for (int i = 0; i < 4; i += 2) {
      const double x = pow(unit(words[i]), power), y = pow(unit(words[i + 1]), power);
      if (x + y > 0 && x + y <= 1) return (float)(x / (x + y));
    }
  }
}

static mica__augment augment_of(const mica_loader *loader) {
  const mica_augment_config *a = &loader->config.augment;
  const uint32_t first = (uint32_t)(loader->batch * (uint64_t)loader->config.batch);
  return (mica__augment){.permutation = {.n = (uint32_t)mica_dataset_count(loader->dataset)},
                         .first = first,
                         .position = first,
                         .epoch = (uint32_t)loader->epoch,
                         .seed = loader->config.seed,
                         .crop = a->crop,
                         .flip = a->flip,
                         .cutout = a->cutout,
                         .angle = (float)(a->rotate * PI / 180),
                         .zoom = a->scale,
                         .brightness = a->brightness,
                         .contrast = a->contrast,
                         .blend = a->mixup > 0 ? mixup_share(loader) : 1};
}

static mica_status make_batch(mica_loader *loader, mica_queue *queue, mica_batch *batch) {
  mica__augment augment = augment_of(loader);
  const mica_tensor *x = NULL, *labels = NULL;
  if (loader->stream) {
    MICA_TRY(mica__stream_take(loader->stream, queue, &x, &labels, &batch->waited));
    augment.first = 0; /* streamed samples are in order already */
  } else {
    MICA_TRY(mica__resident_take(loader->resident, queue, &x, &labels, &batch->waited));
    augment.permutation = mica__loader_order(loader, loader->epoch);
  }
  MICA_TRY(mica__augment_launch(queue, &augment, x, labels, loader->affine, batch->inputs, batch->targets));
  return loader->stream ? mica__stream_give(loader->stream, queue) : MICA_OK;
}

static mica_status loader_next(void *user, mica_queue *queue, mica_batch *batch) {
  mica_loader *loader = user;
  const double start = mica__clock();
  if (!queue || !batch) return mica__fail(MICA_E_INVALID, "a loader's next: a pointer is NULL");
  if (loader->batch == loader->batches) {
    *batch = (mica_batch){0};
    loader->epoch++;
    loader->batch = 0;
    return MICA_OK;
  }
  const int64_t count = mica__loader_count(loader, loader->batch);
  const int small = count < loader->config.batch;
  *batch = (mica_batch){.inputs = loader->inputs[small],
                        .targets = loader->targets[small],
                        .count = count,
                        .tensors = loader->feeds[small],
                        .tensor_count = 2};
  MICA_TRY(make_batch(loader, queue, batch));
  loader->batch++;
  loader->stats.batches++;
  loader->stats.wait_seconds += batch->waited;
  loader->stats.seconds += mica__clock() - start;
  return MICA_OK;
}

static mica_status loader_seek(void *user, uint64_t epoch, uint64_t batch) {
  mica_loader *loader = user;
  if (batch > loader->batches)
    return mica__fail(MICA_E_INVALID, "an epoch of %s has %llu batches, none of number %llu",
                      loader->dataset->store->name, (unsigned long long)loader->batches, (unsigned long long)batch);
  if (loader->stream) MICA_TRY(mica__stream_seek(loader->stream, epoch, batch));
  loader->epoch = epoch;
  loader->batch = batch;
  return MICA_OK;
}

mica_batch_source mica_loader_source(mica_loader *loader) {
  return (mica_batch_source){.user = loader,
                             .batches = loader->batches,
                             .samples = loader->samples,
                             .next = loader_next,
                             .seek = loader_seek,
                             .columns = loader->columns,
                             .column_count = 2};
}

mica_loader_stats mica_loader_describe(const mica_loader *loader) { return loader->stats; }
const float *mica_loader_mean(const mica_loader *loader) { return loader->mean; }
const float *mica_loader_deviation(const mica_loader *loader) { return loader->deviation; }
