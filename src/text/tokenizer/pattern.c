/* Patterns: literals, and regular expressions by PCRE2. */
#include "text/tokenizer/pieces.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

#if MICA_WITH_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

struct mica__pattern {
  char *literal; /* NULL: `code` is used */
  size_t length;
  void *code;
};

#if MICA_WITH_PCRE2

/* Limits of patterns from files: steps and memory of one search, and nesting and length of a pattern. A usual pattern
 * takes one or two steps per byte that it matches. */
#define MOST_STEPS 10000000
#define STEPS_TO_BEGIN 10000
#define STEPS_A_BYTE 16
#define MOST_KIBIBYTES 65536
#define MOST_NESTING 200
#define LONGEST_PATTERN 65536

/* The characters of \s and \w in Oniguruma, as the contents of a bracket. These classes mean something else in
 * PCRE2. */
#define SPACES "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define WORDS                                                                                                          \
  "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}"   \
  "\\x{1f170}-\\x{1f189}"

/* Rewrites a pattern for PCRE2: replaces \s, \w, \h and their complements. */
static void translate(const char *text, mica__text *out) {
  static const struct rule {
    char letter;
    const char *inside;
  } rules[] = {{'s', SPACES}, {'w', WORDS}, {'h', "0-9a-fA-F"}};
  bool bracket = false;
  for (const char *c = text; *c; c++) {
    if (*c == '\\' && c[1]) {
      const struct rule *rule = NULL;
      const bool upper = c[1] >= 'A' && c[1] <= 'Z';
      for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if ((c[1] | 0x20) == rules[i].letter && !(bracket && upper)) rule = &rules[i];
      if (!rule)
        mica__text_add_bytes(out, c, 2);
      else if (bracket)
        mica__text_add(out, rule->inside);
      else
        mica__text_addf(out, "[%s%s]", upper ? "^" : "", rule->inside);
      c++;
      continue;
    }
    if (*c == '[' && !bracket) {
      bracket = true;
      mica__text_add_bytes(out, c, 1);
      if (c[1] == '^') mica__text_add_bytes(out, ++c, 1);
      if (c[1] == ']') mica__text_add_bytes(out, ++c, 1);
      continue;
    }
    if (*c == ']') bracket = false;
    mica__text_add_bytes(out, c, 1);
  }
}

static mica_status compile(const char *text, void **out) {
  mica__text spelled = {0};
  int error = 0;
  PCRE2_SIZE at = 0;
  if (strlen(text) > LONGEST_PATTERN)
    return mica__fail(MICA_E_FORMAT, "a pattern has %zu bytes, but may have at most %d", strlen(text), LONGEST_PATTERN);
  translate(text, &spelled);
  pcre2_compile_context *context = pcre2_compile_context_create(NULL);
  if (spelled.failed || !context) {
    mica__text_free(&spelled);
    pcre2_compile_context_free(context);
    return mica__fail_nomem("a pattern");
  }
  pcre2_set_parens_nest_limit(context, MOST_NESTING);
  pcre2_code *code = pcre2_compile((PCRE2_SPTR)spelled.data, spelled.length,
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, context);
  pcre2_compile_context_free(context);
  mica__text_free(&spelled);
  if (!code) {
    PCRE2_UCHAR why[128];
    pcre2_get_error_message(error, why, sizeof why);
    return mica__fail(MICA_E_FORMAT, "the pattern '%.100s' cannot be compiled: %s", text, (const char *)why);
  }
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* a failure only makes searches slower */
  *out = code;
  return MICA_OK;
}

typedef struct search_data {
  pcre2_match_data *match;
  pcre2_match_context *context;
} search_data;

void mica__search_free(mica__search *search) {
  search_data *data = search->data;
  if (!data) return;
  pcre2_match_data_free(data->match);
  pcre2_match_context_free(data->context);
  free(data);
  search->data = NULL;
}

static mica_status prepare(mica__search *search) {
  if (search->data) return MICA_OK;
  search_data *data = calloc(1, sizeof *data);
  if (data) {
    data->match = pcre2_match_data_create(1, NULL);
    data->context = pcre2_match_context_create(NULL);
    search->data = data;
  }
  if (!data || !data->match || !data->context) {
    mica__search_free(search);
    return mica__fail_nomem("a pattern");
  }
  pcre2_set_heap_limit(data->context, MOST_KIBIBYTES);
  return MICA_OK;
}

