/* Reports: sections of items, which hold copies of everything that they show; and reports as JSON. */
#include "report/report.h"

#include "base/error.h"
#include "base/json.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct section {
  char *title;
  mica_item *items;
  size_t count;
} section;

struct mica_report {
  section *sections;
  size_t count;
};

mica_status mica_report_create(mica_report **report) {
  if (!report) return mica__fail(MICA_E_INVALID, "mica_report_create: a pointer is NULL");
  *report = calloc(1, sizeof **report);
  return *report ? MICA_OK : mica__fail_nomem("a report");
}

static void free_texts(const char *const *texts, size_t count) {
  for (size_t i = 0; texts && i < count; i++) free((void *)texts[i]);
  free((void *)texts);
}

static void free_item(mica_item *item) {
  free((void *)item->name);
  free((void *)item->text);
  free_texts(item->row_names, item->rows);
  free_texts(item->column_names, item->columns);
  free_texts(item->texts, item->rows * item->columns);
  free((void *)item->numbers);
  free((void *)item->number_columns);
  free((void *)item->planes);
}

void mica__report_clear(mica_report *report) {
  for (size_t i = 0; i < report->count; i++) {
    for (size_t k = 0; k < report->sections[i].count; k++) free_item(&report->sections[i].items[k]);
    free(report->sections[i].items);
    free(report->sections[i].title);
  }
  free(report->sections);
  *report = (mica_report){0};
}

void mica_report_destroy(mica_report *report) {
  if (report) mica__report_clear(report);
  free(report);
}

/* Makes space for one more element of an array, which grows when its count is a power of two; NULL if memory is
 * short. */
static void *grown(void *array, size_t count, size_t size) {
  if (count & (count - 1)) return array;
  return realloc(array, (count ? 2 * count : 1) * size);
}

mica_status mica_report_begin(mica_report *report, const char *title) {
  if (!report || !title) return mica__fail(MICA_E_INVALID, "mica_report_begin: a pointer is NULL");
  char *copy = mica__strdup(title);
  section *sections = copy ? grown(report->sections, report->count, sizeof *sections) : NULL;
  if (!sections) {
    free(copy);
    return mica__fail_nomem("a report");
  }
  report->sections = sections;
  sections[report->count++] = (section){.title = copy};
  return MICA_OK;
}

static bool copy_text(const char **to, const char *from) {
  *to = mica__strdup(from);
  return *to || !from;
}

/* Copies an array of texts. NULL becomes "", an empty cell. Returns false if memory is short. */
static bool copy_texts(const char *const **to, const char *const *from, size_t count) {
  const char **copy = from ? calloc(count + 1, sizeof *copy) : NULL;
  bool good = copy || !from;
  for (size_t i = 0; copy && good && i < count; i++) good = copy_text(&copy[i], from[i] ? from[i] : "");
  *to = copy;
  return good;
}

static bool copy_bytes(const void **to, const void *from, size_t bytes) {
  void *copy = from ? malloc(bytes ? bytes : 1) : NULL;
  if (copy && bytes) memcpy(copy, from, bytes);
  *to = copy;
  return copy || !from;
}

static size_t pixels(const mica_item *item) {
  size_t count = 1;
  for (int32_t i = 0; i < item->shape.rank; i++) count *= (size_t)item->shape.dim[i];
  return count;
}

