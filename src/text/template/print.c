/* Prints values as Python does, and as JSON. */
#include "base/number.h"
#include "text/template/value.h"
#include "text/unicode.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mica__float_repr(mica__text *out, double x) {
  char digits[40];
  int precision = 1;
  if (isnan(x) || isinf(x)) {
    mica__text_add(out, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
    return;
  }
  do mica__snprintf(digits, sizeof digits, "%.*e", precision - 1, x);
  while (mica__strtod(digits, NULL) != x && ++precision <= 17);
  const char *e = strchr(digits, 'e');
  const int exponent = e ? (int)strtol(e + 1, NULL, 10) : 0, decimals = precision - 1 - exponent;
  if (exponent >= -4 && exponent < 16) mica__snprintf(digits, sizeof digits, "%.*f", decimals > 0 ? decimals : 1, x);
  mica__text_add(out, digits);
}

/* True if repr() shows the character as it is. repr() escapes U+00AD, spaces other than " ", and characters that are
 * not printable. */
static bool is_printable(uint32_t c) {
  if (c < 0x7f) return c >= ' ';
  return c != 0xad && !mica__is_space(c) && !(c >= 0x7f && c < 0xa0) && mica__is_printable(c);
}

static void repr_text(mica__text *out, const mica__object *v) {
  const bool one = memchr(v->as.text, '\'', v->count) != NULL, two = memchr(v->as.text, '"', v->count) != NULL;
  const char quote = one && !two ? '"' : '\'';
  mica__text_add_bytes(out, &quote, 1);
  for (size_t at = 0, n = 1; at < v->count; at += n) {
    const uint32_t c = mica__utf8_at(v->as.text + at, &n);
    if (c == (uint32_t)quote || c == '\\')
      mica__text_addf(out, "\\%c", (char)c);
    else if (c == '\n' || c == '\r' || c == '\t')
      mica__text_add(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    else if (is_printable(c))
      mica__text_add_bytes(out, v->as.text + at, n);
    else
      mica__text_addf(out, c < 0x100 ? "\\x%02" PRIx32 : c < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, c);
  }
  mica__text_add_bytes(out, &quote, 1);
}

static void repr_list(mica__text *out, const mica__object *v, int depth) {
  const bool tuple = v->kind == MICA__OBJECT_TUPLE;
  mica__text_add(out, tuple ? "(" : "[");
  for (size_t i = 0; i < v->count; i++) {
    if (i > 0) mica__text_add(out, ", ");
    mica__object_repr(out, &v->as.items[i], depth + 1);
  }
  mica__text_add(out, tuple ? v->count == 1 ? ",)" : ")" : "]");
}

static void repr_dict(mica__text *out, const mica__dict *dict, int depth) {
  mica__text_add(out, "{");
  for (size_t i = 0; i < dict->count; i++) {
    if (i > 0) mica__text_add(out, ", ");
    mica__object_repr(out, &dict->keys[i], depth + 1);
    mica__text_add(out, ": ");
    mica__object_repr(out, &dict->values[i], depth + 1);
  }
  mica__text_add(out, "}");
}

void mica__object_repr(mica__text *out, const mica__object *v, int depth) {
  if (out->length > MICA__MOST_TEMPLATE_OUTPUT) return;
  if (depth > MICA__MOST_TEMPLATE_DEPTH) {
    mica__text_add(out, "...");
    return;
  }
  switch (v->kind) {
  case MICA__OBJECT_UNDEFINED: mica__text_add(out, "Undefined"); break;
  case MICA__OBJECT_NONE: mica__text_add(out, "None"); break;
  case MICA__OBJECT_BOOL: mica__text_add(out, v->as.truth ? "True" : "False"); break;
  case MICA__OBJECT_INTEGER: mica__text_addf(out, "%" PRId64, v->as.integer); break;
  case MICA__OBJECT_BIG: mica__text_add_bytes(out, v->as.text, v->count); break;
  case MICA__OBJECT_FLOAT: mica__float_repr(out, v->as.number); break;
  case MICA__OBJECT_TEXT: repr_text(out, v); break;
  case MICA__OBJECT_LIST:
  case MICA__OBJECT_TUPLE: repr_list(out, v, depth); break;
  case MICA__OBJECT_DICT: repr_dict(out, v->as.dict, depth); break;
  case MICA__OBJECT_NAMESPACE:
    mica__text_add(out, "<Namespace ");
    repr_dict(out, v->as.dict, depth);
    mica__text_add(out, ">");
    break;
  default: mica__text_addf(out, "<%s>", mica__object_type(v)); break;
  }
}

void mica__object_print(mica__text *out, const mica__object *v) {
  if (v->kind == MICA__OBJECT_TEXT)
    mica__text_add_bytes(out, v->as.text, v->count);
  else if (v->kind != MICA__OBJECT_UNDEFINED)
    mica__object_repr(out, v, 0);
}

/* --- JSON --- */

static void json_text(mica__text *out, const char *text, size_t bytes, bool ascii) {
  size_t from = 0;
  mica__text_add(out, "\"");
  for (size_t at = 0, n = 1; at < bytes; at += n) {
    const uint32_t c = mica__utf8_at(text + at, &n);
    const char *shown = c == '"'    ? "\\\""
                        : c == '\\' ? "\\\\"
                        : c == '\n' ? "\\n"
                        : c == '\r' ? "\\r"
                        : c == '\t' ? "\\t"
                        : c == '\b' ? "\\b"
                        : c == '\f' ? "\\f"
                                    : NULL;
    if (!shown && c >= ' ' && (c < 0x7f || (!ascii))) continue;
    if (!shown && c == 0x7f) continue;
    mica__text_add_bytes(out, text + from, at - from);
    from = at + n;
    if (shown)
      mica__text_add(out, shown);
    else if (c < 0x10000)
      mica__text_addf(out, "\\u%04" PRIx32, c);
    else
      mica__text_addf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((c - 0x10000) >> 10),
                      0xdc00 + ((c - 0x10000) & 0x3ff));
  }
  mica__text_add_bytes(out, text + from, bytes - from);
  mica__text_add(out, "\"");
}

