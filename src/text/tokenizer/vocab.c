/* Tokens by id and ids by bytes. */
#include "text/tokenizer/vocab.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *text, size_t length) {
  return (size_t)mica__hash_bytes((mica__hash){0, 0}, text, length).low;
}

void mica__vocab_free(mica__vocab *vocab) {
  for (int32_t i = 0; i < vocab->size; i++) free((void *)(uintptr_t)vocab->tokens[i].text);
  free(vocab->tokens);
  free(vocab->model.ids);
  free(vocab->added.ids);
}

/* The slot of the bytes, or the free one where they would lie. */
static size_t slot_of(const mica__vocab *vocab, const mica__token_table *table, const char *text, size_t length) {
  size_t slot = hash_of(text, length) & (table->size - 1);
  for (; table->ids[slot] >= 0; slot = (slot + 1) & (table->size - 1)) {
    const mica__token *token = &vocab->tokens[table->ids[slot]];
    if (token->length == length && !memcmp(token->text, text, length)) break;
  }
  return slot;
}

int32_t mica__vocab_find(const mica__vocab *vocab, const mica__token_table *table, const char *text, size_t length) {
  return table->size ? table->ids[slot_of(vocab, table, text, length)] : -1;
}

static mica_status grow_table(const mica__vocab *vocab, mica__token_table *table) {
  const mica__token_table old = *table;
  mica__token_table grown = {.size = old.size ? 2 * old.size : 64, .count = old.count};
  grown.ids = malloc(grown.size * sizeof *grown.ids);
  if (!grown.ids) return mica__fail_nomem("a vocabulary");
  memset(grown.ids, 0xff, grown.size * sizeof *grown.ids);
  for (size_t i = 0; i < old.size; i++) {
    if (old.ids[i] < 0) continue;
    const mica__token *token = &vocab->tokens[old.ids[i]];
    grown.ids[slot_of(vocab, &grown, token->text, token->length)] = old.ids[i];
  }
  free(old.ids);
  *table = grown;
  return MICA_OK;
}

static mica_status grow_tokens(mica__vocab *vocab, int32_t id) {
  if (id >= vocab->capacity) {
    int32_t capacity = vocab->capacity ? vocab->capacity : 256;
    while (capacity <= id) capacity *= 2;
    mica__token *grown = realloc(vocab->tokens, (size_t)capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a vocabulary");
    vocab->tokens = grown;
    vocab->capacity = capacity;
  }
  for (; vocab->size <= id; vocab->size++) vocab->tokens[vocab->size] = (mica__token){0};
  return MICA_OK;
}

mica_status mica__vocab_set(mica__vocab *vocab, int64_t id, const char *text, size_t length, bool added) {
  mica__token_table *table = added ? &vocab->added : &vocab->model;
  if (id < 0 || id >= MICA__MOST_TOKENS)
    return mica__fail(MICA_E_FORMAT, "the token '%.40s' has the id %" PRId64 ", not one of 0 to %d", text, id,
                      MICA__MOST_TOKENS - 1);
  if (length > MICA__LONGEST_TOKEN)
    return mica__fail(MICA_E_FORMAT, "the token %" PRId64 " has %zu bytes, more than %d", id, length,
                      MICA__LONGEST_TOKEN);
  if (2 * (table->count + 1) > table->size) MICA_TRY(grow_table(vocab, table));
  MICA_TRY(grow_tokens(vocab, (int32_t)id));
  mica__token *token = &vocab->tokens[id];
  if (token->text && (token->length != length || memcmp(token->text, text, length)))
    return mica__fail(MICA_E_FORMAT, "the tokens '%.40s' and '%.40s' both have the id %" PRId64, token->text, text, id);
  if (!token->text) {
    char *copy = malloc(length + 1);
    if (!copy) return mica__fail_nomem("a vocabulary");
    memcpy(copy, text, length);
    copy[length] = '\0';
    token->text = copy;
    token->length = (uint32_t)length;
  }
  token->added = token->added || added;
  if (!added && length > vocab->longest) vocab->longest = (uint32_t)length;
  const size_t slot = slot_of(vocab, table, text, length);
  table->count += table->ids[slot] < 0;
  table->ids[slot] = (int32_t)id;
  return MICA_OK;
}
