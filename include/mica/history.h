/* mica/history.h: the record of a training run: a table of epochs, and TensorBoard event files.
 *
 * Threads: any thread may call these functions, but use a table or event file from one thread at a time. */
#ifndef MICA_HISTORY_H
#define MICA_HISTORY_H

#include <mica/status.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* --- history.csv --- */

/* Columns of every history, in order: name, meaning. Columns for metrics follow in the order of their first values. */
#define MICA_HISTORY_LIST(X)                                                                                           \
  X(epoch, "counted from 1")                                                                                           \
  X(step, "steps so far")                                                                                              \
  X(learning_rate, "of the last step")                                                                                 \
  X(loss, "mean over the epoch's training samples")                                                                    \
  X(validation_loss, "after the epoch")                                                                                \
  X(seconds, "for training")                                                                                           \
  X(samples_per_second, "in training")                                                                                 \
  X(data_wait_share, "of the training time spent waiting for data")

/* A table with named columns and one row per epoch; NaN is an empty field. Use it from one thread at a time. */
typedef struct mica_history mica_history;

/* Creates a history without rows. */
MICA_API MICA_CHECKED mica_status mica_history_create(mica_history **history);
/* NULL is a no-op. */
MICA_API void mica_history_destroy(mica_history *history);

/* Adds a row of NaN. */
MICA_API MICA_CHECKED mica_status mica_history_begin(mica_history *history);
/* Sets a field of the last row; a new name adds a column. MICA_E_INVALID: there is no row, or the name is empty or
 * contains a comma, quote or control character. MICA_E_OVERFLOW: there are already 256 columns. */
MICA_API MICA_CHECKED mica_status mica_history_set(mica_history *history, const char *column, double value);

/* Number of rows and columns. */
MICA_API size_t mica_history_rows(const mica_history *history);
MICA_API size_t mica_history_columns(const mica_history *history);
/* Name of a column; NULL if the index is too large. */
MICA_API const char *mica_history_column(const mica_history *history, size_t column);
/* Value of a field; NaN if it does not exist. */
MICA_API double mica_history_get(const mica_history *history, size_t row, const char *column);

/* Writes a line of names, then one line per row. */
MICA_API MICA_CHECKED mica_status mica_history_write(const mica_history *history, const char *path);
/* Reads a history, so that more rows can be added. The caller destroys *history with mica_history_destroy. Columns may
 * be in any order. Fields that are not numbers become NaN in columns that MICA_HISTORY_LIST does not have.
 * MICA_E_FORMAT: a line is malformed; the message names it. */
MICA_API MICA_CHECKED mica_status mica_history_read(const char *path, mica_history **history);

/* --- TensorBoard --- */

/* An event file with values by tag and step; view it with `tensorboard --logdir FOLDER`. */
typedef struct mica_events mica_events;
struct mica_graph;

/* Creates a file events.out.tfevents.* in the folder, and the folder if it is missing. A resumed run adds another file;
 * TensorBoard reads all of them. */
MICA_API MICA_CHECKED mica_status mica_events_create(const char *folder, mica_events **events);
/* Appends a value and passes it to the operating system. If the process is killed while it writes, readers skip the
 * incomplete record. MICA_E_IO: it could not be written. */
MICA_API MICA_CHECKED mica_status mica_events_scalar(mica_events *events, const char *tag, int64_t step, double value);
/* Appends a text in Markdown. This function and the following ones can fail as mica_events_scalar does. */
MICA_API MICA_CHECKED mica_status mica_events_text(mica_events *events, const char *tag, int64_t step,
                                                   const char *text);

typedef struct mica_events_picture {
  const void *data; /* the bytes of a PNG or JPEG file, for example from mica_png_encode */
  size_t bytes;
  int32_t height, width, channels; /* channels: 1 to 4 */
} mica_events_picture;
/* Appends a picture. MICA_E_SHAPE: a size below 1, or more than 4 channels. */
MICA_API MICA_CHECKED mica_status mica_events_image(mica_events *events, const char *tag, int64_t step,
                                                    const mica_events_picture *picture);
/* Appends a histogram of the values. NaN and infinities are left out. */
MICA_API MICA_CHECKED mica_status mica_events_histogram(mica_events *events, const char *tag, int64_t step,
                                                        const float *values, size_t count);
/* Appends the graph, for TensorBoard's Graphs page, which shows the last graph of a file. Operations are in the scope
 * of the first parameter that they read. If the graph has an error, its status is returned. */
MICA_API MICA_CHECKED mica_status mica_events_graph(mica_events *events, const struct mica_graph *graph);
/* NULL is a no-op. */
MICA_API void mica_events_close(mica_events *events);

MICA_END_DECLS

#endif
