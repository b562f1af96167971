/* Texts that a language model continues. */
#include "run/verbs/generate.h"
#include "run/network.h"
#include "run/token_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH 200

static mica_value build(mica_nn *nn, mica_value ids, const mica_kv_cache *cache, const void *user) {
  mica_model_config network = *(const mica_model_config *)user;
  network.sequence.cache = cache;
  network.sequence.last = true;
  return mica_model_build(nn, ids, &network);
}

/* Prompts as tokens, one row each. */
typedef struct rows {
  int32_t *ids, *lengths, *last; /* last has the newest token of each text */
  int64_t row;
} rows;

static mica_status take_prompt(const mica_run *run, const mica__writer *w, const mica_run_texts *texts, size_t b,
                               mica__ids *ids) {
  const size_t bytes = texts->prompt_bytes ? texts->prompt_bytes[b] : strlen(texts->prompts[b]);
  const int64_t context = w->network.sequence.context;
  char name[32];
  snprintf(name, sizeof name, "prompt %zu", b + 1);
  if (bytes > INT32_MAX)
    return mica__fail(MICA_E_INVALID, "prompt %zu has %zu bytes, but may have at most %d", b + 1, bytes, INT32_MAX);
  if (!bytes) return mica__fail(MICA_E_INVALID, "prompt %zu is empty", b + 1);
  MICA_TRY(w->encode(run, name, texts->prompts[b], bytes, ids));
  if (!ids->count) return mica__fail(MICA_E_INVALID, "prompt %zu has no tokens", b + 1);
  if ((int64_t)ids->count <= context || texts->window) return MICA_OK;
  return mica__fail(
      MICA_E_INVALID,
      "prompt %zu has %zu tokens, but the network's context holds %lld; with --window N, only the last tokens are read",
      b + 1, ids->count, (long long)context);
}

static mica_status take_prompts(const mica_run *run, const mica__writer *w, const mica_run_texts *texts, rows *r) {
  mica__ids *ids = calloc(texts->prompt_count, sizeof *ids);
  mica_status status = ids ? MICA_OK : mica__fail_nomem("prompts");
  for (size_t b = 0; status == MICA_OK && b < texts->prompt_count; b++) {
    status = take_prompt(run, w, texts, b, &ids[b]);
    if ((int64_t)ids[b].count > r->row) r->row = (int64_t)ids[b].count;
  }
  r->lengths = calloc(texts->prompt_count, sizeof *r->lengths);
  r->last = calloc(texts->prompt_count, sizeof *r->last);
  r->ids = calloc(texts->prompt_count, (size_t)r->row * sizeof *r->ids + 1);
  if (status == MICA_OK && (!r->ids || !r->lengths || !r->last)) status = mica__fail_nomem("prompts");
  for (size_t b = 0; ids && b < texts->prompt_count; b++) {
    if (status == MICA_OK) {
      r->lengths[b] = (int32_t)ids[b].count;
      r->last[b] = ids[b].ids[ids[b].count - 1];
      memcpy(r->ids + (int64_t)b * r->row, ids[b].ids, ids[b].count * sizeof *r->ids);
    }
    mica__ids_free(&ids[b]);
  }
  free(ids);
  return status;
}

/* Generates tokens, and passes the text of each token to the caller as soon as the token is chosen. */
static mica_status write_texts(const mica_run *run, mica_generator *g, const mica_run_texts *texts, const rows *r) {
  const int64_t length = texts->length ? texts->length : LENGTH;
  int32_t *next = calloc(texts->prompt_count, sizeof *next);
  mica_status status = next ? mica_generator_prompt(g, r->ids, r->lengths, r->row) : mica__fail_nomem("tokens");
  bool goes_on = true;
  for (int64_t i = 0; status == MICA_OK && goes_on && i < length; i++) {
    status = mica_generator_next(g, next);
    for (size_t b = 0; status == MICA_OK && goes_on && b < texts->prompt_count; b++) {
      status = mica__token_write(run->tokenizer, texts, b, r->last[b], next[b], &goes_on);
      r->last[b] = next[b];
    }
  }
  free(next);
  return status;
}

mica_status mica__run_write_texts(mica_run *run, const mica__writer *w, const mica_run_texts *texts) {
  const int64_t context = w->network.sequence.context;
  rows r = {0};
  mica_generator *g = NULL;
  const mica_generator_config config = {.block = build,
                                        .block_config = &w->network,
                                        .share = mica_trainer_test_session(run->trainer),
                                        .nn = mica__run_building(run),
                                        .batch = (int64_t)texts->prompt_count,
                                        .context = context,
                                        .window = texts->window ? texts->window : context / 2,
                                        .sampling = texts->sampling};
  mica_status status = take_prompts(run, w, texts, &r);
  if (status == MICA_OK) status = mica_generator_create(run->engine, &config, &g);
  if (status == MICA_OK) status = write_texts(run, g, texts, &r);
  mica_generator_destroy(g);
  free(r.ids);
  free(r.lengths);
  free(r.last);
  return status;
}
