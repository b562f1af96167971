#include "run/columns/constants.h"
#include "base/error.h"
#include "run/columns/columns.h"
#include "run/record.h"
#include "run/state/parts.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A remark names at most this many answers. */
#define MOST_NAMED 5

/* The answers of a sample: one number, several numbers, or labels. A label is 0 if it does not apply to the sample, 1
 * if it does, and a larger number if that is unknown. */
typedef struct answers {
  const mica_dataset *data;
  size_t column, count;
  bool labels, several;
  void *row;
} answers;

static mica_status read_answers(const answers *a, uint64_t sample) {
  if (a->labels) return mica_dataset_read(a->data, a->column, sample, a->row, a->count);
  if (a->several) return mica_dataset_read(a->data, a->column, sample, a->row, a->count * sizeof(float));
  *(float *)a->row = mica_dataset_target(a->data, sample);
  return MICA_OK;
}

static double answer_at(const answers *a, size_t k) {
  if (!a->labels) return (double)((const float *)a->row)[k];
  const uint8_t flag = ((const uint8_t *)a->row)[k];
  return flag <= 1 ? flag : (double)NAN;
}

/* Sets values[k] to the value that answer k has in every sample, or to NaN if its value is not always the same or there
 * is only one sample. */
static mica_status find_constants(const answers *a, double *values) {
  const uint64_t samples = mica_dataset_count(a->data);
  for (size_t k = 0; k < a->count; k++) values[k] = (double)NAN;
  for (uint64_t i = 0; i < samples && samples > 1; i++) {
    MICA_TRY(read_answers(a, i));
    for (size_t k = 0; k < a->count; k++) {
      const double value = answer_at(a, k);
      if (!i)
        values[k] = value;
      else if (!(values[k] == value))
        values[k] = (double)NAN;
    }
  }
  return MICA_OK;
}

/* Writes the name of answer k of `count` answers. */
static void name_answer(const mica_run *run, const mica_column *label, size_t k, size_t count, char name[64]) {
  const mica_dataset *data = run->parts->whole;
  const char *known = mica_dataset_number_name(data, mica_dataset_column_index(data, label->name), (int64_t)k);
  if (!known && label->kind == MICA_COLUMN_KIND_CLASSES) known = mica_dataset_class_name(data, (int32_t)k);
  if (count == 1 && label->kind == MICA_COLUMN_KIND_NUMBER) known = mica__run_answer_name(run, label);
  if (known)
    snprintf(name, 64, "%.60s", known);
  else
    snprintf(name, 64, "%zu", k);
}

static mica_status remark(mica_run *run, const mica_column *label, const double *values, size_t count) {
  size_t constant = 0;
  mica__text text = {0};
  for (size_t k = 0; k < count; k++) {
    char name[64];
    if (isnan(values[k]) || constant++ >= MOST_NAMED) continue;
    name_answer(run, label, k, count, name);
    mica__text_addf(&text, "%s'%s' is %.6g", constant > 1 ? ", " : "", name, values[k]);
  }
  if (constant > MOST_NAMED) mica__text_addf(&text, ", and %zu more are constant", constant - MOST_NAMED);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK && constant)
    status = mica__run_remark(run, "%s in every training sample: there is nothing to learn about %s", text.data,
                              constant == 1 ? "it" : "them");
  mica__text_free(&text);
  return status;
}

mica_status mica__run_remark_constants(mica_run *run, const mica_column *label) {
  const bool labels = label->kind == MICA_COLUMN_KIND_CLASSES;
  answers a = {.data = run->parts->at[MICA_PART_TRAIN].data,
               .column = mica_dataset_column_index(run->parts->whole, label->name),
               .labels = labels,
               .several = !labels && label->dtype == MICA_F32};
  a.count = labels ? (size_t)label->classes : label->shape.rank ? (size_t)label->shape.dim[0] : 1;
  double *values = calloc(a.count + 1, sizeof *values);
  a.row = calloc(a.count + 1, sizeof(float));
  mica_status status = values && a.row ? find_constants(&a, values) : mica__fail_nomem("a run");
  if (status == MICA_OK) status = remark(run, label, values, a.count);
  free(a.row);
  free(values);
  return status;
}
