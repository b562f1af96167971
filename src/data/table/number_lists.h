/* data/table/number_lists.h: cells that hold lists of numbers, between blanks or semicolons, as in "0.5 0.7 1.1". */
#ifndef MICA_DATA_TABLE_NUMBER_LISTS_H
#define MICA_DATA_TABLE_NUMBER_LISTS_H

#include "base/error.h"

#include <mica/data.h>

/* The most numbers of a list. */
#define MICA__LONGEST_LIST (1 << 20)

/* The lists of all samples. */
typedef struct mica__number_lists {
  float *numbers;   /* one list after another */
  int64_t *offsets; /* where each list begins, and where the last one ends */
  int64_t longest;
  size_t count, capacity; /* of the numbers */
  size_t cut;             /* lists that had more numbers than were read */
} mica__number_lists;

/* True if the first 16 texts of a column, or all if there are fewer, are lists of two numbers or more. */
bool mica__number_lists_fill(const mica_dataset *data, size_t column);
/* Reads the first `most` numbers of each text. MICA_E_FORMAT names the line of a list that is empty or has anything
 * other than numbers. *lists must be freed, also after a failure. */
mica_status mica__number_lists_read(const mica_dataset *data, size_t column, int64_t most, mica__number_lists *lists);
/* Mean and deviation of all numbers; the deviation is 1 if they are equal. */
void mica__number_lists_measure(const mica__number_lists *lists, double *mean, double *deviation);
/* Makes a dataset with the lists as a further column of that name. It takes their memory and leaves *lists empty. */
mica_status mica__number_lists_derive(const mica_dataset *data, const char *name, mica__number_lists *lists,
                                      mica_dataset **out);
void mica__number_lists_free(mica__number_lists *lists);

#endif
