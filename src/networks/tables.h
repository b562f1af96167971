/* networks/tables.h: tables of a network, with a row per item, on the host. Item 0 stands for all unknown ones. */
#ifndef MICA_NETWORKS_TABLES_H
#define MICA_NETWORKS_TABLES_H

#include <mica/session.h>

/* The rows of a layer's table as floats, also of a quantised network. The caller frees *values, also on failure. */
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

/* Features and biases of items: (items, width), and (items) or NULL. */
typedef struct mica__tables {
  float *rows, *bias;
  size_t items, width;
} mica__tables;
typedef struct mica__rated_items {
  const int32_t *items;
  const float *ratings;
  int64_t count;
} mica__rated_items;
/* The user vector that fits ratings best by least squares: width features, then the bias. Its squares are weighted
 * by l2 times the number of ratings. Ratings are fitted as differences from `mean`. */
mica_status mica__tables_fit(const mica__tables *tables, const mica__rated_items *rated, double mean, double l2,
                             double *user);
/* Ranks the other items by the cosines between their features and an item's. */
void mica__tables_nearest(const mica__tables *tables, int32_t item, mica__ranked *out);

/* Rows minus their mean, and their coordinates along two components. */
typedef struct mica__cloud {
  double *x, *at; /* (rows, width), (rows, 2) */
  size_t rows, width;
  double variance, along[2]; /* sums of squares: over all dimensions, and along each component */
} mica__cloud;
/* Finds the two principal components; changes x. Before the call, all members but x, rows and width must be zero. */
mica_status mica__cloud_components(mica__cloud *cloud);

#endif
