/* A training run: epochs, validation, reports, and conditions to stop. */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "train/stages.h"
#include "train/train.h"

#include <math.h>

typedef struct run {
  mica_trainer *t;
  const mica_batch_source *training, *validation;
  const char *reason;   /* the reason to stop; NULL: the run continues */
  int64_t every;        /* steps between readbacks */
  bool ends;            /* all ranks stop after this step */
  bool notified;        /* a loss was already reported */
  double last_readback; /* time of the last readback's arrival */
} run;

static mica_status event_of(const run *r, mica_train_event kind, mica_train_progress *event) {
  const mica_trainer *t = r->t;
  *event = (mica_train_progress){.event = kind,
                                 .watch = t->config.watch,
                                 .epoch = t->progress.epoch,
                                 .epochs = t->config.epochs,
                                 .batch = t->progress.batch,
                                 .batches = (int64_t)r->training->batches,
                                 .step = t->progress.step,
                                 .rate = mica__train_rate(t, t->progress.step > 0 ? t->progress.step - 1 : 0),
                                 .seconds = t->seconds + (t->begun > 0 ? mica__clock() - t->begun : 0),
                                 .data_seconds = t->data_seconds};
  return mica__metrics_of(&t->training, &t->epoch, &event->training);
}

static void notify(run *r, const mica_train_progress *event) {
  const mica_trainer_config *c = &r->t->config;
  if (c->report && !c->report(c->user, event) && !r->reason) r->reason = "by the caller";
}

/* The host runs a few readbacks ahead of the device, and a stop waits for all queued work. To keep that short, the
 * number of steps between readbacks is halved if two readbacks are more than LATE seconds apart. It is doubled, up to
 * report_every, if they are less than SOON seconds apart. */
#define SOON 0.25
#define LATE 1.0

static void adapt_every(run *r) {
  double now = mica__clock(), took = now - r->last_readback;
  r->last_readback = now;
  if (took < SOON && r->every < r->t->config.report_every) r->every *= 2;
  if (took > LATE && r->every > 1) r->every /= 2;
  if (r->every > r->t->config.report_every) r->every = r->t->config.report_every;
}

/* Waits for the oldest readback and reports it to the caller. */
static mica_status drain(run *r) {
  mica_trainer *t = r->t;
  mica__readback readback = t->readbacks[t->first_readback];
  MICA_TRY(mica__train_drain(t));
  adapt_every(r);
  mica_train_progress event;
  MICA_TRY(event_of(r, MICA_TRAIN_EVENT_STEPS, &event));
  event.batch = readback.batch;
  event.step = readback.last_step;
  event.rate = readback.rate;
  MICA_TRY(mica__metrics_of(&t->training, &t->recent, &event.recent));
  mica__totals_clear(&t->recent, &t->training);
  notify(r, &event);
  return MICA_OK;
}

/* Queues a readback. The first readback is drained at once, to report a loss early. If MICA__READBACKS readbacks are in
 * flight, the oldest is drained first. */
static mica_status read_metrics(run *r) {
  bool first = !r->notified;
  r->notified = true;
  if (r->t->readback_count == MICA__READBACKS) MICA_TRY(drain(r));
  MICA_TRY(mica__train_read(r->t));
  return first ? drain(r) : MICA_OK;
}

static mica_status drain_all(run *r) {
  MICA_TRY(read_metrics(r));
  while (r->t->readback_count) MICA_TRY(drain(r));
  return MICA_OK;
}

/* --- files --- */

/* Sums the epoch over all ranks; rank 0 keeps the result. */
static mica_status join_epoch(mica_trainer *t) {
  MICA_TRY(mica__ranks_add(t, t->epoch.sums, t->training.sum_count, &t->epoch.samples));
  if (!mica__ranks_speaks(t)) mica__totals_clear(&t->epoch, &t->training);
  return MICA_OK;
}

static mica_status write_once(run *r, const char *name, bool best) {
  mica_trainer *t = r->t;
  mica__text path = {0};
  const bool speaks = mica__ranks_speaks(t);
  if (speaks && t->keeper.prepare) MICA_TRY(t->keeper.prepare(t->keeper.user));
  mica__text_addf(&path, "%s/%s", t->config.folder ? t->config.folder : "", name);
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK) status = mica_trainer_save(t, path.data);
  const bool kept = best || !t->progress.measured || t->best_lost;
  if (status == MICA_OK && kept && speaks && t->keeper.keep) status = t->keeper.keep(t->keeper.user, path.data);
  if (status == MICA_OK && !best && speaks) {
    mica_train_progress event;
    status = event_of(r, MICA_TRAIN_EVENT_CHECKPOINT, &event);
    event.path = path.data;
    if (status == MICA_OK) notify(r, &event);
  }
  mica__text_free(&path);
  return status;
}

