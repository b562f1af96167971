/* Converts a tokenizer.json to the keys of a GGUF file, the inverse of gguf.c.
 *
 *   byte-level BPE         model "gpt2", with merges; its pattern becomes a name of pre.def
 *   BPE with byte tokens   model "llama" (SentencePiece), with scores that follow the order of merges, and with the
 *                          merges, which Mica reads and other programs ignore */
#include "base/json_check.h"
#include "text/tokenizer/tokenizer.h"

#include <inttypes.h>
#include <mica/gguf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of "tokenizer.ggml.token_type". */
enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

typedef struct vocabulary {
  const char *name; /* for error messages */
  const cJSON *root, *model;
  const mica_tokenizer *opened; /* the tokeniser that the JSON opens as */
  size_t count;
  mica_gguf_text *tokens;
  int32_t *types;
  float *scores;
  char *unused; /* texts for ids without a token */
  mica_gguf_text *merges;
  char *merged; /* texts of all merges: "left right" */
  size_t merge_count;
  bool bytes; /* the model has byte tokens, not byte-level texts */
} vocabulary;

static const cJSON *get(const cJSON *object, const char *key) {
  return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

static bool is(const cJSON *object, const char *key, const char *text) {
  const cJSON *item = get(object, key);
  return cJSON_IsString(item) && !strcmp(item->valuestring, text);
}

static bool is_true(const cJSON *object, const char *key) { return cJSON_IsTrue(get(object, key)); }

static mica_status refuse(const vocabulary *v, const char *what) {
  return mica__fail(MICA_E_UNSUPPORTED, "%s: a GGUF file cannot have %s", v->name, what);
}

/* Finds the step of a type: `step` itself or, if it is a Sequence, a step in its list under the key `list`. NULL:
 * none. */
static const cJSON *step_of(const cJSON *step, const char *list, const char *type) {
  if (is(step, "type", type)) return step;
  const cJSON *steps = is(step, "type", "Sequence") ? get(step, list) : NULL, *found = NULL;
  for (const cJSON *one = steps ? steps->child : NULL; one && !found; one = one->next) found = step_of(one, list, type);
  return found;
}

/* --- tokens --- */

static mica_status set_token(vocabulary *v, const char *text, int32_t id, int32_t type) {
  if (id < 0 || (size_t)id >= v->count)
    return mica__fail(MICA_E_FORMAT, "%s: the token \"%.60s\" has the id %" PRId32 ", but the model's ids are 0 to %zu",
                      v->name, text, id, v->count - 1);
  v->tokens[id] = (mica_gguf_text){text, strlen(text)};
  v->types[id] = type;
  return MICA_OK;
}

/* True for a token such as <0x0A>. */
static bool is_byte(const char *text) {
  return strlen(text) == 6 && !memcmp(text, "<0x", 3) && strspn(text + 3, "0123456789abcdefABCDEF") == 2 &&
         text[5] == '>';
}

static mica_status read_tokens(vocabulary *v) {
  const cJSON *unknown = get(v->model, "unk_token");
  for (const cJSON *one = get(v->model, "vocab")->child; one; one = one->next) {
    int32_t type = NORMAL;
    if (v->bytes && is_byte(one->string)) type = BYTE;
    if (v->bytes && cJSON_IsString(unknown) && !strcmp(unknown->valuestring, one->string)) type = UNKNOWN;
    MICA_TRY(set_token(v, one->string, (int32_t)one->valuedouble, type));
  }
  const cJSON *added = get(v->root, "added_tokens");
  for (const cJSON *one = cJSON_IsArray(added) ? added->child : NULL; one; one = one->next) {
    const char *content = get(one, "content")->valuestring;
    if (!*content) continue; /* never found in a text */
    /* A token of the vocabulary keeps its id there, whatever "id" says. */
    const int32_t known = mica__vocab_find(&v->opened->vocab, &v->opened->vocab.model, content, strlen(content));
    const int32_t id = known >= 0 ? known : (int32_t)get(one, "id")->valuedouble;
    const bool stays = id >= 0 && (size_t)id < v->count && v->types[id] == UNKNOWN;
    MICA_TRY(set_token(v, content, id, stays ? UNKNOWN : is_true(one, "special") ? CONTROL : USER_DEFINED));
  }
  /* Ids without a token get the names that other programs use. */
  char *at = v->unused = malloc(v->count * 32);
  if (!at) return mica__fail_nomem(v->name);
  for (size_t i = 0; i < v->count; i++) {
    if (v->types[i]) continue;
    const int n = snprintf(at, 32, "[PAD%zu]", i);
    v->tokens[i] = (mica_gguf_text){at, (size_t)n};
    v->types[i] = UNUSED;
    at += n + 1;
  }
  return MICA_OK;
}

/* --- merges --- */

/* A token's text and its id. The list of them is sorted by text, to find the token that a merge makes. */
typedef struct entry {
  mica_gguf_text text;
  size_t id;
} entry;

static int by_text(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const size_t n = x->text.length < y->text.length ? x->text.length : y->text.length;
  const int order = memcmp(x->text.bytes, y->text.bytes, n);
  return order ? order : x->text.length < y->text.length ? -1 : x->text.length > y->text.length;
}

/* Splits a merge, "a b" or ["a", "b"], into two parts; false: it is neither. */
static bool parts_of(const cJSON *merge, const char **left, size_t *left_bytes, const char **right) {
  if (cJSON_IsArray(merge) && cJSON_GetArraySize(merge) == 2) {
    const cJSON *a = merge->child, *b = a->next;
    if (!cJSON_IsString(a) || !cJSON_IsString(b)) return false;
    *left = a->valuestring, *right = b->valuestring, *left_bytes = strlen(*left);
    return true;
  }
  const char *space = cJSON_IsString(merge) ? strchr(merge->valuestring, ' ') : NULL;
  if (!space || strchr(space + 1, ' ')) return false;
  *left = merge->valuestring, *right = space + 1, *left_bytes = (size_t)(space - merge->valuestring);
  return true;
}

static mica_status read_merges(vocabulary *v) {
  const cJSON *list = get(v->model, "merges");
  if (!cJSON_IsArray(list)) return mica__fail(MICA_E_FORMAT, "%s: the model has no merges", v->name);
  size_t bytes = 0, at = 0;
  for (const cJSON *one = list->child; one; one = one->next, v->merge_count++) {
    const char *left, *right;
    size_t n;
    if (!parts_of(one, &left, &n, &right))
      return mica__fail(MICA_E_FORMAT, "%s: merge %zu must be a pair of tokens", v->name, v->merge_count);
    bytes += n + strlen(right) + 2;
  }
  v->merges = calloc(v->merge_count + 1, sizeof *v->merges);
  v->merged = malloc(bytes + 1);
  if (!v->merges || !v->merged) return mica__fail_nomem(v->name);
  size_t m = 0;
  for (const cJSON *one = list->child; one; one = one->next, m++) {
    const char *left = "", *right = "";
    size_t n = 0;
    (void)parts_of(one, &left, &n, &right);
    const size_t r = strlen(right);
    if (memchr(left, ' ', n) || strchr(right, ' ')) return refuse(v, "merges of tokens with spaces");
    char *text = memcpy(v->merged + at, left, n);
    text[n] = ' ';
    memcpy(text + n + 1, right, r + 1);
    v->merges[m] = (mica_gguf_text){text, n + 1 + r};
    at += n + r + 2;
  }
  return MICA_OK;
}

/* Gives the token that merge k makes the score -k. If several merges make one token, the first counts. NORMAL tokens
 * that no merge makes get a lower score than all merges. */
static mica_status score_merges(vocabulary *v) {
  entry *sorted = malloc((v->count + 1) * sizeof *sorted);
  char *both = NULL;
  size_t room = 0;
  mica_status status = sorted ? MICA_OK : mica__fail_nomem(v->name);
  for (size_t i = 0; status == MICA_OK && i < v->count; i++) {
    sorted[i] = (entry){v->tokens[i], i};
    v->scores[i] = v->types[i] == NORMAL ? -(float)v->merge_count : 0;
  }
  if (status == MICA_OK) qsort(sorted, v->count, sizeof *sorted, by_text);
  for (size_t m = v->merge_count; status == MICA_OK && m-- > 0;) {
    const mica_gguf_text merge = v->merges[m];
    status = mica__reserve(&both, &room, merge.length, 1);
    if (status != MICA_OK) break;
    const size_t left = (size_t)((const char *)memchr(merge.bytes, ' ', merge.length) - merge.bytes);
    memcpy(both, merge.bytes, left);
    memcpy(both + left, merge.bytes + left + 1, merge.length - left - 1);
    const entry wanted = {{both, merge.length - 1}, 0};
    const entry *found = bsearch(&wanted, sorted, v->count, sizeof *sorted, by_text);
    if (found) v->scores[found->id] = -(float)m;
  }
  free(both);
  free(sorted);
  return status;
}

/* --- special tokens around a text --- */

static mica_status add_special(vocabulary *v, mica_gguf_keys *keys, const cJSON *frame, const cJSON *token,
                               const char *key) {
  char whole[64];
  const cJSON *id = get(get(token, "SpecialToken"), "id");
  const cJSON *known = cJSON_IsString(id) ? get(get(get(frame, "special_tokens"), id->valuestring), "ids") : NULL;
  if (!cJSON_IsArray(known) || cJSON_GetArraySize(known) != 1 || !cJSON_IsNumber(known->child))
    return refuse(v, "a special token with more or fewer than one id");
  snprintf(whole, sizeof whole, "tokenizer.ggml.%s_token_id", key);
  return mica_gguf_keys_add_integer(keys, whole, (int64_t)known->child->valuedouble);
}

static mica_status write_frame(vocabulary *v, mica_gguf_keys *keys) {
  const cJSON *frame = step_of(get(v->root, "post_processor"), "processors", "TemplateProcessing");
  const cJSON *single = get(frame, "single");
  bool begin = false, end = false, text = false;
  for (const cJSON *one = cJSON_IsArray(single) ? single->child : NULL; one; one = one->next) {
    if (get(one, "Sequence")) {
      if (text) return refuse(v, "a template with two texts");
      text = true;
      continue;
    }
    if (text ? end : begin) return refuse(v, "more than one special token before or after a text");
    MICA_TRY(add_special(v, keys, frame, one, text ? "eos" : "bos"));
    *(text ? &end : &begin) = true;
  }
  MICA_TRY(mica_gguf_keys_add_flag(keys, "tokenizer.ggml.add_bos_token", begin));
  return mica_gguf_keys_add_flag(keys, "tokenizer.ggml.add_eos_token", end);
}

/* --- byte-level BPE, and BPE with byte tokens --- */

static mica_status write_byte_level(vocabulary *v, mica_gguf_keys *keys) {
  const cJSON *pre = get(v->root, "pre_tokenizer");
  const cJSON *level = step_of(pre, "pretokenizers", "ByteLevel"), *split = step_of(pre, "pretokenizers", "Split");
  const cJSON *digits = step_of(pre, "pretokenizers", "Digits");
  const cJSON *pattern = get(get(split, "pattern"), "Regex"), *flag = get(level, "use_regex");
  if (!cJSON_IsFalse(get(level, "add_prefix_space")))
    return refuse(v, "ByteLevel with add_prefix_space = true (the default)");
  if (digits && !is_true(digits, "individual_digits")) return refuse(v, "Digits with individual_digits = false");
  /* As mica__json_pattern and parse_split read them: a String counts before a Regex, and Isolated is the default. */
  const bool plain = mica__json_member(get(split, "pattern"), "String") != NULL;
  if (split && (plain || !cJSON_IsString(pattern)))
    return refuse(v, "a Split whose pattern is a String instead of a Regex");
  if (split && mica__json_member(split, "behavior") && !is(split, "behavior", "Isolated"))
    return refuse(v, "a Split without behavior = Isolated");
  if (split && is_true(split, "invert")) return refuse(v, "a Split with invert = true");
  if (split && !cJSON_IsFalse(flag))
    return refuse(v, "both a Split and a ByteLevel with use_regex = true (the default)");
  if (!split && cJSON_IsFalse(flag)) return refuse(v, "a ByteLevel with use_regex = false and no Split");
  const char *name =
      mica__gguf_pre(split ? pattern->valuestring : NULL, digits != NULL, is_true(v->model, "ignore_merges"));
  const char *merges = !is_true(v->model, "ignore_merges") ? "" : digits ? " and ignore_merges" : " with ignore_merges";
  if (!name)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: GGUF has no name for %s%.200s%s%s%s", v->name,
                      split ? "the pattern '" : "ByteLevel's own pattern", split ? pattern->valuestring : "",
                      split ? "'" : "", digits ? " with single digits" : "", merges);
  MICA_TRY(mica_gguf_keys_add_text(keys, "tokenizer.ggml.model", "gpt2"));
  return mica_gguf_keys_add_text(keys, "tokenizer.ggml.pre", name);
}

