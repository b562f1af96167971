#include "run/tokens.h"
#include "run/common_facts.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/record.h"
#include "run/settings.h"
#include "run/shared_settings.h"
#include "run/state/parts.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "data/dataset.h"

#include <mica/io.h>
#include <stdlib.h>
#include <string.h>

/* --- the tokeniser --- */

bool mica__tokens_are_bytes(const mica_run *run) { return !strcmp(mica__shared_settings_of(run).tokenizer, "byte"); }

static void hash_of(const mica_tokenizer *tokenizer, char text[MICA__HASH_TEXT]) {
  size_t bytes = 0;
  const char *json = mica_tokenizer_json(tokenizer, &bytes);
  mica__hash_format(mica__hash_bytes((mica__hash){0}, json, bytes), text);
}

static mica_status note(mica_run *run, const char *kind) {
  char hash[MICA__HASH_TEXT];
  const double size = mica_tokenizer_size(run->tokenizer);
  hash_of(run->tokenizer, hash);
  MICA_TRY(mica__run_note(run, "tokenizer", (const char *const[]){kind, hash}, 2));
  return mica__run_note_numbers(run, "vocabulary", &size, 1);
}

/* Opens the tokeniser file in the run's folder, which must be the one that the stored value "tokenizer" describes. */
static mica_status open_own(mica_run *run) {
  char *path = mica__run_path(run, MICA__TOKENIZER_FILE), hash[MICA__HASH_TEXT];
  const mica__fact_texts known = mica__common_facts_of(run).tokenizer;
  if (!path) return mica__fail_nomem("a run");
  mica_status status = mica_tokenizer_open(path, &run->tokenizer);
  free(path);
  if (status != MICA_OK)
    return mica__run_damaged(run, MICA__TOKENIZER_FILE, status == MICA_E_NOT_FOUND ? MICA_E_FORMAT : status);
  const double size = mica_tokenizer_size(run->tokenizer), tokens = mica__common_facts_of(run).vocabulary;
  hash_of(run->tokenizer, hash);
  if (known.count == 2 && !strcmp(known.list[1], hash) && size == tokens) return MICA_OK;
  status = size != tokens ? mica__fail(MICA_E_FORMAT,
                                       MICA__TOKENIZER_FILE " is not the run's own tokeniser: its number of tokens is "
                                                            "%.0f instead of %.0f",
                                       size, tokens)
                          : mica__fail(MICA_E_FORMAT, MICA__TOKENIZER_FILE
                                       " is not the run's own tokeniser: its checksum is not the one in config.json");
  return mica__run_damaged(run, MICA__TOKENIZER_FILE, status);
}

static mica_status train(mica_run *run, mica_tokenizer_kind kind, bool frames, mica_text_fn *next, void *user) {
  static const char *const special[] = {"<unk>", "<pad>", "<s>", "</s>"};
  const mica_tokenizer_config config = {.kind = kind,
                                        .size = (int32_t)mica__shared_settings_of(run).vocabulary,
                                        .lowercase = mica__shared_settings_of(run).lowercase,
                                        .special = frames ? special : NULL,
                                        .special_count = frames ? 4 : 0};
  MICA_TRY(mica_tokenizer_train(&config, next, user, &run->tokenizer));
  return note(run, mica_tokenizer_kind_name(kind));
}

static mica_status make(mica_run *run, bool frames, mica_text_fn *next, void *user) {
  const char *value = mica__shared_settings_of(run).tokenizer;
  mica_tokenizer_kind kind;
  if (run->tokenizer) return MICA_OK;
  if (run->resumed || !run->parts->whole) return open_own(run);
  if (mica__tokenizer_find_kind(value, &kind)) return train(run, kind, frames, next, user);
  MICA_TRY(mica_tokenizer_open(value, &run->tokenizer));
  return note(run, mica_tokenizer_model(run->tokenizer));
}

mica_status mica__run_make_tokenizer(mica_run *run, mica_text_fn *next, void *user) {
  return make(run, false, next, user);
}

mica_status mica__run_make_framing_tokenizer(mica_run *run, mica_text_fn *next, void *user) {
  return make(run, true, next, user);
}

mica_status mica__run_write_tokenizer(const mica_run *run) {
  if (!run->tokenizer) return MICA_OK;
  char *path = mica__run_path(run, MICA__TOKENIZER_FILE);
  mica_status status = path ? mica_tokenizer_save(run->tokenizer, path) : mica__fail_nomem("a run");
  free(path);
  return status;
}

/* --- ids --- */

