/* run/columns/categories.h: columns of classes that are inputs of a run. */
#ifndef MICA_RUN_COLUMNS_CATEGORIES_H
#define MICA_RUN_COLUMNS_CATEGORIES_H

#include "base/error.h"

#include <mica/run.h>

/* A column of more classes is not an input: its one-hot form would be wider than most networks. */
#define MOST_CLASSES 256
/* Columns of classes that are inputs, at most. */
#define MOST_CATEGORIES 1000

/* A column of classes that is an input: "colour" of "blue", "green", "red". The names are the run's. */
typedef struct mica__category {
  const char *name;
  const char *const *names;
  size_t classes;
} mica__category;

/* Notes "categories" (names of columns), "category_classes" (how many each has), "category_names" (one column's after
 * another's), "numbers" and "label_name" (names of other columns, to find them in a table); "unused": columns that are
 * not input, with a reason. input may be NULL. */
mica_status mica__run_note_categories(mica_run *run, const mica_column *input, const mica_column *label);
size_t mica__run_categories(const mica_run *run);
mica__category mica__run_category(const mica_run *run, size_t k);
/* False where config.json's facts about them contradict each other. */
bool mica__run_good_categories(const mica_run *run);
/* The column of category k in other data and, where the numbers of its classes are others, a map to the run's, the
 * caller's to free: -1 for a class that the run lacks. MICA_E_FORMAT names a column that is missing. */
mica_status mica__run_map_category(const mica_run *run, const mica_dataset *data, size_t k, size_t *column,
                                   int32_t **map);
/* Says how many cells of other data hold classes that the run lacks. */
mica_status mica__run_remark_others(mica_run *run, const mica_dataset *data);
mica_status mica__run_fits_categories(const mica_run *run, const mica_dataset *data);
/* Answers and categories in the run's numbers; *out is the dataset itself where they are that already. */
mica_status mica__run_adopt(mica_run *run, mica_dataset *data, mica_dataset **out);
/* classes of the data in the run's numbers; *map is the caller's to free, NULL where they are the same. MICA_E_FORMAT
 * names a class that the run lacks. */
mica_status mica__run_map_classes(const mica_run *run, const mica_dataset *data, int32_t **map);
/* Does so for any column and names; `others`: a class without such a name is -1, and not refused. */
mica_status mica__run_map_names(const mica_dataset *data, size_t column, bool others, const char *const *known,
                                size_t count, int32_t **map);
struct mica__cell;
/* Finds the class that a cell names, as written, else as a number; *index is `count` if it is unknown. *name, a buffer
 * that grows, gets the text that was looked for. */
mica_status mica__run_find_class(const struct mica__cell *cell, const char *const *known, size_t count, char **name,
                                 size_t *capacity, size_t *index);

#endif
