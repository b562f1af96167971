/* labels: null
 *
 * Tokenisers that are trained, saved and opened again, any bytes, threads, and files and texts that mean harm. */
#include "base/text.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/tokenizer.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC
static const char *const lines[] = {"the cat sat on the mat", "The dog sat on the log!",
                                    "caf\xc3\xa9 na\xc3\xafve the end", "", "lower lowest newer newest the the"};

static mica_status next_line(void *user, const char **text, size_t *bytes) {
  size_t *at = user;
  *text = *at < sizeof lines / sizeof *lines ? lines[*at] : NULL;
  *bytes = *text ? strlen(*text) : 0;
  ++*at;
  return MICA_OK;
}

static mica_tokenizer *trained(const mica_tokenizer_config *config) {
  mica_tokenizer *tokenizer = NULL;
  size_t at = 0;
  ck_ok(mica_tokenizer_train(config, next_line, &at, &tokenizer));
  return tokenizer;
}

static mica_tokenizer *opened(const char *json) {
  mica_tokenizer *tokenizer = NULL;
  ck_ok(mica_tokenizer_open_memory("a file", json, strlen(json), &tokenizer));
  return tokenizer;
}
#endif

/* Opening or the call fails with this status and a sentence that has these words. */
static void fails(mica_status got, mica_status wanted, const char *words) {
  ck_assert_msg(got == wanted, "status %d: %s", (int)got, mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), words) != NULL, "'%s' lacks '%s'", mica_error_message(), words);
}
static void refused(const char *json, mica_status wanted, const char *words) {
  mica_tokenizer *tokenizer = NULL;
  fails(mica_tokenizer_open_memory("a file", json, strlen(json), &tokenizer), wanted, words);
  ck_assert_ptr_null(tokenizer);
}

#if MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC
static void expect_ids(const mica_tokenizer *tokenizer, const char *text, const char *ids) {
  mica_encoding encoding = {0};
  mica__text got = {0};
  ck_ok(mica_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding));
  for (size_t i = 0; i < encoding.count; i++) mica__text_addf(&got, i ? " %d" : "%d", encoding.ids[i]);
  ck_assert_str_eq(got.data ? got.data : "", ids);
  mica__text_free(&got);
  mica_encoding_free(&encoding);
}

/* The text comes back byte for byte. */
static void comes_back(const mica_tokenizer *tokenizer, const char *text, size_t bytes, mica_encoding *encoding) {
  char *back = NULL;
  size_t size = 0;
  ck_ok(mica_tokenizer_encode(tokenizer, text, bytes, NULL, encoding));
  ck_ok(mica_tokenizer_decode(tokenizer, encoding->ids, encoding->count, false, &back, &size));
  ck_assert_msg(size == bytes && !memcmp(back, text, bytes), "%zu bytes became %zu", bytes, size);
  mica_free(back);
}

