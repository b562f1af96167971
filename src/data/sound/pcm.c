/* Sound from a pipe: raw samples, or a WAV stream. */
#include "base/error.h"
#include "data/sound/sound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of a header before the samples. */
#define MOST_HEADER (1 << 20)
#define MOST_CHANNELS 64
/* Programs that write into a pipe do not know the length, and state one of this size or larger. */
#define UNKNOWN_LENGTH 0x7ffff000u
#define FORMAT_INTEGER 1
#define FORMAT_FLOAT 3
#define FORMAT_EXTENSIBLE 0xfffe

struct mica_pcm {
  int32_t rate, channels, bits;
  bool begun, floats;  /* the header has been read; samples are floating numbers */
  uint64_t left;       /* how many bytes of samples; UINT64_MAX: up to the end */
  unsigned char *kept; /* bytes of a header or frame that is not complete yet */
  size_t kept_count, room;
  float *samples;
  size_t sample_room;
  int64_t taken; /* frames */
};

static uint32_t little_endian(const unsigned char *b, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint32_t)b[i] << (8 * i);
  return value;
}

mica_status mica_pcm_create(int32_t rate, int32_t channels, mica_pcm **pcm) {
  if (!pcm || rate < 1 || rate > MICA__SOUND_RATE || channels < 1 || channels > MOST_CHANNELS)
    return mica__fail(
        MICA_E_INVALID,
        "mica_pcm_create: pcm is NULL, or channels (%d) or rate (%d) is out of range; 1 to %d channels of "
        "1 to %d samples a second can be read",
        (int)channels, (int)rate, MOST_CHANNELS, MICA__SOUND_RATE);
  mica_pcm *p = calloc(1, sizeof *p);
  if (!p) return mica__fail_nomem("a stream of sound");
  *p = (mica_pcm){.rate = rate, .channels = channels, .bits = 16, .left = UINT64_MAX};
  *pcm = p;
  return MICA_OK;
}

void mica_pcm_destroy(mica_pcm *p) {
  if (!p) return;
  free(p->kept);
  free(p->samples);
  free(p);
}

int32_t mica_pcm_rate(const mica_pcm *p) { return p->begun ? p->rate : 0; }

/* --- the header --- */

static mica_status read_format(mica_pcm *p, const unsigned char *chunk, uint32_t size) {
  uint32_t format = size >= 16 ? little_endian(chunk, 2) : 0;
  if (format == FORMAT_EXTENSIBLE && size >= 26) format = little_endian(chunk + 24, 2);
  const uint32_t channels = size >= 16 ? little_endian(chunk + 2, 2) : 0,
                 bits = size >= 16 ? little_endian(chunk + 14, 2) : 0;
  const uint32_t rate = size >= 16 ? little_endian(chunk + 4, 4) : 0;
  const bool integers = format == FORMAT_INTEGER && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
  if (!integers && !(format == FORMAT_FLOAT && (bits == 32 || bits == 64)))
    return mica__fail(
        MICA_E_FORMAT,
        "the stream is WAV of the unsupported format %u with %u bits; convert it to integers of 8, 16, 24 or "
        "32 bits, or to floats of 32 or 64",
        (unsigned)format, (unsigned)bits);
  if (rate < 1 || rate > MICA__SOUND_RATE || channels < 1 || channels > MOST_CHANNELS)
    return mica__fail(MICA_E_FORMAT,
                      "the stream has %u channels of %u samples a second, but 1 to %d channels of 1 to %d can be read",
                      (unsigned)channels, (unsigned)rate, MOST_CHANNELS, MICA__SOUND_RATE);
  p->rate = (int32_t)rate;
  p->channels = (int32_t)channels;
  p->bits = (int32_t)bits;
  p->floats = !integers;
  return MICA_OK;
}

/* Reads a header as far as it is there; *used is its size once it is complete, else 0. */
static mica_status read_header(mica_pcm *p, size_t *used) {
  const unsigned char *b = p->kept;
  bool known = false;
  *used = 0;
  if (p->kept_count < 12) return MICA_OK;
  if (memcmp(b + 8, "WAVE", 4) != 0) return mica__fail(MICA_E_FORMAT, "the stream begins as RIFF but is not WAVE");
  for (size_t at = 12; p->kept_count - at >= 8;) {
    const uint32_t size = little_endian(b + at + 4, 4);
    if (!memcmp(b + at, "data", 4)) {
      if (!known) return mica__fail(MICA_E_FORMAT, "the stream is WAV without a format before its samples");
      p->left = size == 0 || size >= UNKNOWN_LENGTH ? UINT64_MAX : size;
      *used = at + 8;
      return MICA_OK;
    }
    const uint64_t whole = 8 + (uint64_t)size + (size & 1);
    if (at + whole > MOST_HEADER) return mica__fail(MICA_E_FORMAT, "the stream's WAV header is longer than 1 MiB");
    if (p->kept_count - at < whole) return MICA_OK;
    if (!memcmp(b + at, "fmt ", 4)) {
      MICA_TRY(read_format(p, b + at + 8, size));
      known = true;
    }
    at += (size_t)whole;
  }
  return MICA_OK;
}

