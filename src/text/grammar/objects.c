/* Writes objects of a schema as paths: first the members that the schema names, in order, then other members. A
 * part is a schema that the object must satisfy together with the other parts (schema.h). */
#include "text/grammar/closure.h"
#include "text/grammar/language.h"
#include "text/grammar/schema.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PATTERNS 4

typedef struct member {
  mica__object name;
  bool required;
  uint32_t rule;
} member;

/* What all parts together require of an object. */
typedef struct facts {
  const mica__parts *parts;
  member *members;
  size_t count, room;
  mica__dict *known; /* name to index of members */
  int64_t least, most;
  mica__automaton patterns[MOST_PATTERNS]; /* the patterns of keys, as finished automata */
  const mica__object *pattern_parts[MOST_PATTERNS];
  mica__object pattern_texts[MOST_PATTERNS];
  size_t pattern_count;
} facts;

/* --- members --- */

static mica_status add_member(mica__grammar_schema *s, facts *f, const mica__object *name, bool required) {
  const mica__object *index = mica__dict_find(NULL, f->known, name);
  MICA_TRY(mica__schema_work(s, 1));
  if (index) {
    if (required) f->members[index->as.integer].required = true;
    return MICA_OK;
  }
  MICA_TRY(mica__grow_list(&f->members, f->count, &f->room, sizeof *f->members));
  const mica__object number = mica__object_integer((int64_t)f->count);
  f->members[f->count++] = (member){.name = *name, .required = required};
  return mica__dict_set(&s->arena, f->known, name, &number);
}

/* found[k]: pattern k belongs to the part and matches the key. */
static mica_status in_patterns(const facts *f, const mica__object *part, const mica__object *name, bool found[]) {
  for (size_t k = 0; k < f->pattern_count; k++) {
    found[k] = false;
    if (f->pattern_parts[k] != part) continue;
    MICA_TRY(mica__language_accepts(&f->patterns[k], name->as.text, name->count, &found[k]));
  }
  return MICA_OK;
}

static const mica__object *pattern_schema(const facts *f, size_t k) {
  const mica__object *map = mica__schema_get(f->pattern_parts[k], "patternProperties");
  return mica__dict_find(NULL, map->as.dict, &f->pattern_texts[k]);
}

/* Finds the rule for the value of a key that the schema names. The value must satisfy the schemas of all parts. */
static mica_status member_rule(mica__grammar_schema *s, const facts *f, const mica__object *name, uint32_t *rule) {
  const mica__object *schemas[MICA__MOST_PARTS * 2 + MOST_PATTERNS];
  size_t count = 0;
  for (size_t i = 0; i < f->parts->count; i++) {
    const mica__object *part = f->parts->at[i], *map = mica__schema_get(part, "properties");
    const mica__object *other = mica__schema_get(part, "additionalProperties");
    const mica__object *own = map ? mica__dict_find(NULL, map->as.dict, name) : NULL;
    bool found[MOST_PATTERNS], any = own != NULL;
    if (own) schemas[count++] = own;
    MICA_TRY(in_patterns(f, part, name, found));
    for (size_t k = 0; k < f->pattern_count; k++) {
      if (!found[k]) continue;
      schemas[count++] = pattern_schema(f, k);
      any = true;
    }
    if (!any && other) schemas[count++] = other;
  }
  return mica__schema_rule(s, schemas, count, rule);
}

/* Finds the rule for the values of keys that the schema does not name and that match exactly the patterns in the bit
 * set `set`. */
static mica_status other_rule(mica__grammar_schema *s, const facts *f, unsigned set, uint32_t *rule) {
  const mica__object *schemas[MICA__MOST_PARTS + MOST_PATTERNS];
  size_t count = 0;
  for (size_t i = 0; i < f->parts->count; i++) {
    const mica__object *other = mica__schema_get(f->parts->at[i], "additionalProperties");
    bool any = false;
    for (size_t k = 0; k < f->pattern_count; k++) {
      if (f->pattern_parts[k] != f->parts->at[i] || !(set >> k & 1)) continue;
      schemas[count++] = pattern_schema(f, k);
      any = true;
    }
    if (!any && other) schemas[count++] = other;
  }
  return mica__schema_rule(s, schemas, count, rule);
}

