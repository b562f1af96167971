/* data/table/schema.h: what is known about a table's columns while their kinds are inferred. */
#ifndef MICA_DATA_TABLE_SCHEMA_H
#define MICA_DATA_TABLE_SCHEMA_H

#include "data/table/table.h"

/* Texts are classes if there are at most this many different ones, or at most MANY_TEXTS (kinds.c) that each occur
 * TEXT_REPEATS times on average. */
#define FEW_TEXTS 20
#define TEXT_REPEATS 2

/* Cells of one sort: their number, the line of the first, and its beginning. */
typedef struct mica__cells {
  size_t count, line;
  char first[41];
} mica__cells;

/* What is known about a column before its kind is decided. */
typedef struct mica__column_seen {
  mica__cells no_dates;              /* texts in the form of a date that does not exist: 2024-02-30 */
  mica__cells texts, missing, words; /* words: cells such as none or NA, which are missing or names of classes */
  size_t numbers, times;             /* cells; times also count as texts */
  size_t huge;                       /* texts that are numbers beyond the range of f32 */
  size_t codes;                      /* numbers that are written as 01 or 1e3 */
  size_t padded;                     /* only digits, beginning with a zero: 007 */
  size_t days;                       /* days as eight digits: 20260131 */
  size_t commas;                     /* texts that are numbers with a comma: 1,5 */
  size_t longest;
  size_t repeats;    /* later columns with the same name */
  bool whole;        /* all numbers are whole and not negative */
  bool fraction;     /* some number is not whole */
  bool unnamed;      /* the first line has no name for it */
  bool numbers_rows; /* its name, or the lack of one, suggests row numbers: `values` are its numbers */
  double *values;
  size_t capacity;
  double sum, least, most;
  const char *holds;     /* mica__field.holds */
  bool found;            /* mica__field.found */
  mica__cells no_flags;  /* numbers that are neither 0 nor 1 */
  mica__dictionary seen; /* different texts, up to a few more than there may be classes */
  mica__dictionary word_names;
} mica__column_seen;

typedef struct mica__inference {
  mica__records *records;
  const mica_dataset_config *config;
  mica__schema *schema;
  mica__column_seen *columns;
  size_t column_count;
  bool label_is_last; /* no name shows which column is the label */
  bool texts;         /* config->kinds has "*=text" */
  bool words;         /* the first record is all texts, and no column below it has numbers */
  char *name;         /* a buffer of mica__class_name */
  size_t capacity;
} mica__inference;

/* --- kinds.c --- */

/* Fails with MICA_E_FORMAT because the current record has another number of columns than the records before it. */
mica_status mica__schema_fail_columns(const mica__inference *in);
/* Walks over all records and decides the kind of each column. If no name shows which column is the label, and the last
 * one does not hold classes, another column may become the label. */
mica_status mica__schema_decide_kinds(mica__inference *in);

#endif
