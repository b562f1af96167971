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

/* Sets *compared to the embeddings and classes of a source's samples, or of 1,500 evenly chosen ones if there are more.
 * mica__compared_free must be called, also after a failure; it accepts NULL. */
mica_status mica__compared_take(mica_run *run, const mica_batch_source *source, int64_t width,
                                mica__compared **compared);
void mica__compared_free(mica__compared *compared);

/* All pairs of the samples, in the order (1, 0), (2, 0), (2, 1), ... Each pair has the cosine of its embeddings, and 1
 * in `same` if both samples have the same class. */
typedef struct mica__compared_pairs {
  float *cosines;
  uint8_t *same;
  size_t count;
  double nearest; /* share of samples whose nearest neighbour has their class */
} mica__compared_pairs;
mica_status mica__compared_pair(const mica__compared *compared, mica__compared_pairs *pairs);
/* Lists the classes in the order of their first samples. classes[k] is the number of a class. numbers[k] holds three
 * numbers of the class:
 *   its number of samples
 *   the mean cosine of pairs within the class
 *   the mean cosine of pairs with other classes
 *
 * A mean is NaN if no such pair exists. *count is 0 if there are more than `most` classes, or if a class is not one of
 * the `known`. */
mica_status mica__compared_classes(const mica__compared *compared, const mica__compared_pairs *pairs, size_t known,
                                   size_t most, int32_t *classes, double (*numbers)[3], size_t *count);
void mica__compared_pairs_free(mica__compared_pairs *pairs);

#endif
