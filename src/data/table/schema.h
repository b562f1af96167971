/* data/table/schema.h: what is known of a table's columns while they are inferred. */
#ifndef MICA_DATA_TABLE_SCHEMA_H
#define MICA_DATA_TABLE_SCHEMA_H

#include "data/table/table.h"

/* Texts are classes if there are so few different ones, or each occurs TEXT_REPEATS times on average. */
#define FEW_TEXTS 20
#define TEXT_REPEATS 2

/* Cells of a sort: how many, the line of the first and its beginning. */
typedef struct mica__cells {
  size_t count, line;
  char first[41];
} mica__cells;

/* Facts about a column before its kind is known. */
typedef struct mica__column_seen {
  mica__cells no_dates; /* texts in the form of a date that does not exist: 2024-02-30 */
  mica__cells texts, missing,
      words;             /* words: none, NA and so on, which say that a cell is missing, or are names of classes */
  size_t numbers, times; /* cells; times are texts or numbers */
  size_t huge;           /* texts that are numbers, above what f32 holds */
  size_t codes;          /* numbers that are written as 01 or 1e3 */
  size_t padded;         /* those of digits alone after a zero: 007 */
  size_t days;           /* those that are days as eight digits: 20260131 */
  size_t commas;         /* texts that are numbers with a comma: 1,5 */
  size_t longest;
  size_t repeats;    /* columns after it of the same name */
  bool whole;        /* all numbers are whole and not negative */
  bool fraction;     /* some number is not whole */
  bool unnamed;      /* the first line has no name for it */
  bool numbers_rows; /* its name, or that it has none, says that it may number the rows: `values` are its numbers */
  double *values;
  size_t capacity;
  double sum, least, most;
  const char *holds;     /* mica__field.holds */
  mica__dictionary seen; /* different texts, up to some more than may be classes */
  mica__dictionary word_names;
} mica__column_seen;

typedef struct mica__inference {
  mica__records *records;
  const mica_dataset_config *config;
  mica__schema *schema;
  mica__column_seen *columns;
  size_t column_count;
  bool label_is_last; /* no name says which column it is */
  bool texts;         /* config->kinds has "*=text" */
  bool words;         /* the first record holds texts alone, and there is no number below them */
  char *name;         /* a buffer of mica__class_name */
  size_t capacity;
} mica__inference;

/* --- kinds.c --- */

/* MICA_E_FORMAT: the present record has another number of columns. */
mica_status mica__schema_fail_columns(const mica__inference *in);
/* Walks over all records, and makes each column a kind by its cells; where no name says which column is the label,
 * another one than the last, if that one holds no classes. */
mica_status mica__schema_decide_kinds(mica__inference *in);

#endif