static bool uses(const mica_item *item) {
  const bool picture = item->planes && item->shape.rank == 3 && (item->shape.dim[0] == 1 || item->shape.dim[0] == 3) &&
                       item->shape.dim[1] > 0 && item->shape.dim[2] > 0;
  switch (item->kind) {
  case MICA_ITEM_KIND_NUMBER: return true;
  case MICA_ITEM_KIND_TEXT: return item->text != NULL;
  case MICA_ITEM_KIND_NUMBERS: return item->columns == 1 && (item->numbers || !item->rows);
  case MICA_ITEM_KIND_CHOICES: return item->columns == 1 && item->numbers && item->row_names;
  case MICA_ITEM_KIND_LABELS: return item->columns == 3 && item->numbers && item->row_names;
  case MICA_ITEM_KIND_TABLE:
    return item->columns > 0 && (item->numbers || (item->texts && !item->number_columns) || !item->rows);
  case MICA_ITEM_KIND_MATRIX: return item->columns > 0 && item->numbers;
  case MICA_ITEM_KIND_CURVE: return item->columns > 1 && item->numbers && item->column_names;
  case MICA_ITEM_KIND_POINTS: return item->columns == 2 && item->numbers && item->column_names && item->row_names;
  case MICA_ITEM_KIND_PICTURE: return picture;
  case MICA_ITEM_KIND_FILE: return item->planes && item->text && item->shape.rank == 1 && item->shape.dim[0] > 0;
  case MICA_ITEM_KIND_BOXES:
    return (picture || !item->planes) &&
           (!item->rows || ((item->columns == 5 || item->columns == 6) && item->numbers && item->row_names));
  }
  return false;
}

mica_status mica_report_add(mica_report *report, const mica_item *item) {
  if (!report || !item) return mica__fail(MICA_E_INVALID, "mica_report_add: a pointer is NULL");
  if (!item->name || !*item->name) return mica__fail(MICA_E_INVALID, "mica_report_add: the item has no name");
  if (!report->count)
    return mica__fail(MICA_E_INVALID, "mica_report_add: the report has no section; call mica_report_begin first");
  if (!uses(item))
    return mica__fail(
        MICA_E_INVALID,
        "mica_report_add: '%s' does not have the content, columns or shape that its kind needs; mica/report.h "
        "describes each kind",
        item->name);
  section *last = &report->sections[report->count - 1];
  const size_t cells = item->rows * item->columns;
  if (item->columns && cells / item->columns != item->rows)
    return mica__fail(MICA_E_OVERFLOW, "mica_report_add: '%s' has too many cells (%zu x %zu)", item->name, item->rows,
                      item->columns);
  mica_item *items = grown(last->items, last->count, sizeof *items), copy = *item;
  if (!items) return mica__fail_nomem("a report");
  last->items = items;
  copy.name = copy.text = NULL;
  copy.row_names = copy.column_names = copy.texts = NULL;
  copy.numbers = NULL;
  copy.number_columns = NULL;
  copy.planes = NULL;
  bool good = copy_text(&copy.name, item->name) && copy_text(&copy.text, item->text);
  good = good && copy_texts(&copy.row_names, item->row_names, item->rows);
  good = good && copy_texts(&copy.column_names, item->column_names, item->columns);
  good = good && copy_texts(&copy.texts, item->texts, cells);
  good = good && copy_bytes((const void **)&copy.numbers, item->numbers, cells * sizeof *item->numbers);
  good = good && copy_bytes((const void **)&copy.number_columns, item->number_columns,
                            item->columns * sizeof *item->number_columns);
  good = good && copy_bytes((const void **)&copy.planes, item->planes, pixels(item));
  if (good)
    items[last->count++] = copy;
  else
    free_item(&copy);
  return good ? MICA_OK : mica__fail_nomem("a report");
}

mica_status mica_report_add_number(mica_report *report, const char *name, double number) {
  return mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_NUMBER, .name = name, .number = number});
}

mica_status mica_report_add_text(mica_report *report, const char *name, const char *text) {
  return mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_TEXT, .name = name, .text = text});
}

size_t mica_report_count(const mica_report *report) { return report ? report->count : 0; }

const char *mica_report_title(const mica_report *report, size_t at) {
  return at < mica_report_count(report) ? report->sections[at].title : NULL;
}

size_t mica_report_item_count(const mica_report *report, size_t at) {
  return at < mica_report_count(report) ? report->sections[at].count : 0;
}

