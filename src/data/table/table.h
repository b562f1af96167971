/* data/table/table.h: tables as text. Each line is a record. Cells are separated by commas, semicolons or tabs, and are
 * quoted if they contain a separator or a line end ("" is a quote inside quotes). Between tabs, a quote that is not
 * closed in its cell is part of the cell. Empty lines are skipped. Lines that begin with # are skipped before the first
 * record, and after it if they have another number of cells. */
#ifndef MICA_DATA_TABLE_TABLE_H
#define MICA_DATA_TABLE_TABLE_H

#include "base/name_table.h"
#include "base/text.h"
#include "data/dataset.h"

/* The most labels of a sample. */
#define MICA__MOST_ANSWERS 256

/* --- records (records.c) --- */

/* A cell without the quotes and blanks around it; `doubled`: it contains doubled quotes (""). */
typedef struct mica__cell {
  const char *text;
  size_t length;
  bool doubled;
} mica__cell;

/* How many bytes of a cell a message shows: at most 40, and no half of a UTF-8 character at the end. */
static inline int mica__cell_shown(mica__cell cell) {
  size_t n = cell.length < 40 ? cell.length : 40;
  while (n < cell.length && n > 0 && ((unsigned char)cell.text[n] & 0xc0) == 0x80) n--;
  return (int)n;
}

/* The records of a text, one at a time, in memory or through a window on a file. */
typedef struct mica__records {
  const char *name;
  int file;     /* -1: the whole text is in memory */
  char *window; /* a NUL follows the `filled` bytes */
  size_t filled, capacity, at;
  uint64_t window_offset; /* where the window begins in the file */
  bool ended;             /* nothing follows the window */
  char delimiter;
  size_t line, next_line; /* line of the current record, from 1, and of the next one */
  uint64_t offset;        /* of the current record in the text */
  size_t bytes;           /* of the current record */
  mica__cell *cells;      /* of the current record; valid until the next one */
  size_t count, capacity_cells;
  size_t width;  /* number of cells in the first record; 0: not read yet */
  size_t passed; /* lines beginning with # that were skipped */
} mica__records;

/* Begins to read a text in memory, which ends with a NUL and must outlive the records. */
mica__records mica__records_in(const char *name, char *content, size_t size);
/* Begins to read a file; the caller closes the descriptor. */
mica__records mica__records_of(const char *name, int file);
void mica__records_free(mica__records *records);
/* Goes back to the beginning. */
void mica__records_rewind(mica__records *records);
/* Finds the next record; *found is false at the end. MICA_E_FORMAT if a quote is not closed, something follows a
 * closing quote, there is a zero byte, there are too many columns, or lines end in CR alone. */
mica_status mica__records_next(mica__records *records, bool *found);
/* Chooses the delimiter with which the first records have equal numbers of cells, the most if several have; if none
 * has, the one that splits the first record into the most cells. Semicolons are preferred if the commas are decimal
 * commas. For a *.tsv it is always the tab. Call this at the beginning of the text; the records are at the beginning
 * afterwards. */
mica_status mica__records_find_delimiter(mica__records *records);
/* Splits a single record: a text of `size` bytes, followed by a NUL. */
mica_status mica__records_split(mica__records *records, const char *text, size_t size);

/* True if the whole cell is a number that is finite in f32. */
bool mica__cell_number(mica__cell cell, double *value);
/* True if the whole cell is a number, which may be too large for f32, or infinite. */
bool mica__cell_is_numeric(mica__cell cell, double *value);
/* True for digits that begin with a zero, 007: a name rather than a number. */
bool mica__cell_is_padded(mica__cell cell);
/* True for a number with a decimal comma, 1,5, which is not read as a number. */
bool mica__cell_has_comma(mica__cell cell);
/* Finds the seconds since 1970 of a date (2026-01-31) or a date and time (2026-01-31 23:59:59), as in
 * data/table/date.h; false for other cells. */
