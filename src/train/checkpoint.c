/* Saves and loads networks and runs as safetensors files. */
#include "base/text.h"
#include "nn/nn.h"
#include "train/train.h"

#include <inttypes.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tensors --- */

/* The parameters of a network to be written. */
typedef struct content {
  mica_safetensors_entry *entries;
  size_t count;
} content;

static void free_content(content *c) {
  for (size_t i = 0; c->entries && i < c->count; i++) free((void *)c->entries[i].data);
  free(c->entries);
}

static mica_status download(mica_tensor *tensor, const char *name, mica_safetensors_entry *entry) {
  size_t bytes = mica_tensor_bytes(tensor);
  void *data = malloc(bytes ? bytes : 1);
  if (!data) return mica__fail_nomem("a checkpoint");
  *entry = (mica_safetensors_entry){.name = name,
                                    .dtype = mica_tensor_dtype(tensor),
                                    .shape = mica_tensor_shape(tensor),
                                    .data = data,
                                    .bytes = bytes};
  return mica_tensor_download(mica_engine_queue(mica_tensor_engine(tensor)), tensor, data, bytes);
}

static mica_status collect(const mica_nn *nn, mica_session *session, bool whole, content *c) {
  size_t all = mica_nn_parameter_count(nn);
  *c = (content){.entries = calloc(all + 1, sizeof *c->entries)};
  if (!c->entries) return mica__fail_nomem("a checkpoint");
  for (size_t i = 0; i < all; i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    if (tensor && (whole || info->role != MICA_NN_ROLE_OPTIMIZER))
      MICA_TRY(download(tensor, info->own_name, &c->entries[c->count++]));
  }
  return MICA_OK;
}

static mica_status save(const mica_nn *nn, mica_session *session, bool whole, const char *path,
                        const mica_safetensors_pair *metadata, size_t metadata_count) {
  content c;
  mica_status status = collect(nn, session, whole, &c);
  if (status == MICA_OK) status = mica_safetensors_write(path, c.entries, c.count, metadata, metadata_count);
  free_content(&c);
  return status;
}

/* MICA_E_FORMAT, saying how the file's tensor differs from this one; MICA_OK if it does not. */
static mica_status compare(const char *path, const char *name, const mica_safetensors_entry *entry,
                           const mica_tensor *tensor) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  mica_shape shape = mica_tensor_shape(tensor);
  if (!entry) return mica__fail(MICA_E_FORMAT, "%s: it is of another network: there is no tensor '%s'", path, name);
  if (entry->dtype == mica_tensor_dtype(tensor) && mica_shape_equal(entry->shape, shape)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: it is of another network: the tensor '%s' is %s %s, not %s %s", path, name,
                    entry->type ? entry->type : "?", mica_shape_format(entry->shape, is),
                    mica_dtype_name(mica_tensor_dtype(tensor)), mica_shape_format(shape, want));
}

/* Compares all tensors before it changes any. */
static mica_status load(const mica_nn *nn, mica_session *session, bool whole, const char *path,
                        const mica_safetensors *file, size_t *missing) {
  size_t lacking = 0;
  for (int pass = 0; pass < 2; pass++) {
    lacking = 0;
    for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
      const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
      mica_tensor *tensor = mica_session_parameter(session, info->name);
      if (!tensor || (!whole && info->role == MICA_NN_ROLE_OPTIMIZER)) continue;
      const mica_safetensors_entry *entry = mica_safetensors_find(file, info->own_name);
      lacking += !entry;
      if (!entry && missing) continue;
      if (!pass) MICA_TRY(compare(path, info->own_name, entry, tensor));
      mica_queue *queue = mica_engine_queue(mica_tensor_engine(tensor));
      if (pass && entry) MICA_TRY(mica_tensor_upload(queue, tensor, entry->data, entry->bytes));
    }
  }
  if (missing) *missing = lacking;
  return MICA_OK;
}

