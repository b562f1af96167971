/* Models turn pieces into ids. This file reads models of all kinds, and implements WordPiece and WordLevel. */
#include "base/hash.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of characters of a WordPiece word: at each character, tokens of all lengths up to the end are
 * tried. */
#define MOST_CHARACTERS 1000
#define MOST_AFFIX 64
#define MOST_SHOWN ((size_t)40) /* bytes of a word in a message */

void mica__model_free(mica__model *model) {
  free(model->prefix);
  free(model->suffix);
  free(model->merges);
  free(model->ranks);
  free(model->scores);
  mica__trie_free(&model->trie);
}

/* --- words --- */

static mica_status unknown(const mica_tokenizer *tokenizer, const char *text, size_t bytes, mica_encoding *out) {
  if (tokenizer->model.unk < 0)
    return mica__fail(MICA_E_FORMAT, "the word '%.*s' is unknown, and the tokeniser has no token for unknown words",
                      (int)(bytes < MOST_SHOWN ? bytes : mica__utf8_prefix(text, MOST_SHOWN)), text);
  return mica__encoding_add(out, tokenizer->model.unk);
}

static mica_status encode_word(const mica_tokenizer *tokenizer, const char *text, size_t bytes, mica_encoding *out) {
  const int32_t id = mica__vocab_find(&tokenizer->vocab, &tokenizer->vocab.model, text, bytes);
  return id >= 0 ? mica__encoding_add(out, id) : unknown(tokenizer, text, bytes, out);
}

/* Finds the longest token at the beginning, then the longest continuation, and so on. If no token fits at
 * some position, the whole word is unknown. */
