#include "base/checked.h"
#include "base/clock.h"
#include "base/text.h"
#include "data/damaged.h"
#include "data/loader/loader.h"

#include <pthread.h>
#include <stdlib.h>

/* The prefetch queue is a ring of slots, one batch each. Threads fill `samples` and `records` (FILLING, then READY);
 * the consumer queues the uploads (SENT). A slot's host memory is free when its uploads are done, its device memory
 * after the event `used`, which marks the end of the work on the batch. */
typedef enum slot_state { FREE, FILLING, READY, SENT } slot_state;

typedef struct slot {
  slot_state state;
  uint64_t epoch, batch;
  int32_t bucket;
  int64_t count, claimed, done; /* samples of the batch: all, given to threads, written */
  uint32_t *indices;            /* their indices in the dataset */
  uint8_t **samples;            /* one per column of the loader; NULL for WORDS columns */
  int32_t *records;
  mica_tensor *words[2];                 /* of full size, and for the smaller last batch */
  mica_tensor **x[2][MICA__MAX_BUCKETS]; /* one per column, for the batch's bucket */
  mica_event *sent, *used;
  mica_status status; /* the failure of the first sample that could not be read */
  char *message;
} slot;

struct mica__stream {
  const mica_loader *loader;
  mica_queue *queue;
  slot *slots;
  mica_tensor **no_starts; /* an array of NULLs: rows have no starts, because samples in a slot are padded */
  int32_t slot_count;
  mica__epoch_order order;
  uint64_t fill_epoch, fill_batch; /* the batch to fill next */
  int32_t fill, take;              /* the slots to fill and to take next */
  slot *taken;
  pthread_t *threads;
  int32_t thread_count;
  int32_t busy; /* threads that are reading a sample */
  bool paused, ended;
  bool has_lock;
  pthread_mutex_t lock;
  pthread_cond_t changed; /* signals any change of the above */
};

/* --- threads --- */

/* Makes a free slot the next batch. Its samples are claimed once the indices are known. */
static mica_status begin(mica__stream *s, slot *at) {
  const mica_loader *loader = s->loader;
  at->state = FILLING;
  at->epoch = s->fill_epoch;
  at->batch = s->fill_batch;
  at->count = mica__loader_count(loader, at->batch);
  at->claimed = at->done = 0;
  at->status = MICA_OK;
  if (++s->fill_batch == loader->batches) {
    s->fill_batch = 0;
    s->fill_epoch++;
  }
  MICA_TRY(mica__epoch_order_set(loader, &s->order, at->epoch));
  const uint64_t first = mica__loader_first(loader, at->batch);
  for (int64_t i = 0; i < at->count; i++) at->indices[i] = mica__epoch_order_at(&s->order, first + (uint64_t)i);
  at->bucket = mica__epoch_order_bucket(loader, &s->order, first, at->count);
  return MICA_OK;
}

/* Records the first failure of a slot with this thread's message. */
static void fail_slot(slot *at, mica_status status) {
  if (status == MICA_OK || at->status != MICA_OK) return;
  at->status = status;
  free(at->message);
  at->message = mica__strdup(mica_error_message());
}

/* Finds a slot with a sample to read. If the slot to fill next is free, it becomes the next batch. NULL if there is no
 * sample to read now. */
static slot *claim(mica__stream *s) {
  slot *at = &s->slots[s->fill];
  if (s->paused) return NULL;
  if (at->state == FREE) {
    const mica_status status = begin(s, at);
    fail_slot(at, status);
    if (status != MICA_OK) {
      at->claimed = at->done = at->count;
      at->state = READY;
      s->fill = (s->fill + 1) % s->slot_count;
      pthread_cond_broadcast(&s->changed);
      return NULL;
    }
  }
  return at->state == FILLING && at->claimed < at->count ? at : NULL;
}

static void finish_sample(mica__stream *s, slot *at, mica_status status) {
  fail_slot(at, status);
  if (++at->done == at->count) {
    at->state = READY;
    pthread_cond_broadcast(&s->changed);
  }
}

/* The distance in bytes between samples of a column in a slot. */
static size_t pitch_of(const mica__carried *c, int32_t bucket) {
  return c->way == MICA__WAY_RAGGED ? c->bytes * (size_t)c->bucket[bucket] : c->bytes;
}

