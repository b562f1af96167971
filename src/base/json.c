#include "base/json.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

void mica__json_string(mica__text *json, const char *s) {
  mica__text_add(json, "\"");
  while (*s) {
    const size_t n = mica__utf8_first(s, strnlen(s, 4));
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
  /* Nine significant digits identify an f32. A number of magnitude 1e5 or more gets four digits after the point, but at
   * most 15 digits in all. */
  const int digits = fabs(number) < 1e5 ? 9 : fabs(number) < 1e11 ? (int)floor(log10(fabs(number))) + 5 : 15;
  if (!isfinite(number))
    mica__text_add(json, "null");
  else if (number == floor(number) && fabs(number) < 0x1p53)
    mica__text_addf(json, "%.0f", number);
  else
    mica__text_addf(json, "%.*g", digits, number);
}
