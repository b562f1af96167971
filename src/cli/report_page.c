#include "cli/report_page.h"

#include <math.h>
#include <mica/io.h>
#include <mica/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark;--line:#8884;--a:#2563eb;--b:#d97706}\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--line)}\n"
    "th:first-child,td:first-child{text-align:left}\n"
    ".charts,.mistakes{display:flex;flex-wrap:wrap;gap:1.5rem}\n"
    ".scroll{overflow-x:auto}\n"
    "svg text{font:11px system-ui,sans-serif;fill:currentColor}\n"
    "svg .grid{stroke:var(--line)}svg polyline{fill:none;stroke-width:2}\n"
    ".a{stroke:var(--a);fill:var(--a)}.b{stroke:var(--b);fill:var(--b)}\n"
    "figure{margin:0;width:9rem}figure img{width:9rem;image-rendering:pixelated;background:#000}\n"
    "figcaption{font-size:12px;line-height:1.35}\n"
    "</style>\n";

/* Writes text so that it may stand between tags and in attributes. */
static void add_escaped(FILE *out, const char *text) {
  for (; text && *text; text++) {
    switch (*text) {
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '&': fputs("&amp;", out); break;
    case '"': fputs("&quot;", out); break;
    default: fputc(*text, out);
    }
  }
}

static void add_element(FILE *out, const char *tag, const char *text) {
  fprintf(out, "<%s>", tag);
  add_escaped(out, text);
  fprintf(out, "</%s>", tag);
}

static void add_facts(FILE *out, const cli_report_page *page) {
  if (!page->fact_count) return;
  fputs("<table>\n", out);
  for (size_t i = 0; i < page->fact_count; i++) {
    fputs("<tr>", out);
    add_element(out, "th", page->facts[i].name);
    add_element(out, "td", page->facts[i].value);
    fputs("</tr>\n", out);
  }
  fputs("</table>\n", out);
}

/* --- curves --- */

enum { WIDTH = 480, HEIGHT = 260, LEFT = 52, RIGHT = 12, TOP = 24, BOTTOM = 28 };

/* One chart: two columns of the history over the epochs. */
typedef struct chart {
  const char *title;
  size_t columns[2]; /* offsets in mica_history_row */
  double low, high;
} chart;

static double value_of(const mica_history_row *row, size_t offset) {
  double value;
  memcpy(&value, (const char *)row + offset, sizeof value);
  return value;
}

/* 1, 2 or 5 times a power of ten: the step of about four lines. */
static double grid_step(double range) {
  const double rough = range / 4, power = pow(10, floor(log10(rough)));
  const double part = rough / power;
  return (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10) * power;
}

/* Sets the range of the values; false when there are none. */
static bool find_range(const cli_report_page *page, chart *c) {
  c->low = INFINITY, c->high = -INFINITY;
  for (size_t i = 0; i < page->epochs; i++)
    for (int k = 0; k < 2; k++) {
      const double value = value_of(&page->history[i], c->columns[k]);
      if (!isfinite(value)) continue;
      c->low = fmin(c->low, value);
      c->high = fmax(c->high, value);
    }
  if (!(c->low <= c->high)) return false;
  if (c->high - c->low < 1e-9 * fmax(fabs(c->high), 1e-9)) c->high += 0.5 * fmax(fabs(c->high), 1e-3);
  const double step = grid_step(c->high - c->low);
  c->low = floor(c->low / step) * step;
  c->high = ceil(c->high / step) * step;
  return true;
}

static double x_of(const cli_report_page *page, size_t i) {
  const double all = page->epochs > 1 ? (double)page->epochs - 1 : 1;
  return LEFT + (WIDTH - LEFT - RIGHT) * (double)i / all;
}

static double y_of(const chart *c, double value) {
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - c->low) / (c->high - c->low);
}

