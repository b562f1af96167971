#include "cli/report_page.h"
#include "cli/number.h"

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
    "th:first-child,td:first-child,.t{text-align:left}td.t{overflow-wrap:anywhere}\n"
    ".charts,.pictures{display:flex;flex-wrap:wrap;gap:1.5rem;margin:1rem 0}\n"
    ".scroll{overflow-x:auto}\n"
    "svg{max-width:100%;height:auto}.charts svg{overflow:visible}svg text{font:11px "
    "system-ui,sans-serif;fill:currentColor}\n"
    "svg .grid{stroke:var(--line)}svg polyline{fill:none;stroke-width:2}\n"
    ".a{stroke:var(--a);fill:var(--a)}.b{stroke:var(--b);fill:var(--b)}\n"
    ".c{stroke:var(--c);fill:var(--c)}.d{stroke:var(--d);fill:var(--d)}\n"
    "figure{margin:0;width:9rem}figure img,figure svg{width:9rem;image-rendering:pixelated;background:#000}\n"
    "rect{fill:none;stroke:#f59e0b;stroke-width:2}\n"
    "figcaption{font-size:12px;line-height:1.35;overflow-wrap:anywhere}\n"
    "</style>\n";

/* Writes text escaped, for use between tags and in attributes. */
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

/* --- curves --- */

enum { WIDTH = 480, HEIGHT = 274, LEFT = 52, RIGHT = 12, TOP = 24, BOTTOM = 42 };

/* The approximate width of a letter, and the heights of a line of names and of a legend. */
enum { LETTER = 6, LINE = 12, LEGEND = 16 };

static double letters(const char *text) {
  double count = 0;
  for (; *text; text++) count += ((unsigned char)*text & 0xc0) != 0x80;
  return count;
}

/* The item of a curve, and the range of its series. Column 0 is the horizontal axis. */
typedef struct chart {
  const mica_item *item;
  double low, high;
  int width, height, top;
} chart;

static double value_of(const chart *c, size_t row, size_t column) {
  return c->item->numbers[row * c->item->columns + column];
}

/* The step of a grid of about four lines: 1, 2 or 5 times a power of ten. */
static double grid_step(double range) {
  const double rough = range / 4, power = pow(10, floor(log10(rough)));
  const double part = rough / power;
  return (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10) * power;
}

/* Widens a range to whole steps of its grid; a range of a single value grows on both sides. */
static void widen(double *low, double *high) {
  const double least = 0.1 * fmax(fabs(*high), 1e-3);
  if (*high - *low < 1e-8 * least) *low -= least, *high += least;
  for (int round = 0; round < 2; round++) {
    const double step = grid_step(*high - *low);
    *low = step * floor(*low / step + 1e-6);
    *high = step * ceil(*high / step - 1e-6);
  }
}

/* Sets the range of the values; false if there are none. */
static bool find_range(chart *c) {
  c->low = INFINITY, c->high = -INFINITY;
  for (size_t i = 0; i < c->item->rows; i++)
    for (size_t k = 1; k < c->item->columns; k++) {
      const double value = value_of(c, i, k);
      if (!isfinite(value)) continue;
      c->low = fmin(c->low, value);
      c->high = fmax(c->high, value);
    }
  if (!(c->low <= c->high)) return false;
  widen(&c->low, &c->high);
  return true;
}

static double x_of(const chart *c, size_t i) {
  const double all = c->item->rows > 1 ? (double)c->item->rows - 1 : 1;
  return LEFT + (c->width - LEFT - RIGHT) * (double)i / all;
}

static double y_of(const chart *c, double value) {
  return c->height - BOTTOM - (c->height - c->top - BOTTOM) * (value - c->low) / (c->high - c->low);
}