static mica_status write_sentencepiece(vocabulary *v, mica_gguf_keys *keys) {
  const cJSON *meta = step_of(get(v->root, "pre_tokenizer"), "pretokenizers", "Metaspace");
  const cJSON *before = step_of(get(v->root, "normalizer"), "normalizers", "Prepend");
  const cJSON *unknown = get(v->model, "unk_token");
  /* As parse_metaspace reads it: add_prefix_space counts only if there is no prepend_scheme. */
  const bool never = mica__json_member(meta, "prepend_scheme") ? is(meta, "prepend_scheme", "never")
                                                               : cJSON_IsFalse(get(meta, "add_prefix_space"));
  const bool prefix = before || (meta && !never);
  MICA_TRY(mica_gguf_keys_add_text(keys, "tokenizer.ggml.model", "llama"));
  MICA_TRY(mica_gguf_keys_add_text(keys, "tokenizer.ggml.pre", "default"));
  MICA_TRY(mica_gguf_keys_add_flag(keys, "tokenizer.ggml.add_space_prefix", prefix));
  v->scores = calloc(v->count, sizeof *v->scores);
  if (!v->scores) return mica__fail_nomem(v->name);
  MICA_TRY(score_merges(v));
  MICA_TRY(mica_gguf_keys_add(keys, &(mica_gguf_value){.key = "tokenizer.ggml.scores",
                                                       .kind = MICA_GGUF_KIND_F32,
                                                       .array = true,
                                                       .count = v->count,
                                                       .data = v->scores}));
  for (size_t i = 0; cJSON_IsString(unknown) && i < v->count; i++)
    if (v->types[i] == UNKNOWN) return mica_gguf_keys_add_integer(keys, "tokenizer.ggml.unknown_token_id", (int64_t)i);
  return MICA_OK;
}

