/* Finds tokens by id, and ids by bytes. */
#include "text/tokenizer/vocab.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint32_t tag_of(const char *text, size_t length) {
  return (uint32_t)mica__hash_bytes((mica__hash){0, 0}, text, length).low;
}

/* A block of memory for the texts of many tokens. Most tokens have few bytes, but a heap block of its own would take at
 * least 32 bytes per token. */
struct mica__token_texts {
  mica__token_texts *before;
  size_t used;
  char bytes[65536 - 2 * sizeof(size_t)];
};

void mica__vocab_free(mica__vocab *vocab) {
  for (mica__token_texts *block = vocab->texts, *before; block; block = before) {
    before = block->before;
    free(block);
  }
  free(vocab->tokens);
  free(vocab->model.slots);
  free(vocab->added.slots);
}

/* The slot of the bytes, or the free slot for them. */
static size_t slot_of(const mica__vocab *vocab, const mica__token_table *table, const char *text, size_t length,
                      uint32_t tag) {
  size_t slot = tag & (table->size - 1);
  for (; table->slots[slot].id >= 0; slot = (slot + 1) & (table->size - 1)) {
    if (table->slots[slot].tag != tag) continue;
    const mica__token *token = &vocab->tokens[table->slots[slot].id];
    if (token->length == length && !memcmp(token->text, text, length)) break;
  }
  return slot;
}

int32_t mica__vocab_find(const mica__vocab *vocab, const mica__token_table *table, const char *text, size_t length) {
  return table->size ? table->slots[slot_of(vocab, table, text, length, tag_of(text, length))].id : -1;
}

static mica_status grow_table(mica__token_table *table) {
  const mica__token_table old = *table;
  mica__token_table grown = {.size = old.size ? 2 * old.size : 64, .count = old.count};
  grown.slots = malloc(grown.size * sizeof *grown.slots);
  if (!grown.slots) return mica__fail_nomem("a vocabulary");
  for (size_t i = 0; i < grown.size; i++) grown.slots[i] = (mica__token_slot){.id = -1};
  for (size_t i = 0; i < old.size; i++) {
    if (old.slots[i].id < 0) continue;
    size_t slot = old.slots[i].tag & (grown.size - 1);
    while (grown.slots[slot].id >= 0) slot = (slot + 1) & (grown.size - 1);
    grown.slots[slot] = old.slots[i];
  }
  free(old.slots);
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

/* Copies the text and adds a NUL; NULL if memory is short. */
static const char *keep_text(mica__vocab *vocab, const char *text, size_t length) {
  mica__token_texts *block = vocab->texts;
  if (!block || sizeof block->bytes - block->used <= length) {
    if (!(block = malloc(sizeof *block))) return NULL;
    block->before = vocab->texts;
    block->used = 0;
    vocab->texts = block;
  }
  char *copy = block->bytes + block->used;
  if (length) memcpy(copy, text, length);
  copy[length] = '\0';
  block->used += length + 1;
  return copy;
}

mica_status mica__vocab_set(mica__vocab *vocab, int64_t id, const char *text, size_t length, bool added) {
  mica__token_table *table = added ? &vocab->added : &vocab->model;
  if (id < 0 || id >= MICA__MOST_TOKENS)
    return mica__fail(MICA_E_FORMAT, "the token '%.40s' has the id %" PRId64 ", but ids must be 0 to %d", text, id,
                      MICA__MOST_TOKENS - 1);
  if (length > MICA__LONGEST_TOKEN)
    return mica__fail(MICA_E_FORMAT, "the token with the id %" PRId64 " has %zu bytes, but may have at most %d", id,
                      length, MICA__LONGEST_TOKEN);
  if (2 * (table->count + 1) > table->size) MICA_TRY(grow_table(table));
  MICA_TRY(grow_tokens(vocab, (int32_t)id));
  mica__token *token = &vocab->tokens[id];
  if (token->text && (token->length != length || memcmp(token->text, text, length)))
    return mica__fail(MICA_E_FORMAT, "the tokens '%.40s' and '%.40s' both have the id %" PRId64, token->text, text, id);
  if (!token->text) {
    token->text = keep_text(vocab, text, length);
    if (!token->text) return mica__fail_nomem("a vocabulary");
    token->length = (uint32_t)length;
  }
  token->added = token->added || added;
  if (!added && length > vocab->longest) vocab->longest = (uint32_t)length;
  const uint32_t tag = tag_of(text, length);
  const size_t slot = slot_of(vocab, table, text, length, tag);
  table->count += table->slots[slot].id < 0;
  table->slots[slot] = (mica__token_slot){(int32_t)id, tag};
  return MICA_OK;
}
