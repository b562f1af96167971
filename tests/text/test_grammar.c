/* labels: null single
 *
 * Grammars: texts that schemas and patterns accept, random walks through the masks of 64 schemas (schemas.json), and
 * what is refused. test_grammar_oracle.sh compares them with jsonschema and llguidance. */
#include "support/check_main.h"
#include "support/fault_libc.h"
#include "support/files.h"
#include "text/grammar/schema.h"

#include <check.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_grammar *make(const char *schema, const mica_tokenizer *tokenizer, mica_grammar_config config) {
  mica_grammar *g = NULL;
  ck_assert_msg(mica_grammar_create_schema(schema, strlen(schema), tokenizer, &config, &g) == MICA_OK, "%s: %s", schema,
                mica_error_message());
  return g;
}

static bool matches(mica_grammar *g, const char *text) {
  mica_grammar_reset(g);
  return mica_grammar_accept_text(g, text, strlen(text)) == MICA_OK && mica_grammar_may_end(g);
}

static const struct {
  const char *schema;
  const char *yes[6], *no[6];
} values[] = {
    {"{}", {"1", "[1, {\"a\": null}]", "\"\"", "true", "-0.5e+10"}, {"", "01", "[1,]", "{a:1}", " 1", "nul"}},
    {"{\"type\":\"string\"}",
     {"\"\xc3\xa9\"", "\"\\n\\u001F\\\"\\\\\"", "\"\xf4\x8f\xbf\xbf\"", "\"\\u007f\""},
     {"\"\\x\"", "\"\t\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\"\\u0041\"", "\"\xf4\x90\x80\x80\""}},
    {"{\"type\":\"integer\"}",
     {"0", "-7", "12345678901234567890"},
     {"1.0", "1e3", "-", "00", "+1", "123456789012345678901"}},
    {"{\"type\":\"number\"}",
     {"0.12345678901234567890", "-12345678901234567890.5E-308", "1e+99"},
     {"0.123456789012345678901", "123456789012345678901.5", "1e1000", "1.", ".5", "1e"}},
    {"{\"type\":\"string\",\"format\":\"duration\"}", {"\"P123456789D\""}, {"\"P1234567890D\"", "\"P\""}},
    {"{\"type\":\"string\",\"format\":\"email\"}",
     {"\"a.b.c.d@e.fg\"", "\"a@b.c.d.e.f.g.h.i\""},
     {"\"a.b.c.d.e@f.gh\"", "\"a@b.c.d.e.f.g.h.i.j\"", "\"a@b\""}},
    {"{\"type\":\"integer\",\"minimum\":7}", {"7", "12345678901234567890"}, {"6", "123456789012345678901"}},
    {"{\"type\":\"integer\",\"multipleOf\":2000}",
     {"0", "12000", "12345678901234564000"},
     {"1000", "123456789012345678000"}},
    {"{\"type\":\"integer\",\"multipleOf\":10000}", {"0", "20000"}, {"1000"}},
    {"{\"enum\":[0,4000000000000000000,-6000000000000000000,7000000000000000000,1e10],\"multipleOf\":2e18}",
     {"0", "4000000000000000000", "-6000000000000000000"},
     {"7000000000000000000", "10000000000", "1e10", "1e+10"}},
    {"{\"enum\":[3e18,4.5e18,0.125],\"multipleOf\":1500000000000000000}", {"3e+18", "4.5e+18"}, {"0.125"}},
    {"{\"enum\":[6e30,7e30,0.0625],\"multipleOf\":3e30}", {"6e+30"}, {"7e+30", "0.0625"}},
    {"{\"type\":\"number\",\"maximum\":0.5}",
     {"0.5", "-12345678901234567890", "0.12345678901234567890"},
     {"0.123456789012345678901", "-123456789012345678901", "0.6"}},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"},\"b\":{\"type\":\"null\"}},\"required\":[\"b\"]}",
     {"{\"b\":null}", "{\"a\": null, \"b\": null}", "{\"b\":null,\"c\":1,\"c\":2}", "{\n  \"b\": null\n}"},
     {"{}", "{\"b\":null,\"a\":null}", "{\"a\":null}", "{\"b\":1}", "{\"b\":null,}", "{\"b\":null,\"b\":null}"}},
    {"{\"type\":\"object\",\"required\":[\"z\"],\"properties\":{\"a\":false}}",
     {"{\"z\":1}", "{\"z\":{},\"y\":0}"},
     {"{\"a\":1,\"z\":1}", "{\"z\":1,\"a\":1}", "{}"}},
    {"{\"type\":\"array\",\"items\":{\"enum\":[1,12]},\"maxItems\":2,\"minItems\":1}",
     {"[1]", "[12,1]", "[ 1 , 12 ]"},
     {"[]", "[1,1,1]", "[121]", "[2]"}},
    {"{\"type\":\"array\",\"items\":[{\"type\":\"null\"}],\"additionalItems\":{\"type\":\"boolean\"}}",
     {"[]", "[null]", "[null,true,false]"},
     {"[true]", "[null,null]"}},
    {"{\"enum\":[1.5,100,\"a\\u0000b\",\"1\"],\"const\":100}", {"100"}, {"1.5", "1", "\"1\"", "10"}},
    {"{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},\"maxItems\":1}]}",
     {"null", "[[[null]]]", "[[[]]]"},
     {"[null,null]", "[1]"}},
    {"{\"type\":\"string\",\"maxLength\":2,\"minLength\":1}",
     {"\"a\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"", "\"\\n\\n\""},
     {"\"\"", "\"abc\"", "\"\\n\\n\\n\""}},
    {"{\"type\":\"string\",\"minLength\":1.0,\"maxLength\":1e300}", {"\"a\"", "\"abc\""}, {"\"\""}},
    {"{\"type\":\"array\",\"maxItems\":9223372036854775808.0}", {"[]", "[1,2]"}, {"[", "1"}},
    {"{\"type\":\"object\",\"maxProperties\":1e400}", {"{}", "{\"a\":1}"}, {"{", "1"}},
};

