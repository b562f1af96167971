/* networks/recommender.h: losses and outputs of recommenders (nn/zoo/recommender.h), and measures of rankings.
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
  double l2;                      /* weight of the squared norm of the table rows that a pair reads, in the loss; 0:
                                   * none */
  mica_negative_config negatives; /* how items are drawn that a user did not choose */
  bool taught;                    /* a teacher is used, which needs the scores of all items */
  int64_t top;                    /* how many items of a ranking the metrics look at */
} mica__recommending;

/* Ratings and clicks. If the batch has the column "item", computes a rating or the probability of a click for each pair
 * of the columns "user" and "item"; outside training, this is the output "value". If the batch also has the column
 * "label", computes the loss. Without the column "item", outputs "all", a number for every item; dlrm cannot do that
 * and must be given pairs. */
void mica__recommending_pairs(mica_nn *nn, const mica__recommending *r, const mica_batch_values *batch,
                              mica_objective *out);
/* Choices of items. The columns of the batch decide what is computed:
 * - with "tokens" (windows) or "item" (single items): the loss (only in training), and the scores of all items, which
 *   distillation compares; neumf computes these scores in training only if `taught` is set,
 * - else with "held" (the items held out for a test): how these items are ranked,
 * - else the outputs "ranked" and "scores", which are at most 256 items in descending order of their scores. */
void mica__recommending_choices(mica_nn *nn, const mica__recommending *r, const mica_batch_values *batch,
                                mica_objective *out);
/* Scores (N, V) of all items for the users of a batch. */
mica_value mica__recommending_scores(mica_nn *nn, const mica__recommending *r, const mica_batch_values *batch);

#endif