bool mica__cell_time(mica__cell cell, int64_t *seconds);
/* True for a text in the form of such a date if there is no such day or time: 2026-02-30. */
bool mica__cell_is_no_date(mica__cell cell);
/* Finds the seconds since 1970 of a day as eight digits, 20260131; false for other cells. */
bool mica__cell_day(mica__cell cell, int64_t *seconds);
/* True for cells without a value: empty, ?, NA, N/A, nan, null or none, in any case. */
bool mica__cell_is_missing(mica__cell cell);
/* True for cells without a value even in a column of names, where words such as NA may be names: empty and ?. */
bool mica__cell_is_empty(mica__cell cell);
/* Replace each doubled quote of a cell by one. The first function returns the length of the resulting text. The second
 * also writes the text to `out`, which must have room for cell.length bytes. */
size_t mica__cell_unquoted_length(mica__cell cell);
size_t mica__cell_unquote(mica__cell cell, char *out);
bool mica__cell_is(mica__cell cell, const char *text, bool any_case);

/* --- schemas (schema.c) --- */

/* The class names of a column: sorted, or in the order of config->like. */
typedef struct mica__dictionary {
  char **names;
  int32_t count, capacity;
  bool texts; /* mica__classes_are_texts */
  mica__name_table table;
} mica__dictionary;

/* --- classes (classes.c) --- */

void mica__dictionary_free(mica__dictionary *dictionary);
/* Adds a name unless it is there already. */
mica_status mica__dictionary_add(mica__dictionary *dictionary, const char *name);
mica_status mica__dictionary_sort(mica__dictionary *dictionary);
/* The class that a cell names, compared as text and then as a number; -1: none. */
mica_status mica__dictionary_find(const mica__dictionary *dictionary, mica__cell cell, int32_t *index);

/* True for a number in a form that codes have rather than counts or measures: 01 or 1e3. */
bool mica__cell_is_code(mica__cell cell);
/* True if one of the names is such a code: names that are equal as numbers, 01, 1 and 1.0, are then different
 * classes. */
bool mica__classes_are_texts(const char *const *names, size_t count);
/* The name by which classes are compared: doubled quotes reduced to one, no blanks around it and, unless `text` is set,
 * whole numbers in one form. *name is a buffer that grows. */
mica_status mica__class_name(mica__cell cell, bool text, char **name, size_t *capacity);

/* A column of the text. */
typedef struct mica__field {
  char *name;            /* from the header, or the column's number if it has no name there */
  mica_column_kind kind; /* NUMBER, CLASS, TEXT or TIME */
  bool label;
  size_t part;   /* its number among several labels, in the order of the table, from 0 */
  bool unused;   /* of an outline: the column may be absent, and is not read */
  bool days;     /* TIME: written as eight digits, 20260131 */
  bool numbered; /* CLASS: the class is the cell's number, below `limit` */
  int32_t limit;
  int32_t slot;          /* NUMBER that is not the label: its index in "x" */
  const char *unread;    /* a phrase that says why the column is not read; NULL: it is read */
  const char *holds;     /* mica__file_holds of the column's first text */
  bool found;            /* the column's first text is the name of a file that exists */
  size_t no_flag_line;   /* line of the first number that is neither 0 nor 1; 0: there is none */
  char no_flag[41];      /* the beginning of its cell */
  size_t missing;        /* how many cells have no number or class */
  bool unsure;           /* a label of numbers that might be classes: all are whole, or there are few different ones */
  bool open;             /* the label may be missing: its class is then -1, its number NaN */
  size_t unseen;         /* CLASS: how many cells have classes that config->like does not have; they become -1 */
  char first_unseen[41]; /* the beginning of the first such cell */
  size_t at;             /* the column's position in the text; SIZE_MAX: it is missing */
  bool repeated;         /* an earlier column has this name, so a number was appended: "a.1" */
  bool fills;            /* NUMBER: `fill` replaces missing cells; NaN until it is known */
  bool coarse;           /* NUMBER: the numbers are so large and close together that f32 makes many of them equal */
  double fill, least, most;
  double base; /* NUMBER: subtracted, in double, from the numbers and from `fill` */
  mica__dictionary classes;
  bool has_words; /* words that usually mean a missing cell are classes here */
  char *words;    /* these words, quoted; NULL without words */
} mica__field;

