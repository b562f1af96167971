/* A communicator that sends messages: a list of requests (collectives in flight), and a thread that drives them. The
 * thread polls, because transports such as MPI make no progress between calls. It sleeps between polls, and waits
 * while there are no requests. */
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "dist/collective.h"
#include "dist/group.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All in seconds.
 * - SLEEP_LEAST: sleep after a poll that made progress. Each poll without progress makes the sleep longer, up to
 *   SLEEP_MOST.
 * - STANDARD_TIMEOUT: time without progress after which a request fails, unless the configuration gives another.
 * - STOP_PATIENCE: time without progress after which a rank that was asked to stop warns. */
#define SLEEP_LEAST 20e-6
#define SLEEP_MOST 500e-6
#define STANDARD_TIMEOUT 300.0
#define STOP_PATIENCE 0.5
/* Seconds without an answer after which a rank counts as lost. A live rank may answer late if its process shares cores
 * with others. */
#define SILENCE 2.0
/* Seconds between polls while there are no requests. The thread must still answer other ranks' requests for a sign of
 * life. */
#define ANSWER_EVERY 0.2

typedef struct job {
  struct job *next;
  mica__collective collective;
  const mica_transport *among; /* the communicator's transport, or a group's view of it */
  const int32_t *ranks;        /* the group's members, as ranks of the whole communicator; NULL: all ranks */
  double ready;                /* time when this rank's input was ready; 0: not yet */
  double since;                /* time of the last progress; 0: not started */
  bool done;
  mica_status status;
} job;

/* A channel's accumulated rounding errors of compressed sums. */
typedef struct residual {
  struct residual *next;
  const mica_transport *among;
  int32_t channel;
  int64_t count;
  float lost[];
} residual;

typedef struct members {
  mica_transport transport;
  double timeout;
  const volatile int *stop;
  double asked; /* time when the thread first saw *stop set; 0: not yet */
  bool warned;
  int32_t ask_whom; /* ask_whom: rank that was asked last for a sign of life; ask_at: time of the next question */
  double ask_at;
  int64_t step;        /* the last step that a transfer named */
  residual *residuals; /* of all channels; used only by the thread that begins collectives */
  pthread_t thread;
  pthread_mutex_t lock; /* guards the fields below */
  pthread_cond_t changed;
  job *first, *last; /* requests in flight, in the order in which they began */
  bool ends;
  char *broken; /* message that ended the communicator */
  mica_communicator_stats stats;
} members;

static const char *const collective_names[] = {
#define COLLECTIVE_NAME(name, text) text,
    MICA_COLLECTIVE_LIST(COLLECTIVE_NAME)};
static const char *const compression_names[] = {
#define COMPRESSION_NAME(name, text) text,
    MICA_COMPRESSION_LIST(COMPRESSION_NAME)};
#define COMPRESSIONS (sizeof compression_names / sizeof *compression_names)

const char *mica_collective_name(mica_collective collective) {
  return (size_t)collective <= MICA_COLLECTIVE_RECEIVE ? collective_names[collective] : "?";
}

const char *mica_compression_name(mica_compression compression) {
  return (size_t)compression < COMPRESSIONS ? compression_names[compression] : "?";
}

mica_status mica_compression_find(const char *name, mica_compression *compression) {
  if (!name || !compression) return mica__fail(MICA_E_INVALID, "mica_compression_find: a pointer is NULL");
  for (size_t i = 0; i < COMPRESSIONS; i++)
    if (!strcmp(name, compression_names[i])) {
      *compression = (mica_compression)i;
      return MICA_OK;
    }
  return mica__fail(MICA_E_NOT_FOUND, "\"%s\" is not a compression; choose none, f16 or u8", name);
}

/* --- the thread --- */

static bool is_single(const mica_transfer *t) {
  return t->kind == MICA_COLLECTIVE_SEND || t->kind == MICA_COLLECTIVE_RECEIVE;
}

/* True if b must wait for a, which began before b. A collective waits until all earlier collectives of its group on its
 * channel are done. A send waits only until all earlier sends to the same peer have started, and a receive until all
 * earlier receives from the same peer have. Requests of different groups or channels never wait for each other. */
