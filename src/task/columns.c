/* What tasks of one input and one answer share: columns, and classes by name. */
#include "task/json.h"
#include "task/run.h"

#include <stdlib.h>
#include <string.h>

/* The column of an answer, "label" unless a dataset calls it otherwise: the last one that is no input. */
static const mica_column *find_label(const mica_dataset *data, const mica_column *input) {
  const mica_column *label = NULL;
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const mica_column *column = mica_dataset_column(data, i);
    if (column == input) continue;
    if (!label || !strcmp(column->name, "label")) label = column;
  }
  return label;
}

static const mica_column *find_input(const mica_dataset *data) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const mica_column *column = mica_dataset_column(data, i);
    if (!strcmp(column->name, "image") || !strcmp(column->name, "x")) return column;
  }
  return NULL;
}

mica_status mica__run_note_columns(mica_run *run, const mica_column **label) {
  const mica_dataset *data = run->whole;
  const mica_column *input = find_input(data);
  double dims[MICA_MAX_RANK];
  *label = find_label(data, input);
  if (!input || !*label)
    return mica__fail(MICA_E_FORMAT, "%s has no %s: the task %s wants pictures or rows of numbers, and an answer each",
                      run->data, input ? "answers" : "inputs", run->task->name);
  for (int32_t i = 0; i < input->shape.rank; i++) dims[i] = (double)input->shape.dim[i];
  MICA_TRY(mica__run_note_numbers(run, "input", dims, (size_t)input->shape.rank));
  MICA_TRY(mica__run_note_text(run, "input_column", input->name));
  return mica__run_note_text(run, "label_column", (*label)->name);
}

mica_status mica__run_fits_input(const mica_run *run, const mica_dataset *data) {
  size_t rank = 0;
  const double *input = mica_run_fact_numbers(run, "input", &rank);
  const mica_shape is = mica_dataset_shape(data);
  mica_shape wanted = {.rank = (int32_t)rank};
  char a[MICA_SHAPE_TEXT], b[MICA_SHAPE_TEXT];
  for (size_t i = 0; input && i < rank && i < MICA_MAX_RANK; i++) wanted.dim[i] = (int64_t)input[i];
  if (mica_shape_equal(is, wanted)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has inputs of %s, the network was trained on %s", mica_dataset_name(data),
                    mica_shape_format(is, a), mica_shape_format(wanted, b));
}

/* True if the names are the same, or become so where bytes that are no UTF-8 are replaced, as config.json does. */
static bool same_name(const char *a, const char *b) {
  bool plain = true;
  for (const char *c = b; *c; c++) plain = plain && (unsigned char)*c < 0x80;
  if (plain || !strcmp(a, b)) return !strcmp(a, b);
  mica__text texts[2] = {{0}};
  mica__json_string(&texts[0], a);
  mica__json_string(&texts[1], b);
  const bool same = texts[0].data && texts[1].data && !strcmp(texts[0].data, texts[1].data);
  mica__text_free(&texts[0]);
  mica__text_free(&texts[1]);
  return same;
}

mica_status mica__run_map_classes(const mica_run *run, const mica_dataset *data, int32_t **out) {
  const int32_t count = mica_dataset_classes(data);
  size_t known = 0;
  const char *const *names = mica_run_fact(run, "classes", &known);
  int32_t *map = malloc(((size_t)count + 1) * sizeof *map);
  bool same = true;
  if (!map) return mica__fail_nomem("classes");
  *out = NULL;
  for (int32_t i = 0; i < count; i++) {
    const char *name = mica_dataset_class_name(data, i);
    size_t k = 0;
    while (k < known && !same_name(names[k], name)) k++;
    if (k == known) {
      mica__text list = {0};
      for (size_t j = 0; j < known && j < 20; j++) mica__text_addf(&list, j ? ", %s" : "%s", names[j]);
      mica__fail(MICA_E_FORMAT, "%s has a class '%s', which the run does not know; it was trained on %zu: %s%s",
                 mica_dataset_name(data), name, known, list.data ? list.data : "none", known > 20 ? ", ..." : "");
      mica__text_free(&list);
      free(map);
      return MICA_E_FORMAT;
    }
    map[i] = (int32_t)k;
    same = same && map[i] == i;
  }
  if (same)
    free(map);
  else
    *out = map;
  return MICA_OK;
}
