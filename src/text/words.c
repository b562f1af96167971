#include "text/words.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Decodes a UTF-8 character; *count receives its bytes. An invalid byte counts as one character, with the code -1. */
static int32_t character(const char *text, size_t *count) {
  if (mica__utf8_first(text, strnlen(text, 4))) return (int32_t)mica__utf8_at(text, count);
  *count = 1;
  return -1;
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