static bool follows(const job *a, const job *b) {
  const mica_transfer *x = &a->collective.transfer, *y = &b->collective.transfer;
  if (a->among != b->among || x->channel != y->channel || is_single(x) != is_single(y)) return false;
  if (!is_single(x)) return true;
  return x->kind == y->kind && x->peer == y->peer && a->since == 0;
}

/* True if no earlier request holds r up. The caller holds the lock. After the lock is released, r stays valid, because
 * only the communicator's thread removes requests, and that thread calls this function. */
static bool may_start(const members *m, const job *r) {
  for (const job *a = m->first; a != r; a = a->next)
    if (follows(a, r)) return false;
  return true;
}

static mica_status is_ready(const job *r, bool *ready) {
  *ready = true;
  return r->collective.transfer.after ? mica_event_is_done(r->collective.transfer.after, ready) : MICA_OK;
}

/* Converts rank `member` of the request's group to a rank of the whole communicator; -1 stays -1. */
static int32_t rank_of(const job *r, int32_t member) { return member < 0 || !r->ranks ? member : r->ranks[member]; }

/* Asks the next rank for a sign of life, if it is time. MICA_E_STATE if that rank has been silent for too long. */
static mica_status ask(members *m, double now) {
  double silent = 0;
  if (!m->transport.calls->ask || now < m->ask_at) return MICA_OK;
  m->ask_at = now + SILENCE / 4 / m->transport.ranks;
  m->ask_whom = (m->ask_whom + 1) % m->transport.ranks;
  if (m->ask_whom == m->transport.rank) return MICA_OK;
  MICA_TRY(m->transport.calls->ask(m->transport.user, m->ask_whom, &silent));
  if (silent < SILENCE) return MICA_OK;
  return mica__fail(MICA_E_STATE, "rank %d was asked to stop at step %lld, but rank %d does not answer",
                    (int)m->transport.rank, (long long)m->step, (int)m->ask_whom);
}

/* If this rank was asked to stop and r has made no progress for STOP_PATIENCE, warns once which rank is missing, and
 * asks the ranks for signs of life. While all ranks answer, the communicator goes on: the other ranks may not have been
 * asked to stop yet, and all ranks then run on to a common last step. */
static mica_status warn(members *m, const job *r, double now) {
  const double since = r->since > m->asked ? r->since : m->asked;
  if (!(m->asked > 0) || now - since < STOP_PATIENCE) return MICA_OK;
  if (!m->warned)
    mica__log(MICA_LOG_LEVEL_WARNING,
              "rank %d was asked to stop at step %lld; it waits for rank %d, which has sent nothing (%s)",
              (int)m->transport.rank, (long long)m->step, (int)rank_of(r, mica__collective_misses(&r->collective)),
              mica_collective_name(r->collective.transfer.kind));
  m->warned = true;
  return ask(m, now);
}

/* Starts a request if it may start, and polls it; sets *moved if there was progress. MICA_E_STATE after the timeout. */
static mica_status drive(members *m, job *r, bool *moved) {
  bool ready = true, done = false, own = false;
  if (r->since == 0) {
    pthread_mutex_lock(&m->lock);
    ready = may_start(m, r);
    pthread_mutex_unlock(&m->lock);
    if (ready) MICA_TRY(is_ready(r, &ready));
    if (!ready) return MICA_OK;
    r->since = r->ready = mica__clock();
  }
  MICA_TRY(mica__collective_advance(&r->collective, r->among, &own, &done));
  const double now = mica__clock();
  if (own || done) r->since = now;
  *moved = *moved || own || done;
  r->done = done;
  if (m->stop && *m->stop && !(m->asked > 0)) m->asked = now;
  if (!done) MICA_TRY(warn(m, r, now));
  if (done || now - r->since < m->timeout) return MICA_OK;
  return mica__fail(MICA_E_STATE, "rank %d has %s nothing for %g seconds (%s)",
                    (int)rank_of(r, mica__collective_misses(&r->collective)),
                    r->collective.transfer.kind == MICA_COLLECTIVE_SEND ? "received" : "sent", m->timeout,
                    mica_collective_name(r->collective.transfer.kind));
}

/* Records why the communicator ended; keeps the first message. Needs the lock. */
static void break_off(members *m, const char *sentence) {
  if (m->broken) return;
  m->broken = mica__strdup(sentence);
  if (!m->broken) m->broken = mica__strdup("");
}

