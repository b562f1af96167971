/* text/words.h: split a text into words or characters. */
#ifndef MICA_TEXT_WORDS_H
#define MICA_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A word or a character: some bytes of a text that belongs to the caller. */
typedef struct mica__word {
  const char *bytes;
  size_t count;
} mica__word;

/* Splits a text into words at white space (Unicode's, and U+001C to U+001F) or, if `words` is false, into characters.
 * White space at both ends of the text is left out. An invalid byte counts as one character. *parts receives the number
 * of parts. The caller frees the result; NULL: memory is short. */
mica__word *mica__text_parts(const char *text, bool words, int64_t *parts);

#endif
