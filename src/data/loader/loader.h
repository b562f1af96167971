/* data/loader/loader.h: the loader and its two sources of samples, resident on the device or streamed to it. */
#ifndef MICA_DATA_LOADER_LOADER_H
#define MICA_DATA_LOADER_LOADER_H

#include "data/dataset.h"
#include "ops/batch/augment.h"

/* The most lengths that ragged columns are padded to. */
#define MICA__MAX_BUCKETS 8
/* A column of numbers, pictures or sound with more words than this gets planes of its own; a record with more is copied
 * by its own launch. */
#define MICA__SMALL_WORDS 64

typedef struct mica__resident mica__resident;
typedef struct mica__stream mica__stream;

/* How a column gets to the device:
 *
 *   WORDS    columns lie side by side in a record of 32-bit words per sample; if the record is small, the launch that
 *            makes a batch's first PLANES column also copies them all to their tensors
 *   PLANES   (C, H, W), or (1, 1, F) for rows: gathered, normalised, augmented, mixed
 *   MASK     (H, W) u8, or f32 for maps: gathered, and moved in the same way as the picture
 *   RAGGED   rows of samples one after another: gathered and padded; the length is one of the words */
typedef enum mica__way { MICA__WAY_WORDS, MICA__WAY_PLANES, MICA__WAY_MASK, MICA__WAY_RAGGED } mica__way;

typedef struct mica__carried {
  size_t column; /* of the dataset */
  const mica__column *from;
  mica__way way;
  mica_dtype up, dtype;    /* as uploaded, and in the batch */
  int64_t elements;        /* of a sample; RAGGED: of a row */
  size_t bytes;            /* of a sample as uploaded; RAGGED: of a row */
  float *mean, *deviation; /* of its channels; NULL if neither the host nor `affine` normalises it */
  mica_tensor *affine;     /* PLANES: (C, 2) scale and shift */
  int32_t word, words; /* WORDS: position in the record, number of words; RAGGED: the same for its length, one word */
  int32_t *lengths;    /* RAGGED: the length of each sample, after it is cut to `most` */
  int64_t most, pad;   /* RAGGED: longer samples are cut to `most` rows, 0: none; `pad` fills shorter ones */
  int64_t bucket[MICA__MAX_BUCKETS];      /* RAGGED: the length in each bucket */
  mica_tensor *out[2][MICA__MAX_BUCKETS]; /* its batches: [0] full ones, [1] the last, smaller one; by bucket */
  mica_tensor *length_out[2];             /* RAGGED */
  char *length_name;                      /* RAGGED: "NAME.length" */
} mica__carried;

struct mica_loader {
  mica_engine *engine;
  const mica_dataset *dataset;
  mica_loader_config config; /* with defaults filled in */
  uint64_t epoch, batch;     /* the next batch; batch == batches at the end of the epoch */
  uint64_t batches, samples; /* of an epoch, in this shard */
  uint64_t span, before;     /* samples of a batch in all shards, and in the shards before this one */
  mica__carried *carried;
  size_t count;
  mica__carried *input, *label; /* the columns of inputs and labels; NULL: none */
  int32_t words;                /* words of a record; 0: there is no record */
  int32_t buckets;              /* 1 if nothing is ragged */
  mica_tensor *table;           /* (words, 2) i32: where a word of sample 0 goes, and the step to the next sample's */
  mica_buffer *words_memory;    /* for all columns of WORDS, and lengths */
  mica_tensor *words_out;       /* words_memory as i32 */
  mica_tensor *mixed_out[2];    /* (N, classes), if labels are probabilities */
  mica_batch_column *columns;   /* name, dtype and shape of each tensor of a batch; open dimensions are MICA_DYNAMIC */
  size_t column_count;
  mica_feed *feeds[2][MICA__MAX_BUCKETS];
  mica__resident *resident; /* either this or `stream` */
  mica__stream *stream;
  mica_loader_stats stats;
};

/* --- positions (order.c) --- */

/* The samples of an epoch in order. Zero-initialise it; only one thread may use it at a time. */
typedef struct mica__epoch_order {
  bool made;
  uint64_t epoch;
  mica__permutation permutation;
  uint32_t *grouped; /* if batches are grouped by length: the sample at each position */
} mica__epoch_order;

/* The position in the epoch of the first sample of a batch. Positions are counted over all shards, and random numbers
 * are drawn by position, so each sample of an epoch gets its own random numbers. */
