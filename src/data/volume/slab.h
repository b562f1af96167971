/* data/volume/slab.h: accumulates a network's outputs for overlapping windows and decides the class of each voxel.
 * Windows must come in order of depth, so that only the planes of one window's depth stay in memory. Also makes 2-D
 * slices of volumes for display. */
#ifndef MICA_DATA_VOLUME_SLAB_H
#define MICA_DATA_VOLUME_SLAB_H

#include "data/volume/volume.h"

/* A source of voxels. `read` writes the standardised values (C, D, H, W) of a window; `user` is passed to it. */
typedef struct mica__volume_reader {
  mica_status (*read)(void *user, const mica__window *window, float *values);
  void *user;
  const mica__nifti *header;
} mica__volume_reader;
/* Makes a grey picture of the middle slice across an axis: the other two sides of the volume, one byte per voxel. Only
 * the first channel is shown. Standardised values from -2 to 3 become 0 (black) to 255 (white). The caller frees
 * *slice, even after a failure. */
mica_status mica__volume_slice(const mica__volume_reader *reader, int axis, uint8_t **slice);

/* Accumulates class probabilities for consecutive planes of a volume. Overlapping windows are blended: a window's
 * weight falls from its middle to its edges, so no seams are visible. The caller allocates and frees the sums, which
 * must begin as zeros. */
typedef struct mica__slab {
  int64_t classes, depth, height, width; /* depth: of a window; height and width: of the volume */
  int64_t first;                         /* the plane of the volume at which the slab begins */
  float *sums;                           /* (classes, depth, height, width) */
} mica__slab;

/* Adds the class probabilities `shares` (classes, window) of a window, each times the window's weight at the voxel. The
 * window must lie within the planes from `first` to first + depth - 1. Rows and columns beyond the volume are
 * skipped. */
void mica__slab_add(mica__slab *slab, const mica__window *window, const float *shares);
/* Decides the class of each voxel in the first `count` planes of the slab. `decided` is the whole volume (D, H, W);
 * only these planes of it are written. On a tie the lowest class is taken. Then the slab drops the planes: `first`
 * grows by `count`, and the new planes at the end begin as zeros. */
void mica__slab_finish(mica__slab *slab, int64_t count, uint8_t *decided);

#endif
