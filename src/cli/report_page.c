#include "cli/report_page.h"
#include "cli/metric_meaning.h"
#include "cli/number.h"
#include "cli/report_chart.h"

#include <math.h>
#include <mica/data.h>
#include <mica/io.h>
#include <mica/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark;--line:#8884;--a:#2563eb;--b:#d97706;--c:#059669;--d:#a855f7}\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--line)}\n"
    "th:first-child,td:first-child,.t{text-align:left}td.t{overflow-wrap:anywhere}.m{opacity:.7}\n"
    ".charts,.pictures{display:flex;flex-wrap:wrap;gap:1.5rem;margin:1rem 0}\n"
    ".scroll{overflow-x:auto}.sample{display:flex;gap:.5rem}\n"
    "svg{max-width:100%;height:auto}.charts svg{overflow:visible;flex:0 1 26rem;min-width:0}svg text{font:11px "
    "system-ui,sans-serif;fill:currentColor}\n"
    "svg .grid{stroke:var(--line)}svg polyline{fill:none;stroke-width:2}\n"
    ".a{stroke:var(--a);fill:var(--a)}.b{stroke:var(--b);fill:var(--b)}\n"
    ".c{stroke:var(--c);fill:var(--c)}.d{stroke:var(--d);fill:var(--d)}\n"
    "figure{margin:0;width:9rem}figure img,figure "
    "svg{width:9rem;max-height:18rem;object-fit:contain;image-rendering:pixelated;background:#000}\n"
    "rect{fill:none;stroke:#f59e0b;stroke-width:2}\n"
    "figcaption{font-size:12px;line-height:1.35;overflow-wrap:anywhere}\n"
    "</style>\n";

static void add_element(FILE *out, const char *tag, const char *text) {
  fprintf(out, "<%s>", tag);
  cli_report_escape(out, text);
  fprintf(out, "</%s>", tag);
}

/* --- tables --- */

static bool is_text(const mica_item *item, size_t column) {
  return item->texts && !(item->number_columns && item->number_columns[column]);
}

static void add_text_cell(FILE *out, const char *text) {
  fputs("<td class=t>", out);
  cli_report_escape(out, text);
  fputs("</td>", out);
}

static void add_cell(FILE *out, const mica_item *item, size_t at) {
  if (is_text(item, at % item->columns))
    add_text_cell(out, item->texts[at]);
  else if (item->texts)
    add_element(out, "td", item->texts[at]);
  else if (isfinite(item->numbers[at]))
    fprintf(out, "<td>%.*g</td>", cli_digits(item->numbers[at]), item->numbers[at]);
  else
    fputs("<td>&ndash;</td>", out);
}

/* Writes a count's cell, shaded by its share of the row: blue, or orange for wrong predictions. */
static void add_count(FILE *out, const mica_item *item, size_t row, size_t column, bool confusion) {
  const double *counts = item->numbers + row * item->columns;
  const bool right = row == column || !confusion;
  double all = 0;
  for (size_t c = 0; c < item->columns; c++) all += counts[c];
  const double share = all > 0 ? counts[column] / all : 0;
  fprintf(out, "<td style=\"background:rgb(%s/%.2f)\">%.0f</td>", right ? "37 99 235" : "217 119 6",
          right ? 0.6 * share : fmin(2 * share, 0.8), counts[column]);
}

static void add_table(FILE *out, const mica_item *item) {
  fputs("<h3>", out);
  cli_report_escape(out, item->name);
  fputs("</h3>\n<div class=scroll><table>\n<tr>", out);
  const bool counts = item->kind == MICA_ITEM_KIND_MATRIX;
  const bool classes = counts && !strcmp(item->name, "confusion");
  if (item->row_names) fputs(classes ? "<th>true &darr; predicted &rarr;</th>" : "<th></th>", out);
  for (size_t c = 0; item->column_names && c < item->columns; c++) {
    fputs(is_text(item, c) ? "<th class=t>" : "<th>", out);
    cli_report_escape(out, item->column_names[c]);
    fputs("</th>", out);
  }
  fputs("</tr>\n", out);
  for (size_t r = 0; r < item->rows; r++) {
    fputs("<tr>", out);
    if (item->row_names) add_element(out, "th", item->row_names[r]);
    for (size_t c = 0; c < item->columns; c++)
      if (counts)
        add_count(out, item, r, c, classes);
      else
        add_cell(out, item, r * item->columns + c);
    fputs("</tr>\n", out);
  }
  fputs("</table></div>\n", out);
}

/* --- pictures --- */

