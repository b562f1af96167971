/* Strings of a schema as paths of characters, with the escapes that JSON requires. */
#include "text/grammar/closure.h"
#include "text/grammar/language.h"
#include "text/grammar/schema.h"

#include <stdlib.h>
#include <string.h>

#define QUOTE_BIT 32
#define BACKSLASH_BIT 33
#define DELETE_BIT 34

/* --- escapes --- */

static const char short_of[128] = {
    ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};

void mica__quote(mica__text *json, const char *text, size_t bytes) {
  mica__text_add(json, "\"");
  for (size_t i = 0; i < bytes; i++) {
    const unsigned char c = (unsigned char)text[i];
    if (c < 0x80 && short_of[c])
      mica__text_addf(json, "\\%c", short_of[c]);
    else if (c < ' ' || c == 0x7f)
      mica__text_addf(json, "\\u%04x", c);
    else
      mica__text_add_bytes(json, &text[i], 1);
  }
  mica__text_add(json, "\"");
}

/* The bytes of a range that need escapes, as bits. */
static uint64_t escaped_bits(uint8_t low, uint8_t high) {
  uint64_t bits = 0;
  for (int b = low; b <= high && b < ' '; b++) bits |= UINT64_C(1) << b;
  if (low <= '"' && high >= '"') bits |= UINT64_C(1) << QUOTE_BIT;
  if (low <= '\\' && high >= '\\') bits |= UINT64_C(1) << BACKSLASH_BIT;
  if (low <= 0x7f && high >= 0x7f) bits |= UINT64_C(1) << DELETE_BIT;
  return bits;
}

static void write_hex(mica__automaton *a, uint32_t from, int digit, uint32_t to) {
  const char low = "0123456789abcdef"[digit], high = "0123456789ABCDEF"[digit];
  mica__automaton_bytes(a, from, (uint8_t)low, (uint8_t)low, to);
  if (high != low) mica__automaton_bytes(a, from, (uint8_t)high, (uint8_t)high, to);
}

static void write_escapes(mica__automaton *a, uint64_t bits, uint32_t from, uint32_t to) {
  const uint32_t slash = mica__automaton_node(a), hex = mica__automaton_node(a);
  uint32_t tens[8] = {0};
  mica__automaton_bytes(a, from, '\\', '\\', slash);
  for (int bit = 0; bit <= DELETE_BIT; bit++) {
    if (!(bits >> bit & 1)) continue;
    const int byte = bit < ' ' ? bit : bit == QUOTE_BIT ? '"' : bit == BACKSLASH_BIT ? '\\' : 0x7f;
    if (short_of[byte]) mica__automaton_bytes(a, slash, (uint8_t)short_of[byte], (uint8_t)short_of[byte], to);
    if (byte == '"' || byte == '\\') continue;
    if (!tens[byte >> 4]) {
      tens[byte >> 4] = mica__automaton_node(a);
      write_hex(a, hex, byte >> 4, tens[byte >> 4]);
    }
    write_hex(a, tens[byte >> 4], byte & 15, to);
  }
  if (tens[0] || tens[1] || tens[7]) mica__automaton_text(a, slash, "u00", 3, hex);
}

/* Finds or makes the rule for these escapes. */
static uint32_t escape_rule(mica__grammar_schema *s, uint64_t bits) {
  for (size_t i = 0; i < s->escape_count; i++)
    if (s->escapes[i].bytes == bits) return s->escapes[i].rule;
  const mica_status status = mica__grow_list(&s->escapes, s->escape_count, &s->escape_room, sizeof *s->escapes);
  const uint32_t rule = mica__automaton_rule(s->automaton);
  mica__automaton_fail(s->automaton, status);
  if (s->automaton->status != MICA_OK) return 0;
  s->escapes[s->escape_count++] = (mica__escape_rule){bits, rule};
  write_escapes(s->automaton, bits, s->automaton->rules[rule].start, s->automaton->rules[rule].end);
  return rule;
}

/* Adds edges for the bytes low to high of a string in JSON, which escapes some of them. */
static void write_bytes(mica__grammar_schema *s, uint32_t from, uint8_t low, uint8_t high, uint32_t to) {
  static const uint8_t parts[][2] = {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0x7e}, {0x80, 0xff}};
  const uint64_t bits = escaped_bits(low, high);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const uint8_t first = low > parts[i][0] ? low : parts[i][0], last = high < parts[i][1] ? high : parts[i][1];
    if (first <= last) mica__automaton_bytes(s->automaton, from, first, last, to);
  }
  if (bits) mica__automaton_call(s->automaton, from, escape_rule(s, bits), to);
}

