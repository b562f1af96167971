/* labels: null single
 *
 * Tokenisers of GGUF files: ids and texts of small vocabularies, and keys that are wrong. test_vocabulary_oracle.sh
 * has published files beside transformers. */
#include "support/check_main.h"
#include "support/small_vocabulary.h"

#include <check.h>
#include <math.h>
#include <mica/mica.h>
#include <string.h>

#if MICA_WITH_CJSON && MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC

static mica_status open_keys(const mica_gguf_value *keys, size_t count, mica_tokenizer **tokenizer) {
  mica__text bytes = {0};
  mica_gguf *file = NULL;
  ck_assert_msg(small_vocabulary_write(keys, count, &bytes), "%s", mica_error_message());
  ck_assert_msg(mica_gguf_open_memory("small", bytes.data, bytes.length, &file) == MICA_OK, "%s", mica_error_message());
  const mica_status status = mica_tokenizer_open_gguf("small", file, tokenizer);
  mica_gguf_close(file);
  mica__text_free(&bytes);
  return status;
}

/* The tokens of a text with spaces between them, and the text that comes back. */
static void splits(const mica_tokenizer *t, const char *text, bool special, const char *wanted, const char *back) {
  mica_encoding encoding = {0};
  mica__text tokens = {0};
  char *decoded = NULL;
  size_t bytes = 0;
  const mica_encode_config config = {.special = special};
  ck_assert_msg(mica_tokenizer_encode(t, text, strlen(text), &config, &encoding) == MICA_OK, "%s",
                mica_error_message());
  for (size_t i = 0; i < encoding.count; i++)
    mica__text_addf(&tokens, "%s%s", i ? " " : "", mica_tokenizer_token(t, encoding.ids[i]));
  ck_assert_str_eq(tokens.data, wanted);
  ck_assert_int_eq(mica_tokenizer_decode(t, encoding.ids, encoding.count, true, &decoded, &bytes), MICA_OK);
  ck_assert_str_eq(decoded, back);
  mica_free(decoded);
  mica__text_free(&tokens);
  mica_encoding_free(&encoding);
}

static mica_tokenizer *opened(const mica_gguf_value *keys, size_t count) {
  mica_tokenizer *t = NULL;
  ck_assert_msg(open_keys(keys, count, &t) == MICA_OK, "%s", mica_error_message());
  return t;
}

static mica_gguf_value *find(mica_gguf_value *keys, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(keys[i].key, name)) return &keys[i];
  ck_abort_msg("no key %s", name);
  return NULL;
}

START_TEST(byte_level) {
  static const mica_gguf_text gpt2 = {"gpt-2", 5};
  static const uint8_t yes = 1;
  mica_gguf_value keys[12];
  size_t count = 0;
  small_vocabulary_keys(SMALL_BYTE_LEVEL, keys, &count);
  mica_tokenizer *t = opened(keys, count);
  splits(t, "ab ab12<|x|>a<y z>", true,
         "ab \xc4\xa0"
         "ab 1 2 <|x|> a <y z>",
         "ab ab12a<y z>");
  ck_assert(mica_tokenizer_is_special(t, 0) && !mica_tokenizer_is_special(t, 9));
  mica_tokenizer_destroy(t);
  /* GPT-2's pattern leaves digits together; a flag frames a text. */
  find(keys, count, "tokenizer.ggml.pre")->data = &gpt2;
  find(keys, count, "tokenizer.ggml.add_bos_token")->data = &yes;
  t = opened(keys, count);
  splits(t, "12", true, "<|x|> 12", "12");
  splits(t, "12", false, "12", "12");
  mica_tokenizer_destroy(t);
}
END_TEST

/* "_a" or "ab" is merged first, whichever has the better score; Gemma takes the smaller id. */
START_TEST(scores_and_ids) {
  mica_gguf_value keys[12];
  size_t count = 0;
  small_vocabulary_keys(SMALL_LLAMA, keys, &count);
  mica_tokenizer *t = opened(keys, count);
  splits(t, "ab", true, "<s> \xe2\x96\x81 ab", "ab");
  splits(t, "a\xc3\xa9\n b", true,
         "<s> \xe2\x96\x81"
         "a <0xC3> <0xA9> <0x0A> \xe2\x96\x81 b",
         "a\xc3\xa9\n b");
  mica_tokenizer_destroy(t);
  small_vocabulary_keys(SMALL_GEMMA, keys, &count);
  t = opened(keys, count);
  splits(t, " ab", true,
         "<s> \xe2\x96\x81"
         "a b",
         " ab");
  splits(t, "  a<go>", false,
         "\xe2\x96\x81 \xe2\x96\x81"
         "a <go>",
         "  a");
  splits(t, "  b", false, "\xe2\x96\x81\xe2\x96\x81 b", "  b");
  mica_tokenizer_destroy(t);
}
END_TEST