/* Needs the lock. Removes finished requests, or all if the communicator is broken, and wakes waiting threads. */
static void take_out(members *m) {
  job **at = &m->first;
  m->last = NULL;
  while (*at) {
    job *r = *at;
    if (!r->done && !m->broken) {
      m->last = r;
      at = &r->next;
      continue;
    }
    m->stats.collectives += r->done;
    m->stats.messages += r->collective.sent_messages;
    m->stats.bytes_sent += r->collective.bytes_sent;
    m->stats.bytes_received += r->collective.bytes_received;
    r->status = r->done ? MICA_OK : MICA_E_STATE;
    *at = r->next;
    mica__collective_release(&r->collective, r->among);
    r->done = true;
  }
  pthread_cond_broadcast(&m->changed);
}

/* Polls all requests; true if one made progress. The caller does not hold the lock. */
static bool look(members *m) {
  bool moved = false, out = false;
  mica__attempt_begin();
  mica_status status = m->transport.calls->poll ? m->transport.calls->poll(m->transport.user) : MICA_OK;
  pthread_mutex_lock(&m->lock);
  job *r = m->first;
  const bool broken = m->broken != NULL;
  pthread_mutex_unlock(&m->lock);
  while (status == MICA_OK && r && !broken) {
    status = drive(m, r, &moved);
    out = out || r->done;
    pthread_mutex_lock(&m->lock);
    r = r->next;
    pthread_mutex_unlock(&m->lock);
  }
  pthread_mutex_lock(&m->lock);
  const bool first = status != MICA_OK && !m->broken;
  if (status != MICA_OK) break_off(m, mica_error_message());
  if (out || m->broken) take_out(m);
  pthread_mutex_unlock(&m->lock);
  if (first) m->transport.calls->abort(m->transport.user, m->transport.rank, m->broken);
  mica__attempt_end();
  return moved;
}

static void rest(double seconds) {
  const struct timespec t = {.tv_nsec = (long)(seconds * 1e9)};
  nanosleep(&t, NULL);
}

/* Waits for requests. Returns true after a timeout. The caller then polls, because other ranks may have asked for a
 * sign of life. The caller holds the lock. */
static bool wait_idle(members *m) {
  struct timespec until;
  if (!m->transport.calls->ask || m->broken) {
    pthread_cond_wait(&m->changed, &m->lock);
    return false;
  }
  clock_gettime(CLOCK_REALTIME, &until);
  const long ns = until.tv_nsec + (long)(ANSWER_EVERY * 1e9);
  until.tv_sec += ns / 1000000000;
  until.tv_nsec = ns % 1000000000;
  return pthread_cond_timedwait(&m->changed, &m->lock, &until) == ETIMEDOUT;
}

static void *move(void *user) {
  members *m = user;
  double sleep = SLEEP_LEAST;
  pthread_mutex_lock(&m->lock);
  while (!m->ends) {
    if (!m->first && !wait_idle(m)) continue;
    pthread_mutex_unlock(&m->lock);
    const double start = mica__clock();
    sleep = look(m) ? SLEEP_LEAST : sleep * 1.25 < SLEEP_MOST ? sleep * 1.25 : SLEEP_MOST;
    rest(sleep);
    pthread_mutex_lock(&m->lock);
    m->stats.moving += mica__clock() - start;
  }
  pthread_mutex_unlock(&m->lock);
  return NULL;
}

/* --- calls --- */

static mica_status fail_broken(members *m) {
  pthread_mutex_lock(&m->lock);
  const mica_status status = mica__fail(MICA_E_STATE, "%s", m->broken);
  pthread_mutex_unlock(&m->lock);
  return status;
}

/* Sets the request's residual to the one of its group, channel and number of elements. Creates it with zeros if it
 * does not exist. Does nothing for a transfer without compression or feedback. */
static mica_status take_residual(members *m, job *r) {
  const mica_transfer *t = &r->collective.transfer;
  residual **at = &m->residuals;
  if (!t->compression || !t->feedback) return MICA_OK;
  while (*at && ((*at)->among != r->among || (*at)->channel != t->channel || (*at)->count != t->count))
    at = &(*at)->next;
  if (!*at) {
    if (!(*at = calloc(1, sizeof **at + (size_t)t->count * sizeof(float))))
      return mica__fail_nomem("a collective's residual");
    (*at)->among = r->among;
    (*at)->channel = t->channel;
    (*at)->count = t->count;
  }
  r->collective.residual = (*at)->lost;
  return MICA_OK;
}

