/* Creation of a trainer, its steps, and the readbacks of its sums. */
#include "base/text.h"
#include "nn/divided.h"
#include "train/stages.h"

#include <float.h>
#include <math.h>
#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

static mica_status check(const mica_trainer_config *c) {
  if (!c->step) return mica__fail(MICA_E_INVALID, "mica_trainer_create: step is NULL");
  if (!c->columns || !c->column_count)
    return mica__fail(MICA_E_INVALID, "mica_trainer_create: columns is NULL, or column_count is 0");
  if (c->sync_norm && c->stages.count > 1)
    return mica__fail(MICA_E_INVALID, "mica_trainer_create: sync_norm cannot be combined with stages");
  if (c->hold && (c->stages.count > 1 || c->tensor > 1))
    return mica__fail(MICA_E_UNSUPPORTED, "mica_trainer_create: hold cannot be combined with stages or tensor");
  if (c->tensor > 1 && (c->sync_norm || c->like || c->hook))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "mica_trainer_create: tensor cannot be combined with sync_norm, like or hook");
  const struct count {
    const char *name;
    int64_t value;
  } counts[] = {{"epochs", c->epochs},
                {"patience", c->patience},
                {"report_every", c->report_every},
                {"checkpoint_steps", c->checkpoint_steps},
                {"schedule.steps", c->schedule.steps},
                {"schedule.warmup", c->schedule.warmup},
                {"schedule.every", c->schedule.every}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (counts[i].value < 0)
      return mica__fail(MICA_E_INVALID, "mica_trainer_create: %s is %lld, but must be 0 or above", counts[i].name,
                        (long long)counts[i].value);
  if (!(c->schedule.rate >= 0 && c->schedule.rate <= DBL_MAX))
    return mica__fail(MICA_E_INVALID, "mica_trainer_create: the learning rate is %g, but must be finite and 0 or above",
                      c->schedule.rate);
  if (!strcmp(mica_schedule_name(c->schedule.kind), "?"))
    return mica__fail(MICA_E_INVALID, "mica_trainer_create: %d is not a mica_schedule", (int)c->schedule.kind);
  return MICA_OK;
}

static mica_status make_totals(mica__totals *totals, const mica__phase *phase) {
  totals->sums = calloc(phase->sum_count, sizeof *totals->sums);
  return totals->sums ? MICA_OK : mica__fail_nomem("a trainer");
}

void mica__totals_clear(mica__totals *totals, const mica__phase *phase) {
  memset(totals->sums, 0, phase->sum_count * sizeof *totals->sums);
  totals->samples = 0;
}

static mica_status make_rows(mica_trainer *t) {
  const int64_t count = t->config.report_every, sums = (int64_t)t->training.sum_count;
  const int64_t stride = (sums + MICA__ROW_STEP - 1) / MICA__ROW_STEP * MICA__ROW_STEP;
  t->row_stride = (size_t)stride;
  MICA_TRY(mica_tensor_create(t->engine, MICA_F32, MICA_SHAPE(count, stride), &t->rows));
  for (int64_t i = 0; i < count; i++)
    MICA_TRY(mica_tensor_view(t->rows, MICA_SHAPE(sums), NULL, i * stride, &t->row[i]));
  for (int i = 0; i < MICA__READBACKS; i++) {
    t->readbacks[i].rows = calloc((size_t)count * t->row_stride, sizeof(float));
    if (!t->readbacks[i].rows) return mica__fail_nomem("a trainer");
  }
  return mica_op_fill(t->queue, 0, t->rows);
}

static mica_status make_sums(mica_trainer *t) {
  MICA_TRY(make_rows(t));
  MICA_TRY(make_totals(&t->epoch, &t->training));
  MICA_TRY(make_totals(&t->recent, &t->training));
  return make_totals(&t->tested, &t->testing);
}

/* Tests and predictions use moving averages of weights if the optimiser keeps them. */
static mica_status share_averages(mica_trainer *t, mica__phase *phase) {
  return t->config.optimizer.ema > 0 && !mica__ranks_apart(t)
             ? mica_nn_share_ema(phase->nn, phase->session, t->training.session)
             : MICA_OK;
}

static mica_status build(mica_trainer *t) {
  const mica_trainer_config *c = &t->config;
  const bool apart = c->test_columns != NULL;
  MICA_TRY(mica__ranks_divide(t));
  MICA_TRY(mica__phase_build(t, &t->training, MICA__PHASE_TRAIN, c->columns, c->column_count));
  if (t->tensor && !mica__nn_is_divided(t->training.nn))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "no layer of the network can be divided among ranks; only mlp, attention and transformers can");
  if (c->stages.count > 1) MICA_TRY(mica__stages_create(t));
  MICA_TRY(mica__phase_build(t, &t->testing, MICA__PHASE_TEST, apart ? c->test_columns : c->columns,
                             apart ? c->test_column_count : c->column_count));
  MICA_TRY(mica_nn_initialise(t->training.nn, t->training.session));
  t->stale = true;
  if (mica__ranks_apart(t)) MICA_TRY(mica_nn_initialise(t->testing.nn, t->testing.session));
  return share_averages(t, &t->testing);
}

