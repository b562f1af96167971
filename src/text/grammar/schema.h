/* text/grammar/schema.h: converts JSON schemas to automata.
 *
 * A goal is a set of schemas that one value must satisfy together; it becomes a rule. `allOf` and `$ref` add schemas to
 * a goal; `anyOf` and `oneOf` split it into several. Once these keywords are followed, the schemas that the value
 * must satisfy together are called parts. They are written as paths of the automaton, for each type that all parts
 * allow. */
#ifndef MICA_TEXT_GRAMMAR_SCHEMA_H
#define MICA_TEXT_GRAMMAR_SCHEMA_H

#include "text/grammar/automaton.h"
#include "text/template/value.h"

#include <mica/grammar.h>

#define MICA__MOST_PARTS 256     /* of a goal */
#define MICA__MOST_GOALS 20000   /* of a schema */
#define MICA__MOST_WORK 20000000 /* maximum number of parts and values that are examined */
#define MICA__MOST_CHOICES 64    /* nested anyOf and oneOf of one value */

/* The types of JSON; numbers are two types. */
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

/* Schemas that one value must satisfy together; parent: the part that added this one. */
typedef struct mica__parts {
  const mica__object *at[MICA__MOST_PARTS];
  int32_t parent[MICA__MOST_PARTS]; /* -1: none */
  size_t count;
  bool never; /* a schema is false, so no value fits */
} mica__parts;

/* A rule that reads the escapes of some bytes: bit b is byte b below 32; bits 32, 33, 34 are '"', '\\', 0x7f. */
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
  uint32_t *slots; /* hash table of goals by their schemas: index + 1 */
  size_t slot_count;
  size_t work;
  uint32_t blank, character, string; /* shared rules; MICA__NO_RULE: not made yet */
  mica__escape_rule *escapes;
  size_t escape_count, escape_room;
} mica__grammar_schema;

/* --- errors and looking up (keywords.c) --- */

/* Fails with the path of a schema, or of its member `key` (NULL: of the schema itself). */
mica_status mica__schema_fail(const mica__grammar_schema *s, const mica__object *at, const char *key,
                              mica_status status, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* A member of a schema; NULL: it is absent, or the schema is true or false. */
const mica__object *mica__schema_get(const mica__object *schema, const char *key);
/* Checks that all keywords are known and have values of the right kind. */
mica_status mica__schema_check(const mica__grammar_schema *s, const mica__object *schema);
/* Finds the schema that "$ref" points to. */
mica_status mica__schema_resolve(const mica__grammar_schema *s, const mica__object *schema,
                                 const mica__object *reference, const mica__object **target);
#define MICA__MOST_COUNT INT64_C(1000000000)
/* Returns the count under the keyword `key`, but at most MICA__MOST_COUNT. Returns `absent` if the schema lacks the
 * keyword. */
int64_t mica__schema_count(const mica__object *schema, const char *key, int64_t absent);
/* The types that the keyword "type" of a schema allows. */
mica_status mica__schema_types(const mica__grammar_schema *s, const mica__object *schema, unsigned *types);
/* The bit MICA__TYPE_... of a value's type. */
unsigned mica__type_of(const mica__object *value);
/* Adds to the work done so far. MICA_E_UNSUPPORTED if it is more than MICA__MOST_WORK. */
mica_status mica__schema_work(mica__grammar_schema *s, size_t amount);

/* --- goals (goals.c) --- */

/* Finds or adds the rule for values that satisfy all schemas; without schemas, for any value. Sorts the array of
 * schemas in place. */
mica_status mica__schema_rule(mica__grammar_schema *s, const mica__object **schemas, size_t count, uint32_t *rule);
/* Adds a schema for `parent` (the index of a part, or -1). MICA_E_INVALID if the schema is among its own parents. */
mica_status mica__parts_add(mica__grammar_schema *s, mica__parts *parts, const mica__object *schema, int32_t parent);
/* Adds the schemas in "$ref" and "allOf" of all parts from index `from` on, and of the parts that this adds. */
mica_status mica__parts_join(mica__grammar_schema *s, mica__parts *parts, size_t from);
/* Fills parts with a schema and all schemas that its "$ref" and "allOf" lead to. */
mica_status mica__schema_parts(mica__grammar_schema *s, const mica__object *schema, mica__parts *parts);

/* --- paths of values: from node `from` to node `to` --- */

void mica__write_blank(mica__grammar_schema *s, uint32_t from, uint32_t to);
/* Writes a value of the schema's document as JSON. */
void mica__write_value(mica__grammar_schema *s, const mica__object *value, uint32_t from, uint32_t to);
mica_status mica__write_object(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to);
mica_status mica__write_list(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to);
mica_status mica__write_string(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to);
mica_status mica__write_number(mica__grammar_schema *s, const mica__parts *parts, bool whole, uint32_t from,
                               uint32_t to);
/* Makes the automaton of the strings that a schema of keys allows. MICA_E_UNSUPPORTED: the schema has anyOf, oneOf,
 * enum or const. */
mica_status mica__schema_names(mica__grammar_schema *s, const mica__object *schema, mica__automaton *names);
/* Writes the texts of a language (language.h) in quotes. */
void mica__write_language(mica__grammar_schema *s, const mica__automaton *language, uint32_t from, uint32_t to);

/* Appends a text in quotes, with the escapes that JSON requires, and with U+007F escaped too. */
void mica__quote(mica__text *json, const char *text, size_t bytes);

/* Fails unless the schemas of "oneOf" are known to exclude each other, because a grammar cannot count how many of
 * them hold. */
mica_status mica__schema_check_one(mica__grammar_schema *s, const mica__object *schema, const mica__object *list);
/* True if two values are equal in JSON: 1 equals 1.0, but not true. */
bool mica__schema_equal(const mica__object *a, const mica__object *b);
/* Tests if the value satisfies the schema. */
mica_status mica__schema_admits(mica__grammar_schema *s, const mica__object *schema, const mica__object *value,
                                bool *admits);

#endif
