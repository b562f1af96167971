/* Reads rows to predict from a table with categories: columns are found by name, and other columns are ignored. */
#include "base/text.h"
#include "data/table/table.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/columns/kinds.h"
#include "run/columns/missing.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/predict/samples.h"
#include "run/predict/truths.h"
#include "run/record.h"
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The positions of the run's columns in a table. */
typedef struct rows {
  mica_run *run;
  mica__records records;
  bool header;
  size_t numbers, categories, answers, columns;
  size_t *at; /* positions of numbers, categories, then answers; SIZE_MAX for one that is missing */
  char *text; /* a buffer for the text of a cell */
  size_t capacity;
  const double *fills; /* replaces each missing number; NULL if a missing number is an error */
  size_t *strange;     /* per number, how many of its cells are missing; per category, how many have unknown classes */
  char **first;        /* the first unknown class of each category */
} rows;

static const char *name_of(const rows *r, size_t k) {
  if (k < r->numbers) return mica__common_facts_of(r->run).numbers.list[k];
  if (k < r->numbers + r->categories) return mica__run_category(r->run, k - r->numbers).name;
  return mica__truth_name(r->run, k - r->numbers - r->categories);
}

/* Gets the names in the first line, made distinct as in training: a second column "a" becomes "a.1". */
static mica_status header_names(const rows *r, char **names) {
  const mica__records *records = &r->records;
  for (size_t i = 0; i < records->count; i++) {
    char *plain = calloc(1, records->cells[i].length + 1);
    if (plain) mica__cell_unquote(records->cells[i], plain);
    names[i] = plain ? mica__name_printable(plain) : NULL;
    free(plain);
    if (!names[i]) return mica__fail_nomem(records->name);
    const char *const *before = (const char *const *)names;
    mica__text text = {0};
    for (size_t n = 1; *names[i] && mica__run_find_name(before, i, text.data ? text.data : names[i]) < i; n++) {
      text.length = 0;
      mica__text_addf(&text, "%s.%zu", names[i], n);
      MICA_TRY(mica__text_status(&text));
    }
    if (!text.data) continue;
    free(names[i]);
    names[i] = text.data;
    MICA_TRY(mica__run_check_repeat(r->run, records->name, names[i]));
  }
  return MICA_OK;
}

static mica_status find_named(rows *r) {
  const mica__records *records = &r->records;
  char **names = calloc(records->count + 1, sizeof *names);
  mica_status status = names ? header_names(r, names) : mica__fail_nomem(records->name);
  for (size_t i = 0; status == MICA_OK && i < records->count; i++)
    for (size_t k = 0; k < r->numbers + r->categories + r->answers; k++)
      if (r->at[k] == SIZE_MAX && mica__run_find_name((const char *[]){name_of(r, k)}, 1, names[i]) == 0) r->at[k] = i;
  if (status == MICA_OK)
    status = mica__run_remark_extras(r->run, records->name, (const char *const *)names, records->count);
  for (size_t i = 0; names && i < records->count; i++) free(names[i]);
  free(names);
  MICA_TRY(status);
  for (size_t k = 0; k < r->numbers + r->categories; k++)
    if (r->at[k] == SIZE_MAX)
      return mica__fail(MICA_E_FORMAT,
                        "%s line %zu: there is no column '%s', but the network was trained on it; the first row names "
                        "the columns",
                        records->name, records->line, name_of(r, k));
  return MICA_OK;
}

/* Columns without names are in the order of the training data. The table may leave out all columns that are not
 * inputs. */
static void find_positions(rows *r) {
  const size_t inputs = r->numbers + r->categories;
  const bool alone = r->records.count == inputs;
  for (size_t k = 0; k < inputs + r->answers; k++) {
    const size_t position = strtoul(name_of(r, k), NULL, 10);
    size_t before = 0;
    for (size_t j = 0; j < inputs; j++) before += strtoul(name_of(r, j), NULL, 10) < position;
    if (!alone)
      r->at[k] = *name_of(r, k) ? position : SIZE_MAX;
    else if (k < inputs)
      r->at[k] = before;
  }
}

