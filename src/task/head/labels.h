/* task/head/labels.h: several labels a sample (the fact "several"), each there or not. */
#ifndef MICA_TASK_HEAD_LABELS_H
#define MICA_TASK_HEAD_LABELS_H

#include "run/run.h"

/* A label is said where its share is above it, unless a caller has another. */
#define MICA__LABEL_THRESHOLD 0.5

/* Adds the metrics map, f1, precision and recall, means over the labels that occur; keeps those of each in
 * run->evaluation->label_scores. */
mica_status mica__labels_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
/* Begins a section with them; none before an evaluation. */
mica_status mica__labels_report(const mica_run *run, mica_report *report);
/* Adds the share of each label of a sample, which of them are said, and which are true; truths may be NULL. */
mica_status mica__labels_add(const mica_run *run, mica_report *report, const float *shares, const uint8_t *truths,
                             double threshold);

#endif