static mica_status write_to(run *r, const char *name, bool best) {
  mica_trainer *t = r->t;
  MICA_TRY(join_epoch(t));
  /* If all ranks have parts of the checkpoint, rank 0 tells them if there is a folder. */
  bool writes = t->config.folder != NULL;
  const bool divided = mica__ranks_divided(t);
  if (divided)
    MICA_TRY(mica__ranks_broadcast(t, &writes, sizeof writes));
  else
    writes = writes && mica__ranks_speaks(t);
  if (!writes) return MICA_OK;
  mica_status status = write_once(r, name, best);
  for (int tries = 0; status == MICA_E_IO && !divided && tries < MICA__KEEP_TRIES; tries++) {
    /* Files of a folder disappear one by one, so a folder under deletion may still seem to exist. */
    if (!t->keeper.is_lost || (tries >= 3 && !t->keeper.is_lost(t->keeper.user))) break;
    status = write_once(r, name, best);
  }
  return status;
}

/* Writes a checkpoint inside an epoch. Its running statistics are over all ranks, as at an epoch's end. */
static mica_status write_within(run *r) {
  MICA_TRY(mica__ranks_join_state(r->t));
  return write_to(r, "last.safetensors", false);
}

/* --- an epoch --- */

/* Fetches a batch and takes a step; *more becomes false at the end of the epoch. */
static mica_status step(run *r, bool *more) {
  mica_trainer *t = r->t;
  mica_batch batch = {0};
  MICA_TRY(mica__train_next(t, r->training, &batch));
  t->data_seconds += batch.waited;
  *more = batch.count > 0;
  if (!*more && t->progress.batch == 0)
    return mica__fail(MICA_E_INVALID,
                      "mica_trainer_fit: the source gave no batch in epoch %lld, but its field batches is %llu",
                      (long long)t->progress.epoch + 1, (unsigned long long)r->training->batches);
  if (!*more) return MICA_OK;
  MICA_TRY(mica_trainer_step(t, &batch));
  t->progress.batch++;
  return MICA_OK;
}

static bool is_told_to_stop(const mica_trainer_config *c) { return c->stop && *c->stop; }

static void note_stop(run *r) {
  if (!r->reason) r->reason = is_told_to_stop(&r->t->config) ? "on request" : "by another rank";
}

/* If one rank wants to stop, all ranks stop. */
static mica_status agree_now(run *r) {
  double wishes = r->reason || is_told_to_stop(&r->t->config);
  if (!r->t->config.communicator) return MICA_OK;
  MICA_TRY(mica__ranks_add(r->t, &wishes, 1, NULL));
  if (wishes > 0) note_stop(r);
  return MICA_OK;
}

static mica_status after_step(run *r) {
  mica_trainer *t = r->t;
  const mica_trainer_config *c = &t->config;
  if (t->progress.step - t->unread_from >= r->every) MICA_TRY(read_metrics(r));
  MICA_TRY(mica__ranks_agree(t, r->reason || is_told_to_stop(c), &r->ends));
  if (r->ends) note_stop(r);
  if (!c->checkpoint_steps || t->progress.step % c->checkpoint_steps != 0) return MICA_OK;
  MICA_TRY(drain_all(r));
  return write_within(r);
}

static mica_status run_steps(run *r) {
  mica_trainer *t = r->t;
  bool more = true;
  t->begun = mica__clock();
  r->ends = false;
  while (more && !r->ends && (!r->reason || t->config.communicator)) {
    MICA_TRY(step(r, &more));
    if (more) MICA_TRY(after_step(r));
  }
  MICA_TRY(mica__ranks_end_steps(t));
  MICA_TRY(drain_all(r));
  t->seconds += mica__clock() - t->begun;
  t->begun = 0;
  return agree_now(r);
}

/* The measure that compares epochs; lower is better. If the watched metric does not exist or is NaN, the measure is the
 * loss. For example, a metric that only tests compute does not exist without validation. */
static double measure_of(const mica_trainer_config *c, const mica_metrics *m) {
  const double watched = mica_metrics_get(m, c->watch);
  return isnan(watched) ? m->loss : c->falling ? watched : -watched;
}

/* Compares the epoch with the best one, and returns true if it is better. *kept is true if the epoch is better, or
 * worse by at most the tolerance. With small validation sets many epochs have equal measures, for example all answers
 * correct. Then the loss decides, because the first such epoch is hardly trained. */
static bool note_epoch(mica_trainer *t, const mica_metrics *m, bool *kept) {
  mica__progress *p = &t->progress;
  double measure = measure_of(&t->config, m);
  bool better = p->measured++ == 0 || measure < p->best || (measure == p->best && m->loss < p->best_loss) ||
                (isnan(p->best) && !isnan(measure));
  *kept = better || (t->config.tolerance > 0 && measure <= p->best + t->config.tolerance);
  if (better) {
    p->best = measure;
    p->best_loss = m->loss;
  }
  p->worse = better ? 0 : p->worse + 1;
  if (t->config.on_plateau) {
    mica_plateau_note(&p->plateau, m->loss);
    t->rates_from = -1;
  }
  return better;
}

/* Lets the folder's owner prepare it, and forgets the best epoch if its checkpoint is gone. Must be called before the
 * epoch is compared with the best one. */
static mica_status prepare(mica_trainer *t) {
  if (mica__ranks_speaks(t) && t->keeper.prepare) MICA_TRY(t->keeper.prepare(t->keeper.user));
  MICA_TRY(mica__ranks_broadcast(t, &t->best_lost, sizeof t->best_lost));
  if (t->best_lost) t->progress.measured = t->progress.worse = 0;
  t->best_lost = false;
  return MICA_OK;
}

