/* Properties of characters from Unicode. */
#include "text/unicode.h"

#include <stdlib.h>

void mica__utf8_add(mica__text *out, uint32_t c) {
  char s[4];
  mica__text_add_bytes(out, s, mica__utf8_encode(c, s));
}

bool mica__is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool is_ascii_punctuation(uint32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

#if MICA_WITH_UTF8PROC
#include <utf8proc.h>

/* Maximum number of consecutive marks, because sorting them takes quadratic time. */
#define MOST_MARKS 4096

mica_status mica__unicode_need(const char *what) { return (void)what, MICA_OK; }

static bool is_among(uint32_t c, unsigned categories) {
  return (categories >> utf8proc_category((utf8proc_int32_t)c) & 1) != 0;
}
#define BIT(category) (1u << UTF8PROC_CATEGORY_##category)
#define MARKS (BIT(MN) | BIT(MC) | BIT(ME))

/* Ranges of characters, ascending. */
typedef struct range {
  uint32_t first, last;
} range;
#define RANGE(first, last) {first, last},
#define PUNCTUATION
static const range other_punctuation[] = {
#include "text/tokenizer/older.def"
};
#undef PUNCTUATION
#define NONSPACING
static const range other_nonspacing[] = {
#include "text/tokenizer/older.def"
};
#undef NONSPACING
#define MARK
static const range other_marks[] = {
#include "text/tokenizer/older.def"
};
#undef MARK

static bool is_in(uint32_t c, const range *ranges, size_t count) {
  size_t first = 0;
  while (first < count) {
    const size_t middle = first + (count - first) / 2;
    if (c > ranges[middle].last)
      first = middle + 1;
    else if (c < ranges[middle].first)
      count = middle;
    else
      return true;
  }
  return false;
}
#define IS_IN(c, ranges) is_in(c, ranges, sizeof(ranges) / sizeof *(ranges))

bool mica__is_punctuation(uint32_t c) {
  if (c < 0x80) return is_ascii_punctuation(c);
  return is_among(c, BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO)) !=
         IS_IN(c, other_punctuation);
}
bool mica__is_numeric(uint32_t c) { return is_among(c, BIT(ND) | BIT(NL) | BIT(NO)); }
bool mica__is_mark(uint32_t c, bool all) {
  if (c < 0x80) return false;
  return all ? is_among(c, MARKS) != IS_IN(c, other_marks) : is_among(c, BIT(MN)) != IS_IN(c, other_nonspacing);
}
/* Some format characters are excluded: the package `tokenizers` has a table of Unicode 8, which lacks them. */
bool mica__is_other(uint32_t c) {
  if (c == 0x890 || c == 0x891 || c == 0x8e2 || c == 0x110cd || (c >= 0x13430 && c <= 0x13438)) return false;
  return is_among(c, BIT(CC) | BIT(CF) | BIT(CO));
}

/* Letters in circles and squares are listed here: only the property Other_Alphabetic makes them letters, not a
 * category. */
bool mica__is_word(uint32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  if (c == 0x200c || c == 0x200d || (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
      (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189))
    return true;
  return is_among(c, BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO) | MARKS | BIT(ND) | BIT(NL) | BIT(PC));
}

bool mica__is_letter(uint32_t c) { return is_among(c, BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO)); }
bool mica__is_printable(uint32_t c) {
  return !is_among(c, BIT(CC) | BIT(CF) | BIT(CS) | BIT(CO) | BIT(CN) | BIT(ZL) | BIT(ZP) | BIT(ZS)) || c == ' ';
}

size_t mica__grapheme(const char *text, size_t bytes) {
  utf8proc_int32_t state = 0;
  size_t n = 0;
  uint32_t last = mica__utf8_at(text, &n);
  for (size_t at = n; at < bytes; at += n) {
    const uint32_t c = mica__utf8_at(text + at, &n);
    if ((last < 0x80 && c < 0x80 && c != '\n') ||
        utf8proc_grapheme_break_stateful((utf8proc_int32_t)last, (utf8proc_int32_t)c, &state))
      return at;
    last = c;
  }
  return bytes;
}

