#include "data/loader/loader.h"

#include "base/checked.h"
#include "base/clock.h"
#include "data/damaged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_BATCH 64
#define DEFAULT_PREFETCH 3
#define PI 3.14159265358979323846

/* --- creation --- */

/* The first column of a kind; NULL if there is no such column. */
static const mica_column *column_of(const mica_dataset *dataset, mica_column_kind kind) {
  for (size_t k = 0; k < dataset->store->column_count; k++)
    if (dataset->store->columns[k].about.kind == kind) return &dataset->store->columns[k].about;
  return NULL;
}

/* The first column with a class or number for every pixel; NULL if there is none. */
static const mica_column *pixels_of(const mica_dataset *dataset) {
  const mica_column *mask = column_of(dataset, MICA_COLUMN_KIND_MASK);
  return mask ? mask : column_of(dataset, MICA_COLUMN_KIND_MAP);
}

/* Checks that the augmentations fit the columns. mixup and probabilities need classes as labels, cutmix needs pictures
 * with classes or masks. Boxes allow neither mixup nor cutmix nor elastic; masks and maps do not allow mixup. */
static mica_status check_mixing(const mica_dataset *dataset, const mica_loader_config *c) {
  const mica_augment_config *a = &c->augment;
  const char *name = dataset->store->name, *how = a->mixup > 0 ? "mixup" : "cutmix";
  const mica__column *label = mica__store_label(dataset->store);
  const mica_column *boxes = column_of(dataset, MICA_COLUMN_KIND_BOXES), *mask = pixels_of(dataset);
  const bool classes = label && label->about.kind == MICA_COLUMN_KIND_CLASS;
  if ((a->mixup > 0 || a->cutmix > 0) && boxes)
    return mica__fail(MICA_E_INVALID, "%s: %s cannot be used with boxes (column \"%s\")", name, how, boxes->name);
  if (a->mixup > 0 && mask)
    return mica__fail(MICA_E_INVALID,
                      "%s: mixup blends classes of whole pictures, but column \"%s\" holds %s of pixels", name,
                      mask->name, mask->kind == MICA_COLUMN_KIND_MASK ? "classes" : "numbers");
  if ((a->mixup > 0 || c->probabilities) && !classes)
    return mica__fail(MICA_E_INVALID, "%s has no column of classes, which mixup and probabilities need", name);
  if (a->cutmix > 0 && (!column_of(dataset, MICA_COLUMN_KIND_IMAGE) || (!classes && !mask)))
    return mica__fail(MICA_E_INVALID, "%s has no pictures with classes or masks; cutmix needs them", name);
  if (a->elastic > 0 && boxes)
    return mica__fail(MICA_E_INVALID, "%s: elastic cannot be used with boxes (column \"%s\")", name, boxes->name);
  return MICA_OK;
}

static mica_status check_augment(const mica_dataset *dataset, const mica_loader_config *c) {
  const mica_augment_config *a = &c->augment;
  const struct {
    const char *name;
    double value, limit;
  } numbers[] = {{"rotate", (double)a->rotate, 360},
                 {"scale", (double)a->scale, 0.999999},
                 {"brightness", (double)a->brightness, 360},
                 {"contrast", (double)a->contrast, 360},
                 {"mixup", (double)a->mixup, 4},
                 {"cutmix", (double)a->cutmix, 4},
                 {"elastic", (double)a->elastic, 360},
                 {"crop", (double)a->crop, 16384},
                 {"cutout", (double)a->cutout, 32768}};
  const mica_column *image = column_of(dataset, MICA_COLUMN_KIND_IMAGE), *mask = pixels_of(dataset);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!(numbers[i].value >= 0 && numbers[i].value <= numbers[i].limit))
      return mica__fail(MICA_E_INVALID, "the augmentation %s must be from 0 to %g, not %g", numbers[i].name,
                        numbers[i].limit, numbers[i].value);
  if (!image && (a->crop || a->flip || a->cutout || a->rotate > 0 || a->scale > 0 || a->brightness > 0 ||
                 a->contrast > 0 || a->elastic > 0))
    return mica__fail(MICA_E_INVALID, "%s holds no pictures; mixup is the only augmentation for other data",
                      dataset->store->name);
  if (c->window_height < 0 || c->window_height > 16384 || c->window_width < 0 || c->window_width > 16384)
    return mica__fail(MICA_E_INVALID, "mica_loader_create: a window must have sides of 0 to 16384 pixels, not %d x %d",
                      c->window_width, c->window_height);
  if ((c->window_height || c->window_width) && (!image || column_of(dataset, MICA_COLUMN_KIND_BOXES)))
    return mica__fail(MICA_E_INVALID, "%s: windows need pictures without boxes", dataset->store->name);
  if (image && mask && (image->shape.dim[1] != mask->shape.dim[0] || image->shape.dim[2] != mask->shape.dim[1]))
    return mica__fail(
        MICA_E_FORMAT, "%s: the %ss in column \"%s\" have %lld x %lld pixels, but the pictures have %lld x %lld",
        dataset->store->name, mica_column_kind_name(mask->kind), mask->name, (long long)mask->shape.dim[1],
        (long long)mask->shape.dim[0], (long long)image->shape.dim[2], (long long)image->shape.dim[1]);
  return check_mixing(dataset, c);
}

