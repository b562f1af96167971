/* Saves and loads networks and runs as safetensors files. */
#include "base/element.h"
#include "base/text.h"
#include "nn/divided.h"
#include "ops/collective/parts.h"
#include "train/stages.h"

#include <inttypes.h>
#include <math.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tensors --- */

/* Adds the parameters of a network that the session has: weights and state, or the optimiser's. */
static mica_status collect(const mica_nn *nn, mica_session *session, bool network, bool optimiser, mica__parts *parts) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    mica__part *one = NULL;
    if (!tensor || !(info->role == MICA_NN_ROLE_OPTIMIZER ? optimiser : network)) continue;
    MICA_TRY(mica__parts_put(parts, info->own_name, mica_tensor_dtype(tensor), mica_tensor_shape(tensor), &one));
    one->head.division = *mica__nn_division(nn, i);
    mica_queue *queue = mica_engine_queue(mica_tensor_engine(tensor));
    MICA_TRY(mica_tensor_download(queue, tensor, one->data, (size_t)one->head.bytes));
  }
  return MICA_OK;
}

static mica_status save(const mica_nn *nn, mica_session *session, const char *path,
                        const mica_safetensors_pair *metadata, size_t metadata_count) {
  mica__parts parts = {0};
  mica_status status = collect(nn, session, true, false, &parts);
  if (status == MICA_OK) status = mica__parts_write(&parts, path, metadata, metadata_count);
  mica__parts_free(&parts);
  return status;
}

/* True if the file's tensor is one of 16 bits that an f32 one holds exactly. */
static bool widens(const mica_safetensors_entry *entry, const mica_tensor *tensor) {
  return (entry->dtype == MICA_BF16 || entry->dtype == MICA_F16) && mica_tensor_dtype(tensor) == MICA_F32;
}

/* MICA_E_FORMAT, saying how the file's tensor differs from this one; MICA_OK if it does not. */
static mica_status compare(const char *path, const char *name, const mica_safetensors_entry *entry,
                           const mica_tensor *tensor, const mica__division *d) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  const mica_shape shape = mica__division_whole(d, mica_tensor_shape(tensor));
  if (!entry)
    return mica__fail(MICA_E_FORMAT, "%s: it is of another network or optimiser: there is no tensor '%s'", path, name);
  const bool same = entry->dtype == mica_tensor_dtype(tensor) || widens(entry, tensor);
  if (same && mica_shape_equal(entry->shape, shape)) return MICA_OK;
  if (mica_shape_equal(entry->shape, shape))
    return mica__fail(MICA_E_FORMAT, "%s: the tensor '%s' is %s, but %s in this network; convert the file", path, name,
                      entry->type ? entry->type : "?", mica_dtype_name(mica_tensor_dtype(tensor)));
  return mica__fail(MICA_E_FORMAT, "%s: it is of another network or optimiser: the tensor '%s' is %s %s, not %s %s",
                    path, name, entry->type ? entry->type : "?", mica_shape_format(entry->shape, is),
                    mica_dtype_name(mica_tensor_dtype(tensor)), mica_shape_format(shape, want));
}

static mica_status fill(mica_tensor *tensor, const mica_safetensors_entry *entry) {
  mica_queue *queue = mica_engine_queue(mica_tensor_engine(tensor));
  if (!widens(entry, tensor)) return mica_tensor_upload(queue, tensor, entry->data, entry->bytes);
  const size_t count = mica_tensor_bytes(tensor) / sizeof(float);
  float *wide = malloc((count + 1) * sizeof *wide);
  if (!wide) return mica__fail_nomem("weights");
  for (size_t i = 0; i < count; i++) wide[i] = (float)mica__element_get(entry->dtype, entry->data, (int64_t)i);
  mica_status status = mica_tensor_upload(queue, tensor, wide, count * sizeof *wide);
  free(wide);
  return status;
}