START_TEST(every_kind_is_trained_and_saved) {
  static const char *const models[] = {"BPE", "WordPiece", "Unigram", "WordLevel", "BPE", "BPE"};
  for (int kind = 0; kind <= MICA_TOKENIZER_KIND_BYTE; kind++) {
    const mica_tokenizer_config config = {.kind = (mica_tokenizer_kind)kind, .size = 300, .min_frequency = 1};
    mica_tokenizer *first = trained(&config), *second = trained(&config), *read = NULL;
    size_t bytes = 0, same = 0;
    const char *json = mica_tokenizer_json(first, &bytes);
    ck_assert_str_eq(json, mica_tokenizer_json(second, &same));
    ck_assert_uint_eq(strlen(json), bytes);
    ck_assert_str_eq(mica_tokenizer_model(first), models[kind]);
    ck_assert_int_eq(mica_tokenizer_takes_bytes(first),
                     kind == MICA_TOKENIZER_KIND_BPE || kind == MICA_TOKENIZER_KIND_BYTE);
    ck_ok(mica_tokenizer_save(first, files_path("saved.json")));
    ck_ok(mica_tokenizer_open(files_path("saved.json"), &read));
    ck_assert_str_eq(mica_tokenizer_json(read, NULL), json);
    for (int32_t i = 0; i < mica_tokenizer_size(first); i++)
      ck_assert_int_eq(mica_tokenizer_id(read, mica_tokenizer_token(first, i)), i);
    mica_encoding encoding = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
      ck_ok(mica_tokenizer_encode(read, lines[i], strlen(lines[i]), NULL, &encoding));
      for (size_t k = 0; k < encoding.count; k++) ck_assert_int_ne(encoding.ids[k], mica_tokenizer_id(read, "<unk>"));
      if (kind != MICA_TOKENIZER_KIND_WORDPIECE && kind != MICA_TOKENIZER_KIND_WORD)
        comes_back(read, lines[i], strlen(lines[i]), &encoding);
    }
    mica_encoding_free(&encoding);
    mica_tokenizer_destroy(first);
    mica_tokenizer_destroy(second);
    mica_tokenizer_destroy(read);
  }
  ck_assert_str_eq(mica_tokenizer_kind_name(MICA_TOKENIZER_KIND_WORD), "word");
  ck_assert_str_eq(mica_tokenizer_kind_name((mica_tokenizer_kind)77), "?");
}
END_TEST

/* "th" and "he" are as frequent: the smaller ids win, as in the package. */
START_TEST(pairs_are_merged_by_their_count) {
  mica_tokenizer *t = trained(&(mica_tokenizer_config){.size = 260});
  ck_assert_str_eq(mica_tokenizer_token(t, 256), "he");
  ck_assert_str_eq(mica_tokenizer_token(t, 257), "the");
  ck_assert_int_eq(mica_tokenizer_size(t), 260);
  expect_ids(t, "the", "257");
  mica_tokenizer_destroy(t);
}
END_TEST

START_TEST(training_says_what_it_lacks) {
  mica_tokenizer *t = NULL;
  size_t at = 0;
  const char *const twice[] = {"<a>", "<a>"};
  fails(mica_tokenizer_train(&(mica_tokenizer_config){.size = 100}, next_line, &at, &t), MICA_E_INVALID, "256");
  fails(mica_tokenizer_train(&(mica_tokenizer_config){.size = -1}, next_line, &at, &t), MICA_E_INVALID, "size");
  fails(mica_tokenizer_train(&(mica_tokenizer_config){.special = twice, .special_count = 2}, next_line, &at, &t),
        MICA_E_INVALID, "twice");
  at = 99;
  fails(mica_tokenizer_train(NULL, next_line, &at, &t), MICA_E_INVALID, "no text");
  fails(mica_tokenizer_train(NULL, NULL, NULL, &t), MICA_E_INVALID, "NULL");
}
END_TEST

START_TEST(any_bytes_come_back) {
  mica_tokenizer *t[2] = {trained(&(mica_tokenizer_config){.size = 300}),
                          trained(&(mica_tokenizer_config){.kind = MICA_TOKENIZER_KIND_BYTE})};
  mica_encoding encoding = {0};
  uint64_t state = 88172645463325252u;
  char text[400];
  for (int round = 0; round < 3000; round++) {
    size_t bytes = 0;
    for (size_t wanted = (size_t)(state % 300); bytes < wanted; bytes++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      /* bytes of any kind; ASCII; pieces of UTF-8 */
      static const char *const some[] = {"the ", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "\xc3", "  \n",
                                         "'s"};
      text[bytes] = (char)(round % 3 == 0 ? state >> 40 : 'a' + state % 26);
      if (round % 3 != 2 || bytes + 4 > wanted) continue;
      const char *piece = some[state % 7];
      memcpy(text + bytes, piece, strlen(piece));
      bytes += strlen(piece) - 1;
    }
    comes_back(t[round & 1], text, bytes, &encoding);
  }
  char all[256];
  for (int i = 0; i < 256; i++) all[i] = (char)i;
  comes_back(t[0], all, sizeof all, &encoding);
  comes_back(t[1], all, sizeof all, &encoding);
  mica_encoding_free(&encoding);
  mica_tokenizer_destroy(t[0]);
  mica_tokenizer_destroy(t[1]);
}
END_TEST

