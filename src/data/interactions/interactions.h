/* data/interactions/interactions.h: tables of interactions between users and items, such as ratings. Ids are texts in
 * files. Internally they are numbers from 1, and 0 means any id that training has not seen, or too rarely. */
#ifndef MICA_DATA_INTERACTIONS_INTERACTIONS_H
#define MICA_DATA_INTERACTIONS_INTERACTIONS_H

#include "data/interactions/features.h"
#include "data/interactions/titles.h"

#include <mica/data.h>

/* One line of a file: an interaction of a user and an item. */
typedef struct mica__interaction {
  int32_t user, item;
  float rating;
  uint8_t part; /* a mica_part */
  double time;
  size_t line;
  mica__feature_rows rows; /* rows in the tables of features: of the pair, the user and the item */
} mica__interaction;

/* The columns of a table of interactions. */
enum { MICA__USER, MICA__ITEM, MICA__RATING, MICA__TIME, MICA__INTERACTION_COLUMNS };

typedef struct mica__interactions {
  mica__id_names users, items;
  mica__interaction *list;
  size_t count, capacity;
  bool rated, timed;                    /* the file has ratings, times */
  size_t passed;                        /* lines that begin with # and were skipped */
  bool header;                          /* the first line names the columns */
  size_t at[MICA__INTERACTION_COLUMNS]; /* the position of each column; SIZE_MAX: missing */
  mica__features features;              /* of users, items and pairs, for networks that read them */
} mica__interactions;

/* Names of the columns; NULL: the usual names are searched for. */
typedef struct mica__interaction_columns {
  const char *user, *item, *rating, *time;
} mica__interaction_columns;

/* What happens to a pair of user and item that occurs twice: it is an error, only the last line counts, or both lines
 * do. */
typedef enum mica__duplicates { MICA__DUPLICATES_FAIL, MICA__DUPLICATES_LAST, MICA__DUPLICATES_KEEP } mica__duplicates;

/* Reads a whole table. MICA_E_FORMAT names file, line and column of a missing cell or malformed number, a missing
 * column, and, unless the last or all are kept, a pair that occurs twice. */
mica_status mica__interactions_read(mica__records *records, const mica__interaction_columns *columns,
                                    mica__duplicates duplicates, mica__interactions *out);
void mica__interactions_free(void *interactions);

/* How the file of a table is to be read. */
typedef struct mica__interactions_config {
  mica__interaction_columns columns;
  mica__duplicates duplicates;
  bool clicks;                          /* ratings are clicks, 0 or 1; MICA_E_FORMAT names one that is not */
  double clicks_from;                   /* ratings of at least this are clicks; NaN: ratings are clicks already */
  const mica__feature_config *features; /* for further columns; NULL: they are not read */
} mica__interactions_config;
typedef mica_status mica__interactions_fn(void *user, mica__interactions *x);
/* Opens and reads the file at path or, if path is a folder, the file in it with a usual name, such as ratings.csv. If
 * `each` is not NULL, it is called with up to 65,536 lines at a time, in *out, and repeated pairs are not looked
 * for. */
mica_status mica__interactions_open(const char *path, const mica__interactions_config *config,
                                    mica__interactions_fn *each, void *user, mica__interactions *out);
/* Reads the features from a table of users or items, and assigns them to the lines of x; path NULL: there are none. */
mica_status mica__interactions_add_side(const char *path, mica__side side, const mica__feature_config *config,
                                        mica__interactions *x);
/* The table of users or items in a folder; false if the folder has no such table. */
bool mica__interactions_find_side(const char *folder, mica__side side, mica__text *path);
/* Titles of the items by name, from the file at path; NULL: from movies.csv, items.csv, titles.csv, items.tsv,
 * u.item or movies.dat in the folder. *titles (items->count texts, "" for none) is not written if there is no such
 * table. */
mica_status mica__titles_open(const char *path, const char *folder, const mica__id_names *items, char ***titles);

