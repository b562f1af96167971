/* text/grammar/schema.h: JSON schemas as they become automata.
 *
 * A goal is a set of schemas that all hold for one value; it becomes a rule. `allOf` and `$ref` add schemas to a goal,
 * `anyOf` and `oneOf` split it into several. What is left, a set of parts without such keywords, is written as the
 * paths of each type that all parts allow. */
#ifndef MICA_TEXT_GRAMMAR_SCHEMA_H
#define MICA_TEXT_GRAMMAR_SCHEMA_H

#include "text/grammar/automaton.h"
#include "text/template/value.h"

#include <mica/grammar.h>

#define MICA__MOST_PARTS 256     /* of a goal */
#define MICA__MOST_GOALS 20000   /* of a schema */
#define MICA__MOST_WORK 20000000 /* parts and values looked at */
#define MICA__MOST_CHOICES 64    /* anyOf and oneOf that hold at once */

/* The types of JSON, and both kinds of numbers. */
enum {
  MICA__TYPE_NULL = 1,
  MICA__TYPE_BOOL = 2,
  MICA__TYPE_INTEGER = 4,
  MICA__TYPE_FRACTION = 8, /* numbers that are not whole */
  MICA__TYPE_TEXT = 16,
  MICA__TYPE_LIST = 32,
  MICA__TYPE_OBJECT = 64,
  MICA__TYPE_NUMBER = 12,
  MICA__TYPE_ALL = 127
};

typedef struct mica__goal {
  const mica__object **schemas; /* sorted by address */
  size_t count;
  uint32_t rule;
} mica__goal;

/* Schemas that all hold, and which of them brought another in. */
typedef struct mica__parts {
  const mica__object *at[MICA__MOST_PARTS];
  int32_t parent[MICA__MOST_PARTS]; /* -1: none */
  size_t count;
  bool never; /* one of them is false */
} mica__parts;

/* A rule for escapes of some bytes: bit b for byte b below 32, bits 32, 33, 34 for '"', '\\', 0x7f. */
typedef struct mica__escape_rule {
  uint64_t bytes;
  uint32_t rule;
} mica__escape_rule;

typedef struct mica__grammar_schema {
  mica__automaton *automaton;
  mica__arena arena;
  mica__object document;
  mica_grammar_blanks blanks;
  mica__goal *goals;
  size_t goal_count, goal_room, goals_done;
  uint32_t *slots; /* goals by their schemas: index + 1 */
  size_t slot_count;
  size_t work;
  uint32_t blank, character, string; /* rules that all share; MICA__NO_RULE: not yet made */
  mica__escape_rule *escapes;
  size_t escape_count, escape_room;
} mica__grammar_schema;

/* --- errors and looking up (keywords.c) --- */

/* The failure with the path of a schema, or of its member `key` (NULL: of the schema). */
mica_status mica__schema_fail(const mica__grammar_schema *s, const mica__object *at, const char *key,
                              mica_status status, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* A member of a schema; NULL: absent, or the schema is true or false. */
const mica__object *mica__schema_get(const mica__object *schema, const char *key);
/* Checks that all keywords are known and have values of their kind. */
mica_status mica__schema_check(const mica__grammar_schema *s, const mica__object *schema);
/* What "$ref" leads to. */
mica_status mica__schema_resolve(const mica__grammar_schema *s, const mica__object *schema,
                                 const mica__object *reference, const mica__object **target);
/* A count, at most MICA__MOST_COUNT, which stands for more. */
#define MICA__MOST_COUNT INT64_C(1000000000)
int64_t mica__schema_count(const mica__object *schema, const char *key, int64_t absent);
/* The types that the keyword "type" of a schema allows. */
mica_status mica__schema_types(const mica__grammar_schema *s, const mica__object *schema, unsigned *types);
/* The type of a value. */
unsigned mica__type_of(const mica__object *value);
/* Counts work; MICA_E_UNSUPPORTED past the limit. */
mica_status mica__schema_work(mica__grammar_schema *s, size_t amount);

/* --- goals (goals.c) --- */

/* The rule of values for which all schemas hold (an array of any order, which is sorted); no schemas: any value. */
mica_status mica__schema_rule(mica__grammar_schema *s, const mica__object **schemas, size_t count, uint32_t *rule);
/* Adds a schema that `parent` (an index, or -1) brought in. MICA_E_INVALID if it brought its parent in. */
mica_status mica__parts_add(mica__grammar_schema *s, mica__parts *parts, const mica__object *schema, int32_t parent);
/* Adds "$ref" and "allOf" of all parts from index `from` on, and of those that they bring in. */
mica_status mica__parts_join(mica__grammar_schema *s, mica__parts *parts, size_t from);
/* A schema, and what its "$ref" and "allOf" bring in. */
mica_status mica__schema_parts(mica__grammar_schema *s, const mica__object *schema, mica__parts *parts);

/* --- paths of values: from node `from` to node `to` --- */

void mica__write_blank(mica__grammar_schema *s, uint32_t from, uint32_t to);
/* A value of the schema's document, as JSON. */
void mica__write_value(mica__grammar_schema *s, const mica__object *value, uint32_t from, uint32_t to);
mica_status mica__write_object(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to);
mica_status mica__write_list(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to);
mica_status mica__write_string(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to);
mica_status mica__write_number(mica__grammar_schema *s, const mica__parts *parts, bool whole, uint32_t from,
                               uint32_t to);
/* The strings that a schema of keys allows. MICA_E_UNSUPPORTED if it has choices. */
mica_status mica__schema_names(mica__grammar_schema *s, const mica__object *schema, mica__automaton *names);
/* The texts of a language (language.h) in quotes. */
void mica__write_language(mica__grammar_schema *s, const mica__automaton *language, uint32_t from, uint32_t to);

/* Appends a text in quotes, with the escapes that JSON demands and U+007F as one. */
void mica__quote(mica__text *json, const char *text, size_t bytes);

/* Fails unless no value can satisfy two schemas of "oneOf": a grammar cannot count those that hold. */
mica_status mica__schema_check_one(mica__grammar_schema *s, const mica__object *schema, const mica__object *list);
/* Equality of JSON: 1 is 1.0, and not true. */
bool mica__schema_equal(const mica__object *a, const mica__object *b);
/* *admits: whether the value satisfies the schema. */
mica_status mica__schema_admits(mica__grammar_schema *s, const mica__object *schema, const mica__object *value,
                                bool *admits);

#endif