mica_status mica_nn_save(const mica_nn *nn, mica_session *session, const char *path,
                         const mica_safetensors_pair *metadata, size_t metadata_count) {
  if (!nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_nn_save: a pointer is NULL");
  return save(nn, session, false, path, metadata, metadata_count);
}

mica_status mica_nn_load(const mica_nn *nn, mica_session *session, const char *path, size_t *missing) {
  mica_safetensors *file = NULL;
  if (!nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_nn_load: a pointer is NULL");
  MICA_TRY(mica_safetensors_open(path, &file));
  mica_status status = load(nn, session, false, path, file, missing);
  mica_safetensors_close(file);
  return status;
}

/* --- the position of a run --- */

/* A number of the progress and its key in the file; one of the two pointers is set. */
typedef struct field {
  const char *key;
  int64_t *integer;
  double *real;
} field;

#define FIELDS (11 + MICA__SUMS)
static size_t fields_of(mica__progress *p, field fields[FIELDS]) {
  static const char *const sums[MICA__SUMS] = {"mica.sum.loss", "mica.sum.measure", "mica.sum.samples",
                                               "mica.sum.finite", "mica.sum.top_k"};
  field list[] = {{"mica.step", .integer = &p->step},
                  {"mica.epoch", .integer = &p->epoch},
                  {"mica.batch", .integer = &p->batch},
                  {"mica.best", .real = &p->best},
                  {"mica.measured", .integer = &p->measured},
                  {"mica.worse", .integer = &p->worse},
                  {"mica.plateau.best", .real = &p->plateau.best},
                  {"mica.plateau.share", .real = &p->plateau.share},
                  {"mica.plateau.worse", .integer = &p->plateau.worse},
                  {"mica.plateau.noted", .integer = &p->plateau.noted}};
  size_t count = sizeof list / sizeof *list;
  memcpy(fields, list, sizeof list);
  for (int k = 0; k < MICA__SUMS; k++) fields[count++] = (field){sums[k], .real = &p->totals.sums[k]};
  return count;
}

mica_status mica_trainer_save(mica_trainer *t, const char *path) {
  field fields[FIELDS];
  char texts[FIELDS][32];
  mica_safetensors_pair pairs[FIELDS];
  if (!t || !path) return mica__fail(MICA_E_INVALID, "mica_trainer_save: a pointer is NULL");
  size_t count = fields_of(&t->progress, fields);
  for (size_t i = 0; i < count; i++) {
    if (fields[i].integer)
      snprintf(texts[i], sizeof texts[i], "%" PRId64, *fields[i].integer);
    else
      snprintf(texts[i], sizeof texts[i], "%.17g", *fields[i].real);
    pairs[i] = (mica_safetensors_pair){fields[i].key, texts[i]};
  }
  return save(t->training.nn, t->training.session, true, path, pairs, count);
}

static mica_status parse_fields(const char *path, const mica_safetensors *file, mica__progress *progress) {
  field fields[FIELDS];
  size_t count = fields_of(progress, fields);
  for (size_t i = 0; i < count; i++) {
    const char *text = mica_safetensors_metadata(file, fields[i].key);
    char *end = (char *)text;
    if (text && fields[i].integer) *fields[i].integer = strtoll(text, &end, 10);
    if (text && fields[i].real) *fields[i].real = strtod(text, &end);
    if (!text || end == text || *end)
      return mica__fail(MICA_E_FORMAT, "%s: it is no checkpoint of a run: '%s' is %s", path, fields[i].key,
                        text ? "no number" : "missing");
  }
  if (progress->step >= 0 && progress->epoch >= 0 && progress->batch >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: it is no checkpoint of a run: a count is negative", path);
}

mica_status mica_trainer_load(mica_trainer *t, const char *path) {
  mica_safetensors *file = NULL;
  if (!t || !path) return mica__fail(MICA_E_INVALID, "mica_trainer_load: a pointer is NULL");
  mica__progress progress = t->progress;
  MICA_TRY(mica_safetensors_open(path, &file));
  mica_status status = parse_fields(path, file, &progress);
  if (status == MICA_OK) status = load(t->training.nn, t->training.session, true, path, file, NULL);
  mica_safetensors_close(file);
  MICA_TRY(status);
  mica__train_discard(t);
  t->progress = progress;
  t->unread_from = progress.step;
  t->rates_from = -1;
  return MICA_OK;
}
