/* Filters of texts and numbers. */
#include "base/number.h"
#include "text/template/tables.h"
#include "text/unicode.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS mica__render *run, const mica__object *self, const mica__arguments *call, mica__object *result

/* --- texts --- */

mica_status mica__filter_string(ARGUMENTS) {
  (void)call;
  return mica__render_text(run, self, result);
}

mica_status mica__lower_text(mica__render *run, const mica__object *v, bool upper, mica__object *result) {
  mica__object text;
  mica__text made = {0};
  MICA_TRY(mica__render_text(run, v, &text));
  for (size_t at = 0, n = 1; at < text.count; at += n) {
    const uint32_t c = mica__utf8_at(text.as.text + at, &n);
    if (upper)
      mica__add_upper(&made, c);
    else
      mica__add_lower(&made, c);
  }
  return mica__render_keep(run, &made, result);
}

mica_status mica__filter_lower(ARGUMENTS) { return (void)call, mica__lower_text(run, self, false, result); }
mica_status mica__filter_upper(ARGUMENTS) { return (void)call, mica__lower_text(run, self, true, result); }

mica_status mica__filter_trim(ARGUMENTS) {
  mica__object text, chars;
  const mica__object *set = call->bound[0] && call->bound[0]->kind != MICA__OBJECT_NONE ? call->bound[0] : NULL;
  MICA_TRY(mica__render_text(run, self, &text));
  if (set) MICA_TRY(mica__argument_text(set, "the set of characters to trim", &chars));
  *result = mica__strip(&run->arena, &text, set, true, true);
  return MICA_OK;
}

/* Appends a text with its first character in upper case and the others in lower case. */
static void add_capitalised(mica__text *out, const char *text, size_t bytes) {
  for (size_t at = 0, n = 1; at < bytes; at += n) {
    const uint32_t c = mica__utf8_at(text + at, &n);
    if (at == 0)
      mica__add_upper(out, c);
    else
      mica__add_lower(out, c);
  }
}

mica_status mica__filter_capitalize(ARGUMENTS) {
  mica__object text;
  mica__text made = {0};
  (void)call;
  MICA_TRY(mica__render_text(run, self, &text));
  add_capitalised(&made, text.as.text, text.count);
  return mica__render_keep(run, &made, result);
}

/* Words are separated by blanks, "-", and opening brackets. */
mica_status mica__filter_title(ARGUMENTS) {
  mica__object text;
  mica__text made = {0};
  (void)call;
  MICA_TRY(mica__render_text(run, self, &text));
  size_t from = 0, n = 1;
  for (size_t at = 0; at < text.count; at += n) {
    const uint32_t c = mica__utf8_at(text.as.text + at, &n);
    if (!mica__is_blank(c) && !(c < 0x80 && strchr("-({[<", (int)c) && c)) continue;
    add_capitalised(&made, text.as.text + from, at - from);
    mica__text_add_bytes(&made, text.as.text + at, n);
    from = at + n;
  }
  add_capitalised(&made, text.as.text + from, text.count - from);
  return mica__render_keep(run, &made, result);
}

mica_status mica__replace_text(mica__render *run, const mica__object *text, const mica__object *old,
                               const mica__object *by, int64_t most, mica__object *result) {
  mica__text made = {0};
  size_t from = 0, search = 0;
  for (int64_t done = 0; most < 0 || done < most; done++) {
    const size_t at = mica__find_text(&run->arena, text->as.text, text->count, search, old->as.text, old->count);
    if (at == SIZE_MAX) break;
    mica__text_add_bytes(&made, text->as.text + from, at - from);
    mica__text_add_bytes(&made, by->as.text, by->count);
    from = search = at + old->count;
    /* An empty text matches before every character and at the end. */
    if (old->count == 0)
      search = at < text->count ? at + mica__character_at(text->as.text + at, text->count - at, 1) : text->count + 1;
    if (made.length > MICA__MOST_TEMPLATE_OUTPUT) {
      mica__text_free(&made);
      return mica__fail(MICA_E_FORMAT, "a text has more than %zu MiB", MICA__MOST_TEMPLATE_OUTPUT >> 20);
    }
  }
  mica__text_add_bytes(&made, text->as.text + from, text->count - from);
  return mica__render_keep(run, &made, result);
}

mica_status mica__filter_replace(ARGUMENTS) {
  mica__object text, old, by;
  int64_t most;
  if (!call->bound[0] || !call->bound[1])
    return mica__fail(MICA_E_FORMAT, "replace needs a text to look for, and one to put in its place");
  MICA_TRY(mica__render_text(run, self, &text));
  MICA_TRY(mica__render_text(run, call->bound[0], &old));
  MICA_TRY(mica__render_text(run, call->bound[1], &by));
  MICA_TRY(mica__argument_integer(call->bound[2], -1, &most));
  return mica__replace_text(run, &text, &old, &by, most, result);
}

