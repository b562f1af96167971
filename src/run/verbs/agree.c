#include "run/verbs/agree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Two boxes of one class count as the same object if their intersection over union is at least this. */
#define SAME_BOX 0.5

/* Returns the item of a section that holds its answer, or NULL. Looks for one kind of item after the other, in the
 * order of the list, and takes the first item found. Items named "truth" do not count. */
static const mica_item *answer_of(const mica_report *r, size_t section) {
  static const struct {
    mica_item_kind kind;
    const char *name; /* NULL for any name but "truth" */
  } kinds[] = {{MICA_ITEM_KIND_BOXES, NULL},         {MICA_ITEM_KIND_PICTURE, "mask"},
               {MICA_ITEM_KIND_LABELS, NULL},        {MICA_ITEM_KIND_CHOICES, NULL},
               {MICA_ITEM_KIND_NUMBER, "value"},     {MICA_ITEM_KIND_NUMBER, "mean_depth"},
               {MICA_ITEM_KIND_TABLE, "forecast"},   {MICA_ITEM_KIND_TABLE, "values"},
               {MICA_ITEM_KIND_TEXT, "translation"}, {MICA_ITEM_KIND_TEXT, NULL}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t i = 0; i < mica_report_item_count(r, section); i++) {
      const mica_item *item = mica_report_item(r, section, i);
      if (item->kind != kinds[k].kind || !strcmp(item->name, "truth")) continue;
      if (!kinds[k].name || !strcmp(item->name, kinds[k].name)) return item;
    }
  return NULL;
}

static double overlap(const double *a, const double *b) {
  const double w = fmin(a[2], b[2]) - fmax(a[0], b[0]), h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
  const double both = w > 0 && h > 0 ? w * h : 0;
  const double all = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
  return all > 0 ? both / all : 0;
}

/* Agreement of two lists of boxes: 2 m / (number in a + number in b), where m is the number of pairs; 1 if there are no
 * boxes. Each box of a, in order, is paired with the unpaired box of b that it overlaps most, if both have the same
 * class and the overlap is at least SAME_BOX. */
static double boxes_agree(const mica_item *a, const mica_item *b) {
  bool *taken = calloc(b->rows + 1, sizeof *taken);
  size_t pairs = 0;
  if (!taken) return (double)NAN;
  for (size_t i = 0; i < a->rows; i++) {
    size_t best = b->rows;
    double most = SAME_BOX;
    for (size_t k = 0; k < b->rows; k++) {
      if (taken[k] || strcmp(a->row_names[i], b->row_names[k]) != 0) continue;
      const double share = overlap(a->numbers + a->columns * i, b->numbers + b->columns * k);
      if (share >= most) most = share, best = k;
    }
    if (best == b->rows) continue;
    taken[best] = true;
    pairs++;
  }
  free(taken);
  return a->rows + b->rows ? 2 * (double)pairs / (double)(a->rows + b->rows) : 1;
}

static double pictures_agree(const mica_item *a, const mica_item *b) {
  if (!mica_shape_equal(a->shape, b->shape)) return 0;
  const size_t plane = (size_t)(a->shape.dim[1] * a->shape.dim[2]), planes = (size_t)a->shape.dim[0];
  size_t same = 0;
  for (size_t i = 0; i < plane; i++) {
    bool equal = true;
    for (size_t c = 0; c < planes; c++) equal = equal && a->planes[c * plane + i] == b->planes[c * plane + i];
    same += equal;
  }
  return (double)same / (double)plane;
}

/* The share of labels for which a and b say the same: both assign the label, or both leave it out. */
static double labels_agree(const mica_item *a, const mica_item *b) {
  size_t same = 0;
  if (a->rows != b->rows || !a->rows) return 0;
  for (size_t i = 0; i < a->rows; i++) same += a->numbers[3 * i + 1] == b->numbers[3 * i + 1];
  return (double)same / (double)a->rows;
}

