/* data/sound/sound.h: recordings in files, read as signals of one channel at a given rate. */
#ifndef MICA_DATA_SOUND_SOUND_H
#define MICA_DATA_SOUND_SOUND_H

#include "data/dataset.h"

/* The longest sample in seconds; callers split longer recordings into samples. */
#define MICA__SOUND_SECONDS 600
/* The highest rate of files and of resampled sound. */
#define MICA__SOUND_RATE 768000

/* A file's header, and its length at the rate given to mica__sound_examine (rate 0: the file's own). */
typedef struct mica__sound {
  int32_t rate, channels;
  int64_t frames; /* of the file */
  int64_t length; /* samples at the requested rate */
} mica__sound;

/* True if the name ends in .wav, .flac or .ogg. */
bool mica__sound_is_named(const char *name);

/* Opens a file and reads its header. Errors:
 * - MICA_E_FORMAT: the file is not sound, is empty, has too many channels or too high a rate, is a WAV file that ends
 *   before its samples do, or is longer than MICA__SOUND_SECONDS.
 * - MICA_E_UNSUPPORTED: this build lacks libsndfile.
 * - MICA_E_NOT_FOUND or MICA_E_IO: the file cannot be opened. */
mica_status mica__sound_examine(const char *path, int32_t rate, mica__sound *sound);
/* Reads `length` samples at that rate, both from mica__sound_examine, with memory for only some thousand frames.
 * MICA_E_FORMAT if the file has changed or ends early. Any thread may call it. */
mica_status mica__sound_read(const char *path, int32_t rate, float *samples, int64_t length);

/* --- resampling: a stream of samples at one rate becomes another at another rate ---
 *
 * y[m] = sum_j x[j] s h(s (j - m from / to)) with s = 0.99 min(1, to / from), h(t) = sinc(t) cos^2(pi t / 12) for
 * |t| < 6, else 0: torchaudio's sinc_interp_hann. Samples x[j] outside the n given ones are 0. There are
 * ceil(n to / from) samples y[m]. */
typedef struct mica__resampler mica__resampler;
mica_status mica__resampler_create(int32_t from, int32_t to, mica__resampler **resampler);
void mica__resampler_destroy(mica__resampler *resampler);
/* How many samples n samples at the rate `from` become at the rate `to`. */
int64_t mica__resampled(int64_t n, int32_t from, int32_t to);
/* Takes `count` samples and writes at most `most` resampled ones, whose number *made receives. Samples that later ones
 * still need are kept for the next call. With `last`, zeros follow the samples. Fails only with MICA_E_NOMEM. */
mica_status mica__resampler_push(mica__resampler *resampler, const float *samples, int64_t count, bool last, float *out,
                                 int64_t most, int64_t *made);
/* Passes count samples to `take`: all at once if the rates are equal, else resampled in pieces. *resampler: made in
 * the first call if needed; the caller destroys it. last: these are the last samples. */
mica_status mica__sound_resample(mica__resampler **resampler, int32_t from, int32_t to, const float *samples,
                                 int64_t count, bool last,
                                 mica_status (*take)(void *user, const float *samples, int64_t count), void *user);
/* Checks that the samples are finite; otherwise MICA_E_FORMAT. `before` is the number of samples before these, for the
 * message. */
mica_status mica__sound_check(const float *samples, int64_t count, int64_t before);

#endif