size_t mica__line_end(const char *text, size_t bytes, size_t from, size_t *next) {
  for (size_t at = from, n = 1; at < bytes; at += n) {
    const uint32_t c = mica__utf8_at(text + at, &n);
    if (!((c >= 0xa && c <= 0xd) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029)) continue;
    *next = at + n + (c == '\r' && at + 1 < bytes && text[at + 1] == '\n');
    return at;
  }
  *next = bytes;
  return bytes;
}

mica_status mica__filter_indent(ARGUMENTS) {
  mica__object text, width = mica__object_text("    ", 4);
  const bool first = mica__argument_is_true(call->bound[1]), blank = mica__argument_is_true(call->bound[2]);
  mica__text made = {0};
  int64_t blanks = 4;
  MICA_TRY(mica__render_text(run, self, &text));
  if (call->bound[0] && call->bound[0]->kind == MICA__OBJECT_TEXT) {
    width = *call->bound[0];
  } else {
    const mica__object none = mica__object_text("", 0);
    MICA_TRY(mica__argument_integer(call->bound[0], 4, &blanks));
    MICA_TRY(mica__pad_text(run, &none, blanks, NULL, false, true, &width));
  }
  if (first) mica__text_add_bytes(&made, width.as.text, width.count);
  size_t from = 0, next = 0;
  for (bool more = true, begun = false; more; begun = true) {
    const size_t end = mica__line_end(text.as.text, text.count, from, &next);
    more = next > end;
    if (begun) mica__text_add(&made, "\n");
    if (begun && (end > from || blank)) mica__text_add_bytes(&made, width.as.text, width.count);
    mica__text_add_bytes(&made, text.as.text + from, end - from);
    from = next;
    if (made.length > MICA__MOST_TEMPLATE_OUTPUT) break;
  }
  return mica__render_keep(run, &made, result);
}

mica_status mica__pad_text(mica__render *run, const mica__object *text, int64_t width, const mica__object *fill,
                           bool left, bool right, mica__object *result) {
  const int64_t missing = width - (int64_t)mica__characters(text->as.text, text->count);
  mica__text made = {0};
  *result = *text;
  if (missing <= 0) return MICA_OK;
  if ((uint64_t)missing > MICA__MOST_TEMPLATE_OUTPUT / 4)
    return mica__fail(MICA_E_FORMAT, "the width of %lld characters is too large; at most %zu characters may be added",
                      (long long)width, MICA__MOST_TEMPLATE_OUTPUT / 4);
  /* If the width is odd, Python puts the extra blank on the left. */
  const int64_t before = !left ? 0 : !right ? missing : missing / 2 + (missing & width & 1);
  for (int64_t i = 0; i < missing; i++) {
    if (i == before) mica__text_add_bytes(&made, text->as.text, text->count);
    if (fill)
      mica__text_add_bytes(&made, fill->as.text, fill->count);
    else
      mica__text_add(&made, " ");
  }
  if (before == missing) mica__text_add_bytes(&made, text->as.text, text->count);
  return mica__render_keep(run, &made, result);
}

mica_status mica__filter_center(ARGUMENTS) {
  mica__object text;
  int64_t width;
  MICA_TRY(mica__render_text(run, self, &text));
  MICA_TRY(mica__argument_integer(call->bound[0], 80, &width));
  return mica__pad_text(run, &text, width, NULL, true, true, result);
}

mica_status mica__filter_escape(ARGUMENTS) {
  (void)call;
  return self->safe ? (*result = *self, MICA_OK) : mica__escape_text(run, self, result);
}

mica_status mica__filter_forceescape(ARGUMENTS) { return (void)call, mica__escape_text(run, self, result); }

mica_status mica__filter_safe(ARGUMENTS) {
  (void)call;
  MICA_TRY(mica__render_text(run, self, result));
  return result->safe = true, MICA_OK;
}

mica_status mica__filter_wordcount(ARGUMENTS) {
  mica__object text;
  int64_t words = 0;
  bool inside = false;
  (void)call;
  MICA_TRY(mica__render_text(run, self, &text));
  for (size_t at = 0, n = 1; at < text.count; at += n) {
    const bool word = mica__is_word(mica__utf8_at(text.as.text + at, &n));
    words += word && !inside;
    inside = word;
  }
  return *result = mica__object_integer(words), MICA_OK;
}

