/* Recordings through libsndfile, with any rate and any number of channels, which are averaged. */
#include "data/sound/sound.h"

#include "base/error.h"
#include "base/text.h"
#include "data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef MICA_WITH_SNDFILE
#include <sndfile.h>
#endif

/* How many frames are read at once. */
#define CHUNK 4096
#define MOST_CHANNELS 64

bool mica__sound_is_named(const char *name) {
  static const char *const endings[] = {".wav", ".flac", ".ogg", ".WAV", ".FLAC", ".OGG"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (mica__name_ends(name, endings[i])) return true;
  return false;
}

#ifdef MICA_WITH_SNDFILE

/* How many chunks of a RIFF file are inspected before its samples. */
#define MOST_CHUNKS 1000
/* Programs that write into a pipe do not know the length; they state one of this size or larger. */
#define UNKNOWN_LENGTH 0x7ffff000u

static uint32_t little_endian(const unsigned char *b) {
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Compares the size of a WAV file's data chunk with the file, since libsndfile silently shortens it if the file ends
 * early. Other formats, and RIFF files without that chunk, are left to libsndfile. */
static mica_status check_whole(const char *path, int handle, int64_t size) {
  unsigned char head[12];
  if (pread(handle, head, 12, 0) != 12 || memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WAVE", 4) != 0)
    return MICA_OK;
  int64_t at = 12;
  for (int i = 0; i < MOST_CHUNKS && pread(handle, head, 8, (off_t)at) == 8; i++) {
    const uint32_t bytes = little_endian(head + 4);
    at += 8;
    if (memcmp(head, "data", 4) != 0) {
      at += (int64_t)bytes + (bytes & 1);
      continue;
    }
    if (bytes >= UNKNOWN_LENGTH || at + (int64_t)bytes <= size) return MICA_OK;
    return mica__fail(MICA_E_FORMAT, "%s is truncated: its header states %u bytes of samples, but it holds only %lld",
                      path, (unsigned)bytes, (long long)(size - at));
  }
  return MICA_OK;
}

/* Opens a file, but only an ordinary one: a pipe has no length, and opening it would wait for a writer. */
static mica_status open_file(const char *path, SNDFILE **file, SF_INFO *info) {
  struct stat about;
  const int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (handle < 0)
    return mica__fail(errno == ENOENT ? MICA_E_NOT_FOUND : MICA_E_IO, "cannot read %s: %s", path, strerror(errno));
  if (fstat(handle, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(handle);
    return mica__fail(MICA_E_FORMAT, "%s is not a regular file", path);
  }
  mica_status status = check_whole(path, handle, (int64_t)about.st_size);
  if (status != MICA_OK) {
    close(handle);
    return status;
  }
  *info = (SF_INFO){0};
  *file = sf_open_fd(handle, SFM_READ, info, SF_TRUE);
  if (!*file)
    return mica__fail(MICA_E_FORMAT, "%s is not a sound file that libsndfile reads: %s", path, sf_strerror(NULL));
  return MICA_OK;
}

static mica_status check_form(const char *path, const SF_INFO *info) {
  if (info->samplerate < 1 || info->samplerate > MICA__SOUND_RATE || info->channels < 1 ||
      info->channels > MOST_CHANNELS)
    return mica__fail(MICA_E_FORMAT,
                      "%s has %d channels of %d samples a second, but 1 to %d channels of 1 to %d can be read", path,
                      info->channels, info->samplerate, MOST_CHANNELS, MICA__SOUND_RATE);
  if (info->frames < 1) return mica__fail(MICA_E_FORMAT, "%s holds no samples", path);
  return MICA_OK;
}

static mica_status check(const char *path, const SF_INFO *info) {
  MICA_TRY(check_form(path, info));
  if (info->frames / info->samplerate >= MICA__SOUND_SECONDS)
    return mica__fail(MICA_E_FORMAT, "%s lasts %lld s, but must last less than %d s: cut it into parts", path,
                      (long long)(info->frames / info->samplerate), MICA__SOUND_SECONDS);
  return MICA_OK;
}

mica_status mica__sound_examine(const char *path, int32_t rate, mica__sound *sound) {
  SNDFILE *file = NULL;
  SF_INFO info;
  MICA_TRY(open_file(path, &file, &info));
  sf_close(file);
  MICA_TRY(check(path, &info));
  *sound = (mica__sound){.rate = info.samplerate, .channels = info.channels, .frames = info.frames};
  sound->length = rate > 0 ? mica__resampled(info.frames, info.samplerate, rate) : info.frames;
  return MICA_OK;
}

/* --- streams --- */

struct mica_sound_stream {
  char *path;
  SNDFILE *file;
  SF_INFO info;
  mica__resampler *resampler; /* NULL: the file's rate */
  float *room;                /* memory for CHUNK frames */
  int64_t taken;              /* how many frames of the file have been read */
};

mica_status mica_sound_stream_open(const char *path, int32_t rate, mica_sound_stream **stream) {
  if (!path || !stream || rate < 0 || rate > MICA__SOUND_RATE)
    return mica__fail(MICA_E_INVALID, "mica_sound_stream_open: path or stream is NULL, or the rate (%d) is not 0 to %d",
                      (int)rate, MICA__SOUND_RATE);
  mica_sound_stream *s = calloc(1, sizeof *s);
  mica_status status = s && (s->path = mica__strdup(path)) ? MICA_OK : mica__fail_nomem(path);
  if (status == MICA_OK) status = open_file(path, &s->file, &s->info);
  if (status == MICA_OK) status = check_form(path, &s->info);
  if (status == MICA_OK && rate > 0 && rate != s->info.samplerate)
    status = mica__resampler_create(s->info.samplerate, rate, &s->resampler);
  if (status == MICA_OK && !(s->room = malloc((size_t)(CHUNK * s->info.channels) * sizeof *s->room)))
    status = mica__fail_nomem(path);
  if (status == MICA_OK)
    *stream = s;
  else
    mica_sound_stream_close(s);
  return status;
}

void mica_sound_stream_close(mica_sound_stream *s) {
  if (!s) return;
  mica__resampler_destroy(s->resampler);
  if (s->file) sf_close(s->file);
  free(s->room);
  free(s->path);
  free(s);
}

int32_t mica_sound_stream_rate(const mica_sound_stream *s) { return s->info.samplerate; }

/* Averages channels in place. Refuses NaN and infinities, which files of floats may contain and which would reach every
 * weight. */
static mica_status mix(const mica_sound_stream *s, int64_t count) {
  const int channels = s->info.channels;
  for (int64_t i = 0; i < count; i++) {
    float sum = 0;
    for (int c = 0; c < channels; c++) sum += s->room[i * channels + c];
    if (!isfinite(sum))
      return mica__fail(MICA_E_FORMAT, "%s: sample %lld is not a finite number", s->path, (long long)(s->taken + i));
    s->room[i] = channels > 1 ? sum / (float)channels : sum;
  }
  return MICA_OK;
}

/* Reads up to `most` frames of the file, at most CHUNK, into s->room. */
static mica_status fetch(mica_sound_stream *s, int64_t most, int64_t *got) {
  *got = sf_readf_float(s->file, s->room, most < CHUNK ? most : CHUNK);
  if (*got < 0) *got = 0;
  MICA_TRY(mix(s, *got));
  s->taken += *got;
  if (*got || s->taken >= s->info.frames) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s ends after %lld of %lld frames", s->path, (long long)s->taken,
                    (long long)s->info.frames);
}

mica_status mica_sound_stream_next(mica_sound_stream *s, float *samples, int64_t most, int64_t *count) {
  int64_t got = 0, made = 0;
  if (!s || !samples || !count || most < 1)
    return mica__fail(MICA_E_INVALID,
                      "mica_sound_stream_next: stream, samples or count is NULL, or most (%lld) is below 1",
                      (long long)most);
  for (*count = 0; *count < most; *count += made) {
    const int64_t left = most - *count;
    /* Samples that the resampler still holds come before more of the file. */
    if (s->resampler)
      MICA_TRY(mica__resampler_push(s->resampler, NULL, 0, s->taken >= s->info.frames, samples + *count, left, &made));
    if (s->resampler && made) continue;
    if (s->taken >= s->info.frames) return MICA_OK;
    MICA_TRY(fetch(s, s->resampler ? CHUNK : left, &got));
    if (!s->resampler) memcpy(samples + *count, s->room, (size_t)got * sizeof *samples);
    made = got;
    if (s->resampler)
      MICA_TRY(
          mica__resampler_push(s->resampler, s->room, got, s->taken >= s->info.frames, samples + *count, left, &made));
  }
  return MICA_OK;
}

mica_status mica__sound_read(const char *path, int32_t rate, float *samples, int64_t length) {
  mica_sound_stream *stream = NULL;
  int64_t count = 0;
  MICA_TRY(mica_sound_stream_open(path, rate, &stream));
  mica_status status = check(path, &stream->info);
  if (status == MICA_OK) status = mica_sound_stream_next(stream, samples, length, &count);
  if (status == MICA_OK && count < length)
    status = mica__fail(MICA_E_FORMAT, "%s has become shorter: it has %lld samples, but had %lld", path,
                        (long long)count, (long long)length);
  mica_sound_stream_close(stream);
  return status;
}

#else

mica_status mica__sound_examine(const char *path, int32_t rate, mica__sound *sound) {
  (void)rate, (void)sound;
  return mica__fail_lacks(path, "libsndfile");
}
mica_status mica__sound_read(const char *path, int32_t rate, float *samples, int64_t length) {
  (void)samples, (void)length;
  return mica__sound_examine(path, rate, NULL);
}
mica_status mica_sound_stream_open(const char *path, int32_t rate, mica_sound_stream **stream) {
  (void)stream;
  return mica__sound_examine(path ? path : "", rate, NULL);
}
/* Without libsndfile, no stream can be opened, so the functions below are never called with one. */
mica_status mica_sound_stream_next(mica_sound_stream *stream, float *samples, int64_t most, int64_t *count) {
  (void)stream, (void)samples, (void)most, (void)count;
  return mica__sound_examine("", 0, NULL);
}
int32_t mica_sound_stream_rate(const mica_sound_stream *stream) {
  (void)stream;
  return 0;
}
void mica_sound_stream_close(mica_sound_stream *stream) { (void)stream; }

#endif

mica_status mica_sound_read(const char *path, int32_t rate, float **samples, int64_t *count, int32_t *found) {
  mica__sound sound = {0};
  if (!path || !samples || !count || rate < 0 || rate > MICA__SOUND_RATE)
    return mica__fail(MICA_E_INVALID,
                      "mica_sound_read: path, samples or count is NULL, or the rate (%d) is not 0 to %d", (int)rate,
                      MICA__SOUND_RATE);
  MICA_TRY(mica__sound_examine(path, rate, &sound));
  float *room = malloc((size_t)sound.length * sizeof *room);
  if (!room) return mica__fail_nomem(path);
  mica_status status = mica__sound_read(path, rate, room, sound.length);
  if (status != MICA_OK) {
    free(room);
    return status;
  }
  *samples = room;
  *count = sound.length;
  if (found) *found = rate > 0 ? rate : sound.rate;
  return MICA_OK;
}
