/* labels: null single
 *
 * Which bytes are UTF-8: every code point, and what RFC 3629 forbids. */
#include "base/utf8.h"
#include "support/check_main.h"

#include <string.h>

static size_t encode(unsigned code, char *out) {
  if (code < 0x80) return *out = (char)code, 1;
  if (code < 0x800) return out[0] = (char)(0xc0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
  if (code < 0x10000) {
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 63));
    out[2] = (char)(0x80 | (code & 63));
    return 3;
  }
  out[0] = (char)(0xf0 | code >> 18);
  out[1] = (char)(0x80 | (code >> 12 & 63));
  out[2] = (char)(0x80 | (code >> 6 & 63));
  out[3] = (char)(0x80 | (code & 63));
  return 4;
}

START_TEST(every_code_point_but_surrogates_is_taken) {
  char text[5] = "";
  for (unsigned code = 0; code < 0x110000; code++) {
    const size_t n = encode(code, text);
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (mica__utf8_prefix(text, n) != (surrogate ? 0 : n)) ck_abort_msg("U+%04X", code);
    if (n > 1 && mica__utf8_prefix(text, n - 1) != 0) ck_abort_msg("U+%04X cut short", code);
  }
}
END_TEST

START_TEST(what_is_no_character_ends_the_prefix) {
  static const struct {
    const char *text;
    size_t valid;
  } cases[] = {
      {"", 0},
      {"abc", 3},
      {"a\x80", 1},
      {"a\xc0\xaf", 1},
      {"\xc1\xbf", 0},
      {"\xe0\x9f\xbf", 0},
      {"ab\xf0\x8f\xbf\xbf", 2},
      {"\xf4\x90\x80\x80", 0},
      {"\xf5\x80\x80\x80", 0},
      {"\xff", 0},
      {"\xc3\xa4\xc3", 2},
      {"\xe2\x82x", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_uint_eq(mica__utf8_prefix(cases[i].text, strlen(cases[i].text)), cases[i].valid);
}
END_TEST

START_TEST(any_bytes_become_text) {
  static const char *const cases[][2] = {{"", ""},
                                         {"\xc3\xa4", "\xc3\xa4"},
                                         {"a\xc3", "a\xef\xbf\xbd"},
                                         {"\x80\xffz", "\xef\xbf\xbd\xef\xbf\xbdz"},
                                         {"\xe2\x82x", "\xef\xbf\xbd\xef\xbf\xbdx"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica__text text = {0};
    mica__text_add(&text, "");
    mica__utf8_add_any(&text, cases[i][0], strlen(cases[i][0]));
    ck_assert_str_eq(text.data, cases[i][1]);
    mica__text_free(&text);
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, every_code_point_but_surrogates_is_taken, what_is_no_character_ends_the_prefix,
      any_bytes_become_text)