mica_status mica__filter_truncate(ARGUMENTS) {
  mica__object text, end = mica__object_text("...", 3);
  mica__text made = {0};
  int64_t length, leeway;
  MICA_TRY(mica__render_text(run, self, &text));
  MICA_TRY(mica__argument_integer(call->bound[0], 255, &length));
  MICA_TRY(mica__argument_integer(call->bound[3], 5, &leeway));
  if (call->bound[2]) MICA_TRY(mica__argument_text(call->bound[2], "the argument end of truncate", &end));
  const int64_t ends = (int64_t)mica__characters(end.as.text, end.count);
  if (length < ends)
    return mica__fail(
        MICA_E_FORMAT,
        "truncate: the length is %lld, but must be at least %lld, the number of characters of the argument end",
        (long long)length, (long long)ends);
  if (leeway < 0)
    return mica__fail(MICA_E_FORMAT, "truncate: leeway is %lld, but must be 0 or above", (long long)leeway);
  *result = text;
  if ((int64_t)mica__characters(text.as.text, text.count) - length <= leeway) return MICA_OK;
  size_t bytes = mica__character_at(text.as.text, text.count, (size_t)(length - ends));
  if (!mica__argument_is_true(call->bound[1]))
    for (size_t i = bytes; i-- > 0;)
      if (text.as.text[i] == ' ') {
        bytes = i;
        break;
      }
  mica__text_add_bytes(&made, text.as.text, bytes);
  mica__text_add_bytes(&made, end.as.text, end.count);
  return mica__render_keep(run, &made, result);
}

/* --- numbers --- */

/* Reads a text as Python's int() and float() do, with blanks around it. Unlike Python, it allows "_" anywhere, but at
 * most 78 other bytes and integers of 64 bits. False: not such a number. */
static bool read_number(const mica__object *text, int base, bool whole, mica__object *result) {
  char digits[80], *end = NULL;
  size_t used = 0;
  const mica__object s = mica__strip(NULL, text, NULL, true, true);
  for (size_t i = 0; i < s.count && used + 1 < sizeof digits; i++)
    if (s.as.text[i] != '_') digits[used++] = s.as.text[i];
  digits[used] = '\0';
  if (used == 0 || used + 1 == sizeof digits || memchr(digits, '\0', used)) return false;
  errno = 0;
  if (whole)
    *result = mica__object_integer(strtoll(digits, &end, base));
  else if (strpbrk(digits, "xXpP(")) /* only C accepts these */
    return false;
  else
    *result = mica__object_float(mica__strtod(digits, &end));
  return !*end && (!whole || errno == 0);
}

static bool double_to_integer(double x, mica__object *result) {
  if (!(x > -9.2e18 && x < 9.2e18)) return false;
  *result = mica__object_integer((int64_t)x);
  return true;
}

