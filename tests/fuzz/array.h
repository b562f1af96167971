/* tests/fuzz/array.h: what the fuzzers of readers of arrays share. */
#ifndef MICA_TESTS_FUZZ_ARRAY_H
#define MICA_TESTS_FUZZ_ARRAY_H

#include "data/dataset.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

typedef mica_status fuzz_array_parse(const char *name, uint8_t *content, size_t size, mica__array *array);

/* Parses a copy of the input that ends in a zero, as files are read; aborts where what is accepted does not lie inside
 * of it. */
static inline int fuzz_array(fuzz_array_parse *parse, const uint8_t *data, size_t size) {
  mica__array array;
  uint8_t *content = malloc(size + 1);
  if (!content) return 0;
  memcpy(content, data, size);
  content[size] = '\0';
  if (parse("fuzz", content, size, &array) == MICA_OK) {
    int64_t count = 0;
    if (mica_shape_count(array.shape, &count) != MICA_OK) abort();
    size_t bytes = (size_t)count * mica_dtype_size(array.dtype);
    if (array.elements < content || bytes > size || (size_t)(array.elements - content) > size - bytes) abort();
  }
  free(content);
  return 0;
}

#endif
