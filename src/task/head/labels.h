/* task/head/labels.h: several labels per sample (the stored value "several" is 1), each present or absent. */
#ifndef MICA_TASK_HEAD_LABELS_H
#define MICA_TASK_HEAD_LABELS_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "task/head/classes.h"

/* A label is predicted if its probability is above this, unless the caller sets another limit. */
#define MICA__LABEL_THRESHOLD 0.5

#define LABELS_FACTS(X, S)                                                                                             \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBER, several, .needed = true, .most = 1)

/* The metrics of a task with this head: an initialiser for the member of its mica__task_row. */
#define LABELS_METRICS                                                                                                 \
  {                                                                                                                    \
    {"map", false, "mean average precision over the labels; 1 is best", false}, CLASSES_F1, CLASSES_ACCURACY,          \
        CLASSES_DETAILS, {                                                                                             \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_labels;

#endif
