/* run/columns/classes.h: answers that are classes: names, weights, confusion, mistakes. */
#ifndef MICA_RUN_COLUMNS_CLASSES_H
#define MICA_RUN_COLUMNS_CLASSES_H

#include "base/error.h"

#include <mica/run.h>

/* With more classes than this, a test makes no confusion matrix. */
#define MOST_CONFUSED 2000
/* Sets the stored value "classes" to the class names of a column. */
mica_status mica__run_note_classes(mica_run *run, const mica_column *column);
/* Sets the stored value "class_weights" if the setting "class-weights" gives weights; `count` adds up how often each
 * class occurs, for "balanced". */
mica_status mica__run_note_weights(mica_run *run, int64_t classes,
                                   mica_status (*count)(mica_run *run, double *counts, int64_t classes));
/* The weights as a constant (classes) f32; a null value if there are none. */
mica_value mica__run_class_weights(const mica_run *run, mica_graph *graph);
/* A copy of the sum "confusion" of the last test, classes x classes; the caller frees it. */
mica_status mica__run_read_confusion(mica_run *run, int64_t **confusion);
/* Begins a report section with samples, precision, recall and F1 of each class, and the confusion of the last test. */
mica_status mica__run_report_classes(mica_run *run, const char *title, mica_report *report);
/* The k-th most likely class, counted from 0; ties go to the lower number. */
int64_t mica__likeliest(const float *shares, int64_t classes, int64_t k);
/* Adds the most likely classes of a sample with their probabilities. */
mica_status mica__run_add_choices(const mica_run *run, mica_report *report, const float *shares, int64_t top);
/* A mistake is a sample whose class the network got wrong. MICA__MISTAKES of them are kept. */
#define MICA__MISTAKES 24

typedef struct mica__mistake {
  uint64_t sample;
  int64_t guess, truth;
  float share;
} mica__mistake;

/* Keeps the mistakes made with the highest confidence, the highest first. */
void mica__mistake_add(mica__mistake list[MICA__MISTAKES], size_t *count, mica__mistake found);

#endif