static double items_agree(const mica_item *a, const mica_item *b) {
  switch (a->kind) {
  case MICA_ITEM_KIND_BOXES: return boxes_agree(a, b);
  case MICA_ITEM_KIND_PICTURE: return pictures_agree(a, b);
  case MICA_ITEM_KIND_LABELS: return labels_agree(a, b);
  case MICA_ITEM_KIND_CHOICES: return a->rows && b->rows && !strcmp(a->row_names[0], b->row_names[0]) ? 1 : 0;
  case MICA_ITEM_KIND_TEXT: return !strcmp(a->text, b->text) ? 1 : 0;
  default: return (double)NAN;
  }
}

/* True for a number, which is treated as a table with one cell, and for a table. */
static bool is_number(const mica_item *item) {
  return item && (item->kind == MICA_ITEM_KIND_NUMBER || item->kind == MICA_ITEM_KIND_TABLE);
}

static size_t rows_of(const mica_item *item) { return item->kind == MICA_ITEM_KIND_NUMBER ? 1 : item->rows; }

static double number_at(const mica_item *item, size_t row, size_t column) {
  return item->kind == MICA_ITEM_KIND_NUMBER ? item->number : item->numbers[row * item->columns + column];
}

/* How many columns of a table hold forecasts; the columns of actual values come after them. A number has one column. */
static size_t columns_of(const mica_item *item) {
  static const char truth[] = " actual";
  size_t count = 0;
  for (; item->kind == MICA_ITEM_KIND_TABLE && count < item->columns; count++) {
    const char *name = item->column_names[count];
    const size_t length = strlen(name), end = sizeof truth - 1;
    if (length >= end && !strcmp(name + length - end, truth)) break;
  }
  return item->kind == MICA_ITEM_KIND_NUMBER ? 1 : count;
}

/* R2 of a column over all samples, with the numbers of a as the truth and those in b as predictions. NaN if there are
 * no numbers, or if all numbers of a are equal and some of b differ from them. */
static double column_agrees(const mica_report *a, const mica_report *b, size_t sections, size_t column) {
  double mean = 0, squares = 0, apart = 0;
  int64_t numbers = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t s = 0; s < sections; s++) {
      const mica_item *x = answer_of(a, s), *y = answer_of(b, s);
      const bool fit = is_number(x) && is_number(y) && x->kind == y->kind && column < columns_of(x) &&
                       column < columns_of(y) && rows_of(x) == rows_of(y);
      for (size_t i = 0; fit && i < rows_of(x); i++) {
        const double is = number_at(x, i, column), other = number_at(y, i, column);
        if (!pass) mean += (is - mean) / (double)++numbers;
        if (pass) squares += (is - mean) * (is - mean);
        if (pass) apart += (is - other) * (is - other);
      }
    }
  if (isnan(squares) || isnan(apart)) return 0; /* if one answer is not a number, the two do not agree */
  return squares > 0 ? 1 - apart / squares : apart > 0 || !numbers ? (double)NAN : 1;
}

/* Returns the mean of column_agrees over the columns for which it is not NaN; NaN if there is no such column. Adds to
 * *count the number of sections in which both answers are numbers or tables. */
static double numbers_agree(const mica_report *a, const mica_report *b, size_t sections, int64_t *count) {
  double sum = 0;
  size_t columns = 0;
  for (size_t s = 0; s < sections; s++) {
    const mica_item *x = answer_of(a, s);
    if (!is_number(x) || !is_number(answer_of(b, s))) continue;
    ++*count;
    if (columns_of(x) > columns) columns = columns_of(x);
  }
  size_t known = 0;
  for (size_t k = 0; k < columns; k++) {
    const double agrees = column_agrees(a, b, sections, k);
    if (isnan(agrees)) continue;
    sum += agrees;
    known++;
  }
  return known ? sum / (double)known : (double)NAN;
}

double mica__agreement(const mica_report *a, const mica_report *b, int64_t *count) {
  const size_t in_a = mica_report_count(a), in_b = mica_report_count(b), sections = in_a < in_b ? in_a : in_b;
  double sum = 0;
  *count = 0;
  for (size_t s = 0; s < sections; s++) {
    const mica_item *x = answer_of(a, s), *y = answer_of(b, s);
    if (!x || !y || x->kind != y->kind) continue;
    if (is_number(x)) return numbers_agree(a, b, sections, count);
    sum += items_agree(x, y);
    ++*count;
  }
  return *count ? sum / (double)*count : (double)NAN;
}
