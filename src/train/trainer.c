/* Creation of a trainer, its steps, and the readbacks of their sums. */
#include "train/train.h"

#include <math.h>
#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

static mica_status check(const mica_trainer_config *c) {
  if (!c->model) return mica__fail(MICA_E_INVALID, "mica_trainer_create: there is no model");
  if ((size_t)c->loss > MICA_LOSS_BCE) return mica__fail(MICA_E_INVALID, "mica_trainer_create: no loss %d", c->loss);
  if (c->loss == MICA_LOSS_CROSS_ENTROPY && c->classes < 1)
    return mica__fail(MICA_E_INVALID, "mica_trainer_create: %lld classes", (long long)c->classes);
  if (c->epochs < 0 || c->patience < 0 || c->report_every < 0 || c->checkpoint_steps < 0)
    return mica__fail(MICA_E_INVALID, "mica_trainer_create: a negative count");
  return MICA_OK;
}

static mica_status build(mica_trainer *t, mica__phase *phase, bool test) {
  const mica_trainer_config *c = &t->config;
  mica_value loss = {0}, outputs[2] = {{0}};
  MICA_TRY(mica_graph_create(&phase->graph));
  MICA_TRY(mica_nn_create(phase->graph, &(mica_nn_config){.training = !test, .dtype = c->dtype, .seed = c->seed},
                          &phase->nn));
  mica__train_graph(c, phase, test, &loss, &outputs[0]);
  if (!test) {
    if (c->freeze) MICA_TRY(mica_nn_freeze(phase->nn, c->freeze, true, NULL));
    mica_optimize(phase->nn, loss, &c->optimizer, NULL);
  }
  outputs[1] = loss;
  /* Both phases share the weights; each has sums of its own. */
  mica_session_config config = {.share = t->training.session, .parameters = &(mica_binding){"metrics", NULL}};
  config.parameter_count = 1;
  MICA_TRY(mica_session_create(t->engine, phase->graph, outputs, test ? 2 : 0, &config, &phase->session));
  phase->metrics = mica_session_parameter(phase->session, "metrics");
  return MICA_OK;
}

static mica_status make_rates(mica_trainer *t) {
  MICA_TRY(mica_tensor_create(t->engine, MICA_F32, MICA_SHAPE(MICA__RATES, MICA__RATE_STRIDE), &t->rates));
  for (int i = 0; i < MICA__RATES; i++)
    MICA_TRY(mica_tensor_view(t->rates, MICA_SCALAR, NULL, (int64_t)i * MICA__RATE_STRIDE, &t->rate[i]));
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
  t->schedule = t->config.schedule;
  t->progress.plateau = t->config.plateau;
  mica_status status = build(t, &t->training, false);
  if (status == MICA_OK) status = build(t, &t->testing, true);
  if (status == MICA_OK) status = mica_nn_initialise(t->training.nn, t->training.session);
  if (status == MICA_OK && config->optimizer.ema > 0)
    status = mica_nn_share_ema(t->testing.nn, t->testing.session, t->training.session);
  if (status == MICA_OK) status = make_rates(t);
  if (status == MICA_OK)
    *out = t;
  else
    mica_trainer_destroy(t);
  return status;
}

static void destroy_phase(mica__phase *phase) {
  mica_session_destroy(phase->session);
  mica_nn_destroy(phase->nn);
  mica_graph_destroy(phase->graph);
}

