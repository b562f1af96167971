/* Trains adapters of published models. */
#include "foundation/build.h"

#include "base/error.h"
#include "base/text.h"
#include "ir/graph.h"

#include <math.h>
#include <mica/dist.h>
#include <mica/finetune.h>
#include <mica/history.h>
#include <stdlib.h>

#define STANDARD_RATE 2e-4
#define WARMUP 0.03 /* share of all steps */

typedef struct tuning {
  mica_engine *engine;
  const mica_foundation *model;
  mica_adapter *adapter;
  const mica_finetune_config *config;
  mica_nn_config hold; /* from mica_foundation_hold */
  int64_t most;        /* upper bound on the labels per row that are not -1 */
  mica_bindings *bindings;
  mica_history *history;
  char *history_path;
  mica_status failed; /* status of the callbacks */
} tuning;

static void step(mica_nn *nn, const mica_batch_values *batch, const void *user, mica_objective *out) {
  const tuning *t = user;
  const mica_batch_source *rows = &t->config->training;
  const uint64_t size = rows->batches ? (rows->samples + rows->batches - 1) / rows->batches : 1;
  const mica_foundation_build how = {.ids = mica_batch_value(batch, "ids"),
                                     .starts = mica_batch_value(batch, "starts"),
                                     .hidden = true,
                                     .recompute = t->config->recompute};
  mica_value x = mica_foundation_network(nn, t->model, &how);
  out->loss =
      mica__build_token_loss(nn, t->model, x, mica_batch_value(batch, "labels"), (int64_t)size, t->most, &out->weight);
  if (mica_nn_is_training(nn)) {
    const mica_status status = mica_adapter_freeze_base(t->adapter, nn);
    if (status != MICA_OK && mica_graph_status(mica_nn_graph(nn)) == MICA_OK)
      mica__graph_fail_with(mica_nn_graph(nn), status);
  }
}

static mica_status bind(void *user, const mica_nn *nn, const mica_binding **parameters, size_t *count) {
  tuning *t = user;
  MICA_TRY(mica_foundation_bind(t->model, nn, t->engine, &t->bindings));
  *parameters = mica_bindings_list(t->bindings, count);
  return MICA_OK;
}

/* --- history --- */

static mica_status note_epoch(tuning *t, const mica_train_progress *p) {
  if (!t->history) return MICA_OK;
  MICA_TRY(mica_history_begin(t->history));
  MICA_TRY(mica_history_set(t->history, "epoch", (double)p->epoch + 1));
  MICA_TRY(mica_history_set(t->history, "step", (double)p->step));
  MICA_TRY(mica_history_set(t->history, "learning_rate", p->rate));
  MICA_TRY(mica_history_set(t->history, "loss", p->training.loss));
  MICA_TRY(mica_history_set(t->history, "validation_loss", p->validation.samples > 0 ? p->validation.loss : NAN));
  MICA_TRY(mica_history_set(t->history, "seconds", p->seconds));
  return mica_history_write(t->history, t->history_path);
}

static bool report(void *user, const mica_train_progress *progress) {
  tuning *t = user;
  if (progress->event == MICA_TRAIN_EVENT_EPOCH) t->failed = note_epoch(t, progress);
  const bool on = !t->config->report || t->config->report(t->config->user, progress);
  return on && t->failed == MICA_OK;
}

static mica_status open_history(tuning *t) {
  mica__text path = {0};
  if (!t->config->folder || (t->config->communicator && t->config->communicator->rank > 0)) return MICA_OK;
  mica__text_addf(&path, "%s/history.csv", t->config->folder);
  MICA_TRY(mica__text_status(&path));
  t->history_path = path.data;
  if (!t->config->resume) return mica_history_create(&t->history);
  mica__attempt_begin();
  const mica_status status = mica_history_read(t->history_path, &t->history);
  if (status != MICA_OK && status != MICA_E_NOT_FOUND) return mica__attempt_pass(status);
  mica__attempt_end();
  return status == MICA_OK ? MICA_OK : mica_history_create(&t->history);
}