static void add_grid(FILE *out, const cli_report_page *page, const chart *c) {
  const double step = grid_step(c->high - c->low);
  for (int i = 0; i < 12 && c->low + i * step <= c->high + step / 2; i++) {
    const double value = c->low + i * step, y = y_of(c, value);
    fprintf(out, "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text x=%d y=%.1f text-anchor=end>%g</text>\n", LEFT,
            WIDTH - RIGHT, y, y, LEFT - 6, y + 4, fabs(value) < step / 1e6 ? 0 : value);
  }
  const size_t every = (page->epochs + 9) / 10;
  for (size_t i = 0; i < page->epochs; i += every)
    fprintf(out, "<text x=%.1f y=%d text-anchor=middle>%g</text>\n", x_of(page, i), HEIGHT - 8, page->history[i].epoch);
}

static void add_curve(FILE *out, const cli_report_page *page, const chart *c, int k) {
  static const char *const labels[] = {"training", "validation"};
  const char class_name = k ? 'b' : 'a';
  size_t points = 0;
  fprintf(out, "<polyline class=%c style=\"fill:none\" points=\"", class_name);
  for (size_t i = 0; i < page->epochs; i++) {
    const double value = value_of(&page->history[i], c->columns[k]);
    if (!isfinite(value)) continue;
    fprintf(out, "%.1f,%.1f ", x_of(page, i), y_of(c, value));
    points++;
  }
  fputs("\"/>\n", out);
  for (size_t i = 0; i < page->epochs; i++) {
    const double value = value_of(&page->history[i], c->columns[k]);
    if (isfinite(value))
      fprintf(out, "<circle class=%c cx=%.1f cy=%.1f r=2.5><title>%s, epoch %g: %.6g</title></circle>\n", class_name,
              x_of(page, i), y_of(c, value), labels[k], page->history[i].epoch, value);
  }
  if (points)
    fprintf(out, "<circle class=%c cx=%d cy=14 r=4 /><text x=%d y=18>%s</text>\n", class_name, WIDTH - 170 + 90 * k,
            WIDTH - 162 + 90 * k, labels[k]);
}

static void add_charts(FILE *out, const cli_report_page *page) {
  chart charts[] = {
      {"Loss", {offsetof(mica_history_row, loss), offsetof(mica_history_row, validation_loss)}, 0, 0},
      {"Accuracy", {offsetof(mica_history_row, accuracy), offsetof(mica_history_row, validation_accuracy)}, 0, 0}};
  if (!page->epochs) return;
  fputs("<h2>Curves</h2>\n<div class=charts>\n", out);
  for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
    if (!find_range(page, &charts[i])) continue;
    fprintf(out, "<svg width=%d height=%d viewBox=\"0 0 %d %d\" role=img>\n<text x=%d y=18>%s</text>\n", WIDTH, HEIGHT,
            WIDTH, HEIGHT, LEFT, charts[i].title);
    add_grid(out, page, &charts[i]);
    for (int k = 0; k < 2; k++) add_curve(out, page, &charts[i], k);
    fputs("</svg>\n", out);
  }
  fputs("</div>\n", out);
}

/* --- classes --- */

static void add_class(FILE *out, const cli_report_page *page, const char *tag, int32_t index) {
  char number[16];
  snprintf(number, sizeof number, "%d", index);
  bool named = page->class_names && index >= 0 && index < page->classes && page->class_names[index];
  add_element(out, tag, named ? page->class_names[index] : number);
}

/* Part of whole in per cent; a dash where there is no whole. */
static void add_percent(FILE *out, double part, double whole) {
  if (whole > 0)
    fprintf(out, "<td>%.1f</td>", 100 * part / whole);
  else
    fputs("<td>&ndash;</td>", out);
}

