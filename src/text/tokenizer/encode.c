/* Encoding: cuts out added tokens, normalises and cuts the rest, runs the model, and adds special tokens around the
 * ids. */
#include "base/utf8.h"
#include "text/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_TEXT ((size_t)1 << 30)

/* Adds a text that may not be UTF-8; each invalid byte becomes its own piece. */
static mica_status add_bytes(const mica_tokenizer *tokenizer, const char *text, size_t bytes, mica__pieces *out) {
  int32_t id = MICA__PIECE_FIRST;
  while (bytes > 0) {
    const size_t valid = mica__utf8_prefix(text, bytes);
    if (valid) MICA_TRY(mica__added_cut(tokenizer, false, text, valid, id, out));
    text += valid;
    bytes -= valid;
    if (bytes > 0) MICA_TRY(mica__pieces_add(out, text, 1, MICA__PIECE_RAW));
    text += bytes > 0;
    bytes -= bytes > 0;
    id = MICA__PIECE_TEXT;
  }
  return MICA_OK;
}

/* Normalises the pieces that are not tokens, and searches them for added tokens again. */
static mica_status normalise(const mica_tokenizer *tokenizer, mica__work *work, const mica__pieces *in,
                             mica__pieces *out) {
  for (size_t k = 0; k < in->count; k++) {
    const mica__piece *piece = &in->list[k];
    const char *text = in->text.data + piece->begin;
    size_t bytes = piece->length;
    const mica__text *normal = NULL;
    if (piece->id >= 0 || piece->id == MICA__PIECE_RAW) {
      MICA_TRY(mica__pieces_add(out, text, bytes, piece->id));
      continue;
    }
    MICA_TRY(mica__normals_run(tokenizer->normals, tokenizer->normal_count, &work->search, text, bytes, work->buffers,
                               &normal));
    if (normal) {
      text = normal->data;
      bytes = normal->length;
    }
    MICA_TRY(mica__added_cut(tokenizer, true, text, bytes, piece->id, out));
  }
  return MICA_OK;
}

mica_status mica__text_pieces(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                              const mica__pieces **pieces) {
  if (bytes > LONGEST_TEXT)
    return mica__fail(MICA_E_INVALID, "a text has %zu bytes, but may have at most 1 GiB", bytes);
  const size_t valid = mica__utf8_prefix(text, bytes);
  if (valid < bytes && !tokenizer->takes_bytes)
    return mica__fail(MICA_E_FORMAT,
                      "the text is not UTF-8 at byte %zu, but must be, since the tokeniser is not byte-level", valid);
  mica__pieces_clear(&work->pieces[0]);
  mica__pieces_clear(&work->pieces[1]);
  if (valid < bytes)
    MICA_TRY(add_bytes(tokenizer, text, bytes, &work->pieces[0]));
  else
    MICA_TRY(mica__added_cut(tokenizer, false, text, bytes, MICA__PIECE_FIRST, &work->pieces[0]));
  MICA_TRY(normalise(tokenizer, work, &work->pieces[0], &work->pieces[1]));
  return mica__cuts_run(tokenizer->cuts, tokenizer->cut_count, &work->search, work->pieces, 1, pieces);
}

/* Appends the ids of a text, without special tokens around it. */
static mica_status encode_text(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                               mica_encoding *out) {
  const mica__pieces *pieces = NULL;
  if (bytes == 0) return MICA_OK;
  MICA_TRY(mica__text_pieces(tokenizer, work, text, bytes, &pieces));
  for (size_t k = 0; k < pieces->count; k++) {
    const mica__piece *piece = &pieces->list[k];
    if (piece->id >= 0)
      MICA_TRY(mica__encoding_add(out, piece->id));
    else
      MICA_TRY(mica__model_encode(tokenizer, work, pieces->text.data + piece->begin, piece->length, out));
  }
  return MICA_OK;
}

static mica_status prepare(const mica_tokenizer *tokenizer, mica_encoding *encoding, mica__work **out) {
  mica__work *work = encoding->work;
  if (!work) {
    work = encoding->work = calloc(1, sizeof *work);
    if (!work) return mica__fail_nomem("an encoding");
  }
  if (work->serial != tokenizer->serial && work->known) memset(work->known, 0, MICA__KNOWN_WORDS * sizeof *work->known);
  work->serial = tokenizer->serial;
  *out = work;
  return MICA_OK;
}

/* Sets the types of ids from index `from` on. Grows the array of types to the capacity of the array of ids. */
static mica_status set_types(mica_encoding *encoding, size_t from, uint8_t type) {
  uint8_t *grown = realloc(encoding->types, encoding->capacity ? encoding->capacity : 1);
  if (!grown) return mica__fail_nomem("an encoding");
  encoding->types = grown;
  memset(grown + from, type, encoding->count - from);
  return MICA_OK;
}

static mica_status encode_all(const mica_tokenizer *tokenizer, mica__work *work, const char *const texts[2],
                              const size_t bytes[2], bool special, mica_encoding *encoding) {
  static const mica__frame_piece plain[] = {{0, 0, NULL, 0}, {1, 1, NULL, 0}};
  const bool two = texts[1] != NULL;
  const mica__frame *frame = &tokenizer->frames[two];
  const mica__frame_piece *pieces = tokenizer->framed ? frame->pieces : plain;
  const size_t count = tokenizer->framed ? frame->count : two ? 2 : 1;
  for (size_t i = 0; i < count; i++) {
    const size_t from = encoding->count;
    if (pieces[i].sequence >= 0)
      MICA_TRY(encode_text(tokenizer, work, texts[pieces[i].sequence], bytes[pieces[i].sequence], encoding));
    for (size_t k = 0; k < pieces[i].count && special; k++) MICA_TRY(mica__encoding_add(encoding, pieces[i].ids[k]));
    MICA_TRY(set_types(encoding, from, pieces[i].type));
  }
  return MICA_OK;
}

mica_status mica_tokenizer_encode(const mica_tokenizer *tokenizer, const char *text, size_t bytes,
                                  const mica_encode_config *config, mica_encoding *encoding) {
  static const mica_encode_config none = {0};
  mica__work *work = NULL;
  if (!tokenizer || (!text && bytes) || !encoding)
    return mica__fail(MICA_E_INVALID, "mica_tokenizer_encode: tokenizer, text or encoding is NULL");
  if (!config) config = &none;
  MICA_TRY(prepare(tokenizer, encoding, &work));
  encoding->count = 0;
  const char *const texts[2] = {text ? text : "", config->second};
  const size_t sizes[2] = {bytes, config->second ? config->second_bytes : 0};
  const mica_status status = encode_all(tokenizer, work, texts, sizes, config->special, encoding);
  if (status != MICA_OK) encoding->count = 0;
  return status;
}
