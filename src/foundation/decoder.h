/* foundation/decoder.h: a decoder: slots, the sessions that fill them, and the requests that wait. */
#ifndef MICA_FOUNDATION_DECODER_H
#define MICA_FOUNDATION_DECODER_H

#include "base/error.h"

#include <mica/chat.h>
#include <mica/grammar.h>
#include <pthread.h>

#define MICA__MOST_SLOTS 64

/* A request's copy, and what becomes of it. */
typedef struct mica__decoding {
  struct mica__decoding *next; /* of those that wait */
  int64_t id;
  int32_t *ids; /* the prompt, then the text; room for the context */
  int64_t count, prompt, most;
  mica_sampler *sampler;
  mica_text_stream *stream;
  mica_grammar *grammar; /* NULL: any text */
  uint32_t *mask;        /* its tokens, of the model's vocabulary */
  mica_decoder_fn *event;
  void *user;
  int32_t top; /* most likely tokens to list */
  bool ignore_end, cancelled;
} mica__decoding;

/* Memory for a text. Positions below `held` of the caches hold the tokens of `ids`. Those below `parts` were computed
 * as whole parts of a prompt, so that another prompt gets the same bits by them. */
typedef struct mica__text_slot {
  mica__decoding *work; /* NULL: idle */
  int32_t *ids;
  int64_t held, parts;
} mica__text_slot;

/* A session with its inputs on the device. */
typedef struct mica__decoder_session {
  mica_session *session;
  mica_tensor *ids[16]; /* of each length that it reads: 2^k tokens, or one per slot */
  mica_tensor *offset, *lengths, *slots;
} mica__decoder_session;

struct mica_decoder {
  mica_engine *engine;
  const mica_foundation *model;
  mica_tokenizer *tokenizer;
  mica_adapter *adapter; /* while sessions are made */
  int32_t slot_count;
  int64_t context, part, vocabulary;
  size_t most_wait;
  bool no_prefix;
  mica_bindings *bindings;            /* the model's matrices; NULL: another decoder's */
  const mica_bindings *shared;        /* of the other one, while sessions are made */
  mica__decoder_session step, prompt; /* one token of all slots; a part of a prompt of one */
  float *logits;                      /* (slots, vocabulary) */
  mica__text_slot slots[MICA__MOST_SLOTS];
  /* Shared with other threads. */
  pthread_mutex_t lock;
  mica__decoding *first, *last; /* requests that wait */
  size_t waiting;
  int64_t ids; /* the last one given */
};

void mica__decoding_free(mica__decoding *work);

/* Logits of one run, on the host until the next: of a part of a slot's prompt (one row), of a token of each slot (one
 * row per slot). tokens[s] is fed at position offsets[s], which it overwrites; at `context` nothing is written. */
mica_status mica__decoder_read_part(mica_decoder *d, int32_t slot, const int32_t *ids, int64_t count, int64_t offset);
mica_status mica__decoder_read_tokens(mica_decoder *d, const int32_t *tokens, const int32_t *offsets);

#endif
