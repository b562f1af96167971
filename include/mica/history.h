/* mica/history.h: the record of a training run: a table of its epochs, and TensorBoard's event files.
 *
 * Functions may be called from any thread; one table and one event file are used by one thread at a time. */
#ifndef MICA_HISTORY_H
#define MICA_HISTORY_H

#include <mica/status.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* --- history.csv --- */

/* Columns that every history has, in their order: name, what it says. Others, of a run's metrics, follow by the names
 * that they were first set under. */
#define MICA_HISTORY_LIST(X)                                                                                           \
  X(epoch, "counted from 1")                                                                                           \
  X(step, "steps so far")                                                                                              \
  X(learning_rate, "of the last step")                                                                                 \
  X(loss, "mean over the epoch's training samples")                                                                    \
  X(validation_loss, "after the epoch")                                                                                \
  X(seconds, "for training")                                                                                           \
  X(samples_per_second, "in training")                                                                                 \
  X(data_wait_share, "of the training time spent waiting for data")

/* A table of epochs: columns by name, a row an epoch; NaN is an empty field. Used by one thread at a time. */
typedef struct mica_history mica_history;

/* A history without rows. */
MICA_API MICA_CHECKED mica_status mica_history_create(mica_history **history);
/* NULL is a no-op. */
MICA_API void mica_history_destroy(mica_history *history);

/* Adds a row of NaN. */
MICA_API MICA_CHECKED mica_status mica_history_begin(mica_history *history);
/* Sets a field of the last row; a column of a new name is added. MICA_E_INVALID: there is no row, or the name is empty
 * or holds a comma, a quote or a control character; MICA_E_OVERFLOW: there are 256 columns. */
MICA_API MICA_CHECKED mica_status mica_history_set(mica_history *history, const char *column, double value);

/* The number of rows, and of columns. */
MICA_API size_t mica_history_rows(const mica_history *history);
MICA_API size_t mica_history_columns(const mica_history *history);
/* NULL beyond the columns. */
MICA_API const char *mica_history_column(const mica_history *history, size_t column);
/* NaN for what is not there. */
MICA_API double mica_history_get(const mica_history *history, size_t row, const char *column);

/* Writes a line of names, and a line a row. */
MICA_API MICA_CHECKED mica_status mica_history_write(const mica_history *history, const char *path);
/* Reads such a table, for a run that is resumed; *history is the caller's. Columns may stand in any order; fields of
 * further columns that are no numbers are NaN. MICA_E_FORMAT names a line that is no such row. */
MICA_API MICA_CHECKED mica_status mica_history_read(const char *path, mica_history **history);

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