typedef struct mica__schema {
  mica__field *fields;
  size_t count;
  bool header;
  size_t columns;  /* how many columns the text has */
  int32_t numbers; /* how many numbers a row of "x" has */
  size_t samples;
  uint32_t *lines;      /* the line in which each sample begins, from 1 */
  size_t passed;        /* lines beginning with # that are not samples */
  size_t label;         /* index of the label's field, or of the first label's; SIZE_MAX: the text has none */
  size_t answers;       /* the number of labels per sample if there are several; 0: one */
  bool files;           /* mica_dataset_config.files: all columns of file names are read as the files' contents */
  bool flags;           /* several labels, each 0 or 1: classes that a sample has or does not have */
  bool leaves_out;      /* records without a label are left out */
  size_t unlabelled;    /* records without a label */
  mica_missing missing; /* how to replace missing numbers, as configured */
  char *extras;         /* names, quoted, of columns that the known table lacks; NULL if it has all */
  bool outline; /* these are a network's columns, not a table's: messages differ, and extra columns must have names */
} mica__schema;

/* Infers the columns by walking over the records several times; follows the schema of config->like if it has one. */
mica_status mica__schema_infer(mica__records *records, const mica_dataset_config *config, mica__schema **schema);
void mica__schema_release(void *schema);
/* The base that mica_dataset_config.bases gives for a column, by its name; with MICA_BASES_AUTO the smallest number of
 * a `coarse` column. 0: none. */
double mica__field_base(const char *bases, const mica__field *field);

/* --- kinds that are stated (kind_list.c) --- */

/* Reads the next entry of mica_dataset_config.kinds and moves *kinds past it; *name is NULL at the end. MICA_E_INVALID
 * says what is wrong with the entry. */
mica_status mica__kinds_next(const char **kinds, const char **name, size_t *length, mica_column_kind *kind);
/* The kind that the list gives for the column of that name, the last one if there are several; *stated is false if it
 * gives none. */
mica_status mica__kinds_find(const char *kinds, const char *name, mica_column_kind *kind, bool *stated);

/* The text of mica__field.unread for a column of row numbers. */
#define MICA__ROW_NUMBERS "row numbers"

/* --- missing cells and columns that are not read (missing.c) --- */

/* True if a cell of the field is missing. In a CLASS field with has_words, words such as NA are names, not missing
 * cells. */
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
 * they are in memory, else up to 10,000 random ones. 0 for a column without numbers. */
mica_status mica__fills_measure(const mica_dataset *dataset, mica_missing how, double *fills);
/* Replaces the missing numbers of column names[k] in the dataset's table by fills[k]; numbers in a file are replaced
 * when they are read. No other thread may read the dataset yet. */
void mica__fills_put(mica_dataset *dataset, const char *const *names, const double *fills, size_t count);
/* True if mica__missing_text must leave a column out. */
typedef bool mica__skips_fn(const void *user, const char *column);
/* Appends how missing cells are replaced, a phrase per column for up to 20 columns: "177 of 'age' become 29.7"; nothing
 * if there are none. `skips` NULL: all columns. */
void mica__missing_text(const mica_dataset *dataset, mica__skips_fn *skips, const void *user, mica__text *text);

/* --- names of languages (languages.c) --- */

/* True for usual names of a column of texts in one language: en, EN-US, german, "source text". */
bool mica__cell_is_language(mica__cell cell);

/* --- cells (cells.c) --- */

/* Reads the labels of a record if there are several: one f32 each, or one u8 if they are flags, where 255 means
 * unknown. */
mica_status mica__field_answers(const mica__schema *schema, const mica__records *records, void *answers);
/* The class of a cell. It is -1 if the label may be missing and is, or if the class of an input is unknown.
 * MICA_E_FORMAT, naming file, line and column, if a label is not a class. */