static void add_base64(FILE *out, const uint8_t *data, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    const uint32_t word =
        (uint32_t)data[i] << 16 | (uint32_t)(i + 1 < n ? data[i + 1] : 0) << 8 | (i + 2 < n ? data[i + 2] : 0);
    fputc(digits[word >> 18], out);
    fputc(digits[word >> 12 & 63], out);
    fputc(i + 1 < n ? digits[word >> 6 & 63] : '=', out);
    fputc(i + 2 < n ? digits[word & 63] : '=', out);
  }
}

/* Writes an element with a picture as the value of its last attribute. before: the element up to this value, such as
 * "<img src=". Writes nothing if the item has no picture or the build cannot write PNG. */
static mica_status add_data(FILE *out, const mica_item *item, const char *before) {
  uint8_t *png = NULL;
  size_t bytes = 0;
  if (!item->planes) return MICA_OK;
  mica_status status = mica_png_encode(item->planes, item->shape, &png, &bytes);
  if (status != MICA_OK) return status == MICA_E_UNSUPPORTED ? MICA_OK : status;
  fprintf(out, "%s\"data:image/png;base64,", before);
  add_base64(out, png, bytes);
  fputs("\"/>", out);
  mica_free(png);
  return MICA_OK;
}

static mica_status add_boxes(FILE *out, const mica_item *item) {
  const int width = item->planes ? (int)item->shape.dim[2] : 100, height = item->planes ? (int)item->shape.dim[1] : 100;
  fprintf(out, "<svg viewBox=\"0 0 %d %d\">", width, height);
  mica_status status = add_data(out, item, "<image width=100% height=100% href=");
  for (size_t i = 0; i < item->rows; i++) {
    const double *box = item->numbers + item->columns * i;
    fprintf(out, "<rect x=%.1f y=%.1f width=%.1f height=%.1f><title>", box[0], box[1], box[2] - box[0],
            box[3] - box[1]);
    cli_report_escape(out, item->row_names[i]);
    fprintf(out, " %.3g</title></rect>", box[4]);
  }
  fputs("</svg>", out);
  return status;
}

/* Writes the last two parts of the path of a picture's file. The whole path appears when the mouse is over it. */
static void add_file(FILE *out, const char *path) {
  const char *from = path;
  for (const char *slash = path, *next; (next = strchr(slash, '/')); slash = next + 1)
    if (strchr(next + 1, '/')) from = next + 1;
  fputs("<br><small title=\"", out);
  cli_report_escape(out, path);
  fputs("\">", out);
  cli_report_escape(out, from);
  fputs("</small>", out);
}

static mica_status add_figure(FILE *out, const mica_item *item) {
  fputs("<figure>", out);
  mica_status status =
      item->kind == MICA_ITEM_KIND_BOXES ? add_boxes(out, item) : add_data(out, item, "<img alt=\"\" src=");
  fputs("<figcaption>", out);
  cli_report_escape(out, item->text ? item->text : item->name);
  if (item->text && strchr(item->name, '/')) add_file(out, item->name);
  fputs("</figcaption></figure>\n", out);
  return status;
}

/* --- sections --- */

/* Writes a row of a name and its value. If `task` is not NULL, the item is a metric of this task, and its meaning
 * follows. */
static void add_fact(FILE *out, const mica_item *item, const char *task) {
  const char *suffix = NULL, *meaning = task ? cli_metric_meaning(task, item->name, &suffix) : NULL;
  fputs("<tr>", out);
  add_element(out, "th", item->name);
  if (item->kind == MICA_ITEM_KIND_TEXT)
    add_text_cell(out, item->text);
  else if (isfinite(item->number))
    fprintf(out, "<td class=t>%.*g</td>", cli_digits(item->number), item->number);
  else
    fputs("<td class=t>&ndash;</td>", out);
  if (task) {
    fputs("<td class=\"t m\">", out);
    if (suffix) cli_report_escape(out, suffix);
    fprintf(out, "%s%s</td>", suffix ? ": " : "", meaning ? meaning : "");
  }
  fputs("</tr>\n", out);
}

/* Kinds of HTML elements that contain items. Consecutive items of one group are written into the same element. */
typedef enum group { GROUP_NONE, GROUP_FACTS, GROUP_CHARTS, GROUP_PICTURES } group;

static group group_of(const mica_item *item) {
  switch (item->kind) {
  case MICA_ITEM_KIND_NUMBER:
  case MICA_ITEM_KIND_TEXT: return GROUP_FACTS;
  case MICA_ITEM_KIND_CURVE: return item->rows == 1 ? GROUP_FACTS : GROUP_CHARTS;
  case MICA_ITEM_KIND_POINTS: return GROUP_CHARTS;
  case MICA_ITEM_KIND_PICTURE:
  case MICA_ITEM_KIND_BOXES: return GROUP_PICTURES;
  default: return GROUP_NONE;
  }
}