/* --- languages --- */

/* Copies a language's nodes and edges; *start and *end receive the first and the last node of its rule. */
static void copy_language(mica__grammar_schema *s, const mica__automaton *language, uint32_t *start, uint32_t *end) {
  mica__automaton *a = s->automaton;
  const uint32_t base = a->node_count;
  for (uint32_t i = 0; i < language->node_count && a->status == MICA_OK; i++) mica__automaton_node(a);
  for (uint32_t i = 0; i < language->edge_count && a->status == MICA_OK; i++) {
    const mica__grammar_edge *edge = &language->edges[i];
    if (edge->kind == MICA__EDGE_EMPTY)
      mica__automaton_empty(a, base + edge->from, base + edge->to);
    else
      write_bytes(s, base + edge->from, edge->low, edge->high, base + edge->to);
  }
  *start = base + language->rules[0].start;
  *end = base + language->rules[0].end;
}

void mica__write_language(mica__grammar_schema *s, const mica__automaton *language, uint32_t from, uint32_t to) {
  uint32_t start, end;
  copy_language(s, language, &start, &end);
  mica__automaton_bytes(s->automaton, from, '"', '"', start);
  mica__automaton_bytes(s->automaton, end, '"', '"', to);
}

/* Makes, once, the rule that accepts any string or, unless `string`, one character of a string. */
static mica_status shared_rule(mica__grammar_schema *s, bool string, uint32_t *rule) {
  static const mica__characters all = {0, 0x10ffff};
  mica__automaton language = {0};
  if (*rule != MICA__NO_RULE) return MICA_OK;
  *rule = mica__automaton_rule(s->automaton);
  if (s->automaton->status != MICA_OK) return s->automaton->status;
  const mica__grammar_rule r = s->automaton->rules[*rule];
  mica_status status;
  if (string) {
    status = mica__language_any(&language);
    if (status == MICA_OK) mica__write_language(s, &language, r.start, r.end);
  } else {
    uint32_t start, end;
    mica__automaton_rule(&language);
    status = language.status;
    if (status == MICA_OK) {
      mica__language_characters(&language, &all, 1, language.rules[0].start, language.rules[0].end);
      copy_language(s, &language, &start, &end);
      mica__automaton_empty(s->automaton, r.start, start);
      mica__automaton_empty(s->automaton, end, r.end);
    }
  }
  if (status == MICA_OK) status = language.status;
  mica__automaton_free(&language);
  return status == MICA_OK ? s->automaton->status : status;
}

/* --- strings --- */

typedef struct string_facts {
  int64_t least, most;      /* numbers of characters; most is MICA__MOST_COUNT without a limit */
  mica__automaton language; /* the texts that patterns and formats allow; no rules: any text */
} string_facts;

/* Restricts the facts to texts that `other` accepts too. May take over *other and leave it empty; the caller frees
 * *other in any case. */
static mica_status narrow(string_facts *facts, mica__automaton *other) {
  mica__automaton both = {0};
  if (facts->language.rule_count == 0) {
    facts->language = *other;
    *other = (mica__automaton){0};
    return MICA_OK;
  }
  const mica_status status = mica__language_both(&facts->language, other, &both);
  mica__automaton_free(&facts->language);
  facts->language = both;
  return status;
}

static mica_status read_string(const mica__grammar_schema *s, const mica__object *part, string_facts *facts) {
  static const char *const keys[] = {"pattern", "format"};
  const int64_t least = mica__schema_count(part, "minLength", 0);
  const int64_t most = mica__schema_count(part, "maxLength", MICA__MOST_COUNT);
  if (least > facts->least) facts->least = least;
  if (most < facts->most) facts->most = most;
  for (int i = 0; i < 2; i++) {
    const mica__object *value = mica__schema_get(part, keys[i]);
    mica__automaton other = {0};
    if (!value) continue;
    mica_status status = i == 0 ? mica__language_regex(value->as.text, value->count, false, &other)
                                : mica__language_format(value->as.text, value->count, &other);
    if (status == MICA_OK) status = narrow(facts, &other);
    mica__automaton_free(&other);
    if (status != MICA_OK)
      return status == MICA_E_NOMEM ? status : mica__schema_fail(s, part, keys[i], status, "%s", mica_error_message());
  }
  return MICA_OK;
}

