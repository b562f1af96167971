/* Pre-tokenisers: cut a text into the pieces that the model sees. */
#include "text/tokenizer/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* GPT-2's pattern. */
#define BYTE_LEVEL_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define WHITESPACE_PATTERN "\\w+|[^\\w\\s]+"
#define METASPACE_MARK "\xe2\x96\x81" /* U+2581 */

static int32_t rest_id(size_t begin, int32_t id) { return begin == 0 ? id : MICA__PIECE_TEXT; }

/* Puts a space before the text if the step says so, cuts it by the pattern, and replaces bytes by characters. A piece
 * with the id MICA__PIECE_RAW is neither given a space nor cut. */
static mica_status run_byte_level(const mica__cut_step *step, mica__search *search, const char *text, size_t bytes,
                                  int32_t id, mica__pieces *out) {
  const bool raw = id == MICA__PIECE_RAW;
  bool prefix = step->prefix && !raw && text[0] != ' ';
  size_t from = 0, begin = 0, end = 0;
  mica__text spaced = {0};
  mica_status status = MICA_OK;
  if (prefix && step->pattern) { /* the pattern sees the space */
    mica__text_add_bytes(&spaced, " ", 1);
    mica__text_add_bytes(&spaced, text, bytes);
    MICA_TRY_GOTO(mica__text_status(&spaced), done);
    text = spaced.data;
    bytes = spaced.length;
    prefix = false;
  }
  while (from < bytes) {
    begin = from;
    end = bytes;
    if (step->pattern && !raw)
      MICA_TRY_GOTO(mica__pattern_find(step->pattern, search, text, bytes, from, &begin, &end), done);
    if (begin > from) /* bytes that no match covers */
      end = begin, begin = from;
    const size_t at = out->text.length;
    if (prefix) mica__add_byte_characters(&out->text, " ", 1);
    mica__add_byte_characters(&out->text, text + begin, end - begin);
    MICA_TRY_GOTO(mica__pieces_close(out, at, rest_id(begin, raw ? MICA__PIECE_TEXT : id)), done);
    from = end;
  }
done:
  mica__text_free(&spaced);
  return status;
}

static mica_status run_bert(const char *text, size_t bytes, int32_t id, mica__pieces *out) {
  size_t begin = 0;
  for (size_t at = 0, n; at < bytes; at += n) {
    const uint32_t c = mica__utf8_at(text + at, &n);
    const bool space = mica__is_space(c), alone = mica__is_punctuation(c);
    if (!space && !alone) continue;
    MICA_TRY(mica__pieces_add(out, text + begin, at - begin, rest_id(begin, id)));
    if (!space) MICA_TRY(mica__pieces_add(out, text + at, n, rest_id(at, id)));
    begin = at + n;
  }
  return mica__pieces_add(out, text + begin, bytes - begin, rest_id(begin, id));
}

/* Turns spaces into marks and puts a mark before the text if the step's scheme says so. If the step has a pattern, cuts
 * before each mark. */
static mica_status run_metaspace(const mica__cut_step *step, mica__search *search, const char *text, size_t bytes,
                                 int32_t id, mica__pieces *out) {
  const size_t mark = strlen(step->mark);
  mica__text marked = {0};
  const bool prepends =
      step->scheme == MICA__PREPEND_ALWAYS || (step->scheme == MICA__PREPEND_FIRST && id == MICA__PIECE_FIRST);
  if (prepends && text[0] != ' ' && (bytes < mark || memcmp(text, step->mark, mark)))
    mica__text_add_bytes(&marked, step->mark, mark);
  for (size_t at = 0; at < bytes;) {
    const char *space = memchr(text + at, ' ', bytes - at);
    const size_t end = space ? (size_t)(space - text) : bytes;
    mica__text_add_bytes(&marked, text + at, end - at);
    if (space) mica__text_add_bytes(&marked, step->mark, mark);
    at = end + (space != NULL);
  }
  mica_status status = mica__text_status(&marked);
  mica__cutter cutter = {.out = out, .text = marked.data, .behaviour = MICA__MERGED_WITH_NEXT, .id = id};
  if (status == MICA_OK && step->pattern)
    status = mica__cut_pattern(&cutter, step->pattern, search, marked.length, false);
  else if (status == MICA_OK)
    status = mica__pieces_add(out, marked.data, marked.length, id);
  mica__text_free(&marked);
  return status;
}

