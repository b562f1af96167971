/* Turns goals, which are sets of schemas, into rules. */
#include "text/grammar/schema.h"

#include "base/hash.h"
#include "text/grammar/closure.h"
#include "text/grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SCHEMA_BYTES ((size_t)1 << 20)

static mica_status write_literals(mica__grammar_schema *s, const mica__parts *parts, const mica__object *values,
                                  size_t count, uint32_t from, uint32_t to) {
  for (size_t i = 0; i < count; i++) {
    bool admits = true;
    for (size_t k = 0; k < parts->count && admits; k++)
      MICA_TRY(mica__schema_admits(s, parts->at[k], &values[i], &admits));
    if (admits) mica__write_value(s, &values[i], from, to);
  }
  return MICA_OK;
}

/* Writes the paths of values that satisfy all parts. The parts already include an alternative for each anyOf and
 * oneOf. */
static mica_status write_parts(mica__grammar_schema *s, const mica__parts *parts, uint32_t from, uint32_t to) {
  unsigned types = MICA__TYPE_ALL, some;
  for (size_t i = 0; i < parts->count; i++) {
    MICA_TRY(mica__schema_types(s, parts->at[i], &some));
    types &= some;
  }
  for (size_t i = 0; i < parts->count; i++) {
    const mica__object *one = mica__schema_get(parts->at[i], "const"), *list = mica__schema_get(parts->at[i], "enum");
    if (one) return write_literals(s, parts, one, 1, from, to);
    if (list) return write_literals(s, parts, list->as.items, list->count, from, to);
  }
  if (types & MICA__TYPE_NULL) mica__automaton_text(s->automaton, from, "null", 4, to);
  if (types & MICA__TYPE_BOOL) {
    mica__automaton_text(s->automaton, from, "true", 4, to);
    mica__automaton_text(s->automaton, from, "false", 5, to);
  }
  if (types & MICA__TYPE_NUMBER) MICA_TRY(mica__write_number(s, parts, !(types & MICA__TYPE_FRACTION), from, to));
  if (types & MICA__TYPE_TEXT) MICA_TRY(mica__write_string(s, parts, from, to));
  if (types & MICA__TYPE_LIST) MICA_TRY(mica__write_list(s, parts, from, to));
  if (types & MICA__TYPE_OBJECT) MICA_TRY(mica__write_object(s, parts, from, to));
  return s->automaton->status;
}

/* Writes the paths for every combination of alternatives. Looks for the next choice from part `at` on, in each part
 * first in its anyOf (stage 0), then in its oneOf (stage 1). All later choices follow recursively. */
static mica_status choose(mica__grammar_schema *s, const mica__parts *parts, size_t at, int stage, int depth,
                          uint32_t from, uint32_t to) {
  static const char *const keys[] = {"anyOf", "oneOf"};
  for (; at < parts->count; at++, stage = 0) {
    for (; stage < 2; stage++) {
      const mica__object *list = mica__schema_get(parts->at[at], keys[stage]);
      if (!list) continue;
      if (depth == MICA__MOST_CHOICES)
        return mica__schema_fail(s, parts->at[at], keys[stage], MICA_E_UNSUPPORTED,
                                 "more than %d lists of alternatives apply to one value", MICA__MOST_CHOICES);
      if (stage == 1) MICA_TRY(mica__schema_check_one(s, parts->at[at], list));
      mica__parts *more = malloc(sizeof *more);
      if (!more) return mica__fail_nomem("a schema");
      mica_status status = MICA_OK;
      for (size_t k = 0; k < list->count && status == MICA_OK; k++) {
        *more = *parts;
        status = mica__parts_add(s, more, &list->as.items[k], (int32_t)at);
        if (status == MICA_OK) status = mica__parts_join(s, more, parts->count);
        if (status == MICA_OK && !more->never) status = choose(s, more, at, stage + 1, depth + 1, from, to);
      }
      free(more);
      return status;
    }
  }
  return write_parts(s, parts, from, to);
}

static mica_status write_goal(mica__grammar_schema *s, const mica__goal *goal) {
  const mica__grammar_rule rule = s->automaton->rules[goal->rule];
  mica__parts *parts = calloc(1, sizeof *parts);
  if (!parts) return mica__fail_nomem("a schema");
  mica_status status = MICA_OK;
  for (size_t i = 0; i < goal->count && status == MICA_OK; i++)
    status = mica__parts_add(s, parts, goal->schemas[i], -1);
  if (status == MICA_OK) status = mica__parts_join(s, parts, 0);
  if (status == MICA_OK && !parts->never) status = choose(s, parts, 0, 0, 0, rule.start, rule.end);
  free(parts);
  return status;
}

/* --- schemas --- */

static mica_status read_schema(mica__grammar_schema *s, const char *json, size_t bytes) {
  const mica__object *root = &s->document;
  uint32_t rule;
  MICA_TRY(mica__object_read_json(&s->arena, json, bytes, &s->document));
  MICA_TRY(mica__schema_check(s, root));
  s->slot_count = 2 * 32768;
  s->slots = calloc(s->slot_count, sizeof *s->slots);
  if (!s->slots) return mica__fail_nomem("a schema");
  MICA_TRY(mica__schema_rule(s, &root, 1, &rule));
  for (; s->goals_done < s->goal_count; s->goals_done++) {
    const mica__goal goal = s->goals[s->goals_done];
    mica_status status = write_goal(s, &goal);
    if (status == MICA_OK) status = s->automaton->status;
    if (status == MICA_E_UNSUPPORTED && s->automaton->status == MICA_E_UNSUPPORTED)
      return mica__schema_fail(s, goal.count ? goal.schemas[0] : root, NULL, MICA_E_UNSUPPORTED,
                               "with this part, the schema is too large: its grammar needs more than %d states or %d "
                               "transitions; make it simpler",
                               MICA__MOST_GRAMMAR_STATES, MICA__MOST_GRAMMAR_EDGES);
    MICA_TRY(status);
  }
  return MICA_OK;
}

mica_status mica__grammar_read_schema(mica__automaton *a, const char *json, size_t bytes, mica_grammar_blanks blanks) {
  if (bytes > MOST_SCHEMA_BYTES)
    return mica__fail(MICA_E_UNSUPPORTED, "the schema has %zu bytes, but may have at most %zu", bytes,
                      MOST_SCHEMA_BYTES);
  mica__grammar_schema s = {
      .automaton = a, .blanks = blanks, .blank = MICA__NO_RULE, .character = MICA__NO_RULE, .string = MICA__NO_RULE};
  const mica_status status = read_schema(&s, json, bytes);
  mica__arena_free(&s.arena);
  free(s.goals);
  free(s.slots);
  free(s.escapes);
  return status;
}
