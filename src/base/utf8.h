/* base/utf8.h: validates and decodes UTF-8. */
#ifndef MICA_BASE_UTF8_H
#define MICA_BASE_UTF8_H

#include "base/shared.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* Returns how many bytes at the start are valid UTF-8 (RFC 3629: nothing overlong, no surrogates, nothing past
 * U+10FFFF, no truncated character); `bytes` if all are. */
MICA__SHARED size_t mica__utf8_prefix(const char *text, size_t bytes);
/* The length of the first character; 0 if the text does not begin with one. */
MICA__SHARED size_t mica__utf8_first(const char *text, size_t bytes);
/* Encodes a character, at most 4 bytes, and returns its length. */
MICA__SHARED size_t mica__utf8_encode(uint32_t character, char bytes[4]);

/* Decodes the first character of valid, non-empty UTF-8; *bytes is its length. */
static inline uint32_t mica__utf8_at(const char *text, size_t *bytes) {
  const unsigned char *s = (const unsigned char *)text;
  if (s[0] < 0x80) return *bytes = 1, s[0];
  if (s[0] < 0xe0) return *bytes = 2, (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3fu);
  if (s[0] < 0xf0) return *bytes = 3, (uint32_t)(s[0] & 0xf) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3fu);
  *bytes = 4;
  return (uint32_t)(s[0] & 7) << 18 | (uint32_t)(s[1] & 0x3f) << 12 | (uint32_t)(s[2] & 0x3f) << 6 | (s[3] & 0x3fu);
}

/* Appends a text of any bytes; each invalid byte becomes U+FFFD. */
MICA__SHARED void mica__utf8_add_any(mica__text *out, const char *text, size_t bytes);

#endif
