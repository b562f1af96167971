/* Reads decimal numbers with all their digits, and compares them. */
#include "text/grammar/decimal.h"

#include <string.h>

/* Splits `count` digits into those before and after a decimal point, which follows the first `point` digits, and drops
 * zeros at both ends. False if there are more than MICA__MOST_DIGITS before or after the point. */
static bool split(const char *digits, int64_t count, int64_t point, mica__decimal *d) {
  while (count > 0 && digits[count - 1] == '0') count--;
  while (count > 0 && digits[0] == '0') {
    digits++;
    count--;
    point--;
  }
  const int64_t whole = count == 0 || point < 0 ? 0 : point, zeros = count && point < 0 ? -point : 0;
  const int64_t part = count > whole ? count - whole + zeros : 0;
  if (whole > MICA__MOST_DIGITS || part > MICA__MOST_DIGITS) return false;
  memset(d->whole, '0', sizeof d->whole);
  memset(d->part, '0', sizeof d->part);
  memcpy(d->whole, digits, (size_t)(count < whole ? count : whole));
  if (count > whole) memcpy(d->part + zeros, digits + whole, (size_t)(count - whole));
  d->whole[whole] = d->part[part] = '\0';
  d->whole_count = (size_t)whole;
  d->part_count = (size_t)part;
  return true;
}

mica_status mica__decimal_of(const mica__object *number, mica__decimal *d) {
  mica__text text = {0};
  char digits[512];
  int64_t count = 0, point = -1, exponent = 0;
  bool fits = true, minus = false;
  mica__object_print(&text, number);
  *d = (mica__decimal){0};
  if (text.failed || !text.data) return mica__text_free(&text), mica__fail_nomem("a number");
  const char *c = text.data;
  if (*c == '-') c++, d->negative = true;
  for (; *c && *c != 'e' && fits; c++) {
    if (*c == '.')
      point = count;
    else if (*c < '0' || *c > '9' || count == (int64_t)sizeof digits)
      fits = false;
    else
      digits[count++] = *c;
  }
  if (point < 0) point = count;
  if (*c == 'e') {
    minus = *++c == '-';
    if (*c == '-' || *c == '+') c++;
    for (; *c >= '0' && *c <= '9' && exponent < 10000; c++) exponent = 10 * exponent + (*c - '0');
  }
  fits = fits && split(digits, count, point + (minus ? -exponent : exponent), d);
  if (mica__decimal_is_zero(d)) d->negative = false;
  mica__text_free(&text);
  return fits ? MICA_OK
              : mica__fail(MICA_E_UNSUPPORTED, "the number has more than %d digits before or after the point",
                           MICA__MOST_DIGITS);
}

static int compare_magnitudes(const mica__decimal *a, const mica__decimal *b) {
  if (a->whole_count != b->whole_count) return a->whole_count < b->whole_count ? -1 : 1;
  const int order = strcmp(a->whole, b->whole);
  return order ? order : strcmp(a->part, b->part);
}

int mica__decimal_compare(const mica__decimal *a, const mica__decimal *b) {
  if (a->negative != b->negative) return a->negative ? -1 : 1;
  const int order = compare_magnitudes(a, b);
  return a->negative ? -order : order;
}
