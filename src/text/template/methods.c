/* Methods of Python's values. */
#include "text/template/tables.h"
#include "text/unicode.h"

#include <string.h>

#define ARGUMENTS mica__render *run, const mica__object *self, const mica__arguments *call, mica__object *result

static mica_status keep_bool(bool truth, mica__object *result) { return *result = mica__object_bool(truth), MICA_OK; }

/* --- the ends of texts --- */

static mica_status strip(mica__render *run, const mica__object *self, const mica__arguments *call, bool left,
                         bool right, mica__object *result) {
  const mica__object *set = call->bound[0] && call->bound[0]->kind != MICA__OBJECT_NONE ? call->bound[0] : NULL;
  mica__object chars;
  if (set) MICA_TRY(mica__argument_text(set, "the set of characters to strip", &chars));
  return *result = mica__strip(&run->arena, self, set, left, right), MICA_OK;
}

mica_status mica__method_strip(ARGUMENTS) { return strip(run, self, call, true, true, result); }
mica_status mica__method_lstrip(ARGUMENTS) { return strip(run, self, call, true, false, result); }
mica_status mica__method_rstrip(ARGUMENTS) { return strip(run, self, call, false, true, result); }

static bool has_end(const mica__object *text, const mica__object *part, bool end) {
  if (part->count > text->count) return false;
  return part->count == 0 || !memcmp(text->as.text + (end ? text->count - part->count : 0), part->as.text, part->count);
}

/* True if the text begins (or, with `end`, ends) with the argument. If the argument is a tuple of texts, one of them
 * must fit. */
static mica_status check_end(const mica__object *self, const mica__arguments *call, bool end, mica__object *result) {
  const mica__object *parts = call->bound[0];
  mica__object part;
  bool holds = false;
  if (!parts || parts->kind != MICA__OBJECT_TUPLE) {
    MICA_TRY(mica__argument_text(parts, "a prefix or suffix", &part));
    return keep_bool(has_end(self, &part, end), result);
  }
  for (size_t i = 0; i < parts->count && !holds; i++) {
    MICA_TRY(mica__argument_text(&parts->as.items[i], "a prefix or suffix", &part));
    holds = has_end(self, &part, end);
  }
  return keep_bool(holds, result);
}

mica_status mica__method_startswith(ARGUMENTS) { return (void)run, check_end(self, call, false, result); }
mica_status mica__method_endswith(ARGUMENTS) { return (void)run, check_end(self, call, true, result); }

mica_status mica__method_removeprefix(ARGUMENTS) {
  mica__object part;
  (void)run;
  MICA_TRY(mica__argument_text(call->bound[0], "a prefix", &part));
  *result = *self;
  if (has_end(self, &part, false)) *result = mica__object_text(self->as.text + part.count, self->count - part.count);
  return MICA_OK;
}

mica_status mica__method_removesuffix(ARGUMENTS) {
  mica__object part;
  (void)run;
  MICA_TRY(mica__argument_text(call->bound[0], "a suffix", &part));
  *result = *self;
  if (has_end(self, &part, true)) result->count -= part.count;
  return MICA_OK;
}

/* --- parts of texts --- */

/* A growing list of texts. */
typedef struct parts {
  mica__render *run;
  mica__object *items;
  size_t count, room;
} parts;

static mica_status add_part(parts *p, const char *text, size_t bytes) {
  if (p->count == p->room) {
    const size_t room = p->room ? 2 * p->room : 8;
    mica__object *items = NULL;
    MICA_TRY(mica__render_step(p->run, p->count * sizeof *items));
    MICA_TRY(mica__arena_take(&p->run->arena, room, sizeof *items, &items));
    if (p->count) memcpy(items, p->items, p->count * sizeof *items);
    p->items = items;
    p->room = room;
  }
  p->items[p->count++] = mica__object_text(text, bytes);
  return MICA_OK;
}