static mica_status find_columns(rows *r) {
  const size_t inputs = r->numbers + r->categories;
  bool found = false, positions = true;
  MICA_TRY(mica__records_find_delimiter(&r->records));
  MICA_TRY(mica__records_next(&r->records, &found));
  if (!found) return mica__fail(MICA_E_FORMAT, "%s holds no row", r->records.name);
  r->columns = r->records.count;
  for (size_t k = 0; k < inputs + r->answers; k++) r->at[k] = SIZE_MAX;
  for (size_t k = 0; k < inputs; k++) positions = positions && mica__is_position(name_of(r, k));
  r->header = !positions;
  if (r->header) return find_named(r);
  find_positions(r);
  mica__records_rewind(&r->records);
  for (size_t k = 0; k < inputs; k++)
    if (r->at[k] >= r->columns)
      return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the network reads column %s, counted from 0",
                        r->records.name, r->records.line, r->columns, name_of(r, k));
  return MICA_OK;
}

static mica_status fail_class(rows *r, size_t k, const char *const *names, size_t count) {
  mica__text list = {0};
  for (size_t j = 0; j < count && j < 20; j++) mica__text_addf(&list, j ? ", %s" : "%s", names[j]);
  mica__fail(MICA_E_FORMAT,
             "%s line %zu: the column '%s' holds the unknown class '%s'; the run was trained on %zu: %s%s",
             r->records.name, r->records.line, name_of(r, k), r->text, count, list.data ? list.data : "none",
             count > 20 ? ", ..." : "");
  mica__text_free(&list);
  return MICA_E_FORMAT;
}

static mica_status take_category(rows *r, size_t k, mica__category category, int32_t *class_index) {
  size_t found = 0;
  MICA_TRY(mica__run_find_class(&r->records.cells[r->at[k]], category.names, category.classes, &r->text, &r->capacity,
                                &found));
  *class_index = found < category.classes ? (int32_t)found : -1;
  if (*class_index >= 0 || r->strange[k]++) return MICA_OK;
  r->first[k] = mica__strdup(r->text);
  return r->first[k] ? MICA_OK : mica__fail_nomem("rows");
}

static mica_status take_number(rows *r, size_t k, float *to) {
  const mica__records *records = &r->records;
  const mica__cell cell = records->cells[r->at[k]];
  double number = 0;
  if (!mica__cell_number(cell, &number)) {
    if (!r->fills || !mica__cell_is_missing(cell))
      return mica__fail(MICA_E_FORMAT, "%s line %zu: the cell of column '%s' is not a number from -3.4e38 to 3.4e38",
                        records->name, records->line, name_of(r, k));
    number = r->fills[k];
    r->strange[k]++;
  }
  *to = (float)(number - mica__run_number_base(r->run, k));
  return MICA_OK;
}

/* Reports missing numbers that were replaced, and classes that training did not see. */
static mica_status remark_strange(const rows *r) {
  mica__text text = {0};
  for (size_t k = 0; k < r->numbers; k++)
    if (r->strange[k])
      mica__text_addf(&text, "%s%zu of '%s' become %.6g", text.length ? ", " : "", r->strange[k], name_of(r, k),
                      r->fills[k]);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK && text.length)
    status = mica__run_remark(r->run, "%s: missing cells: %s", r->records.name, text.data);
  mica__text_free(&text);
  for (size_t k = r->numbers; status == MICA_OK && k < r->numbers + r->categories; k++)
    if (r->strange[k])
      status = mica__run_remark_class(r->run, r->records.name, name_of(r, k), r->strange[k], r->first[k]);
  return status;
}

/* Reads answer k of the row. *truth stays as it is if the table does not have the answer, or if its cell is empty or
 * says that it is missing. */
static mica_status take_truth(rows *r, size_t k, double *truth) {
  size_t class_index = 0;
  const mica__fact_texts names = mica__common_facts_of(r->run).classes;
  double number = 0;
  if (r->at[k] >= r->columns || mica__cell_is_empty(r->records.cells[r->at[k]])) return MICA_OK;
  const bool missing = mica__cell_is_missing(r->records.cells[r->at[k]]);
  if (names.count && r->answers == 1 && !(mica__common_facts_of(r->run).several > 0)) {
    MICA_TRY(mica__run_find_class(&r->records.cells[r->at[k]], names.list, names.count, &r->text, &r->capacity,
                                  &class_index));
    if (class_index == names.count) return missing ? MICA_OK : fail_class(r, k, names.list, names.count);
    *truth = (double)class_index;
  } else if (missing) {
    return MICA_OK;
  } else if (mica__cell_number(r->records.cells[r->at[k]], &number)) {
    *truth = number;
  } else {
    return mica__fail(MICA_E_FORMAT, "%s line %zu: the cell of column '%s' is not a number from -3.4e38 to 3.4e38",
                      r->records.name, r->records.line, name_of(r, k));
  }
  return MICA_OK;
}

