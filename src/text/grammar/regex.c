/* Regular expressions in JavaScript's syntax: read into a tree, then written as paths of an automaton. */
#include "base/utf8.h"
#include "text/grammar/closure.h"
#include "text/grammar/language.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NESTING 64
#define MOST_REPEAT 100000
#define LAST 0x10ffff
#define NONE UINT32_MAX

typedef enum node_kind { EMPTY, SET, BEGIN, END, JOIN, CHOICE, REPEAT } node_kind;

typedef struct node {
  node_kind kind;
  uint32_t first, next;     /* the first child; the next child of the same parent */
  size_t set_at, set_count; /* SET: has the ranges from index set_at on */
  int32_t least, most;      /* REPEAT; most -1: any */
} node;

typedef struct reader {
  const char *text;
  size_t bytes, at;
  node *nodes;
  size_t count, room;
  mica__characters *ranges;
  size_t range_count, range_room;
  mica__automaton *out;
} reader;

static mica_status fault(const reader *r, mica_status status, const char *what) {
  return mica__fail(status, "byte %zu of the pattern: %s", r->at, what);
}

static bool more(const reader *r) { return r->at < r->bytes; }
static bool peek(const reader *r, char c) { return more(r) && r->text[r->at] == c; }
static bool take(reader *r, char c) { return peek(r, c) && ++r->at; }

static mica_status add_node(reader *r, node made, uint32_t *index) {
  MICA_TRY(mica__grow_list(&r->nodes, r->count, &r->room, sizeof *r->nodes));
  made.next = NONE;
  *index = (uint32_t)r->count;
  r->nodes[r->count++] = made;
  return MICA_OK;
}

/* --- sets of characters --- */

static mica_status add_range(reader *r, uint32_t low, uint32_t high) {
  MICA_TRY(mica__grow_list(&r->ranges, r->range_count, &r->range_room, sizeof *r->ranges));
  r->ranges[r->range_count++] = (mica__characters){low, high};
  return MICA_OK;
}

static int by_low(const void *a, const void *b) {
  const mica__characters *x = a, *y = b;
  return (x->low > y->low) - (x->low < y->low);
}

/* Sorts the ranges from `from` on and merges ranges that overlap or touch. With `invert`, replaces them by all other
 * characters. */
static mica_status tidy(reader *r, size_t from, bool invert) {
  size_t count = 0, total = r->range_count - from;
  mica__characters *list = total ? r->ranges + from : NULL;
  if (total > 1) qsort(list, total, sizeof *list, by_low);
  for (size_t i = 0; i < total; i++) {
    if (count && list[i].low <= list[count - 1].high + 1) {
      if (list[i].high > list[count - 1].high) list[count - 1].high = list[i].high;
    } else {
      list[count++] = list[i];
    }
  }
  r->range_count = from + count;
  if (!invert) return MICA_OK;
  uint32_t low = 0;
  for (size_t i = 0; i < count; i++) {
    const mica__characters range = r->ranges[from + i];
    if (range.low > low) MICA_TRY(add_range(r, low, range.low - 1));
    low = range.high + 1;
  }
  if (low <= LAST) MICA_TRY(add_range(r, low, LAST));
  memmove(r->ranges + from, r->ranges + from + count, (r->range_count - from - count) * sizeof *r->ranges);
  r->range_count -= count;
  return MICA_OK;
}

