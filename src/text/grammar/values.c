/* Writes blanks, constants and lists of a schema as paths of an automaton. */
#include "base/utf8.h"
#include "text/grammar/schema.h"

#include <stdlib.h>
#include <string.h>

/* --- blanks --- */

static void make_blank(mica__grammar_schema *s) {
  mica__automaton *a = s->automaton;
  s->blank = mica__automaton_rule(a);
  const mica__grammar_rule rule = a->status == MICA_OK ? a->rules[s->blank] : (mica__grammar_rule){0, 0};
  if (s->blanks == MICA_GRAMMAR_BLANKS_ANY) {
    for (const char *c = " \t\n\r"; *c; c++) {
      mica__automaton_bytes(a, rule.start, (uint8_t)*c, (uint8_t)*c, rule.end);
      mica__automaton_bytes(a, rule.end, (uint8_t)*c, (uint8_t)*c, rule.end);
    }
    return;
  }
  uint32_t at = mica__automaton_node(a);
  const uint32_t second = mica__automaton_node(a);
  mica__automaton_bytes(a, rule.start, ' ', ' ', rule.end);
  mica__automaton_bytes(a, rule.start, '\n', '\n', second);
  mica__automaton_bytes(a, second, '\n', '\n', at);
  mica__automaton_empty(a, second, at);
  for (int i = 0; i < 20; i++) {
    const uint32_t next = mica__automaton_node(a);
    mica__automaton_bytes(a, at, ' ', ' ', next);
    mica__automaton_bytes(a, at, '\t', '\t', next);
    mica__automaton_empty(a, at, rule.end);
    at = next;
  }
  mica__automaton_empty(a, at, rule.end);
}

void mica__write_blank(mica__grammar_schema *s, uint32_t from, uint32_t to) {
  mica__automaton_empty(s->automaton, from, to);
  if (s->blanks == MICA_GRAMMAR_BLANKS_NONE) return;
  if (s->blank == MICA__NO_RULE) make_blank(s);
  mica__automaton_call(s->automaton, from, s->blank, to);
}

/* Adds a byte, and blanks after it. */
static void write_mark(mica__grammar_schema *s, char mark, uint32_t from, uint32_t to) {
  const uint32_t after = mica__automaton_node(s->automaton);
  mica__automaton_bytes(s->automaton, from, (uint8_t)mark, (uint8_t)mark, after);
  mica__write_blank(s, after, to);
}

/* --- literals --- */

static void write_text(mica__grammar_schema *s, const mica__object *value, uint32_t from, uint32_t to) {
  mica__text json = {0};
  mica__quote(&json, value->as.text, value->count);
  if (json.failed)
    mica__automaton_fail(s->automaton, mica__fail_nomem("a schema"));
  else
    mica__automaton_text(s->automaton, from, json.data, json.length, to);
  mica__text_free(&json);
}

static void write_scalar(mica__grammar_schema *s, const mica__object *value, uint32_t from, uint32_t to) {
  mica__text json = {0};
  const mica__json_style style = {.comma = ",", .colon = ":"};
  mica_status status = mica__object_write_json(&json, value, &style);
  if (status == MICA_OK) status = mica__text_status(&json);
  if (status == MICA_OK)
    mica__automaton_text(s->automaton, from, json.data, json.length, to);
  else
    mica__automaton_fail(s->automaton, status);
  mica__text_free(&json);
}

static void write_members(mica__grammar_schema *s, const mica__object *value, uint32_t from, uint32_t to) {
  mica__automaton *a = s->automaton;
  const bool object = value->kind == MICA__OBJECT_DICT;
  const size_t count = object ? value->as.dict->count : value->count;
  uint32_t at = mica__automaton_node(a);
  write_mark(s, object ? '{' : '[', from, at);
  for (size_t i = 0; i < count && a->status == MICA_OK; i++) {
    const uint32_t after = mica__automaton_node(a), blank = mica__automaton_node(a);
    if (i) {
      const uint32_t next = mica__automaton_node(a);
      write_mark(s, ',', at, next);
      at = next;
    }
    if (object) {
      const uint32_t key = mica__automaton_node(a), colon = mica__automaton_node(a), item = mica__automaton_node(a);
      write_text(s, &value->as.dict->keys[i], at, key);
      mica__write_blank(s, key, colon);
      write_mark(s, ':', colon, item);
      at = item;
    }
    mica__write_value(s, object ? &value->as.dict->values[i] : &value->as.items[i], at, after);
    mica__write_blank(s, after, blank);
    at = blank;
  }
  mica__automaton_bytes(a, at, object ? '}' : ']', object ? '}' : ']', to);
}