static mica_status make_room(mica__ids *ids, size_t more) {
  if (ids->count + more > ids->capacity) {
    const size_t capacity = 2 * (ids->count + more) + 1024;
    int32_t *grown = realloc(ids->ids, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("tokens");
    ids->ids = grown;
    ids->capacity = capacity;
  }
  if (ids->texts + 1 >= ids->capacity_texts) {
    const size_t capacity = 2 * ids->texts + 64;
    int64_t *grown = realloc(ids->offsets, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("tokens");
    ids->offsets = grown;
    ids->capacity_texts = capacity;
    if (!ids->texts) ids->offsets[0] = 0;
  }
  return MICA_OK;
}

mica_status mica__ids_append(mica__ids *ids, const int32_t *list, size_t count) {
  MICA_TRY(make_room(ids, count + 1));
  if (count) memcpy(ids->ids + ids->count, list, count * sizeof *list);
  ids->count += count;
  ids->offsets[++ids->texts] = (int64_t)ids->count;
  return MICA_OK;
}

mica_status mica__ids_add(const mica_run *run, const char *name, const char *text, size_t bytes, bool special,
                          int64_t most, bool filled, mica_encoding *work, mica__ids *ids) {
  if (!mica_tokenizer_takes_bytes(run->tokenizer) && mica__utf8_prefix(text, bytes) != bytes)
    return mica__fail(MICA_E_FORMAT, "%s is not UTF-8 at byte %zu", name, mica__utf8_prefix(text, bytes) + 1);
  mica_status status =
      mica_tokenizer_encode(run->tokenizer, text, bytes, &(mica_encode_config){.special = special}, work);
  if (status != MICA_OK) return mica__fail(status, "%s: %s", name, mica_error_message());
  size_t count = work->count;
  const bool long_one = most > 0 && count > (size_t)most, none = !bytes || !count;
  if (long_one) count = (size_t)most;
  static const int32_t zero[1];
  const bool fill = filled && !count;
  MICA_TRY(mica__ids_append(ids, fill ? zero : work->ids, fill ? 1 : count));
  ids->cut += long_one;
  ids->empty += none;
  return MICA_OK;
}

mica_status mica__run_remark_cut(mica_run *run, size_t cut, size_t texts, int64_t most) {
  if (!cut) return MICA_OK;
  return mica__run_remark(run, "%zu of %zu texts are longer than %lld tokens: their ends are not read", cut, texts,
                          (long long)most);
}

void mica__ids_free(mica__ids *ids) {
  free(ids->ids);
  free(ids->offsets);
  *ids = (mica__ids){0};
}

static mica_status encode_all(const mica_run *run, mica__texts *texts, int64_t most, mica__ids *ids) {
  mica_encoding work = {0};
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(texts->data); i++) {
    mica__text name = {0};
    status = mica__texts_read(texts);
    if (status == MICA_OK) status = mica__texts_check(texts);
    mica__text_addf(&name, "%s: text %llu", mica_dataset_name(texts->data), (unsigned long long)i + 1);
    if (status == MICA_OK) status = mica__text_status(&name);
    if (status == MICA_OK)
      status = mica__ids_add(run, name.data, texts->text, texts->bytes, true, most, true, &work, ids);
    mica__text_free(&name);
  }
  mica_encoding_free(&work);
  return status;
}

/* Makes the dataset own ids and offsets. */
static mica_status keep(mica_dataset *data, mica__ids *ids) {
  int32_t *list = ids->ids;
  int64_t *offsets = ids->offsets;
  ids->ids = NULL;
  ids->offsets = NULL;
  mica_status status = mica__store_own(data->store, list, free);
  if (status != MICA_OK) {
    free(offsets);
    return status;
  }
  return mica__store_own(data->store, offsets, free);
}

mica_status mica__tokens_derive(const mica_run *run, const mica_dataset *data, size_t column, const char *name,
                                int64_t most, mica_dataset **out, mica__ids *about) {
  mica__texts texts = {.data = data, .column = column};
  mica__ids ids = {0};
  mica_dataset *made = NULL;
  mica_status status = encode_all(run, &texts, most, &ids);
  const mica_column_data tokens = {.column = {.name = name,
                                              .kind = MICA_COLUMN_KIND_TOKENS,
                                              .dtype = MICA_I32,
                                              .shape = {1, {MICA_DYNAMIC}},
                                              .classes = mica_tokenizer_size(run->tokenizer)},
                                   .data = ids.ids,
                                   .offsets = ids.offsets};
  if (status == MICA_OK) status = mica_dataset_derive(data, &tokens, 1, &made);
  if (about) *about = (mica__ids){.cut = ids.cut, .empty = ids.empty, .texts = ids.texts};
  if (status == MICA_OK) status = keep(made, &ids);
  mica__texts_free(&texts);
  mica__ids_free(&ids);
  if (status == MICA_OK)
    *out = made;
  else
    mica_dataset_destroy(made);
  return status;
}
