/* data/loader/loader.h: the loader and its two sources of samples, resident on the device or streamed to it. */
#ifndef MICA_DATA_LOADER_LOADER_H
#define MICA_DATA_LOADER_LOADER_H

#include "data/dataset.h"
#include "ops/batch/augment.h"

/* Lengths that ragged columns are padded to, at most. */
#define MICA__MAX_BUCKETS 8
/* A column of more words has planes of its own; a record of more is copied by a launch of its own. */
#define MICA__SMALL_WORDS 64

typedef struct mica__resident mica__resident;
typedef struct mica__stream mica__stream;

/* The way of a column to the device:
 *
 *   WORDS    small columns lie side by side in a record of 32-bit words a sample; what makes a batch's first pictures
 *            copies them to their tensors, one launch for all
 *   PLANES   (C, H, W), or (1, 1, F) for rows: gathered, normalised, augmented, mixed
 *   MASK     (H, W) u8: gathered and moved as the picture is
 *   RAGGED   rows of samples one after another: gathered and padded; its length is a word */
typedef enum mica__way { MICA__WAY_WORDS, MICA__WAY_PLANES, MICA__WAY_MASK, MICA__WAY_RAGGED } mica__way;

typedef struct mica__carried {
  size_t column; /* of the dataset */
  const mica__column *from;
  mica__way way;
  mica_dtype up, dtype;              /* as uploaded, and in the batch */
  int64_t elements;                  /* of a sample; RAGGED: of a row */
  size_t bytes;                      /* of a sample as uploaded; RAGGED: of a row */
  float *mean, *deviation;           /* of its channels; NULL if it is not normalised on the host, nor by `affine` */
  mica_tensor *affine;               /* PLANES: (C, 2) scale and shift */
  int32_t word, words;               /* WORDS: where it stands in the record; RAGGED: its length, one word */
  int32_t *lengths;                  /* RAGGED: of each sample, cut to `most` */
  int64_t most, pad;                 /* RAGGED: the longest sample; what stands after the end of shorter ones */
  int64_t bucket[MICA__MAX_BUCKETS]; /* RAGGED: the length in each bucket */
  mica_tensor *out[2][MICA__MAX_BUCKETS]; /* its batches: full and smaller, by bucket */
  mica_tensor *length_out[2];             /* RAGGED */
  char *length_name;                      /* RAGGED: "NAME.length" */
} mica__carried;

struct mica_loader {
  mica_engine *engine;
  const mica_dataset *dataset;
  mica_loader_config config; /* with defaults filled in */
  uint64_t epoch, batch;     /* the next one; batch == batches is the end of the epoch */
  uint64_t batches, samples; /* of an epoch, of this shard */
  uint64_t span, before;     /* samples of a batch of all shards, and of the shards before this one */
  mica__carried *carried;
  size_t count;
  mica__carried *input, *label; /* what stands for both; NULL if nothing does */
  int32_t words;                /* of a record; 0: there is none */
  int32_t buckets;              /* 1 if nothing is ragged */
  mica_tensor *table;           /* (words, 2) i32: index of each word of sample 0, and from sample to sample */
  mica_buffer *words_memory;    /* of all columns of WORDS, and lengths */
  mica_tensor *words_out;       /* all of it as i32 */
  mica_tensor *mixed_out[2];    /* (N, classes), where labels are probabilities */
  mica_batch_column *columns;   /* as the source gives them */
  size_t column_count;
  mica_feed *feeds[2][MICA__MAX_BUCKETS];
  mica__resident *resident; /* one of these two */
  mica__stream *stream;
  mica_loader_stats stats;
};

/* --- positions (order.c) --- */

/* The samples of an epoch in their order. Zero-initialise; used by one thread at a time. */
typedef struct mica__epoch_order {
  bool made;
  uint64_t epoch;
  mica__permutation permutation;
  uint32_t *grouped; /* where batches are grouped by length: the sample at each position */
} mica__epoch_order;

