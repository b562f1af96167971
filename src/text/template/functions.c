/* Functions of templates; date and text formats. */
#include "text/template/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ARGUMENTS mica__render *run, const mica__object *self, const mica__arguments *call, mica__object *result
#define MOST_RANGE 100000 /* as in Jinja's sandbox */

mica_status mica__function_raise(ARGUMENTS) {
  mica__object text;
  (void)self, (void)result;
  if (!call->bound[0]) return mica__fail(MICA_E_FORMAT, "raise_exception needs a message");
  MICA_TRY(mica__render_text(run, call->bound[0], &text));
  run->located = true;
  return mica__fail(MICA_E_INVALID, "%.*s", (int)(text.count < 1000 ? text.count : 1000), text.as.text);
}

mica_status mica__function_range(ARGUMENTS) {
  int64_t n[3] = {0, 0, 1}, count = 0;
  mica__object *items = NULL;
  (void)self;
  if (call->count < 1 || call->count > 3 || call->named)
    return mica__fail(MICA_E_FORMAT, "range takes one to three integers, which cannot be given by name");
  for (size_t i = 0; i < call->count; i++)
    MICA_TRY(mica__argument_integer(&call->items[i], 0, &n[call->count == 1 ? 1 : i]));
  if (n[2] == 0) return mica__fail(MICA_E_FORMAT, "the step of a range, its third argument, must not be 0");
  int64_t distance = 0;
  if (__builtin_sub_overflow(n[1], n[0], &distance) || n[2] == INT64_MIN)
    return mica__fail(MICA_E_FORMAT,
                      "the ends of a range must be less than 2^63 apart, and its step must be above -2^63");
  if ((distance > 0) == (n[2] > 0) && distance != 0) count = distance / n[2] + (distance % n[2] != 0);
  if (count > MOST_RANGE) return mica__fail(MICA_E_FORMAT, "a range may have at most %d items", MOST_RANGE);
  MICA_TRY(mica__render_step(run, (size_t)count * sizeof *items));
  MICA_TRY(mica__arena_take(&run->arena, (size_t)count, sizeof *items, &items));
  for (int64_t i = 0; i < count; i++) items[i] = mica__object_integer(n[0] + i * n[2]);
  return *result = mica__object_list(items, (size_t)count), MICA_OK;
}

/* Makes a dict from a dict or a list of pairs, then adds the named arguments of the call. */
static mica_status make_dict(mica__render *run, const mica__arguments *call, mica__dict **dict) {
  MICA_TRY(mica__dict_create(&run->arena, dict));
  if (call->count > 1)
    return mica__fail(MICA_E_FORMAT, "dict() takes at most one argument without a name: a dict or a list of pairs");
  if (call->count == 1 && call->items[0].kind == MICA__OBJECT_DICT) {
    const mica__dict *from = call->items[0].as.dict;
    for (size_t i = 0; i < from->count; i++)
      MICA_TRY(mica__dict_set(&run->arena, *dict, &from->keys[i], &from->values[i]));
  } else if (call->count == 1) {
    const mica__object *pairs = NULL;
    size_t count = 0;
    MICA_TRY(mica__render_items(run, &call->items[0], &pairs, &count));
    for (size_t i = 0; i < count; i++) {
      if (!mica__object_is_list(&pairs[i]) || pairs[i].count != 2)
        return mica__fail(MICA_E_FORMAT, "dict() needs a list of pairs");
      MICA_TRY(mica__dict_set(&run->arena, *dict, &pairs[i].as.items[0], &pairs[i].as.items[1]));
    }
  }
  for (size_t i = 0; i < call->named; i++)
    MICA_TRY(mica__dict_set(&run->arena, *dict, &call->names[i], &call->values[i]));
  return MICA_OK;
}

mica_status mica__function_dict(ARGUMENTS) {
  mica__dict *dict = NULL;
  (void)self;
  MICA_TRY(make_dict(run, call, &dict));
  return *result = (mica__object){.kind = MICA__OBJECT_DICT, .as.dict = dict}, MICA_OK;
}

mica_status mica__function_namespace(ARGUMENTS) {
  MICA_TRY(mica__function_dict(run, self, call, result));
  for (size_t i = 0; i < result->as.dict->count; i++) MICA_TRY(mica__check_member(&result->as.dict->keys[i]));
  return result->kind = MICA__OBJECT_NAMESPACE, MICA_OK;
}

/* --- time --- */

