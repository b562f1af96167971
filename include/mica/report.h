/* mica/report.h: what a training run leaves behind for people and for their tools: a table, TensorBoard's event files,
 * a page. All of it may be written again and again while the run goes on: each file is replaced as a whole, so that a
 * killed run leaves whole ones. */
#ifndef MICA_REPORT_H
#define MICA_REPORT_H

#include <mica/shape.h>

MICA_BEGIN_DECLS

/* Makes path a file of these bytes, in one step: written beside its place, synced, renamed. Missing directories are
 * made. MICA_E_IO says what was in the way. */
MICA_API mica_status mica_file_write(const char *path, const void *data, size_t bytes);

/* --- history.csv --- */

/* An epoch: name of the column, what it says. NaN is an empty field. */
#define MICA_HISTORY_LIST(X)                                                                                           \
  X(epoch, "counted from 1")                                                                                           \
  X(step, "steps so far")                                                                                              \
  X(learning_rate, "of the last step")                                                                                 \
  X(loss, "mean over the epoch's training samples")                                                                    \
  X(accuracy, "of the same")                                                                                           \
  X(validation_loss, "after the epoch")                                                                                \
  X(validation_accuracy, "after the epoch")                                                                            \
  X(seconds, "for training")                                                                                           \
  X(samples_per_second, "in training")                                                                                 \
  X(data_wait_share, "of the training time spent waiting for data")

typedef struct mica_history_row {
#define MICA_HISTORY_FIELD(name, text) double name;
  MICA_HISTORY_LIST(MICA_HISTORY_FIELD)
#undef MICA_HISTORY_FIELD
} mica_history_row;

/* A line of names, a line an epoch. */
MICA_API mica_status mica_history_write(const char *path, const mica_history_row *rows, size_t count);
/* The reverse, for a run that is resumed; *rows is the caller's to free. Columns may stand in any order; those that are
 * not there are NaN, others are passed over. MICA_E_FORMAT names a line that is no such row. */
MICA_API mica_status mica_history_read(const char *path, mica_history_row **rows, size_t *count);

/* --- TensorBoard --- */

/* An event file: scalars by tag and step, as `tensorboard --logdir FOLDER` shows them. */
typedef struct mica_events mica_events;

/* A new file events.out.tfevents.* in the folder, which is made where it is missing. A run that is resumed adds a file;
 * TensorBoard reads all of them. */
MICA_API mica_status mica_events_create(const char *folder, mica_events **events);
/* Appends, and hands to the operating system. A record that is cut off by a kill is passed over by readers. */
MICA_API mica_status mica_events_scalar(mica_events *events, const char *tag, int64_t step, double value);
/* NULL is a no-op. */
MICA_API void mica_events_close(mica_events *events);

/* --- report.html --- */

typedef struct mica_report_fact {
  const char *name, *value;
} mica_report_fact;

/* A sample that was taken for another class. */
typedef struct mica_report_mistake {
  const uint8_t *pixels; /* (C, H, W), C 1 or 3; NULL where there is no picture */
  mica_shape shape;
  int32_t label, predicted;
  double confidence; /* the probability of the predicted class */
} mica_report_mistake;

/* Any part may be absent (NULL and 0). */
typedef struct mica_report {
  const char *title;
  const mica_report_fact *facts; /* a table of two columns at the top */
  size_t fact_count;
  const mica_history_row *history;
  size_t epochs;
  int32_t classes;
  const char *const *class_names; /* NULL: numbers */
  const int64_t *confusion;       /* classes x classes counts, row the label, column the prediction */
  const mica_report_mistake *mistakes;
  size_t mistake_count;
} mica_report;

/* One page that needs nothing beside itself: the facts, curves of loss and accuracy, the confusion matrix with
 * precision, recall and F1 of each class, and the mistakes (as pictures where the build has libpng). */
MICA_API mica_status mica_report_write(const char *path, const mica_report *report);

MICA_END_DECLS

#endif
