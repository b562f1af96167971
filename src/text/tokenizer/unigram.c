/* Unigram: cuts a piece into the tokens with the largest sum of scores. */
#include "text/tokenizer/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* The score of an unknown character is this much below the lowest score of a token. */
#define UNKNOWN_PENALTY 10.0

static void offer(mica__best *best, size_t at, double score, size_t begin, int32_t id) {
  if (best[at].id < 0 || score > best[at].score) best[at] = (mica__best){score, (uint32_t)begin, id};
}

/* Finds the best path to each position. Position 0 is reached without a token; positions with id -1 are not reached. */
static mica_status find_best(const mica_tokenizer *tokenizer, const char *text, size_t bytes, mica__best *best) {
  const mica__model *model = &tokenizer->model;
  for (size_t i = 1; i <= bytes; i++) best[i].id = -1;
  best[0] = (mica__best){0, 0, 0};
  for (size_t at = 0, n; at < bytes; at += n) {
    bool single = false;
    uint32_t node = 0;
    mica__utf8_at(text + at, &n);
    for (size_t end = at; end < bytes;) {
      node = mica__trie_next(&model->trie, node, (uint8_t)text[end++]);
      if (node == 0) break;
      const int32_t id = model->trie.values[node];
      if (id < 0) continue;
      offer(best, end, best[at].score + model->scores[id], at, id);
      single = single || end == at + n;
    }
    if (single) continue;
    if (model->unk < 0)
      return mica__fail(MICA_E_FORMAT,
                        "the character '%.*s' has no token, and the tokeniser has no token for unknown characters",
                        (int)n, text + at);
    offer(best, at + n, best[at].score + model->least - UNKNOWN_PENALTY, at, model->unk);
  }
  return MICA_OK;
}

static mica_status add_range(const mica_tokenizer *tokenizer, const char *text, size_t bytes, mica_encoding *out) {
  const mica__model *model = &tokenizer->model;
  const int32_t id = mica__vocab_find(&tokenizer->vocab, &tokenizer->vocab.model, text, bytes);
  if (id >= 0) return mica__encoding_add(out, id);
  size_t known = 0;
  while (model->byte_fallback && known < bytes && model->bytes[(uint8_t)text[known]] >= 0) known++;
  if (known < bytes) return mica__encoding_add(out, model->unk);
  for (size_t i = 0; i < bytes; i++) MICA_TRY(mica__encoding_add(out, model->bytes[(uint8_t)text[i]]));
  return MICA_OK;
}

mica_status mica__unigram_encode(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                                 mica_encoding *out) {
  MICA_TRY(mica__reserve(&work->best, &work->best_room, bytes + 1, sizeof *work->best));
  mica__best *best = work->best;
  MICA_TRY(find_best(tokenizer, text, bytes, best));
  /* Reverses the path: `begin` of a position becomes the end of the token that begins there. */
  size_t at = bytes, end = bytes;
  while (at > 0) {
    const size_t begin = best[at].begin;
    const int32_t id = best[at].id;
    best[at].begin = (uint32_t)end;
    best[at].id = id;
    end = at;
    at = begin;
  }
  best[0].begin = (uint32_t)end;
  /* Consecutive unknown characters become one token. */
  for (at = 0; at < bytes;) {
    size_t to = best[at].begin;
    const bool unknown = best[to].id == tokenizer->model.unk;
    while (unknown && to < bytes && best[best[to].begin].id == tokenizer->model.unk) to = best[to].begin;
    MICA_TRY(add_range(tokenizer, text + at, to - at, out));
    at = to;
  }
  return MICA_OK;
}
