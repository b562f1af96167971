/* Columns of classes that are inputs beside a table's numbers: fed in one-hot form and found in other data by their
 * names. */
#include "run/columns/categories.h"
#include "base/checked.h"
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/columns/columns.h"
#include "run/columns/missing.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/input.h"
#include "run/network.h"
#include "run/record.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* --- stored values --- */

typedef struct lists {
  const char *columns[MOST_CATEGORIES], **names;
  double *seen; /* for each class name: 1 if a training sample has it, otherwise 0 */
  double classes[MOST_CATEGORIES];
  size_t count, name_count;
  char **unused;
  size_t unused_count;
} lists;

static bool is_category(const mica_column *column, const lists *l) {
  return column->kind == MICA_COLUMN_KIND_CLASS && column->shape.rank == 0 && column->classes >= 1 &&
         column->classes <= MOST_CLASSES && l->count < MOST_CATEGORIES;
}

/* Marks the classes that occur in training, and reports how many cells of the validation part have a class that does
 * not occur there. */
static mica_status note_seen(mica_run *run, size_t column, double *seen) {
  const mica_dataset *parts[] = {run->parts->at[MICA_PART_TRAIN].data, run->parts->at[MICA_PART_VALIDATION].data};
  const mica_column *about = mica_dataset_column(run->parts->whole, column);
  uint64_t strange = 0;
  int32_t is = -1, first = -1;
  for (uint64_t i = 0; parts[0] && i < mica_dataset_count(parts[0]); i++) {
    MICA_TRY(mica_dataset_read(parts[0], column, i, &is, sizeof is));
    if (is >= 0) seen[is] = 1;
  }
  /* If the validation part is a file of its own, its classes are compared like those of test data, and not here. */
  if (!parts[1] || parts[1]->store != run->parts->whole->store) return MICA_OK;
  for (uint64_t i = 0; i < mica_dataset_count(parts[1]); i++) {
    MICA_TRY(mica_dataset_read(parts[1], column, i, &is, sizeof is));
    if (is >= 0 && seen[is] == 0 && strange++ == 0) first = is;
  }
  if (!strange) return MICA_OK;
  return mica__run_remark_class(run, run->data, about->name, strange,
                                mica_dataset_column_class(run->parts->whole, column, first));
}

static mica_status add_category(mica_run *run, size_t column, lists *l) {
  const mica_dataset *data = run->parts->whole;
  const mica_column *about = mica_dataset_column(data, column);
  double *longer = realloc(l->seen, (l->name_count + (size_t)about->classes) * sizeof *longer);
  if (!longer) return mica__fail_nomem("classes");
  l->seen = longer;
  memset(l->seen + l->name_count, 0, (size_t)about->classes * sizeof *l->seen);
  MICA_TRY(note_seen(run, column, l->seen + l->name_count));
  const char **grown = realloc(l->names, (l->name_count + (size_t)about->classes) * sizeof *grown);
  if (!grown) return mica__fail_nomem("classes");
  l->names = grown;
  for (int32_t i = 0; i < about->classes; i++) l->names[l->name_count++] = mica_dataset_column_class(data, column, i);
  l->columns[l->count] = about->name;
  l->classes[l->count++] = (double)about->classes;
  return MICA_OK;
}

/* Lists an unused column with the reason: "note (text)", "city (900 classes)". */
static mica_status add_unused(const mica_column *column, lists *l) {
  mica__text text = {0};
  if (column->kind == MICA_COLUMN_KIND_CLASS && column->shape.rank == 0)
    mica__text_addf(&text, "%s (%d classes)", column->name, column->classes);
  else
    mica__text_addf(&text, "%s (%s)", column->name, mica_column_kind_name(column->kind));
  MICA_TRY(mica__text_status(&text));
  l->unused[l->unused_count++] = text.data;
  return MICA_OK;
}

