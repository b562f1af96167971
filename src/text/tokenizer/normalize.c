/* Normalisers: steps that change a text before it is cut. */
#include "text/tokenizer/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* --- bytes as characters (GPT-2): printable ones stay, others become U+0100 and following --- */

static bool stands_for_itself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* The character for a byte. Bytes that do not stand for themselves are numbered from U+0100 on: 33 bytes before '!', 34
 * between '~' and U+00A1, then U+00AD. */
static uint32_t character_of_byte(uint8_t byte) {
  if (stands_for_itself(byte)) return byte;
  if (byte < 33) return 0x100u + byte;
  return byte < 161 ? 0x100u + 33u + (byte - 127u) : 0x143u;
}

int mica__byte_of_character(uint32_t c) {
  if (c < 0x100) return stands_for_itself((int)c) ? (int)c : -1;
  if (c < 0x121) return (int)(c - 0x100);
  if (c < 0x143) return (int)(c - 0x121 + 127);
  return c == 0x143 ? 173 : -1;
}

void mica__add_byte_characters(mica__text *out, const char *bytes, size_t count) {
  char some[512];
  for (size_t i = 0; i < count;) {
    size_t n = 0;
    for (; i < count && n + 2 <= sizeof some; i++) {
      const uint32_t c = character_of_byte((uint8_t)bytes[i]);
      if (c < 0x80) {
        some[n++] = (char)c;
      } else {
        some[n++] = (char)(0xc0 | c >> 6);
        some[n++] = (char)(0x80 | (c & 0x3f));
      }
    }
    mica__text_add_bytes(out, some, n);
  }
}

/* --- steps --- */

static bool is_chinese(uint32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) ||
         (c >= 0x2f800 && c <= 0x2fa1f);
}

/* Drops control characters and U+FFFD and turns white space into ' ' (`clean`), and puts spaces around Chinese
 * characters (`chinese`). */
static void run_bert_characters(const mica__normal *step, const char *text, size_t bytes, mica__text *out) {
  for (size_t at = 0, n; at < bytes; at += n) {
    uint32_t c = mica__utf8_at(text + at, &n);
    if (step->clean) {
      if (c == '\t' || c == '\n' || c == '\r')
        c = ' ';
      else if (c == 0 || c == 0xfffd || mica__is_other(c))
        continue;
      else if (mica__is_space(c))
        c = ' ';
    }
    const bool chinese = step->chinese && is_chinese(c);
    if (chinese) mica__text_add_bytes(out, " ", 1);
    mica__utf8_add(out, c);
    if (chinese) mica__text_add_bytes(out, " ", 1);
  }
}

static void run_lower(const char *text, size_t bytes, mica__text *out) {
  for (size_t at = 0, n; at < bytes; at += n) mica__add_lower(out, mica__utf8_at(text + at, &n));
}

static void run_strip_marks(const char *text, size_t bytes, bool all, mica__text *out) {
  for (size_t at = 0, n; at < bytes; at += n)
    if (!mica__is_mark(mica__utf8_at(text + at, &n), all)) mica__text_add_bytes(out, text + at, n);
}

static mica_status run_bert(const mica__normal *step, const char *text, size_t bytes, mica__text *out) {
  mica__text some = {0}, other = {0};
  mica_status status = MICA_OK;
  run_bert_characters(step, text, bytes, step->accents || step->lower ? &some : out);
  if (step->accents) {
    MICA_TRY_GOTO(mica__add_normal(&other, some.data ? some.data : "", some.length, MICA__NFD), done);
    some.length = 0;
    run_strip_marks(other.data ? other.data : "", other.length, false, step->lower ? &some : out);
  }
  if (step->lower) run_lower(some.data ? some.data : "", some.length, out);
  if (some.failed || other.failed) status = mica__fail_nomem("a text");
done:
  mica__text_free(&some);
  mica__text_free(&other);
  return status;
}

