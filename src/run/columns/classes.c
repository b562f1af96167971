/* Matches the classes of other data by name, and reports a test class by class. */
#include "run/columns/classes.h"
#include "base/json.h"
#include "data/table/table.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/state/parts.h"

#include <stdlib.h>
#include <string.h>

/* True if the names are equal, either as they are or after invalid UTF-8 in them is replaced, which config.json
 * does. */
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

size_t mica__run_find_name(const char *const *known, size_t count, const char *name) {
  size_t k = 0;
  while (k < count && !same_name(known[k], name)) k++;
  return k;
}

mica_status mica__run_note_classes(mica_run *run, const mica_column *column) {
  const size_t at = mica_dataset_column_index(run->parts->whole, column->name), count = (size_t)column->classes;
  const char **names = calloc(count + 1, sizeof *names);
  if (!names) return mica__fail_nomem("classes");
  for (size_t i = 0; i < count; i++) names[i] = mica_dataset_column_class(run->parts->whole, at, (int32_t)i);
  mica_status status = mica__run_note(run, "classes", names, count);
  free(names);
  return status;
}

static mica_status fail_class(const mica_dataset *data, const char *name, const char *const *known, size_t count) {
  mica__text list = {0};
  for (size_t j = 0; j < count && j < 20; j++) mica__text_addf(&list, j ? ", %s" : "%s", known[j]);
  mica__fail(MICA_E_FORMAT, "%s has the unknown class '%s'; the run was trained on %zu: %s%s", mica_dataset_name(data),
             name, count, list.data ? list.data : "none", count > 20 ? ", ..." : "");
  mica__text_free(&list);
  return MICA_E_FORMAT;
}

mica_status mica__run_find_class(const mica__cell *cell, const char *const *known, size_t count, char **name,
                                 size_t *capacity, size_t *index) {
  MICA_TRY(mica__class_name(*cell, true, name, capacity));
  *index = mica__run_find_name(known, count, *name);
  if (*index < count || mica__classes_are_texts(known, count)) return MICA_OK;
  MICA_TRY(mica__class_name(*cell, false, name, capacity));
  *index = mica__run_find_name(known, count, *name);
  return MICA_OK;
}

mica_status mica__run_map_names(const mica_dataset *data, size_t column, bool others, const char *const *known,
                                size_t count, int32_t **out) {
  const mica_column *about = mica_dataset_column(data, column);
  const int32_t classes = about ? about->classes : 0;
  int32_t *map = malloc(((size_t)classes + 1) * sizeof *map);
  bool same = true;
  if (!map) return mica__fail_nomem("classes");
  *out = NULL;
  for (int32_t i = 0; i < classes; i++) {
    const char *name = mica_dataset_column_class(data, column, i);
    char *text = NULL;
    size_t capacity = 0, k = count;
    const mica__cell cell = {.text = name, .length = strlen(name)};
    mica_status status = mica__run_find_class(&cell, known, count, &text, &capacity, &k);
    free(text);
    if (status == MICA_OK && k == count && !others) status = fail_class(data, name, known, count);
    if (status != MICA_OK) {
      free(map);
      return status;
    }
    map[i] = k < count ? (int32_t)k : -1;
    same = same && map[i] == i;
  }
  if (same)
    free(map);
  else
    *out = map;
  return MICA_OK;
}

mica_status mica__run_map_classes(const mica_run *run, const mica_dataset *data, int32_t **map) {
  const mica__fact_texts names = mica__common_facts_of(run).classes;
  return mica__run_map_names(data, mica_dataset_column_index(data, "label"), false, names.list, names.count, map);
}

/* --- predictions --- */

int64_t mica__likeliest(const float *shares, int64_t classes, int64_t k) {
  for (int64_t c = 0; c < classes; c++) {
    int64_t above = 0;
    for (int64_t j = 0; j < classes; j++) above += shares[j] > shares[c] || (j < c && shares[j] == shares[c]);
    if (above == k) return c;
  }
  return 0;
}

