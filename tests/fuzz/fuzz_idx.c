/* The reader of idx files. Whatever is accepted lies inside the file. */
#include "fuzz/array.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_array(mica__idx_parse, data, size); }

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
