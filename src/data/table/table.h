/* data/table/table.h: tables as text. A record a line, cells separated by , ; or tabs, quoted where they hold such or a
 * line end ("" is a quote inside of quotes); between tabs a quote that is not closed there is part of its cell, as
 * is usual. Empty lines are skipped, and lines that begin with # before the first record; after it those that have not
 * as many cells. */
#ifndef MICA_DATA_TABLE_TABLE_H
#define MICA_DATA_TABLE_TABLE_H

#include "base/name_table.h"
#include "base/text.h"
#include "data/dataset.h"

/* Labels of a sample, at most. */
#define MICA__MOST_ANSWERS 256

/* --- records (records.c) --- */

/* A cell without quotes and blanks around it; `doubled`: it holds quotes that are written twice. */
typedef struct mica__cell {
  const char *text;
  size_t length;
  bool doubled;
} mica__cell;

/* Bytes of a cell that a sentence shows: at most 40, no half character of UTF-8 at the end. */
static inline int mica__cell_shown(mica__cell cell) {
  size_t n = cell.length < 40 ? cell.length : 40;
  while (n < cell.length && n > 0 && ((unsigned char)cell.text[n] & 0xc0) == 0x80) n--;
  return (int)n;
}

/* A walk over the records of a text, in memory or through a window on a file. */
typedef struct mica__records {
  const char *name;
  int file;     /* -1: all of it is in memory */
  char *window; /* a NUL follows what is filled */
  size_t filled, capacity, at;
  uint64_t window_offset; /* of the window in the file */
  bool ended;             /* nothing follows the window */
  char delimiter;
  size_t line, next_line; /* line of the present record, from 1, and of the next */
  uint64_t offset;        /* of the present record in the text */
  size_t bytes;           /* of the present record */
  mica__cell *cells;      /* of the present record; valid until the next */
  size_t count, capacity_cells;
  size_t width;  /* cells of the first record since the beginning; 0: it is not read yet */
  size_t passed; /* lines with # that were passed over since then */
} mica__records;

/* Text in memory, which a NUL ends and which outlives the walk. */
mica__records mica__records_in(const char *name, char *content, size_t size);
/* A file, whose descriptor stays the caller's. */
mica__records mica__records_of(const char *name, int file);
void mica__records_free(mica__records *records);
/* Goes back to the beginning. */
void mica__records_rewind(mica__records *records);
/* Finds the next record; *found is false at the end. MICA_E_FORMAT, naming the line, for a quote that is not closed,
 * for bytes that are no text and for too many columns. */
mica_status mica__records_next(mica__records *records, bool *found);
/* Chooses the delimiter under which the first records have as many cells each, a tab by the name *.tsv; back at the
 * beginning after it. */
mica_status mica__records_find_delimiter(mica__records *records);
/* Splits one record that stands alone in a text of `size` bytes, which a NUL ends. */
mica_status mica__records_split(mica__records *records, const char *text, size_t size);

/* The number that all of the cell is, finite in f32. */
bool mica__cell_number(mica__cell cell, double *value);
/* The number that it is, which may be too large, or infinite. */
bool mica__cell_is_numeric(mica__cell cell, double *value);
/* True for digits after a zero, 007, which are a name and no count. */
bool mica__cell_is_padded(mica__cell cell);
/* True for a number with a comma, 1,5, which is none here. */
bool mica__cell_has_comma(mica__cell cell);
/* The seconds since 1970 of a date (2026-01-31) or a date and time (2026-01-31 23:59:59), see data/table/date.h. */
bool mica__cell_time(mica__cell cell, int64_t *seconds);
/* True for the form of such a date, when there is no such day or time: 2026-02-30. */
bool mica__cell_is_no_date(mica__cell cell);
/* The seconds since 1970 of a day as eight digits, 20260131. */
bool mica__cell_day(mica__cell cell, int64_t *seconds);
/* True for cells that hold nothing: empty, ?, NA, N/A, nan, null, none in any case. */
bool mica__cell_is_missing(mica__cell cell);
/* True for those that hold nothing among names too, where the words may be one: empty and ?. */
bool mica__cell_is_empty(mica__cell cell);
/* The text with quotes written once, as *length bytes at `out` of cell.length bytes. */
size_t mica__cell_unquoted_length(mica__cell cell);
size_t mica__cell_unquote(mica__cell cell, char *out);
bool mica__cell_is(mica__cell cell, const char *text, bool any_case);

/* --- schemas (schema.c) --- */

/* The classes of a column by their names: sorted, or in the order of config->like. */
typedef struct mica__dictionary {
  char **names;
  int32_t count, capacity;
  bool texts; /* mica__classes_are_texts */
  mica__name_table table;
} mica__dictionary;

/* --- classes (classes.c) --- */

void mica__dictionary_free(mica__dictionary *dictionary);
/* Adds a name that is not there yet. */
mica_status mica__dictionary_add(mica__dictionary *dictionary, const char *name);
mica_status mica__dictionary_sort(mica__dictionary *dictionary);
/* The class that a cell names, -1 for none: as it is written, else as a number. */
mica_status mica__dictionary_find(const mica__dictionary *dictionary, mica__cell cell, int32_t *index);