static void run_nmt(const char *text, size_t bytes, mica__text *out) {
  for (size_t at = 0, n; at < bytes; at += n) {
    const uint32_t c = mica__utf8_at(text + at, &n);
    if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f) continue;
    const bool blank = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
                       c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
    mica__text_add_bytes(out, blank ? " " : text + at, blank ? 1 : n);
  }
}

static void run_strip(const mica__normal *step, const char *text, size_t bytes, mica__text *out) {
  size_t begin = 0, n;
  while (step->left && begin < bytes && mica__is_space(mica__utf8_at(text + begin, &n))) begin += n;
  while (step->right && bytes > begin) {
    const size_t last = mica__utf8_last(text, bytes);
    if (!mica__is_space(mica__utf8_at(text + last, &n))) break;
    bytes = last;
  }
  mica__text_add_bytes(out, text + begin, bytes - begin);
}

static mica_status run_step(const mica__normal *step, mica__search *search, const char *text, size_t bytes, size_t most,
                            mica__text *out) {
  switch (step->kind) {
  case MICA__NORMAL_FORM: return mica__add_normal(out, text, bytes, (mica__form)step->form);
  case MICA__NORMAL_LOWERCASE: run_lower(text, bytes, out); break;
  case MICA__NORMAL_STRIP: run_strip(step, text, bytes, out); break;
  case MICA__NORMAL_STRIP_ACCENTS: run_strip_marks(text, bytes, true, out); break;
  case MICA__NORMAL_BERT: return run_bert(step, text, bytes, out);
  case MICA__NORMAL_NMT: run_nmt(text, bytes, out); break;
  case MICA__NORMAL_REPLACE: return mica__pattern_replace(step->pattern, search, text, bytes, step->text, most, out);
  case MICA__NORMAL_PREPEND:
    if (bytes) mica__text_add(out, step->text);
    mica__text_add_bytes(out, text, bytes);
    break;
  case MICA__NORMAL_PRECOMPILED: mica__charsmap_run(step->charsmap, text, bytes, out); break;
  case MICA__NORMAL_BYTES: mica__add_byte_characters(out, text, bytes); break;
  }
  return MICA_OK;
}

mica_status mica__normals_run(const mica__normal *steps, size_t count, mica__search *search, const char *text,
                              size_t bytes, mica__text buffers[2], const mica__text **out) {
  const size_t most = mica__most_grown(bytes);
  for (size_t i = 0; i < count; i++) {
    mica__text *to = &buffers[i % 2];
    to->length = 0;
    to->failed = false;
    mica__text_add_bytes(to, "", 0); /* allocates memory even for an empty text */
    MICA_TRY(run_step(&steps[i], search, text, bytes, most, to));
    MICA_TRY(mica__text_status(to));
    if (to->length > most)
      return mica__fail(MICA_E_FORMAT, "the text grows beyond %zu bytes when it is normalised", most);
    text = to->data;
    bytes = to->length;
    *out = to;
  }
  return MICA_OK;
}

/* --- reading --- */

void mica__normals_free(mica__normal *steps, size_t count) {
  for (size_t i = 0; i < count; i++) {
    mica__pattern_free(steps[i].pattern);
    mica__charsmap_free(steps[i].charsmap);
    free(steps[i].text);
  }
  free(steps);
}

typedef struct list {
  mica__normal *steps;
  size_t count;
} list;

/* Copies the text under a key. */
static mica_status copy_text(const cJSON *object, const char *key, char **copy) {
  const char *text = NULL;
  MICA_TRY(mica__json_text(object, key, true, &text));
  *copy = mica__strdup(text);
  return *copy ? MICA_OK : mica__fail_nomem("a tokeniser");
}

static mica_status parse_bert(const cJSON *object, mica__normal *step) {
  step->clean = step->chinese = step->lower = true;
  MICA_TRY(mica__json_bool(object, "clean_text", &step->clean));
  MICA_TRY(mica__json_bool(object, "handle_chinese_chars", &step->chinese));
  MICA_TRY(mica__json_bool(object, "lowercase", &step->lower));
  step->accents = step->lower;
  return mica__json_bool(object, "strip_accents", &step->accents);
}

