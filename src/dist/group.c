/* A group is a view of its communicator's transport with other rank numbers. The communicator's thread also drives the
 * group's requests. */
#include "dist/group.h"

#include "base/error.h"

#include <stdlib.h>

typedef struct group {
  mica_communicator *whole;
  const mica_transport *inner;
  mica_transport view;
  int32_t ranks[]; /* per rank of the group: its rank in the whole */
} group;

/* --- the view --- */

static mica_status send(void *user, int32_t to, int32_t tag, const void *data, size_t bytes, void **request) {
  const group *g = user;
  return g->inner->calls->send(g->inner->user, g->ranks[to], tag, data, bytes, request);
}

static mica_status receive(void *user, int32_t from, int32_t tag, void *data, size_t bytes, void **request) {
  const group *g = user;
  return g->inner->calls->receive(g->inner->user, g->ranks[from], tag, data, bytes, request);
}

static mica_status test(void *user, void *request, bool *done) {
  const group *g = user;
  return g->inner->calls->test(g->inner->user, request, done);
}

static void cancel(void *user, void *request) {
  const group *g = user;
  g->inner->calls->cancel(g->inner->user, request);
}

/* `poll` and `abort` are not set: nothing calls them on a group, because the whole communicator polls and aborts. */
static const mica_transport_calls view_calls = {.send = send, .receive = receive, .test = test, .cancel = cancel};

/* --- the communicator --- */

static mica_status begin(void *user, const mica_transfer *transfer, void **request) {
  group *g = user;
  return mica__communicator_begin_among(g->whole, &g->view, g->ranks, transfer, request);
}

static mica_status wait(void *user, void *request) {
  const group *g = user;
  return g->whole->calls->wait(g->whole->user, request);
}

static void abort_whole(void *user, int32_t rank, const char *sentence) {
  const group *g = user;
  g->whole->calls->abort(g->whole->user, rank, sentence);
}

static void stats_of(void *user, mica_communicator_stats *stats) {
  const group *g = user;
  *stats = mica_communicator_stats_of(g->whole);
}

static void destroy(void *user) {
  group *g = user;
  mica__communicator_forget(g->whole, &g->view);
  free(g);
}

static const mica_communicator_calls group_calls = {begin, wait, abort_whole, stats_of, destroy};

mica_status mica_communicator_group(mica_communicator *whole, const int32_t *ranks, int32_t count,
                                    mica_communicator **out) {
  int32_t own = -1;
  if (!whole || !ranks || !out) return mica__fail(MICA_E_INVALID, "mica_communicator_group: a pointer is NULL");
  const mica_transport *inner = mica__communicator_transport(whole);
  if (!inner)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "mica_communicator_group: the communicator must use a mica_transport and must not be a group itself");
  for (int32_t k = 0; k < count; k++) {
    if (ranks[k] < 0 || ranks[k] >= whole->ranks || (k && ranks[k] <= ranks[k - 1]))
      return mica__fail(
          MICA_E_INVALID,
          "mica_communicator_group: ranks[%d] is %d, but ranks must rise, and each must be at least 0 and "
          "less than %d",
          (int)k, (int)ranks[k], (int)whole->ranks);
    if (ranks[k] == whole->rank) own = k;
  }
  if (own < 0)
    return mica__fail(MICA_E_INVALID, "mica_communicator_group: the caller's rank, %d, is not in the list of ranks",
                      (int)whole->rank);
  group *g = calloc(1, sizeof *g + (size_t)count * sizeof *g->ranks);
  mica_communicator *c = calloc(1, sizeof *c);
  if (!g || !c) {
    free(g);
    free(c);
    return mica__fail_nomem("a group of ranks");
  }
  for (int32_t k = 0; k < count; k++) g->ranks[k] = ranks[k];
  g->whole = whole;
  g->inner = inner;
  g->view = (mica_transport){g, own, count, &view_calls};
  *c = (mica_communicator){.user = g, .rank = own, .ranks = count, .calls = &group_calls, .whole = whole};
  *out = c;
  return MICA_OK;
}
