/* task/input/frame.h: pictures with boxes, scaled into a frame of one size. */
#ifndef MICA_TASK_INPUT_FRAME_H
#define MICA_TASK_INPUT_FRAME_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

#define FRAME_SETTINGS(X, S)                                                                                           \
  X(S, INT, size, "size", "320", "PIXELS",                                                                             \
    "length to which the longer side of a picture is scaled; sides are padded to multiples of 32", .low = 32,          \
    .high = 4096, .fixed = true)                                                                                       \
  X(S, INT, width, "width", "32", "CHANNELS", "channels of the detector at stride 4, a multiple of 8", .low = 8,       \
    .high = 1024, .fixed = true, .structure = true)                                                                    \
  X(S, REAL, mosaic, "mosaic", "0", "SHARE", "share of training pictures that are mosaics of four pictures", .low = 0, \
    .high = 1, .fixed = true)

#define FRAME_FACTS(X, S) X(S, TEXT, input_column, .needed = false)

extern const mica__input mica__input_frame;

#endif
