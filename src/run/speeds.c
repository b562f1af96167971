/* Measures how fast ranks are, by steps of a trainer that is discarded. All ranks work at once, because devices of one
 * machine share its memory and its host's threads; the fastest is then measured alone. */
#include "base/clock.h"
#include "run/ranks.h"
#include "run/run.h"
#include "run/state/parts.h"
#include "run/verbs/distil.h"

#include <stdlib.h>
#include <string.h>

/* FIRST_STEPS steps before a measurement make plans and wake devices. A measurement takes at least SECONDS and
 * LEAST_STEPS steps. */
#define FIRST_STEPS 2
#define SECONDS 0.7
#define LEAST_STEPS 3
/* How many sums of gradients over the ranks are timed, after a first one that is not. */
#define SUMS 4

typedef struct clocked {
  mica_run *run;
  mica_trainer *trainer;
  mica_batch_source source;
  mica_queue *queue;
} clocked;

static mica_status step(clocked *c, int64_t *samples) {
  mica_batch batch = {0};
  MICA_TRY(c->source.next(c->source.user, c->queue, &batch));
  if (!batch.count) MICA_TRY(c->source.next(c->source.user, c->queue, &batch));
  MICA_TRY(mica_trainer_step(c->trainer, &batch));
  *samples += batch.count;
  return mica_queue_finish(c->queue);
}

static mica_status meet(clocked *c) {
  double one = 1;
  return mica_communicator_run(c->run->config.communicator,
                               &(mica_transfer){.dtype = MICA_F64, .data = &one, .count = 1});
}

/* Sets *speed to the samples per second of this rank, or to 0 if `works` is false. All ranks begin together. */
static mica_status measure(clocked *c, bool works, double *speed) {
  int64_t samples = 0;
  int steps = 0;
  MICA_TRY(meet(c));
  const double begin = mica__clock();
  while (works && (steps++ < LEAST_STEPS || mica__clock() - begin < SECONDS)) MICA_TRY(step(c, &samples));
  *speed = works ? (double)samples / (mica__clock() - begin) : 0;
  return MICA_OK;
}

/* Gives all ranks all numbers: each rank has set its own and left the others 0. */
static mica_status share(const clocked *c, double *numbers) {
  mica_communicator *all = c->run->config.communicator;
  return mica_communicator_run(all, &(mica_transfer){.dtype = MICA_F64, .data = numbers, .count = all->ranks});
}

static int64_t weights_of(const mica_nn *nn) {
  int64_t all = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    int64_t count = 0;
    if (info->role == MICA_NN_ROLE_WEIGHT && mica_shape_count(mica_value_shape(info->value), &count) == MICA_OK)
      all += count;
  }
  return all;
}

static mica_status measure_sum(const clocked *c, double *seconds) {
  const int64_t count = weights_of(mica_trainer_network(c->trainer));
  float *data = calloc((size_t)count + 1, sizeof *data);
  if (!data) return mica__fail_nomem("gradients");
  mica_status status = MICA_OK;
  double begin = 0;
  for (int i = 0; status == MICA_OK && i <= SUMS; i++) {
    if (i == 1) begin = mica__clock();
    status = mica_communicator_run(c->run->config.communicator, &(mica_transfer){.data = data, .count = count});
  }
  *seconds = (mica__clock() - begin) / SUMS;
  free(data);
  return status;
}

static mica_status measure_all(clocked *c, double *speeds, mica_run_speeds *found) {
  const mica_communicator *all = c->run->config.communicator;
  int64_t samples = 0;
  double *alone = calloc((size_t)all->ranks, sizeof *alone);
  if (!alone) return mica__fail_nomem("speeds");
  mica_status status = c->source.seek(c->source.user, 0, 0);
  for (int i = 0; status == MICA_OK && i < FIRST_STEPS; i++) status = step(c, &samples);
  memset(speeds, 0, (size_t)all->ranks * sizeof *speeds);
  if (status == MICA_OK) status = measure(c, true, &speeds[all->rank]);
  if (status == MICA_OK) status = share(c, speeds);
  for (int32_t r = 0; r < all->ranks; r++)
    if (speeds[r] > speeds[found->best]) found->best = r;
  if (status == MICA_OK) status = measure(c, all->rank == found->best, &alone[all->rank]);
  if (status == MICA_OK) status = share(c, alone);
  found->alone = alone[found->best];
  free(alone);
  alone = NULL;
  if (status == MICA_OK) status = measure_sum(c, &found->summing);
  /* All ranks take the time that rank 0 has measured, so that they have the same number. */
  double one[2] = {all->rank ? 0 : found->summing, 0};
  if (status == MICA_OK)
    status = mica_communicator_run(c->run->config.communicator,
                                   &(mica_transfer){.dtype = MICA_F64, .data = one, .count = 2});
  found->summing = one[0];
  return status;
}

mica_status mica_run_measure(mica_run *run, double *speeds, mica_run_speeds *found) {
  if (!run || !speeds || !found) return mica__fail(MICA_E_INVALID, "mica_run_measure: a pointer is NULL");
  if (!run->config.communicator || !run->parts->at[MICA_PART_TRAIN].loader || mica__run_is_divided(run))
    return mica__fail(
        MICA_E_STATE,
        "mica_run_measure: the run needs a communicator, training data and a network that is not divided among ranks");
  clocked c = {.run = run,
               .source = mica_loader_source(run->parts->at[MICA_PART_TRAIN].loader),
               .queue = mica_engine_queue(run->engine)};
  mica_trainer_config config = run->training;
  config.communicator = NULL;
  config.optimizer.shard = config.sync_norm = false;
  config.folder = NULL;
  config.report = NULL;
  *found = (mica_run_speeds){.best = 0};
  mica_status status = mica_trainer_create(run->engine, &config, &c.trainer);
  if (status == MICA_OK) status = mica__distil_load(run, c.trainer);
  if (status == MICA_OK) status = measure_all(&c, speeds, found);
  if (status != MICA_OK) mica_communicator_abort(run->config.communicator, mica_error_message());
  mica_trainer_destroy(c.trainer);
  return status;
}
