/* Byte-pair encoding: merges neighbouring symbols. The pair with the lowest rank is merged first, and the leftmost of
 * equal pairs. A heap of candidates takes O(n log n) time. If a word is long and no merge can make a candidate of a
 * lower rank, all pairs of a rank are merged together, which reads memory in order. */
#include "text/tokenizer/tokenizer.h"
#include "text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Minimum number of symbols of a word that is merged rank by rank. */
#define LONG_WORD 65536

/* --- merges --- */

static size_t slot_of(const mica__model *model, int32_t left, int32_t right) {
  const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
  const size_t most = model->ranks_size - 1;
  size_t slot = (size_t)((pair ^ pair >> 29) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & most;
  for (; model->ranks[slot] != MICA__NO_RANK; slot = (slot + 1) & most) {
    const mica__merge *merge = &model->merges[model->ranks[slot]];
    if (merge->left == left && merge->right == right) break;
  }
  return slot;
}

/* The rank of a pair; MICA__NO_RANK: it is not merged. */
static uint32_t find_rank(const mica__model *model, int32_t left, int32_t right) {
  return model->ranks_size ? model->ranks[slot_of(model, left, right)] : MICA__NO_RANK;
}

/* Finds the two parts of a merge, "a b" or ["a", "b"]. */
static mica_status merge_halves(const cJSON *item, const char *halves[2], size_t lengths[2]) {
  if (cJSON_IsString(item)) {
    const char *blank = strchr(item->valuestring, ' ');
    if (blank && !strchr(blank + 1, ' ')) {
      halves[0] = item->valuestring;
      halves[1] = blank + 1;
      lengths[0] = (size_t)(blank - item->valuestring);
      lengths[1] = strlen(blank + 1);
      return MICA_OK;
    }
  } else if (cJSON_IsArray(item) && cJSON_IsString(item->child) && cJSON_IsString(item->child->next)) {
    halves[0] = item->child->valuestring;
    halves[1] = item->child->next->valuestring;
    lengths[0] = strlen(halves[0]);
    lengths[1] = strlen(halves[1]);
    return MICA_OK;
  }
  return mica__fail(MICA_E_FORMAT, "the merge must be a list of two strings, or one string with exactly one blank");
}

static mica_status parse_merge(const cJSON *item, uint32_t rank, mica_tokenizer *tokenizer) {
  mica__model *model = &tokenizer->model;
  const mica__vocab *vocab = &tokenizer->vocab;
  const char *halves[2] = {"", ""};
  size_t lengths[2] = {0, 0};
  int32_t ids[2];
  MICA_TRY(merge_halves(item, halves, lengths));
  for (int i = 0; i < 2; i++) {
    ids[i] = mica__vocab_find(vocab, &vocab->model, halves[i], lengths[i]);
    if (ids[i] < 0) return mica__fail(MICA_E_FORMAT, "'%.*s' is not in vocab", mica__text_shown(lengths[i]), halves[i]);
  }
  const size_t prefix = model->prefix ? strlen(model->prefix) : 0;
  if (lengths[1] < prefix)
    return mica__fail(MICA_E_FORMAT, "'%.40s' is shorter than continuing_subword_prefix", halves[1]);
  mica__text whole = {0};
  mica__text_add_bytes(&whole, halves[0], lengths[0]);
  mica__text_add_bytes(&whole, halves[1] + prefix, lengths[1] - prefix);
  const int32_t id = whole.failed ? -1 : mica__vocab_find(vocab, &vocab->model, whole.data, whole.length);
  mica_status status = mica__text_status(&whole);
  if (status == MICA_OK && id < 0) status = mica__fail(MICA_E_FORMAT, "'%.100s' is not in vocab", whole.data);
  mica__text_free(&whole);
  if (status != MICA_OK) return status;
  model->merges[rank] = (mica__merge){ids[0], ids[1], id};
  model->ranks[slot_of(model, ids[0], ids[1])] = rank;
  return MICA_OK;
}

/* Sets model->ordered to true if every token is made before another merge uses it, as in files from training. Then no
 * merge makes a candidate of a lower rank. */
static mica_status find_order(mica_tokenizer *tokenizer) {
  mica__model *model = &tokenizer->model;
  /* the last rank that makes the token, plus 1 */
  uint32_t *made = calloc((size_t)tokenizer->vocab.size + 1, sizeof *made);
  if (!made) return mica__fail_nomem("merges");
  model->ordered = true;
  for (size_t i = 0; i < model->ranks_size; i++) {
    const uint32_t rank = model->ranks[i];
    if (rank == MICA__NO_RANK) continue;
    uint32_t *after = &made[model->merges[rank].id];
    if (*after <= rank) *after = rank + 1;
  }
  for (size_t i = 0; i < model->ranks_size; i++) {
    const uint32_t rank = model->ranks[i];
    const mica__merge *m = rank == MICA__NO_RANK ? NULL : &model->merges[rank];
    if (m && (made[m->left] > rank || made[m->right] > rank)) model->ordered = false;
  }
  free(made);
  return MICA_OK;
}

mica_status mica__merges_parse(const cJSON *object, mica_tokenizer *tokenizer) {
  mica__model *model = &tokenizer->model;
  const cJSON *list = NULL, *item = NULL;
  uint32_t rank = 0;
  MICA_TRY(mica__json_list(object, "merges", &list));
  const size_t count = (size_t)cJSON_GetArraySize(list);
  if (count > 4 * (size_t)MICA__MOST_TOKENS)
    return mica__fail(MICA_E_FORMAT, "there are %zu merges; the limit is %zu", count, 4 * (size_t)MICA__MOST_TOKENS);
  model->merges = malloc((count + 1) * sizeof *model->merges);
  size_t size = 16;
  while (size < 2 * count) size *= 2;
  model->ranks = malloc(size * sizeof *model->ranks);
  if (!model->merges || !model->ranks) return mica__fail_nomem("merges");
  memset(model->ranks, 0xff, size * sizeof *model->ranks);
  model->ranks_size = size;
  cJSON_ArrayForEach(item, list) {
    const mica_status status = parse_merge(item, rank, tokenizer);
    if (status != MICA_OK) {
      char where[40];
      snprintf(where, sizeof where, "merge %u", (unsigned)rank);
      return mica__fail_in(status, where);
    }
    rank++;
  }
  model->rank_count = rank;
  return find_order(tokenizer);
}

/* --- a word --- */

/* A word that becomes symbols. unknown: an unknown symbol is not added yet, because the next symbol may be unknown too;
 * with fuse_unk they become one symbol. */
typedef struct word {
  const mica_tokenizer *tokenizer;
  mica__work *work;
  size_t count;
  bool unknown;
} word;

static mica_status add_symbol(word *w, int32_t id) {
  MICA_TRY(mica__reserve(&w->work->symbols, &w->work->symbol_room, w->count + 1, sizeof *w->work->symbols));
  w->work->symbols[w->count] = (mica__symbol){id, (int32_t)w->count - 1, (int32_t)w->count + 1};
  w->count++;
  return MICA_OK;
}

static mica_status flush_unknown(word *w) {
  if (!w->unknown) return MICA_OK;
  w->unknown = false;
  return add_symbol(w, w->tokenizer->model.unk);
}

static mica_status add_unknown(word *w, const char *text, size_t bytes) {
  const mica__model *model = &w->tokenizer->model;
  if (model->byte_fallback) {
    size_t known = 0;
    while (known < bytes && model->bytes[(uint8_t)text[known]] >= 0) known++;
    if (known == bytes) {
      for (size_t i = 0; i < bytes; i++) MICA_TRY(add_symbol(w, model->bytes[(uint8_t)text[i]]));
      return MICA_OK;
    }
  }
  if (model->unk < 0) return MICA_OK; /* left out, as in the package `tokenizers` */
  if (!model->fuse_unk) MICA_TRY(flush_unknown(w));
  w->unknown = true;
  return MICA_OK;
}

static mica_status add_character(word *w, const char *text, size_t bytes, bool first, bool last) {
  const mica__model *model = &w->tokenizer->model;
  const mica__vocab *vocab = &w->tokenizer->vocab;
  const char *spelled = text;
  size_t length = bytes;
  if ((!first && model->prefix) || (last && model->suffix)) {
    mica__text *buffer = &w->work->word;
    buffer->length = 0;
    if (!first && model->prefix) mica__text_add(buffer, model->prefix);
    mica__text_add_bytes(buffer, text, bytes);
    if (last && model->suffix) mica__text_add(buffer, model->suffix);
    MICA_TRY(mica__text_status(buffer));
    spelled = buffer->data;
    length = buffer->length;
  }
  const int32_t id = mica__vocab_find(vocab, &vocab->model, spelled, length);
  if (id < 0) return add_unknown(w, spelled, length);
  MICA_TRY(flush_unknown(w));
  return add_symbol(w, id);
}

/* --- the heap of candidates, the least key on top --- */

static void sift_down(mica__candidate *heap, size_t count, size_t at) {
  const mica__candidate moving = heap[at];
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && heap[child + 1].key < heap[child].key) child++;
    if (moving.key <= heap[child].key) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moving;
}

