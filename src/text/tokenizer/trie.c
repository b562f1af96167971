/* A trie of bytes in one hash table. */
#include "text/tokenizer/vocab.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of nodes: a node and a byte form a 32-bit key. */
#define MOST_NODES (1u << 24)

void mica__trie_free(mica__trie *trie) {
  free(trie->edges);
  free(trie->values);
}

static size_t slot_of(const mica__trie_edge *edges, size_t size, uint32_t key) {
  size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (size - 1);
  while (edges[slot].key && edges[slot].key != key) slot = (slot + 1) & (size - 1);
  return slot;
}

uint32_t mica__trie_next(const mica__trie *trie, uint32_t node, uint8_t byte) {
  const uint32_t key = node << 8 | byte;
  if (key == 0) return trie->zero;
  if (trie->size == 0) return 0;
  const mica__trie_edge *edge = &trie->edges[slot_of(trie->edges, trie->size, key)];
  return edge->key ? edge->node : 0;
}

static mica_status grow(mica__trie *trie) {
  if (trie->nodes + 2 > trie->room) {
    const uint32_t room = trie->room ? 2 * trie->room : 256;
    int32_t *values = realloc(trie->values, room * sizeof *values);
    if (!values) return mica__fail_nomem("a vocabulary");
    trie->values = values;
    trie->room = room;
  }
  if (2 * (trie->count + 1) > trie->size) {
    const size_t size = trie->size ? 2 * trie->size : 512;
    mica__trie_edge *edges = calloc(size, sizeof *edges);
    if (!edges) return mica__fail_nomem("a vocabulary");
    for (size_t i = 0; i < trie->size; i++)
      if (trie->edges[i].key) edges[slot_of(edges, size, trie->edges[i].key)] = trie->edges[i];
    free(trie->edges);
    trie->edges = edges;
    trie->size = size;
  }
  return MICA_OK;
}

mica_status mica__trie_add(mica__trie *trie, const char *text, size_t length, int32_t value, bool keep) {
  uint32_t node = 0;
  for (size_t i = 0; i <= length; i++) {
    MICA_TRY(grow(trie));
    if (trie->nodes == 0) trie->values[trie->nodes++] = -1;
    if (i == length) break;
    const uint8_t byte = (uint8_t)text[i];
    uint32_t next = mica__trie_next(trie, node, byte);
    if (next == 0) {
      if (trie->nodes >= MOST_NODES)
        return mica__fail(MICA_E_FORMAT,
                          "the tokens are too many or too long: they have more than %u different prefixes",
                          MOST_NODES - 1);
      next = trie->nodes++;
      trie->values[next] = -1;
      const uint32_t key = node << 8 | byte;
      if (key == 0)
        trie->zero = next;
      else
        trie->edges[slot_of(trie->edges, trie->size, key)] = (mica__trie_edge){key, next}, trie->count++;
    }
    node = next;
  }
  if (trie->values[node] < 0 || !keep) trie->values[node] = value;
  return MICA_OK;
}
