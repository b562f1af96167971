/* labels: null single
 *
 * Word and character errors against jiwer and rapidfuzz (tests/golden/metrics, whose README says what
 * counts). */
#include "support/check_main.h"
#include "support/golden.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JSON's text behind "key": with its escapes written out, as UTF-8. */
static void text_of(const char *line, const char *key, char *text, size_t room) {
  char name[32];
  snprintf(name, sizeof name, "\"%s\":\"", key);
  const char *s = strstr(line, name);
  ck_assert_msg(s != NULL, "no %s in %s", key, line);
  size_t n = 0;
  for (s += strlen(name); *s != '"'; s++) {
    unsigned code = (unsigned char)*s, low = 0;
    if (*s == '\\') {
      s++;
      static const char letters[] = "nrtbf", meant[] = "\n\r\t\b\f";
      const char *at = strchr(letters, *s);
      code = (unsigned char)(at ? meant[at - letters] : *s);
      if (*s == 'u') {
        ck_assert_int_eq(sscanf(s + 1, "%4x", &code), 1);
        s += 4;
        if (code >= 0xd800 && code < 0xdc00 && sscanf(s + 1, "\\u%4x", &low) == 1) {
          code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
          s += 6;
        }
      }
    }
    ck_assert_uint_lt(n + 5, room);
    if (code < 0x80) {
      text[n++] = (char)code;
      continue;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    text[n++] = (char)((0xf0u << (3 - more)) | code >> 6 * more);
    while (more-- > 0) text[n++] = (char)(0x80 | (code >> 6 * more & 0x3f));
  }
  text[n] = '\0';
}

static int64_t integer_of(const char *line, const char *key) {
  char name[48];
  snprintf(name, sizeof name, "\"%s\":", key);
  const char *s = strstr(line, name);
  ck_assert_msg(s != NULL, "no %s in %s", key, line);
  return strtoll(s + strlen(name), NULL, 10);
}

START_TEST(errors_are_those_of_jiwer_and_rapidfuzz) {
  static char line[1 << 20], reference[1 << 20], hypothesis[1 << 20];
  FILE *file = fopen(golden_path("metrics", "wer.jsonl"), "rb");
  ck_assert_ptr_nonnull(file);
  mica_text_errors all = {0};
  int lines = 0;
  while (fgets(line, sizeof line, file)) {
    mica_text_errors one = {0};
    text_of(line, "reference", reference, sizeof reference);
    text_of(line, "hypothesis", hypothesis, sizeof hypothesis);
    ck_assert_int_eq(mica_text_errors_add(&one, reference, hypothesis), MICA_OK);
    ck_assert_int_eq(mica_text_errors_add(&all, reference, hypothesis), MICA_OK);
    ck_assert_msg(one.word_edits == integer_of(line, "word_edits") && one.words == integer_of(line, "words") &&
                      one.character_edits == integer_of(line, "character_edits") &&
                      one.characters == integer_of(line, "characters"),
                  "%d of %d words, %d of %d characters: %s", (int)one.word_edits, (int)one.words,
                  (int)one.character_edits, (int)one.characters, line);
    lines++;
  }
  fclose(file);
  ck_assert_int_eq(lines, 117);
  /* wer_corpus.json */
  ck_assert_double_eq_tol(mica_word_error_rate(&all), 233.0 / 602, 1e-12);
  ck_assert_double_eq_tol(mica_character_error_rate(&all), 639.0 / 2969, 1e-12);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, errors_are_those_of_jiwer_and_rapidfuzz)