static void add_grid(FILE *out, const chart *c) {
  const double step = grid_step(c->high - c->low);
  for (int i = 0; i < 12 && c->low + i * step <= c->high + step / 2; i++) {
    const double value = c->low + i * step, y = y_of(c, value);
    fprintf(out, "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text x=%d y=%.1f text-anchor=end>%g</text>\n", LEFT,
            c->width - RIGHT, y, y, LEFT - 6, y + 4, fabs(value) < step / 1e6 ? 0 : value);
  }
  const double rough = ((double)c->item->rows - 1) / 10;
  size_t every = 1; /* 1, 2 or 5 times a power of ten */
  for (size_t k = 0; (double)every < rough; k++) every = k % 3 == 1 ? every / 2 * 5 : every * 2;
  for (size_t i = 0; i < c->item->rows; i += every)
    fprintf(out, "<text x=%.1f y=%d text-anchor=middle>%g</text>\n", x_of(c, i), c->height - BOTTOM + 20,
            value_of(c, i, 0));
}

/* Writes the name of the horizontal axis below its numbers. */
static void add_axis_name(FILE *out, const chart *c, const char *name) {
  fprintf(out, "<text x=%d y=%d text-anchor=middle>", (c->width + LEFT - RIGHT) / 2, c->height - 6);
  add_escaped(out, name);
  fputs("</text>\n", out);
}

/* The class of series k, which gives its colour: four colours repeat. */
static char class_of(size_t k) { return (char)('a' + (k - 1) % 4); }

static void add_series(FILE *out, const chart *c, size_t k) {
  const char class_name = class_of(k);
  fprintf(out, "<polyline class=%c style=\"fill:none\" points=\"", class_name);
  for (size_t i = 0; i < c->item->rows; i++) {
    if (!isfinite(value_of(c, i, k))) continue;
    fprintf(out, "%.1f,%.1f ", x_of(c, i), y_of(c, value_of(c, i, k)));
  }
  fputs("\"/>\n", out);
  for (size_t i = 0; i < c->item->rows; i++) {
    const double value = value_of(c, i, k);
    if (!isfinite(value)) continue;
    fprintf(out, "<circle class=%c cx=%.1f cy=%.1f r=%s><title>", class_name, x_of(c, i), y_of(c, value),
            c->item->rows > 40 ? "1" : "2.5");
    add_escaped(out, c->item->column_names[k]);
    fprintf(out, ", %g: %.6g</title></circle>\n", value_of(c, i, 0), value);
  }
}

static bool has_points(const chart *c, size_t k) {
  for (size_t i = 0; i < c->item->rows; i++)
    if (isfinite(value_of(c, i, k))) return true;
  return false;
}

/* Writes the names of the series that have points: after the title if they fit there, else below it, line by line. With
 * `out` NULL they are only measured. Returns the number of lines below the title. */
static int add_legend(FILE *out, const chart *c) {
  const double free = c->width - RIGHT - LEFT;
  double all = 0, x;
  int line = 0;
  for (size_t k = 1; k < c->item->columns; k++)
    if (has_points(c, k)) all += LETTER * letters(c->item->column_names[k]) + 22;
  if (all + LETTER * letters(c->item->name) > free) line = 1;
  x = line ? LEFT - 8 : c->width - RIGHT - all;
  for (size_t k = 1; k < c->item->columns; k++) {
    const double own = LETTER * letters(c->item->column_names[k]) + 22;
    if (!has_points(c, k)) continue;
    if (line && x > LEFT && x + own > c->width - RIGHT) x = LEFT - 8, line++;
    if (out) {
      fprintf(out, "<circle class=%c cx=%.1f cy=%d r=4 /><text x=%.1f y=%d>", class_of(k), x + 12, 10 + LEGEND * line,
              x + 20, 14 + LEGEND * line);
      add_escaped(out, c->item->column_names[k]);
      fputs("</text>\n", out);
    }
    x += own;
  }
  return line;
}

/* True for a curve of one point. It is not drawn; its values fill a table row: "loss, epoch 1 | training 0.5,
 * validation 0.4". */
static bool is_point(const mica_item *item) { return item->rows == 1; }

static void add_values(FILE *out, const mica_item *item) {
  const chart c = {.item = item};
  size_t count = 0;
  for (size_t k = 1; k < item->columns; k++) count += has_points(&c, k);
  if (!count) return;
  fputs("<tr><th>", out);
  add_escaped(out, item->name);
  fputs(", ", out);
  add_escaped(out, item->column_names[0]);
  fprintf(out, " %g</th><td class=t>", item->numbers[0]);
  for (size_t k = 1; k < item->columns; k++) {
    if (!has_points(&c, k)) continue;
    add_escaped(out, item->column_names[k]);
    fprintf(out, " %.6g%s", value_of(&c, 0, k), --count ? ", " : "");
  }
  fputs("</td></tr>\n", out);
}