static void new_line(mica__text *out, const mica__json_style *style, int depth) {
  if (!style->indent) return;
  mica__text_add(out, "\n");
  while (depth-- > 0) mica__text_add(out, style->indent);
}

static mica_status write_value(mica__text *out, const mica__object *v, const mica__json_style *style, int depth);

static mica_status write_key(mica__text *out, const mica__object *key, const mica__json_style *style) {
  switch (key->kind) {
  case MICA__OBJECT_TEXT: json_text(out, key->as.text, key->count, style->ascii); break;
  case MICA__OBJECT_NONE:
  case MICA__OBJECT_BOOL:
  case MICA__OBJECT_INTEGER:
  case MICA__OBJECT_BIG:
  case MICA__OBJECT_FLOAT:
    mica__text_add(out, "\"");
    MICA_TRY(write_value(out, key, style, 0));
    mica__text_add(out, "\"");
    break;
  default: return mica__fail(MICA_E_FORMAT, "a value of type %s cannot be a key of JSON", mica__object_type(key));
  }
  return MICA_OK;
}

static int order_of_keys(const void *a, const void *b) {
  const mica__object *const *x = a, *const *y = b;
  int order = 0;
  if (mica__object_compare(NULL, *x, *y, &order) != MICA_OK) return 0;
  return order ? order : *x < *y ? -1 : *x > *y;
}

