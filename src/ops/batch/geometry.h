/* ops/batch/geometry.h: the random changes of a sample on the host, in double: the same draws and the same moves of
 * points as in cl/batch/draw.clh. */
#ifndef MICA_OPS_BATCH_GEOMETRY_H
#define MICA_OPS_BATCH_GEOMETRY_H

#include "ops/batch/augment.h"

typedef struct mica__draw {
  int64_t dx, dy, mirrored, cut_x, cut_y;
  double gain, lift, angle, zoom;
  const mica__augment *augment; /* gives the nodes of the elastic grid */
  uint32_t position;
} mica__draw;

/* Draws the changes of the sample at a position; valid while *augment lives. The original has H x W pixels, and
 * `one` is the value of an element that stands for 1: 255 in bytes. In the functions below, H and W are the size of
 * the changed picture: of the window, if there is one. */
mica__draw mica__draw_of(const mica__augment *augment, uint32_t position, int64_t H, int64_t W, double one);

/* Finds the point of the original that pixel (q, r) of the changed picture shows: at[0] across, at[1] down. */
void mica__draw_source(const mica__draw *draw, int64_t q, int64_t r, int64_t H, int64_t W, double at[2]);

/* Finds the point of the changed picture that shows point (x, y) of the original, ignoring elastic shifts. The corners
 * of the changed picture are at (0, 0) and (W, H). */
void mica__draw_target(const mica__draw *draw, double x, double y, int64_t H, int64_t W, double at[2]);

/* Applies the changes of a picture to a box in it: moves the corners, takes the box around them and clips it at the
 * edges of the changed picture. *share receives the share of the moved box's area that is left after clipping, 0 if
 * that area is 0. If the share is less than MICA__BOX_SHARE, the box becomes zeros. */
#define MICA__BOX_SHARE 0.25
void mica__draw_box(const mica__draw *draw, const double box[4], int64_t H, int64_t W, double out[4], double *share);

#endif
