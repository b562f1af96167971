/* data/volume/surfaces.h: how alike a class is in two volumes of labels. */
#ifndef MICA_DATA_VOLUME_SURFACES_H
#define MICA_DATA_VOLUME_SURFACES_H

#include "base/error.h"

#include <stdint.h>

typedef struct mica__likeness {
  double dice, iou;
  double farthest; /* Hausdorff distance: the largest distance from a voxel of one surface to the other surface */
  double most;     /* the larger of the 95th percentiles of both directions, between ranks as numpy's percentile */
} mica__likeness;

/* Compares the voxels of class `of` in a and b, both (D, H, W), which are spacing[i] apart along axis i. Voxels where
 * `known` is 255 do not count, and are of another class for surfaces; NULL: none. A surface is the voxels with a face
 * to another class or to the outside. All are NaN if neither volume has the class; if one lacks it, distances are the
 * diagonal of the volume. */
mica_status mica__labels_compare(const uint8_t *a, const uint8_t *b, const uint8_t *known, uint8_t of,
                                 const int64_t sides[3], const double spacing[3], mica__likeness *out);

#endif
