/* task/input/picture.h: pictures of any size, for which U-Net answers at every pixel. picture.c trains,
 * run/predict/pictures.c reads pictures, run/predict/tiles.c joins the answers for tiles. */
#ifndef MICA_TASK_INPUT_PICTURE_H
#define MICA_TASK_INPUT_PICTURE_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

/* Name i of the setting "norm"; NULL after the last. */
const char *mica__picture_norm_at(size_t i);

#define PICTURE_SETTINGS(X, S)                                                                                         \
  X(S, INT, width, "width", "24", "N", "channels of U-Net at full resolution", .low = 1, .high = 1024, .fixed = true,  \
    .structure = true)                                                                                                 \
  X(S, INT, depth, "depth", "4", "N", "number of times that U-Net halves the sides", .low = 1, .high = 8,              \
    .fixed = true, .structure = true)                                                                                  \
  X(S, CHOICE, norm, "norm", "batch", "NAME", "normalisation layers; group suits batches of one or two samples",       \
    .names = mica__picture_norm_at, .fixed = true, .structure = true)                                                  \
  X(S, INT, window, "window", "256", "PIXELS", "side of the windows cut from pictures for training", .low = 16,        \
    .high = 8192, .fixed = true)                                                                                       \
  X(S, INT, tile, "tile", "512", "PIXELS", "largest side predicted at once; larger pictures are split into tiles",     \
    .low = 16, .high = 8192, .fixed = true)                                                                            \
  X(S, REAL, overlap, "overlap", "0.25", "SHARE", "share of a tile's side that overlaps the next tile", .low = 0,      \
    .high = 0.75, .fixed = true)

#define PICTURE_FACTS(X, S)                                                                                            \
  X(S, NUMBERS, tile, .needed = true, .count = 3, MICA__OR_ZERO, .most = 1 << 13)                                      \
  X(S, NUMBERS, window, .count = 2, .most = MICA__LARGEST_ROW)                                                         \
  X(S, NUMBERS, cut, .count = 2, .most = MICA__LARGEST_ROW)

extern const mica__input mica__input_picture;

#endif
