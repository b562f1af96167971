/* Saves and loads the state of a trainer as a safetensors file. */
#include "base/number.h"
#include "base/text.h"
#include "dist/parts.h"
#include "nn/file.h"
#include "ops/collective/channels.h"
#include "train/stages.h"

#include <inttypes.h>
#include <math.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of the progress, with their keys in the file. Either `integer` or `reals` is set. */
typedef struct field {
  char key[16 + MICA_METRIC_NAME];
  int64_t *integer;
  double *reals;
  size_t count; /* of reals */
} field;

#define FIELDS (14 + 2 * MICA_OBJECTIVE_METRICS)
#define FORMAT_KEY "mica.format"
/* Missing in checkpoints of Mica 0.5.0. */
#define LATER_KEY "mica.best.loss"
#define FORMAT "3"

static size_t fields_of(const mica__phase *phase, mica__progress *p, mica__totals *totals, field fields[FIELDS]) {
  const field list[] = {{"mica.step", .integer = &p->step},
                        {"mica.epoch", .integer = &p->epoch},
                        {"mica.batch", .integer = &p->batch},
                        {"mica.best", .reals = &p->best, .count = 1},
                        {LATER_KEY, .reals = &p->best_loss, .count = 1},
                        {"mica.measured", .integer = &p->measured},
                        {"mica.worse", .integer = &p->worse},
                        {"mica.plateau.best", .reals = &p->plateau.best, .count = 1},
                        {"mica.plateau.share", .reals = &p->plateau.share, .count = 1},
                        {"mica.plateau.worse", .integer = &p->plateau.worse},
                        {"mica.plateau.noted", .integer = &p->plateau.noted},
                        {"mica.samples", .integer = &totals->samples},
                        {"mica.sum.loss", .reals = &totals->sums[MICA__SUM_LOSS], .count = 1},
                        {"mica.weight.loss", .reals = &totals->sums[MICA__SUM_WEIGHT], .count = 1}};
  size_t count = sizeof list / sizeof *list;
  memcpy(fields, list, sizeof list);
  for (size_t s = 0; s < phase->slot_count; s++) {
    const mica__metric_slot *slot = &phase->slots[s];
    for (size_t half = 0; half < 2; half++) {
      field *f = &fields[count++];
      snprintf(f->key, sizeof f->key, "mica.%s.%s", half ? "weight" : "sum", slot->name);
      f->integer = NULL;
      f->reals = totals->sums + slot->at + half * slot->count;
      f->count = slot->count;
    }
  }
  return count;
}

/* This rank's part of a checkpoint. */
static mica_status collect_own(const mica_trainer *t, mica__weights *parts) {
  const mica__phase *training = &t->training;
  MICA_TRY(mica__nn_collect(training->nn, training->session, true, !t->stages, parts));
  return t->stages ? mica__nn_collect(t->stages->nn, t->stages->update, false, true, parts) : MICA_OK;
}

/* Collects in rank 0 the tensors of all ranks, and joins the parts of divided ones. Tensors that several ranks have are
 * equal on all of them. */
static mica_status gather(const mica_trainer *t, mica__weights *parts) {
  mica_communicator *c = t->config.communicator;
  const int32_t among = mica__ranks_parts(t);
  if (!mica__ranks_divided(t)) return MICA_OK;
  if (c->rank) return mica__weights_send(parts, c, MICA__CHANNEL_SHARE, 0);
  mica__weights own = *parts;
  *parts = (mica__weights){0};
  mica_status status = mica__weights_join(parts, &own, among, 0);
  mica__weights_free(&own);
  for (int32_t rank = 1; status == MICA_OK && rank < c->ranks; rank++) {
    mica__weights other = {0};
    status = mica__weights_receive(&other, c, MICA__CHANNEL_SHARE, rank);
    if (status == MICA_OK) status = mica__weights_join(parts, &other, among, rank % among);
    mica__weights_free(&other);
  }
  return status;
}

