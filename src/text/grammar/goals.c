/* Goals and their parts. A goal is a set of schemas that one value must satisfy together. */
#include "base/hash.h"
#include "text/grammar/closure.h"
#include "text/grammar/schema.h"

#include <stdlib.h>
#include <string.h>

static int by_address(const void *a, const void *b) {
  const mica__object *const *x = a, *const *y = b;
  return (*x > *y) - (*x < *y);
}

static size_t goal_slot(const mica__grammar_schema *s, const mica__object *const *schemas, size_t count) {
  const size_t bytes = count * sizeof(*schemas);
  size_t i = (size_t)mica__hash_bytes((mica__hash){0}, schemas, bytes).low & (s->slot_count - 1);
  for (; s->slots[i]; i = (i + 1) & (s->slot_count - 1)) {
    const mica__goal *goal = &s->goals[s->slots[i] - 1];
    if (goal->count == count && (count == 0 || !memcmp(goal->schemas, schemas, bytes))) break;
  }
  return i;
}

mica_status mica__schema_rule(mica__grammar_schema *s, const mica__object **schemas, size_t count, uint32_t *rule) {
  size_t kept = 0;
  if (count > 1) qsort((void *)schemas, count, sizeof(*schemas), by_address);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || schemas[i] != schemas[i - 1]) schemas[kept++] = schemas[i];
  MICA_TRY(mica__schema_work(s, kept + 1));
  const size_t slot = goal_slot(s, schemas, kept);
  if (s->slots[slot]) return *rule = s->goals[s->slots[slot] - 1].rule, MICA_OK;
  if (s->goal_count == MICA__MOST_GOALS)
    return mica__fail(MICA_E_UNSUPPORTED, "the schema needs more than %d rules; make it simpler", MICA__MOST_GOALS);
  MICA_TRY(mica__grow_list(&s->goals, s->goal_count, &s->goal_room, sizeof *s->goals));
  mica__goal *goal = &s->goals[s->goal_count];
  MICA_TRY(mica__arena_take(&s->arena, kept + 1, sizeof(*schemas), &goal->schemas));
  if (kept) memcpy((void *)goal->schemas, schemas, kept * sizeof(*schemas));
  goal->count = kept;
  *rule = goal->rule = mica__automaton_rule(s->automaton);
  s->slots[slot] = (uint32_t)++s->goal_count;
  return s->automaton->status;
}

/* --- from a goal to parts --- */

mica_status mica__parts_add(mica__grammar_schema *s, mica__parts *parts, const mica__object *schema, int32_t parent) {
  for (int32_t i = parent; i >= 0; i = parts->parent[i])
    if (parts->at[i] == schema)
      return mica__schema_fail(s, schema, NULL, MICA_E_INVALID,
                               "references form a cycle: they lead back to this schema without a value between them");
  for (size_t i = 0; i < parts->count; i++)
    if (parts->at[i] == schema) return MICA_OK;
  MICA_TRY(mica__schema_work(s, 1 + parts->count));
  MICA_TRY(mica__schema_check(s, schema));
  if (schema->kind == MICA__OBJECT_BOOL) {
    if (!schema->as.truth) parts->never = true;
    return MICA_OK;
  }
  if (parts->count == MICA__MOST_PARTS)
    return mica__schema_fail(s, schema, NULL, MICA_E_UNSUPPORTED, "more than %d schemas apply to one value",
                             MICA__MOST_PARTS);
  parts->parent[parts->count] = parent;
  parts->at[parts->count++] = schema;
  return MICA_OK;
}

mica_status mica__parts_join(mica__grammar_schema *s, mica__parts *parts, size_t from) {
  for (size_t i = from; i < parts->count && !parts->never; i++) {
    const mica__object *schema = parts->at[i], *target;
    const mica__object *reference = mica__schema_get(schema, "$ref"), *list = mica__schema_get(schema, "allOf");
    if (reference) {
      MICA_TRY(mica__schema_resolve(s, schema, reference, &target));
      MICA_TRY(mica__parts_add(s, parts, target, (int32_t)i));
    }
    for (size_t k = 0; list && k < list->count; k++)
      MICA_TRY(mica__parts_add(s, parts, &list->as.items[k], (int32_t)i));
  }
  return MICA_OK;
}

mica_status mica__schema_parts(mica__grammar_schema *s, const mica__object *schema, mica__parts *parts) {
  parts->count = 0;
  parts->never = false;
  MICA_TRY(mica__parts_add(s, parts, schema, -1));
  return mica__parts_join(s, parts, 0);
}
