/* base/utf8.h: text of others, checked before it is taken for text. */
#ifndef MICA_BASE_UTF8_H
#define MICA_BASE_UTF8_H

#include "base/shared.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the number of bytes, from the first one on, that are UTF-8 (RFC 3629: nothing overlong, no surrogates,
 * nothing past U+10FFFF, no character that is cut short): all `bytes` of a text that is valid. */
MICA__SHARED size_t mica__utf8_prefix(const char *text, size_t bytes);
/* The bytes of the character that such text begins with; 0: it begins with none. */
MICA__SHARED size_t mica__utf8_first(const char *text, size_t bytes);
/* Writes the bytes of a character, 4 at most, and returns how many they are. */
MICA__SHARED size_t mica__utf8_encode(uint32_t character, char bytes[4]);

/* The character at the beginning of valid UTF-8 that is not empty, and its bytes. */
static inline uint32_t mica__utf8_at(const char *text, size_t *bytes) {
  const unsigned char *s = (const unsigned char *)text;
  if (s[0] < 0x80) return *bytes = 1, s[0];
  if (s[0] < 0xe0) return *bytes = 2, (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3fu);
  if (s[0] < 0xf0) return *bytes = 3, (uint32_t)(s[0] & 0xf) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3fu);
  *bytes = 4;
  return (uint32_t)(s[0] & 7) << 18 | (uint32_t)(s[1] & 0x3f) << 12 | (uint32_t)(s[2] & 0x3f) << 6 | (s[3] & 0x3fu);
}

/* Appends a text whose bytes may be anything: one that belongs to no character is U+FFFD. */
MICA__SHARED void mica__utf8_add_any(mica__text *out, const char *text, size_t bytes);

#endif