uint64_t mica__loader_first(const mica_loader *loader, uint64_t batch);
/* Samples of a batch. */
int64_t mica__loader_count(const mica_loader *loader, uint64_t batch);
/* Sets batches and samples. MICA_E_INVALID if a shard would get nothing. */
mica_status mica__loader_set_batches(mica_loader *loader);
mica_status mica__epoch_order_set(const mica_loader *loader, mica__epoch_order *order, uint64_t epoch);
static inline uint32_t mica__epoch_order_at(const mica__epoch_order *order, uint64_t position) {
  return order->grouped ? order->grouped[position] : mica__permute(&order->permutation, (uint32_t)position);
}
void mica__epoch_order_free(mica__epoch_order *order);
/* The bucket of a sample, and the bucket needed by the samples at positions first to first + count - 1. */
int32_t mica__loader_bucket(const mica_loader *loader, uint64_t sample);
int32_t mica__epoch_order_bucket(const mica_loader *loader, const mica__epoch_order *order, uint64_t first,
                                 int64_t count);
/* True if batches are grouped by length. */
static inline bool mica__loader_groups(const mica_loader *loader) {
  return loader->buckets > 1 && loader->config.shuffle;
}

/* --- columns (carry.c, ragged.c) --- */

/* Decides how each column gets to the device, and measures what has to be normalised. */
mica_status mica__loader_carry(mica_loader *loader);
/* Reads the lengths of ragged columns and chooses buckets. */
mica_status mica__loader_make_buckets(mica_loader *loader);
/* Makes the tensors of batches, and their names. */
mica_status mica__loader_make_batches(mica_loader *loader);
void mica__carried_free(mica__carried *carried);

/* The shape of n samples as they are uploaded, and as they are in a batch. */
mica_shape mica__carried_shape(const mica__carried *carried, int64_t n);
mica_shape mica__batch_shape(const mica_loader *loader, const mica__carried *carried, int64_t n, int32_t bucket);

/* --- samples (sample.c) --- */

/* Scratch memory to convert a sample from the stored to the uploaded form. */
typedef struct mica__scratch {
  uint8_t *data;
  size_t capacity;
} mica__scratch;

/* Writes sample `index` of the dataset in the form that is uploaded. For a ragged column it writes lengths[index] rows.
 * Threads may call it at once, each with its own scratch memory. */
mica_status mica__carried_write(const mica_loader *loader, const mica__carried *carried, uint64_t index, uint64_t epoch,
                                mica__scratch *scratch, void *out);
/* Writes the record of words of a sample. */
mica_status mica__record_write(const mica_loader *loader, uint64_t index, mica__scratch *scratch, int32_t *record);

/* --- sources of samples --- */

/* A batch's samples on the device, for the kernels that make it. */
typedef struct mica__taken {
  const mica_tensor *words;         /* (n, words) i32; NULL if there are none */
  const mica_tensor *const *x;      /* by column of the loader; NULL for WORDS. If streamed, padded (N, T, ...) */
  const mica_tensor *const *starts; /* RAGGED: (count) i64, first row of each sample; NULL: other ways, or streamed */
  const mica_tensor *order;         /* (count) i32; NULL: use the permutation, or samples are in order already */
  mica__permutation permutation;
  uint64_t first; /* sample s of the batch is order[first + s], or permutation(first + s), of x */
  int32_t bucket;
} mica__taken;

/* Samples resident on the device. If the dataset holds all columns in memory, a thread copies them, and the first take
 * waits for it; otherwise mica__resident_create reads the samples. */
mica_status mica__resident_create(const mica_loader *loader, mica__resident **resident);
void mica__resident_destroy(mica__resident *resident);
/* Provides all samples for work queued on `queue` from now on. *waited receives the seconds for which the first call
 * waited for the thread; 0 in later calls. */
mica_status mica__resident_take(mica__resident *resident, mica_queue *queue, mica__taken *taken, double *waited);

/* The prefetch queue: threads decode samples into slots, and a separate queue uploads whole batches ahead of the one in
 * use. Events order the two queues. */
mica_status mica__stream_create(const mica_loader *loader, mica__stream **stream);
void mica__stream_destroy(mica__stream *stream);
/* Makes this batch of this epoch the next one. */
mica_status mica__stream_seek(mica__stream *stream, uint64_t epoch, uint64_t batch);
/* Provides the samples of the next batch for work queued on `queue` from now on. *waited receives the seconds for which
 * decoding blocked the caller. */
mica_status mica__stream_take(mica__stream *stream, mica_queue *queue, mica__taken *taken, double *waited);
/* Releases the batch taken last. The memory of its slot is overwritten only after the work that is queued so far. */
mica_status mica__stream_give(mica__stream *stream, mica_queue *queue);

#endif
