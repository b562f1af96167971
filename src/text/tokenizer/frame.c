/* Post-processors: put special tokens around one text, or around two. */
#include "text/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* Maximum pieces of a template, and tokens of a piece. */
#define MOST_PIECES 64

void mica__frame_free(mica__frame *frame) {
  for (size_t i = 0; i < frame->count; i++) free(frame->pieces[i].ids);
  free(frame->pieces);
}

/* Adds a piece: the first or the second text (`sequence` 0 or 1), or ids (`sequence` -1). */
static mica_status add_piece(mica__frame *frame, int32_t sequence, uint8_t type, const int32_t *ids, size_t count) {
  if (frame->count == MOST_PIECES)
    return mica__fail(MICA_E_FORMAT, "the template has more than %d pieces", MOST_PIECES);
  mica__frame_piece *grown = realloc(frame->pieces, (frame->count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a tokeniser");
  frame->pieces = grown;
  mica__frame_piece *piece = &grown[frame->count];
  *piece = (mica__frame_piece){sequence, type, NULL, count};
  if (count) {
    piece->ids = malloc(count * sizeof *ids);
    if (!piece->ids) return mica__fail_nomem("a tokeniser");
    memcpy(piece->ids, ids, count * sizeof *ids);
  }
  frame->count++;
  return MICA_OK;
}

/* Adds the ids of a special token: special_tokens.NAME.ids. */
static mica_status add_special(const cJSON *specials, const char *name, uint8_t type, const mica_tokenizer *tokenizer,
                               mica__frame *frame) {
  const cJSON *special = mica__json_member(specials, name), *list = NULL, *item = NULL;
  int32_t ids[MOST_PIECES];
  size_t count = 0;
  if (!special) return mica__fail(MICA_E_FORMAT, "special_tokens does not have '%.40s'", name);
  MICA_TRY(mica__json_list(special, "ids", &list));
  cJSON_ArrayForEach(item, list) {
    int64_t id = 0;
    if (count == MOST_PIECES) return mica__fail(MICA_E_FORMAT, "'%.40s' has more than %d ids", name, MOST_PIECES);
    MICA_TRY(mica__json_whole(item, "each id in special_tokens", MICA__MOST_TOKENS - 1, &id));
    if (!mica__vocab_at(&tokenizer->vocab, (int32_t)id))
      return mica__fail(MICA_E_FORMAT, "'%.40s' has the id %d, but there is no token with this id", name, (int)id);
    ids[count++] = (int32_t)id;
  }
  return add_piece(frame, -1, type, ids, count);
}

static mica_status parse_frame(const cJSON *object, const char *key, const mica_tokenizer *tokenizer,
                               mica__frame *frame) {
  const cJSON *list = NULL, *item = NULL;
  MICA_TRY(mica__json_list(object, key, &list));
  cJSON_ArrayForEach(item, list) {
    const cJSON *special = mica__json_member(item, "SpecialToken"), *text = mica__json_member(item, "Sequence");
    const cJSON *piece = special ? special : text;
    const char *id = NULL;
    int64_t type = 0;
    if (!piece) return mica__fail(MICA_E_FORMAT, "%s: a piece must be a SpecialToken or a Sequence", key);
    MICA_TRY(mica__json_text(piece, "id", true, &id));
    MICA_TRY(mica__json_integer(piece, "type_id", 255, &type));
    if (special) {
      MICA_TRY(add_special(mica__json_member(object, "special_tokens"), id, (uint8_t)type, tokenizer, frame));
    } else {
      if (strcmp(id, "A") != 0 && strcmp(id, "B") != 0)
        return mica__fail(MICA_E_FORMAT, "%s: the sequence is '%.40s', but must be A or B", key, id);
      if (id[0] == 'B' && strcmp(key, "single") == 0)
        return mica__fail(MICA_E_FORMAT, "single: a template of one text cannot have the sequence B");
      MICA_TRY(add_piece(frame, id[0] == 'B', (uint8_t)type, NULL, 0));
    }
  }
  return MICA_OK;
}

static mica_status parse_template(const cJSON *object, mica_tokenizer *tokenizer) {
  MICA_TRY(parse_frame(object, "single", tokenizer, &tokenizer->frames[0]));
  return parse_frame(object, "pair", tokenizer, &tokenizer->frames[1]);
}

/* Reads an end token: ["[SEP]", 3]. `what` names its id in error messages. */
static mica_status parse_end(const cJSON *object, const char *key, const char *what, const mica_tokenizer *tokenizer,
                             int32_t *id) {
  const cJSON *list = NULL;
  int64_t number = 0;
  MICA_TRY(mica__json_list(object, key, &list));
  MICA_TRY(mica__json_whole(cJSON_GetArrayItem(list, 1), what, MICA__MOST_TOKENS - 1, &number));
  *id = (int32_t)number;
  if (!mica__vocab_at(&tokenizer->vocab, *id))
    return mica__fail(MICA_E_FORMAT, "%s has the id %d, but there is no token with this id", key, (int)*id);
  return MICA_OK;
}

/* Adds the templates "cls A sep" for one text and "cls A sep B sep" for two, where B and the sep after it have type 1.
 * For RoBERTa, the template for two texts is "cls A sep sep B sep", and all types are 0. */
static mica_status parse_ends(const cJSON *object, bool roberta, mica_tokenizer *tokenizer) {
  int32_t sep[2] = {0, 0}, cls = 0;
  MICA_TRY(parse_end(object, "sep", "the id in sep", tokenizer, &sep[0]));
  MICA_TRY(parse_end(object, "cls", "the id in cls", tokenizer, &cls));
  sep[1] = sep[0];
  for (int two = 0; two < 2; two++) {
    mica__frame *frame = &tokenizer->frames[two];
    MICA_TRY(add_piece(frame, -1, 0, &cls, 1));
    MICA_TRY(add_piece(frame, 0, 0, NULL, 0));
    MICA_TRY(add_piece(frame, -1, 0, sep, two && roberta ? 2 : 1));
    if (!two) continue;
    MICA_TRY(add_piece(frame, 1, !roberta, NULL, 0));
    MICA_TRY(add_piece(frame, -1, !roberta, sep, 1));
  }
  return MICA_OK;
}

static mica_status parse_step(void *user, const cJSON *object, const char *type) {
  mica_tokenizer *tokenizer = user;
  if (!strcmp(type, "ByteLevel")) return MICA_OK; /* changes only positions in the text, which are not kept */
  const bool roberta = !strcmp(type, "RobertaProcessing"), bert = !strcmp(type, "BertProcessing");
  if (!roberta && !bert && strcmp(type, "TemplateProcessing") != 0)
    return mica__fail(MICA_E_UNSUPPORTED, "this type of post-processor is not supported");
  if (tokenizer->framed) return mica__fail(MICA_E_UNSUPPORTED, "a second template is not supported");
  tokenizer->framed = true;
  return roberta || bert ? parse_ends(object, roberta, tokenizer) : parse_template(object, tokenizer);
}

mica_status mica__frames_parse(const cJSON *object, mica_tokenizer *tokenizer) {
  return mica__json_steps(object, "post_processor", "processors", parse_step, tokenizer);
}
