/* mica/report.h: the results of a task as data. A report holds facts and measures of a run, or predictions. It has
 * sections; a section has a title and items. Drawing them is left to the program.
 *
 * Threads: use a report from one thread at a time. */
#ifndef MICA_REPORT_H
#define MICA_REPORT_H

#include <mica/shape.h>
#include <stdbool.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* Kinds of items: enumerator, name. Each kind uses these fields of mica_item:
 *
 *   number    number
 *   text      text
 *   numbers   rows of numbers
 *   choices   rows: row_names are the classes of a sample, likeliest first; numbers are their probabilities
 *   labels    rows x 3: row_names are the labels. The numbers of a row are the label's probability, whether it is
 *             predicted (1 or 0), and whether it is true (1, 0 or NaN: unknown)
 *   table     rows x columns of numbers, or of texts if `texts` is not NULL, with column_names. A column that is marked
 *             in number_columns has both: texts to display, numbers for JSON
 *   matrix    like table, with counts; a confusion matrix has one row per true class
 *   curve     `columns` series of `rows` points, named by column_names; the first series is the horizontal axis
 *   points    rows x 2: position of each row_name; column_names name the horizontal and the vertical axis
 *   picture   planes with `shape` (C, H, W) u8, C 1 or 3; text is the caption
 *   file      planes with `shape` (bytes): a whole file; text is the ending of its name
 *   boxes     rows x 5: x0, y0, x1, y1 in pixels, and score. rows x 6: also the id of a track, NaN if the box has none.
 *             row_names are the classes; planes may hold the picture */
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
 * no name, or its fields, columns or shape are not as its kind needs. */
MICA_API MICA_CHECKED mica_status mica_report_add(mica_report *report, const mica_item *item);
MICA_API MICA_CHECKED mica_status mica_report_add_number(mica_report *report, const char *name, double number);
MICA_API MICA_CHECKED mica_status mica_report_add_text(mica_report *report, const char *name, const char *text);

/* Number of sections; title and number of items of a section. If there is no such section, title is NULL and the number
 * of items 0. */
MICA_API size_t mica_report_count(const mica_report *report);
MICA_API const char *mica_report_title(const mica_report *report, size_t section);
MICA_API size_t mica_report_item_count(const mica_report *report, size_t section);
/* An item of a section; NULL if an index is too large. Valid until the next item is added. */
MICA_API const mica_item *mica_report_item(const mica_report *report, size_t section, size_t index);
/* The first item of a section with this name; NULL if there is no such item. */
MICA_API const mica_item *mica_report_find(const mica_report *report, size_t section, const char *name);

/* Writes a JSON object on one line: {HEAD"KEY": [{"name": title, "ITEM": ...}, ...]}. head is "" or text such as
 * "\"task\": \"classify\", ". The caller frees *text with mica_free.
 *
 * If a section has no item "prediction", the member "prediction" is added after its title. Its value comes from the
 * first item of the section that is one of these:
 *
 *   "labels" (labels)                                      the names of the predicted labels
 *   "classes" (choices), if there are no "labels"          the likeliest class
 *   "value", "text" or "translation" (number or text)      the item's value
 *
 * Numbers that are not finite become null, invalid UTF-8 becomes U+FFFD, and pictures and files are omitted. Names of
 * classes and columns come from datasets, which have already replaced invalid bytes and control characters by texts
 * such as \xe4. */
MICA_API MICA_CHECKED mica_status mica_report_json(const mica_report *report, const char *key, const char *head,
                                                   char **text);

MICA_END_DECLS

#endif