/* --- samples --- */

static double sample_of(const mica_pcm *p, const unsigned char *b) {
  const int bytes = p->bits / 8;
  if (p->floats && bytes == 4) {
    float value;
    const uint32_t word = little_endian(b, 4);
    memcpy(&value, &word, sizeof value);
    return (double)value;
  }
  if (p->floats) {
    double value;
    const uint64_t word = little_endian(b, 4) | (uint64_t)little_endian(b + 4, 4) << 32;
    memcpy(&value, &word, sizeof value);
    return value;
  }
  if (bytes == 1) return (b[0] - 128) / 128.0;
  const int32_t value = (int32_t)(little_endian(b, bytes) << (32 - p->bits));
  return (double)value * 0x1p-31;
}

static mica_status convert(mica_pcm *p, size_t frames) {
  const size_t bytes = (size_t)(p->bits / 8), each = bytes * (size_t)p->channels;
  if (frames > p->sample_room) {
    float *more = realloc(p->samples, frames * sizeof *more);
    if (!more) return mica__fail_nomem("a stream of sound");
    p->samples = more;
    p->sample_room = frames;
  }
  for (size_t i = 0; i < frames; i++) {
    float sum = 0;
    for (int32_t c = 0; c < p->channels; c++) sum += (float)sample_of(p, p->kept + i * each + (size_t)c * bytes);
    p->samples[i] = p->channels > 1 ? sum / (float)p->channels : sum;
    if (!isfinite(p->samples[i]))
      return mica__fail(MICA_E_FORMAT, "sample %lld is not a finite number", (long long)(p->taken + (int64_t)i));
  }
  p->taken += (int64_t)frames;
  return MICA_OK;
}

static mica_status keep(mica_pcm *p, const void *bytes, size_t size) {
  if (size > p->left && p->begun) size = (size_t)p->left;
  if (p->kept_count + size > p->room) {
    unsigned char *more = realloc(p->kept, p->kept_count + size);
    if (!more) return mica__fail_nomem("a stream of sound");
    p->kept = more;
    p->room = p->kept_count + size;
  }
  if (size) memcpy(p->kept + p->kept_count, bytes, size);
  p->kept_count += size;
  if (p->begun && p->left != UINT64_MAX) p->left -= size;
  return MICA_OK;
}

static void drop(mica_pcm *p, size_t size) {
  p->kept_count -= size;
  memmove(p->kept, p->kept + size, p->kept_count);
}

/* Refuses a stream that begins like another kind of file, which would sound like noise as raw samples. MP3 without a
 * tag cannot be detected: its first two bytes look like quiet samples. */
static mica_status refuse_others(const mica_pcm *p) {
  static const char *const kinds[][2] = {{"fLaC", "FLAC"},         {"OggS", "OGG"},  {"ID3", "MP3"},
                                         {"\x89PNG", "a picture"}, {"FORM", "AIFF"}, {"caff", "CAF"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (p->kept_count >= 4 && !memcmp(p->kept, kinds[i][0], strlen(kinds[i][0])))
      return mica__fail(MICA_E_FORMAT,
                        "the stream is %s; a stream must be WAV or raw samples; save other formats as a file",
                        kinds[i][1]);
  return MICA_OK;
}

/* Finds out what the stream is from its first bytes. */
static mica_status begin(mica_pcm *p, bool last) {
  size_t used = 0;
  const bool wave = p->kept_count >= 4 && !memcmp(p->kept, "RIFF", 4);
  if (p->kept_count < 4 && !last) return MICA_OK;
  MICA_TRY(refuse_others(p));
  if (wave) MICA_TRY(read_header(p, &used));
  if (wave && !used && last) return mica__fail(MICA_E_FORMAT, "the stream ends in its WAV header");
  if (wave && !used) return MICA_OK;
  if (used) drop(p, used);
  p->begun = true;
  if (p->left == UINT64_MAX) return MICA_OK;
  if (p->kept_count > p->left) p->kept_count = (size_t)p->left;
  p->left -= p->kept_count;
  return MICA_OK;
}

mica_status mica_pcm_push(mica_pcm *p, const void *bytes, size_t size, bool last, const float **samples,
                          int64_t *count) {
  if (!p || (size && !bytes) || !samples || !count)
    return mica__fail(MICA_E_INVALID,
                      "mica_pcm_push: pcm, samples or count is NULL, or bytes is NULL with a size above 0");
  *count = 0;
  MICA_TRY(keep(p, bytes, size));
  if (!p->begun) MICA_TRY(begin(p, last));
  const size_t each = (size_t)(p->bits / 8 * p->channels), frames = p->begun ? p->kept_count / each : 0;
  MICA_TRY(convert(p, frames));
  if (frames) drop(p, frames * each);
  *samples = p->samples;
  *count = (int64_t)frames;
  if (!last || (!p->kept_count && (p->left == UINT64_MAX || !p->left))) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the stream is truncated after %lld frames", (long long)p->taken);
}