static mica_status find_code(const mica__pattern *pattern, mica__search *search, const char *text, size_t bytes,
                             size_t from, size_t *begin, size_t *end) {
  MICA_TRY(prepare(search));
  const search_data *data = search->data;
  const size_t steps = STEPS_TO_BEGIN + STEPS_A_BYTE * (bytes - from);
  pcre2_set_match_limit(data->context, steps < MOST_STEPS ? (uint32_t)steps : MOST_STEPS);
  int got = pcre2_match(pattern->code, (PCRE2_SPTR)text, bytes, from, PCRE2_NO_UTF_CHECK, data->match, data->context);
  if (got == PCRE2_ERROR_JIT_STACKLIMIT)
    got = pcre2_match(pattern->code, (PCRE2_SPTR)text, bytes, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data->match,
                      data->context);
  if (got == PCRE2_ERROR_NOMATCH) return *begin = *end = bytes, MICA_OK;
  if (got < 0) {
    PCRE2_UCHAR why[128];
    pcre2_get_error_message(got, why, sizeof why);
    return mica__fail(got == PCRE2_ERROR_NOMEMORY ? MICA_E_NOMEM : MICA_E_FORMAT,
                      "a pattern of the tokeniser fails at byte %zu of a text: %s", from, (const char *)why);
  }
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(data->match);
  *begin = range[0];
  /* A \K in a lookahead can set the beginning after the end, and a \K in a lookbehind can set it before `from`. */
  *end = range[1] < range[0] ? range[0] : range[1];
  if (*begin < from) *begin = from;
  if (*end < *begin) *end = *begin;
  return MICA_OK;
}

static void free_code(void *code) { pcre2_code_free(code); }

#else

static mica_status compile(const char *text, void **out) {
  (void)out;
  (void)text;
  return mica__fail_lacks("a tokeniser with a pattern", "PCRE2");
}
static mica_status find_code(const mica__pattern *pattern, mica__search *search, const char *text, size_t bytes,
                             size_t from, size_t *begin, size_t *end) {
  (void)pattern, (void)search, (void)text, (void)from;
  return *begin = *end = bytes, MICA_OK;
}
static void free_code(void *code) { (void)code; }
void mica__search_free(mica__search *search) { (void)search; }

#endif

mica_status mica__pattern_create(const char *text, bool literal, mica__pattern **out) {
  if (literal && !*text) return mica__fail(MICA_E_FORMAT, "the pattern or delimiter must not be empty");
  mica__pattern *pattern = calloc(1, sizeof *pattern);
  if (!pattern) return mica__fail_nomem("a pattern");
  mica_status status = MICA_OK;
  pattern->length = strlen(text);
  if (!literal)
    status = compile(text, &pattern->code);
  else if (!(pattern->literal = mica__strdup(text)))
    status = mica__fail_nomem("a pattern");
  if (status != MICA_OK)
    mica__pattern_free(pattern);
  else
    *out = pattern;
  return status;
}

void mica__pattern_free(mica__pattern *pattern) {
  if (!pattern) return;
  if (pattern->code) free_code(pattern->code);
  free(pattern->literal);
  free(pattern);
}

mica_status mica__pattern_find(const mica__pattern *pattern, mica__search *search, const char *text, size_t bytes,
                               size_t from, size_t *begin, size_t *end) {
  if (!pattern->literal) return find_code(pattern, search, text, bytes, from, begin, end);
  *begin = *end = bytes;
  for (size_t at = from; at + pattern->length <= bytes; at++) {
    const char *first = memchr(text + at, pattern->literal[0], bytes - at - pattern->length + 1);
    if (!first) break;
    at = (size_t)(first - text);
    if (memcmp(first, pattern->literal, pattern->length) != 0) continue;
    *begin = at;
    *end = at + pattern->length;
    break;
  }
  return MICA_OK;
}

mica_status mica__pattern_replace(const mica__pattern *pattern, mica__search *search, const char *text, size_t bytes,
                                  const char *content, size_t most, mica__text *out) {
  size_t done = 0, from = 0, begin = 0, end = 0;
  while (from <= bytes) {
    MICA_TRY(mica__pattern_find(pattern, search, text, bytes, from, &begin, &end));
    if (begin >= bytes) break;
    mica__text_add_bytes(out, text + done, begin - done);
    mica__text_add(out, content);
    if (out->length > most)
      return mica__fail(MICA_E_FORMAT, "the text grows beyond %zu bytes when a pattern is replaced", most);
    done = from = end;
    if (begin == end) {
      size_t n;
      mica__utf8_at(text + end, &n);
      from += n;
    }
  }
  mica__text_add_bytes(out, text + done, bytes - done);
  return MICA_OK;
}
