#include "foundation/config_source.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>

static mica__config_value of_json(const cJSON *item, const char *key) {
  mica__config_value fact = {.key = key, .item = item};
  if (cJSON_IsNumber(item)) fact.kind = MICA__CONFIG_NUMBER, fact.number = item->valuedouble;
  if (cJSON_IsBool(item)) fact.kind = MICA__CONFIG_FLAG, fact.number = cJSON_IsTrue(item);
  if (cJSON_IsArray(item)) fact.kind = MICA__CONFIG_LIST, fact.count = (size_t)cJSON_GetArraySize(item);
  if (cJSON_IsObject(item)) fact.kind = MICA__CONFIG_OBJECT;
  if (cJSON_IsString(item)) {
    fact.kind = MICA__CONFIG_TEXT;
    fact.text = (mica_gguf_text){item->valuestring, strlen(item->valuestring)};
  }
  return fact;
}

/* Marks an item directly in facts->json as read. */
static void see(const mica__config_source *facts, const cJSON *item) {
  size_t at = 0;
  for (const cJSON *i = facts->json->child; facts->seen && i; i = i->next, at++)
    if (i == item) facts->seen[at] = true;
}

static const cJSON *item_of(const mica__config_source *facts, const char *path, size_t length) {
  const cJSON *item = facts->json;
  char name[128];
  for (size_t at = 0; item && at < length;) {
    const char *dot = memchr(path + at, '.', length - at);
    const size_t n = dot ? (size_t)(dot - path) - at : length - at;
    if (n >= sizeof name) return NULL;
    memcpy(name, path + at, n);
    name[n] = '\0';
    item = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, name) : NULL;
    if (item && at == 0) see(facts, item);
    at += n + 1;
  }
  return item;
}

static mica__config_value find_json(const mica__config_source *facts, const char *keys) {
  mica__config_value found = {.key = keys};
  while (facts->json && *keys) {
    const size_t n = strcspn(keys, "|");
    const mica__config_value fact = of_json(item_of(facts, keys, n), keys);
    if (fact.kind != MICA__CONFIG_ABSENT && found.kind == MICA__CONFIG_ABSENT) found = fact;
    keys += n + (keys[n] == '|');
  }
  return found;
}
#else
static mica__config_value of_json(const struct cJSON *item, const char *key) {
  return (mica__config_value){.key = key, .item = item};
}
static mica__config_value find_json(const mica__config_source *facts, const char *keys) {
  return (void)facts, (mica__config_value){.key = keys};
}
#endif

static mica__config_value of_gguf(const mica_gguf_value *value, size_t index, const char *key) {
  mica__config_value fact = {.key = key, .value = value};
  switch (value->kind) {
  case MICA_GGUF_KIND_TEXT:
    fact.kind = MICA__CONFIG_TEXT;
    fact.text = mica_gguf_text_at(value, index);
    break;
  case MICA_GGUF_KIND_ARRAY: fact.kind = MICA__CONFIG_LIST; break;
  case MICA_GGUF_KIND_BOOL: fact.kind = MICA__CONFIG_FLAG; break;
  default: fact.kind = MICA__CONFIG_NUMBER;
  }
  if (fact.kind == MICA__CONFIG_NUMBER || fact.kind == MICA__CONFIG_FLAG) fact.number = mica_gguf_number(value, index);
  return fact;
}

static mica__config_value find_gguf(const mica__config_source *facts, const char *keys) {
  while (facts->gguf && *keys) {
    char key[256];
    const size_t n = strcspn(keys, "|");
    if (*keys == '/')
      snprintf(key, sizeof key, "%.*s", (int)n - 1, keys + 1);
    else
      snprintf(key, sizeof key, "%.100s.%.*s", facts->arch, (int)n, keys);
    const mica_gguf_value *value = mica_gguf_find(facts->gguf, key);
    if (value && value->array)
      return (mica__config_value){.kind = MICA__CONFIG_LIST, .key = keys, .count = value->count, .value = value};
    if (value) return of_gguf(value, 0, keys);
    keys += n + (keys[n] == '|');
  }
  return (mica__config_value){.key = keys};
}

