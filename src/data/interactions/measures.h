/* data/interactions/measures.h: measures of interactions, and of orders of items. */
#ifndef MICA_DATA_INTERACTIONS_MEASURES_H
#define MICA_DATA_INTERACTIONS_MEASURES_H

#include "data/interactions/interactions.h"
#include "data/interactions/neighbours.h"

/* How often each item occurs in training, counts[items + 1]; and the mean and the range of ratings there. */
void mica__interactions_popularity(const mica__interactions *x, double *counts, double *mean, double range[2]);
/* By id, for items: the difference of the item's mean training rating from the mean of all, with MICA__BIAS_PRIOR
 * ratings of the overall mean added. The same for users, after the items' biases are subtracted. */
#define MICA__BIAS_PRIOR 10
mica_status mica__interactions_biases(const mica__interactions *x, double mean, double *users, double *items);

/* The share of pairs of a click and a non-click that the scores order correctly; equal scores count half. The scores
 * are sorted. NaN if there are no clicks or no non-clicks. */
typedef struct mica__clicked {
  float score, label;
} mica__clicked;
double mica__auc(mica__clicked *list, size_t count);

/* Sums over users that measure rankings of `top` items by the held-out items among them. */
typedef struct mica__ranking {
  double users, hits, gain, recall;
} mica__ranking;
/* Adds a user: the ranked items, and the held-out ones; some of these may be unknown (0). */
void mica__ranking_add(mica__ranking *sums, const int32_t *ranked, int64_t top, const int32_t *held, int64_t count);
/* The items with the highest scores; ties go to the first. Item 0 and items with a negative score are left out, and
 * unused slots are 0. */
void mica__ranking_best(const float *scores, size_t items, int32_t *ranked, int64_t top);
/* Scores of all items for a user who had `seen`: how often they occur (counts), or with counts NULL how similar they
 * are to those seen. -1 for items already seen. */
void mica__ranking_score(const mica__neighbours *n, const double *counts, const int32_t *seen, int64_t seen_count,
                         float *scores);

#endif
