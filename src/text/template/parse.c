/* Expressions of a template. Jinja's precedence, from low to high: a if b else c; or; and; not; comparisons; + and -;
 * ~; *, /, // and %; **; filters and tests; signs; attributes, items and calls. */
#include "text/template/parse.h"
#include "base/number.h"
#include "base/utf8.h"
#include "text/template/native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what both files of the parser use --- */

mica_status mica__parser_node(mica__parser *p, mica__node_kind kind, mica__syntax **node) {
  MICA_TRY(mica__arena_take(&p->t->arena, 1, sizeof **node, node));
  (*node)->kind = kind;
  (*node)->at = p->tokens[p->at].begin;
  return MICA_OK;
}

mica_status mica__parser_deeper(mica__parser *p) {
  if (++p->depth <= MICA__MOST_TEMPLATE_DEPTH) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the template is nested deeper than %d levels", MICA__MOST_TEMPLATE_DEPTH);
}

static const char *text_of(const mica__parser *p, size_t *bytes) {
  const mica__lexeme *token = &p->tokens[p->at];
  *bytes = token->end - token->begin;
  return p->t->source + token->begin;
}

static bool is_kind(const mica__parser *p, mica__token_kind kind) { return p->tokens[p->at].kind == kind; }

bool mica__parser_is(const mica__parser *p, const char *text) {
  size_t bytes;
  const char *token = text_of(p, &bytes);
  return (is_kind(p, MICA__TOKEN_NAME) || is_kind(p, MICA__TOKEN_OPERATOR)) && bytes == strlen(text) &&
         !memcmp(token, text, bytes);
}

bool mica__parser_take(mica__parser *p, const char *text) {
  if (!mica__parser_is(p, text)) return false;
  p->at++;
  return true;
}

static mica_status unexpected(const mica__parser *p, const char *wanted) {
  size_t bytes;
  const char *token = text_of(p, &bytes);
  if (is_kind(p, MICA__TOKEN_END)) return mica__fail(MICA_E_FORMAT, "expected %s, but the template ends", wanted);
  return mica__fail(MICA_E_FORMAT, "expected %s, but found '%.*s'", wanted, (int)(bytes < 40 ? bytes : 40), token);
}

mica_status mica__parser_expect(mica__parser *p, const char *text) {
  char wanted[40];
  if (mica__parser_take(p, text)) return MICA_OK;
  snprintf(wanted, sizeof wanted, "'%s'", text);
  return unexpected(p, wanted);
}

mica_status mica__template_unknown(const mica__syntax *node) {
  const size_t bytes = node->value.count < 60 ? node->value.count : 60;
  return mica__fail(MICA_E_UNSUPPORTED, "Mica has no %s '%.*s'", node->kind == MICA__NODE_TEST ? "test" : "filter",
                    (int)bytes, node->value.as.text);
}

mica_status mica__parser_check_known(mica__parser *p) {
  const mica__syntax *unknown = p->unknown;
  p->unknown = NULL;
  if (!unknown || p->branches > 0) return MICA_OK;
  while (p->at > 0 && p->tokens[p->at].begin > unknown->at) p->at--; /* moves to the position for the message */
  return mica__template_unknown(unknown);
}

/* --- literals --- */

static size_t read_octal_or_hex(const char *s, const char *end, int base, size_t most, uint32_t *c) {
  size_t n = 0;
  for (*c = 0; n < most && s + n < end; n++) {
    const char d = s[n];
    const int digit = d >= '0' && d <= '9'   ? d - '0'
                      : d >= 'a' && d <= 'f' ? d - 'a' + 10
                      : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                             : 99;
    if (digit >= base) break;
    *c = *c * (uint32_t)base + (uint32_t)digit;
  }
  return n;
}

/* Appends the character of an escape; s points after the backslash. As in Python, the backslash of an unknown escape is
 * kept. Returns how many bytes of the escape follow the backslash; 0: the escape is invalid. */