/* --- reading --- */

static mica_status read_patterns(mica__grammar_schema *s, facts *f, const mica__object *part) {
  const mica__object *map = mica__schema_get(part, "patternProperties");
  for (size_t i = 0; map && i < map->as.dict->count; i++) {
    const mica__object *pattern = &map->as.dict->keys[i];
    if (f->pattern_count == MOST_PATTERNS)
      return mica__schema_fail(s, part, "patternProperties", MICA_E_UNSUPPORTED,
                               "more than %d patterns apply to one object", MOST_PATTERNS);
    mica__automaton *a = &f->patterns[f->pattern_count];
    f->pattern_parts[f->pattern_count] = part;
    f->pattern_texts[f->pattern_count++] = *pattern;
    mica_status status = mica__language_regex(pattern->as.text, pattern->count, false, a);
    if (status == MICA_OK) status = mica__automaton_finish(a);
    if (status != MICA_OK)
      return mica__schema_fail(s, &map->as.dict->values[i], NULL, status, "%s", mica_error_message());
  }
  return MICA_OK;
}

/* Sets *allowed to false if "propertyNames" of any part refuses the name. */
static mica_status name_allowed(mica__grammar_schema *s, const facts *f, const mica__object *name, bool *allowed) {
  *allowed = true;
  for (size_t i = 0; i < f->parts->count && *allowed; i++) {
    const mica__object *names = mica__schema_get(f->parts->at[i], "propertyNames");
    if (names) MICA_TRY(mica__schema_admits(s, names, name, allowed));
  }
  return MICA_OK;
}

static mica_status read_object(mica__grammar_schema *s, facts *f) {
  MICA_TRY(mica__dict_create(&s->arena, &f->known));
  for (size_t i = 0; i < f->parts->count; i++) {
    const mica__object *part = f->parts->at[i], *map = mica__schema_get(part, "properties");
    const int64_t least = mica__schema_count(part, "minProperties", 0);
    const int64_t most = mica__schema_count(part, "maxProperties", MICA__MOST_COUNT);
    if (least > f->least) f->least = least;
    if (most < f->most) f->most = most;
    for (size_t k = 0; map && k < map->as.dict->count; k++) MICA_TRY(add_member(s, f, &map->as.dict->keys[k], false));
    MICA_TRY(read_patterns(s, f, part));
  }
  for (size_t i = 0; i < f->parts->count; i++) {
    const mica__object *required = mica__schema_get(f->parts->at[i], "required");
    for (size_t k = 0; required && k < required->count; k++) MICA_TRY(add_member(s, f, &required->as.items[k], true));
  }
  for (size_t k = 0; k < f->count; k++) MICA_TRY(member_rule(s, f, &f->members[k].name, &f->members[k].rule));
  return MICA_OK;
}

/* --- keys of other members --- */

/* Restricts keys to texts that `with` accepts or, if `without`, does not accept; frees *with. */
static mica_status narrow_keys(mica__automaton *keys, mica__automaton *with, bool without) {
  mica__automaton other = {0}, both = {0};
  mica_status status = without ? mica__language_not(with, &other) : MICA_OK;
  if (status == MICA_OK) status = mica__language_both(keys, without ? &other : with, &both);
  mica__automaton_free(&other);
  mica__automaton_free(with);
  mica__automaton_free(keys);
  *keys = both;
  return status;
}

static mica_status all_names(const facts *f, mica__automaton *names) {
  mica__automaton_rule(names);
  MICA_TRY(names->status);
  for (size_t i = 0; i < f->count; i++)
    mica__automaton_text(names, names->rules[0].start, f->members[i].name.as.text, f->members[i].name.count,
                         names->rules[0].end);
  return names->status;
}

/* Makes the set of keys that the schema does not name, that match exactly the patterns of `set`, and that
 * "propertyNames" allow. */
