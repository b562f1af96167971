/* Predictions as a CSV table. A column is added when the first sample needs it. Lines before that have fewer cells;
 * when the table is written, they get empty cells at their end. */
#include "cli/prediction_csv.h"
#include "cli/picture.h"

#include <math.h>
#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct buffer {
  char *data;
  size_t size, capacity;
} buffer;

typedef struct line {
  size_t end; /* offset of its end in the text of all lines */
  size_t cells;
} line;

struct cli_csv {
  const char *const *classes; /* of the run */
  size_t class_count;
  char **columns, **cells; /* column names, and the cells of the current line; NULL: empty */
  size_t column_count, at; /* at: the column with which find_column begins its next search */
  buffer text;
  line *lines;
  size_t line_count, line_room;
  bool failed;
};

/* --- text --- */

static void append(cli_csv *csv, buffer *b, const char *bytes, size_t count) {
  if (csv->failed) return;
  if (count > b->capacity - b->size) {
    const size_t capacity = 2 * b->capacity + count + 256;
    char *grown = realloc(b->data, capacity);
    csv->failed = !grown;
    if (!grown) return;
    b->data = grown;
    b->capacity = capacity;
  }
  memcpy(b->data + b->size, bytes, count);
  b->size += count;
}

/* Appends a field, in quotes if a reader could split or trim it. */
static void append_field(cli_csv *csv, buffer *b, const char *field) {
  const size_t length = strlen(field);
  const bool plain = !strpbrk(field, ",;\"\r\n\t") && *field != ' ' && (!length || field[length - 1] != ' ');
  if (plain) {
    append(csv, b, field, length);
    return;
  }
  append(csv, b, "\"", 1);
  for (; *field; field++) append(csv, b, *field == '"' ? "\"\"" : field, *field == '"' ? 2 : 1);
  append(csv, b, "\"", 1);
}

/* --- cells --- */

static char *copy(cli_csv *csv, const char *text) {
  char *made = malloc(strlen(text) + 1);
  csv->failed = csv->failed || !made;
  return made ? strcpy(made, text) : NULL;
}

/* Returns the index of the column with this name, and adds the column if it is new. The search begins after the column
 * that was found last, because most lines have their columns in the same order. SIZE_MAX if memory is short. */
static size_t find_column(cli_csv *csv, const char *name) {
  if (csv->failed) return SIZE_MAX;
  for (size_t k = 0; k < csv->column_count; k++) {
    const size_t i = (csv->at + k) % csv->column_count;
    if (!strcmp(csv->columns[i], name)) return csv->at = i + 1, i;
  }
  char **columns = realloc(csv->columns, (csv->column_count + 1) * sizeof *columns);
  if (columns) csv->columns = columns;
  char **cells = columns ? realloc(csv->cells, (csv->column_count + 1) * sizeof *cells) : NULL;
  if (cells) csv->cells = cells;
  char *own = cells ? copy(csv, name) : NULL;
  csv->failed = csv->failed || !own;
  if (csv->failed) {
    free(own);
    return SIZE_MAX;
  }
  csv->columns[csv->column_count] = own;
  csv->cells[csv->column_count] = NULL;
  csv->at = csv->column_count + 1;
  return csv->column_count++;
}

static void set(cli_csv *csv, const char *column, const char *text) {
  const size_t i = find_column(csv, column);
  if (csv->failed) return;
  free(csv->cells[i]);
  csv->cells[i] = copy(csv, text);
}

static void set_number(cli_csv *csv, const char *column, double number) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", number);
  set(csv, column, isfinite(number) ? text : "");
}

/* Sets the column of a class, such as "p_cat" (its probability) or "share_cat" (its share of a mask). number NULL: only
 * adds the column. */
static void set_class(cli_csv *csv, const char *prefix, const char *name, const double *number) {
  buffer b = {0};
  append(csv, &b, prefix, strlen(prefix));
  append(csv, &b, name, strlen(name) + 1);
  if (!csv->failed && number)
    set_number(csv, b.data, *number);
  else if (!csv->failed)
    find_column(csv, b.data);
  free(b.data);
}

static void clear_cells(cli_csv *csv) {
  for (size_t i = 0; i < csv->column_count; i++) {
    free(csv->cells[i]);
    csv->cells[i] = NULL;
  }
  csv->at = 0;
}

/* Adds a line with the current cells. The cells keep their texts, so that the next line of the same sample repeats
 * them. */
static void end_line(cli_csv *csv) {
  if (csv->failed) return;
  if (csv->line_count == csv->line_room) {
    const size_t room = 2 * csv->line_room + 64;
    line *lines = realloc(csv->lines, room * sizeof *lines);
    csv->failed = !lines;
    if (!lines) return;
    csv->lines = lines;
    csv->line_room = room;
  }
  for (size_t i = 0; i < csv->column_count; i++) {
    if (i) append(csv, &csv->text, ",", 1);
    append_field(csv, &csv->text, csv->cells[i] ? csv->cells[i] : "");
  }
  csv->lines[csv->line_count++] = (line){csv->text.size, csv->column_count};
}

