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
/* Divides the items, the most popular first, into five groups that end at 1, 5, 20, 50 and 100 % of the items.
 * numbers[g]: the number of items in group g, their shares in percent of all interactions and of all recommendations,
 * and how many of them are recommended at all. recommended[item] is how often the item is recommended. */
void mica__tail_groups(const mica__popular *list, size_t count, const double *recommended,
                       double numbers[MICA__TAIL_GROUPS][4]);
/* numbers[k] is about the most popular 10 k % of the items: this percentage, and their shares in percent of all
 * interactions and of all recommendations. */
void mica__tail_curve(const mica__popular *list, size_t count, const double *recommended,
                      double numbers[MICA__TAIL_STEPS + 1][3]);

#endif