static mica_status other_keys(mica__grammar_schema *s, const facts *f, unsigned set, mica__automaton *keys) {
  mica__automaton with = {0};
  mica_status status = mica__language_any(keys);
  if (status == MICA_OK && f->count) {
    status = all_names(f, &with);
    if (status == MICA_OK) status = narrow_keys(keys, &with, true);
  }
  for (size_t k = 0; k < f->pattern_count && status == MICA_OK; k++) {
    status = mica__language_regex(f->pattern_texts[k].as.text, f->pattern_texts[k].count, false, &with);
    if (status == MICA_OK) status = narrow_keys(keys, &with, !(set >> k & 1));
  }
  for (size_t i = 0; i < f->parts->count && status == MICA_OK; i++) {
    const mica__object *names = mica__schema_get(f->parts->at[i], "propertyNames");
    if (!names) continue;
    status = mica__schema_names(s, names, &with);
    if (status == MICA_OK) status = narrow_keys(keys, &with, false);
  }
  mica__automaton_free(&with);
  return status;
}

/* --- paths --- */

/* Adds ':' and a value, with blanks, after a key. */
static void write_value(mica__grammar_schema *s, uint32_t from, uint32_t rule, uint32_t to) {
  mica__automaton *a = s->automaton;
  const uint32_t colon = mica__automaton_node(a), after = mica__automaton_node(a), value = mica__automaton_node(a),
                 blank = mica__automaton_node(a);
  mica__write_blank(s, from, colon);
  mica__automaton_bytes(a, colon, ':', ':', after);
  mica__write_blank(s, after, value);
  mica__automaton_call(a, value, rule, blank);
  mica__write_blank(s, blank, to);
}

/* The nodes that follow the first i named members: at[c] is the node if c members are written so far, 0 if there is no
 * node yet. `next` is the same for the first i + 1. */
typedef struct layer {
  uint32_t *at, *next; /* `size` nodes each */
  size_t size;         /* if `open`, the last node is for this count and all larger counts */
  bool open;
} layer;

static uint32_t layer_node(mica__grammar_schema *s, uint32_t *node) {
  if (!*node) *node = mica__automaton_node(s->automaton);
  return *node;
}

/* The count after c and one more member; SIZE_MAX: no more are allowed. */
static size_t count_after(const layer *l, size_t c) { return c + 1 < l->size ? c + 1 : l->open ? c : SIZE_MAX; }

/* A node where a key may begin after c members. */
static uint32_t key_begin(mica__grammar_schema *s, uint32_t at, size_t c) {
  mica__automaton *a = s->automaton;
  if (c == 0) return at;
  const uint32_t comma = mica__automaton_node(a), begin = mica__automaton_node(a);
  mica__automaton_bytes(a, at, ',', ',', comma);
  mica__write_blank(s, comma, begin);
  return begin;
}

static mica_status write_member(mica__grammar_schema *s, layer *l, const member *m, bool allowed) {
  mica__automaton *a = s->automaton;
  mica__text key = {0};
  mica__quote(&key, m->name.as.text, m->name.count);
  MICA_TRY(mica__text_status(&key));
  const uint32_t begin = mica__automaton_node(a), end = mica__automaton_node(a);
  memset(l->next, 0, l->size * sizeof *l->next);
  for (size_t c = 0; c < l->size && a->status == MICA_OK; c++) {
    if (!l->at[c]) continue;
    if (!m->required) mica__automaton_empty(a, l->at[c], layer_node(s, &l->next[c]));
    const size_t after = count_after(l, c);
    if (!allowed || after == SIZE_MAX) continue;
    if (l->open && l->size == 2) { /* the counts are 0 and "at least 1": they share one path of the member */
      mica__automaton_empty(a, key_begin(s, l->at[c], c), begin);
      mica__automaton_empty(a, end, layer_node(s, &l->next[after]));
      continue;
    }
    const uint32_t from = mica__automaton_node(a);
    mica__automaton_text(a, key_begin(s, l->at[c], c), key.data, key.length, from);
    write_value(s, from, m->rule, layer_node(s, &l->next[after]));
  }
  if (l->open && l->size == 2 && allowed) {
    const uint32_t from = mica__automaton_node(a);
    mica__automaton_text(a, begin, key.data, key.length, from);
    write_value(s, from, m->rule, end);
  }
  mica__text_free(&key);
  uint32_t *was = l->at;
  l->at = l->next;
  l->next = was;
  return a->status;
}

