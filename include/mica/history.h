/* mica/history.h: the record of a training run: a table of its epochs, and TensorBoard's event files.
 *
 * Functions may be called from any thread; one event file is used by one thread at a time. */
#ifndef MICA_HISTORY_H
#define MICA_HISTORY_H

#include <mica/status.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

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
MICA_API MICA_CHECKED mica_status mica_history_write(const char *path, const mica_history_row *rows, size_t count);
/* Reads such a table, for a run that is resumed; *rows is the caller's to mica_free. Columns may stand in any order;
 * those that are not there are NaN, others are passed over. MICA_E_FORMAT names a line that is no such row. */
MICA_API MICA_CHECKED mica_status mica_history_read(const char *path, mica_history_row **rows, size_t *count);

/* --- TensorBoard --- */

/* An event file: scalars by tag and step, as `tensorboard --logdir FOLDER` shows them. */
typedef struct mica_events mica_events;

/* A new file events.out.tfevents.* in the folder, which is made where it is missing. A run that is resumed adds a file;
 * TensorBoard reads all of them. */
MICA_API MICA_CHECKED mica_status mica_events_create(const char *folder, mica_events **events);
/* Appends, and hands to the operating system. A record that is cut off by a kill is passed over by readers. */
MICA_API MICA_CHECKED mica_status mica_events_scalar(mica_events *events, const char *tag, int64_t step, double value);
/* NULL is a no-op. */
MICA_API void mica_events_close(mica_events *events);

MICA_END_DECLS

#endif
