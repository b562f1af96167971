#include "cli/result.h"

#include "cli/number.h"
#include "cli/picture.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Only this number of rows of a table is printed. */
#define MOST_ROWS 40
#define PICTURES_A_ROW 5

/* Bytes of a cleaned text, with its NUL. */
#define TEXT 1024

static char *next_text(void) {
  static char texts[8][TEXT];
  static int at;
  return texts[at = (at + 1) % 8];
}

const char *cli_one_line(const char *s) {
  char *text = next_text(), *to = text;
  for (const char *c = s; *c && to < text + TEXT - 1; c++) {
    const bool blank = *c == ' ' || (*c >= '\t' && *c <= '\r');
    if (!blank)
      *to++ = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    else if (to > text && to[-1] != ' ')
      *to++ = ' ';
  }
  *to = '\0';
  return text;
}

const char *cli_clean(const char *s) {
  char *text = next_text();
  snprintf(text, TEXT, "%s", s);
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  return text;
}

void cli_print_clean(const char *s, size_t n) {
  for (size_t i = 0; i < n; i++) putchar((unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i]);
}

/* True for a metric that is shown in per cent. */
static bool is_share(const char *name) {
  static const char *const shares[] = {"accuracy", "top_5", "f1", "precision", "recall", "map"};
  if (!strncmp(name, "map_", 4) || !strncmp(name, "ap_50_", 6)) return true;
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
    if (!strcmp(shares[i], name)) return true;
  return false;
}

const char *cli_format_metric(const char *name, double value, char text[CLI_METRIC_TEXT]) {
  snprintf(text, CLI_METRIC_TEXT, is_share(name) ? "%.40s %.2f %%" : "%.40s %.4g", name,
           is_share(name) ? 100 * value : value);
  return text;
}

const char *cli_first_metric(const mica_run *run, const mica_metrics *m) {
  const char *first = mica_task_metrics(mica_run_task(run))[0].name;
  return isnan(mica_metrics_get(m, first)) && m->count ? m->values[0].name : first;
}

void cli_print_metrics(FILE *out, const char *part, const mica_run *run, const mica_metrics *m) {
  char text[CLI_METRIC_TEXT];
  const char *first = cli_first_metric(run, m);
  int column = fprintf(out, "\n%s%s %s%s  (loss %.4f", cli_colour_code(CLI_BOLD), part,
                       cli_format_metric(first, mica_metrics_get(m, first), text), cli_colour_code(CLI_PLAIN), m->loss);
  for (int32_t i = 0; i < m->count; i++) {
    if (!strcmp(m->values[i].name, first)) continue;
    cli_format_metric(m->values[i].name, m->values[i].value, text);
    if (column + (int)strlen(text) > 76)
      column = fprintf(out, ",\n  ") - 2, fputs("  ", out);
    else
      column += fprintf(out, ", ");
    column += fprintf(out, "%s", text);
  }
  fprintf(out, ", %" PRId64 " sample%s)\n", m->samples, m->samples == 1 ? "" : "s");
}

/* --- tables --- */

/* The width of a column: its name's, at least 11 and at most 16. */
static int width_of(const mica_item *item, size_t column) {
  const size_t length = item->column_names ? strlen(item->column_names[column]) : 0;
  return length < 11 ? 11 : length < 16 ? (int)length : 16;
}

static void print_cell(FILE *out, const mica_item *item, size_t row, size_t column) {
  const size_t at = row * item->columns + column;
  const int width = width_of(item, column);
  if (item->texts)
    fprintf(out, " %*.*s", width, width, cli_clean(item->texts[at]));
  else if (isnan(item->numbers[at]))
    fprintf(out, " %*s", width, "");
  else if (item->column_names && is_share(item->column_names[column]))
    fprintf(out, " %*.1f %%", width - 2, 100 * item->numbers[at]);
  else
    fprintf(out, " %*.*g", width, cli_digits(item->numbers[at]), item->numbers[at]);
}

static void print_table(FILE *out, const mica_item *item) {
  fprintf(out, "\n  %-20.20s", item->name);
  for (size_t c = 0; item->column_names && c < item->columns; c++)
    fprintf(out, " %*.*s", width_of(item, c), width_of(item, c), item->column_names[c]);
  fputc('\n', out);
  for (size_t r = 0; r < item->rows && r < MOST_ROWS; r++) {
    fprintf(out, "  %-20.20s", item->row_names ? cli_clean(item->row_names[r]) : "");
    for (size_t c = 0; c < item->columns; c++) print_cell(out, item, r, c);
    fputc('\n', out);
  }
  if (item->rows > MOST_ROWS) fprintf(out, "  ... %zu more\n", item->rows - MOST_ROWS);
}