/* Checks that tests compute the watched metric. If a callback adds metrics, any name is allowed. */
static mica_status check_watch(const mica_trainer *t) {
  const mica_trainer_config *c = &t->config;
  mica__text names = {0};
  if (!c->watch || c->evaluate || !strcmp(c->watch, "loss")) return MICA_OK;
  for (size_t i = 0; i < t->testing.slot_count; i++) {
    if (!strcmp(t->testing.slots[i].name, c->watch)) return MICA_OK;
    mica__text_addf(&names, ", %s", t->testing.slots[i].name);
  }
  mica__fail(MICA_E_NOT_FOUND, "watch: the step makes no metric \"%s\"; choose from loss%s", c->watch,
             names.data ? names.data : "");
  mica__text_free(&names);
  return MICA_E_NOT_FOUND;
}

static mica_status make_rates(mica_trainer *t) {
  MICA_TRY(mica_tensor_create(t->engine, MICA_F32, MICA_SHAPE(MICA__RATES, MICA__ROW_STEP), &t->rates));
  for (int i = 0; i < MICA__RATES; i++)
    MICA_TRY(mica_tensor_view(t->rates, MICA_SCALAR, NULL, (int64_t)i * MICA__ROW_STEP, &t->rate[i]));
  t->rates_from = -1;
  return mica_op_fill(t->queue, 0, t->rates);
}

mica_status mica_trainer_create(mica_engine *engine, const mica_trainer_config *config, mica_trainer **out) {
  if (!engine || !config || !out) return mica__fail(MICA_E_INVALID, "mica_trainer_create: a pointer is NULL");
  MICA_TRY(check(config));
  mica_trainer *t = calloc(1, sizeof *t);
  if (!t) return mica__fail_nomem("a trainer");
  *t = (mica_trainer){.engine = engine, .queue = mica_engine_queue(engine), .config = *config};
  if (t->config.epochs == 0) t->config.epochs = 1;
  if (t->config.report_every == 0) t->config.report_every = 32;
  if (t->config.report_every > MICA__ROWS) t->config.report_every = MICA__ROWS;
  t->schedule = t->config.schedule;
  t->progress.plateau = t->config.plateau;
  mica_status status = build(t);
  if (status == MICA_OK) status = check_watch(t);
  if (status == MICA_OK) status = make_sums(t);
  if (status == MICA_OK) status = make_rates(t);
  if (status == MICA_OK)
    *out = t;
  else
    mica_trainer_destroy(t);
  return status;
}

void mica_trainer_destroy(mica_trainer *t) {
  if (!t) return;
  /* Waits for downloads in flight, which write into the trainer. */
  mica__train_discard(t);
  for (int i = 0; i < MICA__RATES; i++) mica_tensor_destroy(t->rate[i]);
  mica_tensor_destroy(t->rates);
  for (int i = 0; i < MICA__ROWS; i++) mica_tensor_destroy(t->row[i]);
  mica_tensor_destroy(t->rows);
  mica__phase_free(&t->predicting);
  mica__phase_free(&t->testing);
  mica__stages_destroy(t->stages);
  mica__phase_free(&t->training);
  mica_communicator_destroy(t->tensor);
  mica_communicator_destroy(t->beside);
  for (int i = 0; i < MICA__READBACKS; i++) free(t->readbacks[i].rows);
  free(t->epoch.sums);
  free(t->recent.sums);
  free(t->tested.sums);
  free(t);
}

int64_t mica_trainer_epoch(const mica_trainer *t) { return t ? t->progress.epoch : 0; }
mica_nn *mica_trainer_network(mica_trainer *t) { return t->training.nn; }
mica_session *mica_trainer_session(mica_trainer *t) { return t->training.session; }
mica_nn *mica_trainer_test_network(mica_trainer *t) { return t->testing.nn; }
mica_session *mica_trainer_test_session(mica_trainer *t) { return t->testing.session; }

/* --- steps --- */

double mica__train_rate(const mica_trainer *t, int64_t step) {
  double share = t->config.on_plateau && t->progress.plateau.noted ? t->progress.plateau.share : 1;
  return share * mica_schedule_rate(&t->schedule, step);
}