void mica__write_value(mica__grammar_schema *s, const mica__object *value, uint32_t from, uint32_t to) {
  if (value->kind == MICA__OBJECT_TEXT)
    write_text(s, value, from, to);
  else if (value->kind == MICA__OBJECT_DICT || value->kind == MICA__OBJECT_LIST)
    write_members(s, value, from, to);
  else
    write_scalar(s, value, from, to);
}

/* --- lists --- */

/* What all parts together require of a list. */
typedef struct list_facts {
  int64_t least, most; /* numbers of items; most is MICA__MOST_COUNT without a limit */
  size_t first;        /* number of items with their own schemas */
} list_facts;

/* Schemas of the first items: "prefixItems", or "items" if that is a list. */
static const mica__object *first_items(const mica__object *part) {
  const mica__object *list = mica__schema_get(part, "prefixItems"), *items = mica__schema_get(part, "items");
  return list ? list : items && items->kind == MICA__OBJECT_LIST ? items : NULL;
}
static const mica__object *other_items(const mica__object *part) {
  const mica__object *items = mica__schema_get(part, "items");
  return items && items->kind == MICA__OBJECT_LIST ? mica__schema_get(part, "additionalItems") : items;
}

static mica_status read_list(const mica__grammar_schema *s, const mica__parts *parts, list_facts *facts) {
  *facts = (list_facts){0, MICA__MOST_COUNT, 0};
  for (size_t i = 0; i < parts->count; i++) {
    const mica__object *part = parts->at[i], *first = first_items(part),
                       *unique = mica__schema_get(part, "uniqueItems");
    const int64_t least = mica__schema_count(part, "minItems", 0);
    const int64_t most = mica__schema_count(part, "maxItems", MICA__MOST_COUNT);
    if (least > facts->least) facts->least = least;
    if (most < facts->most) facts->most = most;
    if (first && first->count > facts->first) facts->first = first->count;
    if (unique && unique->as.truth && most > 1)
      return mica__schema_fail(s, part, "uniqueItems", MICA_E_UNSUPPORTED,
                               "a grammar cannot compare items; remove the keyword and check the value afterwards");
  }
  return MICA_OK;
}

/* The rule of item `index`; beyond all first items, the rule of any further item. */
static mica_status item_rule(mica__grammar_schema *s, const mica__parts *parts, size_t index, uint32_t *rule) {
  const mica__object *schemas[MICA__MOST_PARTS];
  size_t count = 0;
  for (size_t i = 0; i < parts->count; i++) {
    const mica__object *first = first_items(parts->at[i]), *others = other_items(parts->at[i]);
    const mica__object *schema = first && index < first->count ? &first->as.items[index] : others;
    if (schema) schemas[count++] = schema;
  }
  return mica__schema_rule(s, schemas, count, rule);
}

mica_status mica__write_list(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to) {
  mica__automaton *a = s->automaton;
  list_facts facts;
  MICA_TRY(read_list(s, parts, &facts));
  const bool endless = facts.most == MICA__MOST_COUNT;
  uint32_t at = mica__automaton_node(a), again = at, rule;
  write_mark(s, '[', from, at);
  /* at: the node after i items and blanks; again: the node where another item may begin. */
  for (int64_t i = 0; a->status == MICA_OK; i++) {
    const bool last = endless && i >= facts.least && i >= (int64_t)facts.first;
    if (i >= facts.least) mica__automaton_bytes(a, at, ']', ']', to);
    if (i == facts.most) break;
    MICA_TRY(item_rule(s, parts, (size_t)i, &rule));
    if (i > 0) {
      again = mica__automaton_node(a);
      write_mark(s, ',', at, again);
    }
    const uint32_t item = mica__automaton_node(a), next = last && i > 0 ? at : mica__automaton_node(a);
    mica__automaton_call(a, again, rule, item);
    mica__write_blank(s, item, next);
    if (last && i > 0) break;
    at = next;
  }
  return a->status;
}
