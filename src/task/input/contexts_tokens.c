/* Language models over tokens that are no bytes: texts in pieces, contexts of their ids, and what is written. */
#include "data/dataset.h"
#include "data/text/contexts.h"
#include "run/state/parts.h"
#include "run/tokens.h"
#include "task/input/contexts.h"

#include <stdlib.h>
#include <string.h>

/* Pieces of a text that are encoded by themselves end with a line, or where so many bytes are one. */
#define PIECE ((size_t)1 << 16)

/* --- data --- */

/* The bytes of the piece that begins at `text`: up to the last end of a line in it, else to a character's beginning. */
static size_t piece_of(const unsigned char *text, size_t bytes) {
  size_t end = bytes < PIECE ? bytes : PIECE;
  if (end == bytes) return end;
  while (end > 0 && text[end - 1] != '\n') end--;
  if (end > 0) return end;
  for (end = PIECE; end > PIECE - 4 && (text[end] & 0xc0) == 0x80;) end--;
  return end;
}

mica_status mica__language_pieces(const char *name, const unsigned char *text, size_t bytes, void *owner,
                                  void (*release)(void *owner), mica_dataset **data) {
  int64_t *offsets = NULL;
  size_t count = 0, at = 0;
  mica_status status = bytes ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s is empty", name);
  if (status == MICA_OK && !(offsets = malloc((2 * bytes / PIECE + 3) * sizeof *offsets)))
    status = mica__fail_nomem("a text");
  for (; status == MICA_OK && at < bytes; at += piece_of(text + at, bytes - at)) offsets[count++] = (int64_t)at;
  if (status == MICA_OK) offsets[count] = (int64_t)bytes;
  const mica_column_data column = {
      .column = {.name = "text", .kind = MICA_COLUMN_KIND_TEXT, .dtype = MICA_U8, .shape = {1, {MICA_DYNAMIC}}},
      .data = text,
      .offsets = offsets};
  if (status == MICA_OK) status = mica_dataset_create(name, count, &column, 1, data);
  if (status != MICA_OK) {
    free(offsets);
    release(owner);
    return status;
  }
  status = mica__store_own((*data)->store, offsets, free);
  if (status == MICA_OK) return mica__store_own((*data)->store, owner, release);
  release(owner);
  return status;
}

static size_t text_column(const mica_dataset *data) { return mica_dataset_column_index(data, "text"); }

mica_status mica__language_tokenizer(mica_run *run) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  if (!run->parts->whole) return mica__run_make_tokenizer(run, NULL, NULL);
  mica__texts texts = {.data = data, .column = text_column(data)};
  if (texts.column == mica_dataset_column_count(data))
    return mica__fail(MICA_E_FORMAT, "%s has tokens already: --tokenizer is for texts", run->data);
  mica_status status = mica__run_make_tokenizer(run, mica__texts_next, &texts);
  mica__texts_free(&texts);
  return status;
}

static mica_status encode_pieces(const mica_run *run, const mica_dataset *data, mica__ids *ids) {
  mica__texts texts = {.data = data, .column = text_column(data)};
  mica_encoding work = {0};
  mica_status status = MICA_OK;
  while (status == MICA_OK && texts.at < mica_dataset_count(data)) {
    status = mica__texts_read(&texts);
    if (status == MICA_OK)
      status = mica__ids_add(run, mica_dataset_name(data), texts.text, texts.bytes, false, 0, false, &work, ids);
  }
  mica_encoding_free(&work);
  mica__texts_free(&texts);
  return status;
}

mica_status mica__language_derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  const uint64_t samples =
      part == MICA_PART_TRAIN && run->parts->whole ? (uint64_t)mica_run_number(run, "contexts") : 0;
  mica__ids ids = {0};
  mica_dataset *made = NULL;
  *out = data;
  if (!run->tokenizer || text_column(data) == mica_dataset_column_count(data)) return MICA_OK;
  mica_status status = encode_pieces(run, data, &ids);
  const mica__tokens tokens = {.tokens = ids.ids,
                               .dtype = MICA_I32,
                               .count = ids.count,
                               .vocabulary = mica_tokenizer_size(run->tokenizer),
                               .owner = ids.ids,
                               .release = free};
  if (status == MICA_OK) {
    ids.ids = NULL;
    status = mica__dataset_of_contexts(mica_dataset_name(data), &tokens, (int64_t)mica_run_number(run, "context"),
                                       samples, &made);
  }
  mica__ids_free(&ids);
  if (status == MICA_OK) *out = made;
  return status;
}