/* Fills a tensor from the file's, or from this rank's part of it. */
static mica_status fill_part(const mica_nn *nn, size_t index, mica_tensor *tensor,
                             const mica_safetensors_entry *entry) {
  const mica__division *d = mica__nn_division(nn, index);
  if (!mica__is_divided(d)) return fill(tensor, entry);
  const mica_communicator *c = nn->config.tensor_ranks;
  mica_safetensors_entry own = *entry;
  own.bytes = entry->bytes / (size_t)c->ranks;
  char *data = malloc(own.bytes + 1);
  if (!data) return mica__fail_nomem("weights");
  mica__division_copy(d, mica_tensor_shape(tensor), mica_dtype_size(entry->dtype), c->ranks, c->rank,
                      (char *)(uintptr_t)entry->data, data, false);
  own.data = data;
  mica_status status = fill(tensor, &own);
  free(data);
  return status;
}

/* What is read: a network without the optimiser's state, with it, the former with moving averages in the place of
 * weights that have some, or the optimiser's state alone. */
typedef enum extent { WEIGHTS, WHOLE, AVERAGES, OPTIMISER } extent;

static mica_status find_entry(const mica_safetensors *file, const char *name, extent which,
                              const mica_safetensors_entry **entry) {
  mica__text average = {0};
  *entry = NULL;
  if (which == AVERAGES) {
    mica__text_addf(&average, "ema.%s", name);
    MICA_TRY(mica__text_status(&average));
    *entry = mica_safetensors_find(file, average.data);
    mica__text_free(&average);
  }
  if (!*entry) *entry = mica_safetensors_find(file, name);
  return MICA_OK;
}

static bool reads(extent which, const mica_nn_parameter_info *info) {
  return which == WHOLE || (info->role == MICA_NN_ROLE_OPTIMIZER) == (which == OPTIMISER);
}

/* Compares the tensors, or changes them. *missing: so many are not in the file; NULL: none may be missing. */
static mica_status take(const mica_nn *nn, mica_session *session, extent which, const char *path,
                        const mica_safetensors *file, bool changes, size_t *missing) {
  size_t lacking = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    if (!tensor || !reads(which, info)) continue;
    const mica_safetensors_entry *entry = NULL;
    MICA_TRY(find_entry(file, info->own_name, which, &entry));
    lacking += !entry;
    if (!entry && missing) continue;
    if (!changes) MICA_TRY(compare(path, info->own_name, entry, tensor, mica__nn_division(nn, i)));
    if (changes && entry) MICA_TRY(fill_part(nn, i, tensor, entry));
  }
  if (missing) *missing = lacking;
  return MICA_OK;
}

/* Compares all tensors before it changes any. */
static mica_status load(const mica_nn *nn, mica_session *session, extent which, const char *path,
                        const mica_safetensors *file, size_t *missing) {
  MICA_TRY(take(nn, session, which, path, file, false, missing));
  return take(nn, session, which, path, file, true, missing);
}

