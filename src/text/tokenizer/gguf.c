/* Tokenisers of GGUF files. Their keys are converted to a tokenizer.json, which is then opened; so one reader suffices.
 *
 *   gpt2   byte-level BPE with merges; the key "pre" names the pattern that cuts a text (pre.def)
 *   llama  SentencePiece's BPE: a pair is merged if it forms a token, the one with the best score first. If the file
 *          lacks merges, they are computed from the scores or, for Gemma, from the order of its tokens
 *   t5     Unigram with scores, and with a charsmap if the file has one
 *   bert   WordPiece: words begin with a mark; other pieces have no prefix "##" */
#include "base/utf8.h"
#include "text/tokenizer/tokenizer.h"

#include <inttypes.h>
#include <math.h>
#include <mica/gguf.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\xe2\x96\x81" /* U+2581, which means a space */
/* Merges are computed for tokens of at most this many bytes. Tokens of published models have up to 100. */
#define LONGEST_MERGED 256

/* Values of "tokenizer.ggml.token_type". */
enum { UNKNOWN_TOKEN = 2, CONTROL_TOKEN = 3, USER_TOKEN = 4 };

typedef struct vocabulary {
  const mica_gguf *file;
  const mica_gguf_value *tokens, *scores, *types, *merges;
  size_t count;
  bool gemma; /* runs of spaces mean runs of marks; merges are ordered by id */
  bool wordpiece, no_memory;
  mica__text json;
} vocabulary;

static const mica_gguf_value *key(const vocabulary *v, const char *name) {
  char whole[80] = "tokenizer.ggml.";
  strncat(whole, name, sizeof whole - 20);
  return mica_gguf_find(v->file, whole);
}

static bool flag(const vocabulary *v, const char *name, bool fallback) {
  const mica_gguf_value *value = key(v, name);
  return value ? mica_gguf_integer(value, 0) != 0 : fallback;
}

static bool is_text(mica_gguf_text text, const char *wanted) {
  return text.length == strlen(wanted) && !memcmp(text.bytes, wanted, text.length);
}

/* --- JSON --- */

static void add_json_text(mica__text *json, const char *text, size_t bytes) {
  size_t from = 0;
  mica__text_add_bytes(json, "\"", 1);
  for (size_t i = 0; i < bytes; i++) {
    const unsigned char c = (unsigned char)text[i];
    if (c >= ' ' && c != '"' && c != '\\') continue;
    mica__text_add_bytes(json, text + from, i - from);
    mica__text_addf(json, "\\u%04x", c);
    from = i + 1;
  }
  mica__text_add_bytes(json, text + from, bytes - from);
  mica__text_add_bytes(json, "\"", 1);
}

/* True for Gemma's runs of spaces, which become runs of marks. */
static bool is_run_of_spaces(const vocabulary *v, mica_gguf_text token) {
  bool spaces = v->gemma && token.length > 0;
  for (size_t i = 0; i < token.length && spaces; i++) spaces = token.bytes[i] == ' ';
  return spaces;
}

static bool is_word(mica_gguf_text token) {
  return token.length > sizeof MARK - 1 && !memcmp(token.bytes, MARK, sizeof MARK - 1);
}

/* True for tokens such as "[CLS]", which are stored unchanged. */
static bool is_bracketed(mica_gguf_text token) {
  return token.length > 1 && token.bytes[0] == '[' && token.bytes[token.length - 1] == ']';
}

/* Adds a piece in tokenizer.json's form: words without the mark, others with "##". */
static void add_piece(vocabulary *v, mica_gguf_text token) {
  mica__text piece = {0};
  const bool word = is_word(token);
  if (!word && !is_bracketed(token)) mica__text_add(&piece, "##");
  mica__text_add_bytes(&piece, token.bytes + (word ? sizeof MARK - 1 : 0), token.length - (word ? sizeof MARK - 1 : 0));
  if (mica__text_status(&piece) == MICA_OK)
    add_json_text(&v->json, piece.data, piece.length);
  else
    v->no_memory = true;
  mica__text_free(&piece);
}

static void add_token(vocabulary *v, size_t id) {
  const mica_gguf_text token = mica_gguf_text_at(v->tokens, id);
  if (v->wordpiece) {
    add_piece(v, token);
    return;
  }
  if (!is_run_of_spaces(v, token)) {
    add_json_text(&v->json, token.bytes, token.length);
    return;
  }
  mica__text_add(&v->json, "\"");
  for (size_t i = 0; i < token.length; i++) mica__text_add(&v->json, MARK);
  mica__text_add(&v->json, "\"");
}