/* Writes a string in quotes as a chain of `least` to `most` characters. */
static mica_status write_characters(mica__grammar_schema *s, const string_facts *facts, uint32_t from, uint32_t to) {
  mica__automaton *a = s->automaton;
  MICA_TRY(shared_rule(s, false, &s->character));
  uint32_t at = mica__automaton_node(a);
  const bool endless = facts->most == MICA__MOST_COUNT;
  mica__automaton_bytes(a, from, '"', '"', at);
  for (int64_t i = 0; a->status == MICA_OK; i++) {
    if (i >= facts->least) mica__automaton_bytes(a, at, '"', '"', to);
    if (i == facts->most) break;
    if (endless && i == facts->least) {
      mica__automaton_call(a, at, s->character, at);
      break;
    }
    const uint32_t next = mica__automaton_node(a);
    mica__automaton_call(a, at, s->character, next);
    at = next;
  }
  return a->status;
}

static mica_status write_facts(mica__grammar_schema *s, string_facts *facts, uint32_t from, uint32_t to) {
  const bool endless = facts->most == MICA__MOST_COUNT, counted = facts->least > 0 || !endless;
  if (facts->language.rule_count == 0) {
    if (counted) return write_characters(s, facts, from, to);
    MICA_TRY(shared_rule(s, true, &s->string));
    mica__automaton_call(s->automaton, from, s->string, to);
    return MICA_OK;
  }
  if (counted) {
    mica__automaton shorter = {0};
    const mica_status status =
        mica__language_length(&facts->language, facts->least, endless ? -1 : facts->most, &shorter);
    mica__automaton_free(&facts->language);
    facts->language = shorter;
    MICA_TRY(status);
  }
  mica__write_language(s, &facts->language, from, to);
  return MICA_OK;
}

mica_status mica__write_string(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to) {
  string_facts facts = {.most = MICA__MOST_COUNT};
  mica_status status = MICA_OK;
  for (size_t i = 0; i < parts->count && status == MICA_OK; i++) status = read_string(s, parts->at[i], &facts);
  if (status == MICA_OK) status = write_facts(s, &facts, from, to);
  mica__automaton_free(&facts.language);
  return status;
}

static mica_status read_names(mica__grammar_schema *s, const mica__parts *parts, mica__automaton *names) {
  string_facts facts = {.most = MICA__MOST_COUNT};
  mica_status status = MICA_OK;
  unsigned types = MICA__TYPE_TEXT, some;
  for (size_t i = 0; i < parts->count; i++) {
    for (size_t k = 0; k < 4; k++) {
      static const char *const keys[] = {"anyOf", "oneOf", "enum", "const"};
      if (mica__schema_get(parts->at[i], keys[k]))
        return mica__schema_fail(s, parts->at[i], keys[k], MICA_E_UNSUPPORTED,
                                 "the keyword is not supported for the keys of an object");
    }
    MICA_TRY(mica__schema_types(s, parts->at[i], &some));
    types &= some;
  }
  for (size_t i = 0; i < parts->count && status == MICA_OK; i++) status = read_string(s, parts->at[i], &facts);
  const bool counted = facts.least > 0 || facts.most < MICA__MOST_COUNT;
  if (status == MICA_OK && facts.language.rule_count == 0) status = mica__language_any(&facts.language);
  if (parts->never || types == 0)
    mica__automaton_rule(names); /* a rule without a path accepts nothing */
  else if (status == MICA_OK && counted)
    status =
        mica__language_length(&facts.language, facts.least, facts.most < MICA__MOST_COUNT ? facts.most : -1, names);
  else if (status == MICA_OK) {
    *names = facts.language;
    facts.language = (mica__automaton){0};
  }
  mica__automaton_free(&facts.language);
  return status == MICA_OK ? names->status : status;
}

mica_status mica__schema_names(mica__grammar_schema *s, const mica__object *schema, mica__automaton *names) {
  mica__parts *parts = calloc(1, sizeof *parts);
  if (!parts) return mica__fail_nomem("a schema");
  mica_status status = mica__schema_parts(s, schema, parts);
  if (status == MICA_OK) status = read_names(s, parts, names);
  free(parts);
  return status;
}
