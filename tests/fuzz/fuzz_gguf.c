/* The reader of GGUF files. Whatever is accepted lies inside the file, each byte once. */
#include "fuzz/fuzz.h"

#include <mica/gguf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that a value of any depth has, all of them read; each stands in the file once. */
static size_t look(const mica_gguf_value *value, int depth) {
  volatile double sum = 0;
  size_t bytes = 0;
  if (depth > 4) abort();
  for (size_t i = 0; i < value->count; i++) {
    const mica_gguf_text text = mica_gguf_text_at(value, i);
    const mica_gguf_value *array = mica_gguf_array_at(value, i);
    sum = sum + mica_gguf_number(value, i) + (double)mica_gguf_integer(value, i);
    for (size_t b = 0; b < text.length; b++) sum = sum + text.bytes[b];
    bytes += 1 + text.length + (array ? look(array, depth + 1) : 0);
  }
  return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_gguf *file = NULL;
  if (mica_gguf_open_memory("fuzz", data, size, &file) != MICA_OK) return 0;
  size_t bytes = 0;
  volatile unsigned sum = 0;
  for (size_t i = 0; i < mica_gguf_key_count(file); i++) {
    const mica_gguf_value *value = mica_gguf_key_at(file, i);
    if (mica_gguf_find(file, value->key) != value) abort();
    bytes += look(value, value->array);
  }
  for (size_t i = 0; i < mica_gguf_tensor_count(file); i++) {
    const mica_weight_entry *entry = mica_gguf_tensor(file, i);
    if (!mica_shape_is_valid(entry->shape) || strlen(entry->name) > 64) abort();
    for (size_t b = 0; b < entry->bytes; b++) sum = sum + ((const uint8_t *)entry->data)[b];
    bytes += entry->bytes;
  }
  if (bytes > size) abort();
  mica_gguf_close(file);
  return 0;
}

static const uint8_t block[34] = {1};
static const float numbers[12] = {1, 2, 3};
static const uint32_t alignment = 64;
static const mica_gguf_text texts[] = {{"llama", 5}, {"", 0}, {"a text", 6}};
static const mica_gguf_value inner[] = {
    {.kind = MICA_GGUF_KIND_F32, .array = true, .count = 3, .data = numbers},
    {.kind = MICA_GGUF_KIND_TEXT, .array = true, .count = 2, .data = texts},
};
static const mica_gguf_value keys[] = {
    {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = texts},
    {.key = "general.alignment", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &alignment},
    {.key = "flag", .kind = MICA_GGUF_KIND_BOOL, .count = 1, .data = block},
    {.key = "tokens", .kind = MICA_GGUF_KIND_TEXT, .array = true, .count = 3, .data = texts},
    {.key = "scores", .kind = MICA_GGUF_KIND_F32, .array = true, .count = 12, .data = numbers},
    {.key = "nested", .kind = MICA_GGUF_KIND_ARRAY, .array = true, .count = 2, .data = inner},
};
static const mica_weight_entry entries[] = {
    {.name = "weight", .dtype = MICA_F32, .shape = {2, {3, 4}}, .data = numbers, .bytes = 48},
    {.name = "blocks",
     .dtype = MICA_DTYPE_COUNT,
     .block = MICA_BLOCK_Q8_0,
     .shape = {2, {1, 32}},
     .data = block,
     .bytes = 34},
    {.name = "bias", .dtype = MICA_BF16, .shape = {1, {3}}, .data = numbers, .bytes = 6},
};

bool fuzz_seed(size_t index, mica__text *seed) {
  char path[] = "/tmp/mica-fuzz-XXXXXX", piece[4096];
  if (index >= 4) return false;
  int handle = mkstemp(path);
  if (handle < 0) return false;
  bool written = mica_gguf_write(path, keys, 2 * index, entries, index) == MICA_OK;
  close(handle);
  FILE *file = written ? fopen(path, "rb") : NULL;
  for (size_t n; file && (n = fread(piece, 1, sizeof piece, file)) > 0;) mica__text_add_bytes(seed, piece, n);
  if (file) fclose(file);
  unlink(path);
  return file != NULL;
}