START_TEST(unigram) {
  mica_gguf_value keys[12];
  size_t count = 0;
  small_vocabulary_keys(SMALL_UNIGRAM, keys, &count);
  mica_tokenizer *t = opened(keys, count - 1);
  splits(t, "ab", true,
         "\xe2\x96\x81"
         "a b </s>",
         "ab");
  mica_tokenizer_destroy(t);
}
END_TEST

/* What is saved is a tokenizer.json with the same ids. */
START_TEST(saved_as_json) {
  mica_gguf_value keys[12];
  size_t count = 0, bytes = 0;
  mica_tokenizer *again = NULL;
  small_vocabulary_keys(SMALL_LLAMA, keys, &count);
  mica_tokenizer *t = opened(keys, count);
  const char *json = mica_tokenizer_json(t, &bytes);
  ck_assert_int_eq(mica_tokenizer_open_memory("json", json, bytes, &again), MICA_OK);
  splits(again, "ab", true, "<s> \xe2\x96\x81 ab", "ab");
  mica_tokenizer_destroy(t);
  mica_tokenizer_destroy(again);
}
END_TEST

static const mica_gguf_text unknown_texts[] = {{"rwkv", 4}, {"nobody", 6}, {"a \xff", 3}, {"x y", 3}};
static const int32_t numbers[] = {99, -1, 1};
static const float unordered[13] = {[3] = NAN}, infinite[13] = {[12] = -INFINITY};

static const struct {
  small_vocabulary which;
  const char *key;
  mica_gguf_value value; /* kind 0 and no data: the key is left out */
  mica_status status;
  const char *sentence;
} faults[] = {
    {SMALL_LLAMA,
     "tokenizer.ggml.model",
     {.kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &unknown_texts[0]},
     MICA_E_UNSUPPORTED,
     "'rwkv', but must be gpt2, llama, t5 or bert"},
    {SMALL_LLAMA, "tokenizer.ggml.model", {0}, MICA_E_FORMAT, "tokenizer.ggml.model is missing"},
    {SMALL_LLAMA, "tokenizer.ggml.tokens", {0}, MICA_E_FORMAT, "tokenizer.ggml.tokens is missing"},
    {SMALL_LLAMA, "tokenizer.ggml.scores", {0}, MICA_E_FORMAT, "tokenizer.ggml.scores is missing"},
    {SMALL_UNIGRAM, "tokenizer.ggml.scores", {0}, MICA_E_FORMAT, "tokenizer.ggml.scores is missing"},
    {SMALL_WORDPIECE,
     "tokenizer.ggml.unknown_token_id",
     {0},
     MICA_E_FORMAT,
     "tokenizer.ggml.unknown_token_id is missing"},
    {SMALL_BYTE_LEVEL, "tokenizer.ggml.merges", {0}, MICA_E_FORMAT, "tokenizer.ggml.merges is missing"},
    {SMALL_BYTE_LEVEL,
     "tokenizer.ggml.pre",
     {.kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &unknown_texts[1]},
     MICA_E_UNSUPPORTED,
     "'nobody', which is not supported; choose from default, gpt-2"},
    {SMALL_BYTE_LEVEL,
     "tokenizer.ggml.merges",
     {.kind = MICA_GGUF_KIND_TEXT, .array = true, .count = 1, .data = &unknown_texts[3]},
     MICA_E_FORMAT,
     "'x' is not in vocab"},
    {SMALL_LLAMA,
     "tokenizer.ggml.tokens",
     {.kind = MICA_GGUF_KIND_TEXT, .array = true, .count = 1, .data = &unknown_texts[2]},
     MICA_E_FORMAT,
     "not UTF-8"},
    {SMALL_LLAMA,
     "tokenizer.ggml.scores",
     {.kind = MICA_GGUF_KIND_I32, .array = true, .count = 3, .data = numbers},
     MICA_E_FORMAT,
     "scores has 3 elements, but must have 13"},
    {SMALL_LLAMA,
     "tokenizer.ggml.token_type",
     {.kind = MICA_GGUF_KIND_I32, .array = true, .count = 2, .data = numbers},
     MICA_E_FORMAT,
     "token_type has 2 elements, but must have 13"},
    {SMALL_LLAMA,
     "tokenizer.ggml.scores",
     {.kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = unknown_texts},
     MICA_E_FORMAT,
     "scores is not a list of numbers"},
    {SMALL_LLAMA,
     "tokenizer.ggml.scores",
     {.kind = MICA_GGUF_KIND_F32, .array = true, .count = 13, .data = unordered},
     MICA_E_FORMAT,
     "scores: element 3 is not a finite number"},
    {SMALL_LLAMA,
     "tokenizer.ggml.scores",
     {.kind = MICA_GGUF_KIND_F32, .array = true, .count = 13, .data = infinite},
     MICA_E_FORMAT,
     "scores: element 12 is not a finite number"},
    {SMALL_LLAMA,
     "tokenizer.ggml.bos_token_id",
     {.kind = MICA_GGUF_KIND_I32, .count = 1, .data = &numbers[0]},
     MICA_E_FORMAT,
     "bos_token_id is 99, but must be at least 0 and less than the number of tokens, 13"},
    {SMALL_LLAMA,
     "tokenizer.ggml.unknown_token_id",
     {.kind = MICA_GGUF_KIND_I32, .count = 1, .data = &numbers[1]},
     MICA_E_FORMAT,
     "unknown_token_id is -1"},
};

