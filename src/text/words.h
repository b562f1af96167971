/* text/words.h: the words of a text, and its characters. */
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

/* The words of a text, parted by Unicode's white space, or its characters without white space at the ends; *parts of
 * them, the caller's to free. A byte that belongs to no character of UTF-8 is one of its own. NULL when memory is
 * short. */
mica__word *mica__text_parts(const char *text, bool words, int64_t *parts);

#endif