static void add_row(FILE *out, const cli_report_page *page, int32_t row) {
  const int64_t *counts = page->confusion + (int64_t)row * page->classes;
  double labelled = 0, predicted = 0;
  for (int32_t i = 0; i < page->classes; i++) {
    labelled += (double)counts[i];
    predicted += (double)page->confusion[(int64_t)i * page->classes + row];
  }
  const double right = (double)counts[row];
  fputs("<tr>", out);
  add_class(out, page, "th", row);
  for (int32_t i = 0; i < page->classes; i++) {
    const double share = labelled > 0 ? (double)counts[i] / labelled : 0;
    fprintf(out, "<td style=\"background:rgb(%s/%.2f)\">%lld</td>", i == row ? "37 99 235" : "217 119 6",
            i == row ? 0.6 * share : fmin(2 * share, 0.8), (long long)counts[i]);
  }
  add_percent(out, right, predicted);
  add_percent(out, right, labelled);
  add_percent(out, 2 * right, labelled + predicted); /* F1, the harmonic mean of the two */
  fputs("</tr>\n", out);
}

static void add_confusion(FILE *out, const cli_report_page *page) {
  if (!page->confusion || page->classes < 1) return;
  fputs("<h2>Confusion matrix</h2>\n<p>Rows are the labels, columns the predictions; precision, recall "
        "and F1 in per cent.</p>\n<div class=scroll><table>\n<tr><th></th>",
        out);
  for (int32_t i = 0; i < page->classes; i++) add_class(out, page, "th", i);
  fputs("<th>precision</th><th>recall</th><th>F1</th></tr>\n", out);
  for (int32_t i = 0; i < page->classes; i++) add_row(out, page, i);
  fputs("</table></div>\n", out);
}

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

/* An img element; nothing in a build that cannot make pictures. */
static mica_status add_picture(FILE *out, const cli_report_mistake *mistake) {
  uint8_t *png = NULL;
  size_t bytes = 0;
  if (!mistake->pixels) return MICA_OK;
  mica_status status = mica_png_encode(mistake->pixels, mistake->shape, &png, &bytes);
  if (status != MICA_OK) return status == MICA_E_UNSUPPORTED ? MICA_OK : status;
  fputs("<img alt=\"\" src=\"data:image/png;base64,", out);
  add_base64(out, png, bytes);
  fputs("\">", out);
  mica_free(png);
  return MICA_OK;
}

static mica_status add_mistakes(FILE *out, const cli_report_page *page) {
  if (!page->mistake_count) return MICA_OK;
  fputs("<h2>Worst mistakes</h2>\n<div class=mistakes>\n", out);
  for (size_t i = 0; i < page->mistake_count; i++) {
    const cli_report_mistake *mistake = &page->mistakes[i];
    fputs("<figure>", out);
    mica_status status = add_picture(out, mistake);
    if (status != MICA_OK) return status;
    fprintf(out, "<figcaption>%.1f %% ", 100 * mistake->confidence);
    add_class(out, page, "b", mistake->predicted);
    fputs("<br>is ", out);
    add_class(out, page, "b", mistake->label);
    fputs("</figcaption></figure>\n", out);
  }
  fputs("</div>\n", out);
  return MICA_OK;
}

static mica_status add_page(FILE *out, const cli_report_page *page) {
  const char *title = page->title ? page->title : "Training report";
  fputs("<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
        "<meta name=viewport content=\"width=device-width\">\n",
        out);
  add_element(out, "title", title);
  fputs(style, out);
  fputs("</head><body>\n", out);
  add_element(out, "h1", title);
  add_facts(out, page);
  add_charts(out, page);
  add_confusion(out, page);
  mica_status status = add_mistakes(out, page);
  fputs("</body></html>\n", out);
  return status;
}

int cli_report_page_write(const cli_command *self, const char *path, const cli_report_page *page) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return cli_fail(self, "the host has no memory");
  mica_status made = add_page(out, page);
  bool whole = !ferror(out);
  whole = fclose(out) == 0 && whole;
  int status = CLI_OK;
  if (!whole)
    status = cli_fail(self, "the host has no memory");
  else if (made != MICA_OK || mica_file_write(path, text, length) != MICA_OK)
    status = cli_fail_library(self);
  free(text);
  return status;
}
