/* The true answers of samples. */
#include "run/predict/truths.h"
#include "data/table/table.h"
#include "run/columns/categories.h"
#include "run/columns/kinds.h"
#include "run/common_facts.h"
#include "run/facts.h"

#include <math.h>
#include <stdlib.h>

static bool has_several(const mica_run *run) { return mica__common_facts_of(run).several > 0; }

size_t mica__truth_count(const mica_run *run) {
  const size_t classes = mica__common_facts_of(run).classes.count;
  const size_t numbers = mica__common_facts_of(run).target_mean.count;
  return has_several(run) ? classes : numbers > 1 ? numbers : 1;
}

const char *mica__truth_name(const mica_run *run, size_t k) {
  const char *label = mica__common_facts_of(run).label_name;
  const size_t count = mica__truth_count(run);
  if (!*label || k >= count) return "";
  if (has_several(run)) return mica__common_facts_of(run).classes.list[k];
  const char *const *names = mica__common_facts_of(run).answers.list;
  return count > 1 && names ? names[k] : label;
}

mica_status mica__truths_open(const mica_run *run, const mica_dataset *data, mica__truths *t) {
  const mica_column *label =
      mica_dataset_column(data, mica_dataset_column_index(data, mica__common_facts_of(run).label_column));
  *t = (mica__truths){.data = data, .column = mica_dataset_column_index(data, mica__common_facts_of(run).label_column)};
  t->count = mica__truth_count(run);
  t->base = t->count == 1 ? mica__run_label_base(run) : 0;
  t->row = calloc(t->count + 1, sizeof(float));
  if (!t->row) return mica__fail_nomem("answers");
  return label && label->kind == MICA_COLUMN_KIND_CLASS ? mica__run_map_classes(run, data, &t->map) : MICA_OK;
}

static mica_status read_class(const mica__truths *t, uint64_t sample, double *truth) {
  int32_t class_index = -1;
  MICA_TRY(mica_dataset_read(t->data, t->column, sample, &class_index, sizeof class_index));
  if (class_index >= 0 && t->map) class_index = t->map[class_index];
  *truth = class_index < 0 ? (double)NAN : (double)class_index;
  return MICA_OK;
}

mica_status mica__truths_read(const mica__truths *t, uint64_t sample, double *truth) {
  const mica_column *label = mica_dataset_column(t->data, t->column);
  for (size_t k = 0; k < t->count; k++) truth[k] = (double)NAN;
  if (!label) return MICA_OK;
  if (label->kind == MICA_COLUMN_KIND_CLASS) return read_class(t, sample, truth);
  if (label->kind == MICA_COLUMN_KIND_CLASSES) {
    MICA_TRY(mica_dataset_read(t->data, t->column, sample, t->row, t->count));
    for (size_t k = 0; k < t->count; k++)
      if (((const uint8_t *)t->row)[k] <= 1) truth[k] = ((const uint8_t *)t->row)[k];
    return MICA_OK;
  }
  const bool bytes = label->dtype == MICA_U8;
  MICA_TRY(mica_dataset_read(t->data, t->column, sample, t->row, t->count * (bytes ? 1 : sizeof(float))));
  for (size_t k = 0; k < t->count; k++) {
    const float number = bytes ? (float)((const uint8_t *)t->row)[k] / 255 : ((const float *)t->row)[k];
    truth[k] = mica__run_above_base(number, t->base);
  }
  return MICA_OK;
}

void mica__truths_close(mica__truths *t) {
  free(t->map);
  free(t->row);
  *t = (mica__truths){0};
}

static mica_status class_of_cell(const mica_run *run, const mica__records *r, const mica__cell *cell, double *truth) {
  size_t index = 0, capacity = 0;
  const mica__fact_texts names = mica__common_facts_of(run).classes;
  char *name = NULL;
  if (mica__cell_is_empty(*cell)) return MICA_OK;
  mica_status status = mica__run_find_class(cell, names.list, names.count, &name, &capacity, &index);
  if (status == MICA_OK && index < names.count) *truth = (double)index;
  if (status == MICA_OK && index == names.count && !mica__cell_is_missing(*cell))
    status =
        mica__fail(MICA_E_FORMAT, "%s line %zu: the class '%s' is not one of the %zu that the network was trained on",
                   r->name, r->line, name, names.count);
  free(name);
  return status;
}

mica_status mica__truth_of_cell(const mica_run *run, const mica__records *r, const mica__cell *cell, double *truth) {
  double number = 0;
  *truth = (double)NAN;
  const size_t classes = mica__common_facts_of(run).classes.count;
  if (classes && !has_several(run)) return class_of_cell(run, r, cell, truth);
  if (mica__cell_is_missing(*cell)) return MICA_OK;
  if (!mica__cell_number(*cell, &number) || (classes && number != 0 && number != 1))
    return mica__fail(MICA_E_FORMAT, "%s line %zu: the answer \"%.*s\" is %s", r->name, r->line,
                      mica__cell_shown(*cell), cell->text,
                      classes ? "neither 0 nor 1" : "not a number from -3.4e38 to 3.4e38");
  *truth = number;
  return MICA_OK;
}
