/* foundation/decoder.h: the state of a decoder, which consists of slots, sessions and the list of waiting requests. A
 * slot holds the text of one request in the key-value caches. */
#ifndef MICA_FOUNDATION_DECODER_H
#define MICA_FOUNDATION_DECODER_H

#include "base/error.h"

#include <mica/chat.h>
#include <mica/grammar.h>
#include <pthread.h>

#define MICA__MOST_SLOTS 64

/* A copy of a request, and its state. */
typedef struct mica__decoding {
  struct mica__decoding *next; /* in the list of waiting requests */
  int64_t id;
  int32_t *ids; /* the prompt, then the text; room for a whole context */
  int64_t count, prompt, most;
  mica_sampler *sampler;
  mica_text_stream *stream;
  mica_grammar *grammar; /* NULL: any text */
  uint32_t *mask;        /* one bit per token of the model's vocabulary: the grammar allows the token */
  mica_decoder_fn *event;
  void *user;
  int32_t top; /* number of most likely tokens that each event lists */
  bool ignore_end, cancelled;
} mica__decoding;

/* One row of the key-value caches. The caches hold keys and values for ids[0] to ids[held - 1]. A prompt is computed in
 * parts of mica_decoder.part tokens. Positions below `parts` were computed in full parts, which begin at the same
 * positions in every prompt. So another prompt that begins with the same tokens can reuse these keys and values, and
 * gets the same bits. */
typedef struct mica__text_slot {
  mica__decoding *work; /* NULL: idle */
  int32_t *ids;
  int64_t held, parts;
} mica__text_slot;

/* The session for prompts, and its inputs on the device. */
typedef struct mica__decoder_prompt {
  mica_session *session;
  mica_tensor *ids[16]; /* one per length of input: 16, 32, 64, ... tokens, up to `part` */
  mica_tensor *offset, *lengths, *slots;
} mica__decoder_prompt;

/* Inputs of a step of `count` rows with a token each. */
typedef struct mica__decoder_rows {
  int32_t count;
  mica_tensor *ids, *offset, *slots;
} mica__decoder_rows;

/* The session for steps. `few` is true if the bits of a row do not depend on the number of rows. Then a step needs rows
 * only for the slots that have a token; their number is rounded up to the next entry of `rows`. Otherwise a step has
 * one row per slot. */
typedef struct mica__decoder_step {
  mica_session *session;
  bool few;
  mica__decoder_rows rows[8]; /* in ascending order; the last one has all slots */
  int32_t sizes;
} mica__decoder_step;

struct mica_decoder {
  mica_engine *engine;
  const mica_foundation *model;
  mica_tokenizer *tokenizer;
  mica_adapter *adapter; /* set while sessions are made */
  int32_t slot_count;
  int64_t context, part, vocabulary;
  size_t most_wait;
  bool no_prefix;
  mica_cache_form cache;
  size_t position_bytes;
  mica_bindings *bindings;     /* the model's matrices; NULL: another decoder's are used */
  const mica_bindings *shared; /* of the other decoder, while sessions are made */
  mica__decoder_step step;     /* one token for each of several slots */
  mica__decoder_prompt prompt; /* a part of one slot's prompt */
  float *logits;               /* (slots, vocabulary) */
  mica__text_slot slots[MICA__MOST_SLOTS];
  /* Other threads also use the fields below and mica__decoding.cancelled; `lock` guards them. */
  pthread_mutex_t lock;
  mica__decoding *first, *last; /* waiting requests */
  size_t waiting;
  int64_t ids; /* the last id that was given */
};

void mica__decoding_free(mica__decoding *work);

/* A row of a step: computes `token` at position `offset` of a slot, and writes its key and value there. With offset
 * equal to `context`, nothing is written. */
typedef struct mica__decoder_row {
  int32_t slot, token, offset;
} mica__decoder_row;

/* The number of rows in a step for `count` slots. If it is slot_count, row s belongs to slot s. */
int32_t mica__decoder_row_count(const mica_decoder *d, int32_t count);
/* Compute logits into d->logits, where they stay until the next call of either function. read_part reads `count` tokens
 * of one slot's prompt and gives one row of logits. read_rows gives a row of logits for each of `rows`, which must
 * belong to different slots; `count` must be a result of mica__decoder_row_count. */
mica_status mica__decoder_read_part(mica_decoder *d, int32_t slot, const int32_t *ids, int64_t count, int64_t offset);
mica_status mica__decoder_read_rows(mica_decoder *d, const mica__decoder_row *rows, int32_t count);

#endif