mica_status mica__filter_to_integer(ARGUMENTS) {
  int64_t base;
  (void)run;
  const mica__object fallback = call->bound[0] ? *call->bound[0] : mica__object_integer(0);
  MICA_TRY(mica__argument_integer(call->bound[1], 10, &base));
  if (base < 0 || base == 1 || base > 36)
    return mica__fail(MICA_E_FORMAT, "int: the base is %lld, but must be 0 or 2 to 36", (long long)base);
  if (self->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(self);
  if (self->kind == MICA__OBJECT_BIG) return *result = *self, MICA_OK;
  if (self->kind == MICA__OBJECT_TEXT) {
    if (read_number(self, (int)base, true, result)) return MICA_OK;
    if (read_number(self, 10, false, result) && double_to_integer(result->as.number, result)) return MICA_OK;
  } else if (mica__object_is_number(self) && double_to_integer(mica__object_as_double(self), result)) {
    if (self->kind != MICA__OBJECT_FLOAT)
      result->as.integer = self->kind == MICA__OBJECT_BOOL ? self->as.truth : self->as.integer;
    return MICA_OK;
  }
  return *result = fallback, MICA_OK;
}

mica_status mica__filter_to_float(ARGUMENTS) {
  (void)run;
  if (self->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(self);
  if (mica__object_is_number(self)) return *result = mica__object_float(mica__object_as_double(self)), MICA_OK;
  if (self->kind == MICA__OBJECT_TEXT && read_number(self, 10, false, result)) return MICA_OK;
  return *result = call->bound[0] ? *call->bound[0] : mica__object_float(0), MICA_OK;
}

mica_status mica__filter_absolute(ARGUMENTS) {
  const mica__object zero = mica__object_integer(0);
  (void)call;
  if (self->kind == MICA__OBJECT_FLOAT) return *result = mica__object_float(fabs(self->as.number)), MICA_OK;
  int order = 0;
  if (!mica__object_is_number(self)) return mica__render_operate(run, MICA__OPERATOR_SUBTRACT, &zero, self, result);
  MICA_TRY(mica__object_compare(&run->arena, self, &zero, &order));
  return mica__render_operate(run, order < 0 ? MICA__OPERATOR_SUBTRACT : MICA__OPERATOR_ADD, &zero, self, result);
}

mica_status mica__filter_round(ARGUMENTS) {
  char digits[400];
  int64_t precision;
  const mica__object *method = call->bound[1];
  (void)run;
  MICA_TRY(mica__argument_integer(call->bound[0], 0, &precision));
  if (self->kind == MICA__OBJECT_UNDEFINED) return mica__render_undefined(self);
  if (!mica__object_is_number(self))
    return mica__fail(MICA_E_FORMAT, "a value of type %s cannot be rounded", mica__object_type(self));
  if (precision > 300 || precision < -300)
    return mica__fail(MICA_E_FORMAT, "round: the precision is %lld, but must be -300 to 300", (long long)precision);
  const double x = mica__object_as_double(self), scale = pow(10, (double)precision);
  if (method && mica__object_equals_text(method, "ceil"))
    return *result = mica__object_float(ceil(x * scale) / scale), MICA_OK;
  if (method && mica__object_equals_text(method, "floor"))
    return *result = mica__object_float(floor(x * scale) / scale), MICA_OK;
  if (method && !mica__object_equals_text(method, "common"))
    return mica__fail(MICA_E_FORMAT, "the method of round must be common, ceil or floor");
  if (self->kind != MICA__OBJECT_FLOAT && precision >= 0) return *result = *self, MICA_OK;
  if (precision < 0 || !isfinite(x)) return *result = mica__object_float(nearbyint(x * scale) / scale), MICA_OK;
  const int wrote = mica__snprintf(digits, sizeof digits, "%.*f", (int)precision, x);
  *result = mica__object_float(wrote > 0 && (size_t)wrote < sizeof digits ? mica__strtod(digits, NULL) : x);
  return MICA_OK;
}

/* --- others --- */

mica_status mica__filter_fallback(ARGUMENTS) {
  (void)run;
  const bool missing =
      self->kind == MICA__OBJECT_UNDEFINED || (mica__argument_is_true(call->bound[1]) && !mica__object_is_true(self));
  *result = !missing ? *self : call->bound[0] ? *call->bound[0] : mica__object_text("", 0);
  return MICA_OK;
}

/* Reads the separators of JSON from a list of two texts: the one between items, and the one after keys. */
static mica_status json_separators(const mica__object *pair, mica__json_style *style, char comma[16], char colon[16]) {
  char *const to[2] = {comma, colon};
  if (!mica__object_is_list(pair) || pair->count != 2)
    return mica__fail(MICA_E_FORMAT, "separators must be a list or tuple of two texts");
  for (int i = 0; i < 2; i++) {
    mica__object text;
    MICA_TRY(mica__argument_text(&pair->as.items[i], "a separator", &text));
    if (text.count > 15) return mica__fail(MICA_E_FORMAT, "a separator may have at most 15 bytes");
    memcpy(to[i], text.as.text, text.count);
    to[i][text.count] = '\0';
  }
  style->comma = comma;
  style->colon = colon;
  return MICA_OK;
}

mica_status mica__filter_tojson(ARGUMENTS) {
  mica__json_style style = {.comma = ", ", .colon = ": ", .most = MICA__MOST_TEMPLATE_OUTPUT};
  char indent[33], comma[16], colon[16];
  const mica__object *width = call->bound[1], *separators = call->bound[2];
  int64_t blanks = 0;
  mica__text made = {0};
  style.ascii = mica__argument_is_true(call->bound[0]);
  style.sort = mica__argument_is_true(call->bound[3]);
  if (width && width->kind != MICA__OBJECT_NONE) {
    if (width->kind != MICA__OBJECT_TEXT) MICA_TRY(mica__argument_integer(width, 0, &blanks));
    const bool text = width->kind == MICA__OBJECT_TEXT;
    if (blanks > 32 || (text && width->count > 32))
      return mica__fail(MICA_E_FORMAT, "JSON can be indented by at most 32 characters");
    const size_t bytes = text ? width->count : (size_t)(blanks > 0 ? blanks : 0);
    memset(indent, ' ', sizeof indent);
    if (text) memcpy(indent, width->as.text, bytes);
    indent[bytes] = '\0';
    style.indent = indent;
    style.comma = ",";
  }
  if (separators && separators->kind != MICA__OBJECT_NONE) MICA_TRY(json_separators(separators, &style, comma, colon));
  const mica_status status = mica__object_write_json(&made, self, &style);
  if (status == MICA_OK) return mica__render_keep(run, &made, result);
  mica__text_free(&made);
  return status;
}

mica_status mica__filter_format(ARGUMENTS) {
  mica__object text;
  MICA_TRY(mica__render_text(run, self, &text));
  const mica__object list = {.kind = MICA__OBJECT_TUPLE, .as.items = call->items, .count = call->count};
  return mica__render_format(run, &text, &list, result);
}