/* Lists a column that the reader of tables skipped, with its reason: "rownames (counts the rows)". */
static mica_status add_unread(const mica__field *field, lists *l) {
  mica__text text = {0};
  mica__text_addf(&text, "%s (%s)", field->name, field->unread);
  MICA_TRY(mica__text_status(&text));
  l->unused[l->unused_count++] = text.data;
  return MICA_OK;
}

/* Refuses a column that the setting "kinds" calls a class, although it has too many classes to be an input or there
 * are too many such columns. */
static mica_status check_unused(const mica_run *run, const mica_column *column) {
  mica_column_kind kind;
  bool stated = false;
  MICA_TRY(mica__kinds_find(mica__common_settings_of(run).kinds, column->name, &kind, &stated));
  if (!stated || kind != MICA_COLUMN_KIND_CLASS || column->kind != kind) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "kinds: column '%s' of %s (%d classes) cannot be an input; an input has at most %d classes, and at "
                    "most %d columns have classes",
                    column->name, run->data, column->classes, MOST_CLASSES, MOST_CATEGORIES);
}

/* Stores the names of the number columns and of the answer with the run, so that later tables are matched by name. */
static mica_status note_names(mica_run *run, const mica_column *input, const mica_column *label) {
  const mica_dataset *data = run->parts->whole;
  const mica__schema *schema = data->store->schema;
  if (schema) MICA_TRY(mica__run_note_answer_name(run, label));
  if (!input || !mica_dataset_number_name(data, mica_dataset_column_index(data, input->name), 0)) return MICA_OK;
  const size_t column = mica_dataset_column_index(data, input->name), count = (size_t)input->shape.dim[0];
  const char **names = calloc(count + 1, sizeof *names);
  if (!names) return mica__fail_nomem("a run");
  for (size_t i = 0; i < count; i++) names[i] = mica_dataset_number_name(data, column, (int64_t)i);
  mica_status status = mica__run_note(run, "numbers", names, count);
  free(names);
  return status;
}

static mica_status note_lists(mica_run *run, const lists *l, const mica_column *input, const mica_column *label) {
  if (l->unused_count) MICA_TRY(mica__run_note(run, "unused", (const char *const *)l->unused, l->unused_count));
  if (!l->count) return run->task->input->reads ? note_names(run, input, label) : MICA_OK;
  mica_augment_config augment;
  MICA_TRY(mica_augment_parse(mica__common_settings_of(run).augment, &augment));
  if (augment.mixup > 0)
    return mica__fail(MICA_E_INVALID, "mixup can only blend numbers, but %s has columns of classes, such as '%s'",
                      run->data, l->columns[0]);
  MICA_TRY(mica__run_note(run, "categories", l->columns, l->count));
  MICA_TRY(mica__run_note_numbers(run, "category_classes", l->classes, l->count));
  MICA_TRY(mica__run_note(run, "category_names", l->names, l->name_count));
  bool all = true;
  for (size_t i = 0; i < l->name_count; i++) all = all && l->seen[i] > 0;
  /* A run that was begun without the stored value "category_seen" continues without it. */
  if (!all && !run->resumed) MICA_TRY(mica__run_note_numbers(run, "category_seen", l->seen, l->name_count));
  return note_names(run, input, label);
}

