/* The reader of tokenizer.json; what opens encodes a text and decodes its ids. */
#include "fuzz/fuzz.h"

#include <mica/gguf.h>
#include <mica/tokenizer.h>
#include <stdlib.h>

#if MICA_WITH_CJSON

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char text[] = "The caf\xc3\xa9's 12 <s>low</s>  lower\n\xf0\x9f\x98\x80 ab";
  mica_tokenizer *tokenizer = NULL;
  mica_encoding encoding = {0};
  char *back = NULL;
  size_t bytes = 0;
  if (mica_tokenizer_open_memory("fuzz", data, size, &tokenizer) != MICA_OK) return 0;
  const mica_encode_config config = {.special = true, .second = "low lower", .second_bytes = 9};
  if (mica_tokenizer_encode(tokenizer, text, sizeof text - 1, &config, &encoding) == MICA_OK) {
    for (size_t i = 0; i < encoding.count; i++)
      if (!mica_tokenizer_token(tokenizer, encoding.ids[i])) abort();
    if (mica_tokenizer_decode(tokenizer, encoding.ids, encoding.count, true, &back, &bytes) == MICA_OK) mica_free(back);
  }
  mica_encoding_free(&encoding);
  mica_tokenizer_destroy(tokenizer);
  mica_gguf_keys *keys = NULL;
  if (mica_gguf_keys_create(&keys) == MICA_OK)
    (void)!mica_tokenizer_gguf_keys("fuzz", (const char *)data, size, 64, keys);
  mica_gguf_keys_destroy(keys);
  return 0;
}

#define TOKEN(id, text, more)                                                                                          \
  "{\"id\":" #id ",\"content\":\"" text "\",\"single_word\":false,\"lstrip\":" more ",\"special\":true}"
#define TYPE(type) "{\"type\":\"" type "\"}"

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"added_tokens\":[" TOKEN(
          0, "<s>", "true") "],\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true},"
                            "\"decoder\":" TYPE("ByteLevel") ",\"model\":{\"type\":\"BPE\",\"vocab\":{\"<s>\":"
                                                             "0,\"l\":1,\"o\":2,\"w\":3,\"lo\":4,"
                                                             "\"low\":5,\"\xc4\xa0\":6},\"merges\":[\"l "
                                                             "o\",[\"lo\",\"w\"]],\"ignore_merges\":true}}",
      "{\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":true},\"pre_tokenizer\":" TYPE(
          "BertPreTokenizer") ","
                              "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{"
                              "\"SpecialToken\":{\"id\":\"C\",\"type_id\":0}},"
                              "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"Sequence\":{\"id\":"
                              "\"A\",\"type_id\":0}},{\"Sequence\":"
                              "{\"id\":\"B\",\"type_id\":1}}],\"special_tokens\":{\"C\":{\"id\":\"C\",\"ids\":["
                              "1],\"tokens\":[\"C\"]}}},"
                              "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
                              "\"model\":{\"type\":\"WordPiece\","
                              "\"unk_token\":\"U\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_"
                              "word\":20,\"vocab\":{\"U\":0,\"C\":1,"
                              "\"low\":2,\"##er\":3}}}",
      "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" TYPE(
          "NFKC") ",{\"type\":\"Strip\"},{\"type\":\"Replace\","
                  "\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" "
                  "\"},{\"type\":\"Prepend\",\"prepend\":\"x\"}]},\"pre_tokenizer\":"
                  "{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\",\"prepend_scheme\":\"first\","
                  "\"split\":true},\"decoder\":"
                  "{\"type\":\"Metaspace\"},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":"
                  "true,\"vocab\":[[\"<u>\",0],"
                  "[\"\xe2\x96\x81low\",-2.5],[\"l\",-4],[\"er\",-3],[\"<0xC3>\",-9],[\"<0xA9>\",-9]]}}",
      "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
      "\"\\\\w+|\\\\s\"},"
      "\"behavior\":\"MergedWithNext\",\"invert\":true},{\"type\":\"Digits\",\"individual_digits\":true},{"
      "\"type\":"
      "\"Punctuation\",\"behavior\":\"Contiguous\"},{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"b\"}"
      "," TYPE("WhitespaceSplit") "," TYPE(
          "Whitespace") "]},\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\"a\",0],"
                        "\"cls\":[\"b\",1]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":"
                        "\"Replace\",\"pattern\":{\"String\":\"a\"},"
                        "\"content\":\"c\"}," TYPE("ByteFallback") "," TYPE(
                            "Fuse") ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0},"
                                    "{\"type\":\"BPEDecoder\",\"suffix\":\"w\"}]},\"model\":{\"type\":"
                                    "\"WordLevel\",\"vocab\":{\"a\":0,\"b\":1,\"low\":2},"
                                    "\"unk_token\":\"a\"}}",
      "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" TYPE("Nmt") "," TYPE("NFD") "," TYPE(
          "StripAccents") "," TYPE("Lowercase") "]},\"added_tokens\":[{\"id\":9,\"content\":\"Lower\",\"single_"
                                                "word\":true,\"rstrip\":true,"
                                                "\"normalized\":true,\"special\":false}],\"model\":{\"type\":"
                                                "\"BPE\",\"unk_token\":\"u\",\"fuse_unk\":true,"
                                                "\"continuing_subword_prefix\":\"#\",\"end_of_word_suffix\":"
                                                "\"w\",\"vocab\":{\"u\":0,\"t\":1,\"#h\":2,\"th\":3,\"#e\":4,"
                                                "\"the\":5},\"merges\":[[\"t\",\"#h\"],[\"th\",\"#e\"]]}}"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return (void)data, (void)size, 0; }
bool fuzz_seed(size_t index, mica__text *seed) {
  mica__text_add(seed, "{}");
  return index == 0;
}

#endif
