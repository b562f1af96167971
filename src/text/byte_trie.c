/* Builds tries of the bytes of tokens. Nodes are stored in preorder. */
#include "text/byte_trie.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
  const char *text;
  size_t length;
  int32_t id;
} entry;

static int compare(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
  if (order) return order;
  if (x->length != y->length) return x->length < y->length ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

void mica__byte_trie_free(mica__byte_trie *trie) {
  if (!trie) return;
  free(trie->bytes);
  free(trie->depths);
  free(trie->ends);
  free(trie->first);
  free(trie->ids);
  free(trie->text);
  free(trie->at);
  free(trie);
}

static size_t common(const entry *a, const entry *b) {
  size_t n = 0;
  while (n < a->length && n < b->length && a->text[n] == b->text[n]) n++;
  return n;
}

/* Adds the nodes of sorted texts. path[d] is the node at depth d on the way to the current text. */
static void fill(mica__byte_trie *trie, const entry *entries, size_t count, uint32_t *path) {
  size_t open = 0;
  for (size_t k = 0; k < count; k++) {
    const size_t same = k ? common(&entries[k - 1], &entries[k]) : 0;
    for (; open > same; open--) trie->ends[path[open]] = trie->count;
    for (; open < entries[k].length; open++) {
      const uint32_t node = trie->count++;
      trie->bytes[node] = (uint8_t)entries[k].text[open];
      trie->depths[node] = (uint16_t)(open + 1);
      trie->first[node] = (uint32_t)k;
      path[open + 1] = node;
    }
    trie->ids[k] = entries[k].id;
  }
  for (; open > 0; open--) trie->ends[path[open]] = trie->count;
  trie->first[trie->count] = (uint32_t)count;
}

static mica_status build(mica__byte_trie *trie) {
  const size_t tokens = (size_t)trie->tokens;
  size_t count = 0, nodes = 0, longest = 0;
  entry *entries = calloc(tokens + 1, sizeof *entries);
  if (!entries) return mica__fail_nomem("a trie of tokens");
  for (size_t t = 0; t < tokens; t++) {
    const size_t length = trie->at[t + 1] - trie->at[t];
    if (length == 0) continue;
    entries[count++] = (entry){trie->text + trie->at[t], length, (int32_t)t};
    if (length > longest) longest = length;
  }
  qsort(entries, count, sizeof *entries, compare);
  for (size_t k = 0; k < count; k++) nodes += entries[k].length - (k ? common(&entries[k - 1], &entries[k]) : 0);
  uint32_t *path = calloc(longest + 1, sizeof *path);
  trie->bytes = malloc(nodes + 1);
  trie->depths = calloc(nodes + 1, sizeof *trie->depths);
  trie->ends = calloc(nodes + 1, sizeof *trie->ends);
  trie->first = calloc(nodes + 1, sizeof *trie->first);
  trie->ids = calloc(count + 1, sizeof *trie->ids);
  trie->deepest = (uint32_t)longest;
  mica_status status = MICA_OK;
  if (longest > UINT16_MAX)
    status = mica__fail(MICA_E_OVERFLOW, "a token of the vocabulary has %zu bytes, but may have at most %d", longest,
                        UINT16_MAX);
  else if (nodes >= UINT32_MAX)
    status = mica__fail(MICA_E_OVERFLOW, "the vocabulary is too large: its tokens have %zu bytes", trie->at[tokens]);
  else if (!path || !trie->bytes || !trie->depths || !trie->ends || !trie->first || !trie->ids)
    status = mica__fail_nomem("a trie of tokens");
  else
    fill(trie, entries, count, path);
  free(path);
  free(entries);
  return status;
}

mica_status mica__byte_trie_create(char *text, size_t *at, int32_t tokens, mica__byte_trie **trie) {
  mica__byte_trie *made = calloc(1, sizeof *made);
  if (!made) {
    free(text);
    free(at);
    return mica__fail_nomem("a trie of tokens");
  }
  *made = (mica__byte_trie){.tokens = tokens, .text = text, .at = at};
  const mica_status status = build(made);
  if (status == MICA_OK)
    *trie = made;
  else
    mica__byte_trie_free(made);
  return status;
}
