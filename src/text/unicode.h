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

/* Fails with MICA_E_UNSUPPORTED in a build without utf8proc; the message names `what`. Functions that need tables must
 * not be called then. */
mica_status mica__unicode_need(const char *what);

/* White_Space; needs no tables. */
bool mica__is_space(uint32_t character);
/* Categories P, and ASCII's other symbols. */
bool mica__is_punctuation(uint32_t character);
/* Categories N. */
bool mica__is_numeric(uint32_t character);
/* \w as in the package `tokenizers`: letters, marks, decimal and letter numbers, connectors, joiners. */
bool mica__is_word(uint32_t character);
/* Category Mn; with `all`: M. */
bool mica__is_mark(uint32_t character, bool all);
/* Categories Cc, Cf and Co, as BertNormalizer defines them. */
bool mica__is_other(uint32_t character);
/* Categories L. */
bool mica__is_letter(uint32_t character);
/* Printable: not a control, format, private or unassigned character, and not a separator other than the space. */
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