/* Writes members with keys that the schema does not name. Such keys may be equal, and JSON has only one member per key.
 * All members written here therefore count as one towards `least`, but each counts towards `most`. */
static mica_status write_others(mica__grammar_schema *s, const facts *f, layer *l) {
  mica__automaton *a = s->automaton;
  const size_t top = l->size - 1;
  for (unsigned set = 0; set < 1u << f->pattern_count; set++) {
    uint32_t rule;
    mica__automaton keys = {0};
    MICA_TRY(other_rule(s, f, set, &rule));
    mica_status status = other_keys(s, f, set, &keys);
    for (size_t c = 0; c <= top && status == MICA_OK; c++) {
      const size_t after = count_after(l, c);
      if (after == SIZE_MAX || !l->at[c]) continue;
      const uint32_t from = mica__automaton_node(a);
      mica__write_language(s, &keys, key_begin(s, l->at[c], c), from);
      write_value(s, from, rule, layer_node(s, &l->at[after]));
      status = a->status;
    }
    mica__automaton_free(&keys);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* True if some part forbids keys that the schema does not name, and no part has patterns of keys; then no such
 * members are written. */
static bool no_others(const facts *f) {
  for (size_t i = 0; i < f->parts->count; i++) {
    const mica__object *other = mica__schema_get(f->parts->at[i], "additionalProperties");
    if (other && other->kind == MICA__OBJECT_BOOL && !other->as.truth && f->pattern_count == 0) return true;
  }
  return false;
}

static mica_status write_facts(mica__grammar_schema *s, facts *f, uint32_t from, uint32_t to) {
  mica__automaton *a = s->automaton;
  const bool closed = no_others(f);
  size_t required = 0;
  for (size_t i = 0; i < f->count; i++) required += f->members[i].required;
  if (f->least <= (int64_t)required) f->least = 0;
  if (!closed && f->least > 1 && f->least > (int64_t)required + 1)
    return mica__schema_fail(
        s, f->parts->at[0], "minProperties", MICA_E_UNSUPPORTED,
        "a grammar cannot tell repeated keys from new ones, so the value may be at most %zu here; name "
        "more keys in \"required\"",
        required + 1);
  if (closed && f->most >= (int64_t)f->count) f->most = MICA__MOST_COUNT;
  const bool open = f->most == MICA__MOST_COUNT;
  const int64_t top = open ? (f->least > 1 ? f->least : 1) : f->most;
  if (top > MICA__MOST_GRAMMAR_STATES) {
    mica__automaton_fail(a, MICA_E_UNSUPPORTED);
    return MICA_OK;
  }
  layer l = {.size = (size_t)top + 1, .open = open};
  l.at = calloc(l.size, sizeof *l.at);
  l.next = calloc(l.size, sizeof *l.next);
  mica_status status = l.at && l.next ? MICA_OK : mica__fail_nomem("a schema");
  if (status == MICA_OK) {
    const uint32_t brace = mica__automaton_node(a);
    mica__automaton_bytes(a, from, '{', '{', brace);
    mica__write_blank(s, brace, layer_node(s, &l.at[0]));
  }
  for (size_t i = 0; i < f->count && status == MICA_OK; i++) {
    bool allowed;
    status = name_allowed(s, f, &f->members[i].name, &allowed);
    if (status == MICA_OK) status = write_member(s, &l, &f->members[i], allowed);
  }
  if (status == MICA_OK && !closed) status = write_others(s, f, &l);
  for (size_t c = 0; c < l.size && status == MICA_OK; c++)
    if (l.at[c] && (int64_t)c >= f->least) mica__automaton_bytes(a, l.at[c], '}', '}', to);
  free(l.at);
  free(l.next);
  return status;
}

mica_status mica__write_object(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to) {
  facts f = {.parts = parts, .most = MICA__MOST_COUNT};
  mica_status status = read_object(s, &f);
  if (status == MICA_OK) status = write_facts(s, &f, from, to);
  for (size_t i = 0; i < MOST_PATTERNS; i++) mica__automaton_free(&f.patterns[i]);
  free(f.members);
  return status;
}