/* Positions of an epoch from the first one of a batch on; of all shards, since they decide what is random. */
uint64_t mica__loader_first(const mica_loader *loader, uint64_t batch);
/* Samples of a batch. */
int64_t mica__loader_count(const mica_loader *loader, uint64_t batch);
/* Sets batches and samples. MICA_E_INVALID for shards that have nothing. */
mica_status mica__loader_set_batches(mica_loader *loader);
mica_status mica__epoch_order_set(const mica_loader *loader, mica__epoch_order *order, uint64_t epoch);
static inline uint32_t mica__epoch_order_at(const mica__epoch_order *order, uint64_t position) {
  return order->grouped ? order->grouped[position] : mica__permute(&order->permutation, (uint32_t)position);
}
void mica__epoch_order_free(mica__epoch_order *order);
/* The bucket of a sample, and the one that samples need which are at positions first to first + count - 1. */
int32_t mica__loader_bucket(const mica_loader *loader, uint64_t sample);
int32_t mica__epoch_order_bucket(const mica_loader *loader, const mica__epoch_order *order, uint64_t first,
                                 int64_t count);
/* True if batches are grouped by length. */
static inline bool mica__loader_groups(const mica_loader *loader) {
  return loader->buckets > 1 && loader->config.shuffle;
}

/* --- columns (carry.c, ragged.c) --- */

/* Decides the way of each column and measures what has to be normalised. */
mica_status mica__loader_carry(mica_loader *loader);
/* Reads the lengths of ragged columns and chooses buckets. */
mica_status mica__loader_make_buckets(mica_loader *loader);
/* Makes the tensors of batches, and their names. */
mica_status mica__loader_make_batches(mica_loader *loader);
void mica__carried_free(mica__carried *carried);

/* The shape of n samples as uploaded, and as they are in a batch. */
mica_shape mica__carried_shape(const mica__carried *carried, int64_t n);
mica_shape mica__batch_shape(const mica_loader *loader, const mica__carried *carried, int64_t n, int32_t bucket);

/* --- samples (sample.c) --- */

/* Memory for a sample between what is stored and what is uploaded. */
typedef struct mica__scratch {
  uint8_t *data;
  size_t capacity;
} mica__scratch;

/* Writes sample `index` of the dataset in an epoch as it is uploaded: of a ragged column its first lengths[index] rows.
 * Any thread with a scratch of its own. */
mica_status mica__carried_write(const mica_loader *loader, const mica__carried *carried, uint64_t index, uint64_t epoch,
                                mica__scratch *scratch, void *out);
/* Writes the record of words of a sample. */
mica_status mica__record_write(const mica_loader *loader, uint64_t index, mica__scratch *scratch, int32_t *record);

/* --- sources of samples --- */

/* A batch's samples on the device, for the kernels that make it. */
typedef struct mica__taken {
  const mica_tensor *words;         /* (n, words) i32; NULL if there are none */
  const mica_tensor *const *x;      /* of each column carried; NULL for WORDS. Padded (N, T, ...) where streamed */
  const mica_tensor *const *starts; /* of each ragged column (count) i64: its first row; NULL entries where streamed */
  const mica_tensor *order;         /* (count) i32; NULL: the permutation, or samples are in order already */
  mica__permutation permutation;
  uint64_t first; /* sample s of the batch is number order[first + s], or permutation(first + s), of these */
  int32_t bucket;
} mica__taken;

/* Samples resident on the device. A thread copies those that the dataset holds in memory; the first take waits for
 * it. */
mica_status mica__resident_create(const mica_loader *loader, mica__resident **resident);
void mica__resident_destroy(mica__resident *resident);
/* Gives all samples, for work queued on `queue` from now on. *waited gets the seconds that the caller was blocked,
 * which only the first call is. */
mica_status mica__resident_take(mica__resident *resident, mica_queue *queue, mica__taken *taken, double *waited);

/* The prefetch queue: threads decode samples into slots, and a queue of its own uploads whole batches ahead of the one
 * that is computed on. Events order the two queues, so that neither waits for the host, nor the host for them. */
mica_status mica__stream_create(const mica_loader *loader, mica__stream **stream);
void mica__stream_destroy(mica__stream *stream);
/* Makes this batch of this epoch the next one. */
mica_status mica__stream_seek(mica__stream *stream, uint64_t epoch, uint64_t batch);
/* Gives the next batch's samples, for work queued on `queue` from now on. *waited gets the seconds that the caller was
 * blocked by decoding. */
mica_status mica__stream_take(mica__stream *stream, mica_queue *queue, mica__taken *taken, double *waited);
/* Releases the batch last taken: its memory is written again after the work that is queued so far. */
mica_status mica__stream_give(mica__stream *stream, mica_queue *queue);

#endif
