/* data/volume/surfaces.h: how well a class in two volumes of labels agrees. */
#ifndef MICA_DATA_VOLUME_SURFACES_H
#define MICA_DATA_VOLUME_SURFACES_H

#include "base/error.h"

#include <stdint.h>

typedef struct mica__likeness {
  double dice, iou;
  double farthest; /* Hausdorff distance: the largest distance from a voxel of one surface to the other surface */
  double most;     /* 95th percentile of these distances, interpolated as numpy.percentile does. It is computed once per
                    * direction (a to b, b to a); this is the larger result. */
} mica__likeness;

/* Compares the voxels of class `of` in a and b. Both are (D, H, W), and voxels are spacing[i] apart along axis i.
 *
 * `known` may be NULL. Otherwise voxels where it is 255 are excluded from dice and iou, and count as another class for
 * the distances. The surface of a class is its voxels that touch another class or the edge of the volume with a face.
 * If neither volume has the class, all results are NaN. If only one has it, both distances are the diagonal of the
 * volume. */
mica_status mica__labels_compare(const uint8_t *a, const uint8_t *b, const uint8_t *known, uint8_t of,
                                 const int64_t sides[3], const double spacing[3], mica__likeness *out);

#endif
