/* labels: null
 *
 * What a vocabulary takes per token and per merge beside its file, which a tokeniser keeps. Others measure time; a
 * quarter of a million tokens are most of the memory of a small language model. */
#include "base/text.h"
#include "support/check_main.h"

#include <mica/tokenizer.h>
#include <stdlib.h>
#include <string.h>

/* mallinfo2 */
#ifdef __GLIBC__
#include <malloc.h>
#define COUNTS_HEAP __GLIBC_PREREQ(2, 33)
#else
#define COUNTS_HEAP 0
#endif

#if MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC && COUNTS_HEAP
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
SKIPS("the sanitizer has another heap")
#else

/* 16,384 tokens: 64 letters, and words of two and three of them; all words are merges. */
enum { LETTERS = 64, TOKENS = 16384, MERGES = TOKENS - LETTERS };

static void add_token(mica__text *json, int id) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
  const int two = LETTERS * LETTERS + LETTERS;
  if (id >= two) mica__text_add_bytes(json, &letters[(id - two) / LETTERS / LETTERS], 1);
  if (id >= LETTERS) mica__text_add_bytes(json, &letters[(id - LETTERS) / LETTERS % LETTERS], 1);
  mica__text_add_bytes(json, &letters[id % LETTERS], 1);
}

static mica__text make_file(void) {
  mica__text json = {0};
  mica__text_add(&json, "{\"model\":{\"type\":\"BPE\",\"vocab\":{");
  for (int id = 0; id < TOKENS; id++) {
    mica__text_add(&json, id ? ",\"" : "\"");
    add_token(&json, id);
    mica__text_addf(&json, "\":%d", id);
  }
  mica__text_add(&json, "},\"merges\":[");
  for (int id = LETTERS; id < TOKENS; id++) {
    mica__text token = {0};
    add_token(&token, id);
    mica__text_addf(&json, "%s\"%.*s %s\"", id > LETTERS ? "," : "", (int)token.length - 1, token.data,
                    token.data + token.length - 1);
    mica__text_free(&token);
  }
  mica__text_add(&json, "]}}");
  return json;
}

/* Bytes of the heap, blocks of their own included. */
static size_t heap(void) {
  const struct mallinfo2 about = mallinfo2();
  return about.uordblks + about.hblkhd;
}

START_TEST(tokens_and_merges_are_small) {
  mica__text json = make_file();
  ck_assert(mica__text_status(&json) == MICA_OK);
  mica_tokenizer *tokenizer = NULL;
  const size_t before = heap();
  ck_assert_msg(mica_tokenizer_open_memory("a file", json.data, json.length, &tokenizer) == MICA_OK, "%s",
                mica_error_message());
  ck_assert_int_eq(mica_tokenizer_size(tokenizer), TOKENS);
  /* A token: 16 bytes, 16 in the table of ids, and its text with a NUL. A merge: 12 bytes and 8 in the table of pairs.
   * Then a block of texts that is not full, the trie of bytes and what is small. */
  const size_t most = json.length + TOKENS * (16 + 16 + 4) + MERGES * (12 + 8) + 100000;
  const size_t taken = heap() - before;
  ck_assert_msg(taken <= most, "%zu bytes beside a file of %zu, at most %zu expected", taken - json.length, json.length,
                most - json.length);
  mica_tokenizer_destroy(tokenizer);
  mica__text_free(&json);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, tokens_and_merges_are_small)
#endif
#else
SKIPS("PCRE2, utf8proc or the GNU C library is missing")
#endif
