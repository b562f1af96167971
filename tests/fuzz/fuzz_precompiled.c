/* Charsmaps of SentencePiece: what is read replaces characters by UTF-8. */
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "support/small_vocabulary.h"
#include "text/tokenizer/precompiled.h"

#include <stdlib.h>

#if MICA_WITH_CJSON

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char text[] = "A\xcc\x8a\xef\xac\x81z\xe3\x80\x80\xe2\x80\x8b e\xcc\x81\r\n\xe2\x91\xa0\xf0\x9f\x98\x80";
  mica__charsmap *map = NULL;
  mica__text out = {0};
  if (mica__charsmap_read(data, size, &map) != MICA_OK) return 0;
  mica__charsmap_run(map, text, sizeof text - 1, &out);
  if (out.length && mica__utf8_prefix(out.data, out.length) != out.length) abort();
  mica__text_free(&out);
  mica__charsmap_free(map);
  return 0;
}

#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return (void)data, (void)size, 0; }
#endif

bool fuzz_seed(size_t index, mica__text *seed) {
  if (index == 0) small_charsmap(seed);
  return index == 0;
}
