/* Reads members of objects in tokenizer.json. */
#include "text/tokenizer/json.h"

#include <inttypes.h>
#include <string.h>

const cJSON *mica__json_member(const cJSON *object, const char *key) {
  const cJSON *item = object ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
  return item && !cJSON_IsNull(item) ? item : NULL;
}

mica_status mica__json_text(const cJSON *object, const char *key, bool needed, const char **text) {
  const cJSON *item = mica__json_member(object, key);
  if (!item && !needed) return MICA_OK;
  if (!cJSON_IsString(item)) return mica__fail(MICA_E_FORMAT, "%s is %s", key, item ? "not a string" : "missing");
  *text = item->valuestring;
  return MICA_OK;
}

mica_status mica__json_bool(const cJSON *object, const char *key, bool *flag) {
  const cJSON *item = mica__json_member(object, key);
  if (item && !cJSON_IsBool(item)) return mica__fail(MICA_E_FORMAT, "%s must be true or false", key);
  if (item) *flag = cJSON_IsTrue(item);
  return MICA_OK;
}

mica_status mica__json_whole(const cJSON *item, const char *what, int64_t most, int64_t *number) {
  const double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
  if (!(value >= 0 && value <= (double)most) || value != (double)(int64_t)value)
    return mica__fail(MICA_E_FORMAT, "%s must be a whole number from 0 to %" PRId64, what, most);
  *number = (int64_t)value;
  return MICA_OK;
}

mica_status mica__json_integer(const cJSON *object, const char *key, int64_t most, int64_t *number) {
  const cJSON *item = mica__json_member(object, key);
  return item ? mica__json_whole(item, key, most, number) : MICA_OK;
}

mica_status mica__json_list(const cJSON *object, const char *key, const cJSON **list) {
  const cJSON *item = mica__json_member(object, key);
  if (!cJSON_IsArray(item)) return mica__fail(MICA_E_FORMAT, "%s is %s", key, item ? "not a list" : "missing");
  *list = item;
  return MICA_OK;
}

typedef struct steps {
  const char *what, *key;
  mica__json_step *parse;
  void *user;
  int count;
} steps;

static mica_status walk(steps *s, const cJSON *object, int depth) {
  const char *type = NULL;
  const cJSON *list = NULL, *item = NULL;
  if (!cJSON_IsObject(object))
    return mica__fail(MICA_E_FORMAT,
                      depth ? "each element of %s must be a JSON object" : "the value of \"%s\" must be a JSON object",
                      depth ? s->key : s->what);
  MICA_TRY(mica__json_text(object, "type", true, &type));
  if (strcmp(type, "Sequence") != 0) {
    if (++s->count > MICA__MOST_STEPS)
      return mica__fail(MICA_E_FORMAT, "there are more than %d steps", MICA__MOST_STEPS);
    const mica_status status = s->parse(s->user, object, type);
    return status == MICA_OK ? MICA_OK : mica__fail_in(status, type);
  }
  if (depth == MICA__DEEPEST_SEQUENCE)
    return mica__fail(MICA_E_FORMAT, "sequences are nested more than %d deep", MICA__DEEPEST_SEQUENCE);
  MICA_TRY(mica__json_list(object, s->key, &list));
  cJSON_ArrayForEach(item, list) MICA_TRY(walk(s, item, depth + 1));
  return MICA_OK;
}

mica_status mica__json_steps(const cJSON *object, const char *what, const char *key, mica__json_step *parse,
                             void *user) {
  steps s = {what, key, parse, user, 0};
  if (!object) return MICA_OK;
  const mica_status status = walk(&s, object, 0);
  return status == MICA_OK ? MICA_OK : mica__fail_in(status, what);
}
