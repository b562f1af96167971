/* The run: epochs, validation, what is reported and when it stops. */
#include "base/clock.h"
#include "base/text.h"
#include "train/train.h"

typedef struct run {
  mica_trainer *t;
  const mica_batch_source *training, *validation;
  const char *reason;  /* why it stops; NULL: it goes on */
  int64_t every;       /* steps to the next reading */
  bool told;           /* of a loss */
  double last_reading; /* when the last reading arrived */
} run;

static mica_train_progress event_of(const run *r, mica_train_event kind) {
  const mica_trainer *t = r->t;
  return (mica_train_progress){.event = kind,
                               .epoch = t->progress.epoch,
                               .epochs = t->config.epochs,
                               .batch = t->progress.batch,
                               .batches = (int64_t)r->training->batches,
                               .step = t->progress.step,
                               .rate = mica__train_rate(t, t->progress.step > 0 ? t->progress.step - 1 : 0),
                               .training = mica__metrics_of(&t->config, &t->progress.totals, false),
                               .seconds = t->seconds + (t->begun > 0 ? mica__clock() - t->begun : 0),
                               .data_seconds = t->data_seconds};
}

static void tell(run *r, const mica_train_progress *event) {
  const mica_trainer_config *c = &r->t->config;
  if (c->report && !c->report(c->user, event) && !r->reason) r->reason = "stopped by the caller";
}

/* The host runs ahead of the device by a few readings, and must not by minutes: whoever asks a run to stop waits for
 * what is queued. So readings come early at first, and later the faster steps are. Where the rate hangs on what was
 * read, they come by steps alone, for equal bits. */
#define SOON 0.25
#define LATE 1.0

static void adapt_every(run *r) {
  double now = mica__clock(), took = now - r->last_reading;
  r->last_reading = now;
  if (r->t->config.on_plateau) return;
  if (took < SOON && r->every < r->t->config.report_every) r->every *= 2;
  if (took > LATE && r->every > 1) r->every /= 2;
  if (r->every > r->t->config.report_every) r->every = r->t->config.report_every;
}

/* Waits for the oldest reading and tells of it. */
static mica_status drain(run *r) {
  mica_trainer *t = r->t;
  mica__reading reading = t->readings[t->first_reading];
  MICA_TRY(mica__train_drain(t));
  adapt_every(r);
  mica_train_progress event = event_of(r, MICA_TRAIN_EVENT_STEPS);
  event.batch = reading.batch;
  event.step = reading.last_step;
  event.rate = reading.rate;
  event.recent = mica__metrics_of(&t->config, &t->recent, false);
  t->recent = (mica__totals){0};
  tell(r, &event);
  return MICA_OK;
}

/* The first is waited for, so that a loss is seen as soon as there is one; those after it are when the next is due. */
static mica_status read(run *r) {
  bool first = !r->told;
  r->told = true;
  if (r->t->reading_count == MICA__READINGS) MICA_TRY(drain(r));
  MICA_TRY(mica__train_read(r->t));
  return first ? drain(r) : MICA_OK;
}

static mica_status drain_all(run *r) {
  MICA_TRY(read(r));
  while (r->t->reading_count) MICA_TRY(drain(r));
  return MICA_OK;
}

/* --- files --- */

static mica_status write_to(run *r, const char *name, bool tells) {
  mica_trainer *t = r->t;
  mica__text path = {0};
  if (!t->config.folder) return MICA_OK;
  mica__text_addf(&path, "%s/%s", t->config.folder, name);
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK) status = mica_trainer_save(t, path.data);
  if (status == MICA_OK && tells) {
    mica_train_progress event = event_of(r, MICA_TRAIN_EVENT_CHECKPOINT);
    event.path = path.data;
    tell(r, &event);
  }
  mica__text_free(&path);
  return status;
}

/* --- an epoch --- */

/* Fetches a batch and takes a step; *more is false at the epoch's end. */
static mica_status step(run *r, bool *more) {
  mica_trainer *t = r->t;
  mica_batch batch = {0};
  MICA_TRY(r->training->next(r->training->user, t->queue, &batch));
  t->data_seconds += batch.waited;
  *more = batch.count > 0;
  if (!*more) return MICA_OK;
  MICA_TRY(mica_trainer_step(t, &batch));
  t->progress.batch++;
  return MICA_OK;
}

