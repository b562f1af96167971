/* Testing and predicting: runs the network on the current weights. */
#include "base/text.h"
#include "train/stages.h"

#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

/* Adds a device tensor to totals, and sets the tensor to zero. */
static mica_status collect(mica_trainer *t, mica_tensor *tensor, size_t count, double *totals) {
  float *sums = malloc(count * sizeof *sums);
  if (!sums) return mica__fail_nomem("a test's sums");
  mica_status status = mica_tensor_download(t->queue, tensor, sums, count * sizeof *sums);
  for (size_t k = 0; status == MICA_OK && k < count; k++) totals[k] += (double)sums[k];
  free(sums);
  return status == MICA_OK ? mica_op_fill(t->queue, 0, tensor) : status;
}

static mica_status collect_all(mica_trainer *t) {
  mica__phase *phase = &t->testing;
  MICA_TRY(collect(t, phase->metrics, phase->sum_count, t->tested.sums));
  for (size_t s = 0; s < phase->slot_count; s++)
    if (!phase->slots[s].weighted)
      MICA_TRY(collect(t, phase->slots[s].tensor, phase->slots[s].count, phase->slots[s].totals));
  return MICA_OK;
}

static mica_status begin(mica_trainer *t, const mica_batch_source *source) {
  mica__phase *phase = &t->testing;
  MICA_TRY(mica__stages_share(t));
  mica__totals_clear(&t->tested, phase);
  MICA_TRY(mica_op_fill(t->queue, 0, phase->metrics));
  for (size_t s = 0; s < phase->slot_count; s++) {
    memset(phase->slots[s].totals, 0, phase->slots[s].count * sizeof *phase->slots[s].totals);
    if (!phase->slots[s].weighted) MICA_TRY(mica_op_fill(t->queue, 0, phase->slots[s].tensor));
  }
  return mica__train_seek(source, 0, 0);
}

static mica_status test_batch(mica_trainer *t, const mica_batch *batch) {
  t->tested.samples += batch->count;
  return mica__phase_run(t, &t->testing, batch, NULL);
}

static mica_status add_ranks(mica_trainer *t) {
  MICA_TRY(mica__ranks_add(t, t->tested.sums, t->testing.sum_count, &t->tested.samples));
  for (size_t s = 0; s < t->testing.slot_count; s++)
    if (!t->testing.slots[s].weighted)
      MICA_TRY(mica__ranks_add(t, t->testing.slots[s].totals, t->testing.slots[s].count, NULL));
  return MICA_OK;
}

mica_status mica__train_check_source(const mica_batch_source *source, const char *who) {
  if (source->next && source->seek) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s: the source's function %s is NULL", who, source->next ? "seek" : "next");
}

/* Clears the message, because a source may fail without one, and an older message must not appear instead. */
static void begin_call(void) {
  mica__attempt_begin();
  (void)mica__fail(MICA_OK, "%s", "");
}

static mica_status end_call(mica_status status, const char *what) {
  if (status != MICA_OK && *mica_error_message()) return mica__attempt_pass(status);
  mica__attempt_end();
  if (status == MICA_OK) return status;
  return mica__fail(status, "the source of batches failed in %s: %s", what, mica_status_text(status));
}

mica_status mica__train_next(mica_trainer *t, const mica_batch_source *source, mica_batch *batch) {
  begin_call();
  return end_call(source->next(source->user, t->queue, batch), "next");
}

mica_status mica__train_seek(const mica_batch_source *source, uint64_t epoch, uint64_t batch) {
  begin_call();
  return end_call(source->seek(source->user, epoch, batch), "seek");
}

/* Copies weights into their moving averages. Tests use the averages, which are zeros before the first step. */
static mica_status begin_averages(mica_trainer *t) {
  const mica_nn *nn = t->training.nn;
  mica_session *averages = t->stages ? t->stages->update : t->training.session;
  for (size_t i = 0; t->config.optimizer.ema > 0 && i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica__text name = {0};
    mica__text_addf(&name, "ema.%s", info->own_name);
    mica_status status = mica__text_status(&name);
    mica_tensor *average = status == MICA_OK ? mica_session_parameter(averages, name.data) : NULL;
    const mica_tensor *weight = average ? mica_session_parameter(t->training.session, info->name) : NULL;
    if (weight) status = mica_op_copy(t->queue, weight, average);
    mica__text_free(&name);
    MICA_TRY(status);
  }
  return MICA_OK;
}

