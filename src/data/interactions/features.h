/* data/interactions/features.h: features of users, items and pairs, that is, what is known of them besides their ids:
 * further columns of the table of interactions, and columns of tables of users and of items. */
#ifndef MICA_DATA_INTERACTIONS_FEATURES_H
#define MICA_DATA_INTERACTIONS_FEATURES_H

#include "base/error.h"
#include "base/name_table.h"
#include "data/table/table.h"

#include <mica/task.h>

/* The names of ids: id i has the name names[i - 1]. */
typedef struct mica__id_names {
  char **names;
  int32_t count, capacity;
  mica__name_table table; /* finds id - 1 by name */
} mica__id_names;

/* The id of a name; 0: none. */
static inline int32_t mica__id_names_find(const mica__id_names *ids, const char *name) {
  return mica__name_table_find(&ids->table, name) + 1;
}
mica_status mica__id_names_add(mica__id_names *ids, const char *name, int32_t *id);
/* Renumbers ids. map[i] is the new number, 1 to `count`, of id i; ids that map to 0 are dropped. */
mica_status mica__id_names_renumber(mica__id_names *ids, const int32_t *map, int32_t count);
void mica__id_names_free(mica__id_names *ids);

/* The most columns of sets: networks read each with a gather. */
#define MICA__FEATURE_SETS 8

typedef enum mica__feature_kind {
  MICA__FEATURE_NUMBER,
  MICA__FEATURE_CATEGORY,
  MICA__FEATURE_SET /* several values per cell */
} mica__feature_kind;

/* The table to which a feature belongs, with a row for each pair, user or item. */
typedef enum mica__side { MICA__SIDE_PAIR, MICA__SIDE_USER, MICA__SIDE_ITEM, MICA__SIDES } mica__side;

typedef struct mica__feature {
  char *name;
  mica__feature_kind kind;
  mica__side side;
  mica__id_names values;  /* of a category or a set */
  double mean, deviation; /* of numbers, in training */
  int64_t longest;        /* the most values of a set in a row */
  /* By row: NaN for a missing number, 0 for an unknown category. */
  double *numbers;
  int32_t *ids;
  int64_t *offsets; /* SET: rows + 1 positions in ids */
  size_t capacity;  /* SET: the room in ids */
  /* Used while a table is read: the position of the column, and whether it has cells that are not numbers (texts) or
   * that hold several values (several). */
  size_t at;
  bool texts, several;
} mica__feature;

typedef struct mica__features {
  mica__feature *list;
  size_t count;
  int64_t rows[MICA__SIDES];
  mica__id_names keys[MICA__SIDES]; /* of users and of items: row i has the key names[i] */
  mica__id_names columns;           /* the names of all columns of the tables that were read */
} mica__features;

/* How the columns are read. */
typedef struct mica__feature_config {
  char separator;                 /* separates the values of a cell */
  const char *categorical;        /* "a,b": columns whose numbers are category names */
  const char *ignored;            /* columns that are not features */
  const size_t *taken;            /* columns with another meaning, such as user and rating */
  size_t taken_count, key, title; /* key, title: the columns of ids and of titles; SIZE_MAX: none */
  bool header;
  bool known; /* the features of the side exist already; their columns are found by name */
} mica__feature_config;

/* Reads the columns of a side's table. MICA_E_FORMAT names file and line of a row that ends early, a malformed number,
 * a set of more than 256 values or longer than any known one, a key that is missing or repeated; or a missing
 * column. */
mica_status mica__features_read(mica__records *records, mica__side side, const mica__feature_config *config,
                                mica__features *f);
/* Reads the rows of a side with known features one by one. The first function makes room for `rows` rows. With
 * config->header, the table's first record names the columns, and the next record is current afterwards; without,
 * columns are found by number, and the first record is current. The second function reads the current record into a row
 * and replaces what was there. */
mica_status mica__features_begin(mica__records *records, mica__side side, const mica__feature_config *config,
                                 size_t rows, mica__features *f);
mica_status mica__features_take(mica__records *records, mica__side side, const mica__feature_config *config, size_t row,
                                mica__features *f);
/* Checks config->ignored and config->categorical. MICA_E_INVALID for a name that is not a column of any table or, in
 * `categorical`, not a feature of one value per cell. */
mica_status mica__features_check(const mica__features *f, const mica__feature_config *config);
/* Reads the features of one pair by the names of its columns, into row 0; columns that are not named count as missing.
 * MICA_E_NOT_FOUND names one that is not a column of pairs. */
mica_status mica__features_context(const mica_setting *context, size_t count, char separator, mica__features *f);
void mica__features_free(mica__features *f);

/* The rows of a sample in each table; -1: unknown. */
typedef struct mica__feature_rows {
  int32_t at[MICA__SIDES];
} mica__feature_rows;

/* Renumbers the values of categories and sets: those that occur at least `least` times in the samples `rows` get the
 * numbers 1, 2, ... in the order of their first occurrence, all others 0. Computes the mean and deviation of
 * numbers. */
mica_status mica__features_number(mica__features *f, const mica__feature_rows *rows, size_t count, int64_t least);

/* How many ids of a set the network reads for each sample: those of the longest set, at least 1. */
static inline int64_t mica__feature_width(const mica__feature *one) { return one->longest > 0 ? one->longest : 1; }

/* Sizes of a network's input: the columns of each kind (numbers, categories, sets), the ids of all sets in a sample
 * (width), and the rows of the table of all values, including row 0 for unknown ones (values). */
typedef struct mica__feature_sizes {
  int64_t numbers, categories, sets, width, values;
} mica__feature_sizes;
mica__feature_sizes mica__features_size(const mica__features *f);
/* A sample in the form that the network reads: numbers minus their mean in units of their deviation, 0 if missing;
 * categories and sets as rows of one table of all values, 0 if unknown; sets one after another, each as wide as its
 * longest; lengths of the sets. */
void mica__features_encode(const mica__features *f, const mica__feature_rows *rows, float *numbers, int32_t *categories,
                           int32_t *sets, int32_t *lengths);

#endif