/* --- bytes of tokens --- */

/* The text that a token adds behind another (-1: none), the caller's to mica_free; empty for one that has no text. */
static mica_status text_behind(const mica_tokenizer *t, int32_t before, int32_t id, char **text, size_t *bytes) {
  const int32_t both[] = {before, id};
  char *first = NULL;
  size_t first_bytes = 0;
  *text = NULL;
  *bytes = 0;
  if (!mica_tokenizer_token(t, id)) return MICA_OK;
  if (before < 0 || !mica_tokenizer_token(t, before)) return mica_tokenizer_decode(t, &id, 1, true, text, bytes);
  MICA_TRY(mica_tokenizer_decode(t, &before, 1, true, &first, &first_bytes));
  mica_status status = mica_tokenizer_decode(t, both, 2, true, text, bytes);
  /* What stands behind the first one's text; a decoder that changed that gives the token's own. */
  if (status == MICA_OK && *bytes >= first_bytes && !memcmp(*text, first, first_bytes)) {
    memmove(*text, *text + first_bytes, *bytes - first_bytes);
    *bytes -= first_bytes;
  } else if (status == MICA_OK) {
    mica_free(*text);
    status = mica_tokenizer_decode(t, &id, 1, true, text, bytes);
  }
  mica_free(first);
  return status;
}

/* A token with a text, for others to stand behind: alone some lose a space that they have within a text. -1: none. */
static int32_t token_with_text(const mica_tokenizer *t) {
  for (int32_t i = 0; i < mica_tokenizer_size(t); i++) {
    char *text = NULL;
    size_t bytes = 0;
    const bool has = text_behind(t, -1, i, &text, &bytes) == MICA_OK && bytes > 0;
    mica_free(text);
    if (has) return i;
  }
  return -1;
}

mica_value mica__language_token_bytes(const mica_run *run, mica_graph *graph) {
  const int32_t before = token_with_text(run->tokenizer);
  const int32_t vocabulary = mica_tokenizer_size(run->tokenizer);
  float *lengths = malloc(((size_t)vocabulary + 1) * sizeof *lengths);
  mica_value value = {0};
  bool good = lengths != NULL;
  for (int32_t i = 0; good && i < vocabulary; i++) {
    char *text = NULL;
    size_t bytes = 0;
    good = text_behind(run->tokenizer, before, i, &text, &bytes) == MICA_OK;
    mica_free(text);
    lengths[i] = (float)bytes;
  }
  if (good) value = mica_constant(graph, MICA_F32, MICA_SHAPE(vocabulary), lengths);
  free(lengths);
  return value;
}

/* --- prompts --- */

mica_status mica__language_encode(const mica_run *run, const char *name, const char *text, size_t bytes,
                                  mica__ids *ids) {
  mica_encoding work = {0};
  if (run->tokenizer) {
    mica_status status = mica__ids_add(run, name, text, bytes, false, 0, false, &work, ids);
    mica_encoding_free(&work);
    return status;
  }
  ids->ids = malloc((bytes + 1) * sizeof *ids->ids);
  if (!ids->ids) return mica__fail_nomem("tokens");
  for (size_t i = 0; i < bytes; i++) ids->ids[i] = (unsigned char)text[i];
  ids->count = bytes;
  return MICA_OK;
}

mica_status mica__language_write(const mica_run *run, const mica_run_texts *texts, size_t prompt, int32_t before,
                                 int32_t id, bool *goes_on) {
  const char byte = (char)id;
  char *text = NULL;
  size_t bytes = 0;
  if (!run->tokenizer) {
    *goes_on = texts->text(texts->user, prompt, &byte, 1);
    return MICA_OK;
  }
  MICA_TRY(text_behind(run->tokenizer, before, id, &text, &bytes));
  if (bytes) *goes_on = texts->text(texts->user, prompt, text, bytes);
  mica_free(text);
  return MICA_OK;
}
