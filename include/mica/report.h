/* mica/report.h: results as data: what a task reports about a run, and predictions. A report has sections, each with a
 * title and items. Rendering is left to the program.
 *
 * Threads: use a report from one thread at a time. */
#ifndef MICA_REPORT_H
#define MICA_REPORT_H

#include <mica/shape.h>
#include <stdbool.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* name, text: kind of an item, and the fields of mica_item that it uses.
 *
 *   number    number
 *   text      text
 *   numbers   rows of numbers
 *   choices   rows: share of each row_name in numbers; the classes of a sample, likeliest first
 *   labels    rows x 3: share of each row_name; 1 if predicted, else 0; 1 if true, else 0 (NaN: unknown)
 *   table     rows x columns of numbers, or of texts if there are any, with column_names. A column of number_columns
 *             has both: texts for display, numbers as values in JSON
 *   matrix    like table, with counts; a confusion matrix has one row per true class
 *   curve     columns series of `rows` points, named by column_names; the first one is the horizontal axis
 *   points    rows x 2: position of each row_name; column_names name the horizontal and the vertical axis
 *   picture   planes with `shape` (C, H, W) u8, C 1 or 3; text is the caption
 *   file      planes with `shape` (bytes): a whole file; text is the ending of its name
 *   boxes     rows x 5: x0, y0, x1, y1 in pixels, and score; rows x 6 with the id of a track, or NaN; row_names are
 *             the classes; planes may hold the picture */
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
  X(FILE, "file")                                                                                                      \
  X(BOXES, "boxes")

typedef enum mica_item_kind {
#define MICA_ITEM_KIND_ENUM(name, text) MICA_ITEM_KIND_##name,
  MICA_ITEM_KIND_LIST(MICA_ITEM_KIND_ENUM)
#undef MICA_ITEM_KIND_ENUM
} mica_item_kind;

typedef struct mica_item {
  mica_item_kind kind;
  const char *name; /* key: "f1", "confusion" */
  double number;
  const char *text;
  size_t rows, columns;
  const char *const *row_names, *const *column_names; /* NULL: no names */
  const double *numbers;                              /* rows x columns, row-major; NaN for an empty cell */
  const char *const *texts;                           /* rows x columns, row-major */
  mica_shape shape;
  const uint8_t *planes;
  const bool *number_columns; /* tables with texts: true for each column whose values are in numbers; NULL: none */
} mica_item;

typedef struct mica_report mica_report;

/* Creates an empty report. */
MICA_API MICA_CHECKED mica_status mica_report_create(mica_report **report);
/* NULL is a no-op. */
MICA_API void mica_report_destroy(mica_report *report);

/* Begins a section. In predictions, a section is a sample. */
MICA_API MICA_CHECKED mica_status mica_report_begin(mica_report *report, const char *title);
/* Adds an item to the last section; copies it and all it points to. MICA_E_INVALID: there is no section, the item has
 * no name, or it lacks a field that its kind uses. */
MICA_API MICA_CHECKED mica_status mica_report_add(mica_report *report, const mica_item *item);
MICA_API MICA_CHECKED mica_status mica_report_add_number(mica_report *report, const char *name, double number);
MICA_API MICA_CHECKED mica_status mica_report_add_text(mica_report *report, const char *name, const char *text);

/* Number of sections; title and number of items of a section. NULL and 0 if section is too large. */
MICA_API size_t mica_report_count(const mica_report *report);
MICA_API const char *mica_report_title(const mica_report *report, size_t section);
MICA_API size_t mica_report_item_count(const mica_report *report, size_t section);
/* An item of a section; NULL if an index is too large. Valid until the next item is added. */
MICA_API const mica_item *mica_report_item(const mica_report *report, size_t section, size_t index);
/* The first item of a section with this name; NULL if there is no such item. */
MICA_API const mica_item *mica_report_find(const mica_report *report, size_t section, const char *name);

/* Writes a JSON object on one line: {HEAD"KEY": [{"name": title, "ITEM": ...}, ...]}. head is "" or text such as
 * "\"task\": \"classify\", ". A section without an item "prediction" gets a member of this name after the title. Its
 * value comes from the first of these items: the likeliest class of "classes" (choices), the names of the predicted
 * ones of "labels", or the value of a number or text called "value", "text" or "translation". Numbers that are not
 * finite become null, invalid UTF-8 becomes U+FFFD, and pictures and files are omitted. Names of classes and columns
 * come from datasets, which have already replaced invalid bytes and control characters by texts such as \xe4. *text is
 * the caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_report_json(const mica_report *report, const char *key, const char *head,
                                                   char **text);

MICA_END_DECLS

#endif
