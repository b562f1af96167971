/* "oneOf": no value may satisfy two of the alternatives. A grammar cannot count the alternatives that hold, so they
 * must differ by their types, by their constants, or by a required member. A part is a schema that a
 * value must satisfy together with the other parts (schema.h). */
#include "text/grammar/schema.h"

#include <stdlib.h>

#define MOST_NESTING 8

static mica_status are_apart(mica__grammar_schema *s, const mica__object *a, const mica__object *b, int depth,
                             bool *apart);

/* The first list of constants among the parts; NULL: they have none. */
static const mica__object *constants(const mica__parts *parts, size_t *count) {
  for (size_t i = 0; i < parts->count; i++) {
    const mica__object *one = mica__schema_get(parts->at[i], "const"), *list = mica__schema_get(parts->at[i], "enum");
    if (one) return *count = 1, one;
    if (list) return *count = list->count, list->as.items;
  }
  return NULL;
}

static mica_status types_of(mica__grammar_schema *s, const mica__parts *parts, unsigned *types) {
  size_t count = 0;
  unsigned some, listed = 0;
  const mica__object *values = constants(parts, &count);
  *types = MICA__TYPE_ALL;
  for (size_t i = 0; i < parts->count; i++) {
    MICA_TRY(mica__schema_types(s, parts->at[i], &some));
    *types &= some;
  }
  for (size_t i = 0; i < count; i++) listed |= mica__type_of(&values[i]);
  if (values) *types &= listed;
  return MICA_OK;
}

/* Sets *refuses if the parts have constants and the schema refuses all of them. */
static mica_status refuses_constants(mica__grammar_schema *s, const mica__parts *parts, const mica__object *schema,
                                     bool *refuses) {
  size_t count = 0;
  const mica__object *values = constants(parts, &count);
  *refuses = values != NULL;
  for (size_t i = 0; i < count && *refuses; i++) {
    bool admits = true;
    MICA_TRY(mica__schema_admits(s, schema, &values[i], &admits));
    *refuses = !admits;
  }
  return MICA_OK;
}

/* Collects the parts' schemas for a member; returns their number, at most MICA__MOST_PARTS. */
static size_t member_schemas(const mica__parts *parts, const mica__object *name, const mica__object **schemas) {
  size_t count = 0;
  for (size_t i = 0; i < parts->count; i++) {
    const mica__object *map = mica__schema_get(parts->at[i], "properties");
    const mica__object *own = map ? mica__dict_find(NULL, map->as.dict, name) : NULL;
    const mica__object *other = mica__schema_get(parts->at[i], "additionalProperties");
    if (own)
      schemas[count++] = own;
    else if (other && !mica__schema_get(parts->at[i], "patternProperties"))
      schemas[count++] = other;
  }
  return count;
}

/* Sets *apart if it can tell that no value satisfies the schemas that both a and b have for the member `name`. May miss
 * such cases. */
static mica_status member_apart(mica__grammar_schema *s, const mica__parts *a, const mica__parts *b,
                                const mica__object *name, int depth, bool *apart) {
  const mica__object *left[MICA__MOST_PARTS], *right[MICA__MOST_PARTS];
  const size_t x = member_schemas(a, name, left), y = member_schemas(b, name, right);
  for (size_t i = 0; i < x && !*apart; i++)
    for (size_t k = 0; k < y && !*apart; k++) MICA_TRY(are_apart(s, left[i], right[k], depth + 1, apart));
  for (size_t k = 0; k < y && !*apart; k++)
    if (right[k]->kind == MICA__OBJECT_BOOL && !right[k]->as.truth) *apart = true;
  return MICA_OK;
}

static mica_status by_members(mica__grammar_schema *s, const mica__parts *a, const mica__parts *b, int depth,
                              bool *apart) {
  for (size_t i = 0; i < a->count; i++) {
    const mica__object *required = mica__schema_get(a->at[i], "required");
    for (size_t k = 0; required && k < required->count && !*apart; k++)
      MICA_TRY(member_apart(s, a, b, &required->as.items[k], depth, apart));
  }
  return MICA_OK;
}

/* Sets *apart if, in some anyOf or oneOf of the parts, every alternative excludes b. */
static mica_status by_choice(mica__grammar_schema *s, const mica__parts *parts, const mica__object *b, int depth,
                             bool *apart) {
  static const char *const keys[] = {"anyOf", "oneOf"};
  for (size_t i = 0; i < parts->count && !*apart; i++)
    for (int stage = 0; stage < 2 && !*apart; stage++) {
      const mica__object *list = mica__schema_get(parts->at[i], keys[stage]);
      if (!list) continue;
      *apart = true;
      for (size_t k = 0; k < list->count && *apart; k++) {
        *apart = false;
        MICA_TRY(are_apart(s, &list->as.items[k], b, depth + 1, apart));
      }
    }
  return MICA_OK;
}

static mica_status compare(mica__grammar_schema *s, const mica__object *a, const mica__object *b, mica__parts parts[2],
                           int depth, bool *apart) {
  unsigned left, right;
  MICA_TRY(mica__schema_parts(s, a, &parts[0]));
  MICA_TRY(mica__schema_parts(s, b, &parts[1]));
  if (parts[0].never || parts[1].never) return *apart = true, MICA_OK;
  MICA_TRY(types_of(s, &parts[0], &left));
  MICA_TRY(types_of(s, &parts[1], &right));
  *apart = (left & right) == 0;
  if (!*apart) MICA_TRY(refuses_constants(s, &parts[0], b, apart));
  if (!*apart) MICA_TRY(refuses_constants(s, &parts[1], a, apart));
  if (!*apart && (left & right) == MICA__TYPE_OBJECT) {
    MICA_TRY(by_members(s, &parts[0], &parts[1], depth, apart));
    if (!*apart) MICA_TRY(by_members(s, &parts[1], &parts[0], depth, apart));
  }
  if (!*apart) MICA_TRY(by_choice(s, &parts[0], b, depth, apart));
  if (!*apart) MICA_TRY(by_choice(s, &parts[1], a, depth, apart));
  return MICA_OK;
}

static mica_status are_apart(mica__grammar_schema *s, const mica__object *a, const mica__object *b, int depth,
                             bool *apart) {
  *apart = false;
  MICA_TRY(mica__schema_work(s, 100));
  if (depth > MOST_NESTING) return MICA_OK;
  mica__parts *parts = calloc(2, sizeof *parts);
  if (!parts) return mica__fail_nomem("a schema");
  const mica_status status = compare(s, a, b, parts, depth, apart);
  free(parts);
  return status;
}

mica_status mica__schema_check_one(mica__grammar_schema *s, const mica__object *schema, const mica__object *list) {
  for (size_t i = 0; i < list->count; i++)
    for (size_t k = i + 1; k < list->count; k++) {
      bool apart = false;
      MICA_TRY(are_apart(s, &list->as.items[i], &list->as.items[k], 0, &apart));
      if (!apart)
        return mica__schema_fail(
            s, schema, "oneOf", MICA_E_UNSUPPORTED,
            "a value may satisfy both alternatives %zu and %zu (counted from 0); use anyOf, or a required member "
            "whose constants differ",
            i, k);
    }
  return MICA_OK;
}
