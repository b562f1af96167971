/* text/tokenizer/vocab.h: tokens by id, ids by bytes, and tokens that begin a text. */
#ifndef MICA_TEXT_TOKENIZER_VOCAB_H
#define MICA_TEXT_TOKENIZER_VOCAB_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids are below this: the largest vocabularies have a quarter of a million. */
#define MICA__MOST_TOKENS (1 << 22)
/* Bytes of a token, at most: the trie and the search for the longest token depend on it. */
#define MICA__LONGEST_TOKEN 4096

typedef struct mica__token {
  const char *text; /* NULL: no token has this id; a NUL ends it */
  uint32_t length;
  bool added, special;
} mica__token;

/* Ids by their token's bytes: open addressing, at most half full. */
typedef struct mica__token_slot {
  int32_t id;   /* -1: free */
  uint32_t tag; /* the low half of the hash of the bytes: tells most other tokens apart without reading them */
} mica__token_slot;
typedef struct mica__token_table {
  mica__token_slot *slots;
  size_t size, count;
} mica__token_table;

typedef struct mica__token_texts mica__token_texts;

typedef struct mica__vocab {
  mica__token *tokens;
  mica__token_texts *texts; /* the bytes of tokens */
  int32_t size;             /* one more than the largest id */
  int32_t capacity;
  uint32_t longest;        /* bytes of the longest token of the model */
  mica__token_table model; /* what the model knows */
  mica__token_table added; /* what is cut out before it */
} mica__vocab;

void mica__vocab_free(mica__vocab *vocab);
/* Gives an id its token, of the model or added; the bytes are copied. A text that the table has already gets the new
 * id. MICA_E_FORMAT for an id or a length out of range. */
mica_status mica__vocab_set(mica__vocab *vocab, int64_t id, const char *text, size_t length, bool added);
/* The id of the bytes; -1 if they are not a token. */
int32_t mica__vocab_find(const mica__vocab *vocab, const mica__token_table *table, const char *text, size_t length);
/* The token of an id, NULL if it has none. */
static inline const mica__token *mica__vocab_at(const mica__vocab *vocab, int32_t id) {
  return id >= 0 && id < vocab->size && vocab->tokens[id].text ? &vocab->tokens[id] : NULL;
}

/* A trie of bytes: its edges lie in one hash table, by node and byte. */
typedef struct mica__trie_edge {
  uint32_t key; /* node << 8 | byte; free: 0, as no edge leads from the root by a byte 0 (that one is `zero`) */
  uint32_t node;
} mica__trie_edge;
typedef struct mica__trie {
  mica__trie_edge *edges;
  size_t size, count;
  int32_t *values; /* of each node; -1: nothing ends here */
  uint32_t nodes, room;
  uint32_t zero; /* the root's child by the byte 0; 0: none */
} mica__trie;

/* Zero-initialise; value (0 or above) ends where the bytes do. The first value of equal bytes stays where `keep`. */
mica_status mica__trie_add(mica__trie *trie, const char *text, size_t length, int32_t value, bool keep);
void mica__trie_free(mica__trie *trie);
/* The child of a node (the root is 0); 0 if it does not exist. */
uint32_t mica__trie_next(const mica__trie *trie, uint32_t node, uint8_t byte);

#endif