/* --- items --- */

/* Adds the item's number for each class, in columns that have the order of the run's classes. Does nothing if the item
 * lacks some of the run's classes, or if the run has more than CLI_CSV_CLASSES. */
static void add_classes(cli_csv *csv, const char *prefix, const mica_item *item) {
  if (item->rows != csv->class_count) return;
  for (size_t i = 0; i < csv->class_count; i++) set_class(csv, prefix, csv->classes[i], NULL);
  for (size_t i = 0; i < item->rows; i++) set_class(csv, prefix, item->row_names[i], &item->numbers[i]);
}

static void add_choices(cli_csv *csv, const mica_item *item) {
  if (!strcmp(item->name, "shares")) {
    add_classes(csv, "share_", item);
    return;
  }
  find_column(csv, "prediction");
  find_column(csv, "probability");
  if (item->rows) set(csv, "prediction", item->row_names[0]);
  if (item->rows) set_number(csv, "probability", item->numbers[0]);
  add_classes(csv, "p_", item);
}

/* Sets the column `name` to a list of labels, separated by semicolons: the predicted labels if column is 1, the true
 * labels if it is 2. */
static void set_chosen(cli_csv *csv, const char *name, const mica_item *item, size_t column) {
  buffer b = {0};
  for (size_t i = 0; i < item->rows; i++) {
    if (!(item->numbers[i * item->columns + column] > 0)) continue;
    if (b.size) append(csv, &b, ";", 1);
    append(csv, &b, item->row_names[i], strlen(item->row_names[i]));
  }
  append(csv, &b, "", 1);
  if (!csv->failed) set(csv, name, b.data);
  free(b.data);
}

static void add_labels(cli_csv *csv, const mica_item *item) {
  set_chosen(csv, "prediction", item, 1);
  for (size_t i = 0; i < item->rows; i++) set_class(csv, "p_", item->row_names[i], &item->numbers[i * item->columns]);
  if (item->rows && !isnan(item->numbers[2])) set_chosen(csv, "truth", item, 2);
}

/* The column of an item: "prediction" for a number, a recording's text or a translation, else the item's name. */
static const char *column_of(const mica_item *item) {
  static const char *const predicted[] = {"value", "text", "translation"};
  for (size_t i = 0; i < sizeof predicted / sizeof *predicted; i++)
    if (!strcmp(item->name, predicted[i])) return "prediction";
  return item->name;
}

static void add_item(cli_csv *csv, const mica_item *item) {
  switch (item->kind) {
  case MICA_ITEM_KIND_NUMBER: set_number(csv, column_of(item), item->number); break;
  case MICA_ITEM_KIND_TEXT: set(csv, column_of(item), item->text); break;
  case MICA_ITEM_KIND_NUMBERS:
    for (size_t i = 0; i < item->rows; i++) {
      char name[96];
      snprintf(name, sizeof name, "%.64s_%zu", item->name, i + 1);
      set_number(csv, name, item->numbers[i]);
    }
    break;
  case MICA_ITEM_KIND_CHOICES: add_choices(csv, item); break;
  case MICA_ITEM_KIND_LABELS: add_labels(csv, item); break;
  case MICA_ITEM_KIND_BOXES:
  case MICA_ITEM_KIND_TABLE:
  case MICA_ITEM_KIND_MATRIX:
  case MICA_ITEM_KIND_CURVE:
  case MICA_ITEM_KIND_POINTS:
  case MICA_ITEM_KIND_PICTURE:
  case MICA_ITEM_KIND_FILE: break;
  }
}

static const char *const sides[] = {"x0", "y0", "x1", "y1", "score", "id"};

/* Adds the columns of boxes, which exist even if no picture has a box. */
static void add_box_columns(cli_csv *csv, const mica_item *item) {
  find_column(csv, "prediction");
  for (size_t k = 0; k < item->columns; k++) find_column(csv, sides[k]);
}

/* Adds a line per box; a picture without boxes has one line. */
static void add_boxes(cli_csv *csv, const mica_item *item) {
  for (size_t i = 0; i < item->rows; i++) {
    set(csv, "prediction", item->row_names[i]);
    for (size_t k = 0; k < item->columns; k++) set_number(csv, sides[k], item->numbers[item->columns * i + k]);
    end_line(csv);
  }
  if (!item->rows) end_line(csv);
}

/* Sets the columns truth_NAME of a row of true numbers. */
static void add_truths(cli_csv *csv, const mica_item *truth, size_t row) {
  for (size_t c = 0; c < truth->columns; c++) {
    buffer b = {0};
    append(csv, &b, "truth_", strlen("truth_"));
    append(csv, &b, truth->column_names[c], strlen(truth->column_names[c]) + 1);
    if (!csv->failed) set_number(csv, b.data, truth->numbers[row * truth->columns + c]);
    free(b.data);
  }
}

/* Adds a line per row of a table, such as a forecast. truth: a table with the true numbers, which are added to the
 * lines as columns truth_NAME; NULL if they are not known. */
