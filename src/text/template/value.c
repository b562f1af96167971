/* Values of a template: kinds, truth, order, members. */
#include "text/template/value.h"

#include "base/hash.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A dict with more members gets a hash table. */
#define FEW_MEMBERS 8

const char *mica__object_type(const mica__object *v) {
  switch (v->kind) {
  case MICA__OBJECT_UNDEFINED: return "Undefined";
  case MICA__OBJECT_NONE: return "NoneType";
  case MICA__OBJECT_BOOL: return "bool";
  case MICA__OBJECT_INTEGER:
  case MICA__OBJECT_BIG: return "int";
  case MICA__OBJECT_FLOAT: return "float";
  case MICA__OBJECT_TEXT: return "str";
  case MICA__OBJECT_LIST: return "list";
  case MICA__OBJECT_TUPLE: return "tuple";
  case MICA__OBJECT_DICT: return "dict";
  case MICA__OBJECT_NAMESPACE: return "Namespace";
  case MICA__OBJECT_LOOP: return "LoopContext";
  case MICA__OBJECT_MACRO: return "Macro";
  case MICA__OBJECT_FUNCTION: return "function";
  case MICA__OBJECT_METHOD: return "method";
  }
  return "?";
}

double mica__object_as_double(const mica__object *v) {
  char digits[400];
  switch (v->kind) {
  case MICA__OBJECT_BOOL: return v->as.truth;
  case MICA__OBJECT_INTEGER: return (double)v->as.integer;
  case MICA__OBJECT_FLOAT: return v->as.number;
  case MICA__OBJECT_BIG:
    if (v->count >= sizeof digits) return v->as.text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    memcpy(digits, v->as.text, v->count);
    digits[v->count] = '\0';
    return mica__strtod(digits, NULL);
  default: return 0;
  }
}

bool mica__object_is_true(const mica__object *v) {
  switch (v->kind) {
  case MICA__OBJECT_UNDEFINED:
  case MICA__OBJECT_NONE: return false;
  case MICA__OBJECT_BOOL: return v->as.truth;
  case MICA__OBJECT_INTEGER: return v->as.integer != 0;
  case MICA__OBJECT_FLOAT: return v->as.number != 0;
  case MICA__OBJECT_TEXT:
  case MICA__OBJECT_LIST:
  case MICA__OBJECT_TUPLE: return v->count > 0;
  case MICA__OBJECT_DICT: return v->as.dict->count > 0;
  default: return true;
  }
}

static int order_of_texts(const mica__object *a, const mica__object *b) {
  const size_t least = a->count < b->count ? a->count : b->count;
  const int order = least ? memcmp(a->as.text, b->as.text, least) : 0;
  return order ? order : a->count < b->count ? -1 : a->count > b->count;
}

static int order_of_numbers(const mica__object *a, const mica__object *b) {
  int64_t m, n;
  if (mica__object_as_integer(a, &m) && mica__object_as_integer(b, &n)) return m < n ? -1 : m > n;
  const double x = mica__object_as_double(a), y = mica__object_as_double(b);
  if (x == y && a->kind == MICA__OBJECT_BIG && b->kind == MICA__OBJECT_BIG) return order_of_texts(a, b);
  return x < y ? -1 : x > y;
}

static bool equal(mica__arena *work, const mica__object *a, const mica__object *b, int depth);

static bool equal_dicts(mica__arena *work, const mica__dict *a, const mica__dict *b, int depth) {
  if (a == b) return true;
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++) {
    const mica__object *other = mica__dict_find(work, b, &a->keys[i]);
    if (!other || !equal(work, &a->values[i], other, depth + 1)) return false;
  }
  return true;
}