static mica_status write_all(vocabulary *v, mica_gguf_keys *keys) {
  v->model = get(v->root, "model");
  v->bytes = is_true(v->model, "byte_fallback");
  const bool level = step_of(get(v->root, "pre_tokenizer"), "pretokenizers", "ByteLevel") != NULL;
  if (!is(v->model, "type", "BPE") || !cJSON_IsObject(get(v->model, "vocab")) || level == v->bytes)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s: the tokeniser cannot be written to a GGUF file: it must be BPE, and either be byte-level or "
                      "have byte tokens (byte_fallback), but not both",
                      v->name);
  v->tokens = calloc(v->count, sizeof *v->tokens);
  v->types = calloc(v->count, sizeof *v->types);
  if (!v->tokens || !v->types) return mica__fail_nomem(v->name);
  MICA_TRY(read_tokens(v));
  MICA_TRY(read_merges(v));
  MICA_TRY(v->bytes ? write_sentencepiece(v, keys) : write_byte_level(v, keys));
  MICA_TRY(mica_gguf_keys_add(keys, &(mica_gguf_value){.key = "tokenizer.ggml.tokens",
                                                       .kind = MICA_GGUF_KIND_TEXT,
                                                       .array = true,
                                                       .count = v->count,
                                                       .data = v->tokens}));
  MICA_TRY(mica_gguf_keys_add(keys, &(mica_gguf_value){.key = "tokenizer.ggml.token_type",
                                                       .kind = MICA_GGUF_KIND_I32,
                                                       .array = true,
                                                       .count = v->count,
                                                       .data = v->types}));
  MICA_TRY(mica_gguf_keys_add(keys, &(mica_gguf_value){.key = "tokenizer.ggml.merges",
                                                       .kind = MICA_GGUF_KIND_TEXT,
                                                       .array = true,
                                                       .count = v->merge_count,
                                                       .data = v->merges}));
  return write_frame(v, keys);
}

mica_status mica_tokenizer_gguf_keys(const char *name, const char *json, size_t bytes, int64_t tokens,
                                     mica_gguf_keys *keys) {
  if (!name || !json || !keys) return mica__fail(MICA_E_INVALID, "mica_tokenizer_gguf_keys: a pointer is NULL");
  if (tokens < 1 || tokens > MICA__MOST_TOKENS)
    return mica__fail(MICA_E_INVALID, "%s: a model cannot have %" PRId64 " tokens; 1 to %d are allowed", name, tokens,
                      MICA__MOST_TOKENS);
  /* Opening checks the JSON, so that types of its members need no checks here. */
  mica_tokenizer *opened = NULL;
  MICA_TRY(mica_tokenizer_open_memory(name, json, bytes, &opened));
  cJSON *root = cJSON_ParseWithLength(json, bytes);
  vocabulary v = {.name = name, .root = root, .opened = opened, .count = (size_t)tokens};
  const mica_status status = root ? write_all(&v, keys) : mica__fail_nomem(name);
  mica_tokenizer_destroy(opened);
  free(v.tokens);
  free(v.types);
  free(v.scores);
  free(v.unused);
  free(v.merges);
  free(v.merged);
  cJSON_Delete(root);
  return status;
}
