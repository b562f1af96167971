/* Ops for optimisers whose state is divided among ranks: sums that only one rank receives, and values that one rank
 * sends to the others. A rank that receives nothing gets the result 0, a single number. Its graph must use this number,
 * because a node that nothing uses does not run. */
#include "base/checked.h"
#include "base/error.h"
#include "ops/collective/collective.h"
#include "ops/common/build.h"

#include <stdlib.h>

#define ROOT_ATTRS(X, S)                                                                                               \
  X(S, POINTER, communicator, 0, "between the ranks")                                                                  \
  X(S, INT, channel, 0, "of the communicator")                                                                         \
  X(S, INT, root, 0, "the rank that wants or has them")                                                                \
  X(S, INT, count, 0, "elements that travel")
MICA__ATTR_STRUCT(root, ROOT_ATTRS);
static MICA__ATTR_TABLE(root, ROOT_ATTRS);

/* The data of a transfer, which must live until it has been waited for. */
typedef struct going {
  void *request;
  /* The part of rank k begins at offsets[k] and ends at offsets[k + 1]. The root's part has all elements. */
  int64_t offsets[];
} going;

static bool is_root(const mica__root_attrs *how) {
  return ((const mica_communicator *)how->communicator)->rank == how->root;
}

static mica_status start(const mica__host *host, mica_collective kind, const void *source, void *data,
                         mica_event *ready, void **pending) {
  const mica__root_attrs *how = host->attrs;
  const mica_communicator *c = how->communicator;
  going *g = malloc(sizeof *g + ((size_t)c->ranks + 1) * sizeof g->offsets[0]);
  if (!g) return mica__fail_nomem("a transfer");
  for (int32_t k = 0; k <= c->ranks; k++) g->offsets[k] = k <= how->root ? 0 : how->count;
  const mica_transfer transfer = {.kind = kind,
                                  .channel = (int32_t)how->channel,
                                  .peer = (int32_t)how->root,
                                  .dtype = MICA_F32,
                                  .data = data,
                                  .count = how->count,
                                  .source = source,
                                  .offsets = kind == MICA_COLLECTIVE_REDUCE_SCATTER ? g->offsets : NULL,
                                  .after = ready};
  mica_status status = c->calls->begin(c->user, &transfer, &g->request);
  if (status == MICA_OK)
    *pending = g;
  else
    free(g);
  return status;
}

static mica_status end(const mica__host *host, void *pending, mica_status failed) {
  const mica__root_attrs *how = host->attrs;
  const mica_communicator *c = how->communicator;
  going *g = pending;
  mica__collective_ends(c, failed);
  mica_status status = c->calls->wait(c->user, g->request);
  free(g);
  return status;
}

/* --- sums for the root --- */

static mica_status infer_reduce(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  mica__root_attrs *how = attrs;
  MICA_TRY(mica__collective_row(inputs, input_count, &how->count));
  *out = (mica__type){MICA_F32, MICA_SHAPE(is_root(how) ? how->count : 1)};
  return MICA_OK;
}

/* Ranks other than the root need no result. What they receive is written over their operands, which may be
 * overwritten. */
static mica_status begin_reduce(const mica__host *host, mica_event *ready, void **pending) {
  void *operands = (void *)(uintptr_t)host->inputs[0];
  if (is_root(host->attrs)) return start(host, MICA_COLLECTIVE_REDUCE_SCATTER, operands, host->output, ready, pending);
  return start(host, MICA_COLLECTIVE_REDUCE_SCATTER, NULL, operands, ready, pending);
}

static mica_status end_reduce(const mica__host *host, void *pending, mica_status failed) {
  mica_status status = end(host, pending, failed);
  if (!is_root(host->attrs)) *(float *)host->output = 0;
  return status;
}

static const mica__op op_reduce = {.name = "reduce_to_rank",
                                   .kind = MICA__OP_LAUNCH,
                                   .min_inputs = 1,
                                   .max_inputs = INT32_MAX,
                                   .attrs = &mica__root_attr_list,
                                   .infer = infer_reduce,
                                   .begin = begin_reduce,
                                   .end = end_reduce,
                                   .order = MICA__ORDER_SOON};

/* --- values of the root --- */

static mica_status infer_broadcast(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  mica__root_attrs *how = attrs;
  if (is_root(how)) MICA_TRY(mica__collective_row(inputs, input_count, &how->count));
  *out = (mica__type){MICA_F32, MICA_SHAPE(is_root(how) ? 1 : how->count)};
  return MICA_OK;
}

static mica_status begin_broadcast(const mica__host *host, mica_event *ready, void **pending) {
  void *operands = (void *)(uintptr_t)host->inputs[0];
  return start(host, MICA_COLLECTIVE_BROADCAST, NULL, is_root(host->attrs) ? operands : host->output, ready, pending);
}

static mica_status end_broadcast(const mica__host *host, void *pending, mica_status failed) {
  mica_status status = end(host, pending, failed);
  if (is_root(host->attrs)) *(float *)host->output = 0;
  return status;
}

static const mica__op op_broadcast = {.name = "broadcast_of_rank",
                                      .kind = MICA__OP_LAUNCH,
                                      .min_inputs = 1,
                                      .max_inputs = INT32_MAX,
                                      .attrs = &mica__root_attr_list,
                                      .infer = infer_broadcast,
                                      .begin = begin_broadcast,
                                      .end = end_broadcast,
                                      .order = MICA__ORDER_SOON};

/* --- builders --- */

mica_value mica__reduce_to(const mica_value *x, int32_t count, const mica_communicator *communicator, int32_t channel,
                           int32_t root, mica_value *sums) {
  mica_value row = mica__graph_add(&op_reduce, x, count, &(mica__root_attrs){communicator, channel, root, 0});
  if (communicator->rank != root) return row;
  mica__collective_split(row, x, count, sums);
  return (mica_value){0};
}

mica_value mica__broadcast_of(const mica_value *x, int32_t count, mica_value when,
                              const mica_communicator *communicator, int32_t channel, int32_t root,
                              mica_value *values) {
  mica__root_attrs how = {communicator, channel, root, 0};
  if (communicator->rank == root) return mica__graph_add(&op_broadcast, x, count, &how);
  for (int32_t k = 0; k < count; k++) {
    int64_t room = 0;
    if (mica__collective_room(mica_value_shape(x[k]), &room) != MICA_OK)
      return mica__graph_fail_with(when.graph, MICA_E_SHAPE);
    how.count += room;
  }
  mica__collective_split(mica__graph_add(&op_broadcast, &when, 1, &how), x, count, values);
  return (mica_value){0};
}
