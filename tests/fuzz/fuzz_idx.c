/* The reader of idx files. Whatever is accepted lies inside the file. */
#include "data/dataset.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__array array;
  uint8_t *content = malloc(size + 1);
  if (!content) return 0;
  memcpy(content, data, size);
  content[size] = '\0';
  if (mica__idx_parse("fuzz", content, size, &array) == MICA_OK) {
    int64_t count = 0;
    if (mica_shape_count(array.shape, &count) != MICA_OK) abort();
    size_t bytes = (size_t)count * mica_dtype_size(array.dtype);
    if (array.elements < content || bytes > size || (size_t)(array.elements - content) > size - bytes) abort();
  }
  free(content);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char images[16 + 8] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8};
  static const char labels[8 + 2] = {0, 0, 8, 1, 0, 0, 0, 2, 0, 1};
  static const char wide[12 + 16] = {0, 0, 14, 2, 0, 0, 0, 2, 0, 0, 0, 1, 63};
  switch (index) {
  case 0: mica__text_add_bytes(seed, images, sizeof images); return true;
  case 1: mica__text_add_bytes(seed, labels, sizeof labels); return true;
  case 2: mica__text_add_bytes(seed, wide, sizeof wide); return true;
  default: return false;
  }
}
