/* networks/speaker_wave.h: steps of speaking that are computed on the host, from the network's output
 * (networks/speaker.h). */
#ifndef MICA_NETWORKS_SPEAKER_WAVE_H
#define MICA_NETWORKS_SPEAKER_WAVE_H

#include "base/error.h"

#include <stdint.h>

/* Replaces the predicted log(1 + frames) of each letter by its number of frames at the given speed: speed 2 halves
 * them. The first and the last letter must be silence; each is limited to 5 frames. Returns the sum of the frames. */
double mica__speaker_time(float *durations, int64_t count, double speed);
/* Scales a wave to the loudness of recordings, or to less if a sample would leave -1 to 1. Adds silence at both ends,
 * because recognisers need some before the first word. *samples is replaced, and NULL after a failure. */
mica_status mica__speaker_finish(float **samples, int64_t *count, double rate);

#endif