/* A word of a megabyte by merges that halve it again and again, and one of nothing that is merged. */
START_TEST(a_long_word_is_no_square) {
  mica__text json = {0}, word = {0}, token = {0};
  mica__text_add(&json, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1");
  mica__text_add(&token, "a");
  mica__text merges = {0};
  for (int i = 0; i < 12; i++) {
    mica__text_addf(&merges, "%s[\"%s\",\"%s\"]", i ? "," : "", token.data, token.data);
    char *twice = strdup(token.data);
    mica__text_add(&token, twice);
    free(twice);
    mica__text_addf(&json, ",\"%s\":%d", token.data, i + 2);
  }
  mica__text_addf(&json, "},\"merges\":[%s]}}", merges.data);
  mica_tokenizer *t = opened(json.data);
  mica_encoding encoding = {0};
  for (int i = 0; i < 1 << 20; i++) mica__text_add(&word, "a");
  const clock_t begin = clock();
  ck_ok(mica_tokenizer_encode(t, word.data, word.length, NULL, &encoding));
  ck_assert_uint_eq(encoding.count, (1 << 20) >> 12);
  for (size_t i = 0; i < encoding.count; i++) ck_assert_int_eq(encoding.ids[i], 13);
  for (int i = 1; i < 1 << 20; i += 2) word.data[i] = 'b';
  ck_ok(mica_tokenizer_encode(t, word.data, word.length, NULL, &encoding));
  ck_assert_uint_eq(encoding.count, 1 << 20);
  ck_assert_msg((double)(clock() - begin) / CLOCKS_PER_SEC < 20, "a word of a megabyte takes too long");
  mica_encoding_free(&encoding);
  mica_tokenizer_destroy(t);
  mica__text_free(&json), mica__text_free(&word), mica__text_free(&token), mica__text_free(&merges);
}
END_TEST

/* A long word rank by rank, and by the heap, to which merges that never fit and are out of order lead. */
START_TEST(long_words_are_the_same_both_ways) {
  mica_tokenizer *ranks = trained(&(mica_tokenizer_config){.size = 290, .min_frequency = 1}), *heap = NULL;
  mica_encoding a = {0}, b = {0};
  mica__text json = {0};
  const char *first = mica_tokenizer_json(ranks, NULL), *merges = strstr(first, "\"merges\":[");
  const char *vocab = strstr(first, "\"vocab\":{"), *end = strstr(merges, "]]");
  mica__text_add_bytes(&json, first, (size_t)(vocab + 9 - first));
  mica__text_add(&json, "\"\xc4\x80\xc4\x81\":900,\"\xc4\x80\xc4\x81\xc4\x80\":901,");
  mica__text_add_bytes(&json, vocab + 9, (size_t)(end + 1 - (vocab + 9)));
  mica__text_add(&json, ",[\"\xc4\x80\xc4\x81\",\"\xc4\x80\"],[\"\xc4\x80\",\"\xc4\x81\"]");
  mica__text_add(&json, end + 1);
  heap = opened(json.data);
  enum { LENGTH = 200000 };
  char *word = malloc(LENGTH);
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < LENGTH; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    word[i] = "thelowrnsatdog"[i % 5000 < 4000 ? state % 14 : 7];
  }
  ck_ok(mica_tokenizer_encode(ranks, word, LENGTH, NULL, &a));
  ck_ok(mica_tokenizer_encode(heap, word, LENGTH, NULL, &b));
  ck_assert_uint_eq(a.count, b.count);
  ck_assert_uint_lt(a.count, LENGTH - LENGTH / 50);
  ck_assert(!memcmp(a.ids, b.ids, a.count * sizeof *a.ids));
  free(word);
  mica__text_free(&json);
  mica_encoding_free(&a), mica_encoding_free(&b);
  mica_tokenizer_destroy(ranks), mica_tokenizer_destroy(heap);
}
END_TEST

