#include "base/clock.h"
#include "base/text.h"
#include "data/loader.h"

#include <pthread.h>
#include <stdlib.h>

/* The prefetch queue is a ring of slots, a batch each. Threads fill `samples` and `words` (FILLING, then READY); the
 * consumer queues the uploads (SENT). The slot's host memory is free when these are done, its device memory after the
 * event `used`, which marks the end of the work on the batch. */
typedef enum slot_state { FREE, FILLING, READY, SENT } slot_state;

typedef struct slot {
  slot_state state;
  uint64_t epoch, batch;
  mica__permutation order;
  int64_t count, claimed, done; /* samples of the batch: all, handed to threads, written */
  uint8_t *samples;
  int32_t *words;
  mica_tensor *x[2], *labels[2]; /* of full size, and of the smaller last batch */
  mica_event *sent, *used;
  mica_status status; /* of the first sample that could not be read */
  char *message;
} slot;

struct mica__stream {
  const mica_loader *loader;
  mica_queue *queue;
  slot *slots;
  int32_t slot_count;
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

/* The slot with a sample to read; a free one becomes the next batch. NULL when all are full. */
static slot *claim(mica__stream *s) {
  const mica_loader *loader = s->loader;
  slot *at = &s->slots[s->fill];
  if (s->paused) return NULL;
  if (at->state == FREE) {
    at->state = FILLING;
    at->epoch = s->fill_epoch;
    at->batch = s->fill_batch;
    at->order = mica__loader_order(loader, at->epoch);
    at->count = mica__loader_count(loader, at->batch);
    at->claimed = at->done = 0;
    at->status = MICA_OK;
    if (++s->fill_batch == loader->batches) {
      s->fill_batch = 0;
      s->fill_epoch++;
    }
  }
  return at->state == FILLING && at->claimed < at->count ? at : NULL;
}

static void finish_sample(mica__stream *s, slot *at, mica_status status) {
  if (status != MICA_OK && at->status == MICA_OK) {
    at->status = status;
    free(at->message);
    at->message = mica__strdup(mica_error_message());
  }
  if (++at->done == at->count) {
    at->state = READY;
    pthread_cond_broadcast(&s->changed);
  }
}

static void *decode(void *user) {
  mica__stream *s = user;
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
    const uint64_t position = at->batch * (uint64_t)s->loader->config.batch + (uint64_t)k;
    const uint64_t index = mica__permute(&at->order, (uint32_t)position);
    at->words[k] = mica__loader_label(s->loader, index);
    mica_status status = mica__loader_sample(s->loader, index, at->samples + (size_t)k * s->loader->sample_bytes);
    pthread_mutex_lock(&s->lock);
    finish_sample(s, at, status);
    if (--s->busy == 0 && s->paused) pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* --- creation --- */

static mica_status make_slot(const mica_loader *loader, slot *at) {
  const int64_t batch = loader->config.batch, rest = mica__loader_count(loader, loader->batches - 1);
  mica_shape shape = mica__loader_shape(loader, batch);
  at->samples = malloc((size_t)batch * loader->sample_bytes);
  at->words = malloc((size_t)batch * sizeof *at->words);
  if (!at->samples || !at->words) return mica__fail_nomem("the prefetch queue");
  MICA_TRY(mica_tensor_create(loader->engine, loader->sample_dtype, shape, &at->x[0]));
  MICA_TRY(mica_tensor_create(loader->engine, MICA_I32, MICA_SHAPE(batch), &at->labels[0]));
  shape.dim[0] = rest;
  MICA_TRY(mica_tensor_view(at->x[0], shape, NULL, 0, &at->x[1]));
  return mica_tensor_view(at->labels[0], MICA_SHAPE(rest), NULL, 0, &at->labels[1]);
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
  if (!s->slots || !s->threads) return mica__fail_nomem("the prefetch queue");
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

static void free_slot(slot *at) {
  for (int i = 0; i < 2; i++) {
    mica_tensor_destroy(at->x[i]);
    mica_tensor_destroy(at->labels[i]);
  }
  mica_event_destroy(at->sent);
  mica_event_destroy(at->used);
  free(at->samples);
  free(at->words);
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
  for (int32_t i = 0; i < s->slot_count; i++) free_slot(&s->slots[i]);
  if (s->has_lock) {
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
  }
  free(s->slots);
  free(s->threads);
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

/* Frees every slot that was taken and whose upload is done; waits for the upload of the slot `wait`. */
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

/* Queues the upload of a batch that is ready, after the work that still reads the slot's device memory. */
static mica_status send(mica__stream *s, slot *at) {
  const mica_loader *loader = s->loader;
  const int small = at->count < loader->config.batch;
  mica_event *words = NULL;
  if (at->status != MICA_OK) return MICA_OK; /* mica__stream_take fails */
  if (at->used) MICA_TRY(mica_queue_wait(s->queue, at->used));
  mica_event_destroy(at->used);
  at->used = NULL;
  MICA_TRY(
      mica_tensor_upload_async(s->queue, at->labels[small], at->words, (size_t)at->count * sizeof *at->words, &words));
  mica_status status = mica_tensor_upload_async(s->queue, at->x[small], at->samples,
                                                (size_t)at->count * loader->sample_bytes, &at->sent);
  mica_event_destroy(words); /* the queue is in order: the second upload's event covers both */
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

mica_status mica__stream_take(mica__stream *s, mica_queue *queue, const mica_tensor **x, const mica_tensor **labels,
                              double *waited) {
  slot *at = &s->slots[s->take];
  if (s->taken) MICA_TRY(mica__stream_give(s, queue)); /* the work on the last batch failed before its end */
  /* The host runs ahead by one round at most: it waits for the upload of the slot that it took a round ago. */
  MICA_TRY(reclaim(s, at));
  *waited = wait_until_filled(s, at);
  if (at->status != MICA_OK) {
    mica_status status = mica__fail(at->status, "%s", at->message ? at->message : "a sample cannot be read");
    s->take = (s->take + 1) % s->slot_count;
    set_state(s, at, FREE);
    return status;
  }
  MICA_TRY(send_ahead(s));
  MICA_TRY(mica_queue_wait(queue, at->sent));
  const int small = at->count < s->loader->config.batch;
  *x = at->x[small];
  *labels = at->labels[small];
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
  /* Uploads read the slots and must end first; `used` stays, since queued work still reads the device's memory. */
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