static mica_status read_sample(const mica_loader *loader, const slot *at, int64_t k, mica__scratch *scratch) {
  const uint64_t index = at->indices[k];
  if (loader->words > 0) MICA_TRY(mica__record_write(loader, index, scratch, at->records + k * loader->words));
  for (size_t j = 0; j < loader->count; j++) {
    const mica__carried *c = &loader->carried[j];
    if (at->samples[j])
      MICA_TRY(mica__carried_write(loader, c, index, at->epoch, scratch,
                                   at->samples[j] + (size_t)k * pitch_of(c, at->bucket)));
  }
  return MICA_OK;
}

static void *decode(void *user) {
  mica__stream *s = user;
  mica__scratch scratch = {0};
  pthread_mutex_lock(&s->lock);
  while (!s->ended) {
    slot *at = claim(s);
    if (!at) {
      pthread_cond_wait(&s->changed, &s->lock);
      continue;
    }
    const int64_t k = at->claimed++;
    if (at->claimed == at->count) s->fill = (s->fill + 1) % s->slot_count;
    s->busy++;
    pthread_mutex_unlock(&s->lock);
    const mica_status status = read_sample(s->loader, at, k, &scratch);
    pthread_mutex_lock(&s->lock);
    finish_sample(s, at, status);
    if (--s->busy == 0 && s->paused) pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->lock);
  free(scratch.data);
  return NULL;
}

/* --- creation --- */

/* Makes the tensors for the uploads of a column of a slot: one for a full batch of the longest bucket, and views of it
 * for smaller buckets and for the last, smaller batch of `rest` samples. */
static mica_status make_column(const mica_loader *loader, slot *at, size_t k, int64_t rest) {
  const mica__carried *c = &loader->carried[k];
  const int32_t last = loader->buckets - 1;
  mica_shape shape = mica__carried_shape(c, loader->config.batch);
  size_t bytes = 0;
  if (!mica__mul_size((uint64_t)loader->config.batch, pitch_of(c, last), &bytes))
    return mica__fail(MICA_E_OVERFLOW, "%s: a batch would be too large; choose a smaller batch size",
                      loader->dataset->store->name);
  at->samples[k] = calloc(1, bytes);
  if (!at->samples[k]) return mica__fail_nomem("the prefetch queue");
  if (c->way == MICA__WAY_RAGGED) shape.dim[1] = c->bucket[last];
  MICA_TRY(mica_tensor_create(loader->engine, c->up, shape, &at->x[0][last][k]));
  for (int32_t b = last; b >= 0; b--) {
    if (c->way == MICA__WAY_RAGGED) shape.dim[1] = c->bucket[b];
    shape.dim[0] = loader->config.batch;
    if (b < last) MICA_TRY(mica_tensor_view(at->x[0][last][k], shape, NULL, 0, &at->x[0][b][k]));
    shape.dim[0] = rest;
    MICA_TRY(mica_tensor_view(at->x[0][last][k], shape, NULL, 0, &at->x[1][b][k]));
  }
  return MICA_OK;
}

static mica_status make_slot(const mica_loader *loader, slot *at) {
  const int64_t batch = loader->config.batch, rest = mica__loader_count(loader, loader->batches - 1);
  const int64_t width = loader->words;
  at->samples = calloc(loader->count, sizeof *at->samples);
  at->indices = malloc((size_t)batch * sizeof *at->indices);
  if (!at->samples || !at->indices) return mica__fail_nomem("the prefetch queue");
  for (int i = 0; i < 2; i++)
    for (int32_t b = 0; b < loader->buckets; b++) {
      at->x[i][b] = calloc(loader->count, sizeof *at->x[i][b]);
      if (!at->x[i][b]) return mica__fail_nomem("the prefetch queue");
    }
  for (size_t k = 0; k < loader->count; k++)
    if (loader->carried[k].way != MICA__WAY_WORDS) MICA_TRY(make_column(loader, at, k, rest));
  if (width == 0) return MICA_OK;
  at->records = malloc((size_t)batch * (size_t)width * sizeof *at->records);
  if (!at->records) return mica__fail_nomem("the prefetch queue");
  MICA_TRY(mica_tensor_create(loader->engine, MICA_I32, MICA_SHAPE(batch, width), &at->words[0]));
  return mica_tensor_view(at->words[0], MICA_SHAPE(rest, width), NULL, 0, &at->words[1]);
}

