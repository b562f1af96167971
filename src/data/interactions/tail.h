/* data/interactions/tail.h: how far recommendations reach into the long tail of items. */
#ifndef MICA_DATA_INTERACTIONS_TAIL_H
#define MICA_DATA_INTERACTIONS_TAIL_H

#include <stddef.h>
#include <stdint.h>

/* An item's id, and how often it occurs. */
typedef struct mica__popular {
  int32_t item;
  double count;
} mica__popular;

/* Lists items 1 to count with their counts[item], the most popular first; ties in the order of their ids. */
void mica__popular_sort(const double *counts, size_t count, mica__popular *list);

#define MICA__TAIL_GROUPS 5
#define MICA__TAIL_STEPS 10
/* For the most popular 1 %, up to 5, 20 and 50 % and the others: the number of items, their shares in percent of all
 * interactions and of all recommendations, and how many are recommended at all. recommended[item]: how often. */
void mica__tail_groups(const mica__popular *list, size_t count, const double *recommended,
                       double numbers[MICA__TAIL_GROUPS][4]);
/* For the most popular 0, 10, ... 100 %: that share, and their shares of interactions and of recommendations. */
void mica__tail_curve(const mica__popular *list, size_t count, const double *recommended,
                      double numbers[MICA__TAIL_STEPS + 1][3]);

#endif
