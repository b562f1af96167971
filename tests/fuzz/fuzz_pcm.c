/* Sound that comes as bytes: headers of WAV streams. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <mica/data.h>
#include <stdlib.h>
#include <string.h>

/* The first byte says in what pieces the others come. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_pcm *pcm = NULL;
  const size_t piece = size ? 1 + data[0] : 1;
  if (mica_pcm_create(8000, 1, &pcm) != MICA_OK) abort();
  for (size_t at = size ? 1 : 0; at <= size; at += piece) {
    const float *samples = NULL;
    int64_t count = 0;
    const size_t left = size - at, n = left < piece ? left : piece;
    if (mica_pcm_push(pcm, data ? data + at : NULL, n, n < piece, &samples, &count) != MICA_OK) break;
    if (count < 0 || (uint64_t)count > size) abort();
    for (int64_t i = 0; i < count; i++)
      if (!isfinite(samples[i])) abort();
    if (mica_pcm_rate(pcm) < 0 || mica_pcm_rate(pcm) > 768000) abort();
  }
  mica_pcm_destroy(pcm);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char wave[] = "\x1fRIFF\x34\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0\x40\x1f\0\0\0\x7d\0\0\4\0\x10\0"
                             "data\x08\0\0\0\1\2\3\4\5\6\7\x08";
  static const char floats[] =
      "\7RIFF\xff\xff\xff\xffWAVELIST\3\0\0\0abc\0fmt \x10\0\0\0\3\0\1\0\x80\xbb\0\0\0\0\0\0\4\0\x20\0"
      "data\xff\xff\xff\xff\0\0\x80\x3f\0\0\0\0";
  static const char raw[] = "\2\1\2\3\4\5\6\7";
  static const struct {
    const char *bytes;
    size_t size;
  } seeds[] = {{wave, sizeof wave - 1}, {floats, sizeof floats - 1}, {raw, sizeof raw - 1}};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add_bytes(seed, seeds[index].bytes, seeds[index].size);
  return true;
}
