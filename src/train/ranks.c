/* Training on several ranks: sums, times, progress, agreement to stop, running statistics, and the parameters that rank
 * 0 sends to the others. All of it goes through host memory. Only the parameters are large. */
#include "ops/collective/channels.h"
#include "train/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_communicator *link_of(const mica_trainer *t) { return t->config.communicator; }

bool mica__ranks_speaks(const mica_trainer *t) { return !link_of(t) || link_of(t)->rank == 0; }

int32_t mica__ranks_count(const mica_trainer *t) { return link_of(t) ? link_of(t)->ranks : 1; }

int32_t mica__ranks_own(const mica_trainer *t) { return link_of(t) ? link_of(t)->rank : 0; }

mica_communicator *mica__ranks_replicas(const mica_trainer *t) {
  return t->stages ? t->stages->data : t->tensor ? t->beside : link_of(t);
}

int32_t mica__ranks_parts(const mica_trainer *t) { return t->config.tensor > 1 ? t->config.tensor : 1; }

static int32_t stages_of(const mica_trainer *t) { return t->config.stages.count > 1 ? t->config.stages.count : 1; }

int32_t mica__ranks_at(const mica_trainer *t, int32_t replica, int32_t behind, int32_t part) {
  return (replica * stages_of(t) + behind) * mica__ranks_parts(t) + part;
}

mica_status mica__ranks_divide(mica_trainer *t) {
  mica_communicator *c = link_of(t);
  const int32_t parts = mica__ranks_parts(t), own = mica__ranks_own(t);
  const int64_t all = (int64_t)parts * stages_of(t);
  if (parts == 1) return MICA_OK;
  if (!c || c->ranks % all)
    return mica__fail(MICA_E_INVALID,
                      "the number of ranks is %d, but must be a multiple of %lld (stages: %d, tensor parts: %d)",
                      (int)mica__ranks_count(t), (long long)all, (int)stages_of(t), (int)parts);
  int32_t *ranks = calloc((size_t)c->ranks, sizeof *ranks);
  if (!ranks) return mica__fail_nomem("a trainer");
  for (int32_t k = 0; k < parts; k++) ranks[k] = own - own % parts + k;
  mica_status status = mica_communicator_group(c, ranks, parts, &t->tensor);
  const int32_t replicas = (int32_t)(c->ranks / all);
  for (int32_t k = 0; k < replicas; k++) ranks[k] = mica__ranks_at(t, k, 0, own % parts);
  if (status == MICA_OK && stages_of(t) == 1 && replicas > 1)
    status = mica_communicator_group(c, ranks, replicas, &t->beside);
  free(ranks);
  return status;
}

bool mica__ranks_apart(const mica_trainer *t) { return t->stages || t->tensor; }

bool mica__ranks_divided(const mica_trainer *t) {
  return mica__ranks_apart(t) || (t->config.optimizer.shard && mica__ranks_count(t) > 1);
}

static mica_status run_among(mica_communicator *c, mica_collective kind, int32_t channel, mica_dtype dtype, void *data,
                             size_t count) {
  const mica_transfer transfer = {
      .kind = kind, .channel = channel, .dtype = dtype, .data = data, .count = (int64_t)count};
  return mica_communicator_run(c, &transfer);
}

static mica_status run(const mica_trainer *t, mica_collective kind, int32_t channel, mica_dtype dtype, void *data,
                       size_t count) {
  return run_among(link_of(t), kind, channel, dtype, data, count);
}

/* --- start --- */

/* Sends a parameter from the communicator's rank 0 to its other ranks. */
static mica_status broadcast_parameter(const mica_trainer *t, mica_communicator *c, mica_tensor *tensor) {
  const size_t bytes = mica_tensor_bytes(tensor);
  char *data = malloc(bytes ? bytes : 1);
  if (!data) return mica__fail_nomem("a parameter of all ranks");
  mica_status status = MICA_OK;
  if (c->rank == 0) status = mica_tensor_download(t->queue, tensor, data, bytes);
  if (status == MICA_OK) status = run_among(c, MICA_COLLECTIVE_BROADCAST, MICA__CHANNEL_SHARE, MICA_U8, data, bytes);
  if (status == MICA_OK && c->rank != 0) status = mica_tensor_upload(t->queue, tensor, data, bytes);
  free(data);
  return status;
}