static mica_status begin_among(members *m, const mica_transport *among, const int32_t *ranks,
                               const mica_transfer *transfer, void **out) {
  MICA_TRY(mica__collective_check(transfer, among->rank, among->ranks));
  job *r = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem("a collective");
  r->among = among;
  r->ranks = ranks;
  mica_status status = mica__collective_prepare(&r->collective, transfer, among->rank, among->ranks);
  if (status == MICA_OK) status = take_residual(m, r);
  pthread_mutex_lock(&m->lock);
  const bool broken = m->broken != NULL;
  if (status == MICA_OK && !broken) {
    if (m->last)
      m->last->next = r;
    else
      m->first = r;
    m->last = r;
    if (transfer->step > 0) m->step = transfer->step;
    pthread_cond_broadcast(&m->changed);
  }
  pthread_mutex_unlock(&m->lock);
  if (status == MICA_OK && broken) status = fail_broken(m);
  if (status == MICA_OK) {
    *out = r;
    return MICA_OK;
  }
  mica__collective_release(&r->collective, among);
  free(r);
  return status;
}

static mica_status begin(void *user, const mica_transfer *transfer, void **out) {
  members *m = user;
  return begin_among(m, &m->transport, NULL, transfer, out);
}

static mica_status wait(void *user, void *which) {
  members *m = user;
  job *r = which;
  const double start = mica__clock();
  pthread_mutex_lock(&m->lock);
  /* Waits until the thread has removed the request, because messages of the request may be in flight until then. `done`
   * does not show this: the thread sets it earlier. */
  for (;;) {
    const job *in = m->first;
    while (in && in != r) in = in->next;
    if (!in) break;
    pthread_cond_wait(&m->changed, &m->lock);
  }
  /* Only time after this rank's own input was ready counts as waiting. */
  m->stats.waited += r->ready > 0 ? mica__clock() - (r->ready > start ? r->ready : start) : 0;
  pthread_mutex_unlock(&m->lock);
  const mica_status status = r->status;
  free(r);
  return status == MICA_OK ? MICA_OK : fail_broken(m);
}

static void abort_all(void *user, int32_t rank, const char *sentence) {
  members *m = user;
  pthread_mutex_lock(&m->lock);
  const bool first = !m->broken;
  break_off(m, sentence);
  pthread_cond_broadcast(&m->changed);
  pthread_mutex_unlock(&m->lock);
  if (first) m->transport.calls->abort(m->transport.user, rank, sentence);
}

static void stats_of(void *user, mica_communicator_stats *stats) {
  members *m = user;
  pthread_mutex_lock(&m->lock);
  *stats = m->stats;
  pthread_mutex_unlock(&m->lock);
}

/* Frees the residuals of the group whose transport is `among`, or all residuals if `among` is NULL. */
static void free_residuals(members *m, const mica_transport *among) {
  residual **at = &m->residuals;
  while (*at) {
    residual *r = *at;
    if (among && r->among != among) {
      at = &r->next;
      continue;
    }
    *at = r->next;
    free(r);
  }
}

static void free_members(members *m) {
  if (m->transport.calls && m->transport.calls->destroy) m->transport.calls->destroy(m->transport.user);
  pthread_cond_destroy(&m->changed);
  pthread_mutex_destroy(&m->lock);
  free_residuals(m, NULL);
  free(m->broken);
  free(m);
}

static void destroy(void *user) {
  members *m = user;
  pthread_mutex_lock(&m->lock);
  m->ends = true;
  pthread_cond_broadcast(&m->changed);
  pthread_mutex_unlock(&m->lock);
  pthread_join(m->thread, NULL);
  free_members(m);
}

static const mica_communicator_calls message_calls = {begin, wait, abort_all, stats_of, destroy};

const mica_transport *mica__communicator_transport(const mica_communicator *c) {
  return c->calls == &message_calls ? &((const members *)c->user)->transport : NULL;
}