START_TEST(texts_are_accepted) {
  mica_grammar *g = make(values[_i].schema, NULL, (mica_grammar_config){0});
  for (int i = 0; i < 6 && values[_i].yes[i]; i++)
    ck_assert_msg(matches(g, values[_i].yes[i]), "%s: %s", values[_i].schema, values[_i].yes[i]);
  for (int i = 0; i < 6 && values[_i].no[i]; i++)
    ck_assert_msg(!matches(g, values[_i].no[i]), "%s: %s", values[_i].schema, values[_i].no[i]);
  mica_grammar_destroy(g);
}
END_TEST

START_TEST(blanks) {
  static const char *const texts[] = {
      "{\"a\":[1,2]}",     "{ \"a\" : [ 1 , 2 ] }", "{\n\t\"a\": [\n\n    1,\n    2]\n}",
      "{\r\n\"a\":[1,2]}", "{  \"a\":[1,2]}",       " {\"a\":[1,2]}"};
  static const int wanted[][6] = {{1, 1, 1, 0, 0, 0}, {1, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 0}};
  for (int k = 0; k < 3; k++) {
    mica_grammar *g = make("{\"type\":\"object\"}", NULL, (mica_grammar_config){.blanks = (mica_grammar_blanks)k});
    for (int i = 0; i < 6; i++) ck_assert_msg(matches(g, texts[i]) == wanted[k][i], "%d: %s", k, texts[i]);
    mica_grammar_destroy(g);
  }
}
END_TEST

/* --- random walks --- */

typedef struct walker {
  uint64_t seed;
  mica__text text;
  bool quoted, escaped;
} walker;

static uint32_t draw(walker *w, uint32_t below) {
  w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((w->seed >> 33) % below);
}