static mica_status encode_wordpiece(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                                    mica_encoding *out) {
  const mica__model *model = &tokenizer->model;
  const size_t prefix = model->prefix ? strlen(model->prefix) : 0, count = out->count;
  int64_t characters = 0;
  for (size_t i = 0; i < bytes; i++) characters += ((unsigned char)text[i] & 0xc0) != 0x80;
  if (characters > model->most_characters) return unknown(tokenizer, text, bytes, out);
  for (size_t begin = 0; begin < bytes;) {
    size_t end = bytes - begin > tokenizer->vocab.longest ? begin + tokenizer->vocab.longest : bytes;
    int32_t id = -1;
    while (end < bytes && end > begin && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    work->word.length = 0;
    if (begin > 0 && prefix) mica__text_add_bytes(&work->word, model->prefix, prefix);
    const size_t before = work->word.length;
    mica__text_add_bytes(&work->word, text + begin, end - begin);
    MICA_TRY(mica__text_status(&work->word));
    while (end > begin) {
      id = mica__vocab_find(&tokenizer->vocab, &tokenizer->vocab.model, work->word.data, before + end - begin);
      if (id >= 0) break;
      end = begin + mica__utf8_last(text + begin, end - begin);
    }
    if (id < 0) {
      out->count = count;
      return unknown(tokenizer, text, bytes, out);
    }
    MICA_TRY(mica__encoding_add(out, id));
    begin = end;
  }
  return MICA_OK;
}

/* --- the cache of words --- */

static mica_status encode_new(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                              mica_encoding *out) {
  switch (tokenizer->model.name[0]) {
  case 'B': return mica__bpe_encode(tokenizer, work, text, bytes, out);
  case 'U': return mica__unigram_encode(tokenizer, work, text, bytes, out);
  default: break;
  }
  return strcmp(tokenizer->model.name, "WordPiece") == 0 ? encode_wordpiece(tokenizer, work, text, bytes, out)
                                                         : encode_word(tokenizer, text, bytes, out);
}

mica_status mica__model_encode(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                               mica_encoding *out) {
  mica__known_word *word = NULL;
  if (bytes > sizeof word->text || (!work->known && !(work->known = calloc(MICA__KNOWN_WORDS, sizeof *work->known))))
    return encode_new(tokenizer, work, text, bytes, out);
  const uint64_t hash = mica__hash_bytes((mica__hash){0, 0}, text, bytes).low | 1;
  word = &work->known[(hash >> 8) % MICA__KNOWN_WORDS];
  if (word->hash == hash && word->length == bytes && !memcmp(word->text, text, bytes)) {
    for (int i = 0; i < word->count; i++) MICA_TRY(mica__encoding_add(out, word->ids[i]));
    return MICA_OK;
  }
  const size_t begin = out->count;
  MICA_TRY(encode_new(tokenizer, work, text, bytes, out));
  const size_t count = out->count - begin;
  if (count > sizeof word->ids / sizeof *word->ids) return MICA_OK;
  word->hash = hash;
  word->length = (uint8_t)bytes;
  word->count = (uint8_t)count;
  memcpy(word->text, text, bytes);
  if (count) memcpy(word->ids, out->ids + begin, count * sizeof *word->ids);
  return MICA_OK;
}

/* --- reading --- */

/* Reads {"token": id, ...}. */
static mica_status parse_words(const cJSON *object, mica_tokenizer *tokenizer) {
  const cJSON *words = mica__json_member(object, "vocab"), *item = NULL;
  int64_t id = 0;
  if (!cJSON_IsObject(words)) return mica__fail(MICA_E_FORMAT, "vocab must be an object that gives each token an id");
  cJSON_ArrayForEach(item, words) {
    if (mica__json_whole(item, "an id", MICA__MOST_TOKENS - 1, &id) != MICA_OK)
      return mica__fail(MICA_E_FORMAT, "vocab: the id of the token '%.40s' must be a whole number from 0 to %d",
                        item->string, MICA__MOST_TOKENS - 1);
    MICA_TRY(mica__vocab_set(&tokenizer->vocab, id, item->string, strlen(item->string), false));
  }
  return MICA_OK;
}

static mica_status copy_affix(const cJSON *object, const char *key, char **out) {
  const char *text = NULL;
  MICA_TRY(mica__json_text(object, key, false, &text));
  if (!text || !*text) return MICA_OK;
  if (strlen(text) > MOST_AFFIX) return mica__fail(MICA_E_FORMAT, "%s has more than %d bytes", key, MOST_AFFIX);
  *out = mica__strdup(text);
  return *out ? MICA_OK : mica__fail_nomem("a tokeniser");
}

static int32_t model_id(const mica_tokenizer *tokenizer, const char *text) {
  return mica__vocab_find(&tokenizer->vocab, &tokenizer->vocab.model, text, strlen(text));
}

static mica_status parse_unknown(const cJSON *object, mica_tokenizer *tokenizer) {
  const char *text = NULL;
  MICA_TRY(mica__json_text(object, "unk_token", false, &text));
  if (text) tokenizer->model.unk = model_id(tokenizer, text);
  if (text && tokenizer->model.unk < 0 && !strcmp(tokenizer->model.name, "BPE"))
    return mica__fail(MICA_E_FORMAT, "unk_token '%.40s' is not in vocab", text);
  return MICA_OK;
}

static void find_bytes(mica_tokenizer *tokenizer) {
  char text[8];
  for (unsigned i = 0; i < 256; i++) {
    snprintf(text, sizeof text, "<0x%02X>", i);
    tokenizer->model.bytes[i] = model_id(tokenizer, text);
  }
}

static mica_status parse_bpe(const cJSON *object, mica_tokenizer *tokenizer) {
  mica__model *model = &tokenizer->model;
  const cJSON *dropout = mica__json_member(object, "dropout");
  if (dropout && !(cJSON_IsNumber(dropout) && dropout->valuedouble == 0))
    return mica__fail(MICA_E_UNSUPPORTED, "dropout is not supported; set it to null or 0");
  MICA_TRY(parse_words(object, tokenizer));
  MICA_TRY(parse_unknown(object, tokenizer));
  MICA_TRY(mica__json_bool(object, "fuse_unk", &model->fuse_unk));
  MICA_TRY(mica__json_bool(object, "byte_fallback", &model->byte_fallback));
  MICA_TRY(mica__json_bool(object, "ignore_merges", &model->ignore_merges));
  MICA_TRY(copy_affix(object, "continuing_subword_prefix", &model->prefix));
  MICA_TRY(copy_affix(object, "end_of_word_suffix", &model->suffix));
  if (model->byte_fallback) find_bytes(tokenizer);
  return mica__merges_parse(object, tokenizer);
}

static mica_status parse_wordpiece(const cJSON *object, mica_tokenizer *tokenizer) {
  tokenizer->model.most_characters = 100;
  MICA_TRY(parse_words(object, tokenizer));
  MICA_TRY(parse_unknown(object, tokenizer));
  MICA_TRY(copy_affix(object, "continuing_subword_prefix", &tokenizer->model.prefix));
  return mica__json_integer(object, "max_input_chars_per_word", MOST_CHARACTERS, &tokenizer->model.most_characters);
}

static mica_status parse_wordlevel(const cJSON *object, mica_tokenizer *tokenizer) {
  MICA_TRY(parse_words(object, tokenizer));
  return parse_unknown(object, tokenizer);
}

/* Reads [["token", score], ...] in the order of ids. */
static mica_status parse_scores(const cJSON *object, mica_tokenizer *tokenizer) {
  mica__model *model = &tokenizer->model;
  const cJSON *list = NULL, *item = NULL;
  int64_t id = 0;
  MICA_TRY(mica__json_list(object, "vocab", &list));
  const size_t count = (size_t)cJSON_GetArraySize(list);
  model->scores = calloc(count + 1, sizeof *model->scores);
  if (!model->scores) return mica__fail_nomem("a vocabulary");
  cJSON_ArrayForEach(item, list) {
    const cJSON *token = cJSON_IsArray(item) ? item->child : NULL, *score = token ? token->next : NULL;
    if (!cJSON_IsString(token) || !cJSON_IsNumber(score) || !isfinite(score->valuedouble))
      return mica__fail(MICA_E_FORMAT, "vocab: entry %lld must be a text and its score, a finite number",
                        (long long)id);
    const size_t length = strlen(token->valuestring);
    MICA_TRY(mica__vocab_set(&tokenizer->vocab, id, token->valuestring, length, false));
    if (length) MICA_TRY(mica__trie_add(&model->trie, token->valuestring, length, (int32_t)id, false));
    model->scores[id] = score->valuedouble;
    model->least = id == 0 || score->valuedouble < model->least ? score->valuedouble : model->least;
    id++;
  }
  return MICA_OK;
}

static mica_status parse_unigram(const cJSON *object, mica_tokenizer *tokenizer) {
  mica__model *model = &tokenizer->model;
  int64_t unk = -1;
  MICA_TRY(parse_scores(object, tokenizer));
  MICA_TRY(mica__json_integer(object, "unk_id", MICA__MOST_TOKENS, &unk));
  if (unk >= tokenizer->vocab.size)
    return mica__fail(MICA_E_FORMAT, "unk_id is %lld, but must be less than the number of tokens in vocab, %d",
                      (long long)unk, (int)tokenizer->vocab.size);
  model->unk = (int32_t)unk;
  MICA_TRY(mica__json_bool(object, "byte_fallback", &model->byte_fallback));
  if (model->byte_fallback) find_bytes(tokenizer);
  return MICA_OK;
}

static const struct row {
  const char *type;
  mica_status (*parse)(const cJSON *object, mica_tokenizer *tokenizer);
} rows[] = {
    {"BPE", parse_bpe}, {"WordPiece", parse_wordpiece}, {"Unigram", parse_unigram}, {"WordLevel", parse_wordlevel}};

/* The model's type if the file does not name it, as older files do not; the members show it. */
static const char *type_of(const cJSON *object) {
  if (mica__json_member(object, "merges")) return "BPE";
  if (cJSON_IsArray(mica__json_member(object, "vocab"))) return "Unigram";
  return mica__json_member(object, "max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

mica_status mica__model_parse(const cJSON *object, mica_tokenizer *tokenizer) {
  if (!cJSON_IsObject(object))
    return mica__fail(MICA_E_FORMAT, "model is missing or not an object, so this is not a tokenizer.json");
  const char *type = type_of(object);
  const mica_status known = mica__json_text(object, "type", false, &type);
  if (known != MICA_OK) return mica__fail_in(known, "model");
  tokenizer->model.unk = -1;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].type, type) != 0) continue;
    tokenizer->model.name = rows[i].type;
    const mica_status status = rows[i].parse(object, tokenizer);
    return status == MICA_OK ? MICA_OK : mica__fail_in(status, "model");
  }
  return mica__fail(MICA_E_UNSUPPORTED, "the model's type is '%.40s', but must be BPE, Unigram, WordLevel or WordPiece",
                    type);
}
