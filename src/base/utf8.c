#include "base/utf8.h"

/* The bytes of the character that begins with `first`; 0 where none does. */
static size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0; /* the middle of a character, or an overlong one */
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

size_t mica__utf8_prefix(const char *text, size_t bytes) {
  const unsigned char *s = (const unsigned char *)text;
  size_t at = 0;
  while (at < bytes) {
    const size_t length = length_of(s[at]);
    if (length == 0 || length > bytes - at) break;
    size_t tail = 1;
    while (tail < length && (s[at + tail] & 0xc0) == 0x80) tail++;
    const unsigned first = s[at], second = length > 1 ? s[at + 1] : 0;
    if (tail < length || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
      break;
    at += length;
  }
  return at;
}
