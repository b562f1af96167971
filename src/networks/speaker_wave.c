/* Converts a speaker's predicted durations to frames, and finishes the wave: sets its level and adds silence. */
#include "networks/speaker_wave.h"
#include "networks/speaker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most frames of silence that the network speaks at each end. */
#define MOST_SILENCE 5.0
/* Seconds of silence that are added at both ends. */
#define SILENCE 0.15

double mica__speaker_time(float *durations, int64_t count, double speed) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    const double predicted = expm1((double)durations[i]) / speed;
    const double frames = i && i + 1 < count ? predicted : fmin(predicted, MOST_SILENCE);
    durations[i] = (float)frames;
    sum += frames;
  }
  return sum;
}

/* Scales a wave to the loudness of recordings, or to less, so that no sample is outside -1 to 1. */
static void level(float *samples, int64_t count) {
  double power = 0, most = 0;
  for (int64_t i = 0; i < count; i++) power += (double)samples[i] * (double)samples[i] / (double)count;
  for (int64_t i = 0; i < count; i++) most = fmax(most, fabs((double)samples[i]));
  const double factor = power > 0 ? fmin(MICA__SPEAKER_LEVEL / sqrt(power), 1 / most) : 0;
  for (int64_t i = 0; i < count; i++) samples[i] = (float)(factor * (double)samples[i]);
}

mica_status mica__speaker_finish(float **samples, int64_t *count, double rate) {
  const int64_t silence = (int64_t)(SILENCE * rate);
  level(*samples, *count);
  float *longer = calloc((size_t)(*count + 2 * silence) + 1, sizeof *longer);
  if (longer) memcpy(longer + silence, *samples, (size_t)*count * sizeof *longer);
  free(*samples);
  *samples = longer;
  *count += 2 * silence;
  return longer ? MICA_OK : mica__fail_nomem("a wave");
}
