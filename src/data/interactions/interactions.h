/* data/interactions/interactions.h: tables of users, items, and what is known between them. Ids are texts in files;
 * inside they are numbers from 1, and 0 stands for all that training has not seen. */
#ifndef MICA_DATA_INTERACTIONS_INTERACTIONS_H
#define MICA_DATA_INTERACTIONS_INTERACTIONS_H

#include "data/interactions/features.h"
#include "data/interactions/titles.h"

#include <mica/data.h>

/* One line of a file: a user had to do with an item. */
typedef struct mica__interaction {
  int32_t user, item;
  float rating;
  uint8_t part; /* a mica_part */
  double time;
  size_t line;
  mica__feature_rows rows; /* of its pair, and of user and item in tables of theirs */
} mica__interaction;

/* The columns of a table of interactions. */
enum { MICA__USER, MICA__ITEM, MICA__RATING, MICA__TIME, MICA__INTERACTION_COLUMNS };

typedef struct mica__interactions {
  mica__id_names users, items;
  mica__interaction *list;
  size_t count, capacity;
  bool rated, timed;                    /* the file has ratings, times */
  size_t passed;                        /* lines that begin with # and were not read */
  bool header;                          /* its first line names the columns */
  size_t at[MICA__INTERACTION_COLUMNS]; /* which columns are what; SIZE_MAX: not there */
  mica__features features;              /* of networks that take some */
} mica__interactions;

/* Names of the columns; NULL: found by usual names. */
typedef struct mica__interaction_columns {
  const char *user, *item, *rating, *time;
} mica__interaction_columns;

/* What becomes of pairs that come twice. */
typedef enum mica__duplicates { MICA__DUPLICATES_FAIL, MICA__DUPLICATES_LAST, MICA__DUPLICATES_KEEP } mica__duplicates;

/* Reads all of a table. MICA_E_FORMAT names file, line and column of a cell that is missing or no number, a column that
 * is missing, and a pair that comes twice, unless the last or all of them are kept. */
mica_status mica__interactions_read(mica__records *records, const mica__interaction_columns *columns,
                                    mica__duplicates duplicates, mica__interactions *out);
void mica__interactions_free(void *interactions);

/* How the file of a table is read. */
typedef struct mica__interactions_config {
  mica__interaction_columns columns;
  mica__duplicates duplicates;
  bool clicks;                          /* ratings are clicks, 0 or 1; MICA_E_FORMAT names one that is not */
  double clicks_from;                   /* they are made of ratings, from this one on; NaN: they are clicks already */
  const mica__feature_config *features; /* of further columns; NULL: none are read */
} mica__interactions_config;
typedef mica_status mica__interactions_fn(void *user, mica__interactions *x);
/* Opens the file at path, or in the folder at path, and reads it. With `each` the lines come part by part, in *out, a
 * pair that comes twice among them. */
mica_status mica__interactions_open(const char *path, const mica__interactions_config *config,
                                    mica__interactions_fn *each, void *user, mica__interactions *out);
/* Reads the features of a table of users or of items, and gives them to the lines of x; path NULL: none have any. */
mica_status mica__interactions_add_side(const char *path, mica__side side, const mica__feature_config *config,
                                        mica__interactions *x);
/* The table of users or items in a folder; false if the folder has no such table. */
bool mica__interactions_find_side(const char *folder, mica__side side, mica__text *path);
/* Titles by the names of items, from the file at path, or NULL: the file movies.csv, items.csv, u.item or movies.dat of
 * the folder; *titles (items->count texts, "" for none) stays NULL without such a table. */
mica_status mica__titles_open(const char *path, const char *folder, const mica__id_names *items, char ***titles);

/* What a new user thinks of items. */
typedef struct mica__rated {
  char **items;
  double *ratings;
  size_t count, capacity;
  mica__id_names users; /* where there is a column of them: one */
} mica__rated;
/* Reads a table of items and ratings: the columns that are called so, else the first two, of three numbers or more the
 * second and third behind the user; a first line whose rating is no number names the columns. MICA_E_FORMAT names file,
 * line and what is wrong. *out is to be freed after a failure too. */
mica_status mica__rated_read(mica__records *records, mica__rated *out);
mica_status mica__rated_open(const char *path, mica__rated *out);
void mica__rated_free(mica__rated *rated);

/* --- parts --- */

typedef enum mica__holdout { MICA__HOLDOUT_RANDOM, MICA__HOLDOUT_TIME, MICA__HOLDOUT_LAST } mica__holdout;

/* Gives each interaction its part: shares `test` and `validation` of all; of LAST the last item of each user, and for
 * a validation above 0 the one before it. */
mica_status mica__interactions_part(mica__interactions *x, mica__holdout how, double test, double validation,
                                    uint64_t seed);
/* Ids anew: those that come `least` times in the training part, in the order of their first appearance; all others
 * become 0 and lose their names. */
mica_status mica__interactions_number(mica__interactions *x, int64_t least);
/* Ids anew: those of these names, in their order. MICA_E_FORMAT for a name that comes twice. */
mica_status mica__interactions_rename(mica__interactions *x, const char *const *users, size_t user_count,
                                      const char *const *items, size_t item_count);

/* Items of each user, in order of time, then of lines: user u has items[offsets[u]] to
 * items[offsets[u + 1] - 1]. */
typedef struct mica__histories {
  int64_t *offsets; /* users + 2 */
  int32_t *items;
  float *ratings;
} mica__histories;
/* Makes them from the interactions of parts up to `last` (train, validation, test) with known items. */
mica_status mica__histories_make(const mica__interactions *x, mica_part last, mica__histories *out);
void mica__histories_free(mica__histories *h);

/* --- samples --- */

/* The interactions of a part. */
size_t mica__interactions_count(const mica__interactions *x, mica_part part);
/* Make a dataset of that name, which owns x; after a failure x is freed.
 *
 * ratings   per interaction of the part: user, item, label (the rating), and columns of the features of x
 * pairs     per item of a history: user, item, and unless context is 0 history (context) and history_length
 * windows   tokens (context + 1): from the end of each history backwards, with half of a window in common
 * held      per user with items of the part: user, the history before them, seen (all items), held (those items) */
mica_status mica__interactions_ratings(const char *name, mica__interactions *x, mica_part part, mica_dataset **data);
mica_status mica__interactions_pairs(const char *name, mica__interactions *x, const mica__histories *h, int64_t context,
                                     mica_dataset **data);
mica_status mica__interactions_windows(const char *name, mica__interactions *x, const mica__histories *h,
                                       int64_t context, mica_dataset **data);
mica_status mica__interactions_held(const char *name, mica__interactions *x, const mica__histories *h, mica_part part,
                                    int64_t context, mica_dataset **data);
/* The interactions that such a dataset owns; NULL: it is another one. */
const mica__interactions *mica__interactions_of(const mica_dataset *dataset);

#endif
