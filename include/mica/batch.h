/* mica/batch.h: batches and their sources. A loader (mica/data.h) is a source; you may write others.
 *
 * Threads: use a source from one thread at a time. */
#ifndef MICA_BATCH_H
#define MICA_BATCH_H

#include <mica/session.h>

MICA_BEGIN_DECLS

/* Describes one tensor of each batch. dim[0] is MICA_DYNAMIC, and so are other dimensions that vary between batches. */
typedef struct mica_batch_column {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
} mica_batch_column;

typedef struct mica_batch {
  mica_tensor *inputs;  /* (N, ...), float, contiguous; NULL if the source has no such tensor */
  mica_tensor *targets; /* (N) i32 classes; or float: (N, classes) probabilities, or (N) or (N, ...) numbers */
  int64_t count;        /* N; 0 at the end of an epoch, when the tensors are NULL */
  double waited;        /* seconds that the call waited for a batch, not counting the time to queue work */
  /* All tensors by name, in the order of the source's columns, including inputs and targets. Trainers take tensors only
   * from this list.
   */
  const mica_feed *tensors;
  size_t tensor_count;
} mica_batch;

/* A source of batches, epoch after epoch. Before a trainer calls next or seek, it clears mica_error_status and
 * mica_error_message. During the call, both report only failures of that call. */
typedef struct mica_batch_source {
  void *user;
  /* Batches and samples per epoch. All batches have the same N, except for a smaller last one. */
  uint64_t batches, samples;
  /* Queues the work that makes the next batch and returns without waiting for the device. The source owns the tensors.
   * Work queued on the same queue before the next call may read them. After the last batch of an epoch, one call
   * returns count 0; the next one returns the first batch of the next epoch. */
  mica_status (*next)(void *user, mica_queue *queue, mica_batch *batch);
  /* Sets the position: the next call of `next` returns this batch of this epoch, with the same bits as if all earlier
   * batches had been fetched. */
  mica_status (*seek)(void *user, uint64_t epoch, uint64_t batch);
  /* The descriptions of the tensors of a batch. The source owns them. */
  const mica_batch_column *columns;
  size_t column_count;
} mica_batch_source;

MICA_END_DECLS

#endif
