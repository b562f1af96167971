#include "base/utf8.h"

#include <stdbool.h>

/* The length of a character by its first byte; 0 if no character begins with it. */
static size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0; /* a continuation byte, or an overlong encoding */
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

size_t mica__utf8_first(const char *text, size_t bytes) {
  const unsigned char *s = (const unsigned char *)text;
  const size_t length = bytes ? length_of(s[0]) : 0;
  if (length == 0 || length > bytes) return 0;
  size_t tail = 1;
  while (tail < length && (s[tail] & 0xc0) == 0x80) tail++;
  const unsigned first = s[0], second = length > 1 ? s[1] : 0;
  const bool wrong = tail < length || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

size_t mica__utf8_prefix(const char *text, size_t bytes) {
  size_t at = 0, length;
  while ((length = mica__utf8_first(text + at, bytes - at)) > 0) at += length;
  return at;
}

size_t mica__utf8_encode(uint32_t c, char bytes[4]) {
  static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  bytes[0] = (char)(leads[n] | c >> 6 * (n - 1));
  for (size_t i = 1; i < n; i++) bytes[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
  return n;
}

void mica__utf8_add_any(mica__text *out, const char *text, size_t bytes) {
  while (bytes > 0) {
    const size_t valid = mica__utf8_prefix(text, bytes);
    mica__text_add_bytes(out, text, valid);
    if (valid < bytes) mica__text_add(out, "\xef\xbf\xbd");
    const size_t gone = valid < bytes ? valid + 1 : bytes;
    text += gone;
    bytes -= gone;
  }
}