void cli_print_tables(FILE *out, const mica_report *report) {
  for (size_t s = 0; s < mica_report_count(report); s++)
    for (size_t i = 0; i < mica_report_item_count(report, s); i++) {
      const mica_item *item = mica_report_item(report, s, i);
      if (item->kind == MICA_ITEM_KIND_TABLE) print_table(out, item);
    }
}

/* --- JSON --- */

static void add_cell(cli_json *json, cJSON *parent, const char *key, const mica_item *item, size_t at) {
  if (item->texts && !(item->number_columns && item->number_columns[at % item->columns]))
    cli_json_text(json, parent, key, item->texts[at]);
  else if (item->kind == MICA_ITEM_KIND_MATRIX)
    cli_json_integer(json, parent, key, (uint64_t)item->numbers[at]);
  else
    cli_json_real(json, parent, key, item->numbers[at]);
}

/* Adds a table as a list of objects, a matrix as a list of lists. */
static void add_table(cli_json *json, const mica_item *item) {
  const bool table = item->kind == MICA_ITEM_KIND_TABLE;
  cJSON *rows = cli_json_array(json, json->root, item->name);
  for (size_t r = 0; r < item->rows; r++) {
    cJSON *row = table ? cli_json_object(json, rows, NULL) : cli_json_array(json, rows, NULL);
    if (table && item->row_names) cli_json_text(json, row, "name", item->row_names[r]);
    for (size_t c = 0; c < item->columns; c++)
      add_cell(json, row, table ? item->column_names[c] : NULL, item, r * item->columns + c);
  }
}

static void add_metrics(cli_json *json, const mica_metrics *m) {
  cJSON *metrics = cli_json_object(json, json->root, "metrics");
  cli_json_integer(json, metrics, "samples", (uint64_t)m->samples);
  cli_json_real(json, metrics, "loss", m->loss);
  for (int32_t i = 0; i < m->count; i++) cli_json_real(json, metrics, m->values[i].name, m->values[i].value);
}

int cli_print_stopped(const cli_command *self, const char *task, mica_part part, const mica_metrics *metrics) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "task", task);
  cli_json_bool(&json, json.root, "stopped", true);
  if (metrics->samples) {
    cli_json_text(&json, json.root, "part", mica_part_name(part));
    add_metrics(&json, metrics);
  }
  return cli_json_print_line(&json, self);
}

int cli_print_json(const cli_command *self, const mica_run *run, const char *part, const mica_metrics *m,
                   const mica_report *report) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "task", mica_run_task(run));
  cli_json_text(&json, json.root, "part", part);
  if (mica_run_evaluated_changed(run)) cli_json_bool(&json, json.root, "data_changed", true);
  add_metrics(&json, m);
  if (mica_run_weights_epoch(run) > 0)
    cli_json_integer(&json, json.root, "epoch", (uint64_t)mica_run_weights_epoch(run));
  for (size_t s = 0; s < mica_report_count(report); s++)
    for (size_t i = 0; i < mica_report_item_count(report, s); i++) {
      const mica_item *item = mica_report_item(report, s, i);
      if (item->kind == MICA_ITEM_KIND_TABLE || item->kind == MICA_ITEM_KIND_MATRIX) add_table(&json, item);
    }
  return cli_json_print_line(&json, self);
}

/* --- predictions --- */

static void print_number(double number) { printf(" %.*g", cli_digits(number), number); }

/* Prints the labels that are 1 in one column; "nothing" if there are none. */
static void print_chosen(const mica_item *item, size_t column) {
  bool some = false;
  for (size_t i = 0; i < item->rows; i++)
    if (item->numbers[i * item->columns + column] > 0) {
      printf("%s%s", some ? ", " : " ", cli_clean(item->row_names[i]));
      some = true;
    }
  if (!some) fputs(" nothing", stdout);
}

/* Prints the labels of a sample, and whether they are right if the truth is known. */
static void print_labels(const mica_item *item) {
  bool known = false, right = true;
  for (size_t i = 0; i < item->rows; i++) {
    known = known || !isnan(item->numbers[3 * i + 2]);
    right = right && item->numbers[3 * i + 1] == item->numbers[3 * i + 2];
  }
  fputs("  says", stdout);
  print_chosen(item, 1);
  if (!known) return;
  printf("  %s%s", cli_colour_code(right ? CLI_GREEN : CLI_RED), right ? "right" : "wrong: it is");
  if (!right) print_chosen(item, 2);
  fputs(cli_colour_code(CLI_PLAIN), stdout);
}

