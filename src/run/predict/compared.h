/* run/predict/compared.h: the samples of a test compared with each other, by embeddings of length 1. */
#ifndef MICA_RUN_PREDICT_COMPARED_H
#define MICA_RUN_PREDICT_COMPARED_H

#include <mica/run.h>

/* Embeddings (count, width) and classes of samples. */
typedef struct mica__compared {
  float *embeddings;
  int32_t *numbers;
  size_t count;
  int64_t width;
} mica__compared;

/* Takes the samples of a source; if these are too many, evenly chosen ones. *compared must be freed, also after a
 * failure; NULL is a no-op. */
mica_status mica__compared_take(mica_run *run, const mica_batch_source *source, int64_t width,
                                mica__compared **compared);
void mica__compared_free(mica__compared *compared);

/* All pairs of the samples, (1, 0), (2, 0), (2, 1), ... */
typedef struct mica__compared_pairs {
  float *cosines;
  uint8_t *same;
  size_t count;
  double nearest; /* share of samples whose nearest neighbour has their class */
} mica__compared_pairs;
mica_status mica__compared_pair(const mica__compared *compared, mica__compared_pairs *pairs);
/* The classes in the order of their first samples: their numbers, how many samples each has, and its mean cosines to
 * the same class and to others (NaN: no such pair). *count is 0 if these are more than `most`, or if a class is not one
 * of `known`. */
mica_status mica__compared_classes(const mica__compared *compared, const mica__compared_pairs *pairs, size_t known,
                                   size_t most, int32_t *classes, double (*numbers)[3], size_t *count);
void mica__compared_pairs_free(mica__compared_pairs *pairs);

#endif