static void add_chart(FILE *out, const mica_item *item) {
  chart c = {.item = item, .width = WIDTH};
  if (!find_range(&c)) return;
  c.top = TOP + LEGEND * add_legend(NULL, &c);
  c.height = HEIGHT - TOP + c.top;
  fprintf(out, "<svg width=%d height=%d viewBox=\"0 0 %d %d\" role=img>\n<text x=%d y=14>", WIDTH, c.height, WIDTH,
          c.height, LEFT);
  add_escaped(out, item->name);
  fputs("</text>\n", out);
  add_grid(out, &c);
  add_axis_name(out, &c, item->column_names[0]);
  for (size_t k = 1; k < item->columns; k++) add_series(out, &c, k);
  add_legend(out, &c);
  fputs("</svg>\n", out);
}

/* --- points --- */

/* The range of the points' values in a column. */
static void find_bounds(const mica_item *item, size_t column, double *low, double *high) {
  *low = INFINITY, *high = -INFINITY;
  for (size_t i = 0; i < item->rows; i++) {
    const double value = item->numbers[2 * i + column];
    if (!isfinite(value)) continue;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
  }
  if (!(*low <= *high)) *low = 0, *high = 1;
  widen(low, high);
}

/* The most names that are written. */
enum { NAMES = 40 };

/* The position of a name. */
typedef struct frame {
  double x0, y0, x1, y1;
} frame;

static bool overlaps(const frame *p, const frame *all, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (p->x0 < all[i].x1 && all[i].x0 < p->x1 && p->y0 < all[i].y1 && all[i].y0 < p->y1) return true;
  return false;
}

/* Writes the name of the point at x, y on the first of its four sides on which it overlaps no other name and fits into
 * the picture; writes nothing if no side does. */
static void add_name(FILE *out, const chart *c, const char *name, double x, double y, frame *all, size_t *count) {
  const double width = LETTER * letters(name);
  for (int side = 0; side < 4 && *count < NAMES; side++) {
    const bool left = side % 2, below = side / 2;
    const double from = left ? x - 7 - width : x + 7, base = below ? y + 13 : y - 5;
    const frame p = {from, base - LINE + 2, from + width, base + 2};
    if (p.x0 < LEFT || p.x1 > c->width || p.y0 < c->top - 4 || p.y1 > c->height - BOTTOM || overlaps(&p, all, *count))
      continue;
    all[(*count)++] = p;
    fprintf(out, "<text x=%.1f y=%.1f text-anchor=%s>", left ? x - 7 : x + 7, base, left ? "end" : "start");
    add_escaped(out, name);
    fputs("</text>\n", out);
    return;
  }
}

static void add_dots(FILE *out, const mica_item *item, const chart *c, double left, double scale) {
  frame all[NAMES];
  size_t count = 0;
  const int radius = item->rows > NAMES ? 2 : 4;
  for (size_t i = 0; i < item->rows; i++) {
    const double *at = item->numbers + 2 * i, x = LEFT + scale * (at[0] - left);
    if (!isfinite(at[0]) || !isfinite(at[1])) continue;
    fprintf(out, "<circle class=a cx=%.1f cy=%.1f r=%d><title>", x, y_of(c, at[1]), radius);
    add_escaped(out, item->row_names[i]);
    fputs("</title></circle>\n", out);
    add_name(out, c, item->row_names[i], x, y_of(c, at[1]), all, &count);
  }
}