static void add_added_tokens(vocabulary *v) {
  bool more = false;
  mica__text_add(&v->json, "{\"added_tokens\":[");
  for (size_t id = 0; id < v->count; id++) {
    const int64_t type = mica_gguf_integer(v->types, id);
    const mica_gguf_text token = mica_gguf_text_at(v->tokens, id);
    if ((type != CONTROL_TOKEN && type != USER_TOKEN) || token.length == 0 || is_run_of_spaces(v, token)) continue;
    mica__text_addf(&v->json, "%s{\"id\":%zu,\"content\":", more ? "," : "", id);
    add_token(v, id);
    mica__text_addf(&v->json, ",\"normalized\":false,\"special\":%s}", type == CONTROL_TOKEN ? "true" : "false");
    more = true;
  }
  mica__text_add(&v->json, "]");
}

static void add_words(vocabulary *v) {
  mica__text_add(&v->json, "\"vocab\":{");
  for (size_t id = 0; id < v->count; id++) {
    if (id > 0) mica__text_add_bytes(&v->json, ",", 1);
    add_token(v, id);
    mica__text_addf(&v->json, ":%zu", id);
  }
  mica__text_add(&v->json, "}");
}

/* Reads a key such as "bos_token_id"; *id is -1 if the file lacks it. MICA_E_FORMAT: no token has this id. */
static mica_status special_id(const vocabulary *v, const char *name, int64_t *id) {
  const mica_gguf_value *value = key(v, name);
  *id = value ? mica_gguf_integer(value, 0) : -1;
  if (value && (*id < 0 || (uint64_t)*id >= v->count))
    return mica__fail(MICA_E_FORMAT,
                      "tokenizer.ggml.%s is %" PRId64
                      ", but must be at least 0 and less than the number of tokens, %zu",
                      name, *id, v->count);
  return MICA_OK;
}

static void add_special(vocabulary *v, int64_t id) {
  if (id < 0) return;
  mica__text_add(&v->json, "{\"SpecialToken\":{\"type_id\":0,\"id\":");
  add_token(v, (size_t)id);
  mica__text_add(&v->json, "}}");
}

static void add_sequence(vocabulary *v, int64_t bos, int64_t eos, const char *name, int type) {
  add_special(v, bos);
  mica__text_addf(&v->json, "%s{\"Sequence\":{\"id\":\"%s\",\"type_id\":%d}}%s", bos >= 0 ? "," : "", name, type,
                  eos >= 0 ? "," : "");
  add_special(v, eos);
}

/* Adds the templates that put the special token ids[0] before a text and ids[1] after it; -1: no token. For WordPiece,
 * the second of two texts has no token before it. */