static void add(walker *w, char c) {
  mica__text_add_bytes(&w->text, &c, 1);
  if (w->quoted && !w->escaped && c == '\\') {
    w->escaped = true;
    return;
  }
  if (c == '"' && !w->escaped) w->quoted = !w->quoted;
  w->escaped = false;
}

/* A byte of the mask (-1: it has none): any, or, `ending`, one that closes what is open if there is such a one. */
static int pick(walker *w, const uint32_t mask[8], bool ending) {
  static const char closing[] = "}]ntf,0123456789\"";
  int bytes[256], count = 0;
  for (int i = 0; i < 256; i++)
    if (mask[i / 32] >> (i % 32) & 1) bytes[count++] = i;
  if (count == 0) return -1;
  if (ending && w->quoted && mask['"' / 32] >> ('"' % 32) & 1) return '"';
  for (const char *c = closing; ending && !w->quoted && *c; c++)
    if (mask[*c / 32] >> (*c % 32) & 1) return *c;
  return bytes[draw(w, (uint32_t)count)];
}

static void check_value(const char *schema_json, const char *text, size_t bytes) {
  mica__automaton automaton = {0};
  mica__grammar_schema s = {.automaton = &automaton};
  mica__object value;
  bool admits = false;
  ck_assert_int_eq(mica__object_read_json(&s.arena, schema_json, strlen(schema_json), &s.document), MICA_OK);
  ck_assert_msg(mica__object_read_json(&s.arena, text, bytes, &value) == MICA_OK, "%s: %.*s: %s", schema_json,
                (int)bytes, text, mica_error_message());
  ck_assert_msg(mica__schema_admits(&s, &s.document, &value, &admits) == MICA_OK, "%s: %s", schema_json,
                mica_error_message());
  ck_assert_msg(admits, "%s: %.*s", schema_json, (int)bytes, text);
  mica__arena_free(&s.arena);
}

static void walk(mica_grammar *g, walker *w, const char *schema) {
  uint32_t mask[8];
  w->text.length = 0;
  w->quoted = w->escaped = false;
  mica_grammar_reset(g);
  for (int steps = 0;; steps++) {
    ck_assert_msg(steps < 5000, "%s: %.*s", schema, (int)(w->text.length % 1000), w->text.data);
    if (mica_grammar_may_end(g) && (steps > 60 || draw(w, 4) == 0)) break;
    ck_assert_msg(mica_grammar_mask(g, mask) == MICA_OK, "%s: %.*s: %s", schema, (int)w->text.length, w->text.data,
                  mica_error_message());
    const int byte = pick(w, mask, steps > 60);
    if (byte < 0) break;
    add(w, (char)byte);
    ck_assert_msg(mica_grammar_accept(g, byte) == MICA_OK, "%s", mica_error_message());
  }
  ck_assert_msg(mica_grammar_may_end(g), "%s: %.*s", schema, (int)(w->text.length % 1000), w->text.data);
}

START_TEST(random_walks_are_valid) {
  mica__arena arena = {0};
  mica__object list;
  size_t bytes;
  char path[1024];
  ck_assert_ptr_nonnull(getenv("MICA_SOURCE_DIR"));
  snprintf(path, sizeof path, "%s/tests/text/schemas.json", getenv("MICA_SOURCE_DIR"));
  char *json = (char *)files_read(path, &bytes);
  ck_assert_msg(mica__object_read_json(&arena, json, bytes, &list) == MICA_OK, "%s", mica_error_message());
  ck_assert_uint_ge(list.count, 60);
  for (size_t i = 0; i < list.count; i++) {
    const mica__json_style style = {.comma = ",", .colon = ":", .ascii = true};
    mica__text schema = {0};
    ck_assert_int_eq(mica__object_write_json(&schema, &list.as.items[i], &style), MICA_OK);
    mica_grammar *g = make(schema.data, NULL, (mica_grammar_config){0});
    walker w = {.seed = i + 1};
    for (int k = 0; k < 50; k++) {
      walk(g, &w, schema.data);
      check_value(schema.data, w.text.data, w.text.length);
    }
    mica__text_free(&w.text);
    mica__text_free(&schema);
    mica_grammar_destroy(g);
  }
  mica__arena_free(&arena);
  free(json);
}
END_TEST

