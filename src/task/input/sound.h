/* task/input/sound.h: recordings; some seconds from the middle of each are read. */
#ifndef MICA_TASK_INPUT_SOUND_H
#define MICA_TASK_INPUT_SOUND_H

#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"

/* The settings that are about sound. The task fuse uses them with a width and a dropout of its own. */
#define SOUND_OWN_SETTINGS(X, S)                                                                                       \
  X(S, REAL, seconds, "seconds", "1", "S",                                                                             \
    "seconds to read from the middle of a recording; a shorter one is padded with zeros", .low = 0.05, .high = 60,     \
    .fixed = true)                                                                                                     \
  MICA__MEL_SETTINGS(X, S, 4)                                                                                          \
  X(S, REAL, shift, "shift", "0.1", "S", "largest random shift in time in training, in seconds; 0: no shift",          \
    .low = 0, .high = 10, .fixed = true)                                                                               \
  MICA__MASK_SETTINGS(X, S)
#define SOUND_SETTINGS(X, S)                                                                                           \
  SOUND_OWN_SETTINGS(X, S)                                                                                             \
  X(S, INT, width, "width", "64", "N", "channels of the network", .low = 1, .high = 1024, .fixed = true,               \
    .structure = true)                                                                                                 \
  X(S, REAL, dropout, "dropout", "0.2", "P", "dropout before the last layer", .low = 0, .high = 0.95, .fixed = true)
MICA__SETTINGS_STRUCT(sound, SOUND_SETTINGS);

/* The stored value "input" has two numbers, so its rank in MICA__FACTS is 2: the channels (1), and the samples that the
 * network reads. */
#define SOUND_FACTS(X, S)                                                                                              \
  X(S, NUMBER, rate, .needed = true, .most = 1 << 20)                                                                  \
  X(S, NUMBERS, input, .needed = true)

extern const mica__input mica__input_sound;

#endif