static mica_status end_epoch(run *r) {
  mica_trainer *t = r->t;
  mica_train_progress event;
  MICA_TRY(join_epoch(t));
  MICA_TRY(prepare(t));
  MICA_TRY(mica__ranks_join_state(t));
  MICA_TRY(event_of(r, MICA_TRAIN_EVENT_EPOCH, &event));
  MICA_TRY(mica__ranks_broadcast(t, &event.training, sizeof event.training));
  MICA_TRY(mica__ranks_times(t, event.seconds, event.data_seconds, &event));
  if (r->validation) MICA_TRY(mica_trainer_test(t, r->validation, &event.validation));
  event.best = note_epoch(t, r->validation ? &event.validation : &event.training, &event.kept);
  t->progress.epoch++;
  t->progress.batch = 0;
  mica__totals_clear(&t->epoch, &t->training);
  t->seconds = t->data_seconds = 0;
  notify(r, &event);
  if (event.kept) MICA_TRY(write_to(r, "best.safetensors", true));
  MICA_TRY(write_to(r, "last.safetensors", false));
  if (mica__train_patience_over(t) && !r->reason) r->reason = "no better epoch within the patience";
  return MICA_OK;
}

static mica_status stop(run *r) {
  MICA_TRY(write_within(r));
  mica_train_progress event;
  MICA_TRY(event_of(r, MICA_TRAIN_EVENT_STOPPED, &event));
  event.reason = r->reason;
  notify(r, &event);
  return MICA_OK;
}

/* The source of the first test: the training source if its batches have the test network's columns, else the validation
 * source, which may be NULL. */
static const mica_batch_source *source_of_tests(const run *r) {
  const mica_trainer_config *c = &r->t->config;
  bool alike = !c->test_columns || c->test_column_count == c->column_count;
  for (size_t i = 0; alike && c->test_columns && i < c->column_count; i++)
    alike = c->columns[i].dtype == c->test_columns[i].dtype &&
            mica_shape_equal(c->columns[i].shape, c->test_columns[i].shape);
  return alike ? r->training : r->validation;
}

/* Reports the loss of the test network before the first step. This loss only needs kernels of the forward pass: with
 * empty caches it is known long before the loss of the first step. */
static mica_status begin(run *r) {
  mica_train_progress event;
  const mica_batch_source *source = source_of_tests(r);
  MICA_TRY(event_of(r, MICA_TRAIN_EVENT_BEGIN, &event));
  if (source) MICA_TRY(mica__train_first_batch(r->t, source, &event.recent));
  if (source && event.recent.samples > 0) notify(r, &event);
  r->last_readback = mica__clock();
  return MICA_OK;
}

/* Checks that the folder can be written, before the first step and not after the first epoch. Leaves nothing in it. */
static mica_status check_folder(const mica_trainer *t) {
  const char *folder = t->config.folder;
  return folder && mica__ranks_speaks(t) ? mica__folder_check(folder) : MICA_OK;
}

static mica_status fit(run *r) {
  mica_trainer *t = r->t;
  mica__progress *p = &t->progress;
  if (t->schedule.steps == 0) t->schedule.steps = t->config.epochs * (int64_t)r->training->batches;
  MICA_TRY(check_folder(t));
  MICA_TRY(mica__ranks_begin(t));
  t->unread_from = p->step;
  t->unread_samples = 0;
  r->every = 1;
  r->last_readback = mica__clock();
  mica__totals_clear(&t->recent, &t->training);
  t->rates_from = -1;
  t->seconds = t->data_seconds = 0;
  if (p->step == 0) MICA_TRY(begin(r));
  while (p->epoch < t->config.epochs && !r->reason) {
    MICA_TRY(mica__train_seek(r->training, (uint64_t)p->epoch, (uint64_t)p->batch));
    MICA_TRY(run_steps(r));
    /* If a run stops after the last batch of an epoch, the resumed run ends the epoch. */
    if (!r->reason) MICA_TRY(end_epoch(r));
    MICA_TRY(agree_now(r));
  }
  return r->reason ? stop(r) : MICA_OK;
}

mica_status mica_trainer_fit(mica_trainer *t, const mica_batch_source *training, const mica_batch_source *validation) {
  if (!t || !training) return mica__fail(MICA_E_INVALID, "mica_trainer_fit: a pointer is NULL");
  MICA_TRY(mica__train_check_source(training, "mica_trainer_fit"));
  if (validation) MICA_TRY(mica__train_check_source(validation, "mica_trainer_fit"));
  if (training->batches == 0) return mica__fail(MICA_E_INVALID, "mica_trainer_fit: the training source has 0 batches");
  run r = {.t = t, .training = training, .validation = validation};
  mica_status status = mica__ranks_fail(t, fit(&r));
  if (status != MICA_OK) mica__train_discard(t);
  return status;
}

mica_status mica__train_share_stages(mica_trainer *t) { return mica__ranks_fail(t, mica__stages_share(t)); }
