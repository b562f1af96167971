/* text/unicode.h: characters of valid UTF-8, and what Unicode's tables say of them (utf8proc). */
#ifndef MICA_TEXT_UNICODE_H
#define MICA_TEXT_UNICODE_H

#include "base/text.h"
#include "base/utf8.h"

#include <stdint.h>

/* Where the last character of valid UTF-8 begins; the text is not empty. */
static inline size_t mica__utf8_last(const char *text, size_t bytes) {
  do bytes--;
  while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80);
  return bytes;
}
/* Appends a character. */
void mica__utf8_add(mica__text *out, uint32_t character);

/* MICA_E_UNSUPPORTED, saying who needs Unicode's tables, in a build without utf8proc; the functions below that need
 * them are not called then. */
mica_status mica__unicode_need(const char *what);

/* White_Space; needs no tables. */
bool mica__is_space(uint32_t character);
/* Categories P, and ASCII's other symbols. */
bool mica__is_punctuation(uint32_t character);
/* Categories N. */
bool mica__is_numeric(uint32_t character);
/* What \w is to the package: letters, marks, decimal and letter numbers, connectors, joiners. */
bool mica__is_word(uint32_t character);
/* Category Mn; with `all`: M. */
bool mica__is_mark(uint32_t character, bool all);
/* Categories Cc, Cf and Co, as far as BertNormalizer knows them. */
bool mica__is_other(uint32_t character);
/* Categories L. */
bool mica__is_letter(uint32_t character);
/* What a font may show: neither a control, a format, a private or unassigned character, nor a separator. */
bool mica__is_printable(uint32_t character);
/* Bytes of the first grapheme of valid UTF-8 that is not empty; without tables, of the first character. */
size_t mica__grapheme(const char *text, size_t bytes);
/* Appends the character in lower, in upper case. Without tables only ASCII has cases. */
void mica__add_lower(mica__text *out, uint32_t character);
void mica__add_upper(mica__text *out, uint32_t character);
/* Appends a text's normal form. MICA_E_FORMAT for a run of combining marks that would take too long to be ordered. */
typedef enum mica__form { MICA__NFC, MICA__NFD, MICA__NFKC, MICA__NFKD } mica__form;
mica_status mica__add_normal(mica__text *out, const char *text, size_t bytes, mica__form form);

#endif
