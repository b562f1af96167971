/* task/input/sample.h: pictures and rows of tables. */
#ifndef MICA_TASK_INPUT_SAMPLE_H
#define MICA_TASK_INPUT_SAMPLE_H

#include "run/common_settings.h"
#include "run/composed.h"

/* A task may lack this setting; it then does not mix pictures. */
#define SAMPLE_SETTINGS(X, S)                                                                                          \
  X(S, INT, puzzle, "puzzle", "0", "N", "PuzzleMix: mix pairs of pictures by their saliency, in N x N blocks; 0: off", \
    .low = 0, .high = 8, .fixed = true)

extern const mica__input mica__input_sample;

#endif