typedef struct job {
  const mica_tokenizer *tokenizer;
  bool good;
} job;

static void *work(void *user) {
  job *j = user;
  mica_encoding encoding = {0};
  j->good = true;
  for (int round = 0; round < 300 && j->good; round++) {
    const char *text = lines[round % 5];
    char *back = NULL;
    size_t bytes = 0;
    j->good = mica_tokenizer_encode(j->tokenizer, text, strlen(text), NULL, &encoding) == MICA_OK &&
              mica_tokenizer_decode(j->tokenizer, encoding.ids, encoding.count, false, &back, &bytes) == MICA_OK &&
              bytes == strlen(text) && !memcmp(back, text, bytes);
    mica_free(back);
  }
  mica_encoding_free(&encoding);
  return NULL;
}

START_TEST(threads_share_a_tokeniser) {
  mica_tokenizer *t = trained(&(mica_tokenizer_config){.size = 300});
  pthread_t threads[4];
  job jobs[4];
  for (int i = 0; i < 4; i++) {
    jobs[i] = (job){t, false};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    ck_assert(jobs[i].good);
  }
  mica_tokenizer_destroy(t);
}
END_TEST

#define WORDS "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"<u>\":0,\"aa\":1},\"unk_token\":\"<u>\"}"

/* A pattern that tries exponentially many ways, one that is none, one that nests. */
START_TEST(patterns_are_limited) {
  mica_encoding encoding = {0};
  mica_tokenizer *t = opened("{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a+)+$\"},"
                             "\"behavior\":\"Isolated\"}," WORDS "}");
  const char *text = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
  fails(mica_tokenizer_encode(t, text, strlen(text), NULL, &encoding), MICA_E_FORMAT, "pattern");
  ck_assert_uint_eq(encoding.count, 0);
  expect_ids(t, "aa", "1");
  mica_tokenizer_destroy(t);
  refused("{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a\"},\"behavior\":\"Isolated\"}," WORDS "}",
          MICA_E_FORMAT, "'(a' cannot be compiled");
  mica__text json = {0};
  mica__text_add(&json, "{\"normalizer\":{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"");
  for (int i = 0; i < 5000; i++) mica__text_add(&json, "(");
  for (int i = 0; i < 5000; i++) mica__text_add(&json, ")");
  mica__text_add(&json, "\"}}," WORDS "}");
  refused(json.data, MICA_E_FORMAT, "normalizer");
  mica__text_free(&json);
  mica_encoding_free(&encoding);
}
END_TEST

/* What grows without end, and marks that are sorted in the square of their number. */
START_TEST(texts_that_explode_are_refused) {
  mica_encoding encoding = {0};
  mica__text json = {0}, text = {0};
  mica__text_add(&json, "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
  for (int i = 0; i < 12; i++)
    mica__text_addf(&json, "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaa\"}",
                    i ? "," : "");
  mica__text_add(&json, "]}," WORDS "}");
  mica_tokenizer *t = opened(json.data);
  fails(mica_tokenizer_encode(t, "a", 1, NULL, &encoding), MICA_E_FORMAT, "grows beyond");
  mica_tokenizer_destroy(t);
  /* A decoder is held to as much as a normaliser: 16 MiB. */
  json.length = 0;
  mica__text_add(&json, "{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[");
  for (int i = 0; i < 12; i++)
    mica__text_addf(&json, "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaa\"}",
                    i ? "," : "");
  mica__text_add(&json, "]}," WORDS "}");
  t = opened(json.data);
  char *back = NULL;
  size_t bytes = 0;
  fails(mica_tokenizer_decode(t, (int32_t[]){1}, 1, false, &back, &bytes), MICA_E_FORMAT, "grows beyond 167772");
  mica_tokenizer_destroy(t);
  t = opened("{\"normalizer\":{\"type\":\"NFC\"}," WORDS "}");
  for (int i = 0; i < 50000; i++) mica__text_add(&text, i < 25000 ? "\xcc\x81" : "\xcc\xa7");
  fails(mica_tokenizer_encode(t, text.data, text.length, NULL, &encoding), MICA_E_FORMAT, "combining marks");
  mica_tokenizer_destroy(t);
  mica__text_free(&json);
  mica__text_free(&text);
  mica_encoding_free(&encoding);
}
END_TEST

START_TEST(texts_are_checked) {
  mica_encoding encoding = {0};
  char *text = NULL;
  size_t bytes = 0;
  mica_tokenizer *t = opened("{\"pre_tokenizer\":{\"type\":\"Whitespace\"}," WORDS "}");
  fails(mica_tokenizer_encode(t, "ab\xff", 3, NULL, &encoding), MICA_E_FORMAT, "not UTF-8 at byte 2");
  fails(mica_tokenizer_encode(t, NULL, 3, NULL, &encoding), MICA_E_INVALID, "NULL");
  fails(mica_tokenizer_decode(t, (int32_t[]){0, 2}, 2, false, &text, &bytes), MICA_E_INVALID,
        "no token has the id 2 (element 1");
  fails(mica_tokenizer_decode(t, (int32_t[]){-1}, 1, false, &text, &bytes), MICA_E_INVALID,
        "no token has the id -1 (element 0");
  expect_ids(t, "", "");
  expect_ids(t, "aa zz", "1 0");
  ck_ok(mica_tokenizer_decode(t, NULL, 0, false, &text, &bytes));
  ck_assert(bytes == 0 && !*text);
  mica_free(text);
  mica_tokenizer_destroy(t);
  t = opened("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"aa\":1}}}");
  fails(mica_tokenizer_encode(t, "b", 1, NULL, &encoding), MICA_E_FORMAT, "unknown");
  mica_tokenizer_destroy(t);
  mica_encoding_free(&encoding);
}
END_TEST

#else

START_TEST(what_is_missing_is_said) {
  refused("{\"normalizer\":{\"type\":\"Lowercase\"},\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
          MICA_E_UNSUPPORTED, "utf8proc");
}
END_TEST

#endif

/* Everything that a file may get wrong, with the words of its sentence. */
START_TEST(files_are_refused_in_sentences) {
  static const struct {
    const char *json;
    mica_status status;
    const char *words;
  } files[] = {
    {"", MICA_E_FORMAT, "not JSON"},
    {"[]", MICA_E_FORMAT, "not a JSON object"},
    {"{\"a\":", MICA_E_FORMAT, "not JSON at byte"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"\xff\":0}}}", MICA_E_FORMAT, "not UTF-8"},
    {"{}", MICA_E_FORMAT, "model is missing"},
    {"{\"model\":{\"type\":\"Wordless\"}}", MICA_E_UNSUPPORTED, "the model's type is 'Wordless', but must be BPE"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":[]}}", MICA_E_FORMAT, "vocab must be an object"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}", MICA_E_FORMAT, "merges is missing"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4000000000},\"merges\":[]}}", MICA_E_FORMAT, "whole number"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1e99},\"merges\":[]}}", MICA_E_FORMAT, "whole number"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", MICA_E_FORMAT, "whole number"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0.5},\"merges\":[]}}", MICA_E_FORMAT, "whole number"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", MICA_E_FORMAT, "both have the id 0"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"a\"]]}}", MICA_E_FORMAT,
     "merge 0: 'aa' is not in vocab"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"b\"]]}}", MICA_E_FORMAT, "'b'"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b c\"]}}", MICA_E_FORMAT,
     "must be a list of two strings"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}}", MICA_E_UNSUPPORTED, "dropout"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"b\"}}", MICA_E_FORMAT,
     "unk_token"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"max_input_chars_per_word\":1000000}}", MICA_E_FORMAT,
     "max_input_chars_per_word"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", MICA_E_FORMAT, "entry 0"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":5}}", MICA_E_FORMAT, "unk_id"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}}}", MICA_E_FORMAT, "no tokens"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\\u0000b\":0}}}", MICA_E_UNSUPPORTED, "U+0000"},
