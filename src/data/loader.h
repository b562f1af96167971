/* data/loader.h: the loader and its two sources of samples, resident on the device or streamed to it. */
#ifndef MICA_DATA_LOADER_H
#define MICA_DATA_LOADER_H

#include "data/augment.h"
#include "data/dataset.h"

typedef struct mica__resident mica__resident;
typedef struct mica__stream mica__stream;

struct mica_loader {
  mica_engine *engine;
  const mica_dataset *dataset;
  mica_loader_config config; /* with defaults filled in */
  uint64_t epoch, batch;     /* the next one; batch == batches is the end of the epoch */
  uint64_t batches, samples; /* of an epoch */
  float *mean, *deviation;
  bool rows;           /* samples are rows of numbers, normalised once on the host */
  size_t sample_bytes; /* as uploaded */
  mica_dtype sample_dtype;
  mica_tensor *affine;    /* (C, 2) scale and shift */
  mica_tensor *inputs[2]; /* the batch: at full size, and the smaller last one */
  mica_tensor *targets[2];
  mica_batch_column columns[2]; /* input and label */
  mica_feed feeds[2][2];        /* of the batch at full size, and of the smaller last one */
  mica__resident *resident;     /* one of these two */
  mica__stream *stream;
  mica_loader_stats stats;
};

/* The shape of n samples. */
mica_shape mica__loader_shape(const mica_loader *loader, int64_t n);
/* Samples of a batch. */
int64_t mica__loader_count(const mica_loader *loader, uint64_t batch);
/* The permutation of samples of an epoch. */
mica__permutation mica__loader_order(const mica_loader *loader, uint64_t epoch);
/* Writes sample `index` of the dataset as it is uploaded. Any thread. */
mica_status mica__loader_sample(const mica_loader *loader, uint64_t index, void *out);
/* The label of a sample, or the bits of its f32 target. */
int32_t mica__loader_label(const mica_loader *loader, uint64_t index);

/* Samples resident on the device. A thread copies those that the dataset holds in memory; the first take waits for
 * it. */
mica_status mica__resident_create(const mica_loader *loader, mica__resident **resident);
void mica__resident_destroy(mica__resident *resident);
/* Gives all samples (count, ...) and labels, for work queued on `queue` from now on. *waited gets the seconds that the
 * caller was blocked, which only the first call is. */
mica_status mica__resident_take(mica__resident *resident, mica_queue *queue, const mica_tensor **x,
                                const mica_tensor **labels, double *waited);

/* The prefetch queue: threads decode samples into slots, and a queue of its own uploads whole batches ahead of the one
 * that is computed on. Events order the two queues, so that neither waits for the host, nor the host for them. */
mica_status mica__stream_create(const mica_loader *loader, mica__stream **stream);
void mica__stream_destroy(mica__stream *stream);
/* Makes this batch of this epoch the next one. */
mica_status mica__stream_seek(mica__stream *stream, uint64_t epoch, uint64_t batch);
/* Gives the next batch's samples (count, ...) and labels, for work queued on `queue` from now on. *waited gets the
 * seconds that the caller was blocked by decoding. */
mica_status mica__stream_take(mica__stream *stream, mica_queue *queue, const mica_tensor **x,
                              const mica_tensor **labels, double *waited);
/* Releases the batch last taken: its memory is written again after the work that is queued so far. */
mica_status mica__stream_give(mica__stream *stream, mica_queue *queue);

#endif