mica_status mica__communicator_begin_among(mica_communicator *c, const mica_transport *among, const int32_t *ranks,
                                           const mica_transfer *transfer, void **request) {
  return begin_among(c->user, among, ranks, transfer, request);
}

void mica__communicator_forget(mica_communicator *c, const mica_transport *among) { free_residuals(c->user, among); }

static mica_status check(const mica_transport *t, const mica_communicator_config *c) {
  if (!t || !t->calls || !t->calls->send || !t->calls->receive || !t->calls->test || !t->calls->cancel ||
      !t->calls->abort)
    return mica__fail(MICA_E_INVALID, "mica_communicator_create: a pointer is NULL");
  if (t->ranks < 1 || t->rank < 0 || t->rank >= t->ranks)
    return mica__fail(
        MICA_E_INVALID,
        "mica_communicator_create: the rank is %d, but must be at least 0 and less than the number of ranks, %d",
        (int)t->rank, (int)t->ranks);
  if (c && !(c->timeout >= 0))
    return mica__fail(MICA_E_INVALID, "mica_communicator_create: the timeout is %g s, but must be 0 or above",
                      c->timeout);
  return MICA_OK;
}

mica_status mica_communicator_create(const mica_transport *transport, const mica_communicator_config *config,
                                     mica_communicator **out) {
  mica_status status =
      out ? check(transport, config) : mica__fail(MICA_E_INVALID, "mica_communicator_create: a pointer is NULL");
  mica_communicator *communicator = NULL;
  members *m = NULL;
  if (status == MICA_OK) {
    communicator = calloc(1, sizeof *communicator);
    m = calloc(1, sizeof *m);
    if (!communicator || !m) status = mica__fail_nomem("a communicator");
  }
  if (status != MICA_OK) {
    free(communicator);
    free(m);
    if (transport && transport->calls && transport->calls->destroy) transport->calls->destroy(transport->user);
    return status;
  }
  m->transport = *transport;
  m->stop = config ? config->stop : NULL;
  m->timeout = config && config->timeout > 0 ? config->timeout : STANDARD_TIMEOUT;
  pthread_mutex_init(&m->lock, NULL);
  pthread_cond_init(&m->changed, NULL);
  if (pthread_create(&m->thread, NULL, move, m) != 0) {
    free(communicator);
    free_members(m);
    return mica__fail(MICA_E_NOMEM, "mica_communicator_create: the system cannot start another thread");
  }
  *communicator =
      (mica_communicator){.user = m, .rank = transport->rank, .ranks = transport->ranks, .calls = &message_calls};
  *out = communicator;
  return MICA_OK;
}

/* --- for all communicators --- */

mica_status mica_communicator_begin(mica_communicator *c, const mica_transfer *transfer, void **request) {
  if (!c || !transfer || !request) return mica__fail(MICA_E_INVALID, "mica_communicator_begin: a pointer is NULL");
  return c->calls->begin(c->user, transfer, request);
}

mica_status mica_communicator_wait(mica_communicator *c, void *request) {
  if (!c || !request) return mica__fail(MICA_E_INVALID, "mica_communicator_wait: a pointer is NULL");
  return c->calls->wait(c->user, request);
}

mica_status mica_communicator_run(mica_communicator *c, const mica_transfer *transfer) {
  void *request = NULL;
  MICA_TRY(mica_communicator_begin(c, transfer, &request));
  return mica_communicator_wait(c, request);
}

void mica_communicator_abort(mica_communicator *c, const char *sentence) {
  mica__text text = {0};
  if (!c || !c->calls->abort) return;
  const int32_t rank = c->whole ? c->whole->rank : c->rank;
  mica__text_addf(&text, "rank %d: %s", (int)rank, sentence ? sentence : "stopped");
  c->calls->abort(c->user, rank, text.failed ? "a rank has failed" : text.data);
  mica__text_free(&text);
}

mica_communicator_stats mica_communicator_stats_of(const mica_communicator *c) {
  mica_communicator_stats stats = {0};
  if (c && c->calls->stats) c->calls->stats(c->user, &stats);
  return stats;
}

void mica_communicator_destroy(mica_communicator *c) {
  if (!c) return;
  if (c->calls->destroy) c->calls->destroy(c->user);
  free(c);
}
