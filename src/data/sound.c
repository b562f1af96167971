/* Recordings through libsndfile: any rate and any number of channels, which are averaged. */
#include "data/sound.h"

#include "base/error.h"
#include "data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef MICA_WITH_SNDFILE
#include <sndfile.h>
#endif

/* Frames that are read at once. */
#define CHUNK 4096
#define MOST_CHANNELS 64

bool mica__sound_is_named(const char *name) {
  static const char *const endings[] = {".wav", ".flac", ".ogg", ".WAV", ".FLAC", ".OGG"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (mica__name_ends(name, endings[i])) return true;
  return false;
}

#ifdef MICA_WITH_SNDFILE

/* Chunks of a RIFF file that are looked at before its samples. */
#define MOST_CHUNKS 1000
/* Writers into a pipe, which do not know the length, give one so large or larger. */
#define UNKNOWN_LENGTH 0x7ffff000u

static uint32_t little_endian(const unsigned char *b) {
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Compares the data chunk of a WAV file with the file, which libsndfile shortens in silence where the file ends
 * early. Other formats, and a RIFF file without that chunk, are left to libsndfile. */
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
    return mica__fail(MICA_E_FORMAT, "%s is truncated: its header says %u bytes of samples, and it holds %lld", path,
                      (unsigned)bytes, (long long)(size - at));
  }
  return MICA_OK;
}

/* A file must be one: a pipe has no length, and opening it would wait for a writer. */
static mica_status open_file(const char *path, SNDFILE **file, SF_INFO *info) {
  struct stat about;
  const int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (handle < 0)
    return mica__fail(errno == ENOENT ? MICA_E_NOT_FOUND : MICA_E_IO, "cannot read %s: %s", path, strerror(errno));
  if (fstat(handle, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(handle);
    return mica__fail(MICA_E_FORMAT, "%s is no file", path);
  }
  mica_status status = check_whole(path, handle, (int64_t)about.st_size);
  if (status != MICA_OK) {
    close(handle);
    return status;
  }
  *info = (SF_INFO){0};
  *file = sf_open_fd(handle, SFM_READ, info, SF_TRUE);
  if (!*file) return mica__fail(MICA_E_FORMAT, "%s is no sound that libsndfile knows: %s", path, sf_strerror(NULL));
  return MICA_OK;
}

static mica_status check(const char *path, const SF_INFO *info) {
  if (info->samplerate < 1 || info->samplerate > MICA__SOUND_RATE || info->channels < 1 ||
      info->channels > MOST_CHANNELS)
    return mica__fail(MICA_E_FORMAT, "%s has %d channels of %d samples a second; up to %d of %d are read", path,
                      info->channels, info->samplerate, MOST_CHANNELS, MICA__SOUND_RATE);
  if (info->frames < 1) return mica__fail(MICA_E_FORMAT, "%s holds no samples", path);
  if (info->frames / info->samplerate >= MICA__SOUND_SECONDS)
    return mica__fail(MICA_E_FORMAT, "%s lasts %lld s; a sample lasts less than %d s: cut it into parts", path,
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

/* Averages channels in index. */
static void mix(float *frames, int64_t count, int channels) {
  for (int64_t i = 0; channels > 1 && i < count; i++) {
    float sum = 0;
    for (int c = 0; c < channels; c++) sum += frames[i * channels + c];
    frames[i] = sum / (float)channels;
  }
}

static mica_status read_all(const char *path, SNDFILE *file, const SF_INFO *info, mica__resampler *resampler,
                            float *room, float *samples, int64_t length) {
  int64_t done = 0, taken = 0;
  while (done < length) {
    const int64_t got = sf_readf_float(file, room, CHUNK);
    int64_t made = got;
    mix(room, got, info->channels);
    taken += got > 0 ? got : 0;
    if (got <= 0 && taken < info->frames)
      return mica__fail(MICA_E_FORMAT, "%s ends after %lld of %lld frames", path, (long long)taken,
                        (long long)info->frames);
    if (resampler) {
      MICA_TRY(mica__resampler_push(resampler, room, got > 0 ? got : 0, taken >= info->frames, samples + done,
                                    length - done, &made));
    } else {
      if (made > length - done) made = length - done;
      if (made > 0) memcpy(samples + done, room, (size_t)made * sizeof *samples);
    }
    done += made;
    if (got <= 0 && made <= 0)
      return mica__fail(MICA_E_FORMAT, "%s has become shorter: %lld of %lld samples", path, (long long)done,
                        (long long)length);
  }
  return MICA_OK;
}

mica_status mica__sound_read(const char *path, int32_t rate, float *samples, int64_t length) {
  SNDFILE *file = NULL;
  SF_INFO info;
  mica__resampler *resampler = NULL;
  float *room = NULL;
  MICA_TRY(open_file(path, &file, &info));
  mica_status status = check(path, &info);
  if (status == MICA_OK && rate > 0 && rate != info.samplerate)
    status = mica__resampler_create(info.samplerate, rate, &resampler);
  if (status == MICA_OK && !(room = malloc((size_t)(CHUNK * info.channels) * sizeof *room)))
    status = mica__fail_nomem(path);
  if (status == MICA_OK) status = read_all(path, file, &info, resampler, room, samples, length);
  free(room);
  mica__resampler_destroy(resampler);
  sf_close(file);
  return status;
}

#else

mica_status mica__sound_examine(const char *path, int32_t rate, mica__sound *sound) {
  (void)rate, (void)sound;
  return mica__fail(MICA_E_UNSUPPORTED, "%s: this build of Mica reads no sounds: it lacks libsndfile", path);
}
mica_status mica__sound_read(const char *path, int32_t rate, float *samples, int64_t length) {
  (void)samples, (void)length;
  return mica__sound_examine(path, rate, NULL);
}

#endif

mica_status mica_sound_read(const char *path, int32_t rate, float **samples, int64_t *count, int32_t *found) {
  mica__sound sound = {0};
  if (!path || !samples || !count || rate < 0 || rate > MICA__SOUND_RATE)
    return mica__fail(MICA_E_INVALID, "mica_sound_read: a NULL, or a rate of %d", (int)rate);
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
