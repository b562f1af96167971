/* Trains byte-pair encoding. Again and again, the most frequent pair of neighbours becomes a token. Of pairs that are
 * equally frequent, the one with the smaller ids is taken, as in the package `tokenizers`. Counts change only where a
 * pair is merged. */
#include "text/tokenizer/train.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of characters that become tokens. If there are more, the most frequent ones do (as for BERT). */
#define MOST_LETTERS 1000

typedef struct pair {
  uint64_t key; /* left << 32 | right */
  int64_t count;
  uint32_t *words; /* words that had it at some time; there may be duplicates */
  size_t word_count, word_room;
} pair;

typedef struct best {
  int64_t count;
  uint64_t key;
} best;

typedef struct word {
  size_t begin; /* index of the word's first symbol */
  uint32_t length;
  uint32_t merged; /* the last merge that was done in it */
  int64_t count;
} word;

typedef struct state {
  mica__training *training;
  const char *prefix;
  int32_t *symbols;
  word *words;
  size_t word_count;
  pair *pairs;
  size_t pair_count, pair_room;
  int32_t *slots; /* hash table: indices of pairs by key; -1: free */
  size_t slot_count;
  best *heap;
  size_t heap_count, heap_room;
  size_t known;    /* number of pairs before the current merge */
  uint32_t *grown; /* pairs known before this merge whose count grew: another merge had made the same token */
  size_t grown_count, grown_room;
} state;

static void free_state(state *s) {
  for (size_t i = 0; i < s->pair_count; i++) free(s->pairs[i].words);
  free(s->pairs);
  free(s->slots);
  free(s->heap);
  free(s->grown);
  free(s->symbols);
  free(s->words);
}

/* --- pairs --- */