mica_status mica_nn_save(const mica_nn *nn, mica_session *session, const char *path,
                         const mica_safetensors_pair *metadata, size_t metadata_count) {
  if (!nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_nn_save: a pointer is NULL");
  return save(nn, session, path, metadata, metadata_count);
}

mica_status mica_nn_load(const mica_nn *nn, mica_session *session, const char *path, size_t *missing) {
  mica_safetensors *file = NULL;
  if (!nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_nn_load: a pointer is NULL");
  MICA_TRY(mica_safetensors_open(path, &file));
  mica_status status = load(nn, session, WEIGHTS, path, file, missing);
  mica_safetensors_close(file);
  return status;
}

mica_status mica_nn_load_ema(const mica_nn *nn, mica_session *session, const char *path) {
  mica_safetensors *file = NULL;
  if (!nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_nn_load_ema: a pointer is NULL");
  MICA_TRY(mica_safetensors_open(path, &file));
  mica_status status = load(nn, session, AVERAGES, path, file, NULL);
  mica_safetensors_close(file);
  return status;
}

/* --- the position of a run --- */

/* Numbers of the progress and their key in the file; one of the two pointers is set. */
typedef struct field {
  char key[16 + MICA_METRIC_NAME];
  int64_t *integer;
  double *reals;
  size_t count; /* of reals */
} field;

#define FIELDS (14 + 2 * MICA_OBJECTIVE_METRICS)
#define FORMAT_KEY "mica.format"
/* Checkpoints of Mica 0.5.0 have it not. */
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

/* What this rank has of a checkpoint. */
static mica_status collect_own(const mica_trainer *t, mica__parts *parts) {
  const mica__phase *training = &t->training;
  MICA_TRY(collect(training->nn, training->session, true, !t->stages, parts));
  return t->stages ? collect(t->stages->nn, t->stages->update, false, true, parts) : MICA_OK;
}

/* Rank 0 gets what it has not from the others: a tensor that several have is the same on all of them. */
static mica_status gather(const mica_trainer *t, mica__parts *parts) {
  mica_communicator *c = t->config.communicator;
  const int32_t among = mica__ranks_parts(t);
  if (!mica__ranks_divided(t)) return MICA_OK;
  if (c->rank) return mica__parts_send(parts, c, MICA__SHARE_CHANNEL, 0);
  mica__parts own = *parts;
  *parts = (mica__parts){0};
  mica_status status = mica__parts_join(parts, &own, among, 0);
  mica__parts_free(&own);
  for (int32_t rank = 1; status == MICA_OK && rank < c->ranks; rank++) {
    mica__parts other = {0};
    status = mica__parts_receive(&other, c, MICA__SHARE_CHANNEL, rank);
    if (status == MICA_OK) status = mica__parts_join(parts, &other, among, rank % among);
    mica__parts_free(&other);
  }
  return status;
}

mica_status mica_trainer_save(mica_trainer *t, const char *path) {
  field fields[FIELDS];
  mica__text texts[FIELDS] = {{0}};
  mica_safetensors_pair pairs[FIELDS + 1];
  mica__parts parts = {0};
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
    status = mica__parts_write(&parts, path, pairs, count + 1);
  mica__parts_free(&parts);
  for (size_t i = 0; i < count; i++) mica__text_free(&texts[i]);
  return status;
}

/* The numbers of a text, one for each of the field; false where they are others. */
static bool parse_field(const field *f, const char *text) {
  char *end = (char *)text;
  if (f->integer) {
    *f->integer = strtoll(text, &end, 10);
    return end != text && !*end;
  }
  for (size_t k = 0; k < f->count; k++) {
    const char *from = end;
    f->reals[k] = strtod(from, &end);
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
                      "%s: it is a checkpoint of Mica 0.2, which cannot be gone on from; its weights can be used",
                      path);
  progress->best_loss = NAN;
  for (size_t i = 0; i < count; i++) {
    const char *text = mica_safetensors_metadata(file, fields[i].key);
    if (!text && !strcmp(fields[i].key, LATER_KEY)) continue;
    if (!text || !parse_field(&fields[i], text))
      return mica__fail(MICA_E_FORMAT, "%s: it is no checkpoint of a run: '%s' is %s", path, fields[i].key,
                        text ? "no number" : "missing");
  }
  if (progress->step >= 0 && progress->epoch >= 0 && progress->batch >= 0 && totals->samples >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: it is no checkpoint of a run: a count is negative", path);
}

/* A stage takes what is its own. */
static mica_status load_all(mica_trainer *t, const char *path, const mica_safetensors *file) {
  const mica__phase *training = &t->training;
  const mica__stages *s = t->stages;
  t->stale = true;
  if (!s) return load(training->nn, training->session, WHOLE, path, file, NULL);
  MICA_TRY(take(s->nn, s->update, OPTIMISER, path, file, false, NULL));
  MICA_TRY(load(training->nn, training->session, WEIGHTS, path, file, NULL));
  return take(s->nn, s->update, OPTIMISER, path, file, true, NULL);
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