static mica_status check_config(const mica_dataset *dataset, const mica_loader_config *c) {
  MICA_TRY(check_augment(dataset, c));
  if (c->batch < 0 || c->batch > INT32_MAX || c->threads < 0 || c->prefetch < 0 || c->prefetch > 64)
    return mica__fail(
        MICA_E_INVALID,
        "mica_loader_create: batch (%lld) must be 0 to 2^31 - 1, threads (%d) 0 or above, and prefetch (%d) 0 to 64",
        (long long)c->batch, (int)c->threads, (int)c->prefetch);
  if (c->dtype != MICA_F32 && c->dtype != MICA_F16 && c->dtype != MICA_BF16)
    return mica__fail(MICA_E_DTYPE, "mica_loader_create: the type of batches must be f32, f16 or bf16, not %s",
                      mica_dtype_name(c->dtype));
  if (!c->mean != !c->deviation)
    return mica__fail(MICA_E_INVALID, "mica_loader_create: give both mean and deviation, or neither");
  if (c->buckets < 0 || c->buckets > MICA__MAX_BUCKETS)
    return mica__fail(MICA_E_INVALID, "mica_loader_create: buckets is %d, but must be 0 to %d", c->buckets,
                      MICA__MAX_BUCKETS);
  if (c->shards < 0 || c->shard < 0 || (c->shard > 0 && c->shard >= c->shards))
    return mica__fail(MICA_E_INVALID,
                      "mica_loader_create: shard (%d) and shards (%d) must be at least 0, and shard less than shards "
                      "unless both are 0",
                      c->shard, c->shards);
  return MICA_OK;
}

static void fill_defaults(mica_loader *loader) {
  mica_loader_config *c = &loader->config;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (c->batch == 0) c->batch = DEFAULT_BATCH;
  if (c->prefetch == 0) c->prefetch = DEFAULT_PREFETCH;
  if (c->prefetch < 2) c->prefetch = 2; /* one batch is computed on while the next is filled */
  if (c->threads == 0) c->threads = cores > 2 ? (int32_t)(cores < 33 ? cores - 1 : 32) : 1;
  if (c->shards == 0) c->shards = 1;
  const mica__column *label = mica__store_label(loader->dataset->store);
  if (c->augment.mixup > 0 || (c->augment.cutmix > 0 && label && label->about.kind == MICA_COLUMN_KIND_CLASS))
    c->probabilities = true;
}

/* The size of all samples on the device in bytes; SIZE_MAX if it overflows. *largest receives the size of the largest
 * column. *in_memory becomes true if all columns are in memory. */
static size_t resident_bytes(const mica_loader *loader, size_t *largest, bool *in_memory) {
  const uint64_t count = mica_dataset_count(loader->dataset);
  size_t total = 0;
  *largest = 0;
  *in_memory = true;
  for (size_t k = 0; k <= loader->count; k++) {
    const mica__carried *c = k < loader->count ? &loader->carried[k] : NULL;
    uint64_t rows = count;
    size_t bytes = 0, each = c ? c->bytes : (size_t)loader->words * sizeof(int32_t);
    if (c && c->way == MICA__WAY_WORDS) each = 0;
    if (c && c->way == MICA__WAY_RAGGED)
      for (uint64_t i = rows = 0; i < count; i++) rows += (uint64_t)c->lengths[i];
    if (c && !c->from->data) *in_memory = false;
    if (!mica__mul_size((uint64_t)rows, each, &bytes) || !mica__add_size(total, bytes, &total)) return SIZE_MAX;
    if (bytes > *largest) *largest = bytes;
  }
  return total;
}