mica_status mica__run_add_choices(const mica_run *run, mica_report *report, const float *shares, int64_t top) {
  size_t rows = 0;
  const mica__fact_texts names = mica__common_facts_of(run).classes;
  const char *row_names[1000];
  double numbers[1000];
  for (; rows < (size_t)top && rows < names.count && rows < 1000; rows++) {
    const int64_t c = mica__likeliest(shares, (int64_t)names.count, (int64_t)rows);
    row_names[rows] = names.list[c];
    numbers[rows] = (double)shares[c];
  }
  const mica_item item = {.kind = MICA_ITEM_KIND_CHOICES,
                          .name = "classes",
                          .rows = rows,
                          .columns = 1,
                          .row_names = row_names,
                          .numbers = numbers};
  return mica_report_add(report, &item);
}

void mica__mistake_add(mica__mistake list[MICA__MISTAKES], size_t *count, mica__mistake found) {
  size_t at = *count;
  while (at > 0 && list[at - 1].share < found.share) at--;
  if (at == MICA__MISTAKES) return;
  if (*count == MICA__MISTAKES) --*count;
  memmove(list + at + 1, list + at, (*count - at) * sizeof *list);
  list[at] = found;
  ++*count;
}

/* --- the report --- */

static int64_t classes_of(const mica_run *run) {
  const size_t count = mica__common_facts_of(run).classes.count;
  return (int64_t)count;
}

mica_status mica__run_read_confusion(mica_run *run, int64_t **out) {
  const size_t classes = (size_t)classes_of(run), count = classes * classes;
  double *sums = malloc((count + 1) * sizeof *sums);
  int64_t *counts = malloc((count + 1) * sizeof *counts);
  mica_status status = sums && counts ? MICA_OK : mica__fail_nomem("a confusion matrix");
  if (status == MICA_OK) status = mica_trainer_sum(run->trainer, "confusion", sums, count);
  for (size_t i = 0; status == MICA_OK && i < count; i++) counts[i] = (int64_t)sums[i];
  free(sums);
  if (status == MICA_OK)
    *out = counts;
  else
    free(counts);
  return status;
}

/* Adds a table with the number of samples of each class, its precision, recall and F1. */
static mica_status add_classes(const mica_run *run, mica_report *report, const int64_t *confusion) {
  static const char *const columns[] = {"samples", "precision", "recall", "f1"};
  const int64_t classes = classes_of(run);
  mica_class_scores *scores = calloc((size_t)classes + 1, sizeof *scores);
  double *numbers = calloc((size_t)classes * 4 + 1, sizeof *numbers);
  mica_status status = scores && numbers ? MICA_OK : mica__fail_nomem("a report");
  if (status == MICA_OK) mica_confusion_scores(confusion, classes, scores, NULL, NULL);
  for (int64_t c = 0; status == MICA_OK && c < classes; c++) {
    for (int64_t k = 0; k < classes; k++) numbers[4 * c] += (double)confusion[c * classes + k];
    numbers[4 * c + 1] = scores[c].precision;
    numbers[4 * c + 2] = scores[c].recall;
    numbers[4 * c + 3] = scores[c].f1;
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "classes",
                           .rows = (size_t)classes,
                           .columns = 4,
                           .row_names = mica__common_facts_of(run).classes.list,
                           .column_names = columns,
                           .numbers = numbers};
  if (status == MICA_OK) status = mica_report_add(report, &table);
  free(scores);
  free(numbers);
  return status;
}

static mica_status add_confusion(const mica_run *run, mica_report *report, const int64_t *confusion) {
  const size_t classes = (size_t)classes_of(run);
  double *numbers = malloc((classes * classes + 1) * sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a report");
  for (size_t i = 0; i < classes * classes; i++) numbers[i] = (double)confusion[i];
  const char *const *names = mica__common_facts_of(run).classes.list;
  const mica_item matrix = {.kind = MICA_ITEM_KIND_MATRIX,
                            .name = "confusion",
                            .rows = classes,
                            .columns = classes,
                            .row_names = names,
                            .column_names = names,
                            .numbers = numbers};
  mica_status status = mica_report_add(report, &matrix);
  free(numbers);
  return status;
}

mica_status mica__run_report_classes(mica_run *run, const char *title, mica_report *report) {
  int64_t *confusion = NULL;
  MICA_TRY(mica__run_read_confusion(run, &confusion));
  mica_status status = mica_report_begin(report, title);
  if (status == MICA_OK) status = add_classes(run, report, confusion);
  if (status == MICA_OK) status = add_confusion(run, report, confusion);
  free(confusion);
  return status;
}
