/* mica/batch.h: what a step is fed with, and where it comes from. A loader (mica/data.h) is a source; so is anything of
 * the user's with these functions. */
#ifndef MICA_BATCH_H
#define MICA_BATCH_H

#include <mica/session.h>

MICA_BEGIN_DECLS

/* A tensor that every batch has. dim[0] is MICA_DYNAMIC, as other dimensions are that vary from batch to batch. */
typedef struct mica_batch_column {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
} mica_batch_column;

typedef struct mica_batch {
  mica_tensor *inputs;  /* (N, ...), floating, contiguous; NULL where the source has no such tensor */
  mica_tensor *targets; /* (N) i32 classes; or floating: (N, classes) probabilities, (N) or (N, ...) numbers */
  int64_t count;        /* N; 0 at the end of an epoch, where the tensors are NULL */
  double waited;        /* seconds the call was blocked because no batch was ready (queueing not counted) */
  /* The batch by name, in the order of the source's columns; inputs and targets are among them. A trainer reads these
   * alone. */
  const mica_feed *tensors;
  size_t tensor_count;
} mica_batch;

/* Batches, epoch after epoch. Used by one thread at a time. In calls that a trainer makes, mica_error_status and
 * mica_error_message begin as where nothing has failed, and tell of the call's own failures. */
typedef struct mica_batch_source {
  void *user;
  /* Batches and samples of an epoch. All batches have the first one's N, but for a smaller last one. */
  uint64_t batches, samples;
  /* Queues what makes the next batch on the queue and returns without waiting for the device. The tensors belong to the
   * source; work queued on the same queue before the next call reads this batch. At the end of the epoch the call gives
   * count 0, and the one after it the first batch of the next epoch. */
  mica_status (*next)(void *user, mica_queue *queue, mica_batch *batch);
  /* The next call of next gives this batch of this epoch: the same bits as if all before it had been fetched. */
  mica_status (*seek)(void *user, uint64_t epoch, uint64_t batch);
  /* What `next` gives always. They belong to the source. */
  const mica_batch_column *columns;
  size_t column_count;
} mica_batch_source;

MICA_END_DECLS

#endif