static size_t unescape(const char *s, const char *end, mica__text *out) {
  static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
  char bytes[4];
  uint32_t c = 0;
  const char *known = *s ? strchr(from, *s) : NULL;
  if (known) return mica__text_add_bytes(out, &to[known - from], 1), 1;
  if (*s == '\n') return 1;
  size_t digits = 0;
  const size_t most = *s == 'x' ? 2 : *s == 'u' ? 4 : *s == 'U' ? 8 : 0;
  if (most > 0) {
    digits = read_octal_or_hex(s + 1, end, 16, most, &c);
    if (digits != most || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return 0;
    mica__text_add_bytes(out, bytes, mica__utf8_encode(c, bytes));
    return digits + 1;
  }
  digits = read_octal_or_hex(s, end, 8, 3, &c);
  if (digits > 0) return mica__text_add_bytes(out, bytes, mica__utf8_encode(c, bytes)), digits;
  if (*s == 'N') return 0;
  mica__text_add(out, "\\");
  return mica__text_add_bytes(out, s, 1), 1;
}

/* Parses adjacent string tokens and joins them into one text. */
static mica_status parse_string(mica__parser *p, mica__object *value) {
  mica__text made = {0};
  mica_status status = MICA_OK;
  const char *copy = NULL;
  while (status == MICA_OK && is_kind(p, MICA__TOKEN_STRING)) {
    const char *s = p->t->source + p->tokens[p->at].begin + 1, *end = p->t->source + p->tokens[p->at].end - 1;
    while (s < end && status == MICA_OK) {
      const char *escape = memchr(s, '\\', (size_t)(end - s));
      mica__text_add_bytes(&made, s, (size_t)((escape ? escape : end) - s));
      if (!escape) break;
      const size_t taken = unescape(escape + 1, end, &made);
      if (taken == 0)
        status = mica__fail(MICA_E_FORMAT, "a string has an escape after '\\' that is unknown or incomplete");
      s = escape + 1 + taken;
    }
    if (status == MICA_OK) p->at++;
  }
  if (status == MICA_OK) status = mica__text_status(&made);
  if (status == MICA_OK) status = mica__arena_copy(&p->t->arena, made.data ? made.data : "", made.length, &copy);
  *value = mica__object_text(copy, made.length);
  mica__text_free(&made);
  return status;
}

static mica_status parse_number(mica__parser *p, mica__object *value) {
  char digits[64];
  size_t bytes, used = 0;
  const char *token = text_of(p, &bytes);
  char *end = NULL;
  for (size_t i = 0; i < bytes && used + 1 < sizeof digits; i++)
    if (token[i] != '_') digits[used++] = token[i];
  digits[used] = '\0';
  errno = 0;
  if (is_kind(p, MICA__TOKEN_FLOAT)) {
    *value = mica__object_float(mica__strtod(digits, &end));
    errno = 0;
  } else {
    const char kind = (char)(used > 1 ? digits[1] | 0x20 : 0);
    const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    *value = mica__object_integer(strtoll(base == 10 ? digits : digits + 2, &end, base));
  }
  const bool zero = used > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
  const char *fault = used + 1 == sizeof digits                 ? "has too many digits"
                      : errno                                   ? "does not fit 64 bits"
                      : !end || *end                            ? "is not a number"
                      : zero && is_kind(p, MICA__TOKEN_INTEGER) ? "is an integer that begins with 0"
                                                                : NULL;
  if (fault) return mica__fail(MICA_E_FORMAT, "'%.*s' %s", (int)(bytes < 40 ? bytes : 40), token, fault);
  p->at++;
  return MICA_OK;
}

/* Recognizes the constants true, false and none; each may begin with a capital letter. */
static bool is_constant(const mica__parser *p, mica__object *value) {
  if (mica__parser_is(p, "true") || mica__parser_is(p, "True")) return *value = mica__object_bool(true), true;
  if (mica__parser_is(p, "false") || mica__parser_is(p, "False")) return *value = mica__object_bool(false), true;
  if (mica__parser_is(p, "none") || mica__parser_is(p, "None")) return *value = mica__object_none(), true;
  return false;
}

/* --- primaries --- */

static mica_status parse_list(mica__parser *p, mica__syntax **node) {
  MICA_TRY(mica__parser_node(p, MICA__NODE_LIST, node));
  p->at++;
  for (mica__syntax **tail = &(*node)->a; !mica__parser_take(p, "]"); tail = &(*tail)->next) {
    if ((*node)->a) MICA_TRY(mica__parser_expect(p, ","));
    if (mica__parser_take(p, "]")) break;
    MICA_TRY(p->expression(p, true, tail));
  }
  return MICA_OK;
}

static mica_status parse_dict(mica__parser *p, mica__syntax **node) {
  MICA_TRY(mica__parser_node(p, MICA__NODE_DICT, node));
  p->at++;
  for (mica__syntax **tail = &(*node)->a; !mica__parser_take(p, "}"); tail = &(*tail)->next) {
    if ((*node)->a) MICA_TRY(mica__parser_expect(p, ","));
    if (mica__parser_take(p, "}")) break;
    MICA_TRY(p->expression(p, true, tail));
    MICA_TRY(mica__parser_expect(p, ":"));
    tail = &(*tail)->next;
    MICA_TRY(p->expression(p, true, tail));
  }
  return MICA_OK;
}

static mica_status parse_parentheses(mica__parser *p, mica__syntax **node) {
  mica__syntax *made = NULL;
  p->at++;
  if (mica__parser_is(p, ")"))
    MICA_TRY(mica__parser_node(p, MICA__NODE_TUPLE, &made));
  else
    MICA_TRY(p->tuple(p, true, &made));
  *node = made;
  return mica__parser_expect(p, ")");
}

static mica_status parse_primary(mica__parser *p, mica__syntax **node) {
  mica__object value = {0};
  size_t bytes;
  const char *text = text_of(p, &bytes);
  switch (p->tokens[p->at].kind) {
  case MICA__TOKEN_NAME:
    if (is_constant(p, &value)) {
      MICA_TRY(mica__parser_node(p, MICA__NODE_LITERAL, node));
      (*node)->value = value;
    } else {
      MICA_TRY(mica__parser_node(p, MICA__NODE_NAME, node));
      MICA_TRY(mica__template_name(p->t, text, bytes, &(*node)->name));
      (*node)->value = mica__object_text(text, bytes);
    }
    p->at++;
    return MICA_OK;
  case MICA__TOKEN_STRING:
    MICA_TRY(mica__parser_node(p, MICA__NODE_LITERAL, node));
    return parse_string(p, &(*node)->value);
  case MICA__TOKEN_INTEGER:
  case MICA__TOKEN_FLOAT:
    MICA_TRY(mica__parser_node(p, MICA__NODE_LITERAL, node));
    return parse_number(p, &(*node)->value);
  default: break;
  }
  if (mica__parser_is(p, "(")) return parse_parentheses(p, node);
  if (mica__parser_is(p, "[")) return parse_list(p, node);
  if (mica__parser_is(p, "{")) return parse_dict(p, node);
  return unexpected(p, "an expression");
}

/* --- what follows a primary --- */

static mica_status parse_arguments(mica__parser *p, mica__syntax **list) {
  mica__syntax **tail = list;
  MICA_TRY(mica__parser_expect(p, "("));
  while (!mica__parser_take(p, ")")) {
    if (*list) MICA_TRY(mica__parser_expect(p, ","));
    if (mica__parser_take(p, ")")) break;
    if (mica__parser_is(p, "*") || mica__parser_is(p, "**"))
      return mica__fail(MICA_E_FORMAT, "unpacking arguments from a list or a dict ('*', '**') is not supported");
    const mica__lexeme *behind = &p->tokens[p->at + (is_kind(p, MICA__TOKEN_END) ? 0 : 1)];
    if (is_kind(p, MICA__TOKEN_NAME) && behind->kind == MICA__TOKEN_OPERATOR && behind->end - behind->begin == 1 &&
        p->t->source[behind->begin] == '=') {
      size_t bytes;
      const char *name = text_of(p, &bytes);
      MICA_TRY(mica__parser_node(p, MICA__NODE_KEYWORD, tail));
      (*tail)->value = mica__object_text(name, bytes);
      p->at += 2;
      MICA_TRY(p->expression(p, true, &(*tail)->a));
    } else {
      MICA_TRY(p->expression(p, true, tail));
    }
    tail = &(*tail)->next;
  }
  return MICA_OK;
}

/* Parses a, a:b or a:b:c; each part may be missing. */
static mica_status parse_index(mica__parser *p, mica__syntax **node) {
  mica__syntax *parts[3] = {NULL, NULL, NULL}, *slice = NULL;
  int count = 0;
  MICA_TRY(mica__parser_node(p, MICA__NODE_SLICE, &slice));
  for (;; count++) {
    if (!mica__parser_is(p, ":") && !mica__parser_is(p, "]") && !mica__parser_is(p, ","))
      MICA_TRY(p->expression(p, true, &parts[count]));
    if (count == 2 || !mica__parser_take(p, ":")) break;
  }
  if (count == 0 && !parts[0]) return unexpected(p, "an index");
  slice->a = parts[0];
  slice->b = parts[1];
  slice->c = parts[2];
  *node = count == 0 ? parts[0] : slice;
  return MICA_OK;
}

static mica_status parse_subscript(mica__parser *p, mica__syntax *a, mica__syntax **node) {
  mica__syntax *made = NULL;
  size_t bytes;
  MICA_TRY(mica__parser_node(p, MICA__NODE_ITEM, &made));
  made->a = a;
  *node = made;
  if (mica__parser_take(p, "[")) {
    MICA_TRY(parse_index(p, &made->b));
    return mica__parser_expect(p, "]");
  }
  p->at++; /* after the dot */
  const char *name = text_of(p, &bytes);
  if (is_kind(p, MICA__TOKEN_INTEGER)) {
    MICA_TRY(mica__parser_node(p, MICA__NODE_LITERAL, &made->b));
    return parse_number(p, &made->b->value);
  }
  if (!is_kind(p, MICA__TOKEN_NAME)) return unexpected(p, "a name after '.'");
  made->kind = MICA__NODE_ATTRIBUTE;
  made->value = mica__object_text(name, bytes);
  p->at++;
  return MICA_OK;
}

static mica_status parse_call(mica__parser *p, mica__syntax *a, mica__syntax **node) {
  mica__syntax *made = NULL;
  MICA_TRY(mica__parser_node(p, MICA__NODE_CALL, &made));
  made->a = a;
  *node = made;
  return parse_arguments(p, &made->b);
}

/* Parses attributes, items and calls; each adds a level to the tree. */
static mica_status parse_postfix(mica__parser *p, mica__syntax **node) {
  const int depth = p->depth;
  for (;;) {
    if (mica__parser_is(p, ".") || mica__parser_is(p, "["))
      MICA_TRY(parse_subscript(p, *node, node));
    else if (mica__parser_is(p, "("))
      MICA_TRY(parse_call(p, *node, node));
    else
      break;
    MICA_TRY(mica__parser_deeper(p));
  }
  p->depth = depth;
  return MICA_OK;
}

/* Parses the name of a filter or a test; it may contain dots. */
static mica_status parse_native(mica__parser *p, mica__syntax *node, bool test) {
  size_t bytes;
  const char *name = text_of(p, &bytes);
  if (!is_kind(p, MICA__TOKEN_NAME)) return unexpected(p, test ? "a test" : "a filter");
  node->value = mica__object_text(name, bytes);
  node->native = test ? mica__template_test(name, bytes) : mica__template_filter(name, bytes);
  if (!node->native && !p->unknown) p->unknown = node;
  p->at++;
  return p->inside == 0 ? mica__parser_check_known(p) : MICA_OK;
}

mica_status mica__parse_filters(mica__parser *p, mica__syntax *a, bool first, mica__syntax **node) {
  const int depth = p->depth;
  *node = a;
  while (first || mica__parser_is(p, "|")) {
    mica__syntax *made = NULL;
    if (!first) p->at++;
    first = false;
    MICA_TRY(mica__parser_node(p, MICA__NODE_FILTER, &made));
    MICA_TRY(parse_native(p, made, false));
    made->a = *node;
    *node = made;
    if (mica__parser_is(p, "(")) MICA_TRY(parse_arguments(p, &made->b));
    MICA_TRY(mica__parser_deeper(p));
  }
  p->depth = depth;
  return MICA_OK;
}

/* A test's argument needs no parentheses: "x is divisibleby 3". */
static bool begins_argument(const mica__parser *p) {
  switch (p->tokens[p->at].kind) {
  case MICA__TOKEN_NAME: return !mica__parser_is(p, "else") && !mica__parser_is(p, "or") && !mica__parser_is(p, "and");
  case MICA__TOKEN_STRING:
  case MICA__TOKEN_INTEGER:
  case MICA__TOKEN_FLOAT: return true;
  default: return mica__parser_is(p, "[") || mica__parser_is(p, "{");
  }
}

static mica_status parse_test(mica__parser *p, mica__syntax **node) {
  mica__syntax *made = NULL, *negated = NULL;
  const bool is_not = mica__parser_take(p, "not");
  MICA_TRY(mica__parser_node(p, MICA__NODE_TEST, &made));
  MICA_TRY(parse_native(p, made, true));
  made->a = *node;
  *node = made;
  if (mica__parser_is(p, "(")) {
    MICA_TRY(parse_arguments(p, &made->b));
  } else if (begins_argument(p)) {
    if (mica__parser_is(p, "is"))
      return mica__fail(MICA_E_FORMAT, "a test cannot be followed directly by another 'is'; join the tests with 'and'");
    MICA_TRY(parse_primary(p, &made->b));
    MICA_TRY(parse_postfix(p, &made->b));
  }
  if (!is_not) return MICA_OK;
  MICA_TRY(mica__parser_node(p, MICA__NODE_NOT, &negated));
  negated->a = made;
  *node = negated;
  return MICA_OK;
}

static mica_status parse_behind(mica__parser *p, mica__syntax **node) {
  const int depth = p->depth;
  for (;;) {
    if (mica__parser_is(p, "|"))
      MICA_TRY(mica__parse_filters(p, *node, false, node));
    else if (mica__parser_take(p, "is"))
      MICA_TRY(parse_test(p, node));
    else if (mica__parser_is(p, "("))
      MICA_TRY(parse_call(p, *node, node));
    else
      break;
    MICA_TRY(mica__parser_deeper(p));
  }
  p->depth = depth;
  return MICA_OK;
}

mica_status mica__parse_unary(mica__parser *p, bool filters, mica__syntax **node) {
  if (mica__parser_is(p, "-") || mica__parser_is(p, "+")) {
    mica__syntax *made = NULL;
    MICA_TRY(mica__parser_deeper(p));
    MICA_TRY(mica__parser_node(p, mica__parser_is(p, "-") ? MICA__NODE_NEGATIVE : MICA__NODE_POSITIVE, &made));
    p->at++;
    MICA_TRY(mica__parse_unary(p, false, &made->a));
    p->depth--;
    *node = made;
  } else {
    MICA_TRY(parse_primary(p, node));
  }
  MICA_TRY(parse_postfix(p, node));
  return filters ? parse_behind(p, node) : MICA_OK;
}