/* Draws points: column 0 across, column 1 up, with the names of the first points if they fit. */
static void add_points(FILE *out, const mica_item *item) {
  double left, right;
  chart c = {.item = item, .width = 720, .height = 480, .top = TOP};
  if (item->rows <= NAMES) c.width = WIDTH, c.height = HEIGHT;
  find_bounds(item, 0, &left, &right);
  find_bounds(item, 1, &c.low, &c.high);
  const double up = grid_step(c.high - c.low), across = grid_step(right - left);
  const double scale = (c.width - LEFT - RIGHT) / (right - left);
  fprintf(out, "<svg width=%d height=%d viewBox=\"0 0 %d %d\" role=img>\n<text x=%d y=14>", c.width, c.height, c.width,
          c.height, LEFT);
  add_escaped(out, item->column_names[1]);
  fputs("</text>\n", out);
  add_axis_name(out, &c, item->column_names[0]);
  for (int i = 0; i < 12 && c.low + i * up <= c.high + up / 2; i++) {
    const double y = y_of(&c, c.low + i * up);
    fprintf(out, "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text x=%d y=%.1f text-anchor=end>%.6g</text>\n", LEFT,
            c.width - RIGHT, y, y, LEFT - 6, y + 4, c.low + i * up);
  }
  for (int i = 0; i < 12 && left + i * across <= right + across / 2; i++)
    fprintf(out, "<text x=%.1f y=%d text-anchor=middle>%.6g</text>\n", LEFT + scale * i * across,
            c.height - BOTTOM + 20, left + i * across);
  add_dots(out, item, &c, left, scale);
  fputs("</svg>\n", out);
}

/* --- tables --- */

static bool is_text(const mica_item *item, size_t column) {
  return item->texts && !(item->number_columns && item->number_columns[column]);
}

