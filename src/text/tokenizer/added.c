/* Finds added tokens in a text before the model encodes the text. If several tokens begin at the same byte, the longest
 * is taken. */
#include "text/tokenizer/tokenizer.h"
#include "text/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- reading --- */

static mica_status parse_one(const cJSON *item, mica_tokenizer *tokenizer) {
  const char *text = NULL;
  int64_t id = -1;
  mica__added about = {0};
  bool normalized = true, special = false;
  MICA_TRY(mica__json_text(item, "content", true, &text));
  MICA_TRY(mica__json_integer(item, "id", MICA__MOST_TOKENS - 1, &id));
  MICA_TRY(mica__json_bool(item, "single_word", &about.single_word));
  MICA_TRY(mica__json_bool(item, "lstrip", &about.left));
  MICA_TRY(mica__json_bool(item, "rstrip", &about.right));
  MICA_TRY(mica__json_bool(item, "special", &special));
  normalized = !special;
  MICA_TRY(mica__json_bool(item, "normalized", &normalized));
  if (!*text) return MICA_OK; /* an empty text is never found */
  const size_t bytes = strlen(text);
  const int32_t known = mica__vocab_find(&tokenizer->vocab, &tokenizer->vocab.model, text, bytes);
  if (known >= 0) id = known;
  if (id < 0) return mica__fail(MICA_E_FORMAT, "the token '%.40s' has no id", text);
  MICA_TRY(mica__vocab_set(&tokenizer->vocab, id, text, bytes, true));
  if (id >= tokenizer->about_count) {
    const size_t count = (size_t)id + 1, room = 2 * count;
    mica__added *grown = realloc(tokenizer->about, room * sizeof *grown);
    if (!grown) return mica__fail_nomem("a tokeniser");
    memset(grown + tokenizer->about_count, 0, (room - (size_t)tokenizer->about_count) * sizeof *grown);
    tokenizer->about = grown;
    tokenizer->about_count = (int32_t)room;
  }
  tokenizer->about[id] = about;
  tokenizer->vocab.tokens[id].special = special;
  if (!normalized || tokenizer->normal_count == 0)
    return mica__trie_add(&tokenizer->added[normalized], text, bytes, (int32_t)id, true);
  mica__text buffers[2] = {{0}, {0}};
  const mica__text *out = NULL;
  mica__search search = {NULL};
  mica_status status =
      mica__normals_run(tokenizer->normals, tokenizer->normal_count, &search, text, bytes, buffers, &out);
  if (status == MICA_OK && out->length > MICA__LONGEST_TOKEN)
    status = mica__fail(MICA_E_FORMAT, "the token '%.40s' has more than %d bytes when it is normalised", text,
                        MICA__LONGEST_TOKEN);
  if (status == MICA_OK && out->length)
    status = mica__trie_add(&tokenizer->added[1], out->data, out->length, (int32_t)id, true);
  mica__text_free(&buffers[0]);
  mica__text_free(&buffers[1]);
  mica__search_free(&search);
  return status;
}

mica_status mica__added_parse(const cJSON *list, mica_tokenizer *tokenizer) {
  const cJSON *item = NULL;
  if (list && !cJSON_IsArray(list)) return mica__fail(MICA_E_FORMAT, "added_tokens is not a list");
  cJSON_ArrayForEach(item, list) {
    const mica_status status = parse_one(item, tokenizer);
    if (status != MICA_OK) return mica__fail_in(status, "added_tokens");
  }
  return MICA_OK;
}

/* --- finding --- */

static bool word_before(const char *text, size_t at) {
  size_t n;
  return at > 0 && mica__is_word(mica__utf8_at(text + mica__utf8_last(text, at), &n));
}
static bool word_behind(const char *text, size_t bytes, size_t at) {
  size_t n;
  return at < bytes && mica__is_word(mica__utf8_at(text + at, &n));
}

/* The longest token that begins at `at`; -1: none. */
static int32_t match_at(const mica__trie *trie, const char *text, size_t bytes, size_t at, size_t *end) {
  int32_t id = -1;
  uint32_t node = 0;
  for (size_t i = at; i < bytes; i++) {
    node = mica__trie_next(trie, node, (uint8_t)text[i]);
    if (node == 0) break;
    if (trie->values[node] < 0) continue;
    id = trie->values[node];
    *end = i + 1;
  }
  return id;
}

mica_status mica__added_cut(const mica_tokenizer *tokenizer, bool after, const char *text, size_t bytes, int32_t id,
                            mica__pieces *out) {
  const mica__trie *trie = &tokenizer->added[after];
  size_t done = 0;
  for (size_t at = 0, end = 0; trie->count + (trie->zero != 0) > 0 && at < bytes;) {
    const int32_t found = match_at(trie, text, bytes, at, &end);
    if (found < 0) {
      at++;
      continue;
    }
    const mica__added *about = &tokenizer->about[found];
    size_t begin = at, stop = end, n;
    at = end;
    if (about->single_word && (word_before(text, begin) || word_behind(text, bytes, stop))) continue;
    while (about->left && begin > done) {
      const size_t last = mica__utf8_last(text, begin);
      if (last < done || !mica__is_space(mica__utf8_at(text + last, &n))) break;
      begin = last;
    }
    while (about->right && stop < bytes && mica__is_space(mica__utf8_at(text + stop, &n))) stop += n;
    if (begin > done) MICA_TRY(mica__pieces_add(out, text + done, begin - done, done == 0 ? id : MICA__PIECE_TEXT));
    MICA_TRY(mica__pieces_add(out, "", 0, found));
    done = stop;
  }
  return mica__pieces_add(out, text + done, bytes - done, done == 0 ? id : MICA__PIECE_TEXT);
}
