/* Functions for all files of the runner. They count steps, find names, make texts and report failures. */
#include "base/number.h"
#include "base/utf8.h"
#include "text/template/run.h"

#include <stdio.h>
#include <string.h>

mica_status mica__render_step(mica__render *run, size_t bytes) {
  const uint64_t steps = 1 + (uint64_t)bytes / 256 + run->arena.work / 256;
  run->arena.work %= 256;
  run->steps += steps > MICA__MOST_TEMPLATE_STEPS ? MICA__MOST_TEMPLATE_STEPS : (int64_t)steps;
  if (run->steps <= MICA__MOST_TEMPLATE_STEPS) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the template takes more than %d steps", MICA__MOST_TEMPLATE_STEPS);
}

mica_status mica__render_undefined(const mica__object *v) {
  return mica__fail(MICA_E_FORMAT, "%.*s", (int)(v->count < 300 ? v->count : 300), v->as.text);
}

mica_status mica__render_make_undefined(mica__render *run, mica__object *v, const char *format, ...) {
  char sentence[200];
  va_list args;
  va_start(args, format);
  mica__vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  v->kind = MICA__OBJECT_UNDEFINED;
  v->count = strlen(sentence);
  return mica__arena_copy(&run->arena, sentence, v->count, &v->as.text);
}

mica_status mica__render_scope(mica__render *run, mica__scope *parent, mica__scope **scope) {
  MICA_TRY(mica__arena_take(&run->arena, 1, sizeof **scope, scope));
  (*scope)->parent = parent;
  return MICA_OK;
}

mica_status mica__render_set(mica__render *run, mica__scope *scope, int32_t name, const mica__object *value) {
  for (size_t i = 0; i < scope->count; i++)
    if (scope->list[i].name == name) return scope->list[i].value = *value, MICA_OK;
  if (scope->count == scope->room) {
    const size_t room = scope->room ? 2 * scope->room : 4;
    mica__binding *list = NULL;
    MICA_TRY(mica__arena_take(&run->arena, room, sizeof *list, &list));
    if (scope->count) memcpy(list, scope->list, scope->count * sizeof *list);
    scope->list = list;
    scope->room = room;
  }
  scope->list[scope->count++] = (mica__binding){name, *value};
  return MICA_OK;
}

mica_status mica__render_print(mica__render *run, const char *text, size_t bytes) {
  MICA_TRY(mica__render_step(run, bytes));
  if (bytes > MICA__MOST_TEMPLATE_OUTPUT - run->captured - run->out->length)
    return mica__fail(MICA_E_FORMAT, "the text has more than %zu MiB", MICA__MOST_TEMPLATE_OUTPUT >> 20);
  mica__text_add_bytes(run->out, text, bytes);
  return mica__text_status(run->out);
}

mica_status mica__render_keep(mica__render *run, mica__text *made, mica__object *value) {
  mica_status status = mica__text_status(made);
  const char *copy = NULL;
  if (status == MICA_OK && made->length > MICA__MOST_TEMPLATE_OUTPUT)
    status = mica__fail(MICA_E_FORMAT, "a text has more than %zu MiB", MICA__MOST_TEMPLATE_OUTPUT >> 20);
  if (status == MICA_OK) status = mica__render_step(run, made->length);
  if (status == MICA_OK) status = mica__arena_copy(&run->arena, made->data ? made->data : "", made->length, &copy);
  *value = mica__object_text(copy, status == MICA_OK ? made->length : 0);
  mica__text_free(made);
  return status;
}

mica_status mica__render_items(mica__render *run, const mica__object *v, const mica__object **items, size_t *count) {
  *items = NULL;
  *count = 0;
  switch (v->kind) {
  case MICA__OBJECT_UNDEFINED: return MICA_OK;
  case MICA__OBJECT_LIST:
  case MICA__OBJECT_TUPLE:
    *items = v->as.items;
    *count = v->count;
    return MICA_OK;
  case MICA__OBJECT_DICT:
    *items = v->as.dict->keys;
    *count = v->as.dict->count;
    return MICA_OK;
  case MICA__OBJECT_TEXT: break;
  default: return mica__fail(MICA_E_FORMAT, "a value of type %s cannot be iterated", mica__object_type(v));
  }
  mica__object *made = NULL;
  size_t n = 1, used = 0;
  MICA_TRY(mica__render_step(run, v->count * 16));
  MICA_TRY(mica__arena_take(&run->arena, mica__characters(v->as.text, v->count), sizeof *made, &made));
  for (size_t at = 0; at < v->count; at += n) {
    mica__utf8_at(v->as.text + at, &n);
    made[used++] = mica__object_text(v->as.text + at, n);
  }
  *items = made;
  *count = used;
  return MICA_OK;
}

mica_status mica__render_text(mica__render *run, const mica__object *v, mica__object *text) {
  mica__text made = {0};
  if (v->kind == MICA__OBJECT_TEXT) return *text = *v, MICA_OK;
  if (v->kind == MICA__OBJECT_UNDEFINED) return *text = mica__object_text("", 0), MICA_OK;
  mica__object_print(&made, v);
  return mica__render_keep(run, &made, text);
}

mica_status mica__render_join(mica__render *run, const mica__object *first, const mica__object *second,
                              mica__object *joined) {
  mica__object a = *first, b = *second;
  MICA_TRY(mica__render_step(run, a.count ? b.count : 0));
  if (a.safe && !b.safe) MICA_TRY(mica__escape_text(run, second, &b));
  if (b.safe && !a.safe) MICA_TRY(mica__escape_text(run, first, &a));
  mica__object made = mica__object_text("", a.count + b.count);
  made.safe = a.safe;
  MICA_TRY(mica__arena_join(&run->arena, a.as.text, a.count, b.as.text, b.count, &made.as.text));
  return *joined = made, MICA_OK;
}

mica_status mica__escape_text(mica__render *run, const mica__object *v, mica__object *result) {
  static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  static const char escaped[] = "&<>'\"";
  mica__object text;
  mica__text made = {0};
  MICA_TRY(mica__render_text(run, v, &text));
  for (size_t i = 0; i < text.count; i++) {
    const char c = text.as.text[i], *found = c ? strchr(escaped, c) : NULL;
    if (found)
      mica__text_add(&made, entities[found - escaped]);
    else
      mica__text_add_bytes(&made, &c, 1);
  }
  MICA_TRY(mica__render_keep(run, &made, result));
  return result->safe = true, MICA_OK;
}

mica_status mica__check_member(const mica__object *name) {
  if (name->kind != MICA__OBJECT_TEXT || name->count == 0 || name->as.text[0] != '_') return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "a namespace cannot have the attribute '%.*s', which begins with '_'",
                    mica__text_shown(name->count), name->as.text);
}