static mica_status run_piece(const mica__cut_step *step, mica__search *search, const char *text, size_t bytes,
                             int32_t id, mica__pieces *out) {
  mica__cutter cutter = {.out = out, .text = text, .behaviour = step->behaviour, .id = id};
  if (id == MICA__PIECE_RAW && step->kind != MICA__CUT_BYTE_LEVEL) return mica__pieces_add(out, text, bytes, id);
  switch (step->kind) {
  case MICA__CUT_BYTE_LEVEL: return run_byte_level(step, search, text, bytes, id, out);
  case MICA__CUT_BERT: return run_bert(text, bytes, id, out);
  case MICA__CUT_CHARACTERS: return mica__cut_characters(&cutter, bytes, step->is);
  case MICA__CUT_PATTERN: return mica__cut_pattern(&cutter, step->pattern, search, bytes, step->invert);
  case MICA__CUT_METASPACE: break;
  }
  return run_metaspace(step, search, text, bytes, id, out);
}

mica_status mica__cuts_run(const mica__cut_step *steps, size_t count, mica__search *search, mica__pieces pieces[2],
                           size_t from, const mica__pieces **out) {
  *out = &pieces[from];
  for (size_t i = 0; i < count; i++) {
    const mica__pieces *in = &pieces[(from + i) % 2];
    mica__pieces *to = &pieces[(from + i + 1) % 2];
    mica__pieces_clear(to);
    for (size_t k = 0; k < in->count; k++) {
      const mica__piece *piece = &in->list[k];
      const char *text = in->text.data + piece->begin;
      if (piece->id >= 0)
        MICA_TRY(mica__pieces_add(to, "", 0, piece->id));
      else
        MICA_TRY(run_piece(&steps[i], search, text, piece->length, piece->id, to));
    }
    *out = to;
  }
  return MICA_OK;
}

/* --- reading --- */

void mica__cuts_free(mica__cut_step *steps, size_t count) {
  for (size_t i = 0; i < count; i++) {
    mica__pattern_free(steps[i].pattern);
    free(steps[i].mark);
  }
  free(steps);
}

static mica_status parse_behaviour(const cJSON *object, mica__behaviour *behaviour) {
  static const char *const names[] = {"Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext"};
  const char *name = names[*behaviour];
  MICA_TRY(mica__json_text(object, "behavior", false, &name));
  for (int i = 0; i < 5; i++)
    if (!strcmp(name, names[i])) return *behaviour = (mica__behaviour)i, MICA_OK;
  return mica__fail(MICA_E_FORMAT, "behavior is '%.40s', but must be %s, %s, %s, %s or %s", name, names[0], names[1],
                    names[2], names[3], names[4]);
}

static mica_status parse_byte_level(const cJSON *object, mica__cut_step *step) {
  bool pattern = true;
  step->prefix = true;
  MICA_TRY(mica__json_bool(object, "add_prefix_space", &step->prefix));
  MICA_TRY(mica__json_bool(object, "use_regex", &pattern));
  return pattern ? mica__pattern_create(BYTE_LEVEL_PATTERN, false, &step->pattern) : MICA_OK;
}

static mica_status parse_bert(const cJSON *object, mica__cut_step *step) {
  (void)object, (void)step;
  return mica__unicode_need("it");
}

static mica_status parse_whitespace(const cJSON *object, mica__cut_step *step) {
  (void)object;
  step->behaviour = MICA__REMOVED;
  step->invert = true;
  return mica__pattern_create(WHITESPACE_PATTERN, false, &step->pattern);
}

static mica_status parse_whitespace_split(const cJSON *object, mica__cut_step *step) {
  (void)object;
  step->behaviour = MICA__REMOVED;
  step->is = mica__is_space;
  return MICA_OK;
}

static mica_status parse_punctuation(const cJSON *object, mica__cut_step *step) {
  step->is = mica__is_punctuation;
  MICA_TRY(mica__unicode_need("it"));
  return parse_behaviour(object, &step->behaviour);
}

