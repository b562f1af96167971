/* labels: null single
 *
 * Tokenisers against golden/tokenizers: what the package `tokenizers` makes of 3,347 texts by five files. Equal, id for
 * id and byte for byte. */
#include "base/text.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <mica/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MICA_WITH_CJSON && MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC
#include <cjson/cJSON.h>

#define TEXTS 3347

static const char *const names[] = {"a_bytelevel_bpe", "b_wordpiece", "c_unigram", "d_bpe_bytefallback", "e_wordlevel"};

static char *texts[TEXTS];
static size_t lengths[TEXTS];

/* "golden/tokenizers/NAME.ENDING" of the test data; NULL if it is not there. */
static const char *golden(const char *name, const char *ending) {
  char file[256];
  snprintf(file, sizeof file, "golden/tokenizers/%s%s", name, ending);
  return test_data(file);
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/* The last column of texts.tsv: a text in hexadecimal. */
static void read_texts(void) {
  size_t size = 0, count = 0;
  char *content = (char *)files_read(golden("texts", ".tsv"), &size), *save = NULL;
  content[size - 1] = '\0'; /* the last line's end */
  for (char *line = strtok_r(content, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    const char *hex = strrchr(line, '\t') + 1;
    if (line == content) continue;
    ck_assert_uint_lt(count, TEXTS);
    lengths[count] = strlen(hex) / 2;
    texts[count] = malloc(lengths[count] + 1);
    for (size_t i = 0; i < lengths[count]; i++)
      texts[count][i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    count++;
  }
  free(content);
  ck_assert_uint_eq(count, TEXTS);
}

static void free_texts(void) {
  for (size_t i = 0; i < TEXTS; i++) free(texts[i]);
}

static void print_ids(mica__text *out, const char *what, const cJSON *list, const mica_encoding *got) {
  mica__text_addf(out, "\n%s", what);
  for (const cJSON *item = list ? list->child : NULL; item; item = item->next)
    mica__text_addf(out, " %d", item->valueint);
  for (size_t i = 0; got && i < got->count; i++) mica__text_addf(out, " %d", got->ids[i]);
}

static bool equal(const cJSON *list, const mica_encoding *got, bool types) {
  size_t i = 0;
  for (const cJSON *item = list->child; item; item = item->next, i++)
    if (i >= got->count || item->valueint != (types ? got->types[i] : got->ids[i])) return false;
  return i == got->count;
}

static void check_ids(const char *name, int n, const char *what, const cJSON *list, const mica_encoding *got) {
  if (equal(list, got, false)) return;
  mica__text message = {0};
  print_ids(&message, "expected", list, NULL);
  print_ids(&message, "got", NULL, got);
  ck_abort_msg("%s, text %d, %s:%.3000s", name, n, what, message.data);
}

static void check_decoded(const char *name, int n, const mica_tokenizer *tokenizer, const mica_encoding *ids, bool skip,
                          const char *expected, size_t length) {
  char *text = NULL;
  size_t bytes = 0;
  ck_ok(mica_tokenizer_decode(tokenizer, ids->ids, ids->count, skip, &text, &bytes));
  ck_assert_msg(bytes == length && !memcmp(text, expected, bytes), "%s, text %d, decoded%s: '%s', not '%.*s'", name, n,
                skip ? " without special tokens" : "", text, (int)length, expected);
  mica_free(text);
}

/* cJSON ends a text at a NUL, which a character of private use stands for meanwhile. */
static void hide_nuls(char *line) {
  for (char *at = line; (at = strstr(at, "\\u0000"));) memcpy(at, "\\ue0ff", 6);
}
static size_t restore_nuls(char *text) {
  size_t length = 0;
  for (const char *at = text; *at; at++) {
    const bool nul = !strncmp(at, "\xee\x83\xbf", 3);
    text[length++] = nul ? '\0' : *at;
    at += nul ? 2 : 0;
  }
  text[length] = '\0';
  return length;
}

static void check_row(const char *name, int n, const mica_tokenizer *tokenizer, const cJSON *row, mica_encoding *ids) {
  const cJSON *decoded = cJSON_GetObjectItem(row, "decoded"), *skipped = cJSON_GetObjectItem(row, "skipped");
  const cJSON *special = cJSON_GetObjectItem(row, "special");
  const char *text = cJSON_IsTrue(decoded) ? texts[n] : decoded->valuestring;
  const size_t length = cJSON_IsTrue(decoded) ? lengths[n] : restore_nuls(decoded->valuestring);
  ck_assert_int_eq(cJSON_GetObjectItem(row, "n")->valueint, n);
  ck_ok(mica_tokenizer_encode(tokenizer, texts[n], lengths[n], NULL, ids));
  check_ids(name, n, "ids", cJSON_GetObjectItem(row, "ids"), ids);
  check_decoded(name, n, tokenizer, ids, false, text, length);
  ck_ok(mica_tokenizer_encode(tokenizer, texts[n], lengths[n], &(mica_encode_config){.special = true}, ids));
  check_ids(name, n, "with special tokens", special ? special : cJSON_GetObjectItem(row, "ids"), ids);
  if (skipped && cJSON_IsTrue(skipped))
    check_decoded(name, n, tokenizer, ids, true, texts[n], lengths[n]);
  else
    check_decoded(name, n, tokenizer, ids, true, skipped ? skipped->valuestring : text,
                  skipped ? restore_nuls(skipped->valuestring) : length);
}

static void check_pair(const char *name, int n, const mica_tokenizer *tokenizer, const cJSON *row, mica_encoding *ids) {
  const char *first = cJSON_GetObjectItem(row, "first")->valuestring;
  const char *second = cJSON_GetObjectItem(row, "second")->valuestring;
  const mica_encode_config config = {.special = true, .second = second, .second_bytes = strlen(second)};
  ck_ok(mica_tokenizer_encode(tokenizer, first, strlen(first), &config, ids));
  check_ids(name, n, "a pair", cJSON_GetObjectItem(row, "ids"), ids);
  ck_assert_msg(equal(cJSON_GetObjectItem(row, "types"), ids, true), "%s, pair %d: the types differ", name, n);
}

static void check_rows(const char *name, const char *ending, const mica_tokenizer *tokenizer, int most,
                       void check(const char *, int, const mica_tokenizer *, const cJSON *, mica_encoding *)) {
  size_t size = 0;
  int n = 0;
  char *content = (char *)files_read(golden(name, ending), &size), *save = NULL;
  mica_encoding ids = {0};
  content[size - 1] = '\0';
  for (char *line = strtok_r(content, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
    hide_nuls(line);
    cJSON *row = cJSON_Parse(line);
    ck_assert_ptr_nonnull(row);
    check(name, n, tokenizer, row, &ids);
    cJSON_Delete(row);
  }
  ck_assert_msg(most ? n == most : n > 10, "%d rows", n);
  mica_encoding_free(&ids);
  free(content);
}

START_TEST(texts_are_what_the_package_makes_of_them) {
  mica_tokenizer *tokenizer = NULL;
  ck_ok(mica_tokenizer_open(golden(names[_i], ".tokenizer.json"), &tokenizer));
  check_rows(names[_i], ".ids.jsonl", tokenizer, TEXTS, check_row);
  check_rows(names[_i], ".pairs.jsonl", tokenizer, 0, check_pair);
  mica_tokenizer_destroy(tokenizer);
}
END_TEST

TEST_GROUPS(!golden("texts", ".tsv") ? "no golden/tokenizers in MICA_TEST_DATA" : NULL,
            ONCE(read_texts, free_texts,
                 LOOP(texts_are_what_the_package_makes_of_them, 0, (int)(sizeof names / sizeof *names))))

#else

SKIPS("no cJSON, no PCRE2 or no utf8proc")

#endif
