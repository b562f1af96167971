/* ops/batch/geometry.h: the random changes of a sample on the host, in double: what cl/batch/draw.clh draws and where
 * it moves points to. */
#ifndef MICA_OPS_BATCH_GEOMETRY_H
#define MICA_OPS_BATCH_GEOMETRY_H

#include "ops/batch/augment.h"

typedef struct mica__draw {
  int64_t dx, dy, mirrored, cut_x, cut_y;
  double gain, lift, angle, zoom;
  const mica__augment *augment; /* of which the nodes of the elastic grid are drawn */
  uint32_t position;
} mica__draw;

/* The changes of the sample at a position, while *augment lives, of a picture of H x W pixels in which `one` stands
 * for 1. Below H and W are those of the changed picture: of the window where there is one. */
mica__draw mica__draw_of(const mica__augment *augment, uint32_t position, int64_t H, int64_t W, double one);

/* Where pixel (q, r) of the changed picture lies in the original: at[0] across, at[1] down. */
void mica__draw_source(const mica__draw *draw, int64_t q, int64_t r, int64_t H, int64_t W, double at[2]);

/* Where point (x, y) of the original comes to but for elastic shifts, in coordinates of which the picture's corners
 * are (0, 0) and (W, H). */
void mica__draw_target(const mica__draw *draw, double x, double y, int64_t H, int64_t W, double at[2]);

/* The box of the changed picture for one of the original: the corners moved, their bounds cut at the edges. *share gets
 * how much of its area is left; what keeps less than MICA__BOX_SHARE counts as none. */
#define MICA__BOX_SHARE 0.25
void mica__draw_box(const mica__draw *draw, const double box[4], int64_t H, int64_t W, double out[4], double *share);

#endif
