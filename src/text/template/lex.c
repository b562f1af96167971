/* Splits a template into tokens as Jinja does with trim_blocks and lstrip_blocks, which are always on. The first
 * newline after a block or comment is dropped, and so are blanks between the beginning of a line and a block or
 * comment. A plus sign ("+%}", "{%+") prevents it. */
#include "text/template/parse.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

typedef struct lexer {
  const char *source;
  size_t bytes, at;
  bool line_starts; /* the position after the last tag is the beginning of a line */
  mica__lexeme *tokens;
  size_t count, room;
  char *open; /* open brackets that are not closed yet */
  size_t depth, open_room;
} lexer;

static mica_status add(lexer *l, mica__token_kind kind, size_t begin, size_t end) {
  if (l->count == l->room) {
    const size_t room = l->room ? 2 * l->room : 256;
    mica__lexeme *grown = realloc(l->tokens, room * sizeof *grown);
    if (!grown) return mica__fail_nomem("a chat template");
    l->tokens = grown;
    l->room = room;
  }
  l->tokens[l->count++] = (mica__lexeme){kind, (uint32_t)begin, (uint32_t)end};
  return MICA_OK;
}

/* Fails at the current byte; the END token that it adds gives the caller the position. */
static mica_status fault(lexer *l, const char *what) {
  if (add(l, MICA__TOKEN_END, l->at, l->at) != MICA_OK) return MICA_E_NOMEM;
  return mica__fail(MICA_E_FORMAT, "%s", what);
}

static bool is_one_of(char c, const char *set) { return c && strchr(set, c); }

/* The sign after "{%", "{{" or "{#" at `tag`; 0: it has none. */
static char sign_of(const lexer *l, size_t tag) {
  return tag + 2 < l->bytes && is_one_of(l->source[tag + 2], "+-") ? l->source[tag + 2] : '\0';
}

static bool is_at(const lexer *l, const char *text) {
  const size_t bytes = strlen(text);
  return l->bytes - l->at >= bytes && !memcmp(l->source + l->at, text, bytes);
}

static bool is_blank(uint32_t c) { return mica__is_space(c) || (c >= 0x1c && c <= 0x1f); }

static size_t skip_blanks(const lexer *l, size_t at) {
  size_t n = 1;
  while (at < l->bytes && is_blank(mica__utf8_at(l->source + at, &n))) at += n;
  return at;
}

/* Returns where the blanks before `end` begin, but never less than `from`. */
static size_t before_blanks(const lexer *l, size_t from, size_t end) {
  size_t n;
  while (end > from) {
    const size_t last = from + mica__utf8_last(l->source + from, end - from);
    if (!is_blank(mica__utf8_at(l->source + last, &n))) break;
    end = last;
  }
  return end;
}

/* Adds the text between `from` and the tag at `tag`, whose sign is '-', '+' or 0. With the sign '-', drops all blanks
 * before the tag. Without a sign, drops the blanks between the beginning of the line and a tag that is not a
 * variable. */
static mica_status add_data(lexer *l, size_t from, size_t tag, char sign, bool variable) {
  size_t end = tag;
  if (sign == '-')
    end = before_blanks(l, from, tag);
  else if (sign != '+' && !variable) {
    size_t line = tag;
    while (line > from && l->source[line - 1] != '\n') line--;
    if ((line > from || l->line_starts) && before_blanks(l, line, tag) == line) end = line;
  }
  return end > from ? add(l, MICA__TOKEN_DATA, from, end) : MICA_OK;
}

/* Moves past the end of a tag. Returns false if no tag ends here. What it moves past, for the mark "%}":
 * -%}: the blanks after it too
 * +%}: nothing more
 *  %}: if `trim`, also a newline after it */
