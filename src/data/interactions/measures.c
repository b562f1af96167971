/* Statistics of interactions, and measures of the quality of rankings. */
#include "data/interactions/measures.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- interactions --- */

void mica__interactions_popularity(const mica__interactions *x, double *counts, double *mean, double range[2]) {
  double n = 0;
  memset(counts, 0, ((size_t)x->items.count + 1) * sizeof *counts);
  *mean = 0;
  range[0] = INFINITY, range[1] = -INFINITY;
  for (size_t i = 0; i < x->count; i++) {
    const mica__interaction *one = &x->list[i];
    if (one->part != MICA_PART_TRAIN) continue;
    counts[one->item]++;
    *mean += ((double)one->rating - *mean) / ++n;
    range[0] = fmin(range[0], (double)one->rating);
    range[1] = fmax(range[1], (double)one->rating);
  }
}

mica_status mica__interactions_biases(const mica__interactions *x, double mean, double *users, double *items) {
  const size_t counts[2] = {(size_t)x->users.count + 1, (size_t)x->items.count + 1};
  double *times = calloc(counts[0] > counts[1] ? counts[0] : counts[1], sizeof *times);
  double *const sums[2] = {users, items};
  if (!times) return mica__fail_nomem("biases");
  /* Items first, then users from what is left after subtracting the items' share. */
  for (int side = 1; side >= 0; side--) {
    memset(times, 0, counts[side] * sizeof *times);
    memset(sums[side], 0, counts[side] * sizeof *times);
    for (size_t i = 0; i < x->count; i++) {
      const mica__interaction *one = &x->list[i];
      if (one->part != MICA_PART_TRAIN) continue;
      const int32_t id = side ? one->item : one->user;
      sums[side][id] += (double)one->rating - mean - (side ? 0 : items[one->item]);
      times[id]++;
    }
    for (size_t i = 0; i < counts[side]; i++) sums[side][i] /= times[i] + MICA__BIAS_PRIOR;
    sums[side][0] = 0;
  }
  free(times);
  return MICA_OK;
}

/* --- rankings --- */

static int compare(const void *a, const void *b) {
  const float x = ((const mica__clicked *)a)->score, y = ((const mica__clicked *)b)->score;
  return (x > y) - (x < y);
}

double mica__auc(mica__clicked *list, size_t count) {
  double clicks = 0, others = 0, before = 0;
  qsort(list, count, sizeof *list, compare);
  for (size_t from = 0, to = 0; from < count; from = to) {
    double own = 0;
    for (; to < count && !(list[to].score > list[from].score); to++) own += list[to].label > 0.5f;
    const double none = (double)(to - from) - own;
    before += own * (others + none / 2);
    clicks += own;
    others += none;
  }
  return clicks > 0 && others > 0 ? before / (clicks * others) : NAN;
}

void mica__ranking_add(mica__ranking *sums, const int32_t *ranked, int64_t top, const int32_t *held, int64_t count) {
  double gain = 0, most = 0, found = 0;
  for (int64_t j = 0; j < top; j++) {
    bool hit = false;
    for (int64_t i = 0; i < count; i++) hit = hit || (held[i] && held[i] == ranked[j]);
    gain += hit ? 1 / log2((double)j + 2) : 0;
    found += hit;
    most += j < count ? 1 / log2((double)j + 2) : 0;
  }
  sums->users++;
  sums->hits += found > 0;
  sums->gain += gain / most;
  sums->recall += found / (double)count;
}

void mica__ranking_best(const float *scores, size_t items, int32_t *ranked, int64_t top) {
  int64_t count = 0;
  for (size_t i = 1; i < items; i++) {
    if (scores[i] < 0 || (count == top && !(scores[i] > scores[ranked[top - 1]]))) continue;
    int64_t at = count < top ? count++ : top - 1;
    for (; at > 0 && scores[ranked[at - 1]] < scores[i]; at--) ranked[at] = ranked[at - 1];
    ranked[at] = (int32_t)i;
  }
  while (count < top) ranked[count++] = 0;
}

void mica__ranking_score(const mica__neighbours *n, const double *counts, const int32_t *seen, int64_t seen_count,
                         float *scores) {
  memset(scores, 0, n->items * sizeof *scores);
  for (size_t i = 0; counts && i < n->items; i++) scores[i] = (float)counts[i];
  for (int64_t k = 0; !counts && k < seen_count; k++) {
    const mica__neighbour *list = n->list + (size_t)seen[k] * MICA__NEIGHBOURS;
    for (int i = 0; i < MICA__NEIGHBOURS && list[i].item; i++) scores[list[i].item] += list[i].share;
  }
  for (int64_t k = 0; k < seen_count; k++) scores[seen[k]] = -1;
}
