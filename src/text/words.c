#include "text/words.h"

#include <stdlib.h>
#include <string.h>

/* A character of UTF-8, its bytes in *count; a byte that belongs to none is one, with a code of its own. */
static int32_t character(const char *text, size_t *count) {
  const unsigned char *s = (const unsigned char *)text;
  const int more = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : s[0] < 0xf5 ? 3 : 0;
  static const unsigned char masks[] = {0x7f, 0x1f, 0x0f, 0x07};
  int32_t code = s[0] & masks[more];
  *count = 1;
  if (s[0] >= 0x80 && more == 0) return -1;
  for (int i = 1; i <= more; i++) {
    if ((s[i] & 0xc0) != 0x80) return -1;
    code = code << 6 | (s[i] & 0x3f);
  }
  *count = (size_t)more + 1;
  return code;
}

/* Unicode's White_Space, and the four separators U+001C to U+001F. */
static bool is_space(int32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

mica__word *mica__text_parts(const char *text, bool words, int64_t *parts) {
  size_t size = strlen(text), step;
  mica__word *tokens = malloc((size + 1) * sizeof *tokens);
  int64_t count = 0, kept = 0;
  bool inside = false;
  for (size_t at = 0; tokens && at < size; at += step) {
    bool space = is_space(character(text + at, &step));
    if (words && !space && !inside) tokens[count++] = (mica__word){text + at, 0};
    if (words && !space) tokens[count - 1].count += step;
    if (!words && (count > 0 || !space)) tokens[count++] = (mica__word){text + at, step};
    if (!space) kept = count;
    inside = !space;
  }
  *parts = words ? count : kept;
  return tokens;
}
