#include "base/text.h"
#include "io/png.h"

#include <math.h>
#include <mica/report.h>
#include <stdio.h>
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

/* Text as it may stand between tags and in attributes. */
static void add_escaped(mica__text *out, const char *text) {
  for (; text && *text; text++) {
    switch (*text) {
    case '<': mica__text_add(out, "&lt;"); break;
    case '>': mica__text_add(out, "&gt;"); break;
    case '&': mica__text_add(out, "&amp;"); break;
    case '"': mica__text_add(out, "&quot;"); break;
    default: mica__text_add_bytes(out, text, 1);
    }
  }
}

static void add_element(mica__text *out, const char *tag, const char *text) {
  mica__text_addf(out, "<%s>", tag);
  add_escaped(out, text);
  mica__text_addf(out, "</%s>", tag);
}

static void add_facts(mica__text *out, const mica_report *report) {
  if (!report->fact_count) return;
  mica__text_add(out, "<table>\n");
  for (size_t i = 0; i < report->fact_count; i++) {
    mica__text_add(out, "<tr>");
    add_element(out, "th", report->facts[i].name);
    add_element(out, "td", report->facts[i].value);
    mica__text_add(out, "</tr>\n");
  }
  mica__text_add(out, "</table>\n");
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
static bool find_range(const mica_report *report, chart *c) {
  c->low = INFINITY, c->high = -INFINITY;
  for (size_t i = 0; i < report->epochs; i++)
    for (int k = 0; k < 2; k++) {
      const double value = value_of(&report->history[i], c->columns[k]);
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

static double x_of(const mica_report *report, size_t i) {
  const double all = report->epochs > 1 ? (double)report->epochs - 1 : 1;
  return LEFT + (WIDTH - LEFT - RIGHT) * (double)i / all;
}

static double y_of(const chart *c, double value) {
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - c->low) / (c->high - c->low);
}

static void add_grid(mica__text *out, const mica_report *report, const chart *c) {
  const double step = grid_step(c->high - c->low);
  for (int i = 0; i < 12 && c->low + i * step <= c->high + step / 2; i++) {
    const double value = c->low + i * step, y = y_of(c, value);
    mica__text_addf(out, "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text x=%d y=%.1f text-anchor=end>%g</text>\n",
                    LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, fabs(value) < step / 1e6 ? 0 : value);
  }
  const size_t every = (report->epochs + 9) / 10;
  for (size_t i = 0; i < report->epochs; i += every)
    mica__text_addf(out, "<text x=%.1f y=%d text-anchor=middle>%g</text>\n", x_of(report, i), HEIGHT - 8,
                    report->history[i].epoch);
}

static void add_curve(mica__text *out, const mica_report *report, const chart *c, int k) {
  static const char *const labels[] = {"training", "validation"};
  const char class_name = k ? 'b' : 'a';
  size_t points = 0;
  mica__text_addf(out, "<polyline class=%c style=\"fill:none\" points=\"", class_name);
  for (size_t i = 0; i < report->epochs; i++) {
    const double value = value_of(&report->history[i], c->columns[k]);
    if (!isfinite(value)) continue;
    mica__text_addf(out, "%.1f,%.1f ", x_of(report, i), y_of(c, value));
    points++;
  }
  mica__text_add(out, "\"/>\n");
  for (size_t i = 0; i < report->epochs; i++) {
    const double value = value_of(&report->history[i], c->columns[k]);
    if (isfinite(value))
      mica__text_addf(out, "<circle class=%c cx=%.1f cy=%.1f r=2.5><title>%s, epoch %g: %.6g</title></circle>\n",
                      class_name, x_of(report, i), y_of(c, value), labels[k], report->history[i].epoch, value);
  }
  if (points)
    mica__text_addf(out, "<circle class=%c cx=%d cy=14 r=4 /><text x=%d y=18>%s</text>\n", class_name,
                    WIDTH - 170 + 90 * k, WIDTH - 162 + 90 * k, labels[k]);
}

static void add_charts(mica__text *out, const mica_report *report) {
  chart charts[] = {
      {"Loss", {offsetof(mica_history_row, loss), offsetof(mica_history_row, validation_loss)}, 0, 0},
      {"Accuracy", {offsetof(mica_history_row, accuracy), offsetof(mica_history_row, validation_accuracy)}, 0, 0}};
  if (!report->epochs) return;
  mica__text_add(out, "<h2>Curves</h2>\n<div class=charts>\n");
  for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
    if (!find_range(report, &charts[i])) continue;
    mica__text_addf(out, "<svg width=%d height=%d viewBox=\"0 0 %d %d\" role=img>\n<text x=%d y=18>%s</text>\n", WIDTH,
                    HEIGHT, WIDTH, HEIGHT, LEFT, charts[i].title);
    add_grid(out, report, &charts[i]);
    for (int k = 0; k < 2; k++) add_curve(out, report, &charts[i], k);
    mica__text_add(out, "</svg>\n");
  }
  mica__text_add(out, "</div>\n");
}

/* --- classes --- */

static void add_class(mica__text *out, const mica_report *report, const char *tag, int32_t index) {
  char number[16];
  snprintf(number, sizeof number, "%d", index);
  bool named = report->class_names && index >= 0 && index < report->classes && report->class_names[index];
  add_element(out, tag, named ? report->class_names[index] : number);
}

/* Part of whole in per cent; a dash where there is no whole. */
static void add_percent(mica__text *out, double part, double whole) {
  if (whole > 0)
    mica__text_addf(out, "<td>%.1f</td>", 100 * part / whole);
  else
    mica__text_add(out, "<td>&ndash;</td>");
}

static void add_row(mica__text *out, const mica_report *report, int32_t row) {
  const int64_t *counts = report->confusion + (int64_t)row * report->classes;
  double labelled = 0, predicted = 0;
  for (int32_t i = 0; i < report->classes; i++) {
    labelled += (double)counts[i];
    predicted += (double)report->confusion[(int64_t)i * report->classes + row];
  }
  const double right = (double)counts[row];
  mica__text_add(out, "<tr>");
  add_class(out, report, "th", row);
  for (int32_t i = 0; i < report->classes; i++) {
    const double share = labelled > 0 ? (double)counts[i] / labelled : 0;
    mica__text_addf(out, "<td style=\"background:rgb(%s/%.2f)\">%lld</td>", i == row ? "37 99 235" : "217 119 6",
                    i == row ? 0.6 * share : fmin(2 * share, 0.8), (long long)counts[i]);
  }
  add_percent(out, right, predicted);
  add_percent(out, right, labelled);
  add_percent(out, 2 * right, labelled + predicted); /* F1, the harmonic mean of the two */
  mica__text_add(out, "</tr>\n");
}

static void add_confusion(mica__text *out, const mica_report *report) {
  if (!report->confusion || report->classes < 1) return;
  mica__text_add(out, "<h2>Confusion matrix</h2>\n<p>Rows are the labels, columns the predictions; precision, recall "
                      "and F1 in per cent.</p>\n<div class=scroll><table>\n<tr><th></th>");
  for (int32_t i = 0; i < report->classes; i++) add_class(out, report, "th", i);
  mica__text_add(out, "<th>precision</th><th>recall</th><th>F1</th></tr>\n");
  for (int32_t i = 0; i < report->classes; i++) add_row(out, report, i);
  mica__text_add(out, "</table></div>\n");
}

/* An img element; nothing in a build that cannot make pictures. */
static mica_status add_picture(mica__text *out, const mica_report_mistake *mistake) {
  mica__text uri = {0};
  if (!mistake->pixels) return MICA_OK;
  mica__attempt_begin();
  mica_status status = mica__png_add_uri(&uri, mistake->pixels, mistake->shape);
  if (status == MICA_OK) status = mica__text_status(&uri);
  if (status == MICA_OK) mica__text_addf(out, "<img alt=\"\" src=\"%s\">", uri.data);
  mica__text_free(&uri);
  if (status != MICA_OK && status != MICA_E_UNSUPPORTED) return mica__attempt_pass(status);
  mica__attempt_end();
  return MICA_OK;
}

static mica_status add_mistakes(mica__text *out, const mica_report *report) {
  if (!report->mistake_count) return MICA_OK;
  mica__text_add(out, "<h2>Worst mistakes</h2>\n<div class=mistakes>\n");
  for (size_t i = 0; i < report->mistake_count; i++) {
    const mica_report_mistake *mistake = &report->mistakes[i];
    mica__text_add(out, "<figure>");
    MICA_TRY(add_picture(out, mistake));
    mica__text_addf(out, "<figcaption>%.1f %% ", 100 * mistake->confidence);
    add_class(out, report, "b", mistake->predicted);
    mica__text_add(out, "<br>is ");
    add_class(out, report, "b", mistake->label);
    mica__text_add(out, "</figcaption></figure>\n");
  }
  mica__text_add(out, "</div>\n");
  return MICA_OK;
}

mica_status mica_report_write(const char *path, const mica_report *report) {
  if (!path || !report) return mica__fail(MICA_E_INVALID, "mica_report_write: a pointer is NULL");
  const char *title = report->title ? report->title : "Training report";
  mica__text page = {0};
  mica__text_add(&page, "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
                        "<meta name=viewport content=\"width=device-width\">\n");
  add_element(&page, "title", title);
  mica__text_add(&page, style);
  mica__text_add(&page, "</head><body>\n");
  add_element(&page, "h1", title);
  add_facts(&page, report);
  add_charts(&page, report);
  add_confusion(&page, report);
  mica_status status = add_mistakes(&page, report);
  mica__text_add(&page, "</body></html>\n");
  if (status == MICA_OK) status = mica__text_status(&page);
  if (status == MICA_OK) status = mica_file_write(path, page.data, page.length);
  mica__text_free(&page);
  return status;
}