/* Splits at blanks. After `most` splits (-1: no limit), the rest of the text is one part. */
static mica_status split_blanks(parts *p, const mica__object *self, int64_t most) {
  mica__object rest = mica__strip(&p->run->arena, self, NULL, true, false);
  while (rest.count > 0) {
    size_t bytes = 0, n = 1;
    if (most >= 0 && (int64_t)p->count >= most) return add_part(p, rest.as.text, rest.count);
    while (bytes < rest.count && !mica__is_blank(mica__utf8_at(rest.as.text + bytes, &n))) bytes += n;
    MICA_TRY(add_part(p, rest.as.text, bytes));
    const mica__object behind = mica__object_text(rest.as.text + bytes, rest.count - bytes);
    rest = mica__strip(&p->run->arena, &behind, NULL, true, false);
  }
  return MICA_OK;
}

static mica_status rsplit_blanks(parts *p, const mica__object *self, int64_t most) {
  mica__object rest = mica__strip(&p->run->arena, self, NULL, false, true);
  while (rest.count > 0) {
    size_t begin = rest.count, n;
    if (most >= 0 && (int64_t)p->count >= most) return add_part(p, rest.as.text, rest.count);
    while (begin > 0) {
      const size_t last = mica__utf8_last(rest.as.text, begin);
      if (mica__is_blank(mica__utf8_at(rest.as.text + last, &n))) break;
      begin = last;
    }
    MICA_TRY(add_part(p, rest.as.text + begin, rest.count - begin));
    rest.count = begin;
    rest = mica__strip(&p->run->arena, &rest, NULL, false, true);
  }
  return MICA_OK;
}

/* The position of the last occurrence of `part` that lies before `end`; SIZE_MAX if there is none. */
static size_t find_last(mica__arena *work, const char *text, size_t end, const mica__object *part) {
  if (part->count > end) return SIZE_MAX;
  for (size_t at = end - part->count + 1; at-- > 0;) {
    size_t same = 0;
    while (same < part->count && text[at + same] == part->as.text[same]) same++;
    if (same == part->count) return at;
    if (!mica__arena_work(work, same)) break;
  }
  return SIZE_MAX;
}

static mica_status split_at(parts *p, const mica__object *self, const mica__object *between, int64_t most) {
  size_t from = 0;
  while (most < 0 || (int64_t)p->count < most) {
    const size_t at =
        mica__find_text(&p->run->arena, self->as.text, self->count, from, between->as.text, between->count);
    if (at == SIZE_MAX) break;
    MICA_TRY(add_part(p, self->as.text + from, at - from));
    from = at + between->count;
  }
  return add_part(p, self->as.text + from, self->count - from);
}

static mica_status rsplit_at(parts *p, const mica__object *self, const mica__object *between, int64_t most) {
  size_t end = self->count;
  while (most < 0 || (int64_t)p->count < most) {
    const size_t at = find_last(&p->run->arena, self->as.text, end, between);
    if (at == SIZE_MAX) break;
    MICA_TRY(add_part(p, self->as.text + at + between->count, end - at - between->count));
    end = at;
  }
  return add_part(p, self->as.text, end);
}

static mica_status split(ARGUMENTS, bool right) {
  const mica__object *given = call->bound[0];
  mica__object between;
  parts p = {.run = run};
  int64_t most;
  MICA_TRY(mica__argument_integer(call->bound[1], -1, &most));
  if (given && given->kind != MICA__OBJECT_NONE) {
    MICA_TRY(mica__argument_text(given, "the separator", &between));
    if (between.count == 0) return mica__fail(MICA_E_FORMAT, "a separator cannot be empty");
    MICA_TRY(right ? rsplit_at(&p, self, &between, most) : split_at(&p, self, &between, most));
  } else {
    MICA_TRY(right ? rsplit_blanks(&p, self, most) : split_blanks(&p, self, most));
  }
  for (size_t i = 0; i < p.count / 2 && right; i++) {
    const mica__object other = p.items[i];
    p.items[i] = p.items[p.count - 1 - i];
    p.items[p.count - 1 - i] = other;
  }
  return *result = mica__object_list(p.items, p.count), MICA_OK;
}

