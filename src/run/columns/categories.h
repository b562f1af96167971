/* run/columns/categories.h: columns of classes that are inputs of a run. */
#ifndef MICA_RUN_COLUMNS_CATEGORIES_H
#define MICA_RUN_COLUMNS_CATEGORIES_H

#include "base/error.h"

#include <mica/run.h>

/* A column with more classes is not made an input, because its one-hot form would be wider than most networks. */
#define MOST_CLASSES 256
/* The most columns of classes that may be inputs. */
#define MOST_CATEGORIES 1000

/* A column of classes that is an input: "colour" with "blue", "green", "red". The run owns the names. */
typedef struct mica__category {
  const char *name;
  const char *const *names;
  size_t classes;
} mica__category;

/* Stores these values about a table with the run:
 *
 *   categories         the names of the columns of classes
 *   category_classes   how many classes each of them has
 *   category_names     one list with the class names of the first of these columns, then of the second, and so on
 *   category_seen      for each of these names 1 if a training sample has the class, or 0; missing if all are 1
 *   numbers            the names of the columns of numbers, to find them in other tables
 *   label_name         the name of the answers' column, for the same purpose
 *   unused             the columns that are not inputs, each with the reason
 *
 * input may be NULL. */
mica_status mica__run_note_categories(mica_run *run, const mica_column *input, const mica_column *label);
size_t mica__run_categories(const mica_run *run);
mica__category mica__run_category(const mica_run *run, size_t k);
/* False if the stored values in config.json contradict each other. */
bool mica__run_good_categories(const mica_run *run);
/* Finds the column of category k in other data. If the column is missing, MICA_E_FORMAT with a message that names it.
 *
 * If the column numbers its classes in the same way as the run, *map is NULL. If not, *map is a list that translates
 * them to the run's numbers, with -1 for classes that the run does not have; the caller frees it. */
mica_status mica__run_map_category(const mica_run *run, const mica_dataset *data, size_t k, size_t *column,
                                   int32_t **map);
/* Reports how many cells of other data have classes that the run does not have. */
mica_status mica__run_remark_others(mica_run *run, const mica_dataset *data);
mica_status mica__run_fits_categories(const mica_run *run, const mica_dataset *data);
/* Makes a dataset whose answers and categories are numbered, and whose numbers are ordered, as in the run; *out is
 * `data` itself if they already are. */
mica_status mica__run_adopt(mica_run *run, mica_dataset *data, mica_dataset **out);
/* Sets *map to a list that translates the data's class numbers to the run's, which the caller frees, or to NULL if the
 * numbers are the same. If the data have a class that the run does not have, MICA_E_FORMAT with a message that names
 * it. */
mica_status mica__run_map_classes(const mica_run *run, const mica_dataset *data, int32_t **map);
/* Like mica__run_map_classes, for any column and names. With `others`, a class that is not among the names becomes -1
 * and is not an error. */
mica_status mica__run_map_names(const mica_dataset *data, size_t column, bool others, const char *const *known,
                                size_t count, int32_t **map);
struct mica__cell;
/* Finds the class that a cell names, first as text, then as a number. Sets *index to the class, or to `count` if the
 * cell names no class, and *name to the text that was looked up. *name is a buffer of *capacity bytes that this
 * function enlarges if necessary; the caller frees it. */
mica_status mica__run_find_class(const struct mica__cell *cell, const char *const *known, size_t count, char **name,
                                 size_t *capacity, size_t *index);

#endif
