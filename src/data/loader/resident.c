/* Samples resident on the device. If they are in memory, a thread copies them while the caller builds a network.
 * Gathering a batch from them takes less time than uploading it, and lets the host run ahead of the device. */
#include "base/clock.h"
#include "data/loader/loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct mica__resident {
  const mica_loader *loader;
  mica_tensor *words; /* (count, words), in the dataset's order */
  /* by column of the loader. x: all samples; for a ragged column, the rows of all samples one after another; NULL for a
   * column that is in `words`. starts: for a ragged column, the first row of each sample; else NULL */
  mica_tensor **x, **starts;
  void **mapped; /* each x mapped for filling; NULL once it is unmapped */
  mica__epoch_order order;
  mica_tensor *grouped; /* the order, if batches are grouped by length */
  mica_event *sent;     /* the upload of `grouped`, which reads the memory of the order */
  bool filled;          /* all x are unmapped */
  pthread_t thread;
  bool threaded; /* `thread` fills x */
};

/* Writes all samples of column k of the loader to x[k]. Fails only if samples are read from files, which the caller's
 * thread does (fill_resident). */
static mica_status fill_column(mica__resident *r, size_t k, mica__scratch *scratch) {
  const mica_loader *loader = r->loader;
  const mica__carried *c = &loader->carried[k];
  const uint64_t count = mica_dataset_count(loader->dataset);
  const bool whole = c->way != MICA__WAY_RAGGED && c->from->data && !loader->dataset->map && !c->from->map &&
                     c->up == c->from->about.dtype && c->from->stride == c->bytes &&
                     (!c->mean || c->from->about.kind == MICA_COLUMN_KIND_IMAGE);
  uint8_t *at = r->mapped[k];
  if (whole) {
    memcpy(at, c->from->data, (size_t)count * c->bytes);
    return MICA_OK;
  }
  for (uint64_t i = 0; i < count; i++) {
    MICA_TRY(mica__carried_write(loader, c, i, 0, scratch, at));
    at += c->way == MICA__WAY_RAGGED ? c->bytes * (size_t)c->lengths[i] : c->bytes;
  }
  return MICA_OK;
}

static mica_status fill(mica__resident *r) {
  mica__scratch scratch = {0};
  mica_status status = MICA_OK;
  for (size_t k = 0; status == MICA_OK && k < r->loader->count; k++)
    if (r->mapped[k]) status = fill_column(r, k, &scratch);
  free(scratch.data);
  return status;
}

static void *fill_in_thread(void *user) {
  (void)fill(user);
  return NULL;
}

static mica_status make_words(mica__resident *r) {
  const mica_loader *loader = r->loader;
  const uint64_t count = mica_dataset_count(loader->dataset);
  const size_t width = (size_t)loader->words;
  mica__scratch scratch = {0};
  if (width == 0) return MICA_OK;
  int32_t *words = malloc((size_t)count * width * sizeof *words);
  mica_status status = words ? MICA_OK : mica__fail_nomem("labels");
  for (uint64_t i = 0; status == MICA_OK && i < count; i++)
    status = mica__record_write(loader, i, &scratch, words + i * width);
  if (status == MICA_OK)
    status =
        mica_tensor_create_from(loader->engine, MICA_I32, MICA_SHAPE((int64_t)count, (int64_t)width), words, &r->words);
  free(words);
  free(scratch.data);
  return status;
}

/* Makes a tensor of the first row of each sample of a ragged column. *rows receives the number of rows of all samples,
 * but at least 1. */
static mica_status make_starts(const mica_loader *loader, const mica__carried *c, mica_tensor **starts, int64_t *rows) {
  const uint64_t count = mica_dataset_count(loader->dataset);
  int64_t *first = malloc((size_t)count * sizeof *first);
  if (!first) return mica__fail_nomem("lengths");
  *rows = 0;
  for (uint64_t i = 0; i < count; i++) {
    first[i] = *rows;
    *rows += c->lengths[i];
  }
  if (*rows == 0) *rows = 1;
  mica_status status = mica_tensor_create_from(loader->engine, MICA_I64, MICA_SHAPE((int64_t)count), first, starts);
  free(first);
  return status;
}

