/* Recordings as WAV files of 16 bits. */
#include "base/error.h"
#include "base/file.h"

#include <math.h>
#include <mica/data.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 44

static void put(unsigned char *at, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> 8 * i);
}

/* Writes the header of a WAV file with one channel of 16-bit integers. `bytes` is the size of the samples. */
static void fill_header(unsigned char *at, uint32_t rate, uint32_t bytes) {
  memcpy(at, "RIFF", 4);
  put(at + 4, bytes + HEADER - 8, 4);
  memcpy(at + 8, "WAVEfmt ", 8);
  put(at + 16, 16, 4);
  put(at + 20, 1, 2);
  put(at + 22, 1, 2);
  put(at + 24, rate, 4);
  put(at + 28, 2 * rate, 4);
  put(at + 32, 2, 2);
  put(at + 34, 16, 2);
  memcpy(at + 36, "data", 4);
  put(at + 40, bytes, 4);
}

mica_status mica_sound_write(const char *path, int32_t rate, const float *samples, int64_t count) {
  unsigned char header[HEADER];
  if (!path || !samples) return mica__fail(MICA_E_INVALID, "mica_sound_write: path or samples is NULL");
  if (rate < 1 || count < 0 || count > (INT32_MAX - HEADER) / 2)
    return mica__fail(MICA_E_INVALID, "%s: a WAV file has 0 to %d samples at 1 Hz or more, not %lld at %d Hz", path,
                      (INT32_MAX - HEADER) / 2, (long long)count, (int)rate);
  unsigned char *bytes = malloc(2 * (size_t)count + 1);
  if (!bytes) return mica__fail_nomem(path);
  for (int64_t i = 0; i < count; i++) {
    const double sample = fmin(fmax((double)samples[i], -1), 1);
    put(bytes + 2 * i, (uint32_t)(int32_t)nearbyint(32767 * (isnan(sample) ? 0 : sample)), 2);
  }
  fill_header(header, (uint32_t)rate, 2 * (uint32_t)count);
  const mica__bytes pieces[] = {{header, HEADER}, {bytes, 2 * (size_t)count}};
  mica_status status = mica__file_replace(path, pieces, 2);
  free(bytes);
  return status;
}