static void push(mica__candidate *heap, size_t *count, mica__candidate candidate) {
  size_t at = (*count)++;
  for (; at > 0 && heap[(at - 1) / 2].key > candidate.key; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = candidate;
}

static bool candidate_at(const word *w, int32_t left, int32_t right, mica__candidate *candidate) {
  const mica__symbol *symbols = w->work->symbols;
  const mica__model *model = &w->tokenizer->model;
  const uint32_t rank = find_rank(model, symbols[left].id, symbols[right].id);
  if (rank == MICA__NO_RANK) return false;
  *candidate = (mica__candidate){(uint64_t)rank << 32 | (uint32_t)left, model->merges[rank].id};
  return true;
}

/* Merges the next symbol into the one at `at`. */
static void merge_at(mica__symbol *symbols, int32_t at, int32_t id) {
  const int32_t right = symbols[at].after;
  symbols[at].id = id;
  symbols[at].after = symbols[right].after;
  symbols[right].id = -1;
  if (symbols[at].after >= 0) symbols[symbols[at].after].before = at;
}

/* Positions of the candidates of one rank. */
typedef struct positions {
  uint32_t *at;
  size_t count, room;
} positions;

static int by_position(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void sort_positions(positions *p) {
  size_t i = 1;
  while (i < p->count && p->at[i - 1] <= p->at[i]) i++;
  if (i < p->count) qsort(p->at, p->count, sizeof *p->at, by_position);
}

static mica_status note_position(const word *w, positions *ranks, int32_t left, int32_t right) {
  mica__candidate candidate;
  if (left < 0 || right < 0 || !candidate_at(w, left, right, &candidate)) return MICA_OK;
  positions *p = &ranks[candidate.key >> 32];
  MICA_TRY(mica__reserve(&p->at, &p->room, p->count + 1, sizeof *p->at));
  p->at[p->count++] = (uint32_t)left;
  return MICA_OK;
}

static mica_status merge_rank(const word *w, positions *ranks, uint32_t rank) {
  mica__symbol *symbols = w->work->symbols;
  sort_positions(&ranks[rank]);
  for (size_t i = 0; i < ranks[rank].count; i++) {
    const int32_t at = (int32_t)ranks[rank].at[i], right = symbols[at].after;
    if (symbols[at].id < 0 || right < 0) continue;
    if (find_rank(&w->tokenizer->model, symbols[at].id, symbols[right].id) != rank) continue;
    merge_at(symbols, at, w->tokenizer->model.merges[rank].id);
    MICA_TRY(note_position(w, ranks, symbols[at].before, at));
    MICA_TRY(note_position(w, ranks, at, symbols[at].after));
  }
  return MICA_OK;
}

static mica_status merge_by_rank(word *w) {
  mica__symbol *symbols = w->work->symbols;
  const uint32_t count = w->tokenizer->model.rank_count;
  positions *ranks = calloc((size_t)count + 1, sizeof *ranks);
  mica_status status = ranks ? MICA_OK : mica__fail_nomem("a text's tokens");
  symbols[w->count - 1].after = -1;
  for (size_t i = 0; i + 1 < w->count && status == MICA_OK; i++)
    status = note_position(w, ranks, (int32_t)i, (int32_t)i + 1);
  for (uint32_t rank = 0; rank < count && status == MICA_OK; rank++) {
    status = merge_rank(w, ranks, rank);
    free(ranks[rank].at);
    ranks[rank].at = NULL;
  }
  for (uint32_t rank = 0; ranks && rank < count; rank++) free(ranks[rank].at);
  free(ranks);
  return status;
}

/* Merges neighbours until none have a rank, in order of rank. Each merge removes a symbol and replaces its candidate
 * by at most two, so the heap never has more than 2 * count candidates. */
static mica_status merge_all(word *w) {
  const mica__model *model = &w->tokenizer->model;
  mica__symbol *symbols = w->work->symbols;
  size_t count = 0;
  if (w->count < 2) return MICA_OK;
  if (w->count >= LONG_WORD && w->count >= model->rank_count && model->ordered) return merge_by_rank(w);
  MICA_TRY(mica__reserve(&w->work->heap, &w->work->heap_room, 2 * w->count, sizeof *w->work->heap));
  mica__candidate *heap = w->work->heap, candidate;
  symbols[w->count - 1].after = -1;
  for (size_t i = 0; i + 1 < w->count; i++)
    if (candidate_at(w, (int32_t)i, (int32_t)i + 1, &candidate)) heap[count++] = candidate;
  for (size_t i = count / 2; i-- > 0;) sift_down(heap, count, i);
  while (count > 0) {
    const mica__candidate top = heap[0];
    const int32_t at = (int32_t)(uint32_t)top.key, right = symbols[at].after;
    heap[0] = heap[--count];
    if (count) sift_down(heap, count, 0);
    if (symbols[at].id < 0 || right < 0) continue;
    const uint32_t rank = find_rank(model, symbols[at].id, symbols[right].id);
    if (rank == MICA__NO_RANK || model->merges[rank].id != top.id) continue; /* a symbol has changed since */
    merge_at(symbols, at, top.id);
    if (symbols[at].before >= 0 && candidate_at(w, symbols[at].before, at, &candidate)) push(heap, &count, candidate);
    if (symbols[at].after >= 0 && candidate_at(w, at, symbols[at].after, &candidate)) push(heap, &count, candidate);
  }
  return MICA_OK;
}

mica_status mica__bpe_encode(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                             mica_encoding *out) {
  word w = {.tokenizer = tokenizer, .work = work};
  if (tokenizer->model.ignore_merges) {
    const int32_t id = mica__vocab_find(&tokenizer->vocab, &tokenizer->vocab.model, text, bytes);
    if (id >= 0) return mica__encoding_add(out, id);
  }
  if (bytes > INT32_MAX)
    return mica__fail(MICA_E_FORMAT, "a word of the text has %zu bytes, but may have at most %d", bytes, INT32_MAX);
  for (size_t at = 0, n; at < bytes; at += n) {
    mica__utf8_at(text + at, &n);
    MICA_TRY(add_character(&w, text + at, n, at == 0, at + n == bytes));
  }
  MICA_TRY(flush_unknown(&w));
  MICA_TRY(merge_all(&w));
  for (size_t i = 0; i < w.count; i++)
    if (work->symbols[i].id >= 0) MICA_TRY(mica__encoding_add(out, work->symbols[i].id));
  return MICA_OK;
}
