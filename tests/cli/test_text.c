/* labels: null single */
#include "cli/text.h"
#include "support/check_main.h"

#include <string.h>

START_TEST(sizes) {
  static const struct {
    uint64_t bytes;
    const char *text;
  } cases[] = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1 KiB"},
      {1536, "1.5 KiB"},
      {1587, "1.5 KiB"},
      {1588, "1.6 KiB"},
      {102348, "99.9 KiB"},
      {102400, "100 KiB"},
      {1048575, "1 MiB"},
      {1048576, "1 MiB"},
      {(uint64_t)3 << 29, "1.5 GiB"},
      {5305433088, "4.9 GiB"},
      {(uint64_t)1023 << 30, "1023 GiB"},
      {((uint64_t)1 << 40) - 1, "1 TiB"},
      {UINT64_MAX, "16 EiB"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[CLI_BYTES_TEXT];
    ck_assert_str_eq(cli_format_bytes(cases[i].bytes, text), cases[i].text);
  }
}
END_TEST

static const char *guess(const char *word) {
  static const char *const candidates[] = {"devices", "doctor", "cache", "version", "help"};
  cli_guess guess = {.word = word};
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) cli_guess_consider(&guess, candidates[i]);
  return guess.best;
}

START_TEST(guesses) {
  static const char *const pairs[][2] = {
      {"device", "devices"}, {"devcies", "devices"}, {"dveices", "devices"}, {"divises", "devices"},
      {"dctor", "doctor"},   {"cahce", "cache"},     {"ver", "version"},     {"hlep", "help"},
      {"do", "doctor"},      {"caches", "cache"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) ck_assert_str_eq(guess(pairs[i][0]), pairs[i][1]);
}
END_TEST

START_TEST(nothing_is_near) {
  static const char *const words[] = {"", "d", "train", "xxxx", "an-option-so-long-that-nothing-can-be-near-to-it"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) ck_assert_ptr_null(guess(words[i]));
}
END_TEST

/* What a shell makes of the words again, of which one has every byte. */
START_TEST(words_for_a_shell) {
  static const char *const pairs[][2] = {
      {"", "''"},
      {"mica-run", "mica-run"},
      {"0:0/2,1:0", "0:0/2,1:0"},
      {"my run", "'my run'"},
      {"a'b", "'a'\\''b'"},
      {"$x;`y`\\", "'$x;`y`\\'"},
      {"~", "'~'"},
      {"a\nb'c\\", "$'a\\012b\\'c\\\\'"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    char text[64] = "", second[64] = "mica";
    ck_assert_str_eq(cli_add_word(text, sizeof text, pairs[i][0]), pairs[i][1]);
    cli_add_word(second, sizeof second, pairs[i][0]);
    ck_assert(!strncmp(second, "mica ", 5) && !strcmp(second + 5, pairs[i][1]));
  }
  for (size_t room = 1; room < 12; room++) {
    char text[12] = "";
    ck_assert_uint_lt(strlen(cli_add_word(text, room, "a b\tc'd")), room);
  }
}
END_TEST

START_TEST(defaults_of_help) {
  ck_assert_uint_eq(cli_help_length("beam width (default 1)"), strlen("beam width"));
  ck_assert_uint_eq(cli_help_length("optimizer (default: sgd for vgg11, else adamw)"), strlen("optimizer"));
  ck_assert_uint_eq(cli_help_length("print errors only"), strlen("print errors only"));
  ck_assert_uint_eq(cli_help_length(""), 0);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, sizes, guesses, nothing_is_near, words_for_a_shell, defaults_of_help)
