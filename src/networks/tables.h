/* networks/tables.h: a network's tables on the host, with one row per item, rankings by them, and principal components.
 * Row 0 is for all unknown items. */
#ifndef MICA_NETWORKS_TABLES_H
#define MICA_NETWORKS_TABLES_H

#include <mica/session.h>

/* Reads a layer's table as floats; quantised tables are dequantised. The caller frees *values, also after a failure. */
mica_status mica__table_take(mica_queue *queue, mica_session *session, const char *table, float **values,
                             mica_shape *shape);

/* Items in descending order of their scores. */
typedef struct mica__ranked {
  int32_t items[256];
  float scores[256];
  int64_t count;
} mica__ranked;
/* Inserts an item after those with the same score; the last one drops out if there is no room. */
void mica__ranked_add(mica__ranked *ranked, int32_t item, float score);

/* Embeddings (items, width) of items, and their biases (items). bias is NULL if the network has none. */
typedef struct mica__tables {
  float *rows, *bias;
  size_t items, width;
} mica__tables;
typedef struct mica__rated_items {
  const int32_t *items;
  const float *ratings;
  int64_t count;
} mica__rated_items;
/* Fits a user's embedding to ratings by least squares. user[0] to user[width - 1] receive the embedding, user[width]
 * the bias. Ratings are fitted as differences from `mean` plus the item's bias. The squares of the numbers in `user`
 * are added to the squared errors, multiplied by l2 and by the number of ratings. tables->bias must not be NULL. */
mica_status mica__tables_fit(const mica__tables *tables, const mica__rated_items *rated, double mean, double l2,
                             double *user);
/* Ranks the other items, except item 0, by the cosine between their embeddings and the embedding of `item`. */
void mica__tables_nearest(const mica__tables *tables, int32_t item, mica__ranked *out);

/* Rows x of numbers, and their coordinates `at` along two components. */
typedef struct mica__cloud {
  double *x, *at; /* (rows, width), (rows, 2); both are the caller's */
  size_t rows, width;
  double variance, along[2]; /* sums of squares: over all dimensions, and along each component */
} mica__cloud;
/* Finds the two principal components: fills at, variance and along, which must be zero before the call. Subtracts the
 * mean and both components from the rows x. */
mica_status mica__cloud_components(mica__cloud *cloud);

#endif
