/* Counts how often words occur. */
#include "base/hash.h"
#include "text/tokenizer/train.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)1 << 20)

void mica__counts_free(mica__counts *counts) {
  for (size_t i = 0; i < counts->block_count; i++) free(counts->blocks[i]);
  free(counts->blocks);
  free(counts->entries);
  *counts = (mica__counts){0};
}

static size_t slot_of(const mica__counted *entries, size_t size, const char *text, size_t length) {
  size_t slot = (size_t)mica__hash_bytes((mica__hash){0, 0}, text, length).low & (size - 1);
  while (entries[slot].text && (entries[slot].length != length || memcmp(entries[slot].text, text, length)))
    slot = (slot + 1) & (size - 1);
  return slot;
}

static mica_status grow(mica__counts *counts) {
  const size_t size = counts->size ? 2 * counts->size : 1024;
  mica__counted *entries = calloc(size, sizeof *entries);
  if (!entries) return mica__fail_nomem("words");
  for (size_t i = 0; i < counts->size; i++)
    if (counts->entries[i].text)
      entries[slot_of(entries, size, counts->entries[i].text, counts->entries[i].length)] = counts->entries[i];
  free(counts->entries);
  counts->entries = entries;
  counts->size = size;
  return MICA_OK;
}

/* Copies a word's bytes into a block. Blocks never move. */
static mica_status keep(mica__counts *counts, const char *text, size_t length, const char **copy) {
  if (counts->block_used + length > counts->block_size) {
    const size_t size = length > BLOCK ? length : BLOCK;
    char **grown = realloc(counts->blocks, (counts->block_count + 1) * sizeof *grown);
    if (!grown) return mica__fail_nomem("words");
    counts->blocks = grown;
    if (!(grown[counts->block_count] = malloc(size))) return mica__fail_nomem("words");
    counts->block_count++;
    counts->block_used = 0;
    counts->block_size = size;
  }
  char *at = counts->blocks[counts->block_count - 1] + counts->block_used;
  memcpy(at, text, length);
  counts->block_used += length;
  *copy = at;
  return MICA_OK;
}

mica_status mica__counts_add(mica__counts *counts, const char *text, size_t length, uint64_t times) {
  if (length == 0) return MICA_OK;
  if (2 * (counts->count + 1) > counts->size) MICA_TRY(grow(counts));
  mica__counted *entry = &counts->entries[slot_of(counts->entries, counts->size, text, length)];
  if (!entry->text) {
    const char *copy = NULL;
    MICA_TRY(keep(counts, text, length, &copy));
    *entry = (mica__counted){copy, (uint32_t)length, 0};
    counts->count++;
  }
  entry->count += times;
  return MICA_OK;
}

static int by_bytes(const void *a, const void *b) {
  const mica__counted *x = a, *y = b;
  const int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int by_count(const void *a, const void *b) {
  const mica__counted *x = a, *y = b;
  return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : by_bytes(a, b);
}

void mica__counts_sort(mica__counts *counts, bool frequent) {
  size_t used = 0;
  for (size_t i = 0; i < counts->size && used < counts->count; i++)
    if (counts->entries[i].text) counts->entries[used++] = counts->entries[i];
  counts->size = used;
  if (used) qsort(counts->entries, used, sizeof *counts->entries, frequent ? by_count : by_bytes);
}

mica_status mica__counts_characters(const mica__counts *words, mica__counts *characters) {
  for (size_t k = 0; k < words->size; k++) {
    const mica__counted *word = &words->entries[k];
    for (size_t at = 0, n; at < word->length; at += n) {
      mica__utf8_at(word->text + at, &n);
      MICA_TRY(mica__counts_add(characters, word->text + at, n, word->count));
    }
  }
  return MICA_OK;
}

mica_status mica__training_add(mica__training *training, const char *text, size_t length, int32_t *id) {
  mica__vocab *vocab = &training->vocab;
  const int32_t known = mica__vocab_find(vocab, &vocab->model, text, length);
  if (id) *id = known >= 0 ? known : vocab->size;
  return known >= 0 ? MICA_OK : mica__vocab_set(vocab, vocab->size, text, length, false);
}
