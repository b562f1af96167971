#include "nn/optim_shard.h"

#include "nn/optim_ranks.h"
#include "ops/collective/channels.h"
#include "ops/collective/collective.h"

#include <mica/nodes.h>
#include <stdlib.h>

static int64_t elements_of(mica_value value) {
  int64_t count = 0;
  return mica_shape_count(mica_value_shape(value), &count) == MICA_OK ? count : 0;
}

/* Goes through the weights from the largest to the smallest, and gives each one to the rank that has the fewest
 * elements so far. If ranks have equally few, takes the first of them. */
mica_status mica__shard_owners(const mica_value *weights, size_t count, int32_t ranks, int32_t *owners) {
  int64_t *held = calloc((size_t)ranks, sizeof *held);
  if (!held) return mica__fail_nomem("an optimiser");
  for (size_t i = 0; i < count; i++) owners[i] = -1;
  for (size_t n = 0; n < count; n++) {
    size_t largest = count;
    int32_t to = 0;
    for (size_t i = 0; i < count; i++)
      if (owners[i] < 0 && (largest == count || elements_of(weights[i]) > elements_of(weights[largest]))) largest = i;
    for (int32_t k = 1; k < ranks; k++)
      if (held[k] < held[to]) to = k;
    owners[largest] = to;
    held[to] += elements_of(weights[largest]);
  }
  free(held);
  return MICA_OK;
}

static void add_sent(mica_value *sent, mica_value more) {
  if (mica_value_is_null(more)) return;
  more = mica_reshape(more, MICA_SCALAR);
  *sent = mica_value_is_null(*sent) ? more : mica_add(*sent, more);
}

/* Weights of one owner that are sent together; the last weights come first. */
typedef struct group {
  size_t *index;
  mica_value *values;
  int32_t count;
} group;

/* The groups of all owners are filled at the same time during the backward pass, so the group of one owner has at most
 * 1 / ranks of a bucket. If the configuration gives no bucket size, a group may have this many bytes even if that is
 * more. */
#define LEAST_GROUP ((int64_t)256 << 10)

static int64_t group_bytes(const mica_optimizer_config *c) {
  const int64_t share = mica__ranks_bucket(c) / c->communicator->ranks;
  return share > LEAST_GROUP || c->bucket_bytes > 0 ? share : LEAST_GROUP;
}

/* Finds the owner's next group of weights before *end; *end becomes the end of the weights from which the next group is
 * taken. */
static void next_group(const mica_optimizer_config *c, const int32_t *owners, int32_t owner, const mica_value *values,
                       size_t *end, group *g) {
  const int64_t most = group_bytes(c);
  int64_t bytes = 0;
  g->count = 0;
  for (; *end > 0; --*end) {
    const size_t i = *end - 1;
    const int64_t own = elements_of(values[i]) * (int64_t)sizeof(float);
    if (owners[i] != owner) continue;
    if (g->count && bytes + own > most) return;
    bytes += own;
    g->index[g->count] = i;
    g->values[g->count++] = values[i];
  }
}

static mica_status make_group(group *g, size_t count) {
  g->index = calloc(count + 1, sizeof *g->index);
  g->values = calloc(count + 1, sizeof *g->values);
  return g->index && g->values ? MICA_OK : mica__fail_nomem("an optimiser");
}

static void free_group(group *g) {
  free(g->index);
  free(g->values);
}

/* Group `number` of gradients uses an even offset from MICA__CHANNEL_BUCKETS, and group `number` of new values the odd
 * offset after it. Offset 0 is the channel for the sum of the ranks' weights. */
static mica_status channel_of(const mica_optimizer_config *c, int32_t number, bool values, int32_t *channel) {
  *channel = MICA__CHANNEL_BUCKETS + 2 + 2 * number + values;
  return *channel < MICA__CHANNEL_SHARD_NORMS
             ? MICA_OK
             : mica__fail(MICA_E_INVALID,
                          "mica_optimize: a rank's part of a bucket has %lld bytes, and the gradients fill more than "
                          "%d such parts; "
                          "choose a larger bucket_bytes",
                          (long long)group_bytes(c), (MICA__CHANNEL_SHARD_NORMS - MICA__CHANNEL_BUCKETS - 2) / 2);
}

static mica_status reduce(const mica_optimizer_config *c, const int32_t *owners, mica_value *gradients, size_t count,
                          mica_value weight, mica_value all, group *g, mica_value *sent) {
  const bool weighted = !mica_value_is_null(c->weight);
  int32_t number = 0, channel;
  for (int32_t owner = 0; owner < c->communicator->ranks; owner++)
    for (size_t end = count; end > 0;) {
      next_group(c, owners, owner, gradients, &end, g);
      if (!g->count) break;
      MICA_TRY(channel_of(c, number++, false, &channel));
      for (int32_t k = 0; weighted && k < g->count; k++) g->values[k] = mica_mul(g->values[k], weight);
      add_sent(sent, mica__reduce_to(g->values, g->count, c->communicator, channel, owner, g->values));
      if (owner != c->communicator->rank) continue;
      for (int32_t k = 0; k < g->count; k++) gradients[g->index[k]] = mica_div(g->values[k], all);
    }
  return MICA_OK;
}

mica_status mica__shard_reduce(mica_graph *graph, const mica_optimizer_config *c, const int32_t *owners,
                               mica_value *gradients, size_t count, mica_value *sent) {
  group g = {0};
  mica_value weight, all;
  mica__ranks_weight(graph, c, &weight, &all);
  mica_status status = make_group(&g, count);
  if (status == MICA_OK) status = reduce(c, owners, gradients, count, weight, all, &g, sent);
  /* A rank without weights still takes part in the sum. */
  add_sent(sent, all);
  free_group(&g);
  return status;
}

static mica_status broadcast(const mica_optimizer_config *c, const int32_t *owners, mica_value when, mica_value *values,
                             size_t count, group *g, mica_value *sent) {
  int32_t number = 0, channel;
  for (int32_t owner = 0; owner < c->communicator->ranks; owner++)
    for (size_t end = count; end > 0;) {
      next_group(c, owners, owner, values, &end, g);
      if (!g->count) break;
      MICA_TRY(channel_of(c, number++, true, &channel));
      add_sent(sent, mica__broadcast_of(g->values, g->count, when, c->communicator, channel, owner, g->values));
      for (int32_t k = 0; owner != c->communicator->rank && k < g->count; k++) values[g->index[k]] = g->values[k];
    }
  return MICA_OK;
}

mica_status mica__shard_broadcast(const mica_optimizer_config *c, const int32_t *owners, mica_value when,
                                  mica_value *values, size_t count, mica_value *sent) {
  group g = {0};
  mica_status status = make_group(&g, count);
  if (status == MICA_OK) status = broadcast(c, owners, when, values, count, &g, sent);
  free_group(&g);
  return status;
}