mica_status mica_trainer_save(mica_trainer *t, const char *path) {
  field fields[FIELDS];
  mica__text texts[FIELDS] = {{0}};
  mica_safetensors_pair pairs[FIELDS + 1];
  mica__weights parts = {0};
  if (!t || !path) return mica__fail(MICA_E_INVALID, "mica_trainer_save: a pointer is NULL");
  size_t count = fields_of(&t->training, &t->progress, &t->epoch, fields);
  mica_status status = MICA_OK;
  for (size_t i = 0; i < count; i++) {
    if (fields[i].integer) mica__text_addf(&texts[i], "%" PRId64, *fields[i].integer);
    for (size_t k = 0; k < fields[i].count; k++) mica__text_addf(&texts[i], k ? " %.17g" : "%.17g", fields[i].reals[k]);
    if (status == MICA_OK) status = mica__text_status(&texts[i]);
    pairs[i] = (mica_safetensors_pair){fields[i].key, texts[i].data};
  }
  pairs[count] = (mica_safetensors_pair){FORMAT_KEY, FORMAT};
  if (status == MICA_OK) status = collect_own(t, &parts);
  if (status == MICA_OK) status = gather(t, &parts);
  if (status == MICA_OK && (!mica__ranks_divided(t) || mica__ranks_speaks(t)))
    status = mica__weights_write(&parts, path, pairs, count + 1);
  mica__weights_free(&parts);
  for (size_t i = 0; i < count; i++) mica__text_free(&texts[i]);
  return status;
}

/* Reads the field's numbers from a text. False: the text holds something else. */
static bool parse_field(const field *f, const char *text) {
  char *end = (char *)text;
  if (f->integer) {
    *f->integer = strtoll(text, &end, 10);
    return end != text && !*end;
  }
  for (size_t k = 0; k < f->count; k++) {
    const char *from = end;
    f->reals[k] = mica__strtod(from, &end);
    if (end == from) return false;
  }
  return !*end;
}

static mica_status parse_fields(const char *path, const mica_safetensors *file, const mica__phase *phase,
                                mica__progress *progress, mica__totals *totals) {
  field fields[FIELDS];
  size_t count = fields_of(phase, progress, totals, fields);
  if (!mica_safetensors_metadata(file, FORMAT_KEY) && mica_safetensors_metadata(file, "mica.sum.measure"))
    return mica__fail(MICA_E_FORMAT,
                      "%s: training cannot continue from a checkpoint of Mica 0.2; only its weights can be used", path);
  progress->best_loss = NAN;
  for (size_t i = 0; i < count; i++) {
    const char *text = mica_safetensors_metadata(file, fields[i].key);
    if (!text && !strcmp(fields[i].key, LATER_KEY)) continue;
    if (!text || !parse_field(&fields[i], text))
      return mica__fail(MICA_E_FORMAT, "%s: this run cannot continue from the file: its metadata '%s' is %s", path,
                        fields[i].key, text ? "malformed" : "missing");
  }
  if (progress->step >= 0 && progress->epoch >= 0 && progress->batch >= 0 && totals->samples >= 0) return MICA_OK;
  return mica__fail(
      MICA_E_FORMAT,
      "%s: this run cannot continue from the file: its step, epoch, batch or number of samples is below 0", path);
}

/* Reads the tensors of a checkpoint. With stages, each rank reads its own stage's tensors. */
static mica_status load_all(mica_trainer *t, const char *path, const mica_safetensors *file) {
  const mica__phase *training = &t->training;
  const mica__stages *s = t->stages;
  t->stale = true;
  if (!s) return mica__nn_fill(training->nn, training->session, MICA__NN_WHOLE, path, file, NULL);
  MICA_TRY(mica__nn_compare(s->nn, s->update, MICA__NN_OPTIMISER, path, file));
  MICA_TRY(mica__nn_fill(training->nn, training->session, MICA__NN_WEIGHTS, path, file, NULL));
  return mica__nn_fill(s->nn, s->update, MICA__NN_OPTIMISER, path, file, NULL);
}

mica_status mica_trainer_load(mica_trainer *t, const char *path) {
  mica_safetensors *file = NULL;
  if (!t || !path) return mica__fail(MICA_E_INVALID, "mica_trainer_load: a pointer is NULL");
  mica__progress progress = t->progress;
  mica__totals totals = {.sums = calloc(t->training.sum_count, sizeof *totals.sums)};
  mica_status status = totals.sums ? mica_safetensors_open(path, &file) : mica__fail_nomem("a checkpoint");
  if (status == MICA_OK) status = parse_fields(path, file, &t->training, &progress, &totals);
  if (status == MICA_OK) status = load_all(t, path, file);
  mica_safetensors_close(file);
  if (status == MICA_OK) {
    mica__train_discard(t);
    t->progress = progress;
    memcpy(t->epoch.sums, totals.sums, t->training.sum_count * sizeof *totals.sums);
    t->epoch.samples = totals.samples;
    t->unread_from = progress.step;
    t->unread_samples = 0;
    t->rates_from = -1;
  }
  free(totals.sums);
  return status;
}