static void print_box(const char *name, const double *box, size_t columns) {
  printf("\n    %s %.1f %%  (%.0f, %.0f) to (%.0f, %.0f)", cli_clean(name), 100 * box[4], box[0], box[1], box[2],
         box[3]);
  if (columns > 5 && isfinite(box[5])) printf("  id %.0f", box[5]);
}

static void print_item(const mica_item *item) {
  switch (item->kind) {
  case MICA_ITEM_KIND_NUMBER:
    printf("  %s", item->name);
    print_number(item->number);
    break;
  case MICA_ITEM_KIND_TEXT:
    printf("  ");
    cli_print_clean(item->text, strlen(item->text));
    break;
  case MICA_ITEM_KIND_NUMBERS:
    printf("  %s", item->name);
    for (size_t i = 0; i < item->rows; i++) print_number(item->numbers[i]);
    break;
  case MICA_ITEM_KIND_CHOICES:
    for (size_t i = 0; i < item->rows; i++)
      printf("%s%s %.1f %%", i ? ", " : "  ", cli_clean(item->row_names[i]), 100 * item->numbers[i]);
    break;
  case MICA_ITEM_KIND_LABELS: print_labels(item); break;
  case MICA_ITEM_KIND_BOXES:
    if (!item->rows && item->text) printf("  %s", cli_clean(item->text));
    for (size_t i = 0; i < item->rows; i++)
      print_box(item->row_names[i], item->numbers + item->columns * i, item->columns);
    break;
  case MICA_ITEM_KIND_TABLE: print_table(stdout, item); break;
  case MICA_ITEM_KIND_MATRIX:
  case MICA_ITEM_KIND_CURVE:
  case MICA_ITEM_KIND_POINTS:
  case MICA_ITEM_KIND_PICTURE:
  case MICA_ITEM_KIND_FILE: break;
  }
}

/* Prints "right" if the likeliest class is the true one, else "wrong" and the true class. */
static void print_verdict(const mica_item *truth, const mica_item *classes) {
  const bool right = classes->rows && !strcmp(classes->row_names[0], truth->text);
  printf("  %s%s%s%s", cli_colour_code(right ? CLI_GREEN : CLI_RED), right ? "right" : "wrong: it is ",
         right ? "" : cli_clean(truth->text), cli_colour_code(CLI_PLAIN));
}

#define TITLE_WIDTH 24
static void print_sample(const mica_report *p, size_t s) {
  const mica_item *truth = mica_report_find(p, s, "truth"), *classes = mica_report_find(p, s, "classes");
  const bool judged = truth && classes && truth->kind == MICA_ITEM_KIND_TEXT && classes->kind == MICA_ITEM_KIND_CHOICES;
  const char *title = mica_report_title(p, s);
  cli_print_clean(title, strlen(title));
  printf("%*s", strlen(title) < TITLE_WIDTH ? TITLE_WIDTH - (int)strlen(title) : 0, "");
  for (size_t i = 0; i < mica_report_item_count(p, s); i++) {
    const mica_item *item = mica_report_item(p, s, i);
    if (!judged || item != truth) print_item(item);
  }
  if (judged) print_verdict(truth, classes);
  putchar('\n');
}

/* The input picture of a sample or, for runs that draw, the drawn picture; NULL if the sample has neither. */
static const mica_item *picture_of(const mica_report *p, size_t s) {
  const mica_item *item = mica_report_find(p, s, "picture");
  return item ? item : mica_report_find(p, s, "drawn");
}

static void print_pictures(const mica_report *p) {
  const size_t all = mica_report_count(p);
  for (size_t from = 0; from < all;) {
    const char *texts[PICTURES_A_ROW];
    const uint8_t *planes[PICTURES_A_ROW];
    const mica_item *first = picture_of(p, from);
    int count = 0;
    for (; from < all && count < PICTURES_A_ROW; from++) {
      const mica_item *item = picture_of(p, from);
      if (!item || !first || !mica_shape_equal(item->shape, first->shape)) break;
      texts[count] = item->text ? cli_clean(item->text) : "";
      planes[count++] = item->planes;
    }
    if (!count) return;
    cli_picture_print(planes, texts, count, (int)first->shape.dim[0], (int)first->shape.dim[1],
                      (int)first->shape.dim[2]);
  }
}

void cli_print_prediction(const mica_report *prediction, bool pictures) {
  if (pictures) print_pictures(prediction);
  for (size_t s = 0; s < mica_report_count(prediction); s++) print_sample(prediction, s);
}
