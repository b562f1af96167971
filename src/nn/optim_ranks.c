#include "nn/optim_ranks.h"

#include "ops/collective/channels.h"
#include "ops/collective/collective.h"

#include <mica/nodes.h>
#include <stdlib.h>

/* Bytes of a bucket. Large enough for little overhead per message; small enough that the last bucket, which no
 * computation hides, ends soon. */
#define STANDARD_BUCKET ((int64_t)4 << 20)

static int64_t bytes_of(mica_value value) {
  int64_t count = 0;
  return mica_shape_count(mica_value_shape(value), &count) == MICA_OK ? count * (int64_t)sizeof(float) : 0;
}

static mica_value as_f32(mica_value x) { return mica_value_dtype(x) == MICA_F32 ? x : mica_cast(x, MICA_F32); }

int64_t mica__ranks_bucket(const mica_optimizer_config *c) {
  return c->bucket_bytes > 0 ? c->bucket_bytes : STANDARD_BUCKET;
}

mica_value mica__ranks_counted(mica_value weight, double least) {
  return least > 0 ? mica_maximum(weight, mica_full_like(weight, least)) : weight;
}

/* If no item counts on any rank, all gradients are 0. Their mean is then 0 for any positive divisor. */
mica_value mica__ranks_divisor(mica_value weights, double least) {
  return mica__ranks_counted(weights, least > 0 ? least : 1e-30);
}

/* Sets *weight to this rank's weight (c->weight, or 1 if that is null) and *all to the sum of the weights of all
 * ranks. If c->weight is given, neither is below c->least. The sum does not depend on gradients, so ranks can
 * exchange it before the first gradient is ready. */
void mica__ranks_weight(mica_graph *graph, const mica_optimizer_config *c, mica_value *weight, mica_value *all) {
  const bool weighted = !mica_value_is_null(c->weight);
  *weight = weighted ? mica_stop_gradient(as_f32(c->weight)) : mica_scalar(graph, MICA_F32, 1);
  if (!weighted) {
    *all = mica_scalar(graph, MICA_F32, c->communicator->ranks);
    return;
  }
  mica__all_reduce(weight, 1, c->communicator, MICA__CHANNEL_BUCKETS, MICA_COMPRESSION_NONE, all);
  *all = mica__ranks_divisor(*all, c->least);
  *weight = mica__ranks_counted(*weight, c->least);
}

mica_status mica__ranks_reduce(mica_graph *graph, const mica_optimizer_config *c, mica_value *gradients, size_t count) {
  const int64_t most = mica__ranks_bucket(c);
  mica_value *bucket = calloc(count + 1, sizeof *bucket);
  if (!bucket) return mica__fail_nomem("an optimiser");
  const bool weighted = !mica_value_is_null(c->weight);
  mica_value weight, all;
  mica__ranks_weight(graph, c, &weight, &all);
  int32_t channel = MICA__CHANNEL_BUCKETS + 1;
  for (size_t end = count, begin; end > 0; end = begin) {
    int64_t bytes = 0;
    int32_t n = 0;
    for (begin = end; begin > 0; begin--) {
      const int64_t own = bytes_of(gradients[begin - 1]);
      if (n > 0 && bytes + own > most) break;
      bytes += own;
      bucket[n++] = weighted ? mica_mul(gradients[begin - 1], weight) : gradients[begin - 1];
    }
    mica__all_reduce(bucket, n, c->communicator, channel++, c->compress, bucket);
    for (int32_t k = 0; k < n; k++) gradients[end - 1 - (size_t)k] = mica_div(bucket[k], all);
    if (channel == MICA__CHANNEL_SHARD_NORMS) break;
  }
  free(bucket);
  return channel < MICA__CHANNEL_SHARD_NORMS
             ? MICA_OK
             : mica__fail(
                   MICA_E_INVALID,
                   "mica_optimize: the gradients fill more than %d buckets of %lld bytes; choose a larger bucket_bytes",
                   MICA__CHANNEL_SHARD_NORMS - MICA__CHANNEL_BUCKETS - 2, (long long)most);
}
