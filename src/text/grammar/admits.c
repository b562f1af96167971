/* Tests whether a known value satisfies a schema. The value is from "enum" or "const", or is the name of a member. */
#include "text/grammar/decimal.h"
#include "text/grammar/language.h"
#include "text/grammar/schema.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NESTING 128

static mica_status admits(mica__grammar_schema *s, const mica__object *schema, const mica__object *value, int depth,
                          bool *ok);

/* --- equality --- */

static bool equal_members(const mica__object *a, const mica__object *b) {
  if (a->as.dict->count != b->as.dict->count) return false;
  for (size_t i = 0; i < a->as.dict->count; i++) {
    const mica__object *other = mica__dict_find(NULL, b->as.dict, &a->as.dict->keys[i]);
    if (!other || !mica__schema_equal(&a->as.dict->values[i], other)) return false;
  }
  return true;
}

bool mica__schema_equal(const mica__object *a, const mica__object *b) {
  const unsigned x = mica__type_of(a), y = mica__type_of(b);
  if (x & MICA__TYPE_NUMBER && y & MICA__TYPE_NUMBER) {
    if (a->kind != MICA__OBJECT_FLOAT && b->kind != MICA__OBJECT_FLOAT) return mica__object_equal(NULL, a, b);
    return mica__object_as_double(a) == mica__object_as_double(b);
  }
  if (x != y) return false;
  if (x == MICA__TYPE_OBJECT) return equal_members(a, b);
  if (x != MICA__TYPE_LIST) return x == MICA__TYPE_NULL || mica__object_equal(NULL, a, b);
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++)
    if (!mica__schema_equal(&a->as.items[i], &b->as.items[i])) return false;
  return true;
}

/* --- texts --- */