mica__config_value mica__config_find(const mica__config_source *facts, const char *json, const char *gguf) {
  return facts->gguf ? find_gguf(facts, gguf) : find_json(facts, json);
}

mica__config_value mica__config_at(const mica__config_value *list, size_t index) {
  if (list->value) return of_gguf(list->value, index, list->key);
#if MICA_WITH_CJSON
  return of_json(cJSON_GetArrayItem(list->item, (int)index), list->key);
#else
  return of_json(NULL, list->key);
#endif
}

bool mica__config_is(const mica__config_value *fact, const char *text) {
  const size_t n = strlen(text);
  return fact->kind == MICA__CONFIG_TEXT && fact->text.length == n && !memcmp(fact->text.bytes, text, n);
}

/* Replaces a list of values per layer by one value if all are equal. */
static mica__config_value single(mica__config_value fact) {
  if (fact.kind != MICA__CONFIG_LIST || !fact.value || fact.count == 0) return fact;
  const mica__config_value first = mica__config_at(&fact, 0);
  for (size_t i = 1; i < fact.count; i++)
    if (mica__config_at(&fact, i).number != first.number) return fact;
  return first;
}

static mica_status fail_missing(const mica__config_source *facts, const char *field, const char *json,
                                const char *gguf) {
  const char *keys = facts->gguf ? gguf : json;
  return mica__fail(MICA_E_FORMAT, "%s: it does not say the model's %s: the key %s%.*s is missing", facts->path, field,
                    facts->gguf && *keys != '/' ? "<architecture>." : "", (int)strcspn(keys, "|"), keys);
}

static mica_status fail_kind(const mica__config_source *facts, const mica__config_value *fact, const char *what) {
  return mica__fail(MICA_E_FORMAT, "%s: the key %.*s is not %s", facts->path, (int)strcspn(fact->key, "|"), fact->key,
                    what);
}

mica_status mica__config_count(const mica__config_source *facts, const char *field, const char *json, const char *gguf,
                               int64_t fallback, int64_t low, int64_t high, int64_t *value) {
  const mica__config_value fact = single(mica__config_find(facts, json, gguf));
  *value = fallback;
  if (fact.kind == MICA__CONFIG_ABSENT)
    return fallback == MICA__NEEDED ? fail_missing(facts, field, json, gguf) : MICA_OK;
  if (fact.kind != MICA__CONFIG_NUMBER || fact.number != floor(fact.number))
    return fail_kind(facts, &fact, "an integer");
  if (!(fact.number >= (double)low && fact.number <= (double)high))
    return mica__fail(MICA_E_FORMAT, "%s: the key %.*s is %.17g; the model's %s must be %" PRId64 " to %" PRId64,
                      facts->path, (int)strcspn(fact.key, "|"), fact.key, fact.number, field, low, high);
  *value = (int64_t)fact.number;
  return MICA_OK;
}

mica_status mica__config_real(const mica__config_source *facts, const char *field, const char *json, const char *gguf,
                              double fallback, double low, double high, double *value) {
  const mica__config_value fact = single(mica__config_find(facts, json, gguf));
  *value = fallback;
  if (fact.kind == MICA__CONFIG_ABSENT)
    return fallback == MICA__NEEDED ? fail_missing(facts, field, json, gguf) : MICA_OK;
  if (fact.kind != MICA__CONFIG_NUMBER) return fail_kind(facts, &fact, "a number");
  if (!(fact.number >= low && fact.number <= high))
    return mica__fail(MICA_E_FORMAT, "%s: the key %.*s is %.17g; the model's %s must be %g to %g", facts->path,
                      (int)strcspn(fact.key, "|"), fact.key, fact.number, field, low, high);
  *value = fact.number;
  return MICA_OK;
}

mica_status mica__config_flag(const mica__config_source *facts, const char *json, const char *gguf, bool fallback,
                              bool *value) {
  const mica__config_value fact = mica__config_find(facts, json, gguf);
  *value = fallback;
  if (fact.kind == MICA__CONFIG_ABSENT) return MICA_OK;
  if (fact.kind != MICA__CONFIG_FLAG) return fail_kind(facts, &fact, "true or false");
  *value = fact.number != 0;
  return MICA_OK;
}