mica_status mica__train_first_batch(mica_trainer *t, const mica_batch_source *source, mica_metrics *metrics) {
  mica_batch batch = {0};
  MICA_TRY(begin_averages(t));
  MICA_TRY(begin(t, source));
  MICA_TRY(mica__train_next(t, source, &batch));
  if (batch.count > 0) MICA_TRY(test_batch(t, &batch));
  MICA_TRY(collect_all(t));
  return mica__metrics_of(&t->testing, &t->tested, metrics);
}

mica_status mica_trainer_test(mica_trainer *t, const mica_batch_source *source, mica_metrics *metrics) {
  mica_metrics made;
  mica_batch batch = {0};
  if (!t || !source || !metrics) return mica__fail(MICA_E_INVALID, "mica_trainer_test: a pointer is NULL");
  MICA_TRY(mica__train_check_source(source, "mica_trainer_test"));
  MICA_TRY(begin(t, source));
  for (int64_t n = 1;; n++) {
    MICA_TRY(mica__train_next(t, source, &batch));
    if (batch.count == 0) break;
    if ((n - 1) % mica__ranks_count(t) == mica__ranks_own(t)) MICA_TRY(test_batch(t, &batch));
    if (n % t->config.report_every == 0) MICA_TRY(collect_all(t));
  }
  MICA_TRY(collect_all(t));
  MICA_TRY(add_ranks(t));
  MICA_TRY(mica__metrics_of(&t->testing, &t->tested, &made));
  if (t->config.evaluate) MICA_TRY(t->config.evaluate(t->config.evaluate_user, t, source, &made));
  MICA_TRY(mica__ranks_broadcast(t, &made, sizeof made));
  *metrics = made;
  return MICA_OK;
}

mica_status mica_trainer_sum(mica_trainer *t, const char *metric, double *to, size_t count) {
  if (!t || !metric || !to) return mica__fail(MICA_E_INVALID, "mica_trainer_sum: a pointer is NULL");
  if (t->tested.samples == 0)
    return mica__fail(MICA_E_STATE, "mica_trainer_sum: no sample has been tested; call mica_trainer_test first");
  for (size_t s = 0; s < t->testing.slot_count; s++) {
    const mica__metric_slot *slot = &t->testing.slots[s];
    if (strcmp(slot->name, metric) != 0) continue;
    if (slot->count != count)
      return mica__fail(MICA_E_INVALID,
                        "mica_trainer_sum: count is %zu, but must be %zu, the number of elements of '%s'", count,
                        slot->count, metric);
    memcpy(to, slot->weighted ? t->tested.sums + slot->at : slot->totals, count * sizeof *to);
    return MICA_OK;
  }
  return mica__fail(MICA_E_NOT_FOUND, "mica_trainer_sum: there is no metric '%s'", metric);
}

/* --- predicting --- */

static bool has_tensor(const mica_batch *batch, const char *name) {
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!strcmp(batch->tensors[i].name, name)) return true;
  return false;
}

/* Builds the network for the test columns that the batch has. */
static mica_status build_predicting(mica_trainer *t, const mica_batch *batch) {
  const mica_trainer_config *c = &t->config;
  const mica_batch_column *columns = c->test_columns ? c->test_columns : c->columns;
  size_t all = c->test_columns ? c->test_column_count : c->column_count, count = 0;
  mica_batch_column *there = calloc(all, sizeof *there);
  if (!there) return mica__fail_nomem("a trainer");
  for (size_t i = 0; i < all; i++)
    if (has_tensor(batch, columns[i].name)) there[count++] = columns[i];
  mica_status status = mica__phase_build(t, &t->predicting, MICA__PHASE_PREDICT, there, count);
  free(there);
  if (status == MICA_OK && c->optimizer.ema > 0 && !mica__ranks_apart(t))
    status = mica_nn_share_ema(t->predicting.nn, t->predicting.session, t->training.session);
  if (status != MICA_OK) mica__phase_free(&t->predicting);
  return status;
}