static mica_status fill_stream(mica__stream *s) {
  const mica_loader *loader = s->loader;
  if (pthread_mutex_init(&s->lock, NULL)) return mica__fail_nomem("a lock");
  if (pthread_cond_init(&s->changed, NULL)) {
    pthread_mutex_destroy(&s->lock);
    return mica__fail_nomem("a lock");
  }
  s->has_lock = true;
  s->slots = calloc((size_t)loader->config.prefetch, sizeof *s->slots);
  s->threads = calloc((size_t)loader->config.threads, sizeof *s->threads);
  s->no_starts = calloc(loader->count, sizeof *s->no_starts);
  if (!s->slots || !s->threads || !s->no_starts) return mica__fail_nomem("the prefetch queue");
  s->slot_count = loader->config.prefetch;
  MICA_TRY(mica_queue_create(loader->engine, &s->queue));
  for (int32_t i = 0; i < s->slot_count; i++) MICA_TRY(make_slot(loader, &s->slots[i]));
  for (; s->thread_count < loader->config.threads; s->thread_count++)
    if (pthread_create(&s->threads[s->thread_count], NULL, decode, s)) break;
  return s->thread_count > 0 ? MICA_OK : mica__fail_nomem("a thread");
}

mica_status mica__stream_create(const mica_loader *loader, mica__stream **out) {
  mica__stream *s = calloc(1, sizeof *s);
  if (!s) return mica__fail_nomem("the prefetch queue");
  s->loader = loader;
  mica_status status = fill_stream(s);
  if (status == MICA_OK)
    *out = s;
  else
    mica__stream_destroy(s);
  return status;
}

static void free_slot(const mica_loader *loader, slot *at) {
  for (int i = 0; i < 2; i++) {
    mica_tensor_destroy(at->words[i]);
    for (int32_t b = 0; b < MICA__MAX_BUCKETS; b++) {
      for (size_t k = 0; at->x[i][b] && k < loader->count; k++) mica_tensor_destroy(at->x[i][b][k]);
      free(at->x[i][b]);
    }
  }
  for (size_t k = 0; at->samples && k < loader->count; k++) free(at->samples[k]);
  mica_event_destroy(at->sent);
  mica_event_destroy(at->used);
  free(at->samples);
  free(at->records);
  free(at->indices);
  free(at->message);
}

void mica__stream_destroy(mica__stream *s) {
  if (!s) return;
  if (s->has_lock) {
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
  }
  for (int32_t i = 0; i < s->thread_count; i++) pthread_join(s->threads[i], NULL);
  mica_queue_destroy(s->queue); /* waits for uploads, which read the slots */
  for (int32_t i = 0; i < s->slot_count; i++) free_slot(s->loader, &s->slots[i]);
  mica__epoch_order_free(&s->order);
  if (s->has_lock) {
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
  }
  free(s->slots);
  free(s->threads);
  free(s->no_starts);
  free(s);
}

/* --- batches --- */

static slot_state state_of(mica__stream *s, const slot *at) {
  pthread_mutex_lock(&s->lock);
  const slot_state state = at->state;
  pthread_mutex_unlock(&s->lock);
  return state;
}

