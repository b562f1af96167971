/* Trains tokenisers on texts: counts words, and writes the resulting tokenizer.json. */
#include "text/tokenizer/train.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define NAME(name, text) [MICA_TOKENIZER_KIND_##name] = (text),
    MICA_TOKENIZER_KIND_LIST(NAME)
#undef NAME
};
#define KINDS ((int)(sizeof names / sizeof *names))

const char *mica_tokenizer_kind_name(mica_tokenizer_kind kind) {
  return (int)kind >= 0 && (int)kind < KINDS ? names[kind] : "?";
}

#define USUAL_SIZE 8000
#define USUAL_FREQUENCY 2
#define MOST_SPECIAL 1024

static const char *const plain_special[] = {"<unk>", "<pad>", "<s>", "</s>"};
static const char *const bert_special[] = {"[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"};

static bool is_byte_level(mica_tokenizer_kind kind) {
  return kind == MICA_TOKENIZER_KIND_BPE || kind == MICA_TOKENIZER_KIND_BYTE;
}

/* The steps of each kind as JSON. A lower-case vocabulary uses lower_normalizer. */
typedef struct pipeline {
  const char *normalizer, *lower_normalizer, *pre_tokenizer, *decoder, *model;
} pipeline;
#define BYTES_MODEL                                                                                                    \
  "{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,"                          \
  "\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false}"
#define BERT_NORMALIZER "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
#define METASPACE                                                                                                      \
  "{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\",\"prepend_scheme\":\"always\",\"split\":true}"
static const pipeline pipelines[] = {
    [MICA_TOKENIZER_KIND_BPE] = {"null", "{\"type\":\"Lowercase\"}",
                                 "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
                                 "\"use_regex\":true}",
                                 "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
                                 "\"use_regex\":true}",
                                 BYTES_MODEL},
    [MICA_TOKENIZER_KIND_WORDPIECE] = {BERT_NORMALIZER "\"strip_accents\":null,\"lowercase\":false}",
                                       BERT_NORMALIZER "\"strip_accents\":null,\"lowercase\":true}",
                                       "{\"type\":\"BertPreTokenizer\"}",
                                       "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}",
                                       "{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\","
                                       "\"max_input_chars_per_word\":100}"},
    [MICA_TOKENIZER_KIND_UNIGRAM] = {"{\"type\":\"NFKC\"}",
                                     "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},"
                                     "{\"type\":\"Lowercase\"}]}",
                                     METASPACE, METASPACE, "{\"type\":\"Unigram\",\"byte_fallback\":false}"},
    [MICA_TOKENIZER_KIND_WORD] = {"null", "{\"type\":\"Lowercase\"}", "{\"type\":\"Whitespace\"}", "null",
                                  "{\"type\":\"WordLevel\"}"},
    [MICA_TOKENIZER_KIND_CHARACTER] = {"null", "{\"type\":\"Lowercase\"}", "null", "{\"type\":\"Fuse\"}", BYTES_MODEL},
    [MICA_TOKENIZER_KIND_BYTE] = {"null", "{\"type\":\"Lowercase\"}",
                                  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
                                  "\"use_regex\":false}",
                                  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
                                  "\"use_regex\":false}",
                                  BYTES_MODEL},
};

/* --- counting --- */

/* Counts the pieces of all texts. Pieces with a NUL are skipped: JSON tokens cannot contain it. */
static mica_status count_texts(mica__training *t, const mica_tokenizer *cutter, mica_text_fn *next, void *user) {
  mica__work *work = calloc(1, sizeof *work);
  mica_status status = work ? MICA_OK : mica__fail_nomem("words");
  while (status == MICA_OK) {
    const mica__pieces *pieces = NULL;
    const char *text = NULL;
    size_t bytes = 0;
    status = next(user, &text, &bytes);
    if (status != MICA_OK || !text) break;
    if (bytes == 0) continue;
    status = mica__text_pieces(cutter, work, text, bytes, &pieces);
    for (size_t k = 0; status == MICA_OK && k < pieces->count; k++) {
      const mica__piece *piece = &pieces->list[k];
      const char *word = pieces->text.data + piece->begin;
      if (t->config.kind == MICA_TOKENIZER_KIND_CHARACTER)
        for (size_t at = 0, n; at < piece->length && status == MICA_OK; at += n) {
          mica__utf8_at(word + at, &n);
          if (word[at]) status = mica__counts_add(&t->words, word + at, n, 1);
        }
      else if (!memchr(word, 0, piece->length))
        status = mica__counts_add(&t->words, word, piece->length, 1);
    }
  }
  mica__work_free(work);
  return status;
}

