/* JSON schemas, and behind a '/' regular expressions: what is read can be followed to an end, byte by byte. */
#include "fuzz/fuzz.h"

#include <mica/grammar.h>
#include <stdlib.h>

/* A byte that the mask allows, the n-th after the byte that `random` names; -1: none. */
static int pick(const uint32_t mask[8], uint32_t random) {
  for (uint32_t i = 0; i < 256; i++) {
    const uint32_t byte = (random + i) % 256;
    if (mask[byte / 32] >> byte % 32 & 1) return (int)byte;
  }
  return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_grammar *g = NULL;
  uint32_t mask[8], random = 1;
  const char *text = (const char *)data;
  const bool regex = size > 0 && data[0] == '/';
  const mica_grammar_config config = {.blanks = (mica_grammar_blanks)(size % 3)};
  const mica_status status = regex ? mica_grammar_create_regex(text + 1, size - 1, NULL, &config, &g)
                                   : mica_grammar_create_schema(text, size, NULL, &config, &g);
  if (status != MICA_OK) return 0;
  for (int i = 0; i < 100; i++) {
    if (mica_grammar_mask(g, mask) != MICA_OK) {
      if (mica_error_status() != MICA_E_UNSUPPORTED) abort();
      break;
    }
    random = random * 1664525 + 1013904223 + (size ? data[(size_t)i % size] : 0u);
    const int byte = pick(mask, random >> 16);
    if (byte < 0 && !mica_grammar_may_end(g)) abort();
    if (byte < 0) break;
    if (mica_grammar_accept(g, byte) != MICA_OK) abort();
  }
  mica_grammar_destroy(g);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120},\"b\":{"
      "\"enum\":"
      "[1,null,\"x\\u0001\",[{}]]}},\"required\":[\"b\",\"c\"],\"additionalProperties\":{\"type\":\"string\","
      "\"maxLength\":"
      "3},\"patternProperties\":{\"^p\":false},\"minProperties\":2,\"maxProperties\":4}",
      "{\"$defs\":{\"n\":{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#/$defs/"
      "l\"}]},\"l\":{\"type\":\"array\",\"prefixItems\""
      ":[{\"type\":\"number\",\"multipleOf\":0.25,\"exclusiveMaximum\":7.5}],\"items\":{\"$ref\":\"#/$defs/"
      "n\"},\"minItems\":1"
      ",\"maxItems\":3,\"uniqueItems\":false}},\"$ref\":\"#/$defs/n\"}",
      "{\"allOf\":[{\"type\":[\"string\",\"object\"],\"pattern\":\"^[a-f\\u00e9]+\\\\d{2}|x$\",\"minLength\":2},{"
      "\"maxLength\":"
      "5}],\"propertyNames\":{\"pattern\":\"^k\"},\"title\":\"t\",\"x-more\":1}",
      "{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"a\"}},\"required\":[\"k\"]},{\"type\":"
      "\"object\","
      "\"properties\":{\"k\":{\"const\":\"b\"},\"t\":{\"format\":\"date-time\"}},\"required\":[\"k\"]},{\"type\":"
      "\"boolean\"}]}",
      "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}},{\"type\":\"array\","
      "\"items\":{"
      "\"$ref\":\"#/items\"},\"maxItems\":2}]}}",
      "/^(?:[^a-c\\]\\s]|\\u{1F600}|x{2,5}?(y|z)*)+\\.\\w\\D\\x41$",
      "/^[^]s$"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