mica_status mica__phase_build_outputs(mica_trainer *t, mica_step_fn *step, const mica_batch_column *columns,
                                      size_t count, mica__phase *phase) {
  mica_trainer as = *t;
  as.config.dtype = MICA_F32;
  if (step) as.config.step = step;
  MICA_TRY(mica__phase_build(&as, phase, MICA__PHASE_PREDICT, columns, count));
  return as.config.optimizer.ema > 0 && !mica__ranks_apart(t)
             ? mica_nn_share_ema(phase->nn, phase->session, t->training.session)
             : MICA_OK;
}

/* True if the phase was built for exactly the test columns that the batch has. */
static bool is_built_for(const mica_trainer *t, const mica_batch *batch) {
  const mica_trainer_config *c = &t->config;
  const mica_batch_column *columns = c->test_columns ? c->test_columns : c->columns;
  const size_t all = c->test_columns ? c->test_column_count : c->column_count;
  for (size_t i = 0; i < all; i++) {
    bool built = false;
    for (size_t k = 0; k < t->predicting.batch.count; k++)
      built = built || !strcmp(t->predicting.batch.columns[k].name, columns[i].name);
    if (built != has_tensor(batch, columns[i].name)) return false;
  }
  return true;
}

mica_status mica_trainer_predict(mica_trainer *t, const mica_batch *batch) {
  if (!t || !batch || !batch->tensors) return mica__fail(MICA_E_INVALID, "mica_trainer_predict: a pointer is NULL");
  if (t->predicting.session && !is_built_for(t, batch)) mica__phase_free(&t->predicting);
  if (!t->predicting.session) MICA_TRY(build_predicting(t, batch));
  return mica__phase_run(t, &t->predicting, batch, NULL);
}

/* --- observing --- */

static mica_status observe(mica_trainer *t, mica__phase *phase, const mica_batch_source *source, int64_t samples) {
  const mica_observer *o = phase->observer;
  MICA_TRY(mica__train_seek(source, 0, 0));
  for (int64_t seen = 0; !samples || seen < samples;) {
    mica_batch batch = {0};
    MICA_TRY(mica__train_next(t, source, &batch));
    if (batch.count == 0) break;
    MICA_TRY(mica__phase_run(t, phase, &batch, NULL));
    MICA_TRY(o->note(o->user, phase->session, phase->output_count));
    seen += batch.count;
  }
  return MICA_OK;
}

mica_status mica_trainer_observe(mica_trainer *t, const mica_observer *o, const mica_batch_source *source,
                                 int64_t samples) {
  if (!t || !o || !o->hook || !o->values || !o->note || !source)
    return mica__fail(MICA_E_INVALID, "mica_trainer_observe: a pointer, or a function of the observer, is NULL");
  if (samples < 0)
    return mica__fail(MICA_E_INVALID, "mica_trainer_observe: samples is %lld, but must be 0 or above",
                      (long long)samples);
  MICA_TRY(mica__train_check_source(source, "mica_trainer_observe"));
  mica__phase phase = {.observer = o};
  const mica_trainer_config *c = &t->config;
  const bool apart = c->test_columns != NULL;
  mica_status status = mica__phase_build(t, &phase, MICA__PHASE_TEST, apart ? c->test_columns : c->columns,
                                         apart ? c->test_column_count : c->column_count);
  if (status == MICA_OK) status = observe(t, &phase, source, samples);
  mica__phase_free(&phase);
  return status;
}

const mica_tensor *mica_trainer_output(const mica_trainer *t, const char *name) {
  for (size_t i = 0; t && name && t->predicting.session && i < t->predicting.output_count; i++)
    if (!strcmp(t->predicting.outputs[i], name)) return mica_session_output(t->predicting.session, i);
  return NULL;
}