static mica_status take_row(rows *r, mica__category_rows *s, int64_t i) {
  const mica__records *records = &r->records;
  if (records->count != r->columns)
    return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the first row has %zu", records->name,
                      records->line, records->count, r->columns);
  for (size_t k = 0; k < r->numbers; k++) MICA_TRY(take_number(r, k, &s->numbers[(size_t)i * r->numbers + k]));
  for (size_t k = 0; k < r->categories; k++)
    MICA_TRY(
        take_category(r, r->numbers + k, mica__run_category(r->run, k), &s->categories[(size_t)i * r->categories + k]));
  for (size_t k = 0; k < r->answers; k++)
    MICA_TRY(take_truth(r, r->numbers + r->categories + k, &s->truths[(size_t)i * r->answers + k]));
  s->lines[i] = (long long)records->line;
  return MICA_OK;
}

static mica_status read_all(rows *r, int64_t lines, mica__category_rows *s) {
  int64_t count = 0;
  MICA_TRY(find_columns(r));
  s->numbers = calloc((size_t)lines * r->numbers + 1, sizeof *s->numbers);
  s->categories = calloc((size_t)lines * r->categories + 1, sizeof *s->categories);
  s->truths = calloc((size_t)lines * r->answers + 1, sizeof *s->truths);
  s->lines = calloc((size_t)lines + 1, sizeof *s->lines);
  if (!s->numbers || !s->categories || !s->truths || !s->lines) return mica__fail_nomem("rows");
  for (size_t i = 0; i < (size_t)lines * r->answers; i++) s->truths[i] = NAN;
  for (bool found = false;; count++) {
    MICA_TRY(mica__records_next(&r->records, &found));
    if (!found) break;
    MICA_TRY(take_row(r, s, count));
  }
  s->count = count;
  MICA_TRY(mica__run_remark_passed(r->run, r->records.name, r->records.passed));
  MICA_TRY(remark_strange(r));
  return count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s holds no row", r->records.name);
}

mica_status mica__category_rows_read(mica_run *run, const char *name, char *text, mica__category_rows *s) {
  int64_t lines = 1;
  size_t width = 0;
  const double *input = mica__common_facts_of(run).input.list;
  rows r = {.run = run, .categories = mica__run_categories(run), .answers = mica__truth_count(run)};
  const mica__fact_numbers fills = mica__common_facts_of(run).fills;
  r.numbers = mica__common_facts_of(run).numbers.count;
  if (input) width = (size_t)input[0];
  if (r.numbers != width)
    return mica__fail(MICA_E_UNSUPPORTED, "the run does not hold the names of its columns, so it cannot read rows");
  for (const char *c = text; *c; c++) lines += *c == '\n';
  if (fills.count == r.numbers) r.fills = fills.list;
  r.at = calloc(r.numbers + r.categories + r.answers, sizeof *r.at);
  r.strange = calloc(r.numbers + r.categories + 1, sizeof *r.strange);
  r.first = calloc(r.numbers + r.categories + 1, sizeof *r.first);
  r.records = mica__records_in(name, text, strlen(text));
  mica_status status = r.at && r.strange && r.first ? read_all(&r, lines, s) : mica__fail_nomem("rows");
  mica__records_free(&r.records);
  for (size_t k = 0; r.first && k < r.numbers + r.categories; k++) free(r.first[k]);
  free(r.first);
  free(r.strange);
  free(r.at);
  free(r.text);
  return status;
}

void mica__category_rows_free(mica__category_rows *s) {
  free(s->numbers);
  free(s->categories);
  free(s->truths);
  free(s->lines);
  *s = (mica__category_rows){0};
}