static bool equal(mica__arena *work, const mica__object *a, const mica__object *b, int depth) {
  if (depth > MICA__MOST_TEMPLATE_DEPTH || !mica__arena_work(work, sizeof *a)) return false;
  if (mica__object_is_number(a) && mica__object_is_number(b)) {
    if ((a->kind == MICA__OBJECT_FLOAT && isnan(a->as.number)) ||
        (b->kind == MICA__OBJECT_FLOAT && isnan(b->as.number)))
      return false;
    return order_of_numbers(a, b) == 0;
  }
  if (a->kind != b->kind) return false;
  switch (a->kind) {
  case MICA__OBJECT_UNDEFINED:
  case MICA__OBJECT_NONE: return true;
  case MICA__OBJECT_TEXT: return a->count == b->count && mica__arena_work(work, a->count) && !order_of_texts(a, b);
  case MICA__OBJECT_LIST:
  case MICA__OBJECT_TUPLE:
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count && a->as.items != b->as.items; i++)
      if (!equal(work, &a->as.items[i], &b->as.items[i], depth + 1)) return false;
    return true;
  case MICA__OBJECT_DICT: return equal_dicts(work, a->as.dict, b->as.dict, depth);
  case MICA__OBJECT_NAMESPACE: return a->as.dict == b->as.dict;
  default: return a->as.other == b->as.other;
  }
}

bool mica__object_equal(mica__arena *work, const mica__object *a, const mica__object *b) {
  return equal(work, a, b, 0);
}

bool mica__object_equals_text(const mica__object *v, const char *text) {
  return v->kind == MICA__OBJECT_TEXT && v->count == strlen(text) && !memcmp(v->as.text, text, v->count);
}

static size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

static mica_status compare(mica__arena *work, const mica__object *a, const mica__object *b, int *order, int depth) {
  const bool texts = a->kind == MICA__OBJECT_TEXT && b->kind == MICA__OBJECT_TEXT;
  if (!mica__arena_work(work, texts ? least_of(a->count, b->count) : sizeof *a))
    return mica__fail(MICA_E_FORMAT, "the template takes more than %d steps", MICA__MOST_TEMPLATE_STEPS);
  if (mica__object_is_number(a) && mica__object_is_number(b)) return *order = order_of_numbers(a, b), MICA_OK;
  if (texts) return *order = order_of_texts(a, b), MICA_OK;
  if (a->kind == b->kind && mica__object_is_list(a) && depth < MICA__MOST_TEMPLATE_DEPTH) {
    for (size_t i = 0; i < a->count && i < b->count; i++)
      if (!equal(work, &a->as.items[i], &b->as.items[i], depth))
        return compare(work, &a->as.items[i], &b->as.items[i], order, depth + 1);
    return *order = a->count < b->count ? -1 : a->count > b->count, MICA_OK;
  }
  if (a->kind == MICA__OBJECT_UNDEFINED || b->kind == MICA__OBJECT_UNDEFINED) {
    const mica__object *u = a->kind == MICA__OBJECT_UNDEFINED ? a : b;
    return mica__fail(MICA_E_FORMAT, "%.*s", (int)u->count, u->as.text);
  }
  const bool lists = a->kind == b->kind && mica__object_is_list(a);
  return mica__fail(MICA_E_FORMAT, "values of type %s and %s %s", mica__object_type(a), mica__object_type(b),
                    lists ? "are nested too deeply to be ordered" : "cannot be ordered");
}

mica_status mica__object_compare(mica__arena *work, const mica__object *a, const mica__object *b, int *order) {
  return compare(work, a, b, order, 0);
}

/* --- members --- */

mica_status mica__dict_create(mica__arena *arena, mica__dict **dict) {
  return mica__arena_take(arena, 1, sizeof **dict, dict);
}

/* Equal keys have equal hashes: 1, 1.0 and true are one key. The address of the dict is part of the hash, so nobody can
 * choose texts or numbers that collide. All other keys have the same hash. */
static uint64_t hash_of(const mica__dict *dict, const mica__object *key) {
  const mica__hash seed = {(uint64_t)(uintptr_t)dict, 0};
  if (key->kind == MICA__OBJECT_TEXT) return mica__hash_bytes(seed, key->as.text, key->count).low;
  if (mica__object_is_number(key)) {
    double x = mica__object_as_double(key);
    if (x == 0) x = 0;
    return mica__hash_bytes(seed, &x, sizeof x).low;
  }
  return 7;
}