/* --- tokens --- */

static mica_status next_text(void *user, const char **text, size_t *bytes) {
  int *left = user;
  *text = (*left)-- > 0 ? "{\"a\": 12.5, \"b\": \"\xc3\xa9\xe2\x82\xac\xe2\x82\xad\"}" : NULL;
  *bytes = *text ? strlen(*text) : 0;
  return MICA_OK;
}

/* A token is in the mask if its bytes fit, wherever it begins and ends. */
static void check_mask(mica_grammar *g, const mica_tokenizer *t, const char *prefix, size_t bytes) {
  uint32_t mask[64];
  ck_assert_uint_le(mica_grammar_mask_words(g), 64);
  mica_grammar_reset(g);
  ck_assert_int_eq(mica_grammar_accept_text(g, prefix, bytes), MICA_OK);
  ck_assert_int_eq(mica_grammar_mask(g, mask), MICA_OK);
  for (int32_t id = 0; id < mica_tokenizer_size(t); id++) {
    char *text = NULL;
    size_t length;
    ck_assert_int_eq(mica_tokenizer_decode(t, &id, 1, false, &text, &length), MICA_OK);
    mica_grammar_reset(g);
    ck_assert_int_eq(mica_grammar_accept_text(g, prefix, bytes), MICA_OK);
    const bool fits = mica_grammar_accept_text(g, text, length) == MICA_OK;
    ck_assert_msg(fits == (mask[id / 32] >> id % 32 & 1), "%.*s: token %d", (int)bytes, prefix, (int)id);
    mica_free(text);
  }
}

START_TEST(tokens_begin_and_end_anywhere) {
  static const char text[] = "{\"a\": 12.5, \"b\": \"\xc3\xa9\xe2\x82\xac\xe2\x82\xad\"}";
  mica_tokenizer *t = NULL;
  int left = 40;
  const mica_tokenizer_config config = {.kind = MICA_TOKENIZER_KIND_BPE, .size = 300};
  const mica_status status = mica_tokenizer_train(&config, next_text, &left, &t);
  if (status == MICA_E_UNSUPPORTED) {
    puts("SKIP: tokens, no cJSON or PCRE2");
    return;
  }
  ck_assert_msg(status == MICA_OK, "%s", mica_error_message());
  ck_assert_int_gt(mica_tokenizer_size(t), 256);
  mica_grammar *g = make("{\"properties\":{\"a\":{\"type\":\"number\",\"maximum\":20}},\"type\":\"object\"}", t,
                         (mica_grammar_config){0});
  for (size_t i = 0; i < sizeof text; i++) check_mask(g, t, text, i);
  mica_grammar_destroy(g);
  mica_tokenizer_destroy(t);
}
END_TEST

START_TEST(ends) {
  const int32_t end = 7;
  mica_grammar *g = NULL;
  uint32_t mask[8];
  const mica_grammar_config config = {.ends = &end, .end_count = 1};
  ck_assert_int_eq(mica_grammar_create_regex("^ab*|\\d{2}$", 11, NULL, &config, &g), MICA_OK);
  ck_assert_int_eq(mica_grammar_accept(g, end), MICA_E_INVALID);
  ck_assert_int_eq(mica_grammar_accept(g, 'b'), MICA_E_INVALID);
  ck_assert_int_eq(mica_grammar_accept(g, 256), MICA_E_INVALID);
  ck_assert_int_eq(mica_grammar_accept(g, 'a'), MICA_OK);
  ck_assert_int_eq(mica_grammar_mask(g, mask), MICA_OK);
  ck_assert_uint_eq(mask[0], 1u << end);
  ck_assert_uint_eq(mask['b' / 32], 1u << 'b' % 32);
  ck_assert_int_eq(mica_grammar_accept(g, end), MICA_OK);
  ck_assert_int_eq(mica_grammar_accept(g, 'b'), MICA_E_INVALID);
  ck_assert_int_eq(mica_grammar_mask(g, mask), MICA_OK);
  ck_assert_uint_eq(mask['b' / 32], 0);
  ck_assert(matches(g, "42") && !matches(g, "4") && !matches(g, "a42"));
  mica_grammar_destroy(g);
}
END_TEST