/* The tensor with the rate of this step. */
static mica_status find_rate(mica_trainer *t, const mica_tensor **out) {
  int64_t step = t->progress.step, at = step - t->rates_from;
  if (t->rates_from < 0 || at < 0 || at >= MICA__RATES) {
    float rates[MICA__RATES][MICA__ROW_STEP] = {{0}};
    for (int i = 0; i < MICA__RATES; i++) rates[i][0] = (float)mica__train_rate(t, step + i);
    if (memcmp(rates, t->rates_sent, sizeof rates)) {
      MICA_TRY(mica_tensor_upload(t->queue, t->rates, rates, sizeof rates));
      memcpy(t->rates_sent, rates, sizeof rates);
    }
    t->rates_from = step;
    at = 0;
  }
  *out = t->rate[at];
  return MICA_OK;
}

mica_status mica_trainer_step(mica_trainer *t, const mica_batch *batch) {
  const mica_tensor *rate = NULL;
  if (!t || !batch || !batch->tensors) return mica__fail(MICA_E_INVALID, "mica_trainer_step: a pointer is NULL");
  if (t->progress.step - t->unread_from == t->config.report_every) MICA_TRY(mica__train_read(t));
  MICA_TRY(find_rate(t, &rate));
  mica_tensor *row = t->row[t->progress.step - t->unread_from];
  t->stale = true;
  if (t->stages) {
    MICA_TRY(mica__stages_step(t, batch, row, rate));
  } else {
    MICA_TRY(mica_session_bind_output(t->training.session, 0, row));
    MICA_TRY(mica__phase_run(t, &t->training, batch, rate));
  }
  t->progress.step++;
  if (mica__stages_counts(t)) t->unread_samples += batch->count;
  return MICA_OK;
}

/* --- readbacks --- */

mica_status mica__train_read(mica_trainer *t) {
  mica__readback *r = &t->readbacks[(t->first_readback + t->readback_count) % MICA__READBACKS];
  if (t->unread_from == t->progress.step) return MICA_OK;
  if (t->readback_count == MICA__READBACKS) MICA_TRY(mica__train_drain(t));
  r->first_step = t->unread_from;
  r->last_step = t->progress.step;
  r->rate = mica__train_rate(t, t->progress.step - 1);
  r->batch = t->progress.batch;
  r->samples = t->unread_samples;
  MICA_TRY(mica_tensor_download_async(t->queue, t->rows, r->rows, mica_tensor_bytes(t->rows), &r->event));
  t->readback_count++;
  t->unread_from = t->progress.step;
  t->unread_samples = 0;
  return mica_queue_flush(t->queue);
}

/* Adds the sums of a step to its epoch's sums and to the sums since the last event, if this rank's sums count.
 * MICA_E_NUMERIC: the loss is not finite. */
static mica_status add_row(mica_trainer *t, int64_t step, const float *row) {
  if (!isfinite(row[MICA__SUM_LOSS]))
    return mica__fail(MICA_E_NUMERIC, "the loss is %s at step %lld (learning rate %g); a lower rate may help",
                      isnan(row[MICA__SUM_LOSS]) ? "not a number" : "infinite", (long long)step + 1,
                      mica__train_rate(t, step));
  for (size_t k = 0; mica__stages_counts(t) && k < t->training.sum_count; k++) {
    t->recent.sums[k] += (double)row[k];
    t->epoch.sums[k] += (double)row[k];
  }
  return MICA_OK;
}

mica_status mica__train_drain(mica_trainer *t) {
  mica__readback *r = &t->readbacks[t->first_readback];
  if (t->readback_count == 0) return MICA_OK;
  mica_status status = mica_event_wait(r->event);
  mica_event_destroy(r->event);
  r->event = NULL;
  t->first_readback = (t->first_readback + 1) % MICA__READBACKS;
  t->readback_count--;
  MICA_TRY(status);
  for (int64_t step = r->first_step; step < r->last_step; step++)
    MICA_TRY(add_row(t, step, r->rows + (size_t)(step - r->first_step) * t->row_stride));
  t->recent.samples += r->samples;
  t->epoch.samples += r->samples;
  return MICA_OK;
}

void mica__train_discard(mica_trainer *t) {
  for (int i = 0; i < MICA__READBACKS; i++) {
    mica_event *event = t->readbacks[i].event;
    if (event && mica_event_wait(event) != MICA_OK)
      mica__log(MICA_LOG_LEVEL_INFO, "a readback that is discarded: %s", mica_error_message());
    mica_event_destroy(t->readbacks[i].event);
    t->readbacks[i].event = NULL;
  }
  t->readback_count = 0;
}

mica_status mica_trainer_take_metrics(mica_trainer *t, mica_metrics *metrics) {
  if (!t || !metrics) return mica__fail(MICA_E_INVALID, "mica_trainer_take_metrics: a pointer is NULL");
  MICA_TRY(mica__train_read(t));
  while (t->readback_count) MICA_TRY(mica__train_drain(t));
  MICA_TRY(mica__metrics_of(&t->training, &t->recent, metrics));
  mica__totals_clear(&t->recent, &t->training);
  return MICA_OK;
}