mica_status mica__method_split(ARGUMENTS) { return split(run, self, call, result, false); }
mica_status mica__method_rsplit(ARGUMENTS) { return split(run, self, call, result, true); }

mica_status mica__method_splitlines(ARGUMENTS) {
  parts p = {.run = run};
  const bool keep = mica__argument_is_true(call->bound[0]);
  for (size_t from = 0, next; from < self->count; from = next) {
    const size_t end = mica__line_end(self->as.text, self->count, from, &next);
    MICA_TRY(add_part(&p, self->as.text + from, (keep ? next : end) - from));
  }
  return *result = mica__object_list(p.items, p.count), MICA_OK;
}

static mica_status cut_in_three(mica__render *run, const mica__object *self, const mica__arguments *call, bool right,
                                mica__object *result) {
  mica__object between;
  parts p = {.run = run};
  MICA_TRY(mica__argument_text(call->bound[0], "the separator", &between));
  if (between.count == 0) return mica__fail(MICA_E_FORMAT, "a separator cannot be empty");
  const size_t at = right ? find_last(&run->arena, self->as.text, self->count, &between)
                          : mica__find_text(&run->arena, self->as.text, self->count, 0, between.as.text, between.count);
  const bool found = at != SIZE_MAX;
  const size_t behind = found ? at + between.count : 0;
  /* If nothing is found, the whole text is the first part, or the last part if the search is from the right. */
  MICA_TRY(add_part(&p, self->as.text, found ? at : right ? 0 : self->count));
  MICA_TRY(add_part(&p, between.as.text, found ? between.count : 0));
  MICA_TRY(add_part(&p, self->as.text + behind, found || right ? self->count - behind : 0));
  *result = mica__object_list(p.items, p.count);
  return result->kind = MICA__OBJECT_TUPLE, MICA_OK;
}

mica_status mica__method_partition(ARGUMENTS) { return cut_in_three(run, self, call, false, result); }
mica_status mica__method_rpartition(ARGUMENTS) { return cut_in_three(run, self, call, true, result); }

/* --- looking for texts --- */

/* The index of the character where a part begins; -1: not found. */
static mica_status find(mica__render *run, const mica__object *self, const mica__arguments *call, bool right,
                        mica__object *result) {
  mica__object part;
  int64_t start, end, length = (int64_t)mica__characters(self->as.text, self->count);
  MICA_TRY(mica__argument_text(call->bound[0], "the text to find", &part));
  MICA_TRY(mica__argument_integer(call->bound[1], 0, &start));
  MICA_TRY(mica__argument_integer(call->bound[2], length, &end));
  if (start < 0) start = start < -length ? 0 : start + length;
  if (end < 0) end = end < -length ? 0 : end + length;
  *result = mica__object_integer(-1);
  if (start > length || start > end) return MICA_OK;
  const size_t from = mica__character_at(self->as.text, self->count, (size_t)start);
  const size_t to = mica__character_at(self->as.text, self->count, (size_t)end);
  const size_t at = right ? find_last(&run->arena, self->as.text, to, &part)
                          : mica__find_text(&run->arena, self->as.text, to, from, part.as.text, part.count);
  if (at != SIZE_MAX && at >= from) result->as.integer = (int64_t)mica__characters(self->as.text, at);
  return MICA_OK;
}

static mica_status must_find(mica__object *result) {
  return result->as.integer >= 0 ? MICA_OK : mica__fail(MICA_E_FORMAT, "substring not found");
}

mica_status mica__method_find(ARGUMENTS) { return find(run, self, call, false, result); }
mica_status mica__method_rfind(ARGUMENTS) { return find(run, self, call, true, result); }
mica_status mica__method_find_or_fail(ARGUMENTS) {
  MICA_TRY(find(run, self, call, false, result));
  return must_find(result);
}
mica_status mica__method_rfind_or_fail(ARGUMENTS) {
  MICA_TRY(find(run, self, call, true, result));
  return must_find(result);
}