void mica__add_upper(mica__text *out, uint32_t c) {
  if (c == 0xdf) { /* U+00DF becomes two letters in upper case */
    mica__text_add(out, "SS");
    return;
  }
  mica__utf8_add(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)c));
}

void mica__add_lower(mica__text *out, uint32_t c) {
  if (c == 0x130) { /* the only character with two characters in lower case */
    mica__text_add(out, "i\xcc\x87");
    return;
  }
  mica__utf8_add(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
}

static mica_status check_marks(const char *text, size_t bytes) {
  size_t run = 0;
  for (size_t at = 0, n; at < bytes; at += n) {
    const uint32_t c = mica__utf8_at(text + at, &n);
    run = c < 0x300 || utf8proc_get_property((utf8proc_int32_t)c)->combining_class == 0 ? 0 : run + 1;
    if (run > MOST_MARKS)
      return mica__fail(MICA_E_FORMAT, "the text has more than %d combining marks in a row", MOST_MARKS);
  }
  return MICA_OK;
}

mica_status mica__add_normal(mica__text *out, const char *text, size_t bytes, mica__form form) {
  static const unsigned options[] = {[MICA__NFC] = UTF8PROC_COMPOSE,
                                     [MICA__NFD] = UTF8PROC_DECOMPOSE,
                                     [MICA__NFKC] = UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                     [MICA__NFKD] = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
  size_t ascii = 0;
  while (ascii < bytes && (unsigned char)text[ascii] < 0x80) ascii++;
  if (ascii == bytes) return mica__text_add_bytes(out, text, bytes), MICA_OK;
  MICA_TRY(check_marks(text, bytes));
  utf8proc_uint8_t *made = NULL;
  const utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)bytes, &made,
                                               (utf8proc_option_t)(options[form] | (unsigned)UTF8PROC_STABLE));
  if (length < 0)
    return mica__fail(length == UTF8PROC_ERROR_NOMEM ? MICA_E_NOMEM : MICA_E_FORMAT,
                      "the text cannot be normalised: %s", utf8proc_errmsg(length));
  mica__text_add_bytes(out, (const char *)made, (size_t)length);
  free(made);
  return MICA_OK;
}

#else

mica_status mica__unicode_need(const char *what) { return mica__fail_lacks(what, "utf8proc"); }
bool mica__is_punctuation(uint32_t c) { return is_ascii_punctuation(c); }
bool mica__is_numeric(uint32_t c) { return c >= '0' && c <= '9'; }
bool mica__is_mark(uint32_t c, bool all) { return (void)c, (void)all, false; }
bool mica__is_other(uint32_t c) { return c < 0x20 || c == 0x7f; }
bool mica__is_word(uint32_t c) { return c == '_' || (c < 0x80 && (c >= '0') && !is_ascii_punctuation(c) && c != 0x7f); }
bool mica__is_letter(uint32_t c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80; }
bool mica__is_printable(uint32_t c) { return c >= ' ' && c != 0x7f; }
void mica__add_lower(mica__text *out, uint32_t c) { mica__utf8_add(out, c >= 'A' && c <= 'Z' ? c | 0x20 : c); }
size_t mica__grapheme(const char *text, size_t bytes) { return (void)bytes, mica__utf8_at(text, &bytes), bytes; }
void mica__add_upper(mica__text *out, uint32_t c) { mica__utf8_add(out, c >= 'a' && c <= 'z' ? c & 0x5f : c); }
mica_status mica__add_normal(mica__text *out, const char *text, size_t bytes, mica__form form) {
  (void)out, (void)text, (void)bytes, (void)form;
  return mica__unicode_need("a normal form");
}

#endif
