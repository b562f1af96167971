/* data/volume/surfaces.h: how well a class in two volumes of labels agrees. */
#ifndef MICA_DATA_VOLUME_SURFACES_H
#define MICA_DATA_VOLUME_SURFACES_H

#include "base/error.h"

#include <stdint.h>

typedef struct mica__likeness {
  double dice, iou;
  double farthest; /* Hausdorff distance: the largest distance from a voxel of one surface to the other surface */
  double most;     /* the larger of both directions' 95th percentiles, interpolated as in numpy's percentile */
} mica__likeness;

/* Compares the voxels of class `of` in a and b, both (D, H, W) with distances spacing[i] along axis i. Voxels where
 * `known` is 255 do not count, and belong to another class for surfaces; NULL: all count. A surface is the voxels with
 * a face to another class or to the outside. All results are NaN if neither volume has the class; if only one has it,
 * distances are the diagonal of the volume. */
mica_status mica__labels_compare(const uint8_t *a, const uint8_t *b, const uint8_t *known, uint8_t of,
                                 const int64_t sides[3], const double spacing[3], mica__likeness *out);

#endif