/* Makes a sorted list of pointers to the keys, which the caller frees. Fails if the keys have no order. */
static mica_status sorted_keys(const mica__dict *dict, const mica__object ***sorted) {
  const mica__object **keys = malloc((dict->count ? dict->count : 1) * sizeof(*keys));
  if (!keys) return mica__fail_nomem("a dict");
  for (size_t i = 0; i < dict->count; i++) keys[i] = &dict->keys[i];
  mica_status status = MICA_OK;
  for (size_t i = 1; i < dict->count && status == MICA_OK; i++) {
    int order;
    status = mica__object_compare(NULL, keys[0], keys[i], &order);
  }
  if (status == MICA_OK && dict->count) qsort(keys, dict->count, sizeof(*keys), order_of_keys);
  if (status == MICA_OK)
    *sorted = keys;
  else
    free(keys);
  return status;
}

static mica_status write_dict(mica__text *out, const mica__dict *dict, const mica__json_style *style, int depth) {
  const mica__object **keys = NULL;
  mica_status status = MICA_OK;
  if (style->sort) MICA_TRY(sorted_keys(dict, &keys));
  mica__text_add(out, "{");
  for (size_t i = 0; i < dict->count && status == MICA_OK; i++) {
    const size_t k = keys ? (size_t)(keys[i] - dict->keys) : i;
    if (i > 0) mica__text_add(out, style->comma);
    new_line(out, style, depth + 1);
    status = write_key(out, &dict->keys[k], style);
    mica__text_add(out, style->colon);
    if (status == MICA_OK) status = write_value(out, &dict->values[k], style, depth + 1);
  }
  free((void *)keys);
  if (dict->count) new_line(out, style, depth);
  mica__text_add(out, "}");
  return status;
}

static mica_status write_list(mica__text *out, const mica__object *v, const mica__json_style *style, int depth) {
  mica__text_add(out, "[");
  for (size_t i = 0; i < v->count; i++) {
    if (i > 0) mica__text_add(out, style->comma);
    new_line(out, style, depth + 1);
    MICA_TRY(write_value(out, &v->as.items[i], style, depth + 1));
  }
  if (v->count) new_line(out, style, depth);
  mica__text_add(out, "]");
  return MICA_OK;
}

static mica_status write_value(mica__text *out, const mica__object *v, const mica__json_style *style, int depth) {
  const size_t most = style->most ? style->most : MICA__MOST_TEMPLATE_MEMORY;
  if (depth > 2 * MICA__MOST_TEMPLATE_DEPTH)
    return mica__fail(MICA_E_FORMAT, "a value is nested too deeply to be written as JSON");
  if (out->length > most) return mica__fail(MICA_E_FORMAT, "the JSON of a value has more than %zu MiB", most >> 20);
  switch (v->kind) {
  case MICA__OBJECT_NONE: mica__text_add(out, "null"); break;
  case MICA__OBJECT_BOOL: mica__text_add(out, v->as.truth ? "true" : "false"); break;
  case MICA__OBJECT_INTEGER: mica__text_addf(out, "%" PRId64, v->as.integer); break;
  case MICA__OBJECT_BIG: mica__text_add_bytes(out, v->as.text, v->count); break;
  case MICA__OBJECT_FLOAT:
    if (isnan(v->as.number))
      mica__text_add(out, "NaN");
    else if (isinf(v->as.number))
      mica__text_add(out, v->as.number < 0 ? "-Infinity" : "Infinity");
    else
      mica__float_repr(out, v->as.number);
    break;
  case MICA__OBJECT_TEXT: json_text(out, v->as.text, v->count, style->ascii); break;
  case MICA__OBJECT_LIST:
  case MICA__OBJECT_TUPLE: return write_list(out, v, style, depth);
  case MICA__OBJECT_DICT: return write_dict(out, v->as.dict, style, depth);
  default: return mica__fail(MICA_E_FORMAT, "a value of type %s cannot be written as JSON", mica__object_type(v));
  }
  return MICA_OK;
}

mica_status mica__object_write_json(mica__text *out, const mica__object *v, const mica__json_style *style) {
  MICA_TRY(write_value(out, v, style, 0));
  return mica__text_status(out);
}