/* --- vocabularies --- */

static mica_status add_special(mica__training *t) {
  for (size_t i = 0; i < t->config.special_count; i++) {
    const char *text = t->config.special[i];
    if (!text || !*text) return mica__fail(MICA_E_INVALID, "special[%zu] is %s", i, text ? "empty" : "NULL");
    if (mica__vocab_find(&t->vocab, &t->vocab.model, text, strlen(text)) >= 0)
      return mica__fail(MICA_E_INVALID, "the special token '%.40s' is listed twice", text);
    MICA_TRY(mica__training_add(t, text, strlen(text), NULL));
  }
  return MICA_OK;
}

/* Adds the 256 characters that represent bytes, in order. */
static mica_status add_bytes(mica__training *t) {
  for (uint32_t c = 0; c <= 0x143; c++) {
    if (mica__byte_of_character(c) < 0) continue;
    mica__text text = {0};
    mica__utf8_add(&text, c);
    mica_status status = mica__text_status(&text);
    if (status == MICA_OK) status = mica__training_add(t, text.data, text.length, NULL);
    mica__text_free(&text);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static mica_status add_frequent(mica__training *t) {
  mica__counts_sort(&t->words, true);
  for (size_t i = 0; i < t->words.size && t->vocab.size < t->config.size; i++) {
    const mica__counted *word = &t->words.entries[i];
    if (word->count < (uint64_t)t->config.min_frequency) break;
    if (word->length <= MICA__LONGEST_TOKEN) MICA_TRY(mica__training_add(t, word->text, word->length, NULL));
  }
  return MICA_OK;
}

static mica_status choose(mica__training *t) {
  mica__counts_sort(&t->words, false);
  switch (t->config.kind) {
  case MICA_TOKENIZER_KIND_BPE: return mica__train_bpe(t, NULL);
  case MICA_TOKENIZER_KIND_WORDPIECE: return mica__train_bpe(t, "##");
  case MICA_TOKENIZER_KIND_UNIGRAM: return mica__train_unigram(t);
  case MICA_TOKENIZER_KIND_BYTE: return MICA_OK;
  default: return add_frequent(t);
  }
}

/* --- JSON --- */

static bool add_text(cJSON *object, const char *key, const char *text) {
  return cJSON_AddItemToObject(object, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static cJSON *scored_vocabulary(const mica__training *t) {
  cJSON *list = cJSON_CreateArray();
  for (int32_t i = 0; list && i < t->vocab.size; i++) {
    cJSON *both = cJSON_CreateArray();
    if (!cJSON_AddItemToArray(list, both) || !cJSON_AddItemToArray(both, cJSON_CreateString(t->vocab.tokens[i].text)) ||
        !cJSON_AddItemToArray(both, cJSON_CreateNumber(t->scores[i]))) {
      cJSON_Delete(list);
      return NULL;
    }
  }
  return list;
}

static cJSON *vocabulary(const mica__training *t) {
  cJSON *object = cJSON_CreateObject();
  for (int32_t i = 0; object && i < t->vocab.size; i++)
    if (!cJSON_AddNumberToObject(object, t->vocab.tokens[i].text, i)) {
      cJSON_Delete(object);
      return NULL;
    }
  return object;
}

static bool fill_model(cJSON *model, mica__training *t) {
  const mica_tokenizer_kind kind = t->config.kind;
  const bool unigram = kind == MICA_TOKENIZER_KIND_UNIGRAM;
  bool good = true;
  if (unigram)
    good = cJSON_AddNumberToObject(model, "unk_id", 0) != NULL;
  else if (kind == MICA_TOKENIZER_KIND_CHARACTER)
    good = cJSON_ReplaceItemInObject(model, "unk_token", cJSON_CreateString(t->config.special[0]));
  else if (!is_byte_level(kind))
    good = add_text(model, "unk_token", t->config.special[0]);
  good = good && cJSON_AddItemToObject(model, "vocab", unigram ? scored_vocabulary(t) : vocabulary(t));
  if (good && (is_byte_level(kind) || kind == MICA_TOKENIZER_KIND_CHARACTER)) {
    good = cJSON_AddItemToObject(model, "merges", t->merges);
    if (good) t->merges = NULL;
  }
  return good;
}

static bool add_added(cJSON *root, const mica__training *t) {
  cJSON *list = cJSON_AddArrayToObject(root, "added_tokens");
  for (size_t i = 0; list && i < t->config.special_count; i++) {
    cJSON *token = cJSON_CreateObject();
    if (!cJSON_AddItemToArray(list, token) || !cJSON_AddNumberToObject(token, "id", (double)i) ||
        !add_text(token, "content", t->config.special[i]))
      return false;
    static const char *const flags[] = {"single_word", "lstrip", "rstrip", "normalized", "special"};
    for (int k = 0; k < 5; k++)
      if (!cJSON_AddBoolToObject(token, flags[k], k == 4)) return false;
  }
  return list != NULL;
}

/* Adds a piece of BERT's template. */
static bool add_piece(cJSON *list, const char *kind, const char *id, int type) {
  cJSON *piece = cJSON_CreateObject(), *inner = piece ? cJSON_AddObjectToObject(piece, kind) : NULL;
  return cJSON_AddItemToArray(list, piece) && inner && add_text(inner, "id", id) &&
         cJSON_AddNumberToObject(inner, "type_id", type);
}

static bool add_ids(cJSON *specials, const char *token, int32_t id) {
  cJSON *entry = cJSON_AddObjectToObject(specials, token), *ids, *tokens;
  if (!entry || !add_text(entry, "id", token)) return false;
  ids = cJSON_AddArrayToObject(entry, "ids");
  tokens = cJSON_AddArrayToObject(entry, "tokens");
  return ids && tokens && cJSON_AddItemToArray(ids, cJSON_CreateNumber(id)) &&
         cJSON_AddItemToArray(tokens, cJSON_CreateString(token));
}

/* Adds [CLS] A [SEP] and [CLS] A [SEP] B [SEP] if a WordPiece vocabulary has both tokens. */
static bool add_frame(cJSON *root, const mica__training *t) {
  const int32_t cls = mica__vocab_find(&t->vocab, &t->vocab.model, "[CLS]", 5);
  const int32_t sep = mica__vocab_find(&t->vocab, &t->vocab.model, "[SEP]", 5);
  if (t->config.kind != MICA_TOKENIZER_KIND_WORDPIECE || cls < 0 || sep < 0)
    return cJSON_AddNullToObject(root, "post_processor") != NULL;
  cJSON *frame = cJSON_AddObjectToObject(root, "post_processor");
  if (!frame || !add_text(frame, "type", "TemplateProcessing")) return false;
  for (int two = 0; two < 2; two++) {
    cJSON *list = cJSON_AddArrayToObject(frame, two ? "pair" : "single");
    if (!list || !add_piece(list, "SpecialToken", "[CLS]", 0) || !add_piece(list, "Sequence", "A", 0) ||
        !add_piece(list, "SpecialToken", "[SEP]", 0) ||
        (two && (!add_piece(list, "Sequence", "B", 1) || !add_piece(list, "SpecialToken", "[SEP]", 1))))
      return false;
  }
  cJSON *specials = cJSON_AddObjectToObject(frame, "special_tokens");
  return specials && add_ids(specials, "[CLS]", cls) && add_ids(specials, "[SEP]", sep);
}

static cJSON *make_json(mica__training *t) {
  const pipeline *p = &pipelines[t->config.kind];
  cJSON *root = cJSON_CreateObject(), *model = cJSON_Parse(p->model);
  bool good = root && model && add_text(root, "version", "1.0") && cJSON_AddNullToObject(root, "truncation") &&
              cJSON_AddNullToObject(root, "padding") && add_added(root, t) &&
              cJSON_AddItemToObject(root, "normalizer",
                                    cJSON_Parse(t->config.lowercase ? p->lower_normalizer : p->normalizer)) &&
              cJSON_AddItemToObject(root, "pre_tokenizer", cJSON_Parse(p->pre_tokenizer)) && add_frame(root, t) &&
              cJSON_AddItemToObject(root, "decoder", cJSON_Parse(p->decoder)) && fill_model(model, t);
  good = good && cJSON_AddItemToObject(root, "model", model);
  if (good) return root;
  if (!root || !cJSON_GetObjectItem(root, "model")) cJSON_Delete(model);
  cJSON_Delete(root);
  return NULL;
}

static mica_status open_json(cJSON *root, mica_tokenizer **out) {
  char *text = root ? cJSON_PrintUnformatted(root) : NULL;
  cJSON_Delete(root);
  if (!text) return mica__fail_nomem("a tokeniser");
  const mica_status status = mica_tokenizer_open_memory("a trained tokeniser", text, strlen(text), out);
  cJSON_free(text);
  return status;
}

/* Opens a tokeniser that normalises and cuts texts in the same way as the tokeniser in training. */
static mica_status open_cutter(const mica__training *t, mica_tokenizer **cutter) {
  const pipeline *p = &pipelines[t->config.kind];
  mica__text json = {0};
  mica__text_addf(&json,
                  "{\"normalizer\":%s,\"pre_tokenizer\":%s,\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\":0}}}",
                  t->config.lowercase ? p->lower_normalizer : p->normalizer, p->pre_tokenizer);
  mica_status status = mica__text_status(&json);
  if (status == MICA_OK) status = mica_tokenizer_open_memory("a tokeniser", json.data, json.length, cutter);
  mica__text_free(&json);
  return status;
}

/* --- training --- */

static mica_status complete(const mica_tokenizer_config *given, mica_tokenizer_config *config) {
  if (given) *config = *given;
  if ((int)config->kind < 0 || (int)config->kind >= KINDS)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_train: %d is not a mica_tokenizer_kind", (int)config->kind);
  if (config->size < 0 || config->size > MICA__MOST_TOKENS)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_train: size is %d, but must be 0 to %d", (int)config->size,
                      MICA__MOST_TOKENS);
  if (config->min_frequency < 0)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_train: min_frequency is %d, but must be 0 or above",
                      (int)config->min_frequency);
  if (config->special_count > MOST_SPECIAL)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_train: special_count is %zu, but may be at most %d",
                      config->special_count, MOST_SPECIAL);
  if (config->special_count && !config->special)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_train: special is NULL, but special_count is %zu",
                      config->special_count);
  if (config->size == 0) config->size = USUAL_SIZE;
  if (config->min_frequency == 0) config->min_frequency = USUAL_FREQUENCY;
  const bool bert = config->kind == MICA_TOKENIZER_KIND_WORDPIECE;
  if (!is_byte_level(config->kind)) {
    if (!config->special) {
      config->special = bert ? bert_special : plain_special;
      config->special_count =
          bert ? sizeof bert_special / sizeof *bert_special : sizeof plain_special / sizeof *plain_special;
    }
    if (config->special_count == 0)
      return mica__fail(MICA_E_INVALID,
                        "mica_tokenizer_train: special_count is 0, but %s needs a special token for unknown text",
                        names[config->kind]);
  }
  return MICA_OK;
}

