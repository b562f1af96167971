/* The reader of npy files. Whatever is accepted lies inside the file. */
#include "fuzz/array.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_array(mica__npy_parse, data, size); }

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const headers[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (24,), }\n",
      "{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n",
  };
  static const char elements[24];
  if (index >= sizeof headers / sizeof *headers) return false;
  size_t n = strlen(headers[index]);
  const char prefix[12] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y', index == 1 ? 2 : 1, 0, (char)n, 0, 0, 0};
  mica__text_add_bytes(seed, prefix, index == 1 ? 12 : 10);
  mica__text_add_bytes(seed, headers[index], n);
  mica__text_add_bytes(seed, elements, index == 2 ? 8 : 24);
  return true;
}