static mica_status after_step(run *r) {
  mica_trainer *t = r->t;
  const mica_trainer_config *c = &t->config;
  if (t->progress.step - t->unread_from >= r->every) MICA_TRY(read(r));
  if (c->stop && *c->stop && !r->reason) r->reason = "stopped from outside";
  if (!c->checkpoint_steps || t->progress.step % c->checkpoint_steps != 0) return MICA_OK;
  MICA_TRY(drain_all(r));
  return write_to(r, "last.safetensors", true);
}

static mica_status run_steps(run *r) {
  mica_trainer *t = r->t;
  bool more = true;
  t->begun = mica__clock();
  while (more && !r->reason) {
    MICA_TRY(step(r, &more));
    if (more) MICA_TRY(after_step(r));
  }
  MICA_TRY(drain_all(r));
  t->seconds += mica__clock() - t->begun;
  t->begun = 0;
  return MICA_OK;
}

/* Lower is better. */
static double measure_of(const mica_trainer_config *c, const mica_metrics *m) {
  return c->loss == MICA_LOSS_CROSS_ENTROPY ? -m->accuracy : m->loss;
}

/* Compares the epoch with the best one; true where it is better. */
static bool note_epoch(mica_trainer *t, const mica_metrics *m) {
  mica__progress *p = &t->progress;
  double measure = measure_of(&t->config, m);
  bool best = p->measured++ == 0 || measure < p->best;
  if (best) p->best = measure;
  p->worse = best ? 0 : p->worse + 1;
  if (t->config.on_plateau) {
    mica_plateau_note(&p->plateau, m->loss);
    t->rates_from = -1;
  }
  return best;
}

static mica_status end_epoch(run *r) {
  mica_trainer *t = r->t;
  mica_train_progress event = event_of(r, MICA_TRAIN_EVENT_EPOCH);
  if (r->validation) MICA_TRY(mica_trainer_test(t, r->validation, &event.validation, NULL));
  event.best = note_epoch(t, r->validation ? &event.validation : &event.training);
  t->progress.epoch++;
  t->progress.batch = 0;
  t->progress.totals = (mica__totals){0};
  t->seconds = t->data_seconds = 0;
  tell(r, &event);
  if (event.best) MICA_TRY(write_to(r, "best.safetensors", false));
  MICA_TRY(write_to(r, "last.safetensors", true));
  if (t->config.patience && t->progress.worse >= t->config.patience && !r->reason)
    r->reason = "no better epoch for as long as the patience lasts";
  return MICA_OK;
}

static mica_status stop(run *r) {
  MICA_TRY(write_to(r, "last.safetensors", true));
  mica_train_progress event = event_of(r, MICA_TRAIN_EVENT_STOPPED);
  event.reason = r->reason;
  tell(r, &event);
  return MICA_OK;
}

/* The test network needs the kernels of the forward pass only. Where a driver has all of them to compile yet, its loss
 * is there long before that of the first step. */
static mica_status begin(run *r) {
  mica_train_progress event = event_of(r, MICA_TRAIN_EVENT_BEGIN);
  MICA_TRY(mica__train_first_batch(r->t, r->training, &event.recent));
  if (event.recent.samples > 0) tell(r, &event);
  r->last_reading = mica__clock();
  return MICA_OK;
}

static mica_status fit(run *r) {
  mica_trainer *t = r->t;
  mica__progress *p = &t->progress;
  if (t->schedule.steps == 0) t->schedule.steps = t->config.epochs * (int64_t)r->training->batches;
  t->unread_from = p->step;
  r->every = t->config.on_plateau ? t->config.report_every : 1;
  r->last_reading = mica__clock();
  t->recent = (mica__totals){0};
  t->rates_from = -1;
  t->seconds = t->data_seconds = 0;
  if (p->step == 0) MICA_TRY(begin(r));
  while (p->epoch < t->config.epochs && !r->reason) {
    MICA_TRY(r->training->seek(r->training->user, (uint64_t)p->epoch, (uint64_t)p->batch));
    MICA_TRY(run_steps(r));
    /* Stopped just behind the last batch, the epoch is ended by the run that goes on. */
    if (!r->reason) MICA_TRY(end_epoch(r));
  }
  return r->reason ? stop(r) : MICA_OK;
}

mica_status mica_trainer_fit(mica_trainer *t, const mica_batch_source *training, const mica_batch_source *validation) {
  if (!t || !training) return mica__fail(MICA_E_INVALID, "mica_trainer_fit: a pointer is NULL");
  if (training->batches == 0) return mica__fail(MICA_E_INVALID, "mica_trainer_fit: there is nothing to train on");
  run r = {.t = t, .training = training, .validation = validation};
  mica_status status = fit(&r);
  if (status != MICA_OK) mica__train_discard(t);
  return status;
}
