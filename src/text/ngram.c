/* n-gram models of labels: counts how often each label follows the labels before it. */
#include "base/error.h"

#include <math.h>
#include <mica/speech.h>
#include <stdlib.h>

#define MOST_ORDER 12
#define ROOM 1024

/* count: how often the sequence occurred. kinds: number of different labels that followed it. behind: number of all
 * labels that followed it, repeats included. */
typedef struct entry {
  uint64_t key; /* 0: none */
  uint32_t count, kinds, behind;
} entry;

struct mica_ngram {
  int32_t order, labels;
  entry *entries; /* hash table with `room` slots, a power of two */
  size_t count, room;
};

mica_status mica_ngram_create(int32_t order, int32_t labels, mica_ngram **ngram) {
  if (!ngram) return mica__fail(MICA_E_INVALID, "mica_ngram_create: ngram is NULL");
  if (order < 1 || order > MOST_ORDER)
    return mica__fail(MICA_E_INVALID, "mica_ngram_create: order is %d, but must be 1 to %d", (int)order, MOST_ORDER);
  if (labels < 1)
    return mica__fail(MICA_E_INVALID, "mica_ngram_create: labels is %d, but must be at least 1", (int)labels);
  mica_ngram *n = calloc(1, sizeof *n);
  if (n) *n = (mica_ngram){.order = order, .labels = labels, .room = ROOM, .entries = calloc(ROOM, sizeof(entry))};
  if (n && n->entries) {
    *ngram = n;
    return MICA_OK;
  }
  free(n);
  return mica__fail_nomem("an n-gram model");
}

void mica_ngram_destroy(mica_ngram *n) {
  if (!n) return;
  free(n->entries);
  free(n);
}

/* Key of a sequence extended by one label; the empty sequence has key 1. Collisions are negligible even among millions
 * of keys. */
static uint64_t extended(uint64_t key, int32_t label) {
  uint64_t z = key ^ ((uint64_t)(uint32_t)label + 2) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (z ^ z >> 31) | 1;
}

/* Slot of a key, or the free slot for it. */
static entry *slot_of(const mica_ngram *n, uint64_t key) {
  size_t at = (size_t)(key >> 20) & (n->room - 1);
  while (n->entries[at].key && n->entries[at].key != key) at = (at + 1) & (n->room - 1);
  return &n->entries[at];
}

static mica_status grow(mica_ngram *n) {
  mica_ngram larger = {.room = 2 * n->room, .entries = calloc(2 * n->room, sizeof(entry))};
  if (!larger.entries) return mica__fail_nomem("an n-gram model");
  for (size_t i = 0; i < n->room; i++)
    if (n->entries[i].key) *slot_of(&larger, n->entries[i].key) = n->entries[i];
  free(n->entries);
  n->entries = larger.entries;
  n->room = larger.room;
  return MICA_OK;
}

/* Entry of a key, created if necessary; NULL if memory is short. */
static entry *entry_of(mica_ngram *n, uint64_t key) {
  if (2 * n->count >= n->room && grow(n) != MICA_OK) return NULL;
  entry *e = slot_of(n, key);
  if (!e->key) {
    e->key = key;
    n->count++;
  }
  return e;
}

/* Counts a label that follows the last `length` labels of a text; label -1 is the end of the text. */
static mica_status note(mica_ngram *n, const int32_t *labels, int64_t count, int32_t label, int32_t length) {
  uint64_t context = 1;
  for (int64_t i = count - length; i < count; i++) context = extended(context, labels[i]);
  entry *whole = entry_of(n, extended(context, label));
  if (!whole) return mica__fail_nomem("an n-gram model");
  const bool first = whole->count == 0;
  if (whole->count < UINT32_MAX) whole->count++;
  entry *before = entry_of(n, context);
  if (!before) return mica__fail_nomem("an n-gram model");
  if (before->behind < UINT32_MAX) before->behind++;
  before->kinds += first;
  return MICA_OK;
}

mica_status mica_ngram_add(mica_ngram *n, const int32_t *labels, int64_t count) {
  if (!n || (count && !labels)) return mica__fail(MICA_E_INVALID, "mica_ngram_add: ngram or labels is NULL");
  if (count < 0)
    return mica__fail(MICA_E_INVALID, "mica_ngram_add: the count is %lld, but must be 0 or above", (long long)count);
  for (int64_t i = 0; i <= count; i++)
    for (int32_t length = 0; length < n->order && length <= i; length++)
      MICA_TRY(note(n, labels, i, i < count ? labels[i] : -1, length));
  return MICA_OK;
}

double mica_ngram_score(void *user, const int32_t *labels, int64_t count, int32_t label) {
  const mica_ngram *n = user;
  double p = 1 / ((double)n->labels + 1);
  for (int32_t length = 0; length < n->order && length <= count; length++) {
    uint64_t context = 1;
    for (int64_t i = count - length; i < count; i++) context = extended(context, labels[i]);
    const entry *before = slot_of(n, context);
    if (!before->key || !before->behind) break;
    const entry *whole = slot_of(n, extended(context, label));
    p = ((whole->key ? whole->count : 0) + before->kinds * p) / ((double)before->behind + before->kinds);
  }
  return log(p);
}
