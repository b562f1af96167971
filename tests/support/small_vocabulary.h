/* tests/support/small_vocabulary.h: keys of small GGUF vocabularies, to be written and opened. */
#ifndef MICA_TESTS_SUPPORT_SMALL_VOCABULARY_H
#define MICA_TESTS_SUPPORT_SMALL_VOCABULARY_H

#include "base/text.h"

#include <mica/gguf.h>

typedef enum small_vocabulary {
  SMALL_BYTE_LEVEL,
  SMALL_LLAMA,
  SMALL_GEMMA,
  SMALL_UNIGRAM,
  SMALL_WORDPIECE,
  SMALL_VOCABULARIES
} small_vocabulary;

/* Keys of one of them, the caller's to change; all that they point to stays. *count is at most 12. */
void small_vocabulary_keys(small_vocabulary which, mica_gguf_value keys[12], size_t *count);
/* The bytes of a GGUF file with these keys, to be freed with mica__text_free. False: it could not be written. */
bool small_vocabulary_write(const mica_gguf_value *keys, size_t count, mica__text *file);

/* A charsmap of SentencePiece in base64, and its bytes. Its rules: U+FB01 "fi", A U+030A U+00C5, U+2460 "1",
 * U+3000 " ", A "a", U+200B "", e U+0301 U+00E9. */
extern const char small_charsmap_base64[];
void small_charsmap(mica__text *bytes);

#endif
