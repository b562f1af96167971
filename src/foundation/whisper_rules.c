/* Rules of Whisper's decoding, from generation_config.json, config.json and the names of tokens. */
#include "foundation/whisper.h"

#include "base/signature.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>
#endif

/* --- keys of two files --- */

/* generation_config.json has priority; its json is NULL if there is no file. */
typedef struct files {
  mica__config_source generation, config;
  int64_t vocabulary;
} files;

static const mica__config_source *source_of(const files *f, const char *key) {
  const mica__config_value found = mica__config_find(&f->generation, key, "");
  return found.kind == MICA__CONFIG_ABSENT ? &f->config : &f->generation;
}

/* Reads a token id; -1: none. */
static mica_status read_token(const files *f, const char *key, int32_t *token) {
  int64_t value = -1;
  MICA_TRY(mica__config_count(source_of(f, key), key, key, "", -2, 0, f->vocabulary - 1, &value));
  *token = value < 0 ? -1 : (int32_t)value;
  return MICA_OK;
}

static mica_status read_tokens(const files *f, const char *key, mica__whisper_tokens *tokens) {
  const mica__config_source *from = source_of(f, key);
  const mica__config_value list = mica__config_find(from, key, "");
  if (list.kind == MICA__CONFIG_ABSENT) return MICA_OK;
  if (list.kind != MICA__CONFIG_LIST || list.count > (size_t)f->vocabulary)
    return mica__fail(MICA_E_FORMAT, "%s: the key %s must be a list of at most %" PRId64 " tokens", from->path, key,
                      f->vocabulary);
  tokens->ids = calloc(list.count + 1, sizeof *tokens->ids);
  if (!tokens->ids) return mica__fail_nomem(from->path);
  for (size_t i = 0; i < list.count; i++) {
    const mica__config_value one = mica__config_at(&list, i);
    if (one.kind != MICA__CONFIG_NUMBER || !(one.number >= 0 && one.number < (double)f->vocabulary) ||
        one.number != (double)(int32_t)one.number)
      return mica__fail(MICA_E_FORMAT, "%s: the key %s must list tokens from 0 to %" PRId64, from->path, key,
                        f->vocabulary - 1);
    tokens->ids[tokens->count++] = (int32_t)one.number;
  }
  return MICA_OK;
}

static mica_status read_all(const files *f, const mica_foundation *model, mica__whisper_rules *r) {
  const int64_t positions = model->info.context;
  int64_t limit = -1;
  MICA_TRY(read_token(f, "decoder_start_token_id", &r->start));
  MICA_TRY(read_token(f, "no_timestamps_token_id", &r->no_timestamps));
  MICA_TRY(read_token(f, "prev_sot_token_id", &r->previous));
  MICA_TRY(read_tokens(f, "suppress_tokens", &r->suppressed));
  MICA_TRY(read_tokens(f, "begin_suppress_tokens", &r->suppressed_first));
  MICA_TRY(mica__config_count(&f->generation, "latest first timestamp", "max_initial_timestamp_index", "", -2, 0,
                              f->vocabulary, &limit));
  MICA_TRY(mica__config_count(&f->generation, "maximum number of tokens", "max_length", "", positions, 1, INT32_MAX,
                              &r->longest));
  /* OpenAI's multilingual models have a vocabulary of at least 51,865 tokens; the English-only ones have 51,864. */
  MICA_TRY(mica__config_flag(&f->generation, "is_multilingual", "", f->vocabulary >= 51865, &r->multilingual));
  r->first_limit = limit < 0 ? -1 : (int32_t)limit;
  r->end = model->info.end_count ? model->info.ends[0] : -1;
  return MICA_OK;
}

#if MICA_WITH_CJSON
mica_status mica__whisper_rules_read(const char *path, const char *text, size_t bytes, const mica_foundation *model,
                                     mica__whisper_rules *rules) {
  cJSON *root = NULL;
  *rules = (mica__whisper_rules){.translate = -1, .transcribe = -1, .previous = -1};
  mica_status status = text ? mica__folder_parse(path, text, bytes, &root) : MICA_OK;
  const files f = {.generation = {.path = path, .json = root, .root = root},
                   .config = {.path = model->path, .json = model->config, .root = model->config},
                   .vocabulary = model->info.vocabulary};
  if (status == MICA_OK) status = read_all(&f, model, rules);
  cJSON_Delete(root);
  if (status != MICA_OK) mica__whisper_rules_free(rules);
  return status;
}