/* The ratings of a new user. */
typedef struct mica__rated {
  char **items;
  double *ratings;
  size_t count, capacity;
  mica__id_names users; /* the user in a column of users, if there is one */
} mica__rated;
/* Reads a table of items and ratings. The columns are found by their usual names. Else they are the first two or, if
 * the first line consists of three or more numbers, the second and third, after the user. A first line whose rating is
 * not a number names the columns. MICA_E_FORMAT names file, line and fault. *out must be freed, also after a
 * failure. */
mica_status mica__rated_read(mica__records *records, mica__rated *out);
mica_status mica__rated_open(const char *path, mica__rated *out);
void mica__rated_free(mica__rated *rated);

/* --- parts --- */

typedef enum mica__holdout { MICA__HOLDOUT_RANDOM, MICA__HOLDOUT_TIME, MICA__HOLDOUT_LAST } mica__holdout;

/* Assigns each interaction to a part. Test and validation get the shares `test` and `validation` of all interactions:
 * random ones, or the latest with TIME. With LAST, test gets the last interaction of each user who has two or more. If
 * `validation` is above 0, validation gets the one before it, of each user who has three or more. */
mica_status mica__interactions_part(mica__interactions *x, mica__holdout how, double test, double validation,
                                    uint64_t seed);
/* Renumbers ids, and the values of features. Those that occur at least `least` times in the training part get the
 * numbers 1, 2, ... in the order of their first occurrence. All others become 0 and lose their names. */
mica_status mica__interactions_number(mica__interactions *x, int64_t least);
/* Renumbers ids in the order of these names. MICA_E_FORMAT for a repeated name. */
mica_status mica__interactions_rename(mica__interactions *x, const char *const *users, size_t user_count,
                                      const char *const *items, size_t item_count);

/* The items of each user, in order of time and then of lines: user u has items[offsets[u]] to items[offsets[u + 1] -
 * 1]. */
typedef struct mica__histories {
  int64_t *offsets; /* users + 2 entries */
  int32_t *items;
  float *ratings;
} mica__histories;
/* Makes the histories from interactions with known items in parts up to `last` (train, validation, test). */
mica_status mica__histories_make(const mica__interactions *x, mica_part last, mica__histories *out);
void mica__histories_free(mica__histories *h);
/* The first function writes a history as a text, such as "3 17 4"; the second reads one. Ids are 1 to `items`; a text
 * of n bytes has at most (n + 1) / 2 ids. False: the text is not a history. */
void mica__histories_write(const mica__histories *h, size_t user, mica__text *text);
bool mica__histories_parse(const char *text, size_t items, int32_t *ids, int64_t *count);

/* --- samples --- */

/* The interactions of a part. */
size_t mica__interactions_count(const mica__interactions *x, mica_part part);
/* Each of these functions makes a dataset of that name, which owns x; after a failure x is freed. The samples are:
 * - ratings: the interactions of the part. Columns: user, item, label (the rating), and those of the features of x.
 * - pairs: the items of all histories. Columns: user, item and, unless context is 0, history (up to `context` items
 *   before the item) and history_length.
 * - windows: windows of histories. Column: tokens (context + 1). The windows of a history are laid from its end
 *   backwards, and neighbours share about half of their items.
 * - held: the users with items of the part. Columns: user, history and history_length (as in pairs, from the end of the
 *   history), seen (item 0 and all items of the history), and held (the user's items of the part). */
mica_status mica__interactions_ratings(const char *name, mica__interactions *x, mica_part part, mica_dataset **data);
mica_status mica__interactions_pairs(const char *name, mica__interactions *x, const mica__histories *h, int64_t context,
                                     mica_dataset **data);
mica_status mica__interactions_windows(const char *name, mica__interactions *x, const mica__histories *h,
                                       int64_t context, mica_dataset **data);
mica_status mica__interactions_held(const char *name, mica__interactions *x, const mica__histories *h, mica_part part,
                                    int64_t context, mica_dataset **data);
/* The interactions owned by such a dataset; NULL for other datasets. */
const mica__interactions *mica__interactions_of(const mica_dataset *dataset);

#endif