static void set_state(mica__stream *s, slot *at, slot_state state) {
  pthread_mutex_lock(&s->lock);
  at->state = state;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

/* Frees every taken slot whose upload is done; waits for the upload of the slot `wait`. */
static mica_status reclaim(mica__stream *s, const slot *wait) {
  for (int32_t i = 0; i < s->slot_count; i++) {
    slot *at = &s->slots[i];
    bool done = false;
    if (state_of(s, at) != SENT || !at->used) continue;
    if (at == wait) MICA_TRY(mica_event_wait(at->sent));
    MICA_TRY(mica_event_is_done(at->sent, &done));
    if (!done) continue;
    mica_event_destroy(at->sent);
    at->sent = NULL;
    set_state(s, at, FREE);
  }
  return MICA_OK;
}

/* Queues the upload of one tensor. The queue is in order, so the event of the last upload covers all. */
static mica_status upload(mica__stream *s, slot *at, mica_tensor *tensor, const void *data) {
  mica_event *sent = NULL;
  MICA_TRY(mica_tensor_upload_async(s->queue, tensor, data, mica_tensor_bytes(tensor), &sent));
  mica_event_destroy(at->sent);
  at->sent = sent;
  return MICA_OK;
}

/* Queues the upload of a batch that is ready, after the work that still reads the slot's device memory. */
static mica_status send(mica__stream *s, slot *at) {
  const mica_loader *loader = s->loader;
  const int small = at->count < loader->config.batch;
  if (at->status != MICA_OK) return MICA_OK; /* mica__stream_take reports the failure */
  if (at->used) MICA_TRY(mica_queue_wait(s->queue, at->used));
  mica_event_destroy(at->used);
  at->used = NULL;
  mica_status status = MICA_OK;
  if (loader->words > 0) status = upload(s, at, at->words[small], at->records);
  for (size_t k = 0; status == MICA_OK && k < loader->count; k++)
    if (at->samples[k]) status = upload(s, at, at->x[small][at->bucket][k], at->samples[k]);
  set_state(s, at, SENT);
  return status;
}

static double wait_until_filled(mica__stream *s, const slot *at) {
  const double start = mica__clock();
  double waited = 0;
  pthread_mutex_lock(&s->lock);
  while (at->state == FREE || at->state == FILLING) {
    pthread_cond_wait(&s->changed, &s->lock);
    waited = mica__clock() - start;
  }
  pthread_mutex_unlock(&s->lock);
  return waited;
}

/* Queues the uploads of all slots that are ready, beginning with the next to take. */
static mica_status send_ahead(mica__stream *s) {
  for (int32_t i = 0; i < s->slot_count; i++) {
    slot *at = &s->slots[(s->take + i) % s->slot_count];
    const slot_state state = state_of(s, at);
    if (state == SENT && !at->used) continue; /* uploaded, not taken yet */
    if (state != READY) break;
    MICA_TRY(send(s, at));
  }
  return MICA_OK;
}

mica_status mica__stream_take(mica__stream *s, mica_queue *queue, mica__taken *taken, double *waited) {
  const mica_loader *loader = s->loader;
  slot *at = &s->slots[s->take];
  if (s->taken) MICA_TRY(mica__stream_give(s, queue)); /* the work on the last batch failed before its end */
  /* The ring's slots are taken in turn. Before a slot is taken again, its previous upload must be done, so the host is
   * never more than one round ahead of the uploads. */
  MICA_TRY(reclaim(s, at));
  *waited = wait_until_filled(s, at);
  if (at->status != MICA_OK) {
    mica_status status = mica__fail(at->status, "%s", at->message ? at->message : "a sample cannot be read");
    s->take = (s->take + 1) % s->slot_count;
    set_state(s, at, FREE);
    return mica__damaged_list(loader->dataset->store, status);
  }
  MICA_TRY(send_ahead(s));
  MICA_TRY(mica_queue_wait(queue, at->sent));
  const int small = at->count < loader->config.batch;
  *taken = (mica__taken){.words = loader->words > 0 ? at->words[small] : NULL,
                         .x = (const mica_tensor *const *)at->x[small][at->bucket],
                         .starts = (const mica_tensor *const *)s->no_starts,
                         .permutation = {.n = (uint32_t)at->count},
                         .bucket = at->bucket};
  s->taken = at;
  s->take = (s->take + 1) % s->slot_count;
  return MICA_OK;
}

mica_status mica__stream_give(mica__stream *s, mica_queue *queue) {
  slot *at = s->taken;
  s->taken = NULL;
  return mica_queue_mark(queue, &at->used);
}

mica_status mica__stream_seek(mica__stream *s, uint64_t epoch, uint64_t batch) {
  pthread_mutex_lock(&s->lock);
  s->paused = true;
  while (s->busy > 0) pthread_cond_wait(&s->changed, &s->lock);
  pthread_mutex_unlock(&s->lock);
  /* Uploads read the slots and must end first. `used` may still be pending, since queued work reads only device
   * memory. */
  mica_status status = mica_queue_finish(s->queue);
  pthread_mutex_lock(&s->lock);
  for (int32_t i = 0; i < s->slot_count; i++) {
    mica_event_destroy(s->slots[i].sent);
    s->slots[i].sent = NULL;
    s->slots[i].state = FREE;
  }
  s->fill = s->take = 0;
  s->taken = NULL;
  s->fill_epoch = batch == s->loader->batches ? epoch + 1 : epoch;
  s->fill_batch = batch == s->loader->batches ? 0 : batch;
  s->paused = false;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
  return status;
}