mica_status mica__run_note_categories(mica_run *run, const mica_column *input, const mica_column *label) {
  const mica_dataset *data = run->parts->whole;
  const size_t count = mica_dataset_column_count(data);
  /* A run begun by an older version has nothing stored about categories and continues without it. */
  const bool known = !run->resumed || mica__run_categories(run) > 0;
  const bool table = known && (!input || input->shape.rank == 1);
  const mica__schema *schema = data->store ? data->store->schema : NULL;
  lists l = {.unused = calloc(count + (schema ? schema->count : 0) + 1, sizeof *l.unused)};
  mica_status status = l.unused ? MICA_OK : mica__fail_nomem("a run");
  for (size_t i = 0; status == MICA_OK && schema && i < schema->count; i++)
    if (schema->fields[i].unread) status = add_unread(&schema->fields[i], &l);
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    const mica_column *column = mica_dataset_column(data, i);
    if (column == input || column == label) continue;
    if (run->task->input->reads && run->task->input->reads(run, data, i)) continue;
    const bool taken = table && is_category(column, &l);
    if (!taken) status = check_unused(run, column);
    if (status == MICA_OK) status = taken ? add_category(run, i, &l) : add_unused(column, &l);
  }
  if (status == MICA_OK) status = note_lists(run, &l, input, label);
  for (size_t i = 0; i < l.unused_count; i++) free(l.unused[i]);
  free(l.unused);
  free(l.names);
  free(l.seen);
  return status;
}

/* --- other data --- */

mica_status mica__run_map_category(const mica_run *run, const mica_dataset *data, size_t k, size_t *column,
                                   int32_t **map) {
  const mica__category category = mica__run_category(run, k);
  *column = mica_dataset_column_index(data, category.name);
  const mica_column *about = mica_dataset_column(data, *column);
  if (!about)
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s', but the network was trained on it",
                      mica_dataset_name(data), category.name);
  if (about->kind != MICA_COLUMN_KIND_CLASS || about->shape.rank != 0)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the column '%s' must hold one class per row, as in training, but is of kind %s%s",
                      mica_dataset_name(data), category.name, mica_column_kind_name(about->kind),
                      about->shape.rank ? ", with several values per row" : "");
  return mica__run_map_names(data, *column, true, category.names, category.classes, map);
}

/* Reports how many cells of a column have a class that the run does not have. `map` is -1 for these classes. */
static mica_status remark_column(mica_run *run, const mica_dataset *data, size_t column, const int32_t *map) {
  uint64_t count = 0;
  int32_t first = -1, is = -1;
  for (uint64_t i = 0; i < mica_dataset_count(data); i++) {
    MICA_TRY(mica_dataset_read(data, column, i, &is, sizeof is));
    if (is >= 0 && map[is] < 0 && count++ == 0) first = is;
  }
  if (!count) return MICA_OK;
  return mica__run_remark_class(run, mica_dataset_name(data), mica_dataset_column(data, column)->name, count,
                                mica_dataset_column_class(data, column, first));
}

