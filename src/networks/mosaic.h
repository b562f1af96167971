/* networks/mosaic.h: training pictures that are made of four. */
#ifndef MICA_NETWORKS_MOSAIC_H
#define MICA_NETWORKS_MOSAIC_H

#include <mica/nn.h>

/* A batch of training: pictures (N, C, H, W), boxes (N, M, 4), label and ignored (N, M); ignored may be null. */
typedef struct mica__mosaic_batch {
  mica_value x, boxes, label, ignored;
} mica__mosaic_batch;
/* Replaces each picture, with the probability `share`, by a mosaic of four parts: one from the picture itself and three
 * from the pictures that follow it in the batch, cyclically. Combines their boxes, (N, 4 M, 4), and their label and
 * ignored, (N, 4 M). A box that keeps less than a quarter of its area becomes zeros. Boxes without area do not
 * count. */
void mica__mosaic(mica_nn *nn, double share, mica__mosaic_batch *batch);

#endif
