/* A step of a decoder: gives slots to requests, reads prompts, draws tokens. */
#include "foundation/decoder.h"
#include "foundation/model.h"

#include <math.h>
#include <string.h>

/* --- the end of a text --- */

/* Passes the end of the text to the request's callback. */
static void tell_end(const mica__decoding *work, const char *text, size_t bytes, mica_finish finish,
                     const char *message) {
  const mica_decoder_event event = {
      .id = work->id, .token = -1, .text = bytes ? text : "", .bytes = bytes, .finish = finish, .message = message};
  work->event(work->user, &event);
}

static void leave(mica_decoder *d, mica__text_slot *slot) {
  pthread_mutex_lock(&d->lock);
  mica__decoding *work = slot->work;
  slot->work = NULL;
  pthread_mutex_unlock(&d->lock);
  mica__decoding_free(work);
}

static void end(mica_decoder *d, mica__text_slot *slot, mica_finish finish) {
  mica__decoding *work = slot->work;
  const char *text = "";
  size_t bytes = 0;
  if (!work->stream || mica_text_stream_end(work->stream, &text, &bytes) != MICA_OK) bytes = 0;
  tell_end(work, text, bytes, finish, NULL);
  leave(d, slot);
}

static void fail(mica_decoder *d, mica__text_slot *slot, const char *message) {
  tell_end(slot->work, "", 0, MICA_FINISH_ERROR, message);
  leave(d, slot);
}

/* --- requests and slots --- */

static bool is_cancelled(mica_decoder *d, const mica__decoding *work) {
  pthread_mutex_lock(&d->lock);
  const bool cancelled = work->cancelled;
  pthread_mutex_unlock(&d->lock);
  return cancelled;
}

/* Counts the tokens at the beginning of the request's prompt that are already in the slot's caches. Only full parts
 * count, and at least one token of the prompt is left to compute, because its logits are needed. */
static int64_t shared_prefix(const mica_decoder *d, const mica__text_slot *slot, const mica__decoding *work) {
  int64_t same = 0;
  if (d->no_prefix) return 0;
  while (same < slot->parts && same < work->prompt - 1 && slot->ids[same] == work->ids[same]) same++;
  return same / d->part * d->part;
}

/* Returns the idle slot whose caches hold the most tokens of the prompt. Among equals, takes the slot that holds the
 * fewest tokens in all. NULL: all slots are busy. */
static mica__text_slot *best_slot(mica_decoder *d, const mica__decoding *work) {
  mica__text_slot *best = NULL;
  int64_t most = -1;
  for (int32_t s = 0; s < d->slot_count; s++) {
    mica__text_slot *slot = &d->slots[s];
    if (slot->work) continue;
    const int64_t same = shared_prefix(d, slot, work);
    if (best && (same < most || (same == most && slot->held >= best->held))) continue;
    best = slot;
    most = same;
  }
  return best;
}

/* Gives idle slots to requests, in order of arrival. */
static void admit(mica_decoder *d) {
  for (;;) {
    pthread_mutex_lock(&d->lock);
    mica__decoding *work = d->first;
    mica__text_slot *slot = work ? best_slot(d, work) : NULL;
    if (slot) {
      d->first = work->next;
      if (!d->first) d->last = NULL;
      d->waiting--;
      slot->held = slot->parts = shared_prefix(d, slot, work);
      slot->work = work;
    }
    pthread_mutex_unlock(&d->lock);
    if (!slot) return;
  }
}

/* --- tokens --- */

static bool ends_text(const mica_decoder *d, int32_t token) {
  const mica_foundation_info *info = mica_foundation_describe(d->model);
  for (size_t e = 0; e < info->end_count; e++)
    if (info->ends[e] == token) return true;
  return false;
}

/* Lists the `count` most likely tokens, the likeliest first, with log softmax(logits). Tokens with equal logits are in
 * order of their ids. */
