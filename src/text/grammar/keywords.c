/* Keywords of schemas: which are known, what kinds of value they take, and what references point to. */
#include "base/number.h"
#include "text/grammar/schema.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef enum keyword_use { USED, NOTE } keyword_use;
typedef enum value_kind { ANY, TEXT, TEXTS, LIST, SCHEMA, SCHEMAS, SCHEMA_MAP, COUNT, NUMBER, TRUTH } value_kind;

static const struct keyword {
  const char *name;
  keyword_use use;
  value_kind kind;
} keywords[] = {
#define KEYWORD(name, use, kind) {name, use, kind},
#include "text/grammar/keywords.def"
#undef KEYWORD
};

const mica__object *mica__schema_get(const mica__object *schema, const char *key) {
  return schema->kind == MICA__OBJECT_DICT ? mica__dict_find_text(schema->as.dict, key, strlen(key)) : NULL;
}

/* --- paths --- */

static void add_step(mica__text *path, const char *name, size_t bytes) {
  mica__text_add(path, "/");
  for (size_t i = 0; i < bytes && i < 100; i++) {
    if (name[i] == '~' || name[i] == '/')
      mica__text_add(path, name[i] == '~' ? "~0" : "~1");
    else
      mica__text_add_bytes(path, &name[i], 1);
  }
}

/* Appends the path from a value to another one inside it; false: it is not inside. */
static bool find_path(const mica__object *from, const mica__object *to, mica__text *path) {
  const size_t length = path->length;
  if (from == to) return true;
  if (from->kind == MICA__OBJECT_LIST) {
    for (size_t i = 0; i < from->count; i++) {
      mica__text_addf(path, "/%zu", i);
      if (find_path(&from->as.items[i], to, path)) return true;
      path->length = length;
    }
  }
  if (from->kind == MICA__OBJECT_DICT) {
    for (size_t i = 0; i < from->as.dict->count; i++) {
      add_step(path, from->as.dict->keys[i].as.text, from->as.dict->keys[i].count);
      if (find_path(&from->as.dict->values[i], to, path)) return true;
      path->length = length;
    }
  }
  return false;
}

mica_status mica__schema_fail(const mica__grammar_schema *s, const mica__object *at, const char *key,
                              mica_status status, const char *format, ...) {
  char sentence[512];
  mica__text path = {0};
  va_list args;
  va_start(args, format);
  mica__vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  mica__text_add(&path, "#");
  find_path(&s->document, at, &path);
  if (key) add_step(&path, key, strlen(key));
  status = path.failed ? mica__fail_nomem("a path") : mica__fail(status, "%.400s: %s", path.data, sentence);
  mica__text_free(&path);
  return status;
}

mica_status mica__schema_work(mica__grammar_schema *s, size_t amount) {
  s->work += amount;
  return s->work <= MICA__MOST_WORK
             ? MICA_OK
             : mica__fail(MICA_E_UNSUPPORTED, "the schema is too large, or combines too many schemas; make it simpler");
}

/* --- values of keywords --- */

static bool is_schema(const mica__object *v) { return v->kind == MICA__OBJECT_DICT || v->kind == MICA__OBJECT_BOOL; }

static bool all(const mica__object *list, bool (*holds)(const mica__object *)) {
  if (list->kind != MICA__OBJECT_LIST) return false;
  for (size_t i = 0; i < list->count; i++)
    if (!holds(&list->as.items[i])) return false;
  return true;
}

static bool is_text(const mica__object *v) { return v->kind == MICA__OBJECT_TEXT; }

static bool is_count(const mica__object *v) {
  if (v->kind == MICA__OBJECT_FLOAT) return v->as.number >= 0 && v->as.number == floor(v->as.number);
  return (v->kind == MICA__OBJECT_INTEGER && v->as.integer >= 0) ||
         (v->kind == MICA__OBJECT_BIG && v->as.text[0] != '-');
}

