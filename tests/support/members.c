#include "support/members.h"

#include "base/clock.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A transport before another one. */
typedef struct fault {
  mica_transport inner;
  const test_faults *faults;
  unsigned seed;
} fault;

typedef struct held {
  void *inner; /* NULL: lost */
  double until;
} held;

static unsigned draw(fault *f) {
  f->seed = f->seed * 1103515245u + 12345u;
  return f->seed >> 8 & 0xffffu;
}

static void *hold(fault *f, void *inner) {
  held *h = malloc(sizeof *h);
  ck_assert_ptr_nonnull(h);
  *h = (held){inner, mica__clock() + f->faults->delay * draw(f) / 65536.0};
  return h;
}

static mica_status fault_send(void *user, int32_t to, int32_t tag, const void *data, size_t bytes, void **request) {
  fault *f = user;
  void *inner;
  mica_status status = f->inner.calls->send(f->inner.user, to, tag, data, bytes, &inner);
  if (status == MICA_OK) *request = hold(f, inner);
  return status;
}

static mica_status fault_receive(void *user, int32_t from, int32_t tag, void *data, size_t bytes, void **request) {
  fault *f = user;
  void *inner = NULL;
  if (f->faults->drops_of && f->inner.rank == f->faults->drops_of && from == f->inner.rank - 1) {
    *request = hold(f, NULL);
    return MICA_OK;
  }
  mica_status status = f->inner.calls->receive(f->inner.user, from, tag, data, bytes, &inner);
  if (status == MICA_OK) *request = hold(f, inner);
  return status;
}

static mica_status fault_test(void *user, void *request, bool *done) {
  fault *f = user;
  held *h = request;
  *done = false;
  if (!h->inner || mica__clock() < h->until) return MICA_OK;
  mica_status status = f->inner.calls->test(f->inner.user, h->inner, done);
  if (*done) free(h);
  return status;
}

static void fault_cancel(void *user, void *request) {
  fault *f = user;
  held *h = request;
  if (h->inner) f->inner.calls->cancel(f->inner.user, h->inner);
  free(h);
}

static mica_status fault_poll(void *user) {
  fault *f = user;
  return f->inner.calls->poll(f->inner.user);
}

static void fault_abort(void *user, int32_t rank, const char *sentence) {
  fault *f = user;
  f->inner.calls->abort(f->inner.user, rank, sentence);
}

static void fault_destroy(void *user) {
  fault *f = user;
  f->inner.calls->destroy(f->inner.user);
  free(f);
}

static mica_status fault_ask(void *user, int32_t rank, double *silent) {
  const fault *f = user;
  *silent = f->faults->mute && rank == f->faults->mute ? 60 : 0;
  return MICA_OK;
}

static const mica_transport_calls fault_calls = {fault_send, fault_receive, fault_test,    fault_cancel,
                                                 fault_poll, fault_abort,   fault_destroy, fault_ask};

typedef struct member {
  mica_communicator *communicator;
  void (*function)(mica_communicator *communicator);
  bool leaves;
} member;

static void *run(void *user) {
  member *m = user;
  m->function(m->communicator);
  if (m->leaves) {
    mica_communicator_destroy(m->communicator);
    m->communicator = NULL;
  }
  return NULL;
}

void test_members(int32_t ranks, const test_faults *faults, void (*function)(mica_communicator *communicator)) {
  static const test_faults none;
  const mica_communicator_config config = {.timeout = faults && faults->timeout > 0 ? faults->timeout : 60,
                                           .stop = faults ? faults->stop : NULL};
  mica_transport *transports = calloc((size_t)ranks, sizeof *transports);
  pthread_t *threads = calloc((size_t)ranks, sizeof *threads);
  member *members = calloc((size_t)ranks, sizeof *members);
  ck_assert(transports && threads && members);
  ck_ok(mica_transport_local(ranks, transports));
  for (int32_t i = 0; i < ranks; i++) {
    fault *f = malloc(sizeof *f);
    ck_assert_ptr_nonnull(f);
    *f = (fault){transports[i], faults ? faults : &none, (faults ? faults->seed : 0) * 97u + (unsigned)i};
    const mica_transport own = {f, i, ranks, &fault_calls};
    members[i] = (member){.function = function, .leaves = faults && faults->leaves};
    ck_ok(mica_communicator_create(&own, &config, &members[i].communicator));
  }
  for (int32_t i = 0; i < ranks; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, run, &members[i]), 0);
  for (int32_t i = 0; i < ranks; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
  for (int32_t i = 0; i < ranks; i++) mica_communicator_destroy(members[i].communicator);
  free(transports);
  free(threads);
  free(members);
}

void test_member_fails(const char *file, int line, const char *format, ...) {
  va_list args;
  fprintf(stderr, "%s:%d: ", file, line);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  _exit(1);
}