static mica_status add_item(FILE *out, const mica_item *item, const char *task) {
  switch (item->kind) {
  case MICA_ITEM_KIND_NUMBER:
  case MICA_ITEM_KIND_TEXT: add_fact(out, item, task); return MICA_OK;
  case MICA_ITEM_KIND_CURVE:
    (item->rows == 1 ? cli_report_add_values : cli_report_add_curve)(out, item);
    return MICA_OK;
  case MICA_ITEM_KIND_POINTS: cli_report_add_points(out, item); return MICA_OK;
  case MICA_ITEM_KIND_TABLE:
  case MICA_ITEM_KIND_MATRIX: add_table(out, item); return MICA_OK;
  case MICA_ITEM_KIND_NUMBERS:
  case MICA_ITEM_KIND_CHOICES:
  case MICA_ITEM_KIND_LABELS:
    add_element(out, "h3", item->name);
    for (size_t i = 0; i < item->rows; i++) {
      fputs("<p>", out);
      if (item->row_names) cli_report_escape(out, item->row_names[i]);
      fprintf(out, " %.6g</p>\n", item->numbers[i * item->columns]);
    }
    return MICA_OK;
  case MICA_ITEM_KIND_PICTURE:
  case MICA_ITEM_KIND_BOXES: return add_figure(out, item);
  case MICA_ITEM_KIND_FILE: return MICA_OK;
  }
  return MICA_OK;
}

/* The number of the sample that a picture shows: 7 of "7 predicted" and "7: wrong pixels"; -1 if the name does not
 * begin with a number. */
static long sample_of(const mica_item *item) {
  char *end = NULL;
  const long number = *item->name >= '0' && *item->name <= '9' ? strtol(item->name, &end, 10) : -1;
  return number >= 0 && (*end == ' ' || *end == ':') ? number : -1;
}

/* Ends the line of pictures of sample `open` and begins one for sample `next`; -1: no sample. */
static void change_sample(FILE *out, long *open, long next) {
  if (next == *open) return;
  fputs(*open >= 0 ? "</div>\n" : "", out);
  fputs(next >= 0 ? "<div class=sample>\n" : "", out);
  *open = next;
}

static mica_status add_section(FILE *out, const mica_report *report, size_t s) {
  static const char *const opens[] = {"", "<table>\n", "<div class=charts>\n", "<div class=pictures>\n"};
  static const char *const closes[] = {"", "</table>\n", "</div>\n", "</div>\n"};
  const mica_item *task = mica_report_find(report, 0, "task");
  const bool metrics = task && task->text && !strcmp(mica_report_title(report, s), "Metrics");
  group open = GROUP_NONE;
  long sample = -1;
  mica_status status = MICA_OK;
  add_element(out, "h2", mica_report_title(report, s));
  fputc('\n', out);
  for (size_t i = 0; status == MICA_OK && i < mica_report_item_count(report, s); i++) {
    const mica_item *item = mica_report_item(report, s, i);
    const group next = group_of(item);
    if (next != open) {
      change_sample(out, &sample, -1);
      fputs(closes[open], out);
      fputs(opens[next], out);
      open = next;
    }
    change_sample(out, &sample, next == GROUP_PICTURES ? sample_of(item) : -1);
    status = add_item(out, item, metrics ? task->text : NULL);
  }
  change_sample(out, &sample, -1);
  fputs(closes[open], out);
  return status;
}

static mica_status add_page(FILE *out, const char *given, const mica_report *report) {
  const char *title = given ? given : "Training report";
  mica_status status = MICA_OK;
  fputs("<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
        "<meta name=viewport content=\"width=device-width\">\n",
        out);
  add_element(out, "title", title);
  fputs(style, out);
  fputs("</head><body>\n", out);
  add_element(out, "h1", title);
  for (size_t s = 0; status == MICA_OK && s < mica_report_count(report); s++) status = add_section(out, report, s);
  fputs("</body></html>\n", out);
  return status;
}

int cli_report_page_write(const cli_command *self, const char *path, const char *title, const mica_report *report) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return cli_fail(self, "there is not enough memory");
  mica_status made = add_page(out, title, report);
  bool whole = !ferror(out);
  whole = fclose(out) == 0 && whole;
  int status = CLI_OK;
  if (!whole)
    status = cli_fail(self, "there is not enough memory");
  else if (made != MICA_OK || mica_file_write(path, text, length) != MICA_OK)
    status = cli_fail_library(self);
  free(text);
  return status;
}