/* True for a number that is written as no count or measure is, 01 or 1e3. */
bool mica__cell_is_code(mica__cell cell);
/* True if one of the names is such: then names that are equal as numbers, 01, 1 and 1.0, are classes of their own. */
bool mica__classes_are_texts(const char *const *names, size_t count);
/* The name that class texts are compared by: quotes once, no blanks around it, and unless they are texts whole numbers
 * in one form. *name is a buffer that grows. */
mica_status mica__class_name(mica__cell cell, bool text, char **name, size_t *capacity);

/* A column of the text. */
typedef struct mica__field {
  char *name;            /* of the header; its number if there is none */
  mica_column_kind kind; /* NUMBER, CLASS, TEXT or TIME */
  bool label;
  size_t part;   /* of several labels: which one in the order of the table, from 0 */
  bool unused;   /* of an outline: such a column may be absent, and is passed over */
  bool days;     /* TIME: as eight digits, 20260131 */
  bool numbered; /* CLASS: the class is the number that the cell is, below `limit` */
  int32_t limit;
  int32_t slot;          /* NUMBER but for the label: which number of "x" */
  const char *unread;    /* a phrase that says why the column is not read; NULL: it is */
  const char *holds;     /* mica__file_holds of the first text in the column */
  size_t missing;        /* its cells without a number or a class */
  bool unsure;           /* a label that is a number, and might be a class: numbers are whole, or few differ */
  bool open;             /* a label that may be missing: class -1, number NaN */
  size_t unseen;         /* CLASS: cells of classes that config->like does not have, which are -1 */
  char first_unseen[41]; /* the beginning of the first of these */
  size_t at;             /* the column in the text; SIZE_MAX: it is not there */
  bool repeated;         /* its name is that of a column before it, with a number: "a.1" */
  bool fills;            /* NUMBER: `fill` stands for missing cells; NaN until that is known */
  bool coarse;           /* NUMBER: f32 tells few of its numbers apart, which are large and differ little */
  double fill, least, most;
  double base; /* NUMBER: is subtracted, in double, from the numbers and from `fill` */
  mica__dictionary classes;
  bool has_words; /* words that elsewhere say that a cell is missing are classes */
  char *words;    /* quoted, names of classes that elsewhere say that a cell is missing; NULL: there are none */
} mica__field;

typedef struct mica__schema {
  mica__field *fields;
  size_t count;
  bool header;
  size_t columns;  /* of the text */
  int32_t numbers; /* of "x" */
  size_t samples;
  uint32_t *lines;      /* of each sample, from 1 */
  size_t passed;        /* lines that begin with # and are not samples */
  size_t label;         /* which field it is, of several the first; SIZE_MAX: none that is in the text */
  size_t answers;       /* several labels per sample: how many; 0: one */
  bool files;           /* mica_dataset_config.files: every column of names of files is read as what the files hold */
  bool flags;           /* several labels, each 0 or 1, which are classes that a sample has or has not */
  bool leaves_out;      /* records without a label are not samples */
  size_t unlabelled;    /* records without a label */
  mica_missing missing; /* what stands for missing numbers, as it was asked for */
  char *extras;         /* quoted, the names of columns that the table it goes with has not; NULL: there are none */
  bool outline;         /* of a network's columns: it says so in sentences, and extra columns need names */
} mica__schema;

/* Finds out what the columns are, in some walks over the records; like's schema is followed where it has one. */
mica_status mica__schema_infer(mica__records *records, const mica_dataset_config *config, mica__schema **schema);
void mica__schema_release(void *schema);
/* The base that mica_dataset_config.bases subtracts from a column, by its name or by its smallest number. */
double mica__field_base(const char *bases, const mica__field *field);

/* --- kinds that are stated (kind_list.c) --- */

/* The next entry of mica_dataset_config.kinds, after which *kinds is then; *name is NULL at the end. MICA_E_INVALID
 * says what is wrong with it. */
mica_status mica__kinds_next(const char **kinds, const char **name, size_t *length, mica_column_kind *kind);
/* The kind of the column of that name, the last of several; *stated is false if nothing is said of it. */
mica_status mica__kinds_find(const char *kinds, const char *name, mica_column_kind *kind, bool *stated);

/* mica__field.unread of a column that numbers the rows. */
#define MICA__ROW_NUMBERS "row numbers"

/* --- missing cells and columns that are not read (missing.c) --- */

/* True if the cell of a label is missing: words such as NA may be classes. */
bool mica__field_lacks(const mica__field *field, mica__cell cell);
/* True if the record lacks the label, or one of several. */
bool mica__schema_lacks(const mica__schema *schema, const mica__records *records);
/* Finds the next record that is a sample; otherwise like mica__records_next. */
mica_status mica__schema_next(const mica__schema *schema, mica__records *records, bool *found);
/* True if a list such as "id,name" contains the name. */
bool mica__list_has(const char *list, const char *name);
/* True for usual names of columns that number rows: rownames, id, user_id, userId, index, Unnamed: 0. */
bool mica__is_index_name(const char *name);
/* Computes the values that replace missing numbers of "x", one per number, from the dataset's samples: all of them if
 * they are in memory, else 10,000. 0 for a column without numbers. */
