/* run/predict/label_scores.h: how well a test finds each of several labels. */
#ifndef MICA_RUN_PREDICT_LABEL_SCORES_H
#define MICA_RUN_PREDICT_LABEL_SCORES_H

#include "base/error.h"

#include <mica/run.h>

/* The scores of a label: samples that have it, precision, recall, F1, and average precision. */
enum {
  MICA__LABEL_SAMPLES,
  MICA__LABEL_PRECISION,
  MICA__LABEL_RECALL,
  MICA__LABEL_F1,
  MICA__LABEL_AP,
  MICA__LABEL_SCORES
};

/* Predicts the samples of a source and sets `scores`, of shape (labels, MICA__LABEL_SCORES). A label is predicted if
 * its probability is above the threshold. */
mica_status mica__label_scores(mica_run *run, const mica_batch_source *source, size_t labels, double threshold,
                               double *scores);

#endif