const mica_item *mica_report_item(const mica_report *report, size_t at, size_t index) {
  return index < mica_report_item_count(report, at) ? &report->sections[at].items[index] : NULL;
}

const mica_item *mica_report_find(const mica_report *report, size_t at, const char *name) {
  for (size_t k = 0; name && k < mica_report_item_count(report, at); k++)
    if (!strcmp(report->sections[at].items[k].name, name)) return &report->sections[at].items[k];
  return NULL;
}

/* --- JSON --- */

static void add_cell(mica__text *json, const mica_item *item, size_t at) {
  if (item->texts && !(item->number_columns && item->number_columns[at % item->columns]))
    mica__json_string(json, item->texts[at]);
  else
    mica__json_number(json, item->numbers[at]);
}

/* Writes rows of cells as arrays or, for tables and points with named columns, as objects. */
static void add_rows(mica__text *json, const mica_item *item) {
  const bool named = item->column_names && (item->kind == MICA_ITEM_KIND_TABLE || item->kind == MICA_ITEM_KIND_POINTS);
  mica__text_add(json, "[");
  for (size_t i = 0; i < item->rows; i++) {
    mica__text_add(json, i ? ", " : "");
    mica__text_add(json, named ? "{" : "[");
    if (named && item->row_names) {
      mica__text_add(json, "\"name\": ");
      mica__json_string(json, item->row_names[i]);
    }
    for (size_t k = 0; k < item->columns; k++) {
      if (k || (named && item->row_names)) mica__text_add(json, ", ");
      if (named) {
        mica__json_string(json, item->column_names[k]);
        mica__text_add(json, ": ");
      }
      add_cell(json, item, i * item->columns + k);
    }
    mica__text_add(json, named ? "}" : "]");
  }
  mica__text_add(json, "]");
}

/* Writes whether a label is predicted ("said") and, if known, whether it is true. */
static void add_said(mica__text *json, const double *numbers) {
  mica__text_add(json, numbers[1] != 0 ? ", \"said\": true" : ", \"said\": false");
  if (!isnan(numbers[2])) mica__text_add(json, numbers[2] != 0 ? ", \"true\": true" : ", \"true\": false");
}

/* Writes the predicted labels as a list of names. */
static void add_said_names(mica__text *json, const mica_item *item) {
  bool some = false;
  mica__text_add(json, "[");
  for (size_t i = 0; i < item->rows; i++) {
    if (!(item->numbers[3 * i + 1] > 0)) continue;
    mica__text_add(json, some ? ", " : "");
    mica__json_string(json, item->row_names[i]);
    some = true;
  }
  mica__text_add(json, "]");
}

static void add_named(mica__text *json, const mica_item *item) {
  mica__text_add(json, "[");
  for (size_t i = 0; i < item->rows; i++) {
    mica__text_add(json, i ? ", {\"name\": " : "{\"name\": ");
    mica__json_string(json, item->row_names[i]);
    if (item->kind != MICA_ITEM_KIND_BOXES) {
      mica__text_add(json, ", \"probability\": ");
      mica__json_number(json, item->numbers[i * item->columns]);
      if (item->kind == MICA_ITEM_KIND_LABELS) add_said(json, item->numbers + 3 * i);
    } else {
      const double *box = item->numbers + item->columns * i;
      mica__text_add(json, ", \"box\": [");
      for (size_t k = 0; k < 4; k++) {
        mica__text_add(json, k ? ", " : "");
        mica__json_number(json, box[k]);
      }
      mica__text_add(json, "], \"score\": ");
      mica__json_number(json, box[4]);
      if (item->columns > 5) mica__text_add(json, ", \"id\": ");
      if (item->columns > 5) mica__json_number(json, box[5]);
    }
    mica__text_add(json, "}");
  }
  mica__text_add(json, "]");
}

