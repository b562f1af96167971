/* data/loader.h: what a loader is made of; its streaming half. */
#ifndef MICA_DATA_LOADER_H
#define MICA_DATA_LOADER_H

#include "data/augment.h"
#include "data/dataset.h"

typedef struct mica__resident mica__resident;
typedef struct mica__stream mica__stream;

struct mica_loader {
  mica_engine *engine;
  const mica_dataset *dataset;
  mica_loader_config config; /* without zeros that stand for defaults */
  uint64_t epoch, batch;     /* the next one; batch == batches is the end of the epoch */
  uint64_t batches, samples; /* of an epoch */
  float *mean, *deviation;
  bool rows;           /* of numbers: they are normalised on the host, once */
  size_t sample_bytes; /* as it goes to the device */
  mica_dtype sample_dtype;
  mica_tensor *affine;    /* (C, 2) scale and shift */
  mica_tensor *inputs[2]; /* what batches are made in: of full size, and of the smaller last one */
  mica_tensor *targets[2];
  mica__resident *resident; /* one of these two */
  mica__stream *stream;
  mica_loader_stats stats;
};

/* The shape of n samples. */
mica_shape mica__loader_shape(const mica_loader *loader, int64_t n);
/* Samples of a batch. */
int64_t mica__loader_count(const mica_loader *loader, uint64_t batch);
/* The order of an epoch. */
mica__permutation mica__loader_order(const mica_loader *loader, uint64_t epoch);
/* Writes sample `index` of the dataset as it goes to the device. Any thread. */
mica_status mica__loader_sample(const mica_loader *loader, uint64_t index, void *out);
/* Its label or target: one word. */
int32_t mica__loader_label(const mica_loader *loader, uint64_t index);

/* Samples on the device. Those that the dataset has in memory are moved by a thread, which goes on until the first
 * batch is taken. */
mica_status mica__resident_create(const mica_loader *loader, mica__resident **resident);
void mica__resident_destroy(mica__resident *resident);
/* All samples (count, ...) and labels; what is queued on `queue` from now on finds them there. *waited gets the seconds
 * that the caller waited for them to come, which is once. */
mica_status mica__resident_take(mica__resident *resident, mica_queue *queue, const mica_tensor **x,
                                const mica_tensor **labels, double *waited);

/* Samples on their way: threads decode them, and a queue of the stream's own uploads whole batches ahead of the one
 * that is computed on. Events order the two queues, so that neither waits for the host, nor the host for them. */
mica_status mica__stream_create(const mica_loader *loader, mica__stream **stream);
void mica__stream_destroy(mica__stream *stream);
/* Goes on with this batch of this epoch. */
mica_status mica__stream_seek(mica__stream *stream, uint64_t epoch, uint64_t batch);
/* The next batch's samples (count, ...) and labels on the device; what is queued on `queue` from now on finds them
 * there. *waited gets the seconds that the caller waited for decoding. */
mica_status mica__stream_take(mica__stream *stream, mica_queue *queue, const mica_tensor **x,
                              const mica_tensor **labels, double *waited);
/* What used them is queued: their memory may be written over after it. */
mica_status mica__stream_give(mica__stream *stream, mica_queue *queue);

#endif
