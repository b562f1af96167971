/* task/input/frame.h: pictures with boxes, scaled into a frame of one size: frame.c prepares them and has the detector,
 * frame_show.c reads those that are predicted. */
#ifndef MICA_TASK_INPUT_FRAME_H
#define MICA_TASK_INPUT_FRAME_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

#define FRAME_SETTINGS(X, S)                                                                                           \
  X(S, INT, size, "size", "320", "PIXELS", "longer side that pictures are scaled to, padded to a multiple of 32",      \
    .low = 32, .high = 4096, .fixed = true)                                                                            \
  X(S, INT, width, "width", "32", "CHANNELS", "channels of the detector at stride 4, a multiple of 8", .low = 8,       \
    .high = 1024, .fixed = true)                                                                                       \
  X(S, REAL, mosaic, "mosaic", "0", "SHARE", "share of training pictures composed of four", .low = 0, .high = 1,       \
    .fixed = true)

#define FRAME_FACTS(X, S) X(S, TEXT, input_column, .needed = false)

extern const mica__input mica__input_frame;

/* Members of the input (task/input/frame_show.c). */
mica_status mica__frame_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
mica_status mica__frame_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);

#endif
