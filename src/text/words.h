/* text/words.h: split a text into words or characters. */
#ifndef MICA_TEXT_WORDS_H
#define MICA_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a text. */
typedef struct mica__word {
  const char *bytes;
  size_t count;
} mica__word;

/* Splits a text into words at Unicode white space, or into characters without white space at the ends. *parts receives
 * their number; the caller frees the result. An invalid byte counts as one character. NULL if memory is short. */
mica__word *mica__text_parts(const char *text, bool words, int64_t *parts);

#endif
