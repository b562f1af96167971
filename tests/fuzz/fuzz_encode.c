/* Encoding: any bytes by tokenisers of every model. What is byte-level comes back byte for byte. */
#include "fuzz/fuzz.h"

#include <mica/tokenizer.h>
#include <stdlib.h>
#include <string.h>

#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define ADDED                                                                                                          \
  "\"added_tokens\":[{\"id\":50,\"content\":\"<m>\",\"lstrip\":true,\"rstrip\":true,\"special\":true},"                \
  "{\"id\":51,\"content\":\"word\",\"single_word\":true,\"normalized\":true}],"

/* All but the first, which is trained. */
static const char *const files[] = {
    "{" ADDED "\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"decoder\":{\"type\":\"WordPiece\"},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"a\","
    "\"continuing_subword_prefix\":\"##\",\"vocab\":{\"a\":0,\"b\":1,\"##b\":2,\"##ab\":3}}}",
    "{" ADDED
    "\"normalizer\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"first\"},"
    "\"decoder\":{\"type\":\"Metaspace\"},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"u\",0],[\"a\",-1],"
    "[\"ab\",-1.5],[\"\xe2\x96\x81\",-2],[\"\xe2\x96\x81"
    "a\",-1]]}}",
    "{" ADDED "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":\"StripAccents\"},"
    "{\"type\":\"Lowercase\"},{\"type\":\"Strip\"}]},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^\\\\s\\\\d]+|\\\\d{1,3}\"},\"behavior\":\"MergedWithPrevious\"},"
    "{\"type\":\"Whitespace\"},{\"type\":\"Punctuation\"}]},\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\","
    "\"vocab\":{\"u\":0,\"a\":1}}}",
    "{" ADDED "\"pre_tokenizer\":{\"type\":\"Digits\"},\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
    "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},\"model\":{\"type\":\"BPE\",\"unk_token\":\"u\",\"fuse_unk\":"
    "true,"
    "\"byte_fallback\":true,\"vocab\":{\"u\":0,\"a\":1,\"b\":2,\"ab\":3,\"aba\":4,\"<0xC3>\":5,\"<0xA9>\":6},"
    "\"merges\":[\"a b\",\"ab a\"]}}"};
#define COUNT (1 + sizeof files / sizeof *files)

#if MICA_WITH_CJSON && MICA_WITH_PCRE2 && MICA_WITH_UTF8PROC

static mica_status next_text(void *user, const char **text, size_t *bytes) {
  int *calls = user;
  *text = (*calls)++ < 2 ? "the theory of the other the abab ababab" : NULL;
  *bytes = *text ? strlen(*text) : 0;
  return MICA_OK;
}

static mica_tokenizer *tokenizer_of(size_t index) {
  static mica_tokenizer *made[COUNT];
  int calls = 0;
  if (made[index]) return made[index];
  const mica_status status =
      index == 0 ? mica_tokenizer_train(&(mica_tokenizer_config){.size = 280}, next_text, &calls, &made[0])
                 : mica_tokenizer_open_memory("fuzz", files[index - 1], strlen(files[index - 1]), &made[index]);
  if (status != MICA_OK) abort();
  return made[index];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static mica_encoding encoding; /* what it remembers must not change what is found */
  char *text = NULL;
  size_t bytes = 0;
  if (size == 0) return 0;
  const size_t index = data[0] % COUNT;
  const mica_tokenizer *tokenizer = tokenizer_of(index);
  if (mica_tokenizer_encode(tokenizer, (const char *)data + 1, size - 1, NULL, &encoding) != MICA_OK) {
    if (index == 0) abort();
    return 0;
  }
  if (mica_tokenizer_decode(tokenizer, encoding.ids, encoding.count, false, &text, &bytes) != MICA_OK) abort();
  if (index == 0 && (bytes != size - 1 || memcmp(text, data + 1, bytes))) abort();
  mica_free(text);
  return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return (void)files, (void)data, (void)size, 0; }

#endif

bool fuzz_seed(size_t index, mica__text *seed) {
  if (index >= COUNT) return false;
  mica__text_addf(seed, "%c", (char)('A' + index)); /* 'A' is a multiple of COUNT */
  mica__text_add(seed, " the word's <m> abab 12 caf\xc3\xa9 \xf0\x9f\x98\x80\n\xe2\x80\x8b e\xcc\x81");
  return true;
}
