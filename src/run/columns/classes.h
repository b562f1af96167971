/* run/columns/classes.h: classes as answers: their names, weights, confusion and mistakes. */
#ifndef MICA_RUN_COLUMNS_CLASSES_H
#define MICA_RUN_COLUMNS_CLASSES_H

#include "base/error.h"

#include <mica/run.h>

/* Pairs of classes are counted up to this number of classes. */
#define MOST_CONFUSED 2000
/* Makes the names of a column's classes the fact "classes". */
mica_status mica__run_note_classes(mica_run *run, const mica_column *column);
/* Notes "class_weights" where the setting "class-weights" gives some; count adds up how often each class occurs, for
 * "balanced". */
mica_status mica__run_note_weights(mica_run *run, int64_t classes,
                                   mica_status (*count)(mica_run *run, double *counts, int64_t classes));
/* These as a constant (classes) f32; null without. */
mica_value mica__run_class_weights(const mica_run *run, mica_graph *graph);
/* The sum "confusion" of the last test, classes x classes, the caller's to free. */
mica_status mica__run_read_confusion(mica_run *run, int64_t **confusion);
/* Begins a section with samples, precision, recall and F1 of each class, and the confusion of the last test. */
mica_status mica__run_report_classes(mica_run *run, const char *title, mica_report *report);
/* The k-th likeliest class, from 0; of equal ones the first. */
int64_t mica__likeliest(const float *shares, int64_t classes, int64_t k);
/* Adds the likeliest classes of a sample, with their shares. */
mica_status mica__run_add_choices(const mica_run *run, mica_report *report, const float *shares, int64_t top);
/* A sample that the network takes for another class. */
#define MICA__MISTAKES 24

typedef struct mica__mistake {
  uint64_t sample;
  int64_t guess, truth;
  float share;
} mica__mistake;

/* Keeps the mistakes made with the most confidence, in falling order. */
void mica__mistake_add(mica__mistake list[MICA__MISTAKES], size_t *count, mica__mistake found);

#endif