void mica_trainer_destroy(mica_trainer *t) {
  if (!t) return;
  /* Downloads in flight write into the trainer. */
  mica__train_discard(t);
  for (int i = 0; i < MICA__RATES; i++) mica_tensor_destroy(t->rate[i]);
  mica_tensor_destroy(t->rates);
  destroy_phase(&t->testing);
  destroy_phase(&t->training);
  free(t);
}

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
    float rates[MICA__RATES][MICA__RATE_STRIDE] = {{0}};
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
  if (!t || !batch || !batch->inputs || !batch->targets)
    return mica__fail(MICA_E_INVALID, "mica_trainer_step: a pointer is NULL");
  mica_feed feeds[] = {{"inputs", batch->inputs}, {"targets", batch->targets}, {MICA_LEARNING_RATE, NULL}};
  MICA_TRY(find_rate(t, &feeds[2].tensor));
  MICA_TRY(mica_session_run(t->training.session, t->queue, feeds, 3));
  t->progress.step++;
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
  MICA_TRY(mica_tensor_download_async(t->queue, t->training.metrics, r->sums, sizeof r->sums, &r->event));
  t->readback_count++;
  t->unread_from = t->progress.step;
  MICA_TRY(mica_op_fill(t->queue, 0, t->training.metrics));
  return mica_queue_flush(t->queue);
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
  if (!isfinite(r->sums[MICA__SUM_LOSS])) {
    int64_t step = r->first_step + (int64_t)r->sums[MICA__SUM_FINITE];
    return mica__fail(MICA_E_NUMERIC, "the loss is %s at step %lld (learning rate %g); a lower rate may help",
                      isnan(r->sums[MICA__SUM_LOSS]) ? "not a number" : "infinite", (long long)step,
                      mica__train_rate(t, step));
  }
  for (int k = 0; k < MICA__SUMS; k++) {
    t->recent.sums[k] += (double)r->sums[k];
    t->progress.totals.sums[k] += (double)r->sums[k];
  }
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
  *metrics = mica__metrics_of(&t->config, &t->recent, false);
  t->recent = (mica__totals){0};
  return MICA_OK;
}

/* --- testing --- */

static mica_status test_sums(mica_trainer *t, mica__totals *totals) {
  float sums[MICA__SUMS];
  MICA_TRY(mica_tensor_download(t->queue, t->testing.metrics, sums, sizeof sums));
  for (int k = 0; k < MICA__SUMS; k++) totals->sums[k] += (double)sums[k];
  return mica_op_fill(t->queue, 0, t->testing.metrics);
}

static mica_status read_confusion(mica_trainer *t, mica_tensor *tensor, int64_t *confusion) {
  size_t count = (size_t)(t->config.classes * t->config.classes);
  float *counts = malloc(count * sizeof *counts);
  if (!counts) return mica__fail_nomem("a confusion matrix");
  mica_status status = mica_tensor_download(t->queue, tensor, counts, count * sizeof *counts);
  for (size_t i = 0; status == MICA_OK && i < count; i++) confusion[i] = (int64_t)counts[i];
  free(counts);
  return status;
}

static mica_status test_batch(mica_trainer *t, const mica_batch *batch) {
  mica_feed feeds[] = {{"inputs", batch->inputs}, {"targets", batch->targets}};
  return mica_session_run(t->testing.session, t->queue, feeds, 2);
}

mica_status mica__train_first_batch(mica_trainer *t, const mica_batch_source *source, mica_metrics *metrics) {
  mica__totals totals = {0};
  mica_batch batch = {0};
  MICA_TRY(mica_op_fill(t->queue, 0, t->testing.metrics));
  MICA_TRY(source->seek(source->user, 0, 0));
  MICA_TRY(source->next(source->user, t->queue, &batch));
  if (batch.count > 0) MICA_TRY(test_batch(t, &batch));
  MICA_TRY(test_sums(t, &totals));
  *metrics = mica__metrics_of(&t->config, &totals, true);
  return MICA_OK;
}

mica_status mica_trainer_test(mica_trainer *t, const mica_batch_source *source, mica_metrics *metrics,
                              int64_t *confusion) {
  mica__totals totals = {0};
  mica_batch batch = {0};
  if (!t || !source || !metrics) return mica__fail(MICA_E_INVALID, "mica_trainer_test: a pointer is NULL");
  if (confusion && t->config.loss != MICA_LOSS_CROSS_ENTROPY)
    return mica__fail(MICA_E_INVALID, "mica_trainer_test: a confusion matrix is of classes");
  mica_tensor *counts = mica_session_parameter(t->testing.session, "confusion");
  MICA_TRY(mica_op_fill(t->queue, 0, t->testing.metrics));
  if (counts) MICA_TRY(mica_op_fill(t->queue, 0, counts));
  MICA_TRY(source->seek(source->user, 0, 0));
  for (int64_t n = 1;; n++) {
    MICA_TRY(source->next(source->user, t->queue, &batch));
    if (batch.count == 0) break;
    MICA_TRY(test_batch(t, &batch));
    if (n % t->config.report_every == 0) MICA_TRY(test_sums(t, &totals));
  }
  MICA_TRY(test_sums(t, &totals));
  *metrics = mica__metrics_of(&t->config, &totals, true);
  return confusion ? read_confusion(t, counts, confusion) : MICA_OK;
}