static size_t list_top(const float *logits, int64_t vocabulary, size_t count, mica_candidate *top) {
  double sum = 0;
  size_t listed = 0;
  for (int64_t t = 0; t < vocabulary; t++) {
    size_t at = listed;
    while (at > 0 && (double)logits[t] > top[at - 1].logprob) at--;
    if (at == count) continue;
    if (listed < count) listed++;
    memmove(top + at + 1, top + at, (listed - 1 - at) * sizeof *top);
    top[at] = (mica_candidate){(int32_t)t, (double)logits[t]};
  }
  const double most = listed ? top[0].logprob : 0;
  for (int64_t t = 0; t < vocabulary; t++) sum += exp((double)logits[t] - most);
  for (size_t k = 0; k < listed; k++) top[k].logprob -= most + log(sum);
  return listed;
}

/* Passes a token to the request's callback; false: the text must end. */
static bool tell_token(const mica_decoder *d, const mica__decoding *work, const float *logits,
                       mica_decoder_event *event) {
  mica_candidate top[MICA_DECODER_MAX_TOP];
  event->id = work->id;
  event->top_count = work->top ? list_top(logits, d->vocabulary, (size_t)work->top, top) : 0;
  event->top = event->top_count ? top : NULL;
  return work->event(work->user, event);
}

/* Draws the slot's next token from logits, and passes it on. */
static void draw(mica_decoder *d, mica__text_slot *slot, const float *logits) {
  mica__decoding *work = slot->work;
  const char *text = "";
  size_t bytes = 0;
  int32_t token = 0;
  float logprob = 0;
  bool stopped = false;
  mica_status status = work->grammar ? mica_grammar_mask(work->grammar, work->mask) : MICA_OK;
  if (status == MICA_OK) status = mica_sampler_draw(work->sampler, logits, d->vocabulary, work->mask, &token, &logprob);
  if (status != MICA_OK) {
    fail(d, slot, mica_error_message());
    return;
  }
  if (!work->ignore_end && ends_text(d, token)) {
    end(d, slot, MICA_FINISH_STOP);
    return;
  }
  if (work->grammar && mica_grammar_accept(work->grammar, token) != MICA_OK) {
    fail(d, slot, mica_error_message());
    return;
  }
  mica_sampler_accept(work->sampler, token);
  work->ids[work->count++] = token;
  /* A model's vocabulary is often rounded up and longer than the tokenizer's; the extra tokens have no text. */
  const bool has_text = work->stream && mica_tokenizer_token(d->tokenizer, token);
  if (has_text && mica_text_stream_add(work->stream, token, &text, &bytes, &stopped) != MICA_OK) {
    fail(d, slot, mica_error_message());
    return;
  }
  mica_decoder_event event = {.token = token, .logprob = logprob, .text = bytes ? text : "", .bytes = bytes};
  if (!tell_token(d, work, logits, &event))
    end(d, slot, MICA_FINISH_CANCELLED);
  else if (stopped)
    end(d, slot, MICA_FINISH_STOP);
  else if (work->count - work->prompt >= work->most)
    end(d, slot, MICA_FINISH_LENGTH);
}

/* Reads the next part of the prompt of the oldest request whose prompt is not complete yet. The last part yields the
 * first token. */
static mica_status read_prompt(mica_decoder *d) {
  int32_t first = -1;
  for (int32_t s = 0; s < d->slot_count; s++) {
    const mica__decoding *work = d->slots[s].work;
    if (work && d->slots[s].held < work->prompt && (first < 0 || work->id < d->slots[first].work->id)) first = s;
  }
  if (first < 0) return MICA_OK;
  mica__text_slot *slot = &d->slots[first];
  mica__decoding *work = slot->work;
  /* A part ends at a multiple of d->part. So equal prompts are divided into equal parts, whether or not a prefix was
   * found in the caches. */
  const int64_t to = (slot->held / d->part + 1) * d->part, end_at = to < work->prompt ? to : work->prompt;
  const int64_t count = end_at - slot->held;
  MICA_TRY(mica__decoder_read_part(d, first, work->ids + slot->held, count, slot->held));
  memcpy(slot->ids + slot->held, work->ids + slot->held, (size_t)count * sizeof *slot->ids);
  slot->held = end_at;
  if (end_at == to) slot->parts = end_at;
  if (slot->held == work->prompt) draw(d, slot, d->logits);
  return MICA_OK;
}

