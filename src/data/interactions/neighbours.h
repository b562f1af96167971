/* data/interactions/neighbours.h: the items most similar to each item, because the same users had them. */
#ifndef MICA_DATA_INTERACTIONS_NEIGHBOURS_H
#define MICA_DATA_INTERACTIONS_NEIGHBOURS_H

#include "data/interactions/interactions.h"

/* How many similar items are kept for each item. */
#define MICA__NEIGHBOURS 100

/* A similar item; share: the cosine similarity of the two items' sets of users, 0 to 1. */
typedef struct mica__neighbour {
  int32_t item;
  float share;
} mica__neighbour;

typedef struct mica__neighbours {
  mica__neighbour *list; /* MICA__NEIGHBOURS per item; unused slots have item 0 */
  size_t items;
} mica__neighbours;

/* Finds the items most similar to each, by the users of the training part. The caller frees n->list, also after a
 * failure. */
mica_status mica__neighbours_make(const mica__interactions *x, mica__neighbours *n);

#endif
