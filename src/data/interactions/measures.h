/* data/interactions/measures.h: statistics of interactions, and measures of the quality of rankings. */
#ifndef MICA_DATA_INTERACTIONS_MEASURES_H
#define MICA_DATA_INTERACTIONS_MEASURES_H

#include "data/interactions/interactions.h"
#include "data/interactions/neighbours.h"

/* Computes from the training part how often each item occurs (counts[items + 1], by id), and the mean, the smallest and
 * the largest of the ratings. */
void mica__interactions_popularity(const mica__interactions *x, double *counts, double *mean, double range[2]);
/* Computes the bias of each item, by id: the sum of (rating - mean) over its training ratings, divided by their number
 * + MICA__BIAS_PRIOR, which pulls the bias of rare items to 0. Then the bias of each user in the same way, from the
 * ratings minus the items' biases. */
#define MICA__BIAS_PRIOR 10
mica_status mica__interactions_biases(const mica__interactions *x, double mean, double *users, double *items);

/* The share of pairs of a click and a non-click that the scores order correctly; equal scores count half. Sorts the
 * list by score. NaN if there are no clicks or no non-clicks. */
typedef struct mica__clicked {
  float score, label;
} mica__clicked;
double mica__auc(mica__clicked *list, size_t count);

/* Sums over users, for rankings of the `top` best items: the number of users; how many have a held-out item in the
 * ranking (hits); normalised discounted cumulative gain (gain); the share of held-out items that is in the ranking
 * (recall). */
typedef struct mica__ranking {
  double users, hits, gain, recall;
} mica__ranking;
/* Adds a user: the ranked items, and the held-out ones; some of these may be unknown (0). */
void mica__ranking_add(mica__ranking *sums, const int32_t *ranked, int64_t top, const int32_t *held, int64_t count);
/* The items with the highest scores; ties go to the first. Item 0 and items with a negative score are left out, and
 * unused slots are 0. */
void mica__ranking_best(const float *scores, size_t items, int32_t *ranked, int64_t top);
/* Scores all items for a user who had the items `seen`. The score of an item is counts[item], how often it occurs, or,
 * if counts is NULL, the sum of its similarities to the seen items. Seen items get -1. */
void mica__ranking_score(const mica__neighbours *n, const double *counts, const int32_t *seen, int64_t seen_count,
                         float *scores);

#endif
