/* Transport between threads of a process. Sends and receives wait in one list for their counterparts; the side that
 * comes second copies the data. */
#include "base/error.h"
#include "base/text.h"

#include <mica/dist.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct letter {
  struct letter *next;
  int32_t from, to, tag;
  bool sends, done;
  void *data;
  size_t bytes;
} letter;

/* Shared by all ranks. */
typedef struct hub {
  pthread_mutex_t lock;
  int32_t alive;   /* number of ranks that are still members */
  bool *left;      /* per rank: it has left */
  letter *waiting; /* unmatched sends and receives, in order of arrival */
  char *broken;
} hub;

typedef struct end {
  hub *hub;
  int32_t rank;
} end;

static letter **find(hub *h, bool sends, int32_t from, int32_t to, int32_t tag) {
  letter **at = &h->waiting;
  while (*at && ((*at)->sends != sends || (*at)->from != from || (*at)->to != to || (*at)->tag != tag))
    at = &(*at)->next;
  return at;
}

/* Matches `own` with the send or receive that waits for it, and copies the data. If no counterpart waits yet, adds
 * `own` to the list. The caller holds the lock. */
static mica_status meet(hub *h, letter *own) {
  letter **at = find(h, !own->sends, own->from, own->to, own->tag), *other = *at;
  if (!other) {
    const int32_t peer = own->sends ? own->to : own->from, rank = own->sends ? own->from : own->to;
    if (h->left[peer])
      return mica__fail(MICA_E_STATE, "rank %d has left while rank %d waits for it", (int)peer, (int)rank);
    while (*at) at = &(*at)->next;
    *at = own;
    return MICA_OK;
  }
  if (other->bytes != own->bytes)
    return mica__fail(
        MICA_E_STATE,
        "rank %d sends %zu bytes but rank %d expects %zu: the ranks differ in their programs, settings or data",
        (int)own->from, own->sends ? own->bytes : other->bytes, (int)own->to, own->sends ? other->bytes : own->bytes);
  *at = other->next;
  memcpy(own->sends ? other->data : own->data, own->sends ? own->data : other->data, own->bytes);
  own->done = other->done = true;
  return MICA_OK;
}

static mica_status post(const end *e, const letter *as, void **request) {
  letter *own = malloc(sizeof *own);
  if (!own) return mica__fail_nomem("a message");
  *own = *as;
  pthread_mutex_lock(&e->hub->lock);
  const mica_status status = meet(e->hub, own);
  pthread_mutex_unlock(&e->hub->lock);
  if (status == MICA_OK)
    *request = own;
  else
    free(own);
  return status;
}

static mica_status local_send(void *user, int32_t to, int32_t tag, const void *data, size_t bytes, void **request) {
  const end *e = user;
  return post(e, &(letter){.from = e->rank, .to = to, .tag = tag, .sends = true, .data = (void *)data, .bytes = bytes},
              request);
}

static mica_status local_receive(void *user, int32_t from, int32_t tag, void *data, size_t bytes, void **request) {
  const end *e = user;
  return post(e, &(letter){.from = from, .to = e->rank, .tag = tag, .data = data, .bytes = bytes}, request);
}

static mica_status local_test(void *user, void *request, bool *done) {
  const end *e = user;
  letter *own = request;
  pthread_mutex_lock(&e->hub->lock);
  *done = own->done;
  pthread_mutex_unlock(&e->hub->lock);
  if (*done) free(own);
  return MICA_OK;
}

static void local_cancel(void *user, void *request) {
  const end *e = user;
  pthread_mutex_lock(&e->hub->lock);
  letter **at = &e->hub->waiting;
  while (*at && *at != request) at = &(*at)->next;
  if (*at) *at = (*at)->next;
  pthread_mutex_unlock(&e->hub->lock);
  free(request);
}

static mica_status local_poll(void *user) {
  const end *e = user;
  mica_status status = MICA_OK;
  pthread_mutex_lock(&e->hub->lock);
  if (e->hub->broken) status = mica__fail(MICA_E_STATE, "%s", e->hub->broken);
  pthread_mutex_unlock(&e->hub->lock);
  return status;
}