mica_status mica__whisper_features_check(const char *path, const char *text, size_t bytes,
                                         const mica_foundation *model) {
  const mica_foundation_info *sound = model->info.sound;
  const struct {
    const char *key;
    int64_t wanted;
  } rows[] = {{"sampling_rate", MICA_WHISPER_RATE},
              {"hop_length", MICA_WHISPER_RATE / 100},
              {"n_fft", MICA_WHISPER_RATE / 40},
              {"feature_size", sound->bins},
              {"nb_max_frames", 2 * sound->context}};
  cJSON *root = NULL;
  mica_status status = mica__folder_parse(path, text, bytes, &root);
  const mica__config_source facts = {.path = path, .json = root, .root = root};
  for (size_t i = 0; status == MICA_OK && i < sizeof rows / sizeof *rows; i++) {
    int64_t found = 0;
    status = mica__config_count(&facts, rows[i].key, rows[i].key, "", rows[i].wanted, 0, INT32_MAX, &found);
    if (status == MICA_OK && found != rows[i].wanted)
      status = mica__fail(MICA_E_UNSUPPORTED, "%s: the key %s is %" PRId64 ", but must be %" PRId64, path, rows[i].key,
                          found, rows[i].wanted);
  }
  cJSON_Delete(root);
  return status;
}
#else
mica_status mica__whisper_rules_read(const char *path, const char *text, size_t bytes, const mica_foundation *model,
                                     mica__whisper_rules *rules) {
  (void)text, (void)bytes, (void)rules, (void)read_all, (void)model;
  return mica__fail_lacks(path, "cJSON");
}
mica_status mica__whisper_features_check(const char *path, const char *text, size_t bytes,
                                         const mica_foundation *model) {
  (void)text, (void)bytes, (void)model;
  return mica__fail_lacks(path, "cJSON");
}
#endif

void mica__whisper_rules_free(mica__whisper_rules *r) {
  free(r->suppressed.ids);
  free(r->suppressed_first.ids);
  *r = (mica__whisper_rules){0};
}

/* --- names of tokens --- */

static mica_status need(const mica_foundation *model, const mica_tokenizer *tokenizer, const char *name,
                        int32_t *token) {
  if (*token < 0) *token = mica_tokenizer_id(tokenizer, name);
  if (*token >= 0 && *token < model->info.vocabulary) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the tokenizer has no token %s that the model knows", model->path, name);
}

mica_status mica__whisper_rules_name(const mica_foundation *model, const mica_tokenizer *tokenizer,
                                     mica__whisper_rules *r) {
  MICA_TRY(need(model, tokenizer, "<|startoftranscript|>", &r->start));
  MICA_TRY(need(model, tokenizer, "<|endoftext|>", &r->end));
  MICA_TRY(need(model, tokenizer, "<|notimestamps|>", &r->no_timestamps));
  if (r->no_timestamps < 1 || r->no_timestamps >= model->info.vocabulary - 1)
    return mica__fail(MICA_E_FORMAT, "%s: no timestamp tokens follow the token <|notimestamps|>", model->path);
  if (r->previous < 0) r->previous = mica_tokenizer_id(tokenizer, "<|startofprev|>");
  if (r->previous >= model->info.vocabulary) r->previous = -1;
  if (!r->multilingual) return MICA_OK;
  MICA_TRY(need(model, tokenizer, "<|transcribe|>", &r->transcribe));
  MICA_TRY(need(model, tokenizer, "<|translate|>", &r->translate));
  const int32_t first_task = r->translate < r->transcribe ? r->translate : r->transcribe;
  if (first_task > r->start + 1) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s: no language tokens are between <|startoftranscript|> and <|transcribe|> or <|translate|>",
                    model->path);
}

int32_t mica__whisper_last_language(const mica__whisper_rules *r) {
  return (r->translate < r->transcribe ? r->translate : r->transcribe) - 1;
}

/* --- the files of a folder --- */

/* Reads a file; *text stays NULL if it is missing. */
static mica_status read_if_there(const mica_foundation *model, const char *name, mica__text *path, unsigned char **text,
                                 size_t *bytes) {
  mica__text_addf(path, "%s/%s", model->path, name);
  MICA_TRY(mica__text_status(path));
  mica__attempt_begin();
  const mica_status status = mica__file_read_signed(path->data, text, bytes);
  if (status != MICA_OK && status != MICA_E_NOT_FOUND) return mica__attempt_pass(status);
  mica__attempt_end();
  return MICA_OK;
}

mica_status mica__whisper_rules_open(const mica_foundation *model, const mica_tokenizer *tokenizer,
                                     mica__whisper_rules *rules) {
  mica__text path = {0}, other = {0};
  unsigned char *text = NULL, *features = NULL;
  size_t bytes = 0, feature_bytes = 0;
  mica_status status = read_if_there(model, "preprocessor_config.json", &other, &features, &feature_bytes);
  if (status == MICA_OK && features)
    status = mica__whisper_features_check(other.data, (const char *)features, feature_bytes, model);
  if (status == MICA_OK) status = read_if_there(model, "generation_config.json", &path, &text, &bytes);
  if (status == MICA_OK) status = mica__whisper_rules_read(path.data, (const char *)text, bytes, model, rules);
  if (status == MICA_OK) status = mica__whisper_rules_name(model, tokenizer, rules);
  free(text);
  free(features);
  mica__text_free(&path);
  mica__text_free(&other);
  return status;
}
