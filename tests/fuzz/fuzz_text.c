/* The reader of plain texts. */
#include "data/dataset.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__store *store = NULL;
  uint8_t *content = malloc(size + 1);
  if (!content) return 0;
  if (size) memcpy(content, data, size);
  content[size] = '\0';
  if (mica__store_create("fuzz", &store) != MICA_OK) abort();
  if (mica__text_parse("fuzz", "text", content, size, store) == MICA_OK) {
    const mica__column *column = &store->columns[0];
    for (uint64_t i = 0; i < store->count; i++) {
      const int64_t begin = column->offsets[i], length = column->offsets[i + 1] - begin;
      if (length < 0 || (length && memchr(column->data + begin, '\n', (size_t)length))) abort();
    }
  }
  mica__store_release(store);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {"one\ntwo\r\n\n\r\nlast", "\n", "a\rb\nc\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