/* Each '[' may be read in two ways; 2^60 texts of calls would not fit. */
START_TEST(ambiguous_texts_stay_small) {
  char text[121];
  mica_grammar *g =
      make("{\"anyOf\":[{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}},{\"type\":\"array\",\"items\":{\"$ref\":"
           "\"#\"},\"maxItems\":1}]}",
           NULL, (mica_grammar_config){0});
  memset(text, '[', 60);
  memset(text + 60, ']', 60);
  text[120] = '\0';
  ck_assert(matches(g, text));
  mica_grammar_destroy(g);
}
END_TEST

/* --- refusals and faults --- */

static const struct {
  const char *schema;
  mica_status status;
  const char *says;
} wrong[] = {
    {"{", MICA_E_FORMAT, "byte 1"},
    {"{\"properties\":{\"a\":{\"not\":{}}}}", MICA_E_UNSUPPORTED, "#/properties/a/not: Mica does not have"},
    {"{\"items\":{\"uniqueItems\":true}}", MICA_E_UNSUPPORTED, "#/items/uniqueItems: a grammar cannot compare"},
    {"{\"maxLenght\":3}", MICA_E_UNSUPPORTED, "#/maxLenght"},
    {"{\"format\":\"color\"}", MICA_E_UNSUPPORTED, "#/format: the format \"color\" is not known; choose from date"},
    {"{\"$ref\":\"other.json#/a\"}", MICA_E_UNSUPPORTED, "#/$ref: \"other.json#/a\" is outside"},
    {"{\"$ref\":\"#/$defs/a\"}", MICA_E_INVALID, "does not exist in the schema"},
    {"{\"$ref\":\"#\"}", MICA_E_INVALID, "#: references form a cycle"},
    {"{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#\"}]}", MICA_E_INVALID, "references form a cycle"},
    {"{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"allOf\":[{\"$ref\":\"#/$defs/a\"}]}},\"$ref\":\"#/$defs/a\"}",
     MICA_E_INVALID, "#/$defs/a: references form a cycle"},
    {"{\"required\":[\"a\"],\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}}}", MICA_E_INVALID,
     "no value satisfies the grammar"},
    {"{\"enum\":[1,2],\"minimum\":3}", MICA_E_INVALID, "no value satisfies the grammar"},
    {"false", MICA_E_INVALID, "no value satisfies the grammar"},
    {"[]", MICA_E_INVALID, "a schema must be an object"},
    {"{\"type\":\"strin\"}", MICA_E_INVALID, "#/type: a type must be null"},
    {"{\"properties\":{\"a/b~\":{\"minLength\":-1}}}", MICA_E_INVALID,
     "#/properties/a~1b~0/minLength: the value must be a whole"},
    {"{\"minItems\":0.5}", MICA_E_INVALID, "#/minItems: the value must be a whole number of 0 or more"},
    {"{\"minLength\":-1e300}", MICA_E_INVALID, "#/minLength: the value must be a whole number of 0 or more"},
    {"{\"required\":[1]}", MICA_E_INVALID, "#/required: the value must be a list of texts"},
    {"{\"multipleOf\":0}", MICA_E_INVALID, "#/multipleOf: the value must be above 0"},
    {"{\"exclusiveMinimum\":true}", MICA_E_INVALID, "#/exclusiveMinimum: the value must be a number"},
    {"{\"minimum\":1e300}", MICA_E_UNSUPPORTED, "#/minimum: the number has more than 40 digits"},
    {"{\"type\":\"string\",\"maxLength\":200000}", MICA_E_UNSUPPORTED, "more than 100000 states"},
    {"{\"type\":\"string\",\"minLength\":1e300}", MICA_E_UNSUPPORTED, "more than 100000 states"},
    {"{\"type\":\"string\",\"minLength\":9223372036854775808.0}", MICA_E_UNSUPPORTED, "more than 100000 states"},
    {"{\"type\":\"array\",\"minItems\":1e400}", MICA_E_UNSUPPORTED, "more than 100000 states"},
    {"{\"type\":\"object\",\"maxProperties\":200000}", MICA_E_UNSUPPORTED,
     "#: with this part, the schema is too large"},
    {"{\"items\":{\"properties\":{\"a\":{}},\"maxProperties\":200000}}", MICA_E_UNSUPPORTED,
     "#/items: with this part, the schema is too large: its grammar needs more than 100000 states"},
    {"{\"items\":{\"type\":\"integer\",\"multipleOf\":9999,\"minimum\":1000000000000000000000000000000}}",
     MICA_E_UNSUPPORTED, "#/items: with this part, the schema is too large: its grammar needs more than 100000 states"},
    {"{\"items\":{\"pattern\":\"(a{300}){400}\"}}", MICA_E_UNSUPPORTED,
     "#/items/pattern: the grammar is too large: it needs more than 100000 states"},
    {"{\"pattern\":\"a(?=b)\"}", MICA_E_UNSUPPORTED, "#/pattern: byte 3 of the pattern: of groups that begin with (?"},
    {"{\"pattern\":\"a(b\"}", MICA_E_FORMAT, "a ')' is missing"},
    {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", MICA_E_UNSUPPORTED,
     "#/oneOf: a value may satisfy both"},
    {"{\"minProperties\":2}", MICA_E_UNSUPPORTED, "#/minProperties: a grammar cannot tell repeated keys"},
};