/* True if all samples are kept on the device. If the configuration does not decide this, they are kept if all columns
 * are in memory, no column exceeds the largest buffer, and together they take at most a quarter of the device's
 * memory. */
static bool is_resident(const mica_loader *loader, size_t bytes, size_t largest, bool in_memory) {
  const mica_device_info *device = mica_engine_device(loader->engine);
  switch (loader->config.residence) {
  case MICA_RESIDENCE_DEVICE: return true;
  case MICA_RESIDENCE_STREAM: return false;
  default: return in_memory && largest <= device->max_buffer_bytes && bytes <= device->global_bytes / 4;
  }
}

static mica_status fill_loader(mica_loader *loader) {
  const uint64_t before = mica_engine_stats(loader->engine).bytes_in_use;
  size_t largest = 0;
  bool in_memory = false;
  MICA_TRY(mica__loader_set_batches(loader));
  MICA_TRY(mica__loader_carry(loader));
  if (loader->config.probabilities && !loader->label)
    return mica__fail(MICA_E_INVALID, "%s: mixup and probabilities need the column \"label\"; add it to the columns",
                      loader->dataset->store->name);
  MICA_TRY(mica__loader_make_buckets(loader));
  MICA_TRY(mica__loader_make_batches(loader));
  const size_t bytes = resident_bytes(loader, &largest, &in_memory);
  if (bytes == SIZE_MAX)
    return mica__fail(MICA_E_OVERFLOW, "%s is too large: its samples have 2^%d bytes or more",
                      loader->dataset->store->name, (int)(8 * sizeof(size_t)));
  loader->stats.resident = is_resident(loader, bytes, largest, in_memory);
  MICA_TRY(loader->stats.resident ? mica__resident_create(loader, &loader->resident)
                                  : mica__stream_create(loader, &loader->stream));
  loader->stats.device_bytes = mica_engine_stats(loader->engine).bytes_in_use - before;
  return MICA_OK;
}

mica_status mica_loader_create(mica_engine *engine, const mica_dataset *dataset, const mica_loader_config *config,
                               mica_loader **out) {
  static const mica_loader_config none;
  if (!engine || !dataset || !out)
    return mica__fail(MICA_E_INVALID, "mica_loader_create: engine, dataset or loader is NULL");
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
  return mica__damaged_list(dataset->store, status);
}

void mica_loader_destroy(mica_loader *loader) {
  if (!loader) return;
  mica__stream_destroy(loader->stream);
  mica__resident_destroy(loader->resident);
  for (size_t k = 0; k < loader->count; k++) mica__carried_free(&loader->carried[k]);
  for (int small = 0; small < 2; small++) {
    mica_tensor_destroy(loader->mixed_out[small]);
    for (int b = 0; b < MICA__MAX_BUCKETS; b++) free(loader->feeds[small][b]);
  }
  mica_tensor_destroy(loader->table);
  mica_tensor_destroy(loader->words_out);
  mica_buffer_destroy(loader->words_memory);
  free(loader->columns);
  free(loader->carried);
  free(loader);
}

/* --- batches --- */

static double unit(uint32_t word) { return ((double)word + 0.5) * 0x1p-32; }