mica_status mica__run_remark_others(mica_run *run, const mica_dataset *data) {
  for (size_t k = 0; k < mica__run_categories(run); k++) {
    size_t column = 0;
    int32_t *map = NULL;
    MICA_TRY(mica__run_map_category(run, data, k, &column, &map));
    mica_status status = map ? remark_column(run, data, column, map) : MICA_OK;
    free(map);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static bool reads(const mica_run *run, const char *name, size_t length) {
  const mica__common_facts facts = mica__common_facts_of(run);
  const mica__fact_texts known[] = {facts.numbers, facts.text_columns};
  bool found = strlen(facts.label_name) == length && !strncmp(facts.label_name, name, length);
  for (size_t l = 0; l < sizeof known / sizeof *known; l++)
    for (size_t i = 0; i < known[l].count && !found; i++)
      found = strlen(known[l].list[i]) == length && !strncmp(known[l].list[i], name, length);
  for (size_t k = 0; k < mica__run_categories(run) && !found; k++) {
    const char *category = mica__run_category(run, k).name;
    found = strlen(category) == length && !strncmp(category, name, length);
  }
  return found;
}

/* True for a column of the training data that is not an input. The stored value "unused" lists such a column as "a
 * (text)". */
static bool is_unused(const mica_run *run, const char *name) {
  const mica__fact_texts unused = mica__common_facts_of(run).unused;
  const size_t length = strlen(name);
  for (size_t i = 0; i < unused.count; i++)
    if (!strncmp(unused.list[i], name, length) && unused.list[i][length] == ' ') return true;
  return false;
}

mica_status mica__run_check_repeat(const mica_run *run, const char *table, const char *name) {
  const char *const point = strrchr(name, '.');
  if (!point || reads(run, name, strlen(name)) || !reads(run, name, (size_t)(point - name))) return MICA_OK;
  if (is_unused(run, name)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has two columns '%.*s', but the network was trained on one; rename the other",
                    table, (int)(point - name), name);
}

/* True for a column that was there during training. */
static bool is_seen(const mica_run *run, const char *name) {
  /* The label may be a list of several columns. */
  return is_unused(run, name) || reads(run, name, strlen(name)) ||
         mica__list_has(mica__common_facts_of(run).label_name, name);
}

mica_status mica__run_remark_extras(mica_run *run, const char *table, const char *const *names, size_t count) {
  mica__text text = {0};
  for (size_t i = 0; i < count; i++)
    if (!is_seen(run, names[i])) mica__text_addf(&text, text.length ? ", '%s'" : "'%s'", names[i]);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK && text.length)
    status = mica__run_remark(run, "%s has columns that the network was not trained on, which are passed over: %s",
                              table, text.data);
  mica__text_free(&text);
  return status;
}

mica_status mica__run_remark_passed(mica_run *run, const char *table, size_t lines) {
  if (!lines) return MICA_OK;
  return mica__run_remark(run, "%s: %zu line%s begin%s with # and %s not read", table, lines, lines == 1 ? "" : "s",
                          lines == 1 ? "s" : "", lines == 1 ? "is" : "are");
}

mica_status mica__run_remark_comments(mica_run *run, const mica_dataset *data) {
  const mica__schema *schema = data ? data->store->schema : NULL;
  return schema ? mica__run_remark_passed(run, mica_dataset_name(data), schema->passed) : MICA_OK;
}

mica_status mica__run_remark_data(mica_run *run, const mica_dataset *data) {
  const mica__schema *schema = data->store->schema;
  MICA_TRY(mica__run_check_elements(run, data));
  MICA_TRY(mica__run_remark_comments(run, data));
  MICA_TRY(mica__run_remark_missing(run, data));
  MICA_TRY(mica__run_remark_others(run, data));
  if (!schema || !schema->header || run->task->open) return MICA_OK;
  if (schema->extras)
    return mica__run_remark(run, "%s has columns that the network was not trained on, which are passed over: %s",
                            mica_dataset_name(data), schema->extras);
  if (!mica__run_categories(run)) return MICA_OK;
  const char **names = calloc(schema->count + 1, sizeof *names);
  if (!names) return mica__fail_nomem("columns");
  for (size_t i = 0; i < schema->count; i++) names[i] = schema->fields[i].name;
  mica_status status = mica__run_remark_extras(run, mica_dataset_name(data), names, schema->count);
  free(names);
  return status;
}

bool mica__is_position(const char *name) { return *name && !name[strspn(name, "0123456789")]; }

mica_status mica__run_find_order(const mica_run *run, const mica_dataset *data, int64_t **order) {
  const mica__fact_texts names = mica__common_facts_of(run).numbers;
  const size_t column = mica_dataset_column_index(data, mica__common_facts_of(run).input_column);
  bool moved = false, positions = true;
  *order = NULL;
  for (size_t i = 0; i < names.count; i++) positions = positions && mica__is_position(names.list[i]);
  if (!names.count || !mica_dataset_number_name(data, column, 0)) return MICA_OK;
  moved = mica_dataset_number_name(data, column, (int64_t)names.count) != NULL;
  if (positions && !moved) return MICA_OK;
  int64_t *found = calloc(names.count, sizeof *found);
  if (!found) return mica__fail_nomem("the order of columns");
  for (size_t i = 0; i < names.count; i++) {
    const char *name = mica_dataset_number_name(data, column, found[i] = 0);
    while (name && strcmp(name, names.list[i])) name = mica_dataset_number_name(data, column, ++found[i]);
    moved = moved || found[i] != (int64_t)i;
    if (name) continue;
    free(found);
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s', but the network was trained on it",
                      mica_dataset_name(data), names.list[i]);
  }
  if (moved)
    *order = found;
  else
    free(found);
  return MICA_OK;
}