mica_status mica__fills_measure(const mica_dataset *dataset, mica_missing how, double *fills);
/* Replaces all missing numbers in the dataset's table, found by the names of columns. Nobody else may read it yet. */
void mica__fills_put(mica_dataset *dataset, const char *const *names, const double *fills, size_t count);
/* True for a column that a list of missing cells does not mention. */
typedef bool mica__skips_fn(const void *user, const char *column);
/* Appends how missing cells are replaced, a phrase per column: "177 of 'age' become 29.7"; nothing if there are none.
 * `skips` NULL: all columns. */
void mica__missing_text(const mica_dataset *dataset, mica__skips_fn *skips, const void *user, mica__text *text);

/* --- names of languages (languages.c) --- */

/* True for usual names of a column of texts in one language: en, EN-US, german, "source text". */
bool mica__cell_is_language(mica__cell cell);

/* --- cells (cells.c) --- */

/* The labels of a record if there are several: one f32 each, or one u8 if they are flags, where 255 means unknown. */
mica_status mica__field_answers(const mica__schema *schema, const mica__records *records, void *answers);
/* The class of a cell; MICA_E_FORMAT, naming file, line and column, if it is not a class. */
mica_status mica__field_class(const mica__field *field, const mica__records *records, int32_t *class_index);
/* The number of a cell, or the value that replaces a missing one, minus the column's base; MICA_E_FORMAT likewise. */
mica_status mica__field_number(const mica__field *field, const mica__records *records, float *value);
mica_status mica__field_time(const mica__field *field, const mica__records *records, int64_t *seconds);

/* --- tables --- */

/* Samples of a text in memory, which ends with a NUL; the content is not kept. */
mica_status mica__table_parse(const char *name, char *content, size_t size, const mica_dataset_config *config,
                              mica__store *store);
/* Samples of a file whose records stay in it and are read when they are needed. */
mica_status mica__table_open(const char *path, const mica_dataset_config *config, mica__store *store);
/* Adds the columns of a schema to the store, without data except for the labels of a table in memory. The store takes
 * over the schema. */
mica_status mica__table_add_columns(mica__schema *schema, mica__store *store);
/* Fills the missing numbers of a complete store by config->missing, unless config->like has values for them. */
mica_status mica__table_fill(mica__store *store, const mica_dataset_config *config);
/* --- columns of files (files.c) --- */

/* The kind of file that a name's ending means, whether or not Mica reads the format: "picture", "recording" or "table";
 * NULL: another kind. */
const char *mica__file_holds(const char *name);
/* True for a column that names pictures, recordings or tables, by its first cell and, unless `any`, by its name. Tables
 * are named if `any`. */
bool mica__field_names_files(const mica__field *field, bool any);
/* True for a name with the ending of tables. */
bool mica__table_is_named(const char *name);
/* Adds the pictures or recordings that such a column names, if no other column is an input or if config->files is set.
 * Paths are relative to the folder of the table's file `name`. */
mica_status mica__table_add_files(const char *name, mica__store *store, const mica_dataset_config *config);

/* --- layouts (layout.c) --- */

/* Finds out which columns a table without names has, by their number: all known ones, or all except the label, or those
 * without the unused ones. Unused columns are there if their cells in the first record are not numbers. MICA_E_FORMAT
 * for any other number of columns. */
mica_status mica__schema_layout(mica__records *records, bool header, size_t columns, const mica__schema *known,
                                bool *label, bool *unused);
/* The columns of a text's first record. */
mica_status mica__table_width(const char *name, char *content, size_t size, size_t *columns);

/* --- outlines (outline.c) --- */

/* The outline of a table's columns in order, one text each: kind and name ("number width", "text note"); for the label
 * "label kind", or "numbered kind" if its classes are numbers. Several labels have one text each, "flag kind" if they
 * are classes that are present or absent. The caller frees each text and the list. NULL with MICA_OK for a dataset that
 * is neither a table nor an array with bases. */
mica_status mica__outline_list(const mica_dataset *dataset, char ***texts, size_t *count, bool *header);
/* A dataset of one sample of zeros to be `like` for tables: numbers and label are required, other columns are unused.
 * `classes` are the label's, NULL: it is a number; `bases` as in mica_dataset_config. MICA_E_FORMAT for texts that
 * mica__outline_list cannot have made. */
mica_status mica__outline_open(const char *const *texts, size_t count, bool header, const char *const *classes,
                               size_t class_count, const char *bases, mica_dataset **dataset);
/* mica_dataset_open for a table in memory, which ends with a NUL; the content is not kept. */
mica_status mica__table_read(const char *name, char *content, size_t size, const mica_dataset_config *config,
                             mica_dataset **dataset);

/* The name of a field's column in the store. */
const char *mica__field_column(const mica__field *field);

#endif