/* The random words of a batch; `use` makes them differ between uses of the seed. */
static void batch_words(const mica_loader *loader, uint32_t attempt, uint32_t use, uint32_t words[4]) {
  const uint64_t seed = loader->config.seed;
  words[0] = attempt, words[1] = use, words[2] = (uint32_t)loader->epoch, words[3] = (uint32_t)loader->batch;
  mica__philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* Draws a weight from Beta(a, a) by Joehnk's method (1964): the first pair u^(1/a), v^(1/a) whose sum is at most 1. */
static float draw_share(const mica_loader *loader, float a) {
  const double power = 1 / (double)a;
  for (uint32_t attempt = 0;; attempt++) {
    uint32_t words[4];
    batch_words(loader, attempt, UINT32_C(0x6d697875), words); /* "mixu" */
    for (int i = 0; i < 4; i += 2) {
      const double x = pow(unit(words[i]), power), y = pow(unit(words[i + 1]), power);
      if (x + y > 0 && x + y <= 1) return (float)(x / (x + y));
    }
  }
}

/* Draws cutmix's rectangle, which covers 1 - share of the picture: its centre is anywhere, and it is clipped at the
 * edges. The share is then recomputed. */
static void draw_rectangle(const mica_loader *loader, mica__augment *augment) {
  mica_shape shape = column_of(loader->dataset, MICA_COLUMN_KIND_IMAGE)->shape;
  if (loader->config.window_height) shape.dim[1] = loader->config.window_height;
  if (loader->config.window_width) shape.dim[2] = loader->config.window_width;
  const double side = sqrt(1 - (double)draw_share(loader, loader->config.augment.cutmix));
  uint32_t words[4];
  double area = 1;
  batch_words(loader, 0, UINT32_C(0x6375746d), words); /* "cutm" */
  for (int k = 0; k < 2; k++) {
    const double all = (double)shape.dim[2 - k], centre = unit(words[k]) * all;
    augment->rect[k] = (int32_t)fmax(floor(centre - side * all / 2), 0);
    augment->rect[k + 2] = (int32_t)fmin(floor(centre + side * all / 2), all);
    area *= (augment->rect[k + 2] - augment->rect[k]) / all;
  }
  augment->cuts = true;
  augment->blend = (float)(1 - area);
}

/* True if a batch gets cutmix's rectangle rather than mixup's blend. If both are on, a random bit decides for each
 * batch. */
static bool cuts_batch(const mica_loader *loader) {
  const mica_augment_config *a = &loader->config.augment;
  uint32_t words[4];
  if (!(a->cutmix > 0 && a->mixup > 0)) return a->cutmix > 0;
  batch_words(loader, 0, UINT32_C(0x6a6f696e), words); /* "join" */
  return words[0] >> 31;
}

static mica__augment augment_of(const mica_loader *loader) {
  const mica_augment_config *a = &loader->config.augment;
  const bool cuts = cuts_batch(loader);
  mica__augment augment = {.position = (uint32_t)mica__loader_first(loader, loader->batch),
                           .epoch = (uint32_t)loader->epoch,
                           .seed = loader->config.seed,
                           .crop = a->crop,
                           .flip = a->flip,
                           .cutout = a->cutout,
                           .angle = (float)(a->rotate * PI / 180),
                           .zoom = a->scale,
                           .brightness = a->brightness,
                           .contrast = a->contrast,
                           .high = loader->config.window_height,
                           .wide = loader->config.window_width,
                           .elastic = a->elastic,
                           .either = a->mixup > 0 && a->cutmix > 0,
                           .blend = a->mixup > 0 && !cuts ? draw_share(loader, a->mixup) : 1};
  if (cuts) draw_rectangle(loader, &augment);
  return augment;
}

/* A copy without the changes that apply only to pictures, for other columns. */
static mica__augment plain_of(const mica__augment *augment) {
  mica__augment plain = *augment;
  plain.crop = plain.flip = plain.cutout = 0;
  plain.angle = plain.zoom = plain.brightness = plain.contrast = plain.elastic = 0;
  plain.high = plain.wide = 0;
  if (plain.cuts) plain.blend = 1;
  plain.cuts = false;
  return plain;
}

/* Queues the launch that makes the batch of one column. If a sample's record has at most MICA__SMALL_WORDS words, the
 * first launch for a PLANES column also copies the WORDS columns from the records to their tensors, and words->records
 * becomes NULL. */
static mica_status make_column(const mica_loader *loader, mica_queue *queue, const mica__augment *augment,
                               const mica__taken *taken, size_t k, int small, mica__words *words) {
  const mica__carried *c = &loader->carried[k];
  mica_tensor *out = c->out[small][c->way == MICA__WAY_RAGGED ? taken->bucket : 0];
  const bool picture = c->from->about.kind == MICA_COLUMN_KIND_IMAGE;
  const mica__augment plain = plain_of(augment);
  if (c->way == MICA__WAY_MASK)
    return mica__mask_launch(queue, NULL, augment, taken->x[k], c->from->about.classes, out);
  if (c->way == MICA__WAY_PLANES) {
    const bool takes = words->records != NULL && loader->words <= MICA__SMALL_WORDS;
    MICA_TRY(mica__augment_launch(queue, NULL, picture ? augment : &plain, taken->x[k], c->affine, out,
                                  takes ? words : NULL));
    if (takes) words->records = NULL;
    return MICA_OK;
  }
  const mica_shape pictures = loader->input ? loader->input->from->about.shape : MICA_SCALAR;
  const bool boxes = c->from->about.kind == MICA_COLUMN_KIND_BOXES && pictures.rank == 3;
  const mica__ragged ragged = {.x = taken->x[k],
                               .starts = taken->starts[k],
                               .records = taken->words,
                               .word = c->word,
                               .pad = (int32_t)c->pad,
                               .scale = c->up == MICA_I16 ? 1.0f / 32768 : 1,
                               .height = boxes ? (int32_t)pictures.dim[1] : 0,
                               .width = boxes ? (int32_t)pictures.dim[2] : 0};
  return mica__ragged_launch(queue, NULL, augment, &ragged, out);
}

static mica_status make_batch(mica_loader *loader, mica_queue *queue, int64_t count, int small, mica_batch *batch,
                              int32_t *bucket) {
  mica__augment augment = augment_of(loader);
  mica__taken taken = {0};
  MICA_TRY(loader->stream ? mica__stream_take(loader->stream, queue, &taken, &batch->waited)
                          : mica__resident_take(loader->resident, queue, &taken, &batch->waited));
  augment.order = taken.order;
  augment.permutation = taken.permutation;
  augment.first = (uint32_t)taken.first;
  mica__words words = {taken.words, loader->table, loader->words_out, loader->mixed_out[small]};
  for (size_t k = 0; k < loader->count; k++)
    if (loader->carried[k].way != MICA__WAY_WORDS)
      MICA_TRY(make_column(loader, queue, &augment, &taken, k, small, &words));
  if (words.records) MICA_TRY(mica__words_launch(queue, NULL, &augment, &words, count));
  *bucket = taken.bucket;
  return loader->stream ? mica__stream_give(loader->stream, queue) : MICA_OK;
}

static mica_status loader_next(void *user, mica_queue *queue, mica_batch *batch) {
  mica_loader *loader = user;
  const double start = mica__clock();
  if (!queue || !batch) return mica__fail(MICA_E_INVALID, "the next batch of a loader: queue or batch is NULL");
  if (loader->batch == loader->batches) {
    *batch = (mica_batch){0};
    loader->epoch++;
    loader->batch = 0;
    return MICA_OK;
  }
  const int64_t count = mica__loader_count(loader, loader->batch);
  const int small = count < loader->config.batch;
  int32_t bucket = 0;
  mica_batch made = {.count = count, .tensor_count = loader->column_count};
  MICA_TRY(make_batch(loader, queue, count, small, &made, &bucket));
  made.tensors = loader->feeds[small][bucket];
  if (loader->input) made.inputs = loader->input->out[small][0];
  if (loader->label)
    made.targets = loader->config.probabilities ? loader->mixed_out[small] : loader->label->out[small][0];
  *batch = made;
  loader->batch++;
  loader->stats.batches++;
  loader->stats.wait_seconds += batch->waited;
  loader->stats.seconds += mica__clock() - start;
  return MICA_OK;
}

static mica_status loader_seek(void *user, uint64_t epoch, uint64_t batch) {
  mica_loader *loader = user;
  if (batch > loader->batches)
    return mica__fail(MICA_E_INVALID, "an epoch of %s has %llu batches, so there is no batch number %llu",
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
                             .column_count = loader->column_count};
}

mica_loader_stats mica_loader_describe(const mica_loader *loader) { return loader->stats; }
const float *mica_loader_mean(const mica_loader *loader) { return loader->input ? loader->input->mean : NULL; }
const float *mica_loader_deviation(const mica_loader *loader) {
  return loader->input ? loader->input->deviation : NULL;
}