/* The name of the wanted kind, for a message; NULL: the value has this kind. */
static const char *wrong(const mica__object *v, value_kind wanted) {
  switch (wanted) {
  case ANY: return NULL;
  case TEXT: return is_text(v) ? NULL : "a text";
  case TEXTS: return all(v, is_text) ? NULL : "a list of texts";
  case LIST: return v->kind == MICA__OBJECT_LIST ? NULL : "a list";
  case SCHEMA: return is_schema(v) ? NULL : "a schema (an object, true or false)";
  case SCHEMAS: return all(v, is_schema) ? NULL : "a list of schemas (objects, true or false)";
  case COUNT: return is_count(v) ? NULL : "a whole number of 0 or more";
  case NUMBER: return v->kind != MICA__OBJECT_BOOL && mica__object_is_number(v) ? NULL : "a number";
  case TRUTH: return v->kind == MICA__OBJECT_BOOL ? NULL : "true or false";
  case SCHEMA_MAP: break;
  }
  if (v->kind != MICA__OBJECT_DICT) return "an object of schemas";
  for (size_t i = 0; i < v->as.dict->count; i++)
    if (!is_schema(&v->as.dict->values[i])) return "an object of schemas";
  return NULL;
}

static const struct keyword *find_keyword(const mica__object *name) {
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (mica__object_equals_text(name, keywords[i].name)) return &keywords[i];
  return NULL;
}

mica_status mica__schema_check(const mica__grammar_schema *s, const mica__object *schema) {
  if (schema->kind == MICA__OBJECT_BOOL) return MICA_OK;
  if (schema->kind != MICA__OBJECT_DICT)
    return mica__schema_fail(s, schema, NULL, MICA_E_INVALID, "a schema must be an object, true or false");
  const mica__dict *members = schema->as.dict;
  for (size_t i = 0; i < members->count; i++) {
    const mica__object *name = &members->keys[i], *value = &members->values[i];
    if (name->count >= 2 && !memcmp(name->as.text, "x-", 2)) continue;
    const struct keyword *keyword = find_keyword(name);
    if (!keyword)
      return mica__schema_fail(s, value, NULL, MICA_E_UNSUPPORTED,
                               "Mica does not have this keyword; remove it (names that begin with \"x-\" are ignored)");
    const char *wanted = wrong(value, keyword->kind);
    if (wanted) return mica__schema_fail(s, value, NULL, MICA_E_INVALID, "the value must be %s", wanted);
  }
  return MICA_OK;
}

int64_t mica__schema_count(const mica__object *schema, const char *key, int64_t absent) {
  const mica__object *v = mica__schema_get(schema, key);
  if (!v) return absent;
  if (v->kind == MICA__OBJECT_INTEGER) return v->as.integer < MICA__MOST_COUNT ? v->as.integer : MICA__MOST_COUNT;
  if (v->kind == MICA__OBJECT_FLOAT && v->as.number < (double)MICA__MOST_COUNT) return (int64_t)v->as.number;
  return MICA__MOST_COUNT;
}

/* --- types --- */

unsigned mica__type_of(const mica__object *value) {
  switch (value->kind) {
  case MICA__OBJECT_NONE: return MICA__TYPE_NULL;
  case MICA__OBJECT_BOOL: return MICA__TYPE_BOOL;
  case MICA__OBJECT_INTEGER:
  case MICA__OBJECT_BIG: return MICA__TYPE_INTEGER;
  case MICA__OBJECT_FLOAT:
    /* Doubles of 2^53 and above have no fraction. */
    if (value->as.number > -0x1p53 && value->as.number < 0x1p53 &&
        value->as.number != (double)(int64_t)value->as.number)
      return MICA__TYPE_FRACTION;
    return MICA__TYPE_INTEGER;
  case MICA__OBJECT_TEXT: return MICA__TYPE_TEXT;
  case MICA__OBJECT_LIST: return MICA__TYPE_LIST;
  default: return MICA__TYPE_OBJECT;
  }
}

static mica_status type_named(const mica__grammar_schema *s, const mica__object *name, unsigned *types) {
  static const struct {
    const char *name;
    unsigned types;
  } rows[] = {{"null", MICA__TYPE_NULL},     {"boolean", MICA__TYPE_BOOL}, {"integer", MICA__TYPE_INTEGER},
              {"number", MICA__TYPE_NUMBER}, {"string", MICA__TYPE_TEXT},  {"array", MICA__TYPE_LIST},
              {"object", MICA__TYPE_OBJECT}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!mica__object_equals_text(name, rows[i].name)) continue;
    *types |= rows[i].types;
    return MICA_OK;
  }
  return mica__schema_fail(s, name, NULL, MICA_E_INVALID,
                           "a type must be null, boolean, integer, number, string, array or object");
}

mica_status mica__schema_types(const mica__grammar_schema *s, const mica__object *schema, unsigned *types) {
  const mica__object *type = mica__schema_get(schema, "type");
  *types = type ? 0 : MICA__TYPE_ALL;
  if (!type) return MICA_OK;
  if (type->kind != MICA__OBJECT_LIST) return type_named(s, type, types);
  for (size_t i = 0; i < type->count; i++) MICA_TRY(type_named(s, &type->as.items[i], types));
  return MICA_OK;
}