#if MICA_WITH_UTF8PROC
    {"{\"normalizer\":{\"type\":\"Precompiled\"},\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
     MICA_E_FORMAT, "normalizer: Precompiled: precompiled_charsmap is missing"},
#endif
    {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"\"},"
     "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
     MICA_E_FORMAT, "empty"},
    {"{\"pre_tokenizer\":{\"type\":\"Sequence\"},\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
     MICA_E_FORMAT, "pretokenizers is missing"},
    {"{\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"},\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
     MICA_E_UNSUPPORTED, "UnicodeScripts"},
    {"{\"decoder\":{},\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}", MICA_E_FORMAT,
     "decoder: type is missing"},
    {"{\"model\":{\"type\":5}}", MICA_E_FORMAT, "model: type is not a string"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":\"0\"}}}", MICA_E_FORMAT,
     "vocab: the id of the token 'a' must be a whole number"},
    {"{\"added_tokens\":[{\"content\":\"b\"}],\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}", MICA_E_FORMAT,
     "added_tokens: the token 'b' has no id"},
    {"{\"decoder\":{\"type\":\"CTC\"},\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}", MICA_E_UNSUPPORTED,
     "decoder: CTC"},
    {"{\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"s\",7],\"cls\":[\"c\",0]},"
     "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
     MICA_E_FORMAT, "sep has the id 7"},
    {"{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"B\"}}],\"pair\":[]},"
     "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
     MICA_E_FORMAT, "cannot have the sequence B"},
    {"{\"added_tokens\":{},\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}", MICA_E_FORMAT, "not a list"},
    {"{\"added_tokens\":[{\"id\":0,\"content\":\"b\"}],\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
     MICA_E_FORMAT, "both have the id 0"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) refused(files[i].json, files[i].status, files[i].words);
  mica_tokenizer *tokenizer = NULL;
  ck_assert_int_eq(mica_tokenizer_open(files_path("none.json"), &tokenizer), MICA_E_NOT_FOUND);
}
END_TEST