static void add_text_cell(FILE *out, const char *text) {
  fputs("<td class=t>", out);
  add_escaped(out, text);
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

/* Writes a count's cell, shaded by its share of the row. */
static void add_count(FILE *out, const mica_item *item, size_t row, size_t column) {
  const double *counts = item->numbers + row * item->columns;
  double all = 0;
  for (size_t c = 0; c < item->columns; c++) all += counts[c];
  const double share = all > 0 ? counts[column] / all : 0;
  fprintf(out, "<td style=\"background:rgb(%s/%.2f)\">%.0f</td>", row == column ? "37 99 235" : "217 119 6",
          row == column ? 0.6 * share : fmin(2 * share, 0.8), counts[column]);
}

static void add_table(FILE *out, const mica_item *item) {
  fputs("<h3>", out);
  add_escaped(out, item->name);
  fputs("</h3>\n<div class=scroll><table>\n<tr>", out);
  const bool counts = item->kind == MICA_ITEM_KIND_MATRIX;
  const bool classes = counts && !strcmp(item->name, "confusion");
  if (item->row_names) fputs(classes ? "<th>true &darr; predicted &rarr;</th>" : "<th></th>", out);
  for (size_t c = 0; item->column_names && c < item->columns; c++) {
    fputs(is_text(item, c) ? "<th class=t>" : "<th>", out);
    add_escaped(out, item->column_names[c]);
    fputs("</th>", out);
  }
  fputs("</tr>\n", out);
  for (size_t r = 0; r < item->rows; r++) {
    fputs("<tr>", out);
    if (item->row_names) add_element(out, "th", item->row_names[r]);
    for (size_t c = 0; c < item->columns; c++)
      if (counts)
        add_count(out, item, r, c);
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

/* Writes the picture as an attribute's value; nothing if the build cannot write PNG. */
static mica_status add_data(FILE *out, const mica_item *item, const char *before) {
  uint8_t *png = NULL;
  size_t bytes = 0;
  if (!item->planes) return MICA_OK;
  mica_status status = mica_png_encode(item->planes, item->shape, &png, &bytes);
  if (status != MICA_OK) return status == MICA_E_UNSUPPORTED ? MICA_OK : status;
  fprintf(out, "%s\"data:image/png;base64,", before);
  add_base64(out, png, bytes);
  fputs("\">", out);
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
    add_escaped(out, item->row_names[i]);
    fprintf(out, " %.3g</title></rect>", box[4]);
  }
  fputs("</svg>", out);
  return status;
}

/* Writes the last two parts of the path of a picture's file; a pointer over it shows the whole path. */
static void add_file(FILE *out, const char *path) {
  const char *from = path;
  for (const char *slash = path, *next; (next = strchr(slash, '/')); slash = next + 1)
    if (strchr(next + 1, '/')) from = next + 1;
  fputs("<br><small title=\"", out);
  add_escaped(out, path);
  fputs("\">", out);
  add_escaped(out, from);
  fputs("</small>", out);
}

static mica_status add_figure(FILE *out, const mica_item *item) {
  fputs("<figure>", out);
  mica_status status =
      item->kind == MICA_ITEM_KIND_BOXES ? add_boxes(out, item) : add_data(out, item, "<img alt=\"\" src=");
  fputs("<figcaption>", out);
  add_escaped(out, item->text ? item->text : item->name);
  if (item->text && strchr(item->name, '/')) add_file(out, item->name);
  fputs("</figcaption></figure>\n", out);
  return status;
}

/* --- sections --- */

static void add_fact(FILE *out, const mica_item *item) {
  fputs("<tr>", out);
  add_element(out, "th", item->name);
  if (item->kind == MICA_ITEM_KIND_TEXT)
    add_text_cell(out, item->text);
  else if (isfinite(item->number))
    fprintf(out, "<td>%.*g</td>", cli_digits(item->number), item->number);
  else
    fputs("<td>&ndash;</td>", out);
  fputs("</tr>\n", out);
}

/* Groups of items: neighbours of the same group share an element. */
typedef enum group { GROUP_NONE, GROUP_FACTS, GROUP_CHARTS, GROUP_PICTURES } group;

static group group_of(const mica_item *item) {
  switch (item->kind) {
  case MICA_ITEM_KIND_NUMBER:
  case MICA_ITEM_KIND_TEXT: return GROUP_FACTS;
  case MICA_ITEM_KIND_CURVE: return is_point(item) ? GROUP_FACTS : GROUP_CHARTS;
  case MICA_ITEM_KIND_POINTS: return GROUP_CHARTS;
  case MICA_ITEM_KIND_PICTURE:
  case MICA_ITEM_KIND_BOXES: return GROUP_PICTURES;
  default: return GROUP_NONE;
  }
}

static mica_status add_item(FILE *out, const mica_item *item) {
  switch (item->kind) {
  case MICA_ITEM_KIND_NUMBER:
  case MICA_ITEM_KIND_TEXT: add_fact(out, item); return MICA_OK;
  case MICA_ITEM_KIND_CURVE: (is_point(item) ? add_values : add_chart)(out, item); return MICA_OK;
  case MICA_ITEM_KIND_POINTS: add_points(out, item); return MICA_OK;
  case MICA_ITEM_KIND_TABLE:
  case MICA_ITEM_KIND_MATRIX: add_table(out, item); return MICA_OK;
  case MICA_ITEM_KIND_NUMBERS:
  case MICA_ITEM_KIND_CHOICES:
  case MICA_ITEM_KIND_LABELS:
    add_element(out, "h3", item->name);
    for (size_t i = 0; i < item->rows; i++) {
      fputs("<p>", out);
      if (item->row_names) add_escaped(out, item->row_names[i]);
      fprintf(out, " %.6g</p>\n", item->numbers[i * item->columns]);
    }
    return MICA_OK;
  case MICA_ITEM_KIND_PICTURE:
  case MICA_ITEM_KIND_BOXES: return add_figure(out, item);
  case MICA_ITEM_KIND_FILE: return MICA_OK;
  }
  return MICA_OK;
}

static mica_status add_section(FILE *out, const mica_report *report, size_t s) {
  static const char *const opens[] = {"", "<table>\n", "<div class=charts>\n", "<div class=pictures>\n"};
  static const char *const closes[] = {"", "</table>\n", "</div>\n", "</div>\n"};
  group open = GROUP_NONE;
  mica_status status = MICA_OK;
  add_element(out, "h2", mica_report_title(report, s));
  fputc('\n', out);
  for (size_t i = 0; status == MICA_OK && i < mica_report_item_count(report, s); i++) {
    const mica_item *item = mica_report_item(report, s, i);
    const group next = group_of(item);
    if (next != open) {
      fputs(closes[open], out);
      fputs(opens[next], out);
      open = next;
    }
    status = add_item(out, item);
  }
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
  if (!out) return cli_fail(self, "the host has no memory");
  mica_status made = add_page(out, title, report);
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