/* \d, \w, \s and their complements, as in JavaScript. */
static mica_status add_class(reader *r, char letter) {
  static const mica__characters digits[] = {{'0', '9'}}, words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                                spaces[] = {{9, 13},          {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680},
                                            {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                                            {0x3000, 0x3000}, {0xfeff, 0xfeff}};
  const char small = (char)(letter | 0x20);
  const mica__characters *list = small == 'd' ? digits : small == 'w' ? words : spaces;
  const size_t count = small == 'd' ? 1 : small == 'w' ? 4 : sizeof spaces / sizeof *spaces, from = r->range_count;
  for (size_t i = 0; i < count; i++) MICA_TRY(add_range(r, list[i].low, list[i].high));
  return tidy(r, from, letter != small);
}

static mica_status read_hex(reader *r, int digits, uint32_t *c) {
  *c = 0;
  for (int i = 0; i < digits; i++) {
    const char d = more(r) ? r->text[r->at] : 0;
    const int value = d >= '0' && d <= '9' ? d - '0' : (d | 32) >= 'a' && (d | 32) <= 'f' ? (d | 32) - 'a' + 10 : -1;
    if (value < 0) return fault(r, MICA_E_FORMAT, "a hexadecimal digit is missing");
    *c = *c << 4 | (uint32_t)value;
    r->at++;
  }
  return MICA_OK;
}

/* Reads what follows "\u": four digits, a pair of surrogates, or digits in braces. */
static mica_status read_unicode(reader *r, uint32_t *c) {
  if (take(r, '{')) {
    *c = 0;
    do {
      uint32_t digit;
      MICA_TRY(read_hex(r, 1, &digit));
      *c = *c << 4 | digit;
      if (*c > LAST) return fault(r, MICA_E_FORMAT, "a character is above U+10FFFF");
    } while (more(r) && !peek(r, '}'));
    return take(r, '}') ? MICA_OK : fault(r, MICA_E_FORMAT, "a '}' is missing");
  }
  MICA_TRY(read_hex(r, 4, c));
  if (*c < 0xd800 || *c > 0xdbff || r->bytes - r->at < 6 || memcmp(r->text + r->at, "\\u", 2) != 0) return MICA_OK;
  uint32_t low;
  r->at += 2;
  MICA_TRY(read_hex(r, 4, &low));
  if (low < 0xdc00 || low > 0xdfff)
    return fault(r, MICA_E_FORMAT, "a \\u escape of a surrogate pair has no second half");
  *c = 0x10000 + ((*c - 0xd800) << 10 | (low - 0xdc00));
  return MICA_OK;
}

/* Reads what follows a backslash: a class (*c: NONE), or a character. */
static mica_status read_escape(reader *r, bool in_set, uint32_t *c) {
  if (!more(r)) return fault(r, MICA_E_FORMAT, "the pattern ends in a backslash");
  size_t length;
  const char letter = r->text[r->at];
  const uint32_t character = mica__utf8_at(r->text + r->at, &length);
  static const char from[] = "tnvfr0", to[] = "\t\n\v\f\r";
  const char *control = letter ? strchr(from, letter) : NULL;
  *c = character;
  r->at += length;
  if (control) {
    *c = letter == '0' ? 0 : (uint32_t)to[control - from];
    if (letter == '0' && more(r) && r->text[r->at] >= '0' && r->text[r->at] <= '9')
      return fault(r, MICA_E_FORMAT, "octal escapes are not supported");
    return MICA_OK;
  }
  if (letter && strchr("dDwWsS", letter)) return *c = NONE, add_class(r, letter);
  if (letter == 'x') return read_hex(r, 2, c);
  if (letter == 'u') return read_unicode(r, c);
  if (letter == 'b' && in_set) return *c = '\b', MICA_OK;
  if (letter == 'c') {
    if (!more(r) || (r->text[r->at] | 32) < 'a' || (r->text[r->at] | 32) > 'z')
      return fault(r, MICA_E_FORMAT, "\\c must be followed by a letter");
    return *c = (uint32_t)r->text[r->at++] & 31, MICA_OK;
  }
  if (letter == 'b' || letter == 'B') return fault(r, MICA_E_UNSUPPORTED, "word boundaries are not supported");
  if (letter == 'p' || letter == 'P') return fault(r, MICA_E_UNSUPPORTED, "Unicode properties are not supported");
  if (letter == 'k' || (letter >= '1' && letter <= '9'))
    return fault(r, MICA_E_UNSUPPORTED, "back references are not supported");
  if ((letter | 32) >= 'a' && (letter | 32) <= 'z' && character < 0x80)
    return fault(r, MICA_E_FORMAT, "the escape is not known");
  return MICA_OK;
}

static mica_status read_member(reader *r, uint32_t *c) {
  size_t length;
  if (!more(r)) return fault(r, MICA_E_FORMAT, "a ']' is missing");
  if (take(r, '\\')) return read_escape(r, true, c);
  *c = mica__utf8_at(r->text + r->at, &length);
  r->at += length;
  return MICA_OK;
}

/* Reads a set after its '['. */
static mica_status read_set(reader *r, uint32_t *index) {
  const size_t from = r->range_count;
  const bool invert = take(r, '^');
  while (!take(r, ']')) {
    uint32_t low, high;
    MICA_TRY(read_member(r, &low));
    high = low;
    if (peek(r, '-') && r->at + 1 < r->bytes && r->text[r->at + 1] != ']') {
      r->at++;
      const size_t before = r->range_count;
      MICA_TRY(read_member(r, &high));
      if (low == NONE || high == NONE || r->range_count != before)
        return fault(r, MICA_E_FORMAT, "a range must begin and end with a single character, not with a class");
      if (high < low) return fault(r, MICA_E_FORMAT, "the end of a range is below its beginning");
    }
    if (low != NONE) MICA_TRY(add_range(r, low, high));
  }
  MICA_TRY(tidy(r, from, invert));
  return add_node(r, (node){.kind = SET, .set_at = from, .set_count = r->range_count - from}, index);
}

/* --- expressions --- */

static mica_status read_choice(reader *r, int depth, uint32_t *index);

static mica_status read_group(reader *r, int depth, uint32_t *index) {
  if (depth == MOST_NESTING) return fault(r, MICA_E_UNSUPPORTED, "groups are nested deeper than 64 levels");
  if (take(r, '?') && !take(r, ':')) {
    const bool named = peek(r, '<') && r->at + 1 < r->bytes && r->text[r->at + 1] != '=' && r->text[r->at + 1] != '!';
    if (!named)
      return fault(r, MICA_E_UNSUPPORTED, "of groups that begin with (?, only (?:...) and (?<name>...) are supported");
    while (more(r) && !peek(r, '>')) r->at++;
    if (!take(r, '>')) return fault(r, MICA_E_FORMAT, "a '>' is missing");
  }
  MICA_TRY(read_choice(r, depth + 1, index));
  return take(r, ')') ? MICA_OK : fault(r, MICA_E_FORMAT, "a ')' is missing");
}

static mica_status read_atom(reader *r, int depth, uint32_t *index) {
  const size_t from = r->range_count;
  uint32_t c = 0;
  size_t length;
  if (take(r, '(')) return read_group(r, depth, index);
  if (take(r, '[')) return read_set(r, index);
  if (take(r, '^')) return add_node(r, (node){.kind = BEGIN}, index);
  if (take(r, '$')) return add_node(r, (node){.kind = END}, index);
  if (take(r, '.')) {
    MICA_TRY(add_range(r, '\n', '\n'));
    MICA_TRY(add_range(r, '\r', '\r'));
    MICA_TRY(add_range(r, 0x2028, 0x2029));
    MICA_TRY(tidy(r, from, true));
  } else if (take(r, '\\')) {
    MICA_TRY(read_escape(r, false, &c));
    if (c != NONE) MICA_TRY(add_range(r, c, c));
  } else {
    if (strchr("*+?{", r->text[r->at]) && r->text[r->at])
      return fault(r, MICA_E_FORMAT, "nothing stands before a quantifier");
    c = mica__utf8_at(r->text + r->at, &length);
    r->at += length;
    MICA_TRY(add_range(r, c, c));
  }
  return add_node(r, (node){.kind = SET, .set_at = from, .set_count = r->range_count - from}, index);
}

static mica_status read_number(reader *r, int32_t *number) {
  *number = 0;
  if (!more(r) || r->text[r->at] < '0' || r->text[r->at] > '9') return fault(r, MICA_E_FORMAT, "a number is missing");
  while (more(r) && r->text[r->at] >= '0' && r->text[r->at] <= '9') {
    *number = 10 * *number + (r->text[r->at++] - '0');
    if (*number > MOST_REPEAT) return fault(r, MICA_E_UNSUPPORTED, "a repetition is above 100000");
  }
  return MICA_OK;
}

/* Reads the quantifier after an atom if it has one. */
static mica_status read_repeat(reader *r, uint32_t *index) {
  int32_t least, most = -1;
  if (take(r, '*'))
    least = 0;
  else if (take(r, '+'))
    least = 1;
  else if (take(r, '?'))
    least = 0, most = 1;
  else if (take(r, '{')) {
    MICA_TRY(read_number(r, &least));
    if (!take(r, ','))
      most = least;
    else if (!peek(r, '}'))
      MICA_TRY(read_number(r, &most));
    if (!take(r, '}')) return fault(r, MICA_E_FORMAT, "a '}' is missing");
    if (most >= 0 && most < least) return fault(r, MICA_E_FORMAT, "the end of a range is below its beginning");
  } else
    return MICA_OK;
  take(r, '?'); /* a lazy quantifier matches the same texts */
  if (r->nodes[*index].kind == BEGIN || r->nodes[*index].kind == END)
    return fault(r, MICA_E_FORMAT, "a quantifier cannot follow an assertion");
  if (more(r) && r->text[r->at] && strchr("*+?{", r->text[r->at]))
    return fault(r, MICA_E_FORMAT, "a quantifier cannot follow a quantifier");
  return add_node(r, (node){.kind = REPEAT, .first = *index, .least = least, .most = most}, index);
}

/* Makes a JOIN or a CHOICE of the children, or EMPTY without children. If `one`, there is only one child, and its index
 * is returned. */
static mica_status close_list(reader *r, node_kind kind, uint32_t first, bool one, uint32_t *index) {
  if (first == NONE) return add_node(r, (node){.kind = EMPTY}, index);
  if (one) return *index = first, MICA_OK;
  return add_node(r, (node){.kind = kind, .first = first}, index);
}

static mica_status read_join(reader *r, int depth, uint32_t *index) {
  uint32_t first = NONE, last = NONE;
  while (more(r) && !peek(r, '|') && !peek(r, ')')) {
    uint32_t atom;
    MICA_TRY(read_atom(r, depth, &atom));
    MICA_TRY(read_repeat(r, &atom));
    if (first == NONE)
      first = atom;
    else
      r->nodes[last].next = atom;
    last = atom;
  }
  return close_list(r, JOIN, first, false, index);
}

static mica_status read_choice(reader *r, int depth, uint32_t *index) {
  uint32_t first = NONE, last = NONE, join;
  do {
    MICA_TRY(read_join(r, depth, &join));
    if (first == NONE)
      first = join;
    else
      r->nodes[last].next = join;
    last = join;
  } while (take(r, '|'));
  return close_list(r, CHOICE, first, first == last, index);
}

/* --- paths --- */

static mica_status write_range(const reader *r, uint32_t index, uint32_t from, uint32_t to);

static mica_status write_repeat(const reader *r, const node *n, uint32_t from, uint32_t to) {
  mica__automaton *a = r->out;
  uint32_t at = mica__automaton_node(a);
  mica__automaton_empty(a, from, at);
  for (int32_t i = 0; i < n->least && a->status == MICA_OK; i++) {
    const uint32_t next = mica__automaton_node(a);
    MICA_TRY(write_range(r, n->first, at, next));
    at = next;
  }
  if (n->most < 0) {
    const uint32_t back = mica__automaton_node(a);
    MICA_TRY(write_range(r, n->first, at, back));
    mica__automaton_empty(a, back, at);
  }
  for (int32_t i = n->least; i < n->most && a->status == MICA_OK; i++) {
    const uint32_t next = mica__automaton_node(a);
    MICA_TRY(write_range(r, n->first, at, next));
    mica__automaton_empty(a, at, to);
    at = next;
  }
  mica__automaton_empty(a, at, to);
  return a->status;
}

static mica_status write_range(const reader *r, uint32_t index, uint32_t from, uint32_t to) {
  const node *n = &r->nodes[index];
  mica__automaton *a = r->out;
  switch (n->kind) {
  case EMPTY: mica__automaton_empty(a, from, to); break;
  case SET: mica__language_characters(a, r->ranges + n->set_at, n->set_count, from, to); break;
  case BEGIN:
  case END:
    return mica__fail(MICA_E_UNSUPPORTED, "^ and $ are supported only at the ends of a pattern or of its alternatives");
  case CHOICE:
    for (uint32_t i = n->first; i != NONE; i = r->nodes[i].next) MICA_TRY(write_range(r, i, from, to));
    break;
  case JOIN:
    for (uint32_t i = n->first; i != NONE; i = r->nodes[i].next) {
      const uint32_t next = r->nodes[i].next == NONE ? to : mica__automaton_node(a);
      MICA_TRY(write_range(r, i, from, next));
      from = next;
    }
    break;
  case REPEAT: return write_repeat(r, n, from, to);
  }
  return a->status;
}

/* Writes one branch of the outermost choice. Any text may come before the branch unless the branch begins with ^, and
 * after it unless the branch ends with $. With `whole`, the branch must match the whole text. */
static mica_status write_branch(const reader *r, uint32_t index, bool whole) {
  static const mica__characters all = {0, LAST};
  const mica__grammar_rule rule = r->out->rules[0];
  mica__automaton *a = r->out;
  uint32_t from = mica__automaton_node(a), i = r->nodes[index].kind == JOIN ? r->nodes[index].first : index;
  bool bound = whole;
  mica__automaton_empty(a, rule.start, from);
  for (; i != NONE && r->nodes[i].kind == BEGIN; i = r->nodes[i].next) bound = true;
  if (!bound) mica__language_characters(a, &all, 1, from, from);
  bound = whole;
  for (; i != NONE && r->nodes[i].kind != END; i = r->nodes[index].kind == JOIN ? r->nodes[i].next : NONE) {
    const uint32_t next = mica__automaton_node(a);
    MICA_TRY(write_range(r, i, from, next));
    from = next;
  }
  for (; i != NONE && r->nodes[i].kind == END; i = r->nodes[i].next) bound = true;
  if (i != NONE) return write_range(r, index, from, from); /* fails, because ^ or $ is in the middle of the branch */
  if (!bound) mica__language_characters(a, &all, 1, from, from);
  mica__automaton_empty(a, from, rule.end);
  return a->status;
}

static mica_status read_pattern(reader *r, bool whole) {
  uint32_t root;
  const size_t valid = mica__utf8_prefix(r->text, r->bytes);
  if (valid < r->bytes) return mica__fail(MICA_E_FORMAT, "byte %zu of the pattern is not UTF-8", valid);
  MICA_TRY(read_choice(r, 0, &root));
  if (more(r)) return fault(r, MICA_E_FORMAT, "a ')' has no '(' before it");
  mica__automaton_rule(r->out);
  MICA_TRY(r->out->status);
  if (r->nodes[root].kind != CHOICE) return write_branch(r, root, whole);
  for (uint32_t i = r->nodes[root].first; i != NONE; i = r->nodes[i].next) MICA_TRY(write_branch(r, i, whole));
  return r->out->status;
}

mica_status mica__language_regex(const char *pattern, size_t bytes, bool whole, mica__automaton *out) {
  reader r = {.text = pattern, .bytes = bytes, .out = out};
  const mica_status status = read_pattern(&r, whole);
  free(r.nodes);
  free(r.ranges);
  return status;
}
