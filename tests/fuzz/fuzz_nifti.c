/* The reader of NIfTI headers. What is accepted has a size, elements of a known type, and can be written again. */
#include "base/byte_order.h"
#include "data/volume/nifti.h"
#include "fuzz/fuzz.h"

#include <mica/api.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__nifti n, again;
  if (mica__nifti_parse("fuzz", data, size, &n) != MICA_OK) return 0;
  const int64_t voxels = mica__nifti_voxels(&n);
  if (voxels < 1 || voxels > MICA__NIFTI_VOXELS || n.channels < 1 || n.channels > MICA__NIFTI_CHANNELS) abort();
  if (mica__nifti_bytes(&n) <= n.offset) abort();
  if (mica__nifti_bytes(&n) <= size) {
    const size_t count = (size_t)(voxels * n.channels), bytes = count * mica_dtype_size(n.dtype);
    float *values = malloc(count * sizeof *values);
    uint8_t *stored = malloc(bytes);
    if (!values || !stored) abort();
    memcpy(stored, data + n.offset, bytes);
    mica__nifti_values(&n, stored, count, values);
    free(values);
    free(stored);
  }
  if (voxels > 4096) return 0;
  uint8_t *mask = calloc(1, (size_t)voxels), *written = NULL;
  size_t written_size = 0;
  if (!mask || mica__nifti_encode(&n, mask, false, &written, &written_size) != MICA_OK) abort();
  if (mica__nifti_parse("again", written, written_size, &again) != MICA_OK) abort();
  if (memcmp(again.sides, n.sides, sizeof n.sides) != 0 || mica__nifti_bytes(&again) != written_size) abort();
  free(mask);
  free(written);
  return 0;
}

typedef struct seed {
  bool second, big_endian;
  int64_t code, bits, sides[4];
} seed;

static void put(uint8_t *at, bool big_endian, int64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[big_endian ? bytes - 1 - i : i] = (uint8_t)((uint64_t)value >> (8 * i));
}

bool fuzz_seed(size_t index, mica__text *text) {
  static const seed seeds[] = {{false, false, 4, 16, {3, 2, 2, 1}},   {false, true, 16, 32, {2, 3, 1, 2}},
                               {true, false, 2, 8, {4, 2, 2, 1}},     {true, true, 64, 64, {2, 2, 2, 1}},
                               {false, false, 512, 16, {5, 1, 1, 1}}, {false, true, 1280, 64, {1, 1, 3, 1}}};
  uint8_t file[MICA__NIFTI_HEADER + 256] = {0};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  const seed *s = &seeds[index];
  const size_t begin = s->second ? 544 : 352;
  put(file, s->big_endian, s->second ? 540 : 348, 4);
  memcpy(file + (s->second ? 4 : 344), s->second ? "n+2" : "n+1", 4);
  put(file + (s->second ? 12 : 70), s->big_endian, s->code, 2);
  put(file + (s->second ? 14 : 72), s->big_endian, s->bits, 2);
  int64_t elements = 1;
  for (int k = 0; k < 8; k++) {
    const int64_t side = k == 0 ? 4 : k <= 4 ? s->sides[k - 1] : 1;
    put(file + (s->second ? 16 + 8 * k : 40 + 2 * k), s->big_endian, side, s->second ? 8 : 2);
    if (k > 0) elements *= side;
  }
  mica__text_add_bytes(text, (const char *)file, begin + (size_t)(elements * s->bits / 8));
  return true;
}