static size_t slot_of(const state *s, uint64_t key) {
  size_t slot = (size_t)((key ^ key >> 29) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (s->slot_count - 1);
  while (s->slots[slot] >= 0 && s->pairs[s->slots[slot]].key != key) slot = (slot + 1) & (s->slot_count - 1);
  return slot;
}

static mica_status grow_slots(state *s) {
  const size_t count = s->slot_count ? 2 * s->slot_count : 4096;
  int32_t *slots = malloc(count * sizeof *slots);
  if (!slots) return mica__fail_nomem("pairs");
  memset(slots, 0xff, count * sizeof *slots);
  free(s->slots);
  s->slots = slots;
  s->slot_count = count;
  for (size_t i = 0; i < s->pair_count; i++) slots[slot_of(s, s->pairs[i].key)] = (int32_t)i;
  return MICA_OK;
}

/* Changes a pair's count by `by`. If `by` is positive, also records that the word has the pair. */
static mica_status change(state *s, int32_t left, int32_t right, int64_t by, size_t in_word) {
  const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
  if (2 * (s->pair_count + 1) > s->slot_count) MICA_TRY(grow_slots(s));
  const size_t slot = slot_of(s, key);
  if (s->slots[slot] < 0) {
    if (s->pair_count >= INT32_MAX)
      return mica__fail(MICA_E_NOMEM, "the texts have more than %d different pairs of tokens", INT32_MAX);
    MICA_TRY(mica__reserve(&s->pairs, &s->pair_room, s->pair_count + 1, sizeof *s->pairs));
    s->slots[slot] = (int32_t)s->pair_count;
    s->pairs[s->pair_count++] = (pair){.key = key};
  }
  pair *p = &s->pairs[s->slots[slot]];
  p->count += by;
  if (by > 0 && (size_t)s->slots[slot] < s->known) {
    MICA_TRY(mica__reserve(&s->grown, &s->grown_room, s->grown_count + 1, sizeof *s->grown));
    s->grown[s->grown_count++] = (uint32_t)s->slots[slot];
  }
  if (by <= 0 || (p->word_count && p->words[p->word_count - 1] == in_word)) return MICA_OK;
  MICA_TRY(mica__reserve(&p->words, &p->word_room, p->word_count + 1, sizeof *p->words));
  p->words[p->word_count++] = (uint32_t)in_word;
  return MICA_OK;
}

/* --- the heap: the largest count on top; among equal counts, the smallest key --- */

static bool is_before(best a, best b) { return a.count != b.count ? a.count > b.count : a.key < b.key; }

static mica_status push(state *s, best b) {
  MICA_TRY(mica__reserve(&s->heap, &s->heap_room, s->heap_count + 1, sizeof *s->heap));
  size_t at = s->heap_count++;
  for (; at > 0 && is_before(b, s->heap[(at - 1) / 2]); at = (at - 1) / 2) s->heap[at] = s->heap[(at - 1) / 2];
  s->heap[at] = b;
  return MICA_OK;
}

static best pop(state *s) {
  const best top = s->heap[0], last = s->heap[--s->heap_count];
  size_t at = 0;
  for (size_t child = 1; child < s->heap_count; child = 2 * at + 1) {
    if (child + 1 < s->heap_count && is_before(s->heap[child + 1], s->heap[child])) child++;
    if (!is_before(s->heap[child], last)) break;
    s->heap[at] = s->heap[child];
    at = child;
  }
  if (s->heap_count) s->heap[at] = last;
  return top;
}

/* --- words as symbols --- */

static mica_status add_letters(state *s) {
  mica__counts letters = {0};
  mica_status status = mica__counts_characters(&s->training->words, &letters);
  if (status == MICA_OK) {
    mica__counts_sort(&letters, true);
    if (letters.size > MOST_LETTERS) letters.size = letters.count = MOST_LETTERS;
    mica__counts_sort(&letters, false); /* UTF-8 bytes sort in the order of characters */
  }
  for (size_t i = 0; i < letters.size && status == MICA_OK; i++)
    status = mica__training_add(s->training, letters.entries[i].text, letters.entries[i].length, NULL);
  mica__counts_free(&letters);
  return status;
}

static mica_status add_word(state *s, const mica__counted *counted, size_t *used) {
  mica__training *t = s->training;
  word *w = &s->words[s->word_count];
  mica__text spelled = {0};
  mica_status status = MICA_OK;
  *w = (word){.begin = *used, .count = (int64_t)counted->count, .merged = UINT32_MAX};
  for (size_t at = 0, n; at < counted->length && status == MICA_OK; at += n) {
    mica__utf8_at(counted->text + at, &n);
    int32_t id = mica__vocab_find(&t->vocab, &t->vocab.model, counted->text + at, n);
    if (id < 0) continue;
    if (at > 0 && s->prefix) {
      spelled.length = 0;
      mica__text_add(&spelled, s->prefix);
      mica__text_add_bytes(&spelled, counted->text + at, n);
      status = mica__text_status(&spelled);
      if (status == MICA_OK) status = mica__training_add(t, spelled.data, spelled.length, &id);
    }
    s->symbols[(*used)++] = id;
    w->length++;
  }
  mica__text_free(&spelled);
  s->word_count++;
  return status;
}

static mica_status begin(state *s) {
  const mica__counts *words = &s->training->words;
  size_t symbols = 1, used = 0;
  for (size_t k = 0; k < words->size; k++) symbols += words->entries[k].length;
  s->symbols = malloc(symbols * sizeof *s->symbols);
  s->words = malloc((words->size + 1) * sizeof *s->words);
  if (!s->symbols || !s->words || words->size >= UINT32_MAX) return mica__fail_nomem("words");
  for (size_t k = 0; k < words->size; k++) MICA_TRY(add_word(s, &words->entries[k], &used));
  for (size_t k = 0; k < s->word_count; k++) {
    const int32_t *symbol = s->symbols + s->words[k].begin;
    for (uint32_t i = 0; i + 1 < s->words[k].length; i++)
      MICA_TRY(change(s, symbol[i], symbol[i + 1], s->words[k].count, k));
  }
  for (size_t i = 0; i < s->pair_count; i++) MICA_TRY(push(s, (best){s->pairs[i].count, s->pairs[i].key}));
  return MICA_OK;
}

/* --- merging --- */

static mica_status merge_in_word(state *s, size_t k, int32_t left, int32_t right, int32_t made) {
  word *w = &s->words[k];
  int32_t *symbol = s->symbols + w->begin;
  uint32_t to = 0;
  for (uint32_t i = 0; i < w->length; i++, to++) {
    if (symbol[i] != left || i + 1 == w->length || symbol[i + 1] != right) {
      symbol[to] = symbol[i];
      continue;
    }
    if (to > 0) {
      MICA_TRY(change(s, symbol[to - 1], left, -w->count, k));
      MICA_TRY(change(s, symbol[to - 1], made, w->count, k));
    }
    if (i + 2 < w->length) {
      MICA_TRY(change(s, right, symbol[i + 2], -w->count, k));
      MICA_TRY(change(s, made, symbol[i + 2], w->count, k));
    }
    symbol[to] = made;
    i++;
  }
  w->length = to;
  return MICA_OK;
}

/* Adds the token of a pair; *id is -1 if it would be too long. */
static mica_status make_token(state *s, int32_t left, int32_t right, int32_t *id) {
  const mica__token *a = &s->training->vocab.tokens[left], *b = &s->training->vocab.tokens[right];
  const size_t skip = s->prefix ? strlen(s->prefix) : 0;
  mica__text whole = {0};
  *id = -1;
  if ((size_t)a->length + b->length - skip > MICA__LONGEST_TOKEN) return MICA_OK;
  mica__text_add_bytes(&whole, a->text, a->length);
  mica__text_add_bytes(&whole, b->text + skip, b->length - skip);
  mica_status status = mica__text_status(&whole);
  if (status == MICA_OK) status = mica__training_add(s->training, whole.data, whole.length, id);
  mica__text_free(&whole);
  return status;
}

static mica_status note_merge(mica__training *training, int32_t left, int32_t right) {
  cJSON *both = cJSON_CreateArray();
  cJSON *a = cJSON_CreateString(training->vocab.tokens[left].text);
  cJSON *b = cJSON_CreateString(training->vocab.tokens[right].text);
  if (both && a && b && cJSON_AddItemToArray(both, a) && cJSON_AddItemToArray(both, b) &&
      cJSON_AddItemToArray(training->merges, both))
    return MICA_OK;
  return mica__fail_nomem("merges");
}

static mica_status merge(state *s, size_t at, uint32_t number) {
  const int32_t left = (int32_t)(s->pairs[at].key >> 32), right = (int32_t)(uint32_t)s->pairs[at].key;
  int32_t made = -1;
  s->known = s->pair_count;
  s->grown_count = 0;
  MICA_TRY(make_token(s, left, right, &made));
  if (made < 0) {
    s->pairs[at].count = 0;
    return MICA_OK;
  }
  if (s->training->merges) MICA_TRY(note_merge(s->training, left, right));
  uint32_t *words = s->pairs[at].words;
  const size_t count = s->pairs[at].word_count;
  s->pairs[at].words = NULL;
  s->pairs[at].word_count = s->pairs[at].word_room = 0;
  mica_status status = MICA_OK;
  for (size_t i = 0; i < count && status == MICA_OK; i++) {
    if (s->words[words[i]].merged == number) continue;
    s->words[words[i]].merged = number;
    status = merge_in_word(s, words[i], left, right, made);
  }
  free(words);
  s->pairs[at].count = 0;
  for (size_t i = s->known; i < s->pair_count && status == MICA_OK; i++)
    if (s->pairs[i].count > 0) status = push(s, (best){s->pairs[i].count, s->pairs[i].key});
  for (size_t i = 0; i < s->grown_count && status == MICA_OK; i++) {
    const pair *p = &s->pairs[s->grown[i]];
    if (p->count > 0) status = push(s, (best){p->count, p->key});
  }
  return status;
}

mica_status mica__train_bpe(mica__training *training, const char *prefix) {
  state s = {.training = training, .prefix = prefix};
  mica_status status = prefix ? add_letters(&s) : MICA_OK;
  if (status == MICA_OK) status = begin(&s);
  if (status == MICA_OK && training->vocab.size > training->config.size)
    status =
        mica__fail(MICA_E_INVALID,
                   "the vocabulary's size is %d, but must be at least %d: the special tokens, the characters, and the "
                   "characters with '##'",
                   (int)training->config.size, (int)training->vocab.size);
  for (uint32_t number = 0; status == MICA_OK && s.heap_count && training->vocab.size < training->config.size;) {
    const best top = pop(&s);
    const size_t at = (size_t)s.slots[slot_of(&s, top.key)];
    const int64_t count = s.pairs[at].count;
    if (count != top.count) {
      if (count > 0) status = push(&s, (best){count, top.key});
      continue;
    }
    if (count < training->config.min_frequency) break;
    status = merge(&s, at, number++);
  }
  free_state(&s);
  return status;
}