/* True if the slot has a token to read in the next step. */
static bool goes_on(const mica__text_slot *slot) {
  return slot->work && slot->held >= slot->work->prompt && slot->work->count > slot->held;
}

/* The row of a slot. A slot without a token runs too if the step needs more rows: it reads token 0 at the position
 * after its last token. This is harmless, because that position is overwritten before any token attends to it. It is
 * also cheap: attention reads fewer keys than at the end of the context. */
static mica__decoder_row row_of(const mica_decoder *d, int32_t s) {
  const mica__text_slot *slot = &d->slots[s];
  return (mica__decoder_row){s, goes_on(slot) ? slot->work->ids[slot->held] : 0, (int32_t)slot->held};
}

/* Makes rows for all slots with a token, and for others to fill the step. Returns the number of rows; 0 if no slot has
 * a token. */
static int32_t fill_rows(const mica_decoder *d, mica__decoder_row *rows) {
  int32_t busy = 0, count = 0;
  for (int32_t s = 0; s < d->slot_count; s++) busy += goes_on(&d->slots[s]);
  if (busy == 0) return 0;
  const int32_t wanted = mica__decoder_row_count(d, busy);
  int32_t others = wanted - busy;
  for (int32_t s = 0; s < d->slot_count; s++) {
    if (!goes_on(&d->slots[s]) && others-- <= 0) continue;
    rows[count++] = row_of(d, s);
  }
  return count;
}

static mica_status read_tokens(mica_decoder *d) {
  mica__decoder_row rows[MICA__MOST_SLOTS];
  bool reads[MICA__MOST_SLOTS];
  const int32_t count = fill_rows(d, rows);
  if (count == 0) return MICA_OK;
  for (int32_t r = 0; r < count; r++) reads[r] = goes_on(&d->slots[rows[r].slot]);
  MICA_TRY(mica__decoder_read_rows(d, rows, count));
  for (int32_t r = 0; r < count; r++) {
    mica__text_slot *slot = &d->slots[rows[r].slot];
    if (!reads[r]) continue;
    slot->ids[slot->held++] = rows[r].token;
    draw(d, slot, d->logits + (int64_t)r * d->vocabulary);
  }
  return MICA_OK;
}

/* --- a step --- */

static void end_cancelled(mica_decoder *d) {
  for (int32_t s = 0; s < d->slot_count; s++)
    if (d->slots[s].work && is_cancelled(d, d->slots[s].work)) end(d, &d->slots[s], MICA_FINISH_CANCELLED);
}

/* Ends all requests with the device's error; the contents of the slots are unknown. */
static void end_all(mica_decoder *d) {
  const char *message = mica_error_message();
  for (int32_t s = 0; s < d->slot_count; s++) {
    d->slots[s].held = d->slots[s].parts = 0;
    if (d->slots[s].work) fail(d, &d->slots[s], message);
  }
}

mica_status mica_decoder_step(mica_decoder *d, bool *busy) {
  if (!d) return mica__fail(MICA_E_INVALID, "mica_decoder_step: the decoder is NULL");
  admit(d);
  end_cancelled(d);
  mica_status status = read_prompt(d);
  if (status == MICA_OK) status = read_tokens(d);
  if (status != MICA_OK) end_all(d);
  pthread_mutex_lock(&d->lock);
  bool any = d->first != NULL;
  for (int32_t s = 0; s < d->slot_count; s++) any |= d->slots[s].work != NULL;
  pthread_mutex_unlock(&d->lock);
  if (busy) *busy = any;
  return status;
}