/* --- training --- */

static mica_status resume(const mica_finetune_config *c, mica_trainer *trainer) {
  mica__text path = {0};
  if (!c->resume || !c->folder) return MICA_OK;
  mica__text_addf(&path, "%s/last.safetensors", c->folder);
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK) status = mica_trainer_load(trainer, path.data);
  mica__text_free(&path);
  return status;
}

static mica_trainer_config trainer_config(tuning *t) {
  const mica_finetune_config *c = t->config;
  const int64_t epochs = c->epochs ? c->epochs : 1, runs = c->accumulate > 1 ? c->accumulate : 1;
  const double steps = (double)c->training.batches * (double)epochs / (double)runs;
  mica_optimizer_config adamw = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  adamw.clip_norm = c->clip_norm > 0 ? c->clip_norm : 1;
  adamw.weight_decay = c->weight_decay;
  adamw.accumulate = c->accumulate;
  return (mica_trainer_config){.step = step,
                               .step_config = t,
                               .columns = c->training.columns,
                               .column_count = c->training.column_count,
                               .dtype = c->dtype,
                               .seed = c->seed,
                               .optimizer = adamw,
                               .schedule = {.kind = MICA_SCHEDULE_COSINE,
                                            .rate = c->rate > 0 ? c->rate : STANDARD_RATE,
                                            .warmup = (int64_t)ceil(WARMUP * steps)},
                               .epochs = epochs,
                               .report = report,
                               .user = t,
                               .folder = c->folder,
                               .hook = mica_adapter_hook,
                               .hook_user = t->adapter,
                               .hold = t->hold.hold,
                               .hold_user = t->hold.hold_user,
                               .bind = bind,
                               .bind_user = t,
                               .communicator = c->communicator,
                               .stop = c->stop};
}

static mica_status train(tuning *t, mica_trainer **made) {
  const mica_finetune_config *c = t->config;
  mica_foundation_hold(t->model, &t->hold);
  const mica_trainer_config config = trainer_config(t);
  MICA_TRY(mica_trainer_create(t->engine, &config, made));
  mica_trainer *trainer = *made;
  const mica_nn *nn = mica_trainer_network(trainer);
  mica_session *session = mica_trainer_session(trainer);
  MICA_TRY(mica_foundation_load(t->model, nn, session));
  MICA_TRY(mica_adapter_write_to(t->adapter, nn, session));
  MICA_TRY(resume(c, trainer));
  MICA_TRY(mica_trainer_fit(trainer, &c->training, c->validation.columns ? &c->validation : NULL));
  MICA_TRY(t->failed);
  return mica_adapter_read_from(t->adapter, nn, session);
}

mica_status mica_finetune(mica_engine *engine, const mica_foundation *model, mica_adapter *adapter,
                          const mica_finetune_config *config) {
  tuning t = {.engine = engine, .model = model, .adapter = adapter, .config = config};
  mica_trainer *trainer = NULL;
  if (!engine || !model || !adapter || !config || !config->training.columns)
    return mica__fail(MICA_E_INVALID, "mica_finetune: a pointer is NULL");
  if (model->info.task != MICA_FOUNDATION_TASK_GENERATE)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s is not a language model that continues texts; only such models can be fine-tuned",
                      model->path);
  if (config->epochs < 0 || config->rate < 0 || config->clip_norm < 0)
    return mica__fail(MICA_E_INVALID, "mica_finetune: epochs (%lld), rate (%g) and clip_norm (%g) must not be negative",
                      (long long)config->epochs, config->rate, config->clip_norm);
  t.most = mica__conversations_most(&config->training);
  if (config->validation.columns && mica__conversations_most(&config->validation) > t.most)
    t.most = mica__conversations_most(&config->validation);
  mica_status status = open_history(&t);
  if (status == MICA_OK) status = train(&t, &trainer);
  mica_trainer_destroy(trainer);
  mica_bindings_destroy(t.bindings);
  mica_history_destroy(t.history);
  free(t.history_path);
  return status;
}
