/* networks/speaker_wave.h: what a speaker's answers (networks/speaker.h) become on the host. */
#ifndef MICA_NETWORKS_SPEAKER_WAVE_H
#define MICA_NETWORKS_SPEAKER_WAVE_H

#include "base/error.h"

#include <stdint.h>

/* Turns log(1 + frames) of letters, with silence at both ends, into frames at a speed; returns their sum. */
double mica__speaker_time(float *durations, int64_t count, double speed);
/* Scales a wave to the loudness of recordings, and adds silence at both ends: recognisers need some before the first
 * word. *samples is replaced, and NULL after a failure. */
mica_status mica__speaker_finish(float **samples, int64_t *count, double rate);

#endif