static void add_item(mica__text *json, const mica_item *item) {
  mica__json_string(json, item->name);
  mica__text_add(json, ": ");
  switch (item->kind) {
  case MICA_ITEM_KIND_NUMBER: mica__json_number(json, item->number); break;
  case MICA_ITEM_KIND_TEXT: mica__json_string(json, item->text); break;
  case MICA_ITEM_KIND_NUMBERS:
    for (size_t i = 0; i < item->rows; i++) {
      mica__text_add(json, i ? ", " : "[");
      mica__json_number(json, item->numbers[i]);
    }
    mica__text_add(json, item->rows ? "]" : "[]");
    break;
  case MICA_ITEM_KIND_CHOICES:
  case MICA_ITEM_KIND_LABELS:
  case MICA_ITEM_KIND_BOXES: add_named(json, item); break;
  case MICA_ITEM_KIND_TABLE:
  case MICA_ITEM_KIND_MATRIX:
  case MICA_ITEM_KIND_CURVE:
  case MICA_ITEM_KIND_POINTS: add_rows(json, item); break;
  case MICA_ITEM_KIND_PICTURE:
  case MICA_ITEM_KIND_FILE: break;
  }
}

static bool has_labels(const section *s) {
  for (size_t k = 0; k < s->count; k++)
    if (s->items[k].kind == MICA_ITEM_KIND_LABELS && !strcmp(s->items[k].name, "labels")) return true;
  return false;
}

static bool has_prediction(const section *s) {
  for (size_t k = 0; k < s->count; k++)
    if (!strcmp(s->items[k].name, "prediction")) return true;
  return false;
}

/* Writes a section's predicted labels, likeliest class, number or text as "prediction", unless an item has that name.
 * If there are labels, the class is left out. */
static void add_prediction(mica__text *json, const section *s) {
  static const char *const plain[] = {"value", "text", "translation"};
  const bool several = has_labels(s);
  if (has_prediction(s)) return;
  for (size_t k = 0; k < s->count; k++) {
    const mica_item *item = &s->items[k];
    bool is = false;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) is = is || !strcmp(item->name, plain[i]);
    const bool choice =
        item->kind == MICA_ITEM_KIND_CHOICES && !strcmp(item->name, "classes") && item->rows && !several;
    const bool labels = item->kind == MICA_ITEM_KIND_LABELS && !strcmp(item->name, "labels");
    is = is && (item->kind == MICA_ITEM_KIND_NUMBER || item->kind == MICA_ITEM_KIND_TEXT);
    if (!choice && !labels && !is) continue;
    mica__text_add(json, ", \"prediction\": ");
    if (choice)
      mica__json_string(json, item->row_names[0]);
    else if (labels)
      add_said_names(json, item);
    else if (item->kind == MICA_ITEM_KIND_TEXT)
      mica__json_string(json, item->text);
    else
      mica__json_number(json, item->number);
    return;
  }
}

mica_status mica_report_json(const mica_report *report, const char *key, const char *head, char **out) {
  mica__text json = {0};
  if (!report || !key || !head || !out) return mica__fail(MICA_E_INVALID, "mica_report_json: a pointer is NULL");
  mica__text_add(&json, "{");
  mica__text_add(&json, head);
  mica__json_string(&json, key);
  mica__text_add(&json, ": [");
  for (size_t i = 0; i < report->count; i++) {
    const section *s = &report->sections[i];
    mica__text_add(&json, i ? ", {\"name\": " : "{\"name\": ");
    mica__json_string(&json, s->title);
    add_prediction(&json, s);
    for (size_t k = 0; k < s->count; k++) {
      if (s->items[k].kind == MICA_ITEM_KIND_PICTURE || s->items[k].kind == MICA_ITEM_KIND_FILE) continue;
      mica__text_add(&json, ", ");
      add_item(&json, &s->items[k]);
    }
    mica__text_add(&json, "}");
  }
  mica__text_add(&json, "]}");
  mica_status status = mica__text_status(&json);
  if (status == MICA_OK)
    *out = json.data;
  else
    mica__text_free(&json);
  return status;
}
