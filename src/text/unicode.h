/* text/unicode.h: characters of valid UTF-8, and their Unicode properties (utf8proc). */
#ifndef MICA_TEXT_UNICODE_H
#define MICA_TEXT_UNICODE_H

#include "base/text.h"
#include "base/utf8.h"

#include <stdint.h>

/* Start of the last character of valid UTF-8; the text must not be empty. */
static inline size_t mica__utf8_last(const char *text, size_t bytes) {
  do bytes--;
  while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80);
  return bytes;
}
/* Appends a character. */
void mica__utf8_add(mica__text *out, uint32_t character);

/* Fails with MICA_E_UNSUPPORTED in a build without utf8proc; the message names `what`. Call this first if the functions
 * below must be right beyond ASCII: without the tables of utf8proc, only mica__is_space is. */
mica_status mica__unicode_need(const char *what);

/* True for Unicode's White_Space. Needs no tables. */
bool mica__is_space(uint32_t character);
/* True for characters of the categories P, and for ASCII's other symbols. */
bool mica__is_punctuation(uint32_t character);
/* True for characters of the categories N. */
bool mica__is_numeric(uint32_t character);
/* True for \w as in the package `tokenizers`: letters, marks, decimal and letter numbers, connectors, joiners. */
bool mica__is_word(uint32_t character);
/* True for characters of the category Mn or, with `all`, of all categories M. */
bool mica__is_mark(uint32_t character, bool all);
/* True for characters of the categories Cc, Cf and Co, as BertNormalizer defines them. */
bool mica__is_other(uint32_t character);
/* True for characters of the categories L. */
bool mica__is_letter(uint32_t character);
/* True for printable characters: not a control, format, private or unassigned character, and not a separator other than
 * the space. */
bool mica__is_printable(uint32_t character);
/* Bytes of the first grapheme of valid, non-empty UTF-8; without tables, of the first character. */
size_t mica__grapheme(const char *text, size_t bytes);
/* Appends the character in lower or upper case. Without tables, only ASCII has cases. */
void mica__add_lower(mica__text *out, uint32_t character);
void mica__add_upper(mica__text *out, uint32_t character);
typedef enum mica__form { MICA__NFC, MICA__NFD, MICA__NFKC, MICA__NFKD } mica__form;
/* Appends a normal form of a text. MICA_E_FORMAT: a run of combining marks is too long. */
mica_status mica__add_normal(mica__text *out, const char *text, size_t bytes, mica__form form);

#endif
