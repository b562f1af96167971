#include "runtime/kernel_code.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* True if the line ends in a backslash, perhaps with blanks after it, which compilers ignore. */
static bool continues(const char *line, size_t length) {
  while (length > 0 && is_blank(line[length - 1])) length--;
  return length > 0 && line[length - 1] == '\\';
}

static bool begins_directive(const char *line, size_t length) {
  size_t i = 0;
  while (i < length && is_blank(line[i])) i++;
  return i < length && line[i] == '#';
}

/* The position after the comment's end, or `length` if it continues on the next line. */
static size_t skip_comment(mica__code_state *s, const char *line, size_t at, size_t length) {
  for (const char *star; at < length && (star = memchr(line + at, '*', length - at)) != NULL;) {
    at = (size_t)(star - line) + 1;
    if (at == length || line[at] != '/') continue;
    s->in_comment = false;
    return at + 1;
  }
  return length;
}

/* The position after the literal's end, or `length` if it continues on the next line. */
static size_t skip_literal(mica__code_state *s, const char *line, size_t at, size_t length) {
  for (; at < length; at++) {
    if (line[at] == '\\') {
      at++;
    } else if (line[at] == s->quote) {
      s->quote = 0;
      return at + 1;
    }
  }
  return length;
}

/* The position of the next comment or literal, or `length`. */
static size_t skip_code(const char *line, size_t at, size_t length) {
  for (; at < length; at++) {
    if (line[at] == '"' || line[at] == '\'') return at;
    if (line[at] == '/' && at + 1 < length && (line[at + 1] == '*' || line[at + 1] == '/')) return at;
  }
  return length;
}

/* Reads one comment, literal or piece of code that begins at `at`, and returns the position after it. Appends code and
 * literals as they are, and a space for a comment. */
static size_t add_piece(mica__code_state *s, const char *line, size_t at, size_t length, mica__text *out) {
  if (s->in_comment) {
    mica__text_add(out, " ");
    return skip_comment(s, line, at, length);
  }
  size_t end = s->quote ? skip_literal(s, line, at, length) : skip_code(line, at, length);
  const bool opens_literal = !s->quote && end == at && line[at] != '/';
  if (opens_literal) {
    s->quote = line[at];
    end = at + 1;
  }
  mica__text_add_bytes(out, line + at, end - at);
  if (end > at) return end;
  s->in_comment = line[at + 1] == '*';
  s->in_line_comment = !s->in_comment && continues(line, length);
  return s->in_comment ? at + 2 : length;
}

/* Removes blanks from the end of the text down to the length `from`. If a removed comment stood after a backslash, the
 * backslash would now end the line and continue it; an empty comment is added to prevent that. */
static void trim(mica__text *out, size_t from, bool continued) {
  if (!out->data || out->failed) return;
  while (out->length > from && is_blank(out->data[out->length - 1])) out->length--;
  out->data[out->length] = '\0';
  if (!continued && continues(out->data + from, out->length - from)) mica__text_add(out, "/**/");
}

/* A comment of several lines within a directive does not end the directive. Without the comment, the ends of its lines
 * would end it, so each of these lines gets a backslash. */
void mica__code_add_line(mica__code_state *state, const char *line, size_t length, mica__text *out) {
  mica__code_state *s = state;
  const bool within = s->in_comment || s->in_line_comment || s->quote;
  const bool plain =
      length == 0 || (!memchr(line, '/', length) && (!continues(line, length) || !memchr(line, '"', length)));
  if (plain && !within) {
    s->in_directive = (s->in_directive || begins_directive(line, length)) && continues(line, length);
    mica__text_add_bytes(out, line, length);
    mica__text_add(out, "\n");
    return;
  }
  const size_t from = out->length;
  const bool skipped = s->in_line_comment;
  s->in_line_comment = skipped && continues(line, length);
  for (size_t at = skipped ? length : 0; at < length;) at = add_piece(s, line, at, length, out);
  if (!continues(line, length)) s->quote = 0;
  if (!s->quote) trim(out, from, continues(line, length));
  const bool directive = s->in_directive || (out->data && begins_directive(out->data + from, out->length - from));
  if (directive && s->in_comment) mica__text_add(out, " \\");
  s->in_directive = directive && (s->in_comment || (continues(line, length) && !s->in_line_comment && !skipped));
  mica__text_add(out, "\n");
}

mica__hash mica__code_hash(const char *text) {
  mica__hash hash = {0};
  /* True if the last line ends in a backslash. The next line is then hashed even if it is empty, because it ends the
   * directive. */
  bool continued = false;
  /* These words make the compiled code depend on line numbers or file names, or include a file that may depend on them.
   * A text with one of them is hashed whole. */
  static const char *const positions[] = {"__LINE__", "__FILE__", "include"};
  for (size_t i = 0; i < sizeof positions / sizeof *positions; i++)
    if (strstr(text, positions[i])) return mica__hash_text(hash, text);
  for (size_t length; *text; text += length) {
    const char *newline = strchr(text, '\n');
    length = newline ? (size_t)(newline - text) + 1 : strlen(text);
    if (continued || (*text != '\n' && strncmp(text, "#line ", 6) != 0)) hash = mica__hash_bytes(hash, text, length);
    continued = continues(text, newline ? length - 1 : length);
  }
  return hash;
}
