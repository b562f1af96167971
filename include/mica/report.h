/* mica/report.h: results as data: what a task shows of a run, and what it predicts. Sections, each of a title and
 * items; no page, no terminal: who has a report renders it.
 *
 * Threads: a report is used by one thread at a time. */
#ifndef MICA_REPORT_H
#define MICA_REPORT_H

#include <mica/shape.h>
#include <stdbool.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* name, text: an item's kind and what it uses of mica_item.
 *
 * number    number
 * text      text
 * numbers   rows of numbers
 * choices   rows, each a row_name with its share in numbers: the classes of a sample, likeliest first
 * labels    rows x 3: the share of each row_name, 1 where it is said (else 0), 1 where it is true (NaN: unknown)
 * table     rows x columns of numbers, or of texts where there are any, under column_names; a column of
 *           number_columns has both: its texts are shown, its numbers are the values in JSON
 * matrix    the same, of counts: a confusion matrix, row the truth
 * curve     columns series of `rows` points, named by column_names; the first one is the horizontal axis
 * points    rows x 2: where each row_name stands, across and up, named by column_names
 * picture   planes of `shape`, (C, H, W) u8, C 1 or 3; text: what stands below it
 * boxes     rows x 5: x0, y0, x1, y1 in pixels and score, row_names the classes; planes may be the picture */
#define MICA_ITEM_KIND_LIST(X)                                                                                         \
  X(NUMBER, "number")                                                                                                  \
  X(TEXT, "text")                                                                                                      \
  X(NUMBERS, "numbers")                                                                                                \
  X(CHOICES, "choices")                                                                                                \
  X(LABELS, "labels")                                                                                                  \
  X(TABLE, "table")                                                                                                    \
  X(MATRIX, "matrix")                                                                                                  \
  X(CURVE, "curve")                                                                                                    \
  X(POINTS, "points")                                                                                                  \
  X(PICTURE, "picture")                                                                                                \
  X(BOXES, "boxes")

typedef enum mica_item_kind {
#define MICA_ITEM_KIND_ENUM(name, text) MICA_ITEM_KIND_##name,
  MICA_ITEM_KIND_LIST(MICA_ITEM_KIND_ENUM)
#undef MICA_ITEM_KIND_ENUM
} mica_item_kind;

typedef struct mica_item {
  mica_item_kind kind;
  const char *name; /* a key: "f1", "confusion" */
  double number;
  const char *text;
  size_t rows, columns;
  const char *const *row_names, *const *column_names; /* NULL: without */
  const double *numbers;                              /* rows x columns, row-major; NaN for an empty cell */
  const char *const *texts;                           /* likewise */
  mica_shape shape;
  const uint8_t *planes;
  const bool *number_columns; /* columns, of a table with texts: true where numbers holds the values; NULL: none */
} mica_item;

typedef struct mica_report mica_report;

/* An empty report. */
MICA_API MICA_CHECKED mica_status mica_report_create(mica_report **report);
/* NULL is a no-op. */
MICA_API void mica_report_destroy(mica_report *report);

/* Begins a section; of a prediction, a sample. */
MICA_API MICA_CHECKED mica_status mica_report_begin(mica_report *report, const char *title);
/* Adds to the section begun last a copy of the item and of all it points to. MICA_E_INVALID: no section, no name, or
 * the kind lacks what it uses. */
MICA_API MICA_CHECKED mica_status mica_report_add(mica_report *report, const mica_item *item);
MICA_API MICA_CHECKED mica_status mica_report_add_number(mica_report *report, const char *name, double number);
MICA_API MICA_CHECKED mica_status mica_report_add_text(mica_report *report, const char *name, const char *text);

/* The number of sections; a section's title and number of items. NULL and 0 beyond the last section. */
MICA_API size_t mica_report_count(const mica_report *report);
MICA_API const char *mica_report_title(const mica_report *report, size_t section);
MICA_API size_t mica_report_item_count(const mica_report *report, size_t section);
/* NULL for what is not there. Valid until the next item is added. */
MICA_API const mica_item *mica_report_item(const mica_report *report, size_t section, size_t index);
/* The first item of that name in a section; NULL without one. */
MICA_API const mica_item *mica_report_find(const mica_report *report, size_t section, const char *name);

/* A JSON object on one line: {"KEY": [{"name": title, "ITEM": ...}, ...]}; behind its brace stands `head` ("" for
 * nothing): "\"task\": \"classify\", ". Numbers that are not finite are null, bytes that are no UTF-8 U+FFFD; pictures
 * are left out. Names of classes and columns come from datasets, which have spelled such bytes, and control characters,
 * as the text \xe4 already. *text is the caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_report_json(const mica_report *report, const char *key, const char *head,
                                                   char **text);

MICA_END_DECLS

#endif