static mica_status parse_digits(const cJSON *object, mica__cut_step *step) {
  bool each = false;
  step->is = mica__is_numeric;
  MICA_TRY(mica__unicode_need("it"));
  MICA_TRY(mica__json_bool(object, "individual_digits", &each));
  step->behaviour = each ? MICA__ISOLATED : MICA__CONTIGUOUS;
  return MICA_OK;
}

static mica_status parse_split(const cJSON *object, mica__cut_step *step) {
  MICA_TRY(mica__json_pattern(object, &step->pattern));
  MICA_TRY(mica__json_bool(object, "invert", &step->invert));
  return parse_behaviour(object, &step->behaviour);
}

static mica_status parse_delimiter(const cJSON *object, mica__cut_step *step) {
  const char *delimiter = NULL;
  MICA_TRY(mica__json_text(object, "delimiter", true, &delimiter));
  step->behaviour = MICA__REMOVED;
  return mica__pattern_create(delimiter, true, &step->pattern);
}

static mica_status parse_metaspace(const cJSON *object, mica__cut_step *step) {
  static const char *const schemes[] = {"always", "first", "never"};
  const char *mark = METASPACE_MARK, *scheme = NULL;
  bool split = true, prefix = true;
  MICA_TRY(mica__json_text(object, "replacement", false, &mark));
  MICA_TRY(mica__json_text(object, "prepend_scheme", false, &scheme));
  MICA_TRY(mica__json_bool(object, "split", &split));
  MICA_TRY(mica__json_bool(object, "add_prefix_space", &prefix)); /* older files */
  if (!scheme) scheme = prefix ? "always" : "never";
  int index = 0;
  while (index < 3 && strcmp(schemes[index], scheme) != 0) index++;
  if (index == 3)
    return mica__fail(MICA_E_FORMAT, "prepend_scheme is '%.40s', but must be always, first or never", scheme);
  step->scheme = index == 0 ? MICA__PREPEND_ALWAYS : index == 1 ? MICA__PREPEND_FIRST : MICA__PREPEND_NEVER;
  size_t n = 0;
  if (*mark) mica__utf8_at(mark, &n);
  if (n == 0 || mark[n]) return mica__fail(MICA_E_FORMAT, "replacement is '%.40s', but must be one character", mark);
  step->mark = mica__strdup(mark);
  if (!step->mark) return mica__fail_nomem("a tokeniser");
  return split ? mica__pattern_create(mark, true, &step->pattern) : MICA_OK;
}

static const struct row {
  const char *type;
  mica__cut_kind kind;
  mica_status (*parse)(const cJSON *object, mica__cut_step *step);
} rows[] = {
    {"ByteLevel", MICA__CUT_BYTE_LEVEL, parse_byte_level},
    {"BertPreTokenizer", MICA__CUT_BERT, parse_bert},
    {"Whitespace", MICA__CUT_PATTERN, parse_whitespace},
    {"WhitespaceSplit", MICA__CUT_CHARACTERS, parse_whitespace_split},
    {"Punctuation", MICA__CUT_CHARACTERS, parse_punctuation},
    {"Digits", MICA__CUT_CHARACTERS, parse_digits},
    {"Split", MICA__CUT_PATTERN, parse_split},
    {"CharDelimiterSplit", MICA__CUT_PATTERN, parse_delimiter},
    {"Metaspace", MICA__CUT_METASPACE, parse_metaspace},
};

typedef struct list {
  mica__cut_step *steps;
  size_t count;
} list;

static mica_status parse_step(void *user, const cJSON *object, const char *type) {
  list *all = user;
  const struct row *row = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].type, type)) row = &rows[i];
  if (!row) return mica__fail(MICA_E_UNSUPPORTED, "this type of pre-tokeniser is not supported");
  mica__cut_step *grown = realloc(all->steps, (all->count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a tokeniser");
  all->steps = grown;
  mica__cut_step *step = &grown[all->count++];
  *step = (mica__cut_step){.kind = row->kind};
  return row->parse(object, step);
}

mica_status mica__cuts_parse(const cJSON *object, mica__cut_step **steps, size_t *count) {
  list all = {0};
  const mica_status status = mica__json_steps(object, "pre_tokenizer", "pretokenizers", parse_step, &all);
  *steps = all.steps;
  *count = all.count;
  return status;
}
