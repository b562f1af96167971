/* The long tail of items. */
#include "data/interactions/tail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
  const mica__popular *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return (x->item > y->item) - (x->item < y->item);
}

void mica__popular_sort(const double *counts, size_t count, mica__popular *list) {
  for (size_t i = 0; i < count; i++) list[i] = (mica__popular){(int32_t)i + 1, counts[i + 1]};
  qsort(list, count, sizeof *list, compare);
}

/* The shares, in percent, of all interactions and of all recommendations that belong to some of the items. */
typedef struct shares {
  double interactions, recommendations;
} shares;

static shares shares_of(const mica__popular *list, const double *recommended, size_t from, size_t to, shares all) {
  shares s = {0};
  for (size_t i = from; i < to; i++) {
    s.interactions += list[i].count;
    s.recommendations += recommended[list[i].item];
  }
  return (shares){all.interactions > 0 ? 100 * s.interactions / all.interactions : 0,
                  all.recommendations > 0 ? 100 * s.recommendations / all.recommendations : 0};
}

static shares sum(const mica__popular *list, size_t count, const double *recommended) {
  shares all = {0};
  for (size_t i = 0; i < count; i++) {
    all.interactions += list[i].count;
    all.recommendations += recommended[list[i].item];
  }
  return all;
}

void mica__tail_groups(const mica__popular *list, size_t count, const double *recommended,
                       double numbers[MICA__TAIL_GROUPS][4]) {
  static const double ends[MICA__TAIL_GROUPS] = {0.01, 0.05, 0.2, 0.5, 1};
  const shares all = sum(list, count, recommended);
  size_t from = 0;
  for (size_t g = 0; g < MICA__TAIL_GROUPS; g++) {
    const size_t to = (size_t)ceil(ends[g] * (double)count);
    const shares s = shares_of(list, recommended, from, to, all);
    double reached = 0;
    for (size_t i = from; i < to; i++) reached += recommended[list[i].item] > 0;
    const double row[] = {(double)(to - from), s.interactions, s.recommendations, reached};
    memcpy(numbers[g], row, sizeof row);
    from = to;
  }
}

void mica__tail_curve(const mica__popular *list, size_t count, const double *recommended,
                      double numbers[MICA__TAIL_STEPS + 1][3]) {
  const shares all = sum(list, count, recommended);
  for (size_t i = 0; i <= MICA__TAIL_STEPS; i++) {
    const shares s = shares_of(list, recommended, 0, i * count / MICA__TAIL_STEPS, all);
    const double row[] = {100 * (double)i / MICA__TAIL_STEPS, s.interactions, s.recommendations};
    memcpy(numbers[i], row, sizeof row);
  }
}