/* Sends the network's parameters. Divided optimiser state is left out: each rank has read its own part. */
static mica_status broadcast_network(const mica_trainer *t, mica_communicator *c, const mica__phase *phase,
                                     bool optimiser) {
  for (size_t i = 0; i < mica_nn_parameter_count(phase->nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(phase->nn, i);
    mica_tensor *tensor = mica_session_parameter(phase->session, info->name);
    if (info->held.frozen) continue; /* each rank reads it from the model's file */
    if (tensor && (optimiser || info->role != MICA_NN_ROLE_OPTIMIZER)) MICA_TRY(broadcast_parameter(t, c, tensor));
  }
  return MICA_OK;
}

mica_status mica__ranks_tested(mica_trainer *t) {
  return mica__ranks_apart(t) ? broadcast_network(t, link_of(t), &t->testing, false) : mica__ranks_begin(t);
}

mica_status mica__ranks_begin(mica_trainer *t) {
  mica_communicator *replicas = mica__ranks_replicas(t);
  if (!link_of(t)) return MICA_OK;
  if (replicas) MICA_TRY(broadcast_network(t, replicas, &t->training, !mica__ranks_divided(t)));
  MICA_TRY(run(t, MICA_COLLECTIVE_BROADCAST, MICA__CHANNEL_SHARE, MICA_U8, &t->progress, sizeof t->progress));
  /* The epoch's sums in a checkpoint are over all ranks, so only one rank continues with them. */
  if (link_of(t)->rank != 0) {
    memset(t->epoch.sums, 0, t->training.sum_count * sizeof *t->epoch.sums);
    t->epoch.samples = 0;
  }
  t->agreed = NULL;
  return MICA_OK;
}

/* --- steps --- */

/* The answer is used one step later, so no rank waits for it. */
mica_status mica__ranks_agree(mica_trainer *t, bool stops, bool *all_stop) {
  *all_stop = stops;
  if (!link_of(t)) return MICA_OK;
  *all_stop = false;
  if (t->agreed) {
    void *request = t->agreed;
    t->agreed = NULL;
    MICA_TRY(mica_communicator_wait(link_of(t), request));
    *all_stop = t->stopping > 0;
  }
  if (*all_stop) return MICA_OK;
  t->stopping = stops;
  const mica_transfer transfer = {
      .channel = MICA__CHANNEL_AGREE, .dtype = MICA_I32, .data = &t->stopping, .count = 1, .step = t->progress.step};
  return mica_communicator_begin(link_of(t), &transfer, &t->agreed);
}

mica_status mica__ranks_end_steps(mica_trainer *t) {
  void *request = t->agreed;
  t->agreed = NULL;
  return request ? mica_communicator_wait(link_of(t), request) : MICA_OK;
}

/* Replaces running statistics of batch norms (f32), which are statistics of a rank's samples, by their means over all
 * replicas. */
mica_status mica__ranks_join_state(mica_trainer *t) {
  const mica_nn *nn = t->training.nn;
  mica_communicator *replicas = mica__ranks_replicas(t);
  if (!replicas) return MICA_OK;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(t->training.session, info->name);
    if (!tensor || info->role != MICA_NN_ROLE_STATE || mica_tensor_dtype(tensor) != MICA_F32) continue;
    const size_t bytes = mica_tensor_bytes(tensor), count = bytes / sizeof(float);
    float *data = malloc(bytes + 1);
    if (!data) return mica__fail_nomem("a parameter of all ranks");
    mica_status status = mica_tensor_download(t->queue, tensor, data, bytes);
    if (status == MICA_OK)
      status = run_among(replicas, MICA_COLLECTIVE_ALL_REDUCE, MICA__CHANNEL_SUMS, MICA_F32, data, count);
    for (size_t k = 0; k < count; k++) data[k] /= (float)replicas->ranks;
    if (status == MICA_OK) status = mica_tensor_upload(t->queue, tensor, data, bytes);
    free(data);
    MICA_TRY(status);
  }
  return MICA_OK;
}

mica_status mica__ranks_add(const mica_trainer *t, double *sums, size_t count, int64_t *samples) {
  if (!link_of(t)) return MICA_OK;
  if (count) MICA_TRY(run(t, MICA_COLLECTIVE_ALL_REDUCE, MICA__CHANNEL_SUMS, MICA_F64, sums, count));
  return samples ? run(t, MICA_COLLECTIVE_ALL_REDUCE, MICA__CHANNEL_SUMS, MICA_I64, samples, 1) : MICA_OK;
}

mica_status mica__ranks_broadcast(const mica_trainer *t, void *data, size_t bytes) {
  return link_of(t) ? run(t, MICA_COLLECTIVE_BROADCAST, MICA__CHANNEL_SHARE, MICA_U8, data, bytes) : MICA_OK;
}

mica_status mica__ranks_times(mica_trainer *t, double seconds, double data_seconds, mica_train_progress *event) {
  mica_communicator *c = link_of(t);
  if (!c) return MICA_OK;
  const int32_t n = c->ranks < MICA_TRAIN_RANKS ? c->ranks : MICA_TRAIN_RANKS;
  const mica_communicator_stats now = mica_communicator_stats_of(c);
  double *times = calloc(3 * (size_t)c->ranks, sizeof *times);
  if (!times) return mica__fail_nomem("the ranks' times");
  double *own = times + 3 * c->rank;
  own[1] = now.waited - t->link_then.waited;
  own[2] = now.moving - t->link_then.moving;
  own[0] = fmax(0, seconds - data_seconds - own[1]); /* waiting may include time before the first step */
  t->link_then = now;
  mica_status status = run(t, MICA_COLLECTIVE_ALL_REDUCE, MICA__CHANNEL_SUMS, MICA_F64, times, 3 * (size_t)c->ranks);
  event->ranks = c->ranks;
  for (int32_t r = 0; status == MICA_OK && r < c->ranks; r++) {
    if (times[3 * r] > times[3 * event->slowest_rank]) event->slowest_rank = r;
    if (r < n) event->rank_times[r] = (mica_rank_times){times[3 * r], times[3 * r + 1], times[3 * r + 2]};
  }
  free(times);
  return status;
}

mica_status mica__ranks_fail(mica_trainer *t, mica_status status) {
  char where[40];
  if (!link_of(t) || status == MICA_OK) return status;
  mica_communicator_abort(link_of(t), mica_error_message());
  if (t->agreed) {
    mica__attempt_begin();
    if (mica__ranks_end_steps(t) != MICA_OK) mica__log(MICA_LOG_LEVEL_DEBUG, "%s", mica_error_message());
    mica__attempt_end();
  }
  snprintf(where, sizeof where, "step %lld", (long long)t->progress.step);
  return mica__fail_in(status, where);
}