mica_status mica__run_fits_categories(const mica_run *run, const mica_dataset *data) {
  for (size_t k = 0; k < mica__run_categories(run); k++) {
    size_t column = 0;
    int32_t *map = NULL;
    MICA_TRY(mica__run_map_category(run, data, k, &column, &map));
    free(map);
  }
  const mica__schema *schema = data->store->schema;
  for (size_t i = 0; schema && i < schema->count; i++)
    if (schema->fields[i].repeated)
      MICA_TRY(mica__run_check_repeat(run, mica_dataset_name(data), schema->fields[i].name));
  int64_t *order = NULL;
  MICA_TRY(mica__run_find_order(run, data, &order));
  free(order);
  return MICA_OK;
}

/* Reads a column's classes to `to`, numbered as in the run. */
static mica_status map_column(const mica_dataset *data, size_t column, const int32_t *map, int32_t *to) {
  const uint64_t count = mica_dataset_count(data);
  for (uint64_t i = 0; i < count; i++) {
    MICA_TRY(mica_dataset_read(data, column, i, &to[i], sizeof *to));
    if (to[i] >= 0) to[i] = map[to[i]];
  }
  return MICA_OK;
}

/* Replaces a column of the data by one with the run's class numbers; `map` translates them. */
static mica_status replace(mica_run *run, const mica_dataset *data, size_t column, const int32_t *map,
                           const char *const *names, size_t classes, mica_column_data *list, size_t *count) {
  int32_t *to = run->evaluation->labels + *count * (size_t)mica_dataset_count(data);
  list[(*count)++] = (mica_column_data){.column = {.name = mica_dataset_column(data, column)->name,
                                                   .kind = MICA_COLUMN_KIND_CLASS,
                                                   .dtype = MICA_I32,
                                                   .classes = (int32_t)classes},
                                        .data = to,
                                        .class_names = names};
  return map_column(data, column, map, to);
}

/* Adds the column of numbers to the list, with the numbers in the order of the run. */
static mica_status reorder(mica_run *run, const mica_dataset *data, const int64_t *order, mica_column_data *list,
                           size_t *count) {
  const size_t column = mica_dataset_column_index(data, mica__common_facts_of(run).input_column);
  const mica_column *about = mica_dataset_column(data, column);
  const size_t width = (size_t)about->shape.dim[0];
  mica_column made = *about;
  const size_t count_of_run = mica__common_facts_of(run).numbers.count;
  made.shape.dim[0] = (int64_t)count_of_run;
  const uint64_t samples = mica_dataset_count(data);
  size_t bytes = 0;
  float *row = malloc((width + 1) * sizeof *row);
  if (mica__mul_size(samples, (uint64_t)count_of_run * sizeof *run->evaluation->numbers, &bytes))
    run->evaluation->numbers = malloc(bytes + 1);
  mica_status status = row && run->evaluation->numbers ? MICA_OK : mica__fail_nomem("inputs in another order");
  for (uint64_t i = 0; status == MICA_OK && i < samples; i++) {
    status = mica_dataset_read(data, column, i, row, width * sizeof *row);
    for (size_t k = 0; status == MICA_OK && k < count_of_run; k++)
      run->evaluation->numbers[i * count_of_run + k] = row[order[k]];
  }
  free(row);
  list[(*count)++] = (mica_column_data){.column = made, .data = run->evaluation->numbers};
  return status;
}

