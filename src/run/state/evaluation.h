/* run/state/evaluation.h: the last evaluation of a run, which a report shows. */
#ifndef MICA_RUN_STATE_EVALUATION_H
#define MICA_RUN_STATE_EVALUATION_H

#include <mica/data.h>
#include <mica/train.h>

typedef struct mica__run_evaluation {
  const mica_dataset *data;
  mica_dataset *own;    /* `data` if it was opened for the evaluation, and is destroyed with it; else NULL */
  char part[16];        /* name of the evaluated part; "all" if the data have no parts */
  bool split;           /* the part was split off by the seed */
  bool changed;         /* the run's own data, split by its task, have changed since training */
  bool predicts_own;    /* mica__run_open_given divides the run's own data into parts as training did */
  int32_t *labels;      /* classes renumbered as in the run, if `data` numbers them differently */
  float *numbers;       /* inputs in the order of the run, if `data` has another order */
  double *label_scores; /* if samples have several labels, the test's result for each label (task/head/labels.h) */
  mica_metrics metrics;
  size_t unread;               /* number of files that a prediction skipped because they could not be read */
  const int32_t *file_classes; /* while files are predicted: as in mica__paths; otherwise NULL */
} mica__run_evaluation;

#endif
