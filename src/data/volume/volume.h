/* data/volume/volume.h: reads windows of volumes from files, and makes datasets of volumes and masks.
 *
 * A dataset treats a volume (C, D, H, W) as a picture of D H rows of W elements: its columns are "image", (C, D H, W)
 * f32, and "mask", (D H, W) u8. */
#ifndef MICA_DATA_VOLUME_VOLUME_H
#define MICA_DATA_VOLUME_VOLUME_H

#include "data/dataset.h"
#include "data/volume/nifti.h"

/* A window of a volume: its first voxel, and its sides. It may reach beyond the volume. */
typedef struct mica__window {
  int64_t at[3], sides[3]; /* depth, height, width */
} mica__window;

static inline int64_t mica__window_voxels(const mica__window *w) { return w->sides[0] * w->sides[1] * w->sides[2]; }

/* A volume in a file. A gzip file is unpacked into memory when it is opened; windows of any other file are read from
 * disk. */
typedef struct mica__volume mica__volume;
mica_status mica__volume_open(const char *path, mica__volume **volume);
void mica__volume_close(mica__volume *volume); /* NULL is a no-op */
const mica__nifti *mica__volume_header(const mica__volume *volume);
/* Reads the values (C, D, H, W) of a window. Voxels beyond the volume get the value `outside`. Any thread may call
 * it. */
mica_status mica__volume_read(const mica__volume *volume, const mica__window *window, float outside, float *values);

/* Brings a channel to mean 0 and deviation 1: value * scale + shift. NaN and infinite voxels are treated as the
 * mean. */
typedef struct mica__intensity {
  float scale[MICA__NIFTI_CHANNELS], shift[MICA__NIFTI_CHANNELS];
} mica__intensity;
mica_status mica__volume_measure(const mica__volume *volume, mica__intensity *intensity);
/* Standardises `values` (channels, voxels) in place. */
void mica__intensity_apply(const mica__intensity *intensity, int64_t channels, int64_t voxels, float *values);

/* --- datasets (volumes.c) --- */

/* The volumes and masks behind a dataset. */
typedef struct mica__volumes mica__volumes;
/* Sides and spacing of a sample of a dataset of volumes. */
const mica__nifti *mica__volumes_header(const mica_dataset *data, uint64_t sample);
/* Reads a window of a sample: its standardised values (C, D, H, W) into `values`, and its classes into `classes`. Class
 * 255 means not labelled or beyond the volume. Either pointer may be NULL. */
mica_status mica__volumes_read(const mica_dataset *data, uint64_t sample, const mica__window *window, float *values,
                               uint8_t *classes);

/* --- views (patches.c) --- */

/* Windows that cover a volume, in the order depth, height, width. Along each axis, neighbouring windows overlap by the
 * fraction `overlap` of the window's side. If the last window would reach beyond the volume, it is moved back so that
 * both end at the same voxel, unless the volume is smaller than the window. */
typedef struct mica__grid {
  int64_t sides[3]; /* of a window */
  double overlap;
} mica__grid;
int64_t mica__grid_count(const mica__grid *grid, const int64_t sides[3]);
mica__window mica__grid_at(const mica__grid *grid, const int64_t sides[3], int64_t index);

/* Makes a dataset whose samples are the windows of the grid over every volume. `data` must outlive the result, here and
 * in mica__volumes_patches. */
mica_status mica__volumes_tiles(const mica_dataset *data, const mica__grid *grid, mica_dataset **tiles);
/* `count` windows of each volume, drawn anew in each epoch. On average a third of them are placed so that they contain
 * a voxel of a class other than the first, if 64 random attempts find one in the volume. */
typedef struct mica__patching {
  int64_t sides[3], count;
  bool flip; /* mirror each axis at random */
} mica__patching;
mica_status mica__volumes_patches(const mica_dataset *data, const mica__patching *how, mica_dataset **patches);

#endif
