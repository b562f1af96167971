/* task/head/labels.h: several labels a sample (the fact "several"), each there or not. */
#ifndef MICA_TASK_HEAD_LABELS_H
#define MICA_TASK_HEAD_LABELS_H

#include "run/composed.h"
#include "run/fact_fields.h"

/* A label is said where its share is above it, unless a caller has another. */
#define MICA__LABEL_THRESHOLD 0.5

#define LABELS_FACTS(X, S)                                                                                             \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBER, several, .needed = true, .most = 1)

/* Metrics of a task with this head, for rows. */
#define LABELS_METRICS                                                                                                 \
  {                                                                                                                    \
    {"map", false}, {"f1", false}, {"accuracy", false}, { NULL, false }                                                \
  }

extern const mica__head mica__head_labels;

/* Members of the head, which classify has too. */
void mica__labels_step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch,
                       mica_objective *out);
/* Labels, if the data have some, are one per class of the run. */
mica_status mica__labels_fit(const mica_run *run, const mica_dataset *data, const mica_column *label);
/* Adds the metrics map, f1, precision and recall, means over the labels that occur; keeps those of each in
 * run->evaluation->label_scores. */
mica_status mica__labels_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
/* Begins a section with them; none before an evaluation. */
mica_status mica__labels_report(const mica_run *run, mica_report *report);
/* Adds the share of each label of a sample, which of them are said, and which are true (NaN: unknown). */
mica_status mica__labels_add(const mica_run *run, mica_report *report, const float *shares, const double *truths,
                             double threshold);

#endif
