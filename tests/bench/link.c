#include "bench/link.h"

#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct wire {
  mica_transport inner;
  double bytes, latency;
  double free; /* when the last message has left */
} wire;

/* A message that is sent is handed on when it would have arrived. */
typedef struct parcel {
  void *inner; /* NULL: not handed on yet */
  double until;
  int32_t to, tag;
  const void *data;
  size_t bytes;
} parcel;

static mica_status wire_send(void *user, int32_t to, int32_t tag, const void *data, size_t bytes, void **request) {
  wire *w = user;
  parcel *p = malloc(sizeof *p);
  if (!p) exit(1);
  w->free = fmax(w->free, bench_now()) + (double)bytes / w->bytes;
  *p = (parcel){NULL, w->free + w->latency, to, tag, data, bytes};
  *request = p;
  return MICA_OK;
}

static mica_status wire_receive(void *user, int32_t from, int32_t tag, void *data, size_t bytes, void **request) {
  wire *w = user;
  parcel *p = calloc(1, sizeof *p);
  if (!p) exit(1);
  *request = p;
  return w->inner.calls->receive(w->inner.user, from, tag, data, bytes, &p->inner);
}

static mica_status wire_test(void *user, void *request, bool *done) {
  wire *w = user;
  parcel *p = request;
  *done = false;
  if (!p->inner && bench_now() < p->until) return MICA_OK;
  mica_status status = MICA_OK;
  if (!p->inner) status = w->inner.calls->send(w->inner.user, p->to, p->tag, p->data, p->bytes, &p->inner);
  if (status == MICA_OK) status = w->inner.calls->test(w->inner.user, p->inner, done);
  if (*done) free(p);
  return status;
}

static void wire_cancel(void *user, void *request) {
  wire *w = user;
  parcel *p = request;
  if (p->inner) w->inner.calls->cancel(w->inner.user, p->inner);
  free(p);
}

static mica_status wire_poll(void *user) {
  wire *w = user;
  return w->inner.calls->poll(w->inner.user);
}

static void wire_abort(void *user, int32_t rank, const char *sentence) {
  wire *w = user;
  w->inner.calls->abort(w->inner.user, rank, sentence);
}

static void wire_destroy(void *user) {
  wire *w = user;
  w->inner.calls->destroy(w->inner.user);
  free(w);
}

static const mica_transport_calls wire_calls = {.send = wire_send,
                                                .receive = wire_receive,
                                                .test = wire_test,
                                                .cancel = wire_cancel,
                                                .poll = wire_poll,
                                                .abort = wire_abort,
                                                .destroy = wire_destroy};

void bench_link(double bytes, double latency, mica_communicator **list) {
  mica_transport inner[2];
  bench_ok(mica_transport_local(2, inner));
  for (int32_t k = 0; k < 2; k++) {
    wire *w = malloc(sizeof *w);
    if (!w) exit(1);
    *w = (wire){inner[k], bytes, latency, 0};
    bench_ok(mica_communicator_create(&(mica_transport){w, k, 2, &wire_calls}, NULL, &list[k]));
  }
}

void bench_half(int half, char name[64]) {
  mica_device_info info;
  bench_ok(mica_device_find(getenv("MICA_DEVICE"), &info));
  snprintf(name, 64, info.compute_units > 1 ? "%s/2:%d" : "%s", info.id, half);
}
