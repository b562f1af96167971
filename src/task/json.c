#include "task/json.h"

#include <math.h>
#include <string.h>

/* The bytes of the UTF-8 character at s, 0 when it is none: cut short, overlong, a surrogate or past U+10FFFF. */
static size_t utf8_length(const unsigned char *s) {
  if (s[0] < 0x80) return 1;
  size_t length = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
                  : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                  : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                : 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
  if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
  return length;
}

void mica__json_string(mica__text *json, const char *s) {
  mica__text_add(json, "\"");
  while (*s) {
    const size_t n = utf8_length((const unsigned char *)s);
    if (*s == '"' || *s == '\\')
      mica__text_addf(json, "\\%c", *s);
    else if ((unsigned char)*s < 0x20 || *s == 0x7f)
      mica__text_addf(json, "\\u%04x", (unsigned)(unsigned char)*s);
    else if (n)
      mica__text_add_bytes(json, s, n);
    else
      mica__text_add(json, "\xef\xbf\xbd");
    s += n ? n : 1;
  }
  mica__text_add(json, "\"");
}

void mica__json_number(mica__text *json, double number) {
  if (!isfinite(number))
    mica__text_add(json, "null");
  else
    mica__text_addf(json, number == floor(number) && fabs(number) < 0x1p53 ? "%.0f" : "%.9g", number);
}