static bool take_end(lexer *l, const char *mark, bool trim, bool plus) {
  const bool signs = l->at < l->bytes && (l->source[l->at] == '-' || (plus && l->source[l->at] == '+'));
  const size_t sign = signs ? 1 : 0;
  if (l->bytes - l->at < sign + 2 || memcmp(l->source + l->at + sign, mark, 2) != 0) return false;
  const bool strips = signs && l->source[l->at] == '-';
  l->at += sign + 2;
  if (strips)
    l->at = skip_blanks(l, l->at);
  else if (!signs && trim && l->at < l->bytes && l->source[l->at] == '\n')
    l->at++;
  l->line_starts = l->at > 0 && l->source[l->at - 1] == '\n';
  return true;
}

static mica_status lex_comment(lexer *l) {
  for (; l->at < l->bytes; l->at++)
    if (take_end(l, "#}", true, true)) return MICA_OK;
  return fault(l, "a comment has no end");
}

/* Moves past the tag "{% word %}" (raw or endraw) if it is here; `at` is after "{%" and its sign. */
static bool take_raw(lexer *l, const char *word, size_t at, bool trim) {
  const size_t before = l->at, bytes = strlen(word);
  at = skip_blanks(l, at);
  if (l->bytes - at < bytes || memcmp(l->source + at, word, bytes) != 0) return false;
  l->at = skip_blanks(l, at + bytes);
  if (take_end(l, "%}", trim, trim)) return true;
  l->at = before;
  return false;
}

static mica_status lex_raw(lexer *l) {
  const size_t from = l->at;
  for (; l->at < l->bytes; l->at++) {
    if (!is_at(l, "{%")) continue;
    const size_t tag = l->at, behind = tag + 2;
    const char sign = sign_of(l, tag);
    const bool starts = l->line_starts;
    if (!take_raw(l, "endraw", behind + (sign ? 1 : 0), true)) continue;
    const bool ended = l->line_starts;
    l->line_starts = starts;
    MICA_TRY(add_data(l, from, tag, sign, false));
    l->line_starts = ended;
    return MICA_OK;
  }
  return fault(l, "{% raw %} has no {% endraw %}");
}

/* --- inside of tags --- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t skip_digits(const lexer *l, size_t at) {
  while (at < l->bytes &&
         (is_digit(l->source[at]) || (l->source[at] == '_' && at + 1 < l->bytes && is_digit(l->source[at + 1]))))
    at++;
  return at;
}

static mica_status lex_number(lexer *l) {
  const size_t from = l->at;
  size_t at = skip_digits(l, from);
  bool whole = true;
  /* The numbers in "x.0.5" are items, not fractions. */
  const bool item = from > 0 && l->source[from - 1] == '.';
  if (!item && at + 1 < l->bytes && l->source[at] == '.' && is_digit(l->source[at + 1])) {
    at = skip_digits(l, at + 1);
    whole = false;
  }
  if (!item && at < l->bytes && (l->source[at] == 'e' || l->source[at] == 'E')) {
    size_t digits = at + 1;
    if (digits < l->bytes && (l->source[digits] == '+' || l->source[digits] == '-')) digits++;
    if (digits < l->bytes && is_digit(l->source[digits])) {
      at = skip_digits(l, digits);
      whole = false;
    }
  }
  if (whole && at == from + 1 && l->source[from] == '0' && at < l->bytes && is_one_of(l->source[at], "xXoObB"))
    while (at < l->bytes && mica__is_word((unsigned char)l->source[at]) && (unsigned char)l->source[at] < 0x80) at++;
  l->at = at;
  return add(l, whole ? MICA__TOKEN_INTEGER : MICA__TOKEN_FLOAT, from, at);
}

static mica_status lex_string(lexer *l) {
  const size_t from = l->at;
  const char quote = l->source[l->at++];
  while (l->at < l->bytes && l->source[l->at] != quote) l->at += l->source[l->at] == '\\' ? 2 : 1;
  if (l->at >= l->bytes) {
    l->at = from;
    return fault(l, "a text has no closing quote");
  }
  l->at++;
  return add(l, MICA__TOKEN_STRING, from, l->at);
}

