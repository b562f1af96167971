/* text/tokenizer/precompiled.h: SentencePiece's rules for characters. */
#ifndef MICA_TEXT_TOKENIZER_PRECOMPILED_H
#define MICA_TEXT_TOKENIZER_PRECOMPILED_H

#include "base/text.h"

#include <stdint.h>

typedef struct mica__charsmap mica__charsmap;

/* MICA_E_FORMAT: the text is not base64, the trie is incomplete, or a unit points outside the charsmap. */
mica_status mica__charsmap_read(const uint8_t *data, size_t bytes, mica__charsmap **charsmap);
mica_status mica__charsmap_create(const char *base64, mica__charsmap **charsmap);
void mica__charsmap_free(mica__charsmap *charsmap);
/* Appends the text, which must be valid UTF-8, after applying the rules. */
void mica__charsmap_run(const mica__charsmap *charsmap, const char *text, size_t bytes, mica__text *out);

#endif