static mica_status admits_text(const mica__object *schema, const mica__object *value, bool *ok) {
  static const char *const keys[] = {"pattern", "format"};
  int64_t characters = 0;
  for (size_t i = 0; i < value->count; i++) characters += ((unsigned char)value->as.text[i] & 0xc0) != 0x80;
  if (characters < mica__schema_count(schema, "minLength", 0) ||
      characters > mica__schema_count(schema, "maxLength", MICA__MOST_COUNT))
    *ok = false;
  for (int i = 0; i < 2 && *ok; i++) {
    const mica__object *wanted = mica__schema_get(schema, keys[i]);
    mica__automaton language = {0};
    if (!wanted) continue;
    mica_status status = i == 0 ? mica__language_regex(wanted->as.text, wanted->count, false, &language)
                                : mica__language_format(wanted->as.text, wanted->count, &language);
    if (status == MICA_OK) status = mica__automaton_finish(&language);
    if (status == MICA_OK) status = mica__language_accepts(&language, value->as.text, value->count, ok);
    mica__automaton_free(&language);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* --- numbers --- */

/* Digit i of d, from the left, across the point; 0 after the last digit. */
static int digit_at(const mica__decimal *d, size_t i) {
  if (i < d->whole_count) return d->whole[i] - '0';
  return i - d->whole_count < d->part_count ? d->part[i - d->whole_count] - '0' : 0;
}

/* Subtracts b from a; both have `count` digits, and a is not below b. */
static void subtract(unsigned char *a, const unsigned char *b, size_t count) {
  int borrow = 0;
  for (size_t i = count; i-- > 0;) {
    const int digit = a[i] - b[i] - borrow;
    borrow = digit < 0;
    a[i] = (unsigned char)(digit + 10 * borrow);
  }
}

/* True if a is a whole multiple of b, whatever their signs. Scales both to whole numbers by the same power of ten, then
 * divides digit by digit. */
static bool is_multiple(const mica__decimal *a, const mica__decimal *b) {
  unsigned char step[2 * MICA__MOST_DIGITS + 1] = {0}, rest[2 * MICA__MOST_DIGITS + 1] = {0};
  const size_t scale = a->part_count > b->part_count ? a->part_count : b->part_count;
  const size_t count = b->whole_count + scale; /* digits of the step; the rest times 10 has one more */
  if (mica__decimal_is_zero(b)) return false;
  for (size_t i = 0; i < count; i++) step[i + 1] = (unsigned char)digit_at(b, i);
  for (size_t i = 0; i < a->whole_count + scale; i++) {
    memmove(rest, rest + 1, count);
    rest[count] = (unsigned char)digit_at(a, i);
    while (memcmp(rest, step, count + 1) >= 0) subtract(rest, step, count + 1);
  }
  for (size_t i = 0; i <= count; i++)
    if (rest[i]) return false;
  return true;
}

static mica_status admits_number(const mica__grammar_schema *s, const mica__object *schema, const mica__object *value,
                                 bool *ok) {
  static const char *const keys[] = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"};
  mica__decimal number, bound;
  for (int i = 0; i < 5 && *ok; i++) {
    const mica__object *wanted = mica__schema_get(schema, keys[i]);
    if (!wanted) continue;
    mica_status status = mica__decimal_of(wanted, &bound);
    if (status == MICA_OK) status = mica__decimal_of(value, &number);
    if (status == MICA_E_UNSUPPORTED) return mica__schema_fail(s, schema, keys[i], status, "%s", mica_error_message());
    MICA_TRY(status);
    const int order = mica__decimal_compare(&number, &bound);
    *ok = i == 0   ? order >= 0
          : i == 1 ? order > 0
          : i == 2 ? order <= 0
          : i == 3 ? order < 0
                   : is_multiple(&number, &bound);
  }
  return MICA_OK;
}

/* --- lists and objects --- */

static mica_status admits_list(mica__grammar_schema *s, const mica__object *schema, const mica__object *value,
                               int depth, bool *ok) {
  const mica__object *items = mica__schema_get(schema, "items"), *first = mica__schema_get(schema, "prefixItems");
  const mica__object *unique = mica__schema_get(schema, "uniqueItems");
  const int64_t count = (int64_t)value->count;
  if (items && items->kind == MICA__OBJECT_LIST) {
    first = items;
    items = mica__schema_get(schema, "additionalItems");
  }
  if (count < mica__schema_count(schema, "minItems", 0) ||
      count > mica__schema_count(schema, "maxItems", MICA__MOST_COUNT))
    *ok = false;
  for (size_t i = 0; i < value->count && *ok; i++) {
    const mica__object *wanted = first && i < first->count ? &first->as.items[i] : items;
    if (wanted) MICA_TRY(admits(s, wanted, &value->as.items[i], depth + 1, ok));
    MICA_TRY(mica__schema_work(s, i));
    for (size_t k = 0; unique && unique->as.truth && k < i && *ok; k++)
      *ok = !mica__schema_equal(&value->as.items[i], &value->as.items[k]);
  }
  return MICA_OK;
}

static mica_status admits_member(mica__grammar_schema *s, const mica__object *schema, const mica__object *name,
                                 const mica__object *value, int depth, bool *ok) {
  const mica__object *own = mica__schema_get(schema, "properties"),
                     *map = mica__schema_get(schema, "patternProperties");
  const mica__object *other = mica__schema_get(schema, "additionalProperties");
  const mica__object *names = mica__schema_get(schema, "propertyNames"), *found = NULL;
  bool any = false;
  if (names) MICA_TRY(admits(s, names, name, depth + 1, ok));
  if (own && (found = mica__dict_find(NULL, own->as.dict, name))) {
    any = true;
    if (*ok) MICA_TRY(admits(s, found, value, depth + 1, ok));
  }
  for (size_t i = 0; map && i < map->as.dict->count; i++) {
    mica__automaton language = {0};
    const mica__object *pattern = &map->as.dict->keys[i];
    bool matches = false;
    mica_status status = mica__language_regex(pattern->as.text, pattern->count, false, &language);
    if (status == MICA_OK) status = mica__automaton_finish(&language);
    if (status == MICA_OK) status = mica__language_accepts(&language, name->as.text, name->count, &matches);
    mica__automaton_free(&language);
    MICA_TRY(status);
    any = any || matches;
    if (matches && *ok) MICA_TRY(admits(s, &map->as.dict->values[i], value, depth + 1, ok));
  }
  if (!any && other && *ok) MICA_TRY(admits(s, other, value, depth + 1, ok));
  return MICA_OK;
}

static mica_status admits_object(mica__grammar_schema *s, const mica__object *schema, const mica__object *value,
                                 int depth, bool *ok) {
  const mica__object *required = mica__schema_get(schema, "required");
  const mica__dict *members = value->as.dict;
  const int64_t count = (int64_t)members->count;
  if (count < mica__schema_count(schema, "minProperties", 0) ||
      count > mica__schema_count(schema, "maxProperties", MICA__MOST_COUNT))
    *ok = false;
  for (size_t i = 0; required && i < required->count && *ok; i++)
    *ok = mica__dict_find(NULL, members, &required->as.items[i]) != NULL;
  for (size_t i = 0; i < members->count && *ok; i++)
    MICA_TRY(admits_member(s, schema, &members->keys[i], &members->values[i], depth, ok));
  return MICA_OK;
}

/* --- all keywords --- */

static mica_status admits_choices(mica__grammar_schema *s, const mica__object *schema, const mica__object *value,
                                  int depth, bool *ok) {
  static const char *const keys[] = {"allOf", "anyOf", "oneOf"};
  for (int i = 0; i < 3 && *ok; i++) {
    const mica__object *list = mica__schema_get(schema, keys[i]);
    size_t holds = 0;
    if (!list) continue;
    for (size_t k = 0; k < list->count; k++) {
      bool one = true;
      MICA_TRY(admits(s, &list->as.items[k], value, depth + 1, &one));
      holds += one;
    }
    *ok = i == 0 ? holds == list->count : i == 1 ? holds > 0 : holds == 1;
  }
  return MICA_OK;
}

static mica_status admits_known(mica__grammar_schema *s, const mica__object *schema, const mica__object *value,
                                int depth, bool *ok) {
  const mica__object *reference = mica__schema_get(schema, "$ref"), *target;
  const mica__object *one = mica__schema_get(schema, "const"), *list = mica__schema_get(schema, "enum");
  const unsigned type = mica__type_of(value);
  unsigned types;
  MICA_TRY(mica__schema_types(s, schema, &types));
  *ok = (types & type) && (!one || mica__schema_equal(one, value));
  bool found = list == NULL;
  for (size_t i = 0; *ok && !found && i < list->count; i++) found = mica__schema_equal(&list->as.items[i], value);
  *ok = *ok && found;
  if (*ok && reference) {
    MICA_TRY(mica__schema_resolve(s, schema, reference, &target));
    MICA_TRY(admits(s, target, value, depth + 1, ok));
  }
  if (*ok) MICA_TRY(admits_choices(s, schema, value, depth, ok));
  if (!*ok) return MICA_OK;
  if (type == MICA__TYPE_TEXT) return admits_text(schema, value, ok);
  if (type & MICA__TYPE_NUMBER) return admits_number(s, schema, value, ok);
  if (type == MICA__TYPE_LIST) return admits_list(s, schema, value, depth, ok);
  return type == MICA__TYPE_OBJECT ? admits_object(s, schema, value, depth, ok) : MICA_OK;
}

static mica_status admits(mica__grammar_schema *s, const mica__object *schema, const mica__object *value, int depth,
                          bool *ok) {
  MICA_TRY(mica__schema_work(s, 1));
  if (depth > MOST_NESTING)
    return mica__schema_fail(s, schema, NULL, MICA_E_INVALID,
                             "references form a cycle here, or are nested more than %d levels deep", MOST_NESTING);
  MICA_TRY(mica__schema_check(s, schema));
  if (schema->kind == MICA__OBJECT_BOOL) return *ok = schema->as.truth, MICA_OK;
  return admits_known(s, schema, value, depth, ok);
}

mica_status mica__schema_admits(mica__grammar_schema *s, const mica__object *schema, const mica__object *value,
                                bool *ok) {
  return admits(s, schema, value, 0, ok);
}
