/* text/byte_trie.h: the bytes that each token adds to a text, as a trie whose nodes are stored in preorder. */
#ifndef MICA_TEXT_BYTE_TRIE_H
#define MICA_TEXT_BYTE_TRIE_H

#include "base/text.h"

#include <mica/tokenizer.h>
#include <stdint.h>

/* Node i has the byte bytes[i] at depth depths[i]. The root is not stored; its children have depth 1. The descendants
 * of node i are the nodes i + 1 to ends[i] - 1. The tokens ids[first[i]] to ids[first[i + 1] - 1] end in node i. Tokens
 * without bytes, such as special tokens, are not in the trie. */
typedef struct mica__byte_trie {
  int32_t tokens; /* size of the vocabulary */
  uint32_t count; /* nodes */
  uint8_t *bytes;
  uint16_t *depths;
  uint32_t *ends, *first;
  int32_t *ids;
  char *text; /* the bytes of token t are text[at[t]] to text[at[t + 1] - 1] */
  size_t *at;
  uint32_t deepest;
} mica__byte_trie;

/* Builds the trie of `tokens` tokens from the text and the numbers that the members text and at describe. Takes over
 * `text` (its data) and `at` (tokens + 1 numbers, on the heap), even if it fails. */
mica_status mica__byte_trie_create(char *text, size_t *at, int32_t tokens, mica__byte_trie **trie);
void mica__byte_trie_free(mica__byte_trie *trie);

/* The trie of a tokeniser, built on the first call and owned by the tokeniser. Any thread may call it. */
mica_status mica__tokenizer_byte_trie(const mica_tokenizer *tokenizer, const mica__byte_trie **trie);

#endif