static void add_template(vocabulary *v, const int64_t ids[2]) {
  mica__text_add(&v->json, ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[");
  add_sequence(v, ids[0], ids[1], "A", 0);
  mica__text_add(&v->json, "],\"pair\":[");
  add_sequence(v, ids[0], ids[1], "A", 0);
  mica__text_add(&v->json, ",");
  add_sequence(v, v->wordpiece ? -1 : ids[0], ids[1], "B", 1);
  mica__text_add(&v->json, "],\"special_tokens\":{");
  for (int i = 0, more = 0; i < 2; i++) {
    if (ids[i] < 0 || (i == 1 && ids[0] == ids[1])) continue;
    if (more) mica__text_add(&v->json, ",");
    add_token(v, (size_t)ids[i]);
    mica__text_add(&v->json, ":{\"id\":");
    add_token(v, (size_t)ids[i]);
    mica__text_addf(&v->json, ",\"ids\":[%" PRId64 "],\"tokens\":[", ids[i]);
    add_token(v, (size_t)ids[i]);
    mica__text_add(&v->json, "]}");
    more = 1;
  }
  mica__text_add(&v->json, "}}");
}

static mica_status add_frame(vocabulary *v, bool bos_by_default, bool eos_by_default) {
  int64_t ids[2] = {-1, -1};
  if (flag(v, "add_bos_token", bos_by_default)) MICA_TRY(special_id(v, "bos_token_id", &ids[0]));
  if (flag(v, "add_eos_token", eos_by_default)) MICA_TRY(special_id(v, "eos_token_id", &ids[1]));
  if (ids[0] >= 0 || ids[1] >= 0) add_template(v, ids);
  return MICA_OK;
}

/* --- byte-level BPE --- */

#define SPLIT(name, pattern) static const char split_##name[] = pattern;
#include "text/tokenizer/pre.def"
#undef SPLIT

static const struct pre {
  const char *name, *split;
  bool digits, ignore_merges;
} pres[] = {
#define PRE(name, split, digits, ignore_merges) {name, split_##split, digits, ignore_merges},
#include "text/tokenizer/pre.def"
#undef PRE
};

static mica_status find_pre(const vocabulary *v, const struct pre **pre) {
  const mica_gguf_value *value = key(v, "pre");
  const mica_gguf_text name = value ? mica_gguf_text_at(value, 0) : (mica_gguf_text){"default", 7};
  mica__text known = {0};
  if (name.length == 0) return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.pre is empty or not a text");
  for (size_t i = 0; i < sizeof pres / sizeof *pres; i++)
    if (is_text(name, pres[i].name)) return *pre = &pres[i], MICA_OK;
  for (size_t i = 0; i < sizeof pres / sizeof *pres; i++) mica__text_addf(&known, "%s%s", i ? ", " : "", pres[i].name);
  const mica_status status =
      mica__fail(MICA_E_UNSUPPORTED, "tokenizer.ggml.pre is '%.*s', which is not supported; choose from %s",
                 mica__text_shown(name.length), name.bytes, known.data ? known.data : "");
  mica__text_free(&known);
  return status;
}

const char *mica__gguf_pre(const char *split, bool digits, bool ignore_merges) {
  if (!split) split = split_GPT2;
  /* "default", the first row, is not the name of a pattern. */
  for (size_t i = 1; i < sizeof pres / sizeof *pres; i++)
    if (!strcmp(pres[i].split, split) && pres[i].digits == digits && pres[i].ignore_merges == ignore_merges)
      return pres[i].name;
  return NULL;
}

static mica_status add_merges(vocabulary *v) {
  mica__text_add(&v->json, ",\"merges\":[");
  for (size_t i = 0; i < v->merges->count; i++) {
    const mica_gguf_text merge = mica_gguf_text_at(v->merges, i);
    if (i > 0) mica__text_add_bytes(&v->json, ",", 1);
    add_json_text(&v->json, merge.bytes, merge.length);
  }
  mica__text_add(&v->json, "]");
  return MICA_OK;
}

static mica_status write_byte_level(vocabulary *v) {
  const struct pre *pre = NULL;
  MICA_TRY(find_pre(v, &pre));
  if (!v->merges) return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.merges is missing");
  add_added_tokens(v);
  mica__text_add(&v->json, ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[");
  if (pre->digits) mica__text_add(&v->json, "{\"type\":\"Digits\",\"individual_digits\":true},");
  mica__text_add(&v->json, "{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":");
  add_json_text(&v->json, pre->split, strlen(pre->split));
  mica__text_add(&v->json, "}},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]},"
                           "\"decoder\":{\"type\":\"ByteLevel\"}");
  MICA_TRY(add_frame(v, false, false));
  mica__text_addf(&v->json, ",\"model\":{\"type\":\"BPE\",\"ignore_merges\":%s,",
                  pre->ignore_merges ? "true" : "false");
  add_words(v);
  MICA_TRY(add_merges(v));
  mica__text_add(&v->json, "}}");
  return MICA_OK;
}

/* --- SentencePiece's BPE --- */

/* A token as the result of merging two others. */
typedef struct made {
  double score;
  uint32_t id;
  uint16_t left, right, left_bytes; /* characters of both parts; bytes of the left part */
} made;

/* Sorts by best score, then longer left token, then longer right token, then smaller id. */
static int by_score(const void *a, const void *b) {
  const made *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  if (x->left != y->left) return x->left > y->left ? -1 : 1;
  if (x->right != y->right) return x->right > y->right ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

typedef struct merges {
  made *list;
  size_t count, room;
} merges;

/* Adds all ways to split a token into two others. */
static mica_status add_ways(const vocabulary *v, const mica__vocab *vocab, size_t id, merges *all) {
  const mica__token *token = &vocab->tokens[id];
  const double score = v->gemma ? -(double)id : mica_gguf_number(v->scores, id);
  size_t characters = 0, left = 0;
  if (!token->text || token->length > LONGEST_MERGED ||
      mica__vocab_find(vocab, &vocab->model, token->text, token->length) != (int32_t)id)
    return MICA_OK;
  for (size_t i = 0; i < token->length; i++) characters += ((unsigned char)token->text[i] & 0xc0) != 0x80;
  for (size_t at = 0, n = 0; at < token->length; at += n, left++) {
    mica__utf8_at(token->text + at, &n);
    if (at == 0 || mica__vocab_find(vocab, &vocab->model, token->text, at) < 0 ||
        mica__vocab_find(vocab, &vocab->model, token->text + at, token->length - at) < 0)
      continue;
    MICA_TRY(mica__reserve(&all->list, &all->room, all->count + 1, sizeof *all->list));
    all->list[all->count++] = (made){score, (uint32_t)id, (uint16_t)left, (uint16_t)(characters - left), (uint16_t)at};
  }
  return MICA_OK;
}

static mica_status fill_vocab(vocabulary *v, mica__vocab *vocab) {
  mica__text marks = {0};
  mica_status status = MICA_OK;
  for (size_t id = 0; id < v->count && status == MICA_OK; id++) {
    mica_gguf_text token = mica_gguf_text_at(v->tokens, id);
    if (is_run_of_spaces(v, token)) {
      marks.length = 0;
      for (size_t i = 0; i < token.length; i++) mica__text_add(&marks, MARK);
      status = mica__text_status(&marks);
      token = (mica_gguf_text){marks.data, marks.length};
    }
    if (status == MICA_OK) status = mica__vocab_set(vocab, (int64_t)id, token.bytes, token.length, false);
  }
  mica__text_free(&marks);
  return status;
}

/* Adds a merge as "left right", which is faster to read than a list. If a part contains a space, adds a list. */
static void add_merge(mica__text *json, const char *left, size_t left_bytes, const char *right, size_t right_bytes) {
  char both[2 * LONGEST_MERGED + 1];
  if (memchr(left, ' ', left_bytes) || memchr(right, ' ', right_bytes)) {
    mica__text_add_bytes(json, "[", 1);
    add_json_text(json, left, left_bytes);
    mica__text_add_bytes(json, ",", 1);
    add_json_text(json, right, right_bytes);
    mica__text_add_bytes(json, "]", 1);
    return;
  }
  memcpy(both, left, left_bytes);
  both[left_bytes] = ' ';
  memcpy(both + left_bytes + 1, right, right_bytes);
  add_json_text(json, both, left_bytes + 1 + right_bytes);
}

static mica_status write_ways(vocabulary *v, const mica__vocab *vocab, merges *all) {
  for (size_t id = 0; id < v->count; id++) MICA_TRY(add_ways(v, vocab, id, all));
  if (all->count) qsort(all->list, all->count, sizeof *all->list, by_score);
  mica__text_add(&v->json, ",\"merges\":[");
  for (size_t i = 0; i < all->count; i++) {
    const made *m = &all->list[i];
    const mica__token *token = &vocab->tokens[m->id];
    if (i > 0) mica__text_add_bytes(&v->json, ",", 1);
    add_merge(&v->json, token->text, m->left_bytes, token->text + m->left_bytes, token->length - m->left_bytes);
  }
  mica__text_add(&v->json, "]");
  return MICA_OK;
}

static mica_status make_merges(vocabulary *v) {
  mica__vocab vocab = {0};
  merges all = {0};
  mica_status status = fill_vocab(v, &vocab);
  if (status == MICA_OK) status = write_ways(v, &vocab, &all);
  free(all.list);
  mica__vocab_free(&vocab);
  return status;
}

/* Adds the steps that replace spaces by MARK, and the decoder that replaces MARK by spaces. */
static void add_spaces(vocabulary *v, bool phi3) {
  static const char replace[] = "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" MARK "\"}";
  const bool prefix = !v->gemma && flag(v, "add_space_prefix", true);
  if (v->gemma)
    mica__text_addf(&v->json, ",\"normalizer\":%s", replace);
  else if (phi3 && prefix)
    mica__text_addf(&v->json,
                    ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"" MARK
                    "\"},%s]}",
                    replace);
  else
    mica__text_addf(&v->json,
                    ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK
                    "\",\"prepend_scheme\":\"%s\",\"split\":false}",
                    prefix ? "first" : "never");
  mica__text_addf(&v->json,
                  ",\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"
                  "\"" MARK "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}%s]}",
                  prefix ? ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}" : "");
}

static mica_status write_sentencepiece(vocabulary *v) {
  const mica_gguf_text arch = mica_gguf_text_at(mica_gguf_find(v->file, "general.architecture"), 0);
  int64_t unknown = -1;
  v->gemma = is_text(arch, "gemma") || is_text(arch, "gemma2") || is_text(arch, "gemma3");
  if (!v->scores && !v->merges)
    return mica__fail(MICA_E_FORMAT,
                      "tokenizer.ggml.scores is missing, and so is tokenizer.ggml.merges; the file needs one of them");
  MICA_TRY(special_id(v, "unknown_token_id", &unknown));
  add_added_tokens(v);
  add_spaces(v, is_text(arch, "phi3"));
  MICA_TRY(add_frame(v, true, false));
  mica__text_add(&v->json, ",\"model\":{\"type\":\"BPE\",\"fuse_unk\":true,\"byte_fallback\":true,");
  if (unknown >= 0) {
    mica__text_add(&v->json, "\"unk_token\":");
    add_token(v, (size_t)unknown);
    mica__text_add(&v->json, ",");
  }
  add_words(v);
  MICA_TRY(v->merges ? add_merges(v) : make_merges(v));
  mica__text_add(&v->json, "}}");
  return MICA_OK;
}

/* --- Unigram --- */

static void add_base64(mica__text *out, const uint8_t *data, size_t bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes; i += 3) {
    const size_t n = bytes - i < 3 ? bytes - i : 3;
    const uint32_t bits =
        (uint32_t)data[i] << 16 | (n > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (n > 2 ? data[i + 2] : 0u);
    const char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], n > 1 ? digits[bits >> 6 & 63] : '=',
                          n > 2 ? digits[bits & 63] : '='};
    mica__text_add_bytes(out, four, 4);
  }
}

static mica_status write_unigram(vocabulary *v) {
  const mica_gguf_value *charsmap = key(v, "precompiled_charsmap");
  const bool prefix = flag(v, "add_space_prefix", true);
  int64_t unknown = -1;
  if (!v->scores) return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.scores is missing");
  MICA_TRY(special_id(v, "unknown_token_id", &unknown));
  add_added_tokens(v);
  if (charsmap) {
    if (charsmap->kind != MICA_GGUF_KIND_U8 && charsmap->kind != MICA_GGUF_KIND_I8)
      return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.precompiled_charsmap is not a list of bytes");
    mica__text_add(&v->json, ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
    add_base64(&v->json, charsmap->data, charsmap->count);
    mica__text_add(&v->json, "\"}");
  }
  mica__text_addf(&v->json,
                  ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK
                  "\",\"prepend_scheme\":\"%s\",\"split\":true},\"decoder\":{\"type\":\"Metaspace\",\"replacement\":"
                  "\"" MARK "\",\"prepend_scheme\":\"%s\"}",
                  prefix ? "always" : "never", prefix ? "always" : "never");
  MICA_TRY(add_frame(v, false, true));
  mica__text_add(&v->json, ",\"model\":{\"type\":\"Unigram\",");
  if (unknown >= 0) mica__text_addf(&v->json, "\"unk_id\":%" PRId64 ",", unknown);
  mica__text_add(&v->json, "\"vocab\":[");
  for (size_t id = 0; id < v->count; id++) {
    mica__text_add(&v->json, id > 0 ? ",[" : "[");
    add_token(v, id);
    mica__text_addf(&v->json, ",%.9g]", mica_gguf_number(v->scores, id));
  }
  mica__text_add(&v->json, "]}}");
  return MICA_OK;
}

/* --- WordPiece --- */

/* True if words have capital letters. The files do not say if a model is cased. */
static bool has_capitals(const vocabulary *v) {
  for (size_t id = 0; id < v->count; id++) {
    const mica_gguf_text token = mica_gguf_text_at(v->tokens, id);
    for (size_t i = 0; is_word(token) && i < token.length; i++)
      if (token.bytes[i] >= 'A' && token.bytes[i] <= 'Z') return true;
  }
  return false;
}

/* Reads the id under the key `name` or, if the file lacks that key, under the key `other`. */
static mica_status first_id(const vocabulary *v, const char *name, const char *other, int64_t *id) {
  MICA_TRY(special_id(v, name, id));
  return *id < 0 ? special_id(v, other, id) : MICA_OK;
}

static mica_status write_wordpiece(vocabulary *v) {
  int64_t frame[2] = {-1, -1}, unknown = -1;
  v->wordpiece = true;
  MICA_TRY(special_id(v, "unknown_token_id", &unknown));
  /* "seperator" is the spelling in published files. */
  MICA_TRY(first_id(v, "cls_token_id", "bos_token_id", &frame[0]));
  MICA_TRY(first_id(v, "seperator_token_id", "eos_token_id", &frame[1]));
  if (unknown < 0) return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.unknown_token_id is missing");
  add_added_tokens(v);
  mica__text_addf(&v->json,
                  ",\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
                  "\"strip_accents\":null,\"lowercase\":%s},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
                  "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}",
                  has_capitals(v) ? "false" : "true");
  if (frame[0] >= 0 || frame[1] >= 0) add_template(v, frame);
  mica__text_add(&v->json, ",\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\","
                           "\"max_input_chars_per_word\":100,\"unk_token\":");
  add_token(v, (size_t)unknown);
  mica__text_add(&v->json, ",");
  add_words(v);
  mica__text_add(&v->json, "}}");
  return v->no_memory ? mica__fail_nomem("a tokenizer") : MICA_OK;
}

/* --- opening --- */

/* Finds a list of texts or, if `text` is false, of numbers. If `per_token`, the list must have one element per token.
 * *list is NULL if the file lacks the list. */
static mica_status find_list(const vocabulary *v, const char *name, bool text, bool per_token,
                             const mica_gguf_value **list) {
  *list = key(v, name);
  if (!*list) return MICA_OK;
  if (!(*list)->array || ((*list)->kind == MICA_GGUF_KIND_TEXT) != text || (*list)->kind == MICA_GGUF_KIND_ARRAY)
    return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.%s is not a list of %s", name, text ? "texts" : "numbers");
  if (per_token && (*list)->count != v->count)
    return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.%s has %zu elements, but must have %zu, one per token", name,
                      (*list)->count, v->count);
  for (size_t i = 0; text && i < (*list)->count; i++) {
    const mica_gguf_text element = mica_gguf_text_at(*list, i);
    if (mica__utf8_prefix(element.bytes, element.length) < element.length || memchr(element.bytes, 0, element.length))
      return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.%s: element %zu is not UTF-8 or has a NUL", name, i);
  }
  return MICA_OK;
}

static mica_status write_json(vocabulary *v) {
  const mica_gguf_text model = mica_gguf_text_at(key(v, "model"), 0);
  if (model.length == 0)
    return mica__fail(MICA_E_FORMAT,
                      "tokenizer.ggml.model is missing, empty or not a text, so the file has no tokeniser");
  MICA_TRY(find_list(v, "tokens", true, false, &v->tokens));
  if (!v->tokens) return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.tokens is missing");
  v->count = v->tokens->count;
  if (v->count > MICA__MOST_TOKENS)
    return mica__fail(MICA_E_FORMAT, "there are %zu tokens, but at most %d are read", v->count, MICA__MOST_TOKENS);
  MICA_TRY(find_list(v, "scores", false, true, &v->scores));
  /* A NaN cannot be sorted, and JSON has neither NaN nor infinity. */
  for (size_t i = 0; v->scores && i < v->count; i++)
    if (!isfinite(mica_gguf_number(v->scores, i)))
      return mica__fail(MICA_E_FORMAT, "tokenizer.ggml.scores: element %zu is not a finite number", i);
  MICA_TRY(find_list(v, "token_type", false, true, &v->types));
  MICA_TRY(find_list(v, "merges", true, false, &v->merges));
  if (is_text(model, "gpt2")) return write_byte_level(v);
  if (is_text(model, "llama")) return write_sentencepiece(v);
  if (is_text(model, "t5")) return write_unigram(v);
  if (is_text(model, "bert")) return write_wordpiece(v);
  return mica__fail(MICA_E_UNSUPPORTED, "tokenizer.ggml.model is '%.*s', but must be gpt2, llama, t5 or bert",
                    mica__text_shown(model.length), model.bytes);
}

mica_status mica_tokenizer_open_gguf(const char *name, const mica_gguf *file, mica_tokenizer **tokenizer) {
  if (!name || !file || !tokenizer)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_open_gguf: name, file or tokenizer is NULL");
  vocabulary v = {.file = file};
  mica_status status = write_json(&v);
  if (status == MICA_OK) status = mica__text_status(&v.json);
  if (status != MICA_OK) {
    mica__text_free(&v.json);
    return mica__fail_in(status, name);
  }
  char *json = realloc(v.json.data, v.json.length + 1);
  return mica__tokenizer_open_owned(name, json ? json : v.json.data, v.json.length, tokenizer);
}
