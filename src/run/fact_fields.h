/* run/fact_fields.h: the values stored with a run (facts, run/facts.h) as a typed struct. One list gives the struct and
 * what config.json must hold:
 *   #define KEYWORD_FACTS(X, S)                                    \
 *     X(S, TEXTS, classes, .needed = true)                         \
 *     X(S, NUMBER, rate, .needed = true, .most = 1 << 20)
 *   MICA__FACTS_STRUCT(keyword, KEYWORD_FACTS);           the type mica__keyword_facts
 *   static MICA__FACTS_TABLE(keyword, KEYWORD_FACTS, 0);  the list mica__keyword_fact_list, for mica__task_row.facts
 */
#ifndef MICA_RUN_FACT_FIELDS_H
#define MICA_RUN_FACT_FIELDS_H

#include "base/error.h"

#include <math.h>
#include <mica/run.h>
#include <stddef.h>

/* The largest size of an input's dimension in config.json. Checked first, because memory is allocated by it. */
#define MICA__LARGEST_ROW (1 << 20)

typedef struct mica__fact_texts {
  const char *const *list;
  size_t count;
} mica__fact_texts;

typedef struct mica__fact_numbers {
  const double *list;
  size_t count;
} mica__fact_numbers;

typedef enum mica__fact_kind {
  MICA__FACT_TEXT,
  MICA__FACT_TEXTS,
  MICA__FACT_NUMBER,
  MICA__FACT_NUMBERS
} mica__fact_kind;

#define MICA__FACT_TEXT_FIELD(name) const char *name;           /* "" if missing */
#define MICA__FACT_TEXTS_FIELD(name) mica__fact_texts name;     /* list is NULL if missing */
#define MICA__FACT_NUMBER_FIELD(name) double name;              /* 0 if missing */
#define MICA__FACT_NUMBERS_FIELD(name) mica__fact_numbers name; /* list is NULL if missing */

/* The type of a stored value:
 *   TEXT, NUMBER     one element
 *   TEXTS, NUMBERS   if `of` is set: `each` elements per element of the stored value `of`, and `more` in addition;
 *                    else `count` elements or, if that is 0, any number, but at least one */
typedef struct mica__fact_row {
  const char *name;
  mica__fact_kind kind;
  size_t offset; /* in the struct */
  bool needed;
  bool of_task; /* the task's own list checks it; here only kind and `most` */
  size_t count;
  const char *of;    /* name of the stored value that gives the count; "input": its channels or columns */
  size_t each, more; /* an `each` of 0 means 1 */
  double above;      /* numbers must be greater than this; see MICA__OR_ZERO and MICA__ANY_SIGN */
  double most;       /* numbers are whole and from 0 to this; 0 for no such limit */
} mica__fact_row;

/* Without one of these, numbers must be above 0; MICA__OR_ZERO allows 0 too, MICA__ANY_SIGN all numbers. */
#define MICA__OR_ZERO .above = -0x1p-149
#define MICA__ANY_SIGN .above = -INFINITY

typedef struct mica__fact_list {
  const mica__fact_row *rows;
  size_t count;
  size_t input_rank; /* the number of dimensions of the stored value "input"; 0 for any number */
} mica__fact_list;

#define MICA__FACT_FIELD(owner, kind, name, ...) MICA__FACT_##kind##_FIELD(name)
#define MICA__FACTS_STRUCT(label, list)                                                                                \
  typedef struct mica__##label##_facts {                                                                               \
    list(MICA__FACT_FIELD, )                                                                                           \
  } mica__##label##_facts
#define MICA__FACT_ROW(owner, tag, field, ...)                                                                         \
  {.name = #field, .kind = MICA__FACT_##tag, .offset = offsetof(mica__##owner##_facts, field), __VA_ARGS__},
#define MICA__FACTS_TABLE(label, list, rank)                                                                           \
  const mica__fact_list mica__##label##_fact_list = {                                                                  \
      .rows = (const mica__fact_row[]){list(MICA__FACT_ROW, label)},                                                   \
      .count = sizeof((const mica__fact_row[]){list(MICA__FACT_ROW, label)}) / sizeof(mica__fact_row),                 \
      .input_rank = (rank)}

/* Fills the struct of the list from the run's stored values. Its pointers are valid until one of these changes. */
void mica__facts_read(const mica_run *run, const mica__fact_list *list, void *facts);
/* Checks kind, count and range of a stored value and, if `all`, that a required value is there; else MICA_E_FORMAT. */
mica_status mica__fact_check(const mica_run *run, const mica__fact_row *row, bool all);
/* Checks only the stored numbers whose row has `most`. */
mica_status mica__facts_check_whole(const mica_run *run, const mica__fact_list *list);

#endif
