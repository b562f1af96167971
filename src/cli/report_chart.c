#include "cli/report_chart.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* Writes text escaped, for use between tags and in attributes. */
void cli_report_escape(FILE *out, const char *text) {
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

/* --- curves --- */

enum { WIDTH = 480, HEIGHT = 274, LEFT = 52, RIGHT = 12, TOP = 24, BOTTOM = 42 };

/* In SVG units: LETTER is the approximate width of a letter, LINE the height of a point's name, LEGEND the height of a
 * line of the legend, and MARK the width of a dot in the legend with the space around it. */
enum { LETTER = 6, LINE = 12, LEGEND = 16, MARK = 28 };

static double letters(const char *text) {
  double count = 0;
  for (; *text; text++) count += ((unsigned char)*text & 0xc0) != 0x80;
  return count;
}

/* A curve, or points, with the ranges of the vertical axis (low, high) and of the horizontal one (left, right), which
 * is column 0. width, height: size of the picture; top: where the plot begins below the title. */
typedef struct chart {
  const mica_item *item;
  double low, high, left, right;
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

/* Widens a range to whole steps of its grid. A single value gets space on both sides; if it is 0, the range becomes
 * 0 to 1. */
static void widen(double *low, double *high) {
  const double least = 0.1 * fmax(fabs(*high), 1e-3);
  if (*low == 0 && *high == 0) *high = 1;
  if (*high - *low < 1e-8 * least) *low -= least, *high += least;
  for (int round = 0; round < 2; round++) {
    const double step = grid_step(*high - *low);
    *low = step * floor(*low / step + 1e-6);
    *high = step * ceil(*high / step - 1e-6);
  }
}

/* Sets the ranges of the values and of the horizontal axis; false if there are no values. */
static bool find_range(chart *c) {
  c->low = c->left = INFINITY, c->high = c->right = -INFINITY;
  for (size_t i = 0; i < c->item->rows; i++) {
    c->left = fmin(c->left, value_of(c, i, 0));
    c->right = fmax(c->right, value_of(c, i, 0));
    for (size_t k = 1; k < c->item->columns; k++) {
      const double value = value_of(c, i, k);
      if (!isfinite(value)) continue;
      c->low = fmin(c->low, value);
      c->high = fmax(c->high, value);
    }
  }
  if (!(c->low <= c->high)) return false;
  widen(&c->low, &c->high);
  return true;
}

static double x_of(const chart *c, double value) {
  const double all = c->right > c->left ? c->right - c->left : 1;
  return LEFT + (c->width - LEFT - RIGHT) * (value - c->left) / all;
}

static double y_of(const chart *c, double value) {
  return c->height - BOTTOM - (c->height - c->top - BOTTOM) * (value - c->low) / (c->high - c->low);
}

/* The step of the numbers of the horizontal axis: 1, 2 or 5 times a power of ten, so that there are at most eleven. It
 * is whole if all values are, such as epochs. */
static double axis_step(const chart *c) {
  const double rough = (c->right - c->left) / 10 * (1 - 1e-9), power = rough > 0 ? pow(10, floor(log10(rough))) : 1;
  const double step = (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10) * power;
  for (size_t i = 0; i < c->item->rows; i++)
    if (value_of(c, i, 0) != floor(value_of(c, i, 0))) return step;
  return fmax(step, 1);
}

/* Returns a number to print at an axis: value, or 0 if value differs from 0 only by a rounding error. */
static double tick(double value, double step) { return fabs(value) < step / 1e6 ? 0 : value; }

static void add_grid(FILE *out, const chart *c) {
  const double step = grid_step(c->high - c->low);
  for (int i = 0; i < 12 && c->low + i * step <= c->high + step / 2; i++) {
    const double value = c->low + i * step, y = y_of(c, value);
    fprintf(out, "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text x=%d y=%.1f text-anchor=end>%g</text>\n", LEFT,
            c->width - RIGHT, y, y, LEFT - 6, y + 4, tick(value, step));
  }
  const double every = axis_step(c);
  for (int i = 0; i < 12 && c->left + i * every <= c->right + every / 1e6; i++)
    fprintf(out, "<text x=%.1f y=%d text-anchor=middle>%g</text>\n", x_of(c, c->left + i * every),
            c->height - BOTTOM + 20, tick(c->left + i * every, every));
}

/* Writes the name of the horizontal axis below its numbers. */
static void add_axis_name(FILE *out, const chart *c, const char *name) {
  fprintf(out, "<text x=%d y=%d text-anchor=middle>", (c->width + LEFT - RIGHT) / 2, c->height - 6);
  cli_report_escape(out, name);
  fputs("</text>\n", out);
}

/* The CSS class of series k, from 1, which gives its colour: four colours repeat. */
static char class_of(size_t k) { return (char)('a' + (k - 1) % 4); }

static void add_series(FILE *out, const chart *c, size_t k) {
  const char class_name = class_of(k);
  fprintf(out, "<polyline class=%c style=\"fill:none\" points=\"", class_name);
  for (size_t i = 0; i < c->item->rows; i++) {
    if (!isfinite(value_of(c, i, k)) || !isfinite(value_of(c, i, 0))) continue;
    fprintf(out, "%.1f,%.1f ", x_of(c, value_of(c, i, 0)), y_of(c, value_of(c, i, k)));
  }
  fputs("\"/>\n", out);
  for (size_t i = 0; i < c->item->rows; i++) {
    const double value = value_of(c, i, k);
    if (!isfinite(value) || !isfinite(value_of(c, i, 0))) continue;
    fprintf(out, "<circle class=%c cx=%.1f cy=%.1f r=%s><title>", class_name, x_of(c, value_of(c, i, 0)),
            y_of(c, value), c->item->rows > 40 ? "1" : "2.5");
    cli_report_escape(out, c->item->column_names[k]);
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
    if (has_points(c, k)) all += LETTER * letters(c->item->column_names[k]) + MARK;
  if (all + LETTER * letters(c->item->name) > free) line = 1;
  x = line ? LEFT - 8 : c->width - RIGHT - all;
  for (size_t k = 1; k < c->item->columns; k++) {
    const double own = LETTER * letters(c->item->column_names[k]) + MARK;
    if (!has_points(c, k)) continue;
    if (line && x > LEFT && x + own > c->width - RIGHT) x = LEFT - 8, line++;
    if (out) {
      fprintf(out, "<circle class=%c cx=%.1f cy=%d r=4 /><text x=%.1f y=%d>", class_of(k), x + 12, 10 + LEGEND * line,
              x + 20, 14 + LEGEND * line);
      cli_report_escape(out, c->item->column_names[k]);
      fputs("</text>\n", out);
    }
    x += own;
  }
  return line;
}

void cli_report_add_values(FILE *out, const mica_item *item) {
  const chart c = {.item = item};
  size_t count = 0;
  for (size_t k = 1; k < item->columns; k++) count += has_points(&c, k);
  if (!count) return;
  fputs("<tr><th>", out);
  cli_report_escape(out, item->name);
  fputs(", ", out);
  cli_report_escape(out, item->column_names[0]);
  fprintf(out, " %g</th><td class=t>", item->numbers[0]);
  for (size_t k = 1; k < item->columns; k++) {
    if (!has_points(&c, k)) continue;
    cli_report_escape(out, item->column_names[k]);
    fprintf(out, " %.6g%s", value_of(&c, 0, k), --count ? ", " : "");
  }
  fputs("</td></tr>\n", out);
}

void cli_report_add_curve(FILE *out, const mica_item *item) {
  chart c = {.item = item, .width = WIDTH};
  if (!find_range(&c)) return;
  c.top = TOP + LEGEND * add_legend(NULL, &c);
  c.height = HEIGHT - TOP + c.top;
  fprintf(out, "<svg width=%d height=%d viewBox=\"0 0 %d %d\" role=img>\n<text x=%d y=14>", WIDTH, c.height, WIDTH,
          c.height, LEFT);
  cli_report_escape(out, item->name);
  fputs("</text>\n", out);
  add_grid(out, &c);
  add_axis_name(out, &c, item->column_names[0]);
  for (size_t k = 1; k < item->columns; k++) add_series(out, &c, k);
  add_legend(out, &c);
  fputs("</svg>\n", out);
}

/* --- points --- */

/* Sets the range of the points' values in a column, widened to whole steps of its grid. If no value is finite, the
 * range is 0 to 1. */
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

/* Maximum number of names to write beside points. */
enum { NAMES = 40 };

/* A rectangle that a name or a dot covers. */
typedef struct frame {
  double x0, y0, x1, y1;
} frame;

/* The rectangles of names and dots, at most NAMES of each. */
typedef struct frames {
  frame all[2 * NAMES];
  size_t names, count;
} frames;

static bool overlaps(const frame *p, const frames *f) {
  for (size_t i = 0; i < f->count; i++)
    if (p->x0 < f->all[i].x1 && f->all[i].x0 < p->x1 && p->y0 < f->all[i].y1 && f->all[i].y0 < p->y1) return true;
  return false;
}

/* Writes the name of the point at x, y. Tries the upper right, upper left, lower right and lower left of the point, and
 * takes the first position where the name fits into the picture and overlaps no other name. In a chart of at most NAMES
 * points, the name must not overlap a dot either. Writes nothing if no position fits, or if NAMES names have been
 * written. */
static void add_name(FILE *out, const chart *c, const char *name, double x, double y, frames *f) {
  const double width = LETTER * letters(name);
  for (int side = 0; side < 4 && f->names < NAMES; side++) {
    const bool left = side % 2, below = side / 2;
    const double from = left ? x - 7 - width : x + 7, base = below ? y + 13 : y - 5;
    const frame p = {from, base - LINE + 2, from + width, base + 2};
    if (p.x0 < LEFT || p.x1 > c->width || p.y0 < c->top - 4 || p.y1 > c->height - BOTTOM || overlaps(&p, f)) continue;
    f->all[f->count++] = p;
    f->names++;
    fprintf(out, "<text x=%.1f y=%.1f text-anchor=%s>", left ? x - 7 : x + 7, base, left ? "end" : "start");
    cli_report_escape(out, name);
    fputs("</text>\n", out);
    return;
  }
}

static void add_dots(FILE *out, const mica_item *item, const chart *c) {
  frames f = {.count = 0};
  const bool few = item->rows <= NAMES;
  for (size_t i = 0; i < item->rows; i++) {
    const double *at = item->numbers + 2 * i, x = x_of(c, at[0]), y = y_of(c, at[1]);
    if (!isfinite(at[0]) || !isfinite(at[1])) continue;
    fprintf(out, "<circle class=a cx=%.1f cy=%.1f r=%d><title>", x, y, few ? 4 : 2);
    cli_report_escape(out, item->row_names[i]);
    fputs("</title></circle>\n", out);
    if (few) f.all[f.count++] = (frame){x - 4, y - 4, x + 4, y + 4};
  }
  for (size_t i = 0; i < item->rows; i++) {
    const double *at = item->numbers + 2 * i;
    if (isfinite(at[0]) && isfinite(at[1])) add_name(out, c, item->row_names[i], x_of(c, at[0]), y_of(c, at[1]), &f);
  }
}

void cli_report_add_points(FILE *out, const mica_item *item) {
  chart c = {.item = item, .width = 720, .height = 480, .top = TOP};
  if (item->rows <= NAMES) c.width = WIDTH, c.height = HEIGHT;
  find_bounds(item, 0, &c.left, &c.right);
  find_bounds(item, 1, &c.low, &c.high);
  const double up = grid_step(c.high - c.low), across = grid_step(c.right - c.left);
  fprintf(out, "<svg width=%d height=%d viewBox=\"0 0 %d %d\" role=img>\n<text x=%d y=14>", c.width, c.height, c.width,
          c.height, LEFT);
  cli_report_escape(out, item->column_names[1]);
  fputs("</text>\n", out);
  add_axis_name(out, &c, item->column_names[0]);
  for (int i = 0; i < 12 && c.low + i * up <= c.high + up / 2; i++) {
    const double y = y_of(&c, c.low + i * up);
    fprintf(out, "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text x=%d y=%.1f text-anchor=end>%.6g</text>\n", LEFT,
            c.width - RIGHT, y, y, LEFT - 6, y + 4, tick(c.low + i * up, up));
  }
  for (int i = 0; i < 12 && c.left + i * across <= c.right + across / 2; i++)
    fprintf(out, "<text x=%.1f y=%d text-anchor=middle>%.6g</text>\n", x_of(&c, c.left + i * across),
            c.height - BOTTOM + 20, tick(c.left + i * across, across));
  add_dots(out, item, &c);
  fputs("</svg>\n", out);
}