mica_status mica__method_count_text(ARGUMENTS) {
  mica__object part;
  int64_t count = 0;
  MICA_TRY(mica__argument_text(call->bound[0], "the text to count", &part));
  if (part.count == 0) count = (int64_t)mica__characters(self->as.text, self->count) + 1;
  for (size_t from = 0; part.count > 0; count++) {
    const size_t at = mica__find_text(&run->arena, self->as.text, self->count, from, part.as.text, part.count);
    if (at == SIZE_MAX) break;
    from = at + part.count;
  }
  return *result = mica__object_integer(count), MICA_OK;
}

/* --- texts made of texts --- */

mica_status mica__method_lower(ARGUMENTS) { return (void)call, mica__lower_text(run, self, false, result); }
mica_status mica__method_upper(ARGUMENTS) { return (void)call, mica__lower_text(run, self, true, result); }
mica_status mica__method_capitalize(ARGUMENTS) { return mica__filter_capitalize(run, self, call, result); }
mica_status mica__method_replace(ARGUMENTS) { return mica__filter_replace(run, self, call, result); }

/* A letter after a letter becomes lower case, other letters upper case. */
mica_status mica__method_title(ARGUMENTS) {
  mica__text made = {0};
  bool inside = false;
  (void)call;
  for (size_t at = 0, n = 1; at < self->count; at += n) {
    const uint32_t c = mica__utf8_at(self->as.text + at, &n);
    if (inside)
      mica__add_lower(&made, c);
    else
      mica__add_upper(&made, c);
    inside = mica__is_letter(c);
  }
  return mica__render_keep(run, &made, result);
}

mica_status mica__method_join(ARGUMENTS) {
  const mica__object *items = NULL;
  size_t count = 0;
  if (!call->bound[0]) return mica__fail(MICA_E_FORMAT, "join needs a list");
  MICA_TRY(mica__render_items(run, call->bound[0], &items, &count));
  for (size_t i = 0; i < count; i++)
    if (items[i].kind != MICA__OBJECT_TEXT)
      return mica__fail(MICA_E_FORMAT, "sequence item %zu: expected str instance, %s found", i,
                        mica__object_type(&items[i]));
  const mica__arguments between = {.bound = {self}};
  return mica__filter_join(run, call->bound[0], &between, result);
}

static mica_status pad(ARGUMENTS, bool left, bool right) {
  mica__object fill = mica__object_text(" ", 1);
  int64_t width;
  MICA_TRY(mica__argument_integer(call->bound[0], 0, &width));
  if (call->bound[1]) MICA_TRY(mica__argument_text(call->bound[1], "the fill character", &fill));
  if (mica__characters(fill.as.text, fill.count) != 1)
    return mica__fail(MICA_E_FORMAT, "the fill character must be a text of exactly one character");
  return mica__pad_text(run, self, width, &fill, left, right, result);
}

mica_status mica__method_center(ARGUMENTS) { return pad(run, self, call, result, true, true); }
mica_status mica__method_ljust(ARGUMENTS) { return pad(run, self, call, result, false, true); }
mica_status mica__method_rjust(ARGUMENTS) { return pad(run, self, call, result, true, false); }

mica_status mica__method_zfill(ARGUMENTS) {
  const mica__object zero = mica__object_text("0", 1);
  const bool sign = self->count > 0 && (self->as.text[0] == '-' || self->as.text[0] == '+');
  const mica__object digits = mica__object_text(self->as.text + sign, self->count - sign);
  mica__object padded;
  int64_t width;
  MICA_TRY(mica__argument_integer(call->bound[0], 0, &width));
  MICA_TRY(mica__pad_text(run, &digits, width - sign, &zero, true, false, &padded));
  *result = mica__object_text("", padded.count + sign);
  return mica__arena_join(&run->arena, self->as.text, sign, padded.as.text, padded.count, &result->as.text);
}

/* --- classes of characters --- */

static bool is_digit(uint32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : mica__is_numeric(c); }
static bool is_alphanumeric(uint32_t c) { return mica__is_letter(c) || is_digit(c); }

static mica_status all_are(const mica__object *self, bool (*is)(uint32_t), mica__object *result) {
  bool all = self->count > 0;
  for (size_t at = 0, n = 1; at < self->count && all; at += n) all = is(mica__utf8_at(self->as.text + at, &n));
  return keep_bool(all, result);
}