static mica_status parse_strip(const cJSON *object, mica__normal *step) {
  step->left = step->right = true;
  MICA_TRY(mica__json_bool(object, "strip_left", &step->left));
  return mica__json_bool(object, "strip_right", &step->right);
}

mica_status mica__json_pattern(const cJSON *object, mica__pattern **pattern) {
  const cJSON *either = mica__json_member(object, "pattern");
  const char *text = NULL;
  MICA_TRY(mica__json_text(either, "String", false, &text));
  if (text) return mica__pattern_create(text, true, pattern);
  const mica_status status = mica__json_text(either, "Regex", true, &text);
  if (status != MICA_OK) return mica__fail_in(status, "pattern");
  return mica__pattern_create(text, false, pattern);
}

static mica_status parse_replace(const cJSON *object, mica__normal *step) {
  MICA_TRY(mica__json_pattern(object, &step->pattern));
  return copy_text(object, "content", &step->text);
}

static mica_status parse_prepend(const cJSON *object, mica__normal *step) {
  return copy_text(object, "prepend", &step->text);
}

static mica_status parse_precompiled(const cJSON *object, mica__normal *step) {
  const char *text = NULL;
  MICA_TRY(mica__json_text(object, "precompiled_charsmap", true, &text));
  return mica__charsmap_create(text, &step->charsmap);
}

static const struct row {
  const char *type;
  mica__normal_kind kind;
  int form;
  bool tables; /* the step needs Unicode tables */
  mica_status (*parse)(const cJSON *object, mica__normal *step);
} rows[] = {
    {"NFC", MICA__NORMAL_FORM, MICA__NFC, true, NULL},
    {"NFD", MICA__NORMAL_FORM, MICA__NFD, true, NULL},
    {"NFKC", MICA__NORMAL_FORM, MICA__NFKC, true, NULL},
    {"NFKD", MICA__NORMAL_FORM, MICA__NFKD, true, NULL},
    {"Lowercase", MICA__NORMAL_LOWERCASE, 0, true, NULL},
    {"Strip", MICA__NORMAL_STRIP, 0, false, parse_strip},
    {"StripAccents", MICA__NORMAL_STRIP_ACCENTS, 0, true, NULL},
    {"BertNormalizer", MICA__NORMAL_BERT, 0, true, parse_bert},
    {"Nmt", MICA__NORMAL_NMT, 0, false, NULL},
    {"Replace", MICA__NORMAL_REPLACE, 0, false, parse_replace},
    {"Prepend", MICA__NORMAL_PREPEND, 0, false, parse_prepend},
    {"ByteLevel", MICA__NORMAL_BYTES, 0, false, NULL},
    {"Precompiled", MICA__NORMAL_PRECOMPILED, 0, true, parse_precompiled},
};

static mica_status parse_step(void *user, const cJSON *object, const char *type) {
  list *all = user;
  const struct row *row = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].type, type)) row = &rows[i];
  if (!row) return mica__fail(MICA_E_UNSUPPORTED, "this type of normaliser is not supported");
  if (row->tables) MICA_TRY(mica__unicode_need("it"));
  mica__normal *grown = realloc(all->steps, (all->count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a tokeniser");
  all->steps = grown;
  mica__normal *step = &grown[all->count++];
  *step = (mica__normal){.kind = row->kind, .form = row->form};
  return row->parse ? row->parse(object, step) : MICA_OK;
}

mica_status mica__normals_parse(const cJSON *object, mica__normal **steps, size_t *count) {
  list all = {0};
  const mica_status status = mica__json_steps(object, "normalizer", "normalizers", parse_step, &all);
  *steps = all.steps;
  *count = all.count;
  return status;
}
