/* data/volume/slab.h: joins a network's answers for windows, in order of depth, to the class of each voxel; and
 * slices. */
#ifndef MICA_DATA_VOLUME_SLAB_H
#define MICA_DATA_VOLUME_SLAB_H

#include "data/volume/volume.h"

/* Where windows of a volume are read from: standardised values (C, D, H, W). */
typedef struct mica__volume_reader {
  mica_status (*read)(void *user, const mica__window *window, float *values);
  void *user;
  const mica__nifti *header;
} mica__volume_reader;
/* The middle slice across an axis as a grey picture, freed by the caller: -2 to 3 deviations become black to white. */
mica_status mica__volume_slice(const mica__volume_reader *reader, int axis, uint8_t **slice);

/* The planes of a volume that the current windows cover: weighted sums of probabilities. A window's weight falls from
 * its middle to its edges, so that no seams are visible. The caller owns the sums, which begin as zeros. */
typedef struct mica__slab {
  int64_t classes, depth, height, width; /* depth: of a window; height and width: of the volume */
  int64_t first;                         /* the plane of the volume at which the slab begins */
  float *sums;                           /* (classes, depth, height, width) */
} mica__slab;

/* Adds shares (classes, window) of a window that begins at plane `first`. */
void mica__slab_add(mica__slab *slab, const mica__window *window, const float *shares);
/* Writes the most likely class of each voxel (ties go to the first) for the first `count` planes into the volume (D, H,
 * W), and moves on by that many planes. */
void mica__slab_finish(mica__slab *slab, int64_t count, uint8_t *decided);

#endif
