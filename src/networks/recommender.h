/* networks/recommender.h: what recommenders (nn/zoo/recommender.h) learn, and how rankings are measured.
 * data/interactions makes the batches. */
#ifndef MICA_NETWORKS_RECOMMENDER_H
#define MICA_NETWORKS_RECOMMENDER_H

#include "nn/zoo/recommender.h"

#include <mica/sparse.h>
#include <mica/train.h>

typedef struct mica__recommending {
  mica__recommender network;
  bool clicks;                    /* pairs are clicks or not; else they are ratings */
  double mean;                    /* of ratings in training, or the share of clicks */
  const double *range;            /* of ratings: least and most; NULL: any */
  double l2;                      /* weight of the squares of the rows that pairs read; 0: none */
  mica_negative_config negatives; /* how items are drawn that a user did not choose */
  bool taught;                    /* a teacher compares scores of all items */
  int64_t top;                    /* how many items of a ranking the metrics look at */
} mica__recommending;

/* Ratings and clicks: outputs "value", a number for each pair of the columns "user" and "item", and the loss if there
 * is a column "label"; without items, "all", a number for each item, except for dlrm, which is asked in pairs. */
void mica__recommending_pairs(mica_nn *nn, const mica__recommending *r, const mica_batch_values *batch,
                              mica_objective *out);
/* Choices: the loss of windows ("tokens") or single items ("item") in training; measures of held-out items ("held") in
 * a test; else outputs "ranked" and "scores", at most 256 items in descending order. */
void mica__recommending_choices(mica_nn *nn, const mica__recommending *r, const mica_batch_values *batch,
                                mica_objective *out);
/* Scores (N, V) of all items for the users of a batch. */
mica_value mica__recommending_scores(mica_nn *nn, const mica__recommending *r, const mica_batch_values *batch);

#endif
