/* text/tokenizer/vocab.h: tokens by id, ids by bytes, and a trie to find tokens at the beginning of a text. */
#ifndef MICA_TEXT_TOKENIZER_VOCAB_H
#define MICA_TEXT_TOKENIZER_VOCAB_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Upper bound of ids; the largest vocabularies have a quarter of a million tokens. */
#define MICA__MOST_TOKENS (1 << 22)
/* Maximum bytes of a token; limits the trie and the search for the longest token. */
#define MICA__LONGEST_TOKEN 4096

typedef struct mica__token {
  const char *text; /* ends in a NUL; NULL: no token has this id */
  uint32_t length;
  bool added, special;
} mica__token;

/* A hash table of ids by the bytes of their tokens: open addressing, at most half full. */
typedef struct mica__token_slot {
  int32_t id;   /* -1: free */
  uint32_t tag; /* low half of the bytes' hash; most other tokens differ in it */
} mica__token_slot;
typedef struct mica__token_table {
  mica__token_slot *slots;
  size_t size, count;
} mica__token_table;

typedef struct mica__token_texts mica__token_texts;

typedef struct mica__vocab {
  mica__token *tokens;
  mica__token_texts *texts; /* the bytes of tokens */
  int32_t size;             /* the largest id plus 1 */
  int32_t capacity;
  uint32_t longest;        /* bytes of the longest token of the model */
  mica__token_table model; /* tokens of the model */
  mica__token_table added; /* tokens that are cut out before the model runs */
} mica__vocab;

void mica__vocab_free(mica__vocab *vocab);
/* Sets the token of an id, in the table `added` or `model`, and copies its bytes. If the table already has the text,
 * the text gets the new id. MICA_E_FORMAT: the id or the length is out of range, or the id has another text. */
mica_status mica__vocab_set(mica__vocab *vocab, int64_t id, const char *text, size_t length, bool added);
/* The id of these bytes; -1: they are not a token. */
int32_t mica__vocab_find(const mica__vocab *vocab, const mica__token_table *table, const char *text, size_t length);
/* The token of an id; NULL if it has none. */
static inline const mica__token *mica__vocab_at(const mica__vocab *vocab, int32_t id) {
  return id >= 0 && id < vocab->size && vocab->tokens[id].text ? &vocab->tokens[id] : NULL;
}

/* A trie of bytes; one hash table holds its edges, by node and byte. */
typedef struct mica__trie_edge {
  uint32_t key; /* node << 8 | byte; 0: free, because the root's edge for byte 0 is in `zero` */
  uint32_t node;
} mica__trie_edge;
typedef struct mica__trie {
  mica__trie_edge *edges;
  size_t size, count;
  int32_t *values; /* of each node; -1: no text ends here */
  uint32_t nodes, room;
  uint32_t zero; /* the root's child for byte 0; 0: none */
} mica__trie;

/* Adds a text with its value (0 or above). If the trie has the text already, `keep` decides whether the old value
 * stays. Zero-initialise the trie. */
mica_status mica__trie_add(mica__trie *trie, const char *text, size_t length, int32_t value, bool keep);
void mica__trie_free(mica__trie *trie);
/* The child of a node; 0: none. The root is 0. */
uint32_t mica__trie_next(const mica__trie *trie, uint32_t node, uint8_t byte);

#endif
