/* Contexts of tokens that are not bytes: texts are split into pieces, and contexts made of their ids. */
#include "data/dataset.h"
#include "data/text/contexts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/parts.h"
#include "run/tokens.h"
#include "task/input/contexts.h"

#include <stdlib.h>
#include <string.h>

MICA__FIELDS(contexts, CONTEXTS_SETTINGS, CONTEXTS_FACTS);

/* The most bytes of a piece of a text. Pieces are encoded independently; piece_of says where they end. */
#define PIECE ((size_t)1 << 16)

/* --- data --- */

/* The size in bytes of the piece that begins at `text`: all `bytes` if they fit. Otherwise it ends after its last line
 * break or, if it has none, before a character, so that no UTF-8 character is split. */
static size_t piece_of(const unsigned char *text, size_t bytes) {
  size_t end = bytes < PIECE ? bytes : PIECE;
  if (end == bytes) return end;
  while (end > 0 && text[end - 1] != '\n') end--;
  if (end > 0) return end;
  for (end = PIECE; end > PIECE - 4 && (text[end] & 0xc0) == 0x80;) end--;
  return end;
}

mica_status mica__contexts_pieces(const char *name, const unsigned char *text, size_t bytes, void *owner,
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

mica_status mica__contexts_tokenizer(mica_run *run) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  if (!run->parts->whole) return mica__run_make_tokenizer(run, NULL, NULL);
  mica__texts texts = {.data = data, .column = text_column(data)};
  if (texts.column == mica_dataset_column_count(data))
    return mica__fail(MICA_E_FORMAT, "%s has tokens already, and --tokenizer is for texts; leave it out", run->data);
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

mica_status mica__contexts_derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  const uint64_t samples =
      part == MICA_PART_TRAIN && run->parts->whole ? (uint64_t)mica__contexts_settings_of(run).contexts : 0;
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
    status = mica__dataset_of_contexts(mica_dataset_name(data), &tokens, mica__contexts_settings_of(run).context,
                                       samples, &made);
  }
  mica__ids_free(&ids);
  if (status == MICA_OK) *out = made;
  return status;
}

mica_status mica__contexts_encode(const mica_run *run, const char *name, const char *text, size_t bytes,
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
