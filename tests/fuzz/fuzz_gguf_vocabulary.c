/* Tokenisers of GGUF files; what opens encodes a text and decodes its ids. */
#include "fuzz/fuzz.h"
#include "support/small_vocabulary.h"

#include <mica/tokenizer.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char text[] = "ab a\xc3\xa9 12 <|x|>\n  <go>b";
  mica_gguf *file = NULL;
  mica_tokenizer *tokenizer = NULL;
  mica_encoding encoding = {0};
  char *back = NULL;
  size_t bytes = 0;
  if (mica_gguf_open_memory("fuzz", data, size, &file) != MICA_OK) return 0;
  const mica_encode_config config = {.special = true};
  if (mica_tokenizer_open_gguf("fuzz", file, &tokenizer) == MICA_OK &&
      mica_tokenizer_encode(tokenizer, text, sizeof text - 1, &config, &encoding) == MICA_OK) {
    for (size_t i = 0; i < encoding.count; i++)
      if (!mica_tokenizer_token(tokenizer, encoding.ids[i])) abort();
    if (mica_tokenizer_decode(tokenizer, encoding.ids, encoding.count, true, &back, &bytes) == MICA_OK) mica_free(back);
  }
  mica_encoding_free(&encoding);
  if (tokenizer) mica_tokenizer_destroy(tokenizer);
  mica_gguf_close(file);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  mica_gguf_value keys[12];
  size_t count = 0;
  if (index >= SMALL_VOCABULARIES) return false;
  small_vocabulary_keys((small_vocabulary)index, keys, &count);
  return small_vocabulary_write(keys, count, seed);
}