static void add_rows(cli_csv *csv, const mica_item *item, const mica_item *truth) {
  for (size_t r = 0; r < item->rows; r++) {
    if (item->row_names) set(csv, "row", item->row_names[r]);
    for (size_t c = 0; c < item->columns; c++) {
      const size_t at = r * item->columns + c;
      const bool text = item->texts && !(item->number_columns && item->number_columns[c]);
      if (text)
        set(csv, item->column_names[c], item->texts[at]);
      else
        set_number(csv, item->column_names[c], item->numbers[at]);
    }
    if (truth && r < truth->rows) add_truths(csv, truth, r);
    end_line(csv);
  }
}

/* Writes the title "row 7" of a table's sample as 7 in a column "row", other titles in a column "name". */
static void add_title(cli_csv *csv, const char *title) {
  const bool row = !strncmp(title, "row ", 4) && title[4] && strspn(title + 4, "0123456789") == strlen(title + 4);
  set(csv, row ? "row" : "name", row ? title + 4 : title);
}

/* Adds the paths of a sample's picture files. */
static void add_files(cli_csv *csv, const mica_report *p, size_t sample, const char *folder, const char *name) {
  for (size_t i = 0; i < mica_report_item_count(p, sample); i++) {
    const mica_item *item = mica_report_item(p, sample, i);
    char path[CLI_PICTURE_PATH];
    if (cli_picture_is_written(item) && cli_picture_path(path, folder, name, item)) set(csv, item->name, path);
  }
}

/* The place of an item in the order of columns: 0 for choices and labels, 1 for other items, 2 for the truth. */
static int order_of(const mica_item *item) {
  if (item->kind == MICA_ITEM_KIND_CHOICES || item->kind == MICA_ITEM_KIND_LABELS) return 0;
  return strcmp(item->name, "truth") ? 1 : 2;
}

void cli_csv_add(cli_csv *csv, const mica_report *p, const char *folder, char *const *names) {
  for (size_t s = 0; s < mica_report_count(p); s++) {
    const mica_item *list = NULL, *truth = NULL;
    const bool labels = mica_report_find(p, s, "labels") != NULL;
    clear_cells(csv);
    add_title(csv, mica_report_title(p, s));
    for (int order = 0; order < 3; order++)
      for (size_t i = 0; i < mica_report_item_count(p, s); i++) {
        const mica_item *item = mica_report_item(p, s, i);
        const bool rows = item->kind == MICA_ITEM_KIND_BOXES || item->kind == MICA_ITEM_KIND_TABLE;
        if (rows && order_of(item) == 2) truth = item;
        if (rows && order_of(item) != 2) list = item;
        if (order_of(item) == order && !(labels && item->kind == MICA_ITEM_KIND_CHOICES)) add_item(csv, item);
      }
    if (list && list->kind == MICA_ITEM_KIND_BOXES) add_box_columns(csv, list);
    if (folder) add_files(csv, p, s, folder, names[s]);
    if (!list)
      end_line(csv);
    else if (list->kind == MICA_ITEM_KIND_BOXES)
      add_boxes(csv, list);
    else
      add_rows(csv, list, truth);
  }
}

/* --- the table --- */

cli_csv *cli_csv_create(const mica_run *run) {
  cli_csv *csv = calloc(1, sizeof *csv);
  if (!csv) return NULL;
  csv->classes = mica_run_fact(run, "classes", &csv->class_count);
  if (csv->class_count > CLI_CSV_CLASSES) csv->class_count = 0;
  return csv;
}

int cli_csv_write(const cli_command *self, const cli_csv *csv, const char *path) {
  cli_csv all = {.failed = csv->failed};
  size_t from = 0;
  for (size_t i = 0; i < csv->column_count; i++) {
    if (i) append(&all, &all.text, ",", 1);
    append_field(&all, &all.text, csv->columns[i]);
  }
  append(&all, &all.text, "\n", 1);
  for (size_t l = 0; l < csv->line_count; l++) {
    append(&all, &all.text, csv->text.data + from, csv->lines[l].end - from);
    for (size_t i = csv->lines[l].cells; i < csv->column_count; i++) append(&all, &all.text, ",", 1);
    append(&all, &all.text, "\n", 1);
    from = csv->lines[l].end;
  }
  int status = all.failed ? cli_fail(self, "there is not enough memory") : CLI_OK;
  if (status == CLI_OK && !strcmp(path, "-"))
    fwrite(all.text.data, 1, all.text.size, stdout);
  else if (status == CLI_OK && mica_file_write(path, all.text.data, all.text.size) != MICA_OK)
    status = cli_fail_library(self);
  free(all.text.data);
  return status;
}

void cli_csv_destroy(cli_csv *csv) {
  if (!csv) return;
  clear_cells(csv);
  for (size_t i = 0; i < csv->column_count; i++) free(csv->columns[i]);
  free(csv->columns);
  free(csv->cells);
  free(csv->text.data);
  free(csv->lines);
  free(csv);
}
