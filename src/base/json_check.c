#include "base/json_check.h"

#if MICA_WITH_CJSON
#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b) {
  const cJSON *const *x = a, *const *y = b;
  return strcmp((*x)->string, (*y)->string);
}

mica_status mica__json_check_keys(const char *path, const char *what, const cJSON *object) {
  const size_t count = (size_t)cJSON_GetArraySize(object);
  const cJSON **items = malloc((count + 1) * sizeof *items);
  size_t at = 0;
  if (!items) return mica__fail_nomem(path);
  for (const cJSON *item = object->child; item; item = item->next) items[at++] = item;
  qsort(items, count, sizeof *items, by_key);
  mica_status status = MICA_OK;
  for (size_t i = 1; status == MICA_OK && i < count; i++)
    if (!strcmp(items[i - 1]->string, items[i]->string))
      status = mica__fail(MICA_E_FORMAT, "%s: %s has \"%.200s\" twice", path, what, items[i]->string);
  free(items);
  return status;
}

static bool escapes_zero(const char *text, size_t length) {
  for (size_t i = 0; i + 5 < length; i++) {
    if (text[i] != '\\') continue;
    if (!memcmp(&text[i + 1], "u0000", 5)) return true;
    i++; /* skips the escaped character: in \\u0000 the second backslash does not begin an escape */
  }
  return false;
}

mica_status mica__json_check_text(const char *path, const char *what, const char *text, size_t length) {
  const size_t valid = mica__utf8_prefix(text, length);
  if (valid < length) return mica__fail(MICA_E_FORMAT, "%s: byte %zu of %s is not UTF-8", path, valid, what);
  const char *zero = length ? memchr(text, 0, length) : NULL;
  if (zero)
    return mica__fail(MICA_E_FORMAT, "%s: byte %zu of %s is zero; if it is in UTF-16, save it as UTF-8", path,
                      (size_t)(zero - text), what);
  if (escapes_zero(text, length))
    return mica__fail(MICA_E_FORMAT, "%s: a name or text in %s has the escape \\u0000, the character U+0000", path,
                      what);
  return MICA_OK;
}

size_t mica__json_depth(const char *text, size_t length) {
  size_t depth = 0, most = 0;
  bool quoted = false;
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    if (quoted && c == '\\') i++;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if ((c == '{' || c == '[') && ++depth > most) most = depth;
    if ((c == '}' || c == ']') && depth > 0) depth--;
  }
  return most;
}

#endif