/* The slot of a key, or the free slot for it. */
static size_t slot_of(mica__arena *work, const mica__dict *dict, const mica__object *key) {
  size_t slot = (size_t)hash_of(dict, key) & (dict->slot_count - 1);
  while (dict->slots[slot] && !mica__object_equal(work, &dict->keys[dict->slots[slot] - 1], key))
    slot = (slot + 1) & (dict->slot_count - 1);
  return slot;
}

static bool find(mica__arena *work, const mica__dict *dict, const mica__object *key, size_t *index) {
  if (key->kind == MICA__OBJECT_TEXT && !mica__arena_work(work, key->count)) return false;
  if (dict->slots) {
    const uint32_t found = dict->slots[slot_of(work, dict, key)];
    *index = found - (size_t)1;
    return found > 0;
  }
  for (*index = 0; *index < dict->count; ++*index)
    if (mica__object_equal(work, &dict->keys[*index], key)) return true;
  return false;
}

const mica__object *mica__dict_find(mica__arena *work, const mica__dict *dict, const mica__object *key) {
  size_t index;
  return find(work, dict, key, &index) ? &dict->values[index] : NULL;
}

const mica__object *mica__dict_find_text(const mica__dict *dict, const char *key, size_t bytes) {
  const mica__object text = mica__object_text(key, bytes);
  return mica__dict_find(NULL, dict, &text);
}

static mica_status grow(mica__arena *arena, mica__dict *dict) {
  const size_t room = dict->room ? 2 * dict->room : 4;
  mica__object *keys = NULL, *values = NULL;
  if (room > UINT32_MAX / 4) return mica__fail_nomem("a dict");
  MICA_TRY(mica__arena_take(arena, room, sizeof *keys, &keys));
  MICA_TRY(mica__arena_take(arena, room, sizeof *values, &values));
  if (dict->count) {
    memcpy(keys, dict->keys, dict->count * sizeof *keys);
    memcpy(values, dict->values, dict->count * sizeof *values);
  }
  dict->keys = keys;
  dict->values = values;
  dict->room = room;
  if (room <= FEW_MEMBERS) return MICA_OK;
  MICA_TRY(mica__arena_take(arena, 2 * room, sizeof *dict->slots, &dict->slots));
  dict->slot_count = 2 * room;
  for (size_t i = 0; i < dict->count; i++) dict->slots[slot_of(arena, dict, &keys[i])] = (uint32_t)i + 1;
  return MICA_OK;
}

static bool can_be_key(const mica__object *key, int depth) {
  if (key->kind == MICA__OBJECT_TUPLE && depth < MICA__MOST_TEMPLATE_DEPTH) {
    for (size_t i = 0; i < key->count; i++)
      if (!can_be_key(&key->as.items[i], depth + 1)) return false;
    return true;
  }
  return key->kind != MICA__OBJECT_LIST && key->kind != MICA__OBJECT_DICT && key->kind != MICA__OBJECT_TUPLE;
}

mica_status mica__dict_set(mica__arena *arena, mica__dict *dict, const mica__object *key, const mica__object *value) {
  size_t index;
  if (!can_be_key(key, 0))
    return mica__fail(MICA_E_FORMAT, "a value of type %s cannot be the key of a dict%s", mica__object_type(key),
                      key->kind == MICA__OBJECT_TUPLE ? " if it holds lists or dicts, or is nested too deeply" : "");
  if (find(arena, dict, key, &index)) return dict->values[index] = *value, MICA_OK;
  if (dict->count == dict->room) MICA_TRY(grow(arena, dict));
  if (dict->slots) dict->slots[slot_of(arena, dict, key)] = (uint32_t)dict->count + 1;
  dict->keys[dict->count] = *key;
  dict->values[dict->count++] = *value;
  return MICA_OK;
}