/* Converts one letter of strftime at a time, so the C library never sees a letter that it may not know. */
static void add_time(mica__text *out, char flag, char letter, const struct tm *when) {
  char format[5] = {'%', 0}, shown[120];
  size_t at = 1;
  if (flag) format[at++] = flag;
  format[at] = letter;
  if (letter == 'z' || letter == 'Z') return; /* the time has no zone */
  if (letter == 'f' || !strchr("aAbBcCdDeFgGhHIjkmMnpPrRSTuUVwWxXyY%", letter)) {
    mica__text_add(out, letter == 'f' ? "000000" : format);
    return;
  }
  mica__text_add_bytes(out, shown, strftime(shown, sizeof shown, format, when));
}

mica_status mica__function_time(ARGUMENTS) {
  const time_t now = run->time ? (time_t)run->time : time(NULL);
  mica__object format;
  mica__text made = {0};
  struct tm when;
  (void)self;
  MICA_TRY(mica__argument_text(call->bound[0], "the format of a time", &format));
  if (!(run->time ? gmtime_r(&now, &when) : localtime_r(&now, &when)))
    return mica__fail(MICA_E_INVALID, "strftime_now: %lld seconds after 1970 cannot be written as a date",
                      (long long)now);
  for (size_t i = 0; i < format.count; i++) {
    const char *s = format.as.text + i;
    const bool flag = i + 2 < format.count && s[0] == '%' && s[1] && strchr("-_0^#", s[1]);
    if (s[0] == '%' && i + 1 + flag < format.count && s[1 + flag]) {
      add_time(&made, flag ? s[1] : '\0', s[1 + flag], &when);
      i += 1 + (size_t)flag;
    } else {
      mica__text_add_bytes(&made, s, 1);
    }
  }
  return mica__render_keep(run, &made, result);
}

/* --- "{}".format(arguments) --- */

/* The argument that the field "", "1" or "name" refers to; NULL: none. The field "" refers to argument *next, which is
 * then increased. */
static const mica__object *field_argument(const mica__arguments *call, const char *field, size_t bytes, size_t *next) {
  size_t index = 0, digits = 0;
  while (digits < bytes && digits < 9 && field[digits] >= '0' && field[digits] <= '9')
    index = 10 * index + (size_t)(field[digits++] - '0');
  if (bytes == 0) index = (*next)++;
  if (digits == bytes) return index < call->count ? &call->items[index] : NULL;
  for (size_t i = 0; i < call->named; i++)
    if (call->names[i].count == bytes && !memcmp(call->names[i].as.text, field, bytes)) return &call->values[i];
  return NULL;
}

static mica_status add_fields(mica__render *run, mica__text *out, const mica__object *format,
                              const mica__arguments *call) {
  const char *s = format->as.text, *end = s + format->count;
  size_t next = 0;
  while (s < end) {
    const bool twice = s + 1 < end && s[1] == s[0];
    if ((*s != '{' && *s != '}') || twice) {
      mica__text_add_bytes(out, s, 1);
      s += *s == '{' || *s == '}' ? 2 : 1;
      continue;
    }
    const char *close = *s == '{' ? memchr(s, '}', (size_t)(end - s)) : NULL;
    if (!close)
      return mica__fail(MICA_E_FORMAT, "a format has a single '%c'; write it twice for the character itself", *s);
    const size_t bytes = (size_t)(close - s - 1);
    for (const char *c = s + 1; c < close; c++)
      if (strchr(":!.[{", *c) && *c)
        return mica__fail(MICA_E_UNSUPPORTED, "Mica does not have the format '{%.*s}'", mica__text_shown(bytes), s + 1);
    const mica__object *argument = field_argument(call, s + 1, bytes, &next);
    if (!argument)
      return mica__fail(MICA_E_FORMAT, "a format has no argument for '{%.*s}'", mica__text_shown(bytes), s + 1);
    mica__object text;
    MICA_TRY(mica__render_text(run, argument, &text));
    MICA_TRY(mica__render_step(run, text.count));
    mica__text_add_bytes(out, text.as.text, text.count);
    if (out->length > MICA__MOST_TEMPLATE_OUTPUT)
      return mica__fail(MICA_E_FORMAT, "a format makes a text of more than %zu MiB", MICA__MOST_TEMPLATE_OUTPUT >> 20);
    s = close + 1;
  }
  return MICA_OK;
}

mica_status mica__method_format(ARGUMENTS) {
  mica__text made = {0};
  const mica_status status = add_fields(run, &made, self, call);
  if (status == MICA_OK) return mica__render_keep(run, &made, result);
  mica__text_free(&made);
  return status;
}
