/* The reader of safetensors files. Whatever is accepted lies inside the file. */
#include "fuzz/fuzz.h"

#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_safetensors *file = NULL;
  if (mica_safetensors_open_memory("fuzz", data, size, &file) != MICA_OK) return 0;
  size_t sum = 0;
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *entry = mica_safetensors_at(file, i);
    for (size_t b = 0; b < entry->bytes; b++) sum += ((const uint8_t *)entry->data)[b];
    if (mica_safetensors_find(file, entry->name) != entry) abort();
    sum++;
  }
  for (size_t i = 0; i < mica_safetensors_metadata_count(file); i++)
    sum += strlen(mica_safetensors_metadata_at(file, i).value);
  /* No byte was seen twice. */
  if (sum > 256 * size) abort();
  mica_safetensors_close(file);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const float numbers[12] = {1, 2, 3};
  static const mica_safetensors_entry entries[] = {
      {.name = "weight", .dtype = MICA_F32, .shape = {2, {3, 4}}, .data = numbers, .bytes = 48},
      {.name = "bias", .dtype = MICA_BF16, .shape = {1, {3}}, .data = numbers, .bytes = 6},
      {.name = "step", .dtype = MICA_I64, .data = numbers, .bytes = 8},
  };
  static const mica_safetensors_pair metadata[] = {{"format", "pt"}};
  char path[] = "/tmp/mica-fuzz-XXXXXX", piece[4096];
  if (index >= 4) return false;
  int handle = mkstemp(path);
  if (handle < 0) return false;
  bool written = mica_safetensors_write(path, entries, index, metadata, index > 0) == MICA_OK;
  close(handle);
#if !MICA_WITH_CJSON /* neither written nor read: every input is refused */
  mica__text_add_bytes(seed, "\x02\0\0\0\0\0\0\0{}", 10);
  unlink(path);
  return index == 0;
#endif
  FILE *file = written ? fopen(path, "rb") : NULL;
  for (size_t n; file && (n = fread(piece, 1, sizeof piece, file)) > 0;) mica__text_add_bytes(seed, piece, n);
  if (file) fclose(file);
  unlink(path);
  return file != NULL;
}