static mica_status train(mica__training *t, mica_text_fn *next, void *user, mica_tokenizer **out) {
  const mica_tokenizer_kind kind = t->config.kind;
  mica_tokenizer *cutter = NULL;
  MICA_TRY(add_special(t));
  if (is_byte_level(kind)) MICA_TRY(add_bytes(t));
  if (is_byte_level(kind) || kind == MICA_TOKENIZER_KIND_CHARACTER)
    if (!(t->merges = cJSON_CreateArray())) return mica__fail_nomem("a tokeniser");
  if (kind != MICA_TOKENIZER_KIND_BYTE && t->vocab.size > t->config.size)
    return mica__fail(MICA_E_INVALID,
                      "the vocabulary's size is %d, but must be at least %d, the number of special tokens%s",
                      (int)t->config.size, (int)t->vocab.size, is_byte_level(kind) ? " plus 256 bytes" : "");
  if (kind != MICA_TOKENIZER_KIND_BYTE) {
    MICA_TRY(open_cutter(t, &cutter));
    const mica_status status = count_texts(t, cutter, next, user);
    mica_tokenizer_destroy(cutter);
    MICA_TRY(status);
    if (t->words.count == 0) return mica__fail(MICA_E_INVALID, "there is no text to train a tokeniser on");
  }
  MICA_TRY(choose(t));
  return open_json(make_json(t), out);
}

mica_status mica_tokenizer_train(const mica_tokenizer_config *config, mica_text_fn *next, void *user,
                                 mica_tokenizer **tokenizer) {
  mica__training t = {0};
  if (!tokenizer || (!next && !(config && config->kind == MICA_TOKENIZER_KIND_BYTE)))
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_train: next or tokenizer is NULL");
  MICA_TRY(complete(config, &t.config));
  const mica_status status = train(&t, next, user, tokenizer);
  mica__counts_free(&t.words);
  mica__vocab_free(&t.vocab);
  cJSON_Delete(t.merges);
  free(t.scores);
  return status;
}