static mica_status fill_resident(mica__resident *r) {
  const mica_loader *loader = r->loader;
  const uint64_t count = mica_dataset_count(loader->dataset);
  bool in_memory = true;
  r->x = calloc(loader->count, sizeof *r->x);
  r->starts = calloc(loader->count, sizeof *r->starts);
  r->mapped = calloc(loader->count, sizeof *r->mapped);
  if (!r->x || !r->starts || !r->mapped) return mica__fail_nomem("samples on the device");
  MICA_TRY(make_words(r));
  for (size_t k = 0; k < loader->count; k++) {
    const mica__carried *c = &loader->carried[k];
    mica_shape shape = mica__carried_shape(c, (int64_t)count);
    if (c->way == MICA__WAY_WORDS) continue;
    if (c->way == MICA__WAY_RAGGED) {
      int64_t rows = 0;
      MICA_TRY(make_starts(loader, c, &r->starts[k], &rows));
      shape = MICA_SHAPE(rows, c->elements);
    }
    MICA_TRY(mica_tensor_create(loader->engine, c->up, shape, &r->x[k]));
    MICA_TRY(mica_tensor_map(mica_engine_queue(loader->engine), r->x[k], MICA_MAP_MODE_WRITE, &r->mapped[k]));
    in_memory = in_memory && c->from->data;
  }
  if (mica__loader_groups(loader))
    MICA_TRY(mica_tensor_create(loader->engine, MICA_I32, MICA_SHAPE((int64_t)count), &r->grouped));
  /* The caller's thread decodes files, so that an unreadable one makes the creation of the loader fail. */
  r->threaded = in_memory && pthread_create(&r->thread, NULL, fill_in_thread, r) == 0;
  return r->threaded ? MICA_OK : fill(r);
}

/* Waits for the thread and unmaps x. */
static mica_status finish(mica__resident *r, mica_queue *queue) {
  mica_status status = MICA_OK;
  if (r->threaded) pthread_join(r->thread, NULL);
  r->threaded = false;
  for (size_t k = 0; r->mapped && k < r->loader->count; k++) {
    void *mapped = r->mapped[k];
    r->mapped[k] = NULL;
    const mica_status one = mapped ? mica_tensor_unmap(queue, r->x[k], mapped) : MICA_OK;
    if (one != MICA_OK) status = one;
  }
  r->filled = true;
  return status;
}

mica_status mica__resident_create(const mica_loader *loader, mica__resident **out) {
  mica__resident *r = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem("samples on the device");
  r->loader = loader;
  mica_status status = fill_resident(r);
  if (status == MICA_OK)
    *out = r;
  else
    mica__resident_destroy(r);
  return status;
}

void mica__resident_destroy(mica__resident *r) {
  if (!r) return;
  (void)finish(r, mica_engine_queue(r->loader->engine));
  if (r->sent && mica_event_wait(r->sent) != MICA_OK)
    mica__log(MICA_LOG_LEVEL_WARNING, "the upload of an order failed");
  mica_event_destroy(r->sent);
  for (size_t k = 0; k < r->loader->count; k++) {
    if (r->x) mica_tensor_destroy(r->x[k]);
    if (r->starts) mica_tensor_destroy(r->starts[k]);
  }
  mica_tensor_destroy(r->words);
  mica_tensor_destroy(r->grouped);
  mica__epoch_order_free(&r->order);
  free(r->x);
  free(r->starts);
  free(r->mapped);
  free(r);
}

/* Makes the order of the loader's epoch; if batches are grouped by length, it is uploaded once per epoch. */
static mica_status set_order(mica__resident *r, mica_queue *queue) {
  const mica_loader *loader = r->loader;
  if (r->order.made && r->order.epoch == loader->epoch) return MICA_OK;
  bool done = !r->sent;
  if (!done) MICA_TRY(mica_event_is_done(r->sent, &done));
  if (!done) MICA_TRY(mica_event_wait(r->sent)); /* the upload still reads order.grouped, which is written next */
  mica_event_destroy(r->sent);
  r->sent = NULL;
  MICA_TRY(mica__epoch_order_set(loader, &r->order, loader->epoch));
  if (!r->grouped) return MICA_OK;
  return mica_tensor_upload_async(queue, r->grouped, r->order.grouped, mica_tensor_bytes(r->grouped), &r->sent);
}

mica_status mica__resident_take(mica__resident *r, mica_queue *queue, mica__taken *taken, double *waited) {
  const mica_loader *loader = r->loader;
  const double start = mica__clock();
  *waited = 0;
  if (!r->filled) {
    MICA_TRY(finish(r, queue));
    *waited = mica__clock() - start;
  }
  MICA_TRY(set_order(r, queue));
  const uint64_t first = mica__loader_first(loader, loader->batch);
  *taken = (mica__taken){
      .words = r->words,
      .x = (const mica_tensor *const *)r->x,
      .starts = (const mica_tensor *const *)r->starts,
      .order = r->grouped,
      .permutation = r->order.permutation,
      .first = first,
      .bucket = mica__epoch_order_bucket(loader, &r->order, first, mica__loader_count(loader, loader->batch))};
  return MICA_OK;
}
