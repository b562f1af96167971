/* Reads JSON, with all digits of integers. cJSON would store integers as doubles, which have fewer digits. */
#include "base/number.h"
#include "base/utf8.h"
#include "text/template/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
  mica__arena *arena;
  const char *text;
  size_t bytes, at;
  mica__object *stack; /* items of open lists; keys and values of open objects */
  size_t count, room;
} reader;

static mica_status read_value(reader *r, mica__object *value, int depth);

static mica_status fault(const reader *r, const char *what) {
  return mica__fail(MICA_E_FORMAT, "byte %zu of the JSON: %s", r->at, what);
}

static void skip_blanks(reader *r) {
  while (r->at < r->bytes && strchr(" \t\n\r", r->text[r->at]) && r->text[r->at]) r->at++;
}

static bool take(reader *r, char c) {
  skip_blanks(r);
  if (r->at >= r->bytes || r->text[r->at] != c) return false;
  r->at++;
  return true;
}

/* --- texts --- */

static bool read_hex(reader *r, uint32_t *c) {
  if (r->bytes - r->at < 4) return false;
  *c = 0;
  for (int i = 0; i < 4; i++) {
    const char d = r->text[r->at + (size_t)i];
    const int digit = d >= '0' && d <= '9'   ? d - '0'
                      : d >= 'a' && d <= 'f' ? d - 'a' + 10
                      : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    *c = *c << 4 | (uint32_t)digit;
  }
  r->at += 4;
  return true;
}

/* Reads the digits after "\u", and the second "\uXXXX" of a surrogate pair. A surrogate without its other half becomes
 * U+FFFD. */
static bool read_unicode(reader *r, uint32_t *c) {
  if (!read_hex(r, c)) return false;
  if (*c < 0xd800 || *c > 0xdfff) return true;
  const size_t at = r->at;
  uint32_t low = 0;
  if (*c < 0xdc00 && r->bytes - at > 2 && r->text[at] == '\\' && r->text[at + 1] == 'u') {
    r->at += 2;
    if (read_hex(r, &low) && low >= 0xdc00 && low <= 0xdfff) {
      *c = 0x10000 + ((*c - 0xd800) << 10 | (low - 0xdc00));
      return true;
    }
    r->at = at;
  }
  *c = 0xfffd;
  return true;
}

static mica_status read_escape(reader *r, mica__text *out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (r->at >= r->bytes) return fault(r, "a text has no closing quote");
  const char c = r->text[r->at++], *known = c ? strchr(from, c) : NULL;
  if (known) return mica__text_add_bytes(out, &to[known - from], 1), MICA_OK;
  char bytes[4];
  uint32_t character;
  if (c != 'u' || !read_unicode(r, &character)) return fault(r, "a text has an escape that JSON does not have");
  mica__text_add_bytes(out, bytes, mica__utf8_encode(character, bytes));
  return MICA_OK;
}

/* Reads a text after its opening quote. A text without escapes is a slice of the source. */
static mica_status read_text(reader *r, mica__object *value) {
  const size_t from = r->at;
  mica__text made = {0};
  mica_status status = MICA_OK;
  bool escaped = false;
  while (r->at < r->bytes && r->text[r->at] != '"' && status == MICA_OK) {
    const char c = r->text[r->at];
    if ((unsigned char)c < ' ')
      status = fault(r, "a text has a control character, which must be escaped");
    else if (c == '\\') {
      if (!escaped) mica__text_add_bytes(&made, r->text + from, r->at - from);
      escaped = true;
      r->at++;
      status = read_escape(r, &made);
    } else {
      if (escaped) mica__text_add_bytes(&made, &c, 1);
      r->at++;
    }
  }
  if (status == MICA_OK && r->at >= r->bytes) status = fault(r, "a text has no closing quote");
  *value = mica__object_text(r->text + from, r->at - from);
  if (status == MICA_OK && escaped) {
    status = mica__text_status(&made);
    const char *copy = NULL;
    if (status == MICA_OK) status = mica__arena_copy(r->arena, made.data, made.length, &copy);
    *value = mica__object_text(copy, made.length);
  }
  mica__text_free(&made);
  r->at++;
  return status;
}

/* --- numbers --- */

static size_t skip_digits(reader *r) {
  const size_t from = r->at;
  while (r->at < r->bytes && r->text[r->at] >= '0' && r->text[r->at] <= '9') r->at++;
  return r->at - from;
}