START_TEST(schemas_are_refused) {
  mica_grammar *g = NULL;
  const char *schema = wrong[_i].schema;
  ck_assert_msg(mica_grammar_create_schema(schema, strlen(schema), NULL, NULL, &g) == wrong[_i].status, "%s: %s",
                schema, mica_error_message());
  ck_assert_ptr_null(g);
  ck_assert_msg(strstr(mica_error_message(), wrong[_i].says), "%s: %s", schema, mica_error_message());
}
END_TEST

static mica_status all_calls(void *user) {
  mica_grammar *g = NULL;
  uint32_t mask[8];
  const int32_t end = 0;
  const char *schema = user;
  MICA_TRY(mica_grammar_create_schema(schema, strlen(schema), NULL,
                                      &(mica_grammar_config){.ends = &end, .end_count = 1}, &g));
  mica_status status = mica_grammar_mask(g, mask);
  if (status == MICA_OK) status = mica_grammar_accept_text(g, "{\"b\"", 4);
  if (status == MICA_OK) status = mica_grammar_mask(g, mask);
  mica_grammar_destroy(g);
  return status;
}

START_TEST(memory_that_fails) {
  static char schema[] =
      "{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"^x+$\",\"maxLength\":3},\"b\":{\"enum\":[1,\"y\"],"
      "\"minLength\":1},\"c\":{\"minimum\":2,\"multipleOf\":3}},\"patternProperties\":{\"^d\":{\"$ref\":\"#\"}},"
      "\"oneOf\":["
      "{\"type\":\"object\",\"required\":[\"e\"],\"properties\":{\"e\":{\"const\":1}}},"
      "{\"type\":\"object\",\"required\":[\"e\"],\"properties\":{\"e\":{\"const\":2}}}]}";
  fault_libc_each(FAULT_MEMORY, all_calls, schema, 40);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(texts_are_accepted, 0, sizeof values / sizeof *values), blanks, random_walks_are_valid,
      tokens_begin_and_end_anywhere, ends, ambiguous_texts_stay_small,
      LOOP(schemas_are_refused, 0, sizeof wrong / sizeof *wrong), memory_that_fails)