/* --- references --- */

/* Decodes one step of a JSON pointer in a URI fragment: %XX, then ~0 and ~1; false: an escape is invalid. */
static bool unescape(const char *text, size_t bytes, mica__text *out) {
  static const char digits[] = "0123456789abcdef0123456789ABCDEF";
  out->length = 0;
  mica__text_add_bytes(out, "", 0);
  for (size_t i = 0; i < bytes; i++) {
    char c = text[i];
    if (c == '%') {
      const char *high = i + 2 < bytes && text[i + 1] ? strchr(digits, text[i + 1]) : NULL;
      const char *low = high && text[i + 2] ? strchr(digits, text[i + 2]) : NULL;
      if (!high || !low) return false;
      c = (char)((high - digits) % 16 * 16 + (low - digits) % 16);
      i += 2;
    }
    mica__text_add_bytes(out, &c, 1);
  }
  size_t to = 0;
  for (size_t i = 0; i < out->length; i++, to++) {
    char c = out->data[i];
    if (c == '~') {
      if (i + 1 == out->length || (out->data[i + 1] != '0' && out->data[i + 1] != '1')) return false;
      c = out->data[++i] == '0' ? '~' : '/';
    }
    out->data[to] = c;
  }
  out->length = to;
  return !out->failed;
}

static const mica__object *child(const mica__object *v, const char *name, size_t bytes) {
  if (v->kind == MICA__OBJECT_DICT) return mica__dict_find_text(v->as.dict, name, bytes);
  if (v->kind != MICA__OBJECT_LIST || bytes == 0 || bytes > 9) return NULL;
  size_t index = 0;
  for (size_t i = 0; i < bytes; i++) {
    if (name[i] < '0' || name[i] > '9' || (name[0] == '0' && bytes > 1)) return NULL;
    index = 10 * index + (size_t)(name[i] - '0');
  }
  return index < v->count ? &v->as.items[index] : NULL;
}

/* Finds the schema with this "$anchor". */
static const mica__object *find_anchor(const mica__object *v, const mica__object *name) {
  const mica__object *found = NULL;
  const mica__object *anchor = mica__schema_get(v, "$anchor");
  if (anchor && mica__object_equal(NULL, anchor, name)) return v;
  if (v->kind == MICA__OBJECT_LIST)
    for (size_t i = 0; i < v->count && !found; i++) found = find_anchor(&v->as.items[i], name);
  if (v->kind == MICA__OBJECT_DICT)
    for (size_t i = 0; i < v->as.dict->count && !found; i++) found = find_anchor(&v->as.dict->values[i], name);
  return found;
}

static const mica__object *follow_pointer(const mica__grammar_schema *s, const char *text, size_t bytes) {
  const mica__object *at = &s->document;
  mica__text name = {0};
  for (size_t from = 0; from < bytes && at;) {
    size_t end = from + 1;
    while (end < bytes && text[end] != '/') end++;
    at = unescape(text + from + 1, end - from - 1, &name) ? child(at, name.data, name.length) : NULL;
    from = end;
  }
  mica__text_free(&name);
  return at;
}

mica_status mica__schema_resolve(const mica__grammar_schema *s, const mica__object *schema,
                                 const mica__object *reference, const mica__object **target) {
  const char *text = reference->as.text;
  const size_t bytes = reference->count;
  const mica__object *id = mica__schema_get(&s->document, "$id");
  if (bytes == 0 || text[0] != '#') {
    if (!id || !mica__object_equal(NULL, id, reference))
      return mica__schema_fail(s, schema, "$ref", MICA_E_UNSUPPORTED,
                               "\"%.*s\" is outside of the schema; references must begin with #",
                               mica__text_shown(bytes), text);
    return *target = &s->document, MICA_OK;
  }
  const mica__object name = mica__object_text(text + 1, bytes - 1);
  const mica__object *found =
      bytes == 1 || text[1] == '/' ? follow_pointer(s, text + 1, bytes - 1) : find_anchor(&s->document, &name);
  if (!found)
    return mica__schema_fail(s, schema, "$ref", MICA_E_INVALID, "\"%.*s\" does not exist in the schema",
                             mica__text_shown(bytes), text);
  return *target = found, MICA_OK;
}
