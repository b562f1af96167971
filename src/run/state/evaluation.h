/* run/state/evaluation.h: what a run was evaluated on last, which a report shows. */
#ifndef MICA_RUN_STATE_EVALUATION_H
#define MICA_RUN_STATE_EVALUATION_H

#include <mica/data.h>
#include <mica/train.h>

typedef struct mica__run_evaluation {
  const mica_dataset *data;
  mica_dataset *own;    /* `data`, if it was opened for the evaluation */
  char part[16];        /* its name */
  bool split;           /* it was split off by the seed */
  bool changed;         /* the run's own data, parted by its task, are not those that it was trained on */
  bool predicts_own;    /* mica__run_open_given opens parts of the run's own data as training parted them */
  int32_t *labels;      /* classes in the run's numbers, if `data` has other numbers */
  float *numbers;       /* inputs in the run's order, if `data` has another order */
  double *label_scores; /* of several labels per sample, what the test said of each (task/head/labels.h) */
  mica_metrics metrics;
  size_t unread;               /* files that a prediction passes over */
  const int32_t *file_classes; /* during a prediction of files: as mica__paths has them; NULL: not known */
} mica__run_evaluation;

#endif