static mica_status replace_all(mica_run *run, const mica_dataset *data, mica_column_data *list, size_t *count) {
  int64_t *order = NULL;
  MICA_TRY(mica__run_find_order(run, data, &order));
  mica_status moved = order ? reorder(run, data, order, list, count) : MICA_OK;
  free(order);
  MICA_TRY(moved);
  int32_t *map = NULL;
  size_t column = mica_dataset_column_index(data, mica__common_facts_of(run).label_column);
  const mica__fact_texts names = mica__common_facts_of(run).classes;
  if (mica_dataset_classes(data)) MICA_TRY(mica__run_map_classes(run, data, &map));
  mica_status status = map ? replace(run, data, column, map, names.list, names.count, list, count) : MICA_OK;
  free(map);
  for (size_t k = 0; status == MICA_OK && k < mica__run_categories(run); k++) {
    const mica__category category = mica__run_category(run, k);
    status = mica__run_map_category(run, data, k, &column, &map);
    if (status != MICA_OK) break;
    if (map) status = replace(run, data, column, map, category.names, category.classes, list, count);
    free(map);
  }
  return status;
}

mica_status mica__run_adopt(mica_run *run, mica_dataset *data, mica_dataset **out) {
  const size_t most = mica__run_categories(run) + 2;
  size_t count = 0;
  *out = data;
  if (!*mica__common_facts_of(run).label_column) return MICA_OK;
  mica_column_data *list = calloc(most, sizeof *list);
  free(run->evaluation->labels);
  free(run->evaluation->numbers);
  run->evaluation->numbers = NULL;
  run->evaluation->labels = calloc((size_t)mica_dataset_count(data), most * sizeof *run->evaluation->labels);
  mica_status status = list && run->evaluation->labels ? MICA_OK : mica__fail_nomem("classes");
  if (status == MICA_OK) status = replace_all(run, data, list, &count);
  if (status == MICA_OK && count) status = mica_dataset_derive(data, list, count, out);
  free(list);
  return status;
}

/* --- the graph --- */

/* Returns one-hot rows (N, classes), f32. An index below 0 gives a row of zeros: it is replaced by `classes`, which is
 * out of range, because mica_one_hot would count -1 from the end. */
static mica_value one_hot(mica_value index, int64_t classes) {
  const mica_value none = mica_scalar(index.graph, MICA_I32, (double)classes);
  const mica_value position = mica_where(mica_less(index, mica_full_like(index, 0)), none, index);
  return mica_one_hot(position, classes, 1, mica_scalar(index.graph, MICA_F32, 0),
                      mica_scalar(index.graph, MICA_F32, 1));
}

/* A class that no training sample had is fed as zeros: the network's weights for it are still noise. */
static mica_value without_unseen(const mica_run *run, const mica__category *category, mica_value x) {
  const mica__fact_numbers seen = mica__common_facts_of(run).category_seen;
  const mica__fact_texts first = mica__common_facts_of(run).category_names;
  if (!seen.list || seen.count != first.count) return x;
  float mask[MOST_CLASSES];
  bool all = true;
  for (size_t i = 0; i < category->classes; i++) {
    mask[i] = seen.list[category->names - first.list + (ptrdiff_t)i] > 0 ? 1 : 0;
    all = all && mask[i] > 0;
  }
  if (all) return x;
  return mica_mul(x, mica_constant(x.graph, MICA_F32, MICA_SHAPE(1, (int64_t)category->classes), mask));
}

mica_value mica__run_inputs(const mica_run *run, const mica_batch_values *batch) {
  const size_t categories = mica__run_categories(run);
  const char *input = mica__common_facts_of(run).input_column;
  mica_value parts[MOST_CATEGORIES + 1];
  size_t count = 0;
  if (*input || !categories) parts[count++] = mica_batch_value(batch, input);
  for (size_t k = 0; k < categories; k++) {
    const mica__category category = mica__run_category(run, k);
    const mica_value index = mica_batch_value(batch, category.name);
    if (!index.graph) return index;
    parts[count++] = without_unseen(run, &category, one_hot(index, (int64_t)category.classes));
  }
  return count == 1 ? parts[0] : mica_concat(parts, count, 1);
}