static mica_status bracket(lexer *l, char c) {
  if (strchr("([{", c)) {
    if (l->depth == l->open_room) {
      const size_t room = l->open_room ? 2 * l->open_room : 64;
      char *grown = realloc(l->open, room);
      if (!grown) return mica__fail_nomem("a chat template");
      l->open = grown;
      l->open_room = room;
    }
    l->open[l->depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
  } else if (l->depth == 0 || l->open[--l->depth] != c) {
    return fault(l, c == ')' ? "unexpected ')'" : c == ']' ? "unexpected ']'" : "unexpected '}'");
  }
  return MICA_OK;
}

static mica_status lex_operator(lexer *l) {
  static const char *const operators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                          "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    if (!is_at(l, operators[i])) continue;
    if (strchr("([{}])", operators[i][0])) MICA_TRY(bracket(l, operators[i][0]));
    l->at += strlen(operators[i]);
    return add(l, MICA__TOKEN_OPERATOR, l->at - strlen(operators[i]), l->at);
  }
  return fault(l, "the character cannot be part of an expression");
}

/* Adds the tokens up to the end of a tag. */
static mica_status lex_tag(lexer *l, bool variable) {
  const char *mark = variable ? "}}" : "%}";
  l->depth = 0;
  while (l->at < l->bytes) {
    const size_t from = l->at;
    size_t n;
    if (l->depth == 0 && take_end(l, mark, !variable, !variable))
      return add(l, variable ? MICA__TOKEN_VARIABLE_END : MICA__TOKEN_BLOCK_END, from, l->at);
    l->at = skip_blanks(l, l->at);
    if (l->at > from) continue;
    const char c = l->source[l->at];
    if (is_digit(c)) {
      MICA_TRY(lex_number(l));
    } else if (c == '"' || c == '\'') {
      MICA_TRY(lex_string(l));
    } else if (mica__is_word(mica__utf8_at(l->source + l->at, &n))) {
      do l->at += n;
      while (l->at < l->bytes && mica__is_word(mica__utf8_at(l->source + l->at, &n)));
      MICA_TRY(add(l, MICA__TOKEN_NAME, from, l->at));
    } else {
      MICA_TRY(lex_operator(l));
    }
  }
  return fault(l, variable ? "'{{' has no '}}'" : "'{%' has no '%}'");
}

static mica_status lex(lexer *l) {
  size_t from = 0;
  l->line_starts = true;
  while (l->at < l->bytes) {
    const bool block = is_at(l, "{%"), comment = is_at(l, "{#"), variable = is_at(l, "{{");
    if (!block && !comment && !variable) {
      l->at++;
      continue;
    }
    const size_t tag = l->at;
    const char sign = sign_of(l, tag);
    MICA_TRY(add_data(l, from, tag, sign, variable));
    l->at = tag + 2 + (sign ? 1 : 0);
    l->line_starts = false;
    if (comment) {
      MICA_TRY(lex_comment(l));
    } else if (block && take_raw(l, "raw", l->at, false)) {
      MICA_TRY(lex_raw(l));
    } else {
      MICA_TRY(add(l, block ? MICA__TOKEN_BLOCK_BEGIN : MICA__TOKEN_VARIABLE_BEGIN, tag, l->at));
      MICA_TRY(lex_tag(l, variable));
    }
    from = l->at;
  }
  if (l->bytes > from) MICA_TRY(add(l, MICA__TOKEN_DATA, from, l->bytes));
  return add(l, MICA__TOKEN_END, l->bytes, l->bytes);
}

mica_status mica__template_lex(const char *source, size_t bytes, mica__lexeme **tokens, size_t *count) {
  lexer l = {.source = source, .bytes = bytes};
  const mica_status status = lex(&l);
  free(l.open);
  *tokens = l.tokens;
  *count = l.count;
  return status;
}