mica_status mica__field_class(const mica__field *field, const mica__records *records, int32_t *class_index);
/* Reads the number of a cell, or the value that replaces a missing one (NaN for a label that may be missing), and
 * subtracts the column's base. MICA_E_FORMAT, naming file, line and column, if it is not a number. */
mica_status mica__field_number(const mica__field *field, const mica__records *records, float *value);
mica_status mica__field_time(const mica__field *field, const mica__records *records, int64_t *seconds);

/* --- tables --- */

/* Fills the store with the samples of a text in memory, which ends with a NUL; the content is not kept. */
mica_status mica__table_parse(const char *name, char *content, size_t size, const mica_dataset_config *config,
                              mica__store *store);
/* Fills the store with the samples of a file whose records stay in it and are read when they are needed. */
mica_status mica__table_open(const char *path, const mica_dataset_config *config, mica__store *store);
/* Adds the columns of a schema to the store, without data. The store takes over the schema. */
mica_status mica__table_add_columns(mica__schema *schema, mica__store *store);
/* Fills the missing numbers of a complete store by config->missing, unless config->like is a table, which has the
 * values for them already. */
mica_status mica__table_fill(mica__store *store, const mica_dataset_config *config);
/* --- columns of files (files.c) --- */

/* The kind of file that a name's ending means, whether or not Mica reads the format: "picture", "recording" or "table";
 * NULL: another kind. */
const char *mica__file_holds(const char *name);
/* True if the path `cell` exists. A relative path starts at the folder of the table file, whose path is `table`. */
bool mica__table_finds(const char *table, const char *cell);
/* True for a column whose first cell names a picture or recording, if that file exists or the column's name says so
 * ("image", "path"). With `any`, the first cell decides alone, and may name a table too. False for a label. */
bool mica__field_names_files(const mica__field *field, bool any);
/* True for a name with the ending of tables. */
bool mica__table_is_named(const char *name);
/* Adds the pictures or recordings that a column of file names (mica__field_names_files) names, if no other column is
 * an input or if config->files is set. Paths are relative to the folder of the table's file `name`. */
mica_status mica__table_add_files(const char *name, mica__store *store, const mica_dataset_config *config);

/* --- layouts (layout.c) --- */

/* Finds out from the number of columns which columns a table without names has: the known ones, with or without the
 * labels, and with or without the unused ones. If two of these have that many columns, the first row of values decides:
 * columns of numbers must have numbers, labels must have known classes, and cells of unused columns are rather not
 * numbers. MICA_E_FORMAT for any other number of columns. */
mica_status mica__schema_layout(mica__records *records, bool header, size_t columns, const mica__schema *known,
                                bool *label, bool *unused);
/* Counts the columns of a text's first record. */
mica_status mica__table_width(const char *name, char *content, size_t size, size_t *columns);

/* --- outlines (outline.c) --- */

/* Makes the outline of a table's columns in order, one text per column:
 * - the kind and the name, such as "number width" or "text note"
 * - for a column that is not read, "ignored" and the name
 * - for the label, "label" or, if its classes are numbers, "numbered", and the name
 * - for each of several labels, "label" or, if it is a class that is present or absent, "flag", and the name
 *
 * The caller frees each text and the list. The list is NULL, with MICA_OK, for a dataset that is neither a table nor an
 * array with bases. */
mica_status mica__outline_list(const mica_dataset *dataset, char ***texts, size_t *count, bool *header);
/* A dataset of one sample of zeros, to be used as config->like for tables: numbers and the label are required, other
 * columns are unused. `classes` are the label's; NULL: it is a number. `bases` as in mica_dataset_config. MICA_E_FORMAT
 * for texts that mica__outline_list cannot have made. */
mica_status mica__outline_open(const char *const *texts, size_t count, bool header, const char *const *classes,
                               size_t class_count, const char *bases, mica_dataset **dataset);
/* mica_dataset_open for a table in memory, which ends with a NUL; the content is not kept. */
mica_status mica__table_read(const char *name, char *content, size_t size, const mica_dataset_config *config,
                             mica_dataset **dataset);

/* The name of a field's column in the store. */
const char *mica__field_column(const mica__field *field);

#endif