START_TEST(wrong_keys) {
  mica_gguf_value keys[12];
  size_t count = 0;
  mica_tokenizer *t = NULL;
  small_vocabulary_keys(faults[_i].which, keys, &count);
  mica_gguf_value *key = find(keys, count, faults[_i].key);
  if (faults[_i].value.data) {
    *key = faults[_i].value;
    key->key = faults[_i].key;
  } else {
    *key = keys[--count];
  }
  ck_assert_msg(open_keys(keys, count, &t) == faults[_i].status, "%s", mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), faults[_i].sentence) != NULL, "%s", mica_error_message());
  ck_assert_ptr_null(t);
}
END_TEST

/* Adds ids one by one and joins the pieces with "|"; empty pieces show as nothing between. */
static void streams(const mica_tokenizer *t, const mica_text_stream_config *config, const int32_t *ids, size_t count,
                    const char *wanted, bool wants_stop) {
  mica_text_stream *stream = NULL;
  ck_assert_int_eq(mica_text_stream_create(t, config, &stream), MICA_OK);
  for (int round = 0; round < 2; round++) { /* the second one after a reset */
    mica__text joined = {0};
    const char *text = NULL;
    size_t bytes = 0;
    bool stopped = false;
    for (size_t i = 0; i < count; i++) {
      ck_assert_msg(mica_text_stream_add(stream, ids[i], &text, &bytes, &stopped) == MICA_OK, "%s",
                    mica_error_message());
      mica__text_add_bytes(&joined, text, bytes);
      mica__text_add(&joined, "|");
    }
    ck_assert_int_eq(mica_text_stream_end(stream, &text, &bytes), MICA_OK);
    mica__text_add_bytes(&joined, text, bytes);
    ck_assert_str_eq(joined.data, wanted);
    ck_assert_int_eq(stopped, wants_stop);
    mica__text_free(&joined);
    mica_text_stream_reset(stream);
  }
  mica_text_stream_destroy(stream);
}

START_TEST(texts_as_they_come) {
  /* <s> _a <0xC3> <0xA9> _ b ab */
  static const int32_t ids[] = {1, 9, 4, 5, 6, 8, 10}, cut[] = {9, 4}, wrong[] = {9, 5, 7, 4, 7};
  static const char *const stops[] = {" bx", "ba"}, *const empty[] = {""};
  mica_gguf_value keys[12];
  size_t count = 0, bytes = 0;
  const char *text = NULL;
  mica_text_stream *stream = NULL;
  small_vocabulary_keys(SMALL_LLAMA, keys, &count);
  mica_tokenizer *t = opened(keys, count);
  streams(t, NULL, ids, 7, "|a||\xc3\xa9| |b|ab|", false);
  streams(t, &(mica_text_stream_config){.keep_special = true}, ids, 2, "<s>| a|", false);
  /* Half a character at the end, and bytes that begin none. */
  streams(t, NULL, cut, 2, "a||\xef\xbf\xbd", false);
  streams(t, NULL, wrong, 5,
          "a||\xef\xbf\xbd"
          "a||\xef\xbf\xbd"
          "a|",
          false);
  /* " b" may become " bx"; "ba" is completed by the last token. */
  streams(t, &(mica_text_stream_config){.stops = stops, .stop_count = 1}, ids, 7, "|a||\xc3\xa9||| bab|", false);
  streams(t, &(mica_text_stream_config){.stops = stops, .stop_count = 2}, ids, 7, "|a||\xc3\xa9||| |", true);
  ck_assert_int_eq(mica_text_stream_create(t, &(mica_text_stream_config){.stops = empty, .stop_count = 1}, &stream),
                   MICA_E_INVALID);
  ck_assert_int_eq(mica_text_stream_create(NULL, NULL, &stream), MICA_E_INVALID);
  ck_assert_int_eq(mica_text_stream_create(t, NULL, &stream), MICA_OK);
  ck_assert_int_eq(mica_text_stream_add(stream, 99, &text, &bytes, NULL), MICA_E_INVALID);
  mica_text_stream_destroy(stream);
  mica_tokenizer_destroy(t);
}
END_TEST

START_TEST(null_arguments) {
  mica_tokenizer *t = NULL;
  ck_assert_int_eq(mica_tokenizer_open_gguf("x", NULL, &t), MICA_E_INVALID);
  ck_assert_int_eq(mica_tokenizer_open("no-such-file.gguf", &t), MICA_E_NOT_FOUND);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, byte_level, scores_and_ids, unigram, saved_as_json,
      LOOP(wrong_keys, 0, (int)(sizeof faults / sizeof *faults)), texts_as_they_come, null_arguments)

#else
SKIPS("tokenisers need cJSON, PCRE2 and utf8proc")
#endif