mica_status mica__method_isalnum(ARGUMENTS) { return (void)run, (void)call, all_are(self, is_alphanumeric, result); }
mica_status mica__method_isalpha(ARGUMENTS) { return (void)run, (void)call, all_are(self, mica__is_letter, result); }
mica_status mica__method_isdigit(ARGUMENTS) { return (void)run, (void)call, all_are(self, is_digit, result); }
mica_status mica__method_isspace(ARGUMENTS) { return (void)run, (void)call, all_are(self, mica__is_blank, result); }

/* True if the text has letters with case, and all have this case. */
static mica_status is_of_case(mica__render *run, const mica__object *self, bool upper, mica__object *result) {
  mica__object same, other;
  MICA_TRY(mica__lower_text(run, self, upper, &same));
  MICA_TRY(mica__lower_text(run, self, !upper, &other));
  return keep_bool(mica__object_equal(&run->arena, self, &same) && !mica__object_equal(&run->arena, self, &other),
                   result);
}

mica_status mica__method_islower(ARGUMENTS) { return (void)call, is_of_case(run, self, false, result); }
mica_status mica__method_isupper(ARGUMENTS) { return (void)call, is_of_case(run, self, true, result); }

/* --- lists and dicts --- */

mica_status mica__method_count_items(ARGUMENTS) {
  int64_t count = 0;
  if (!call->bound[0]) return mica__fail(MICA_E_FORMAT, "count needs an item");
  MICA_TRY(mica__render_step(run, self->count * sizeof *self));
  for (size_t i = 0; i < self->count; i++) count += mica__object_equal(&run->arena, &self->as.items[i], call->bound[0]);
  return *result = mica__object_integer(count), MICA_OK;
}

mica_status mica__method_index_of(ARGUMENTS) {
  if (!call->bound[0]) return mica__fail(MICA_E_FORMAT, "index needs an item");
  MICA_TRY(mica__render_step(run, self->count * sizeof *self));
  for (size_t i = 0; i < self->count; i++)
    if (mica__object_equal(&run->arena, &self->as.items[i], call->bound[0]))
      return *result = mica__object_integer((int64_t)i), MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the item is not in the list");
}

/* Values never change, so a copy is the value itself. */
mica_status mica__method_copy(ARGUMENTS) { return (void)run, (void)call, *result = *self, MICA_OK; }

mica_status mica__method_get(ARGUMENTS) {
  (void)run;
  if (!call->bound[0]) return mica__fail(MICA_E_FORMAT, "get needs a key");
  const mica__object *found = mica__dict_find(&run->arena, self->as.dict, call->bound[0]);
  *result = found ? *found : call->bound[1] ? *call->bound[1] : mica__object_none();
  return MICA_OK;
}

mica_status mica__method_items(ARGUMENTS) { return mica__filter_items(run, self, call, result); }
mica_status mica__method_keys(ARGUMENTS) {
  (void)run, (void)call;
  return *result = mica__object_list(self->as.dict->keys, self->as.dict->count), MICA_OK;
}
mica_status mica__method_values(ARGUMENTS) {
  (void)run, (void)call;
  return *result = mica__object_list(self->as.dict->values, self->as.dict->count), MICA_OK;
}

/* --- loops --- */

mica_status mica__method_cycle(ARGUMENTS) {
  (void)run;
  const mica__loop *loop = self->as.other;
  if (call->count == 0) return mica__fail(MICA_E_FORMAT, "loop.cycle needs at least one argument");
  return *result = call->items[loop->index % call->count], MICA_OK;
}

mica_status mica__method_changed(ARGUMENTS) {
  (void)run;
  const mica__loop *loop = self->as.other;
  const mica__object now = {.kind = MICA__OBJECT_TUPLE, .as.items = call->items, .count = call->count};
  *result = mica__object_bool(!mica__object_equal(&run->arena, loop->changed, &now));
  return *loop->changed = now, MICA_OK;
}