/* Brackets a thousand deep, sequences in sequences, a token of a megabyte. */
START_TEST(deep_and_long_files_are_refused) {
  mica__text json = {0};
  for (int i = 0; i < 100000; i++) mica__text_add(&json, "[");
  refused(json.data, MICA_E_FORMAT, "not JSON");
  json.length = 0;
  mica__text_add(&json, "{\"pre_tokenizer\":");
  for (int i = 0; i < 20; i++) mica__text_add(&json, "{\"type\":\"Sequence\",\"pretokenizers\":[");
  for (int i = 0; i < 20; i++) mica__text_add(&json, "]}");
  mica__text_add(&json, ",\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}");
  refused(json.data, MICA_E_FORMAT, "nested more than");
  json.length = 0;
  mica__text_add(&json, "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"");
  for (int i = 0; i < 1 << 20; i++) mica__text_add(&json, "a");
  mica__text_add(&json, "\":0}}}");
  refused(json.data, MICA_E_FORMAT, "1048576 bytes");
  mica__text_free(&json);
}
END_TEST

#if MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC
#define TRAINED                                                                                                        \
  every_kind_is_trained_and_saved, pairs_are_merged_by_their_count, training_says_what_it_lacks, any_bytes_come_back,  \
      a_long_word_is_no_square, long_words_are_the_same_both_ways, threads_share_a_tokeniser, patterns_are_limited,    \
      texts_that_explode_are_refused, texts_are_checked
#else
#define TRAINED what_is_missing_is_said
#endif
TESTS(NEEDS(CJSON), NULL, NULL, TRAINED, files_are_refused_in_sentences, deep_and_long_files_are_refused)