static mica_status read_number(reader *r, mica__object *value) {
  char copy[64];
  const size_t from = r->at;
  bool whole = true;
  if (r->text[r->at] == '-') r->at++;
  const size_t first = r->at;
  if (skip_digits(r) == 0) return fault(r, "there is no JSON value");
  if (r->text[first] == '0' && r->at - first > 1) return fault(r, "a number begins with 0");
  if (r->at < r->bytes && r->text[r->at] == '.') {
    whole = false;
    r->at++;
    if (skip_digits(r) == 0) return fault(r, "a number has no digits after its point");
  }
  if (r->at < r->bytes && (r->text[r->at] == 'e' || r->text[r->at] == 'E')) {
    whole = false;
    r->at++;
    if (r->at < r->bytes && (r->text[r->at] == '+' || r->text[r->at] == '-')) r->at++;
    if (skip_digits(r) == 0) return fault(r, "a number has no digits in its exponent");
  }
  const size_t bytes = r->at - from;
  if (bytes >= sizeof copy && !whole) return fault(r, "a number has more than 63 characters");
  if (bytes < sizeof copy) {
    memcpy(copy, r->text + from, bytes);
    copy[bytes] = '\0';
    errno = 0;
    if (!whole) return *value = mica__object_float(mica__strtod(copy, NULL)), MICA_OK;
    const long long n = strtoll(copy, NULL, 10);
    if (errno == 0) return *value = mica__object_integer(n), MICA_OK;
  }
  *value = mica__object_text(r->text + from, bytes);
  value->kind = MICA__OBJECT_BIG;
  return MICA_OK;
}

/* --- lists and objects --- */

static mica_status push(reader *r, const mica__object *value) {
  if (r->count == r->room) {
    const size_t room = r->room ? 2 * r->room : 64;
    mica__object *grown = room < SIZE_MAX / sizeof *grown ? realloc(r->stack, room * sizeof *grown) : NULL;
    if (!grown) return mica__fail_nomem("JSON");
    r->stack = grown;
    r->room = room;
  }
  r->stack[r->count++] = *value;
  return MICA_OK;
}

static mica_status read_list(reader *r, mica__object *value, int depth) {
  const size_t from = r->count;
  bool more = !take(r, ']');
  while (more) {
    mica__object item;
    MICA_TRY(read_value(r, &item, depth + 1));
    MICA_TRY(push(r, &item));
    more = take(r, ',');
    if (!more && !take(r, ']')) return fault(r, "',' or ']' is missing in a list");
  }
  mica__object *items = NULL;
  const size_t count = r->count - from;
  MICA_TRY(mica__arena_take(r->arena, count, sizeof *items, &items));
  if (count) memcpy(items, r->stack + from, count * sizeof *items);
  r->count = from;
  *value = mica__object_list(items, count);
  return MICA_OK;
}

static mica_status read_object(reader *r, mica__object *value, int depth) {
  mica__dict *dict = NULL;
  MICA_TRY(mica__dict_create(r->arena, &dict));
  bool more = !take(r, '}');
  while (more) {
    mica__object key, item;
    if (!take(r, '"')) return fault(r, "a key of an object is not a text");
    MICA_TRY(read_text(r, &key));
    if (!take(r, ':')) return fault(r, "':' is missing after a key");
    MICA_TRY(read_value(r, &item, depth + 1));
    MICA_TRY(mica__dict_set(r->arena, dict, &key, &item));
    more = take(r, ',');
    if (!more && !take(r, '}')) return fault(r, "',' or '}' is missing in an object");
  }
  *value = (mica__object){.kind = MICA__OBJECT_DICT, .as.dict = dict};
  return MICA_OK;
}

static bool take_word(reader *r, const char *word) {
  const size_t bytes = strlen(word);
  if (r->bytes - r->at < bytes || memcmp(r->text + r->at, word, bytes) != 0) return false;
  r->at += bytes;
  return true;
}

static mica_status read_value(reader *r, mica__object *value, int depth) {
  if (depth > MICA__MOST_TEMPLATE_DEPTH) return fault(r, "the JSON is nested deeper than 64 levels");
  if (take(r, '[')) return read_list(r, value, depth);
  if (take(r, '{')) return read_object(r, value, depth);
  if (take(r, '"')) return read_text(r, value);
  if (r->at >= r->bytes) return fault(r, "the JSON ends before a value");
  if (take_word(r, "null")) return *value = mica__object_none(), MICA_OK;
  if (take_word(r, "true")) return *value = mica__object_bool(true), MICA_OK;
  if (take_word(r, "false")) return *value = mica__object_bool(false), MICA_OK;
  return read_number(r, value);
}

mica_status mica__object_read_json(mica__arena *arena, const char *json, size_t bytes, mica__object *value) {
  reader r = {.arena = arena, .text = json, .bytes = bytes, .at = mica__utf8_prefix(json, bytes)};
  if (r.at < bytes) return fault(&r, "the text is not UTF-8");
  r.at = 0;
  mica_status status = read_value(&r, value, 0);
  skip_blanks(&r);
  if (status == MICA_OK && r.at < bytes) status = fault(&r, "more text follows the value");
  free(r.stack);
  return status;
}