static void local_abort(void *user, int32_t rank, const char *sentence) {
  const end *e = user;
  (void)rank;
  pthread_mutex_lock(&e->hub->lock);
  if (!e->hub->broken) e->hub->broken = mica__strdup(sentence);
  pthread_mutex_unlock(&e->hub->lock);
}

static void free_hub(hub *h) {
  pthread_mutex_destroy(&h->lock);
  free(h->broken);
  free(h->left);
  free(h);
}

/* Marks the rank as left. If another rank waits for a message to or from it, that rank would wait forever, so the
 * communicator is marked as broken. The caller holds the lock. */
static void leave(hub *h, int32_t rank) {
  for (const letter *l = h->waiting; l && !h->broken; l = l->next) {
    mica__text text = {0};
    if ((l->sends ? l->to : l->from) != rank) continue;
    mica__text_addf(&text, "rank %d has left while rank %d waits for it", (int)rank, (int)(l->sends ? l->from : l->to));
    h->broken = text.data;
  }
  h->left[rank] = true;
  h->alive--;
}

static void local_destroy(void *user) {
  end *e = user;
  pthread_mutex_lock(&e->hub->lock);
  leave(e->hub, e->rank);
  const bool last = e->hub->alive == 0;
  pthread_mutex_unlock(&e->hub->lock);
  if (last) free_hub(e->hub);
  free(e);
}

/* No `ask`: threads of one process live and end together. */
static const mica_transport_calls local_calls = {.send = local_send,
                                                 .receive = local_receive,
                                                 .test = local_test,
                                                 .cancel = local_cancel,
                                                 .poll = local_poll,
                                                 .abort = local_abort,
                                                 .destroy = local_destroy};

mica_status mica_transport_local(int32_t ranks, mica_transport *list) {
  if (ranks < 1 || ranks > MICA_CHANNELS || !list)
    return mica__fail(MICA_E_INVALID,
                      "mica_transport_local: the number of ranks (%d) must be 1 to %d, and the list must not be NULL",
                      (int)ranks, MICA_CHANNELS);
  hub *h = calloc(1, sizeof *h);
  if (!h) return mica__fail_nomem("a communicator");
  *h = (hub){.alive = ranks, .left = calloc((size_t)ranks, sizeof *h->left)};
  if (!h->left) {
    free(h);
    return mica__fail_nomem("a communicator");
  }
  pthread_mutex_init(&h->lock, NULL);
  for (int32_t i = 0; i < ranks; i++) {
    end *e = malloc(sizeof *e);
    if (!e) {
      while (i-- > 0) free(list[i].user);
      free_hub(h);
      return mica__fail_nomem("a communicator");
    }
    *e = (end){h, i};
    list[i] = (mica_transport){e, i, ranks, &local_calls};
  }
  return MICA_OK;
}

mica_status mica_communicator_local(int32_t ranks, const mica_communicator_config *config, mica_communicator **list) {
  if (ranks < 1 || ranks > MICA_CHANNELS || !list)
    return mica__fail(
        MICA_E_INVALID,
        "mica_communicator_local: the number of ranks (%d) must be 1 to %d, and the list must not be NULL", (int)ranks,
        MICA_CHANNELS);
  mica_transport *transports = calloc((size_t)ranks, sizeof *transports);
  mica_status status = transports ? mica_transport_local(ranks, transports) : mica__fail_nomem("a communicator");
  int32_t made = 0;
  for (bool there = status == MICA_OK; there && made < ranks && status == MICA_OK; made++)
    status = mica_communicator_create(&transports[made], config, &list[made]);
  if (status != MICA_OK && made > 0) {
    for (int32_t i = made; i < ranks; i++) transports[i].calls->destroy(transports[i].user);
    for (int32_t i = 0; i < made - 1; i++) mica_communicator_destroy(list[i]);
    for (int32_t i = 0; i < ranks; i++) list[i] = NULL;
  }
  free(transports);
  return status;
}
